/*
 * What the files of the verbs module share and nobody else sees: rdma-common.c (the device and its
 * CQ thread), rdma-exchange.c (what that thread posts and receives) and rdma-connection.c (making,
 * connecting, ending).
 */
#ifndef RDMA_INTERNAL_H
#define RDMA_INTERNAL_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdint.h>

#include "lib/exchange.h"
#include "lib/message.h"
#include "rdma-common.h"

/* Our longest dialogue, and one receive more, so that a message too many is seen and named. */
#define SENDS    5 /* MSG_MR, RDMA, MSG_DONE, MSG_VERDICT, and the marker of the end */
#define RECEIVES 4

/* Notes to the CQ thread. */
enum thread_note {
	THREAD_ADOPT = 1 << 0, /* a connection that completions may come from */
	THREAD_ESTABLISHED = 1 << 1,
	THREAD_CLOSE = 1 << 2,
	THREAD_ABANDON = 1 << 3,
	THREAD_TUTORIAL = 1 << 4, /* with THREAD_ESTABLISHED: the peer is a tutorial program */
	THREAD_STOP = 1 << 5,     /* about the device: end the thread */
};

/* Which work request a completion belongs to (wr_id); receives count up from the last. */
enum operation {
	OPERATION_MR,
	OPERATION_RDMA,
	OPERATION_DONE,
	OPERATION_VERDICT,
	OPERATION_MARKER, /* flushed, to bring one more completion event */
	OPERATION_RECEIVE,
};

/*
 * The memory of a connection: a mapping of its own of two pages, zeroed. The device reads and
 * writes `control`; of `incoming` and `outgoing` the peer may access the one that the mode exposes.
 */
struct memory {
	struct control {
		uint8_t sends
			[SENDS]
			[MESSAGE_SIZE]; /* by enum operation; those that send no message are unused */
		uint8_t receives[RECEIVES][MESSAGE_SIZE];
	} * control;
	uint8_t *incoming; /* where the peer's message arrives */
	uint8_t *outgoing; /* our message */
	size_t mapped;     /* bytes, all together */
};

struct device {
	struct ibv_context *verbs;
	struct ibv_comp_channel *channel;
	struct mailbox mailbox;
	struct slip stop;
	pthread_t thread;
};

/*
 * Fields of the first group are constant from connect or accept on. Those of the second belong to
 * the CQ thread from then until CONNECTION_DRAINED, those of the third to the main thread.
 */
struct connection {
	const struct session *session;
	const struct mode *mode;
	struct device *device;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct memory memory;
	struct ibv_mr *control_mr; /* `control` and what is not exposed */
	struct ibv_mr *exposed_mr; /* what the peer may access, with the one right that it needs */
	struct ibv_mr *sink_mr;    /* iWARP read mode: where READs land; else NULL */
	char peer[ADDRESS_TEXT_SIZE];

	struct exchange exchange;
	struct message peer_mr, peer_done;
	uint32_t peer_verdict;
	bool damaged;             /* the peer's message did not match its digest */
	unsigned int outstanding; /* work requests posted and not yet completed */
	bool armed;               /* the completion queue will raise an event */
	bool closing, retired;
	struct failure failure; /* the first that the CQ thread met; at the end, the outcome */

	void *owner;
	bool closed, abandoned, let_go;
	struct failure reason; /* handed over with THREAD_CLOSE */

	struct slip to_thread, to_main;
};

/* What a mode asks of verbs: the other half of its row in lib/mode.c. */
struct mode_verbs {
	enum ibv_wr_opcode opcode;
	int exposed_access;      /* the right to what is exposed */
	bool exposes_incoming;   /* or else `outgoing` */
	unsigned int done_flags; /* IBV_SEND_FENCE where MSG_DONE must not overtake the RDMA */
};

const struct mode_verbs *mode_verbs(const struct mode *mode);

/* Gives one event to the state machine and does what it says. CQ thread. */
void connection_step(struct connection *connection, enum exchange_event event);

/* Takes one completion of the connection's queue. CQ thread. */
void connection_completed(struct connection *connection, const struct ibv_wc *completion);

/* Posts a work request that will be flushed. Returns 0 or -errno. CQ thread, after disconnecting. */
int connection_post_marker(struct connection *connection);

/* Posts all receives. Returns 0 or -errno. Main, before the connection is handed over. */
int connection_post_receives(struct connection *connection);

#endif
