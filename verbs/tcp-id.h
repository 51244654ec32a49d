/* A connection without rdmacm, for the files verbs/tcp-*.c only. */
#ifndef VERBS_TCP_ID_H
#define VERBS_TCP_ID_H

#include <sys/queue.h>

#include "base/brief-job.h"
#include "base/deadline.h"
#include "base/output.h"
#include "verbs/bootstrap.h"
#include "verbs/path-candidates.h"

enum tcp_state {
	TCP_LISTENS,
	/* A server's connection. */
	TCP_AWAITS_OFFER,
	TCP_AWAITS_REQUEST,
	TCP_REQUESTED,        /* its new owner accepts or rejects it */
	TCP_MOVES_QUEUE_PAIR, /* a thread moves it to RTR and RTS */
	TCP_AWAITS_READY,
	/* A client's. */
	TCP_CONNECTING,
	TCP_CONNECTED, /* by TCP only */
	TCP_AWAITS_PATH,
	TCP_RESOLVED,
	TCP_AWAITS_REPLY,
	/* Both. */
	TCP_READY_BOTH,
	TCP_ENDED, /* its last event has been reported */
};

TAILQ_HEAD(tcp_id_queue, tcp_id);

/* What a client needs to choose a path. */
struct tcp_client {
	struct path_candidates candidates;
	struct failure failure; /* why there is none */
	struct tcp_path path;   /* the server's answer */
	bool requested;
};

struct tcp_id {
	union {
		struct own_id shared; /* the first member */
		struct rdma_cm_id id; /* its own first member */
	};
	enum tcp_state state;
	int fd;
	bool watched; /* by the channel */
	struct tcp_channel *channel;
	TAILQ_ENTRY(tcp_id) next; /* of a connection without a request */
	deadline_t deadline;      /* of its request */
	const struct path_settings *settings;
	const struct output *output; /* for --verbose */
	struct tcp_client *client;   /* of a client; NULL: of a server */
	struct path_candidate own;   /* the one that was chosen */
	struct tcp_gid peer;
	struct brief_job mover; /* which may wait for the peer's hardware address */
	int moved;              /* its eventfd; -1: it does not run */
	int moving_error;       /* its result: an errno */
	struct tcp_queue_pair ours, theirs;
	struct failure failure;
	uint8_t frame[TCP_FRAME_MAX]; /* that is sent */
	size_t have;                  /* bytes of a frame that has not arrived as a whole */
	uint8_t bytes[TCP_FRAME_MAX];
};

static inline struct tcp_id *tcp_id_of(const struct rdma_cm_id *id)
{
	return (struct tcp_id *)id;
}

#endif
