/*
 * What the files of exchange/ and the CQ thread (rdma-common.c) share; private to them.
 *
 * Calls go one way: the driver calls the movers, authentication and idle checks; these post through
 * post.c. All of them report back by the event they return, and only the driver feeds events to the
 * state machine.
 */
#ifndef EXCHANGE_INTERNAL_H
#define EXCHANGE_INTERNAL_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/address.h"
#include "base/deadline.h"
#include "exchange/flow-control.h"
#include "exchange/mover.h"
#include "exchange/settings.h"
#include "exchange/state-machine.h"
#include "protocol/handshake.h"
#include "protocol/message.h"
#include "stream/ring.h"
#include "stream/sink.h"
#include "stream/source.h"
#include "verbs/device.h"
#include "verbs/endpoint.h"
#include "verbs/memory.h"

/* Events for the CQ thread. */
enum cq_thread_event {
	THREAD_ADOPT = 1 << 0, /* a connection that completions may come from */
	THREAD_ESTABLISHED = 1 << 1,
	THREAD_CLOSE = 1 << 2,
	THREAD_ABANDON = 1 << 3,
	THREAD_TUTORIAL = 1 << 4, /* with THREAD_ESTABLISHED: the peer is a tutorial program */
	THREAD_CANCEL = 1 << 5,   /* abort, and tell the peer why */
	THREAD_MOVED = 1 << 6,    /* a source or a sink has made progress */
	THREAD_STOP = 1 << 7,     /* about the device: end the thread */
};

/* Events for the main thread that only connection.c takes. */
enum internal_event {
	CONNECTION_SOURCE_ENDED = 1 << 8,
	CONNECTION_SINK_ENDED = 1 << 9,
};

/* What a work request is for: the kind of its completion. */
enum operation {
	OPERATION_PROOF,
	OPERATION_MR,
	OPERATION_DONE,
	OPERATION_VERDICT,
	OPERATION_ABORT,
	OPERATION_WRITE,     /* a piece of our stream */
	OPERATION_READ,      /* a piece of the peer's */
	OPERATION_DATA,      /* MSG_DATA */
	OPERATION_CREDIT,    /* MSG_CREDIT */
	OPERATION_KEEPALIVE, /* no bytes */
	OPERATION_DRAIN = ENDPOINT_DRAIN,
	OPERATION_RECEIVE = ENDPOINT_RECEIVE,
};

/* How large everything is. Constant from connect or accept on. */
struct queue_limits {
	uint32_t chunk;    /* bytes of one WRITE or READ */
	uint32_t depth;    /* pieces of the peer's stream that we have receives for */
	uint32_t sends;    /* slots of the send queue */
	uint32_t receives; /* slots of the receive queue */
};

/* How far the streams are when a WRITE or READ is complete. */
struct mark {
	uint64_t position; /* of the stream that it belongs to */
	uint64_t reads;    /* READs up to it */
};

/* Where the messages lie in the `control` region. */
#define LONG_SLOT 320 /* MESSAGE_MAX, rounded */
_Static_assert(LONG_SLOT >= MESSAGE_MAX, "a message fits into its slot");

/* How far a connection is on its way to be freed, as one of the two threads sees it. */
enum connection_life {
	CONNECTION_OPEN,
	CONNECTION_CLOSING,    /* disconnected; the queue pair drains */
	CONNECTION_ABANDONING, /* main: the CQ thread was asked not to wait for that */
	CONNECTION_RELEASED,   /* the CQ thread does not touch it any more */
};

/*
 * Fields of the first group are constant from connect or accept on, but for what the active side
 * learns with the acceptance. Those of the second belong to the CQ thread from then until
 * CONNECTION_DRAINED, those of the third to the main thread.
 */
struct connection {
	const struct exchange_settings *settings;
	const struct mode *mode;
	const struct mover *mover; /* of a tutorial peer once we know that it is one */
	struct device *device;
	struct rdma_cm_id *id;
	struct endpoint endpoint;
	struct queue_limits limits;
	struct region control;  /* the messages */
	struct region outgoing; /* our data; the peer READs it or we WRITE it */
	struct region incoming; /* the peer's data; the peer WRITEs it or we READ it */
	struct ring outgoing_ring, incoming_ring;
	struct source *source;
	struct sink *sink;
	struct hello theirs;
	struct handshake handshake;
	const uint8_t *hello_bytes; /* ours, which the handshake has */
	uint8_t hello_size;
	uint8_t initiator_depth;     /* READs that the peer answers at a time */
	uint8_t responder_resources; /* READs that we answer at a time */
	char peer[ADDRESS_TEXT_SIZE];
	struct worker_listener source_listener, sink_listener;

	TAILQ_ENTRY(connection) next_watched, next_in_backlog; /* lists of the CQ thread */
	bool watched, in_backlog;                              /* whether it is in them */
	enum connection_life life;
	struct exchange exchange;
	struct message peer_mr, peer_done;
	bool running;                  /* established, or the peer's MSG_MR arrived */
	bool streaming;                /* both know one another's memory */
	bool more;                     /* the streams stopped to let others have their turn */
	struct flow outflow, inflow;   /* of our stream, of the peer's */
	struct flow_sender sender;     /* our stream */
	struct flow_receiver receiver; /* the peer's */
	struct mark *marks;            /* by number of send */
	bool sink_knows_end;           /* of the peer's stream */
	bool damaged;                  /* the peer's data did not match its digest */
	deadline_t cause_due;          /* until when rdmacm may explain `failure`; 0: no longer */
	deadline_t last_receive;       /* when the peer last sent something */
	deadline_t last_send;          /* when we last did */
	deadline_t last_acknowledged;  /* when a signaled send was, or the next was posted */
	deadline_t aborted;            /* when we did, 0: we did not */
	deadline_t stream_start;       /* 0: not yet */
	deadline_t exchange_end;       /* 0: not complete */
	struct failure failure;        /* the first of the CQ thread; at the end, the outcome */
	atomic_uint_fast64_t sent_bytes, received_bytes; /* for any thread to read */
	uint64_t progress;                               /* grows with whatever moves */
	atomic_int_fast64_t last_progress;               /* when it last did: deadline_now() */
	atomic_bool waits_for_source; /* our data is due, from a source that has not ended */
	atomic_bool waits_for_sink;   /* all of the peer's is here, and its sink is not done */

	void *owner;
	enum connection_life main_life;
	unsigned int workers; /* internal events, those of threads that have not ended */
	struct failure reason, cancel_reason; /* handed over with THREAD_CLOSE, THREAD_CANCEL */

	struct wakeup to_thread, to_main;
};

/* buffers.c: how much memory, and where in it. */

/*
 * Makes a region of that size, or of half of it and half of that if it must be, but not less than a
 * page. Returns 0, or -1 with the failure recorded. Main.
 */
int connection_create_region(struct connection *connection, struct region *region, size_t size,
	int access, struct failure *failure);

/* The region that the mover exposes to the peer. */
struct region *connection_exposed(struct connection *connection);

/* Decides how large everything is; `streams` if more than a text may go either way. Main. */
void queue_limits_choose(struct queue_limits *limits, const struct exchange_settings *settings,
	const struct device *device, uint8_t port, bool streams);

/*
 * Bytes of the ring for a stream of that size beside one of the other: half of what --buffer and
 * the locked-memory limit allow, and what the other does not need; at most --depth chunks, and
 * whole ones, so that none is cut in two where the ring ends. Main.
 */
size_t ring_size(const struct connection *connection, uint64_t stream, uint64_t other);

/* True if it is that of a server's exchange of two texts. */
bool queue_limits_are_for_texts(const struct queue_limits *limits);

/* The slots of messages in the control region, and its size. */
size_t control_size(const struct queue_limits *limits);
uint8_t *control_receives(const struct connection *connection);
uint8_t *control_send(const struct connection *connection, enum operation operation);

/* post.c: work requests of the exchange. The CQ thread. */

/*
 * Posts one work request; `request` has everything but wr_id. Returns EVENT_NONE, or EVENT_FAILED
 * with the failure recorded.
 */
enum exchange_event connection_post(
	struct connection *connection, enum operation operation, struct ibv_send_wr *request);

/* Encodes and posts a message. Returns likewise. */
enum exchange_event connection_send(struct connection *connection, enum operation operation,
	const struct message *message, unsigned int flags);

/* Sends a message of no bytes. Returns likewise. */
enum exchange_event connection_send_keepalive(struct connection *connection);

/* Work requests that fit into the send queue beside the messages that may always be sent. */
uint64_t connection_capacity(const struct connection *connection);

/* True while a signaled send is outstanding. */
bool connection_is_unacknowledged(const struct connection *connection);

/*
 * Records why the exchange cannot go on. Returns EVENT_ABORTED: the peer is to be told. The first
 * failure counts.
 */
enum exchange_event connection_fail(struct connection *connection, enum failure_kind kind, int code,
	const char *call, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Records a failed work request with what may explain it: who, what, and which memory. */
void connection_record_completion(struct connection *connection, int status, const char *doing);

/*
 * Deregisters the exposed region as soon as the peer needs it no more. What the peer tries later,
 * the device refuses, and that ends this connection. Returns EVENT_NONE, or EVENT_ABORTED.
 */
enum exchange_event connection_revoke(struct connection *connection);

/* stream.c: the CQ thread */

/* The peer announced a piece that ends there: by MSG_DATA, or by a WRITE's immediate data. */
enum exchange_event stream_announced(struct connection *connection, uint64_t position);
enum exchange_event stream_announced_immediate(struct connection *connection, uint32_t immediate);
enum exchange_event stream_credited(struct connection *connection, const struct message *credit);

/* idle.c: the CQ thread */

/*
 * Checks whether the peer was idle for too long, and sends a keepalive if we were. Returns what
 * follows; *again is when to check next.
 */
enum exchange_event idle_check(struct connection *connection, deadline_t now, deadline_t *again);

/* authentication.c: the CQ thread. Without a secret, nothing happens here. */

/* Sends our proof that we hold the secret. */
enum exchange_event authentication_send_proof(struct connection *connection);

/* The peer's proof arrived, and is due: EVENT_RECEIVED_PROOF, or EVENT_UNAUTHENTICATED. */
enum exchange_event authentication_take_proof(
	struct connection *connection, const struct message *message);

/*
 * Registers the regions that are not registered yet: our MSG_MR is due, so the peer may have our
 * memory. Returns EVENT_NONE, or EVENT_ABORTED.
 */
enum exchange_event authentication_open_memory(struct connection *connection);

/* Whether that MSG_ABORT is the server's word that it does not know us. */
bool authentication_is_refusal(const struct connection *connection, const struct message *message);

/* Gives the digests of our stream and of the peer's, whose MSG_MR arrived, their keys. */
void authentication_key_source(struct connection *connection);
void authentication_key_sink(struct connection *connection);

/* Signs our verdict; says whether the peer's is signed by it. */
void authentication_sign(struct connection *connection, struct message *verdict);
bool authentication_is_signed(struct connection *connection, const struct message *verdict);

/* driver.c: what the CQ thread calls. */

/* Takes what the main thread asks for. Returns true if there is more to do than one turn allows. */
bool connection_take_events(struct connection *connection, unsigned int events);

/*
 * Takes the completions that wait, and moves what they allow. Returns true if there may be more
 * than one turn allows.
 */
bool connection_poll(struct connection *connection);

/* Goes on with a connection that had more to do, and polls it. Returns likewise. */
bool connection_advance(struct connection *connection);

/* Asks for an event at the next completion. Poll once more afterwards. */
void connection_arm(struct connection *connection);

/* Checks for idleness. Returns when to check again. */
deadline_t connection_check_idle(struct connection *connection, deadline_t now);

/* Decides the outcome of a connection that is drained or abandoned. It is not used any more. */
void connection_release(struct connection *connection);

/* The connection of this endpoint. */
struct connection *connection_of(struct endpoint *endpoint);

#endif
