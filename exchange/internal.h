/*
 * What the files of the verbs module share and nobody else sees: rdma-common.c (the device and its CQ
 * thread), exchange/driver.c (the messages that thread sends and receives), exchange/data.c (the data
 * between them), exchange/tutorial.c (the data of a tutorial peer), exchange/authentication.c (the secret),
 * exchange/buffers.c (registered memory) and exchange/connection.c (making, connecting, ending).
 */
#ifndef EXCHANGE_INTERNAL_H
#define EXCHANGE_INTERNAL_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/deadline.h"
#include "exchange/flow-control.h"
#include "exchange/state-machine.h"
#include "protocol/handshake.h"
#include "protocol/message.h"
#include "rdma-common.h"
#include "stream/ring.h"
#include "stream/sink.h"
#include "stream/source.h"
#include "verbs/device.h"
#include "verbs/memory.h"

/* Notes to the CQ thread. */
enum cq_thread_event {
	THREAD_ADOPT = 1 << 0, /* a connection that completions may come from */
	THREAD_ESTABLISHED = 1 << 1,
	THREAD_CLOSE = 1 << 2,
	THREAD_ABANDON = 1 << 3,
	THREAD_TUTORIAL = 1 << 4, /* with THREAD_ESTABLISHED: the peer is a tutorial program */
	THREAD_CANCEL = 1 << 5,   /* give up, and tell the peer why */
	THREAD_MOVED = 1 << 6,    /* a source or a sink has something new */
	THREAD_STOP = 1 << 7,     /* about the device: end the thread */
};

/* Notes to the main thread beside those that everybody may know. */
enum internal_event {
	CONNECTION_SOURCE_ENDED = 1 << 8,
	CONNECTION_SINK_ENDED = 1 << 9,
};

/* What a work request is for: the low bits of its wr_id. */
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
	OPERATION_KEEPALIVE, /* no bytes: a sign of life */
	OPERATION_DRAIN, /* flushed: brings one more completion event, and all before it are back */
	OPERATION_RECEIVE,
};

/* A wr_id: what it is for, and which one: of sends the running number, of receives the slot. */
#define WR_ID(operation, number) ((uint64_t)(operation) | (number) << 8)
#define WR_OPERATION(wr_id)      ((enum operation)((wr_id)&0xff))
#define WR_NUMBER(wr_id)         ((wr_id) >> 8)

/* How large everything is. Constant from connect or accept on. */
struct queue_limits {
	uint32_t chunk;    /* bytes of one WRITE or READ */
	uint32_t depth;    /* pieces of the peer's stream that we have receives for */
	uint32_t sends;    /* places in the send queue */
	uint32_t receives; /* places in the receive queue */
};

/* How far the streams are when a WRITE or READ is complete. */
struct mark {
	uint64_t position; /* of the stream that it belongs to */
	uint64_t reads;    /* READs up to it */
};

/* Where the messages lie in the `control` region. */
#define LONG_SLOT 320 /* MESSAGE_MAX, rounded */
_Static_assert(LONG_SLOT >= MESSAGE_MAX, "a message fits into its slot");

/*
 * Fields of the first group are constant from connect or accept on, but for what the active side
 * learns with the acceptance. Those of the second belong to the CQ thread from then until
 * CONNECTION_DRAINED, those of the third to the main thread.
 */
struct connection {
	const struct exchange_settings *settings;
	const struct mode *mode;
	struct device *device;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
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

	TAILQ_ENTRY(connection) next, next_behind;
	struct exchange exchange;
	struct message peer_mr, peer_done;
	bool streaming;                /* both know one another's memory */
	struct flow outflow, inflow;   /* of our stream, of the peer's */
	struct flow_sender sender;     /* our stream */
	struct flow_receiver receiver; /* the peer's */
	struct mark *marks;            /* by number of send */
	uint64_t signaled_send;        /* the number of the last signaled send */
	bool finished;                 /* the sink knows the end of the peer's stream */
	bool damaged;                  /* the peer's data did not match its digest */
	uint64_t sends_posted, sends_completed;
	unsigned int receives_posted; /* and not completed */
	bool armed;                   /* the completion queue will raise an event */
	bool listed, is_behind, closing, retired;
	deadline_t heard, spoke;     /* when the peer last did, when we last did */
	deadline_t acknowledged;     /* when the last signaled send was, or the next was posted */
	deadline_t gave_up;          /* when we did, if we did */
	deadline_t began, completed; /* the streams, the exchange */
	struct failure failure;      /* the first that the CQ thread met; at the end, the outcome */
	atomic_uint_fast64_t sent_bytes, received_bytes; /* for everybody to see */
	uint64_t movement;                               /* grows with whatever moves */
	atomic_int_fast64_t moved;                       /* when it last did: deadline_now() */
	atomic_bool asks_source; /* our data is due, from a source that has not ended */
	atomic_bool asks_sink;   /* all of the peer's is here, and its sink is not done */

	void *owner;
	bool closed, abandoned, let_go;
	unsigned int workers; /* of internal notes, those of threads that have to end still */
	struct failure reason, cancel_reason; /* handed over with THREAD_CLOSE, THREAD_CANCEL */

	struct wakeup to_thread, to_main;
};

/* What a mode asks of verbs: the other half of its row in protocol/mode.c. */
struct mode_verbs {
	bool writes; /* the sender moves the data, or else the receiver */
	int outgoing_access, incoming_access;
};

const struct mode_verbs *mode_verbs(const struct mode *mode);

/* exchange/buffers.c */

/*
 * Makes a region of that size, or of half of it and half of that if it must be, but not less than a
 * page. Returns 0, or -1 with the failure recorded. Main.
 */
int connection_create_region(struct connection *connection, struct region *region, size_t size,
	int access, struct failure *failure);

/* The region that the mode exposes to the peer, and its ring. */
struct region *connection_exposed(struct connection *connection);

/* Decides how large everything is; `streams` if more than a text may go either way. Main. */
void queue_limits_choose(struct queue_limits *limits, const struct exchange_settings *settings,
	const struct device *device, uint8_t port, bool streams);

/*
 * Bytes of the ring for a stream of that size beside one of the other: half of what --buffer and the
 * locked-memory limit allow, and what the other does not need; at most --depth chunks, and whole
 * ones, so that none is cut in two where the ring ends. Main.
 */
size_t ring_size(const struct connection *connection, uint64_t stream, uint64_t other);

/* True if it is that of a server's exchange of two texts. */
bool queue_limits_are_for_texts(const struct queue_limits *limits);

/* The slots of messages in the control region, and its size. */
size_t control_size(const struct queue_limits *limits);
uint8_t *control_receive(const struct connection *connection, uint64_t slot);
uint8_t *control_send(const struct connection *connection, enum operation operation);

/* rdma-common.c: the CQ thread */

/* The passive side knows the peer's memory: the handshake is over, and silence is watched. */
void connection_meet(struct connection *connection);

/* exchange/driver.c: the CQ thread, but for the receives */

/* Gives one event to the state machine and does what it says. */
void connection_step(struct connection *connection, enum exchange_event event);

/* Gives up for the failure that is recorded, and tells the peer. */
void connection_give_up(struct connection *connection);

/*
 * Takes the exposed region back from the peer, as soon as there is nothing more that it may do there.
 * What it tries later, the device refuses, and that ends this connection. Gives up if that cannot be.
 */
void connection_revoke(struct connection *connection);

/* True while a signaled send is under way. */
bool connection_unacknowledged(const struct connection *connection);

/* Records that nothing is acknowledged any more, as the transport says it where it gives up. */
void connection_stalled(struct connection *connection);

/* Sends a sign of life: a message of no bytes. */
void connection_keepalive(struct connection *connection);

/* Takes one completion of the connection's queue. */
void connection_completed(struct connection *connection, const struct ibv_wc *completion);

/*
 * Numbers, counts and posts one work request; `request` has everything but wr_id. A failure ends the
 * exchange and is recorded. Returns 0 or -errno.
 */
int connection_post(
	struct connection *connection, enum operation operation, struct ibv_send_wr *request);

/* Encodes and posts a message. Returns 0 or -errno, as connection_post(). */
int connection_send(struct connection *connection, enum operation operation,
	const struct message *message, unsigned int flags);

/* How many work requests fit into the send queue beside the messages that may always be sent. */
uint64_t connection_capacity(const struct connection *connection);

/* Posts a work request that will be flushed. Returns 0 or -errno. After disconnecting. */
int connection_post_drain(struct connection *connection);

/* Posts all receives. Returns 0 or -errno. Main, before the connection is handed over. */
int connection_post_receives(struct connection *connection);

/* True while work requests are posted that have not come back. */
bool connection_outstanding(const struct connection *connection);

/* exchange/data.c: the CQ thread */

/* The peer's MSG_MR is here: its data may come. */
void stream_prepare(struct connection *connection);

/* Moves whatever may be moved, gives what credit is due, and notices the end of either stream. */
void stream_pump(struct connection *connection);

/* The peer has told of a piece that ends there: by MSG_DATA, or by a WRITE's immediate data. */
void stream_hear(struct connection *connection, uint64_t position);
void stream_hear_immediate(struct connection *connection, uint32_t immediate);
void stream_hear_credit(struct connection *connection, const struct message *credit);

/* Whether the peer's MSG_DONE fits what it sent; if not, gives up. */
bool stream_may_end(struct connection *connection, const struct message *done);

/* The WRITE or READ with that number is complete, and those before it. */
void stream_written(struct connection *connection, uint64_t number);
void stream_read(struct connection *connection, uint64_t number);

/* exchange/authentication.c: the CQ thread */

/* Sends our proof that we hold the secret. */
void connection_prove(struct connection *connection);

/* The peer's proof is here, and due. Returns whether it is right; if not, gives up. */
bool connection_admit(struct connection *connection, const struct message *message);

/*
 * Registers what is not yet: our MSG_MR is due, and so the peer may have our memory. Gives up if that
 * cannot be, which the peer is told. Returns whether it could be.
 */
bool connection_open_memory(struct connection *connection);

/* Whether that MSG_ABORT is the server's word that it does not know us. */
bool connection_is_turned_away(const struct connection *connection, const struct message *message);

/* Gives the digests of our stream and of the peer's, whose MSG_MR is here, their keys. */
void connection_key_source(struct connection *connection);
void connection_key_sink(struct connection *connection);

/* Signs our verdict; says whether the peer's is signed by it. */
void connection_sign(struct connection *connection, struct message *verdict);
bool connection_is_signed(struct connection *connection, const struct message *verdict);

/* exchange/tutorial.c: the CQ thread */

/* Posts the one WRITE or READ that there is with a tutorial peer. */
void tutorial_move(struct connection *connection);

/* The tutorial peer's message is in place: prints it. */
void tutorial_deliver(struct connection *connection);

#endif
