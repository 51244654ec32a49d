/*
 * Shared by the files of exchange/ and the CQ thread (rdma-common.c); private to them.
 *
 * Calls go in one direction: the driver calls the movers (exchange/mover.h), authentication and
 * idle checks, which post work requests through post.c. Each returns an event, and only the driver
 * feeds events to the state machine.
 */
#ifndef EXCHANGE_INTERNAL_H
#define EXCHANGE_INTERNAL_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/address.h"
#include "base/deadline.h"
#include "base/text.h"
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
	THREAD_ADOPT = 1 << 0, /* a new connection, before its first completion */
	THREAD_ESTABLISHED = 1 << 1,
	THREAD_CLOSE = 1 << 2,
	THREAD_ABANDON = 1 << 3,
	THREAD_TUTORIAL = 1 << 4,   /* with THREAD_ESTABLISHED: the peer is a tutorial program */
	THREAD_CANCEL = 1 << 5,     /* abort and notify the peer */
	THREAD_MOVED = 1 << 6,      /* a source or sink made progress */
	THREAD_STOP = 1 << 7,       /* for the device: end the thread */
	THREAD_REGISTERED = 1 << 8, /* memory registration succeeded or failed */
};

/* Events for the main thread that connection.c handles. */
enum internal_event {
	CONNECTION_SOURCE_ENDED = 1 << 8,
	CONNECTION_SINK_ENDED = 1 << 9,
	CONNECTION_REGISTRATION_ENDED = 1 << 10,
};

/* The purpose of a work request: part of its wr_id, and the `kind` of its completion. */
enum operation {
	OPERATION_PROOF,
	OPERATION_MR,
	OPERATION_DONE,
	OPERATION_VERDICT,
	OPERATION_ABORT,
	OPERATION_WRITE,     /* data of our stream */
	OPERATION_READ,      /* data of the peer's stream */
	OPERATION_DATA,      /* MSG_DATA */
	OPERATION_CREDIT,    /* MSG_CREDIT */
	OPERATION_KEEPALIVE, /* an empty message */
	OPERATION_HAVE,      /* MSG_HAVE */
	OPERATION_START,     /* MSG_START */
	OPERATION_TEST_DATA, /* exchange/test-data.h */
	OPERATION_SEND,      /* data of our stream, after MSG_DATA */
	OPERATION_DRAIN = ENDPOINT_DRAIN,
	OPERATION_RECEIVE = ENDPOINT_RECEIVE,
};

/* The size of the ring for what a receiver answers about a tree, in bytes. */
#define ANSWERS_RING 65536

/* The most threads for a file without --workers. */
#define WORKERS_MOST 4

/* Queue and transfer sizes. Constant after connect or accept. */
struct queue_limits {
	uint32_t chunk;    /* maximum bytes of one WRITE or READ, or of the data in one SEND */
	uint32_t depth;    /* pieces of the peer's stream for which we have receives */
	uint32_t sends;    /* capacity of the send queue */
	uint32_t receives; /* receives for messages, posted before connect or accept */
	uint32_t slots;    /* receives for messages and data, posted before MSG_MR; 0: none */
	uint64_t buffer;   /* most bytes for data, both directions */
	bool texts;        /* a server's limits for an exchange of two texts */
};

/* The stream progress that the completion of a WRITE or READ confirms. */
struct mark {
	uint64_t position; /* position in its stream */
	uint64_t reads;    /* READs posted up to this position */
};

/*
 * Where a stream starts in its file. If it may resume, the receiver sends MSG_HAVE after the MSG_MR
 * that names the file, and the sender sends MSG_START before its data.
 */
struct resumption {
	bool possible;
	bool have, start; /* MSG_HAVE, MSG_START was sent or received */
	uint64_t offered; /* bytes of MSG_HAVE */
	uint64_t from;    /* bytes of MSG_START */
	bool takes_holes; /* MSG_HAVE allows a stream without holes, */
	bool sparse;      /* and MSG_START says that it is one */
	deadline_t began; /* when MSG_START was sent or received; valid if `start` */
};

/* A registration of memory by a worker thread: exchange/registration.c. */
struct registration {
	bool pending; /* our MSG_MR waits for it */
	struct worker worker;
	struct worker_listener listener;
	struct failure failure; /* belongs to the worker while pending */
};

/* Test data (exchange/test-data.h): bytes of one WRITE or READ, and their number per direction. */
#define TEST_DATA_SIZE       4096
#define TEST_DATA_OPERATIONS 4

/* Size in bytes of a slot for a message with text in the `control` region. */
#define LONG_SLOT 320 /* MESSAGE_MAX, rounded up */
_Static_assert(LONG_SLOT >= MESSAGE_MAX, "a message fits into its slot");

/* The stages of teardown, as one of the two threads sees them. */
enum connection_life {
	CONNECTION_OPEN,
	CONNECTION_CLOSING,    /* disconnected; the queue pair is draining */
	CONNECTION_ABANDONING, /* main thread: the CQ thread must not wait for the drain */
	CONNECTION_RELEASED,   /* the CQ thread no longer accesses it */
};

/*
 * Fields of the first group are constant after connect or accept, except for those that the active
 * side sets when the server accepts. The second group belongs to the CQ thread from then until
 * CONNECTION_DRAINED, the third to the main thread.
 */
struct connection {
	const struct exchange_settings *settings;
	const struct mode *mode;   /* replaced if a tutorial client shows its mode */
	const struct mover *mover; /* replaced then, and if the server is a tutorial program */
	struct device *device;
	struct rdma_cm_id *id;
	struct endpoint endpoint;
	struct queue_limits limits;
	struct region control;  /* messages */
	struct region outgoing; /* our data: we WRITE from it, or the peer READs it */
	struct region incoming; /* the peer's data: WRITTEN, READ or received */
	struct ring outgoing_ring, incoming_ring;
	uint32_t slot_size;         /* bytes of one of limits.slots, which are in `incoming` */
	uint32_t *slots_held;       /* those of pieces that the sink has not freed, by piece */
	struct span *pieces_placed; /* of incoming_ring */
	struct source *source;
	struct sink *sink;
	struct answers *answers; /* of the peer, about the tree that we send, or NULL */
	unsigned int kept; /* attributes of trees that both sides keep: enum attributes_kept */
	bool answers_peer; /* our stream is the answers about the tree that we store */
	int answering;     /* to be the sink's: where these go, or -1 */
	struct hello theirs;
	bool counted; /* see struct request */
	struct handshake handshake;
	const uint8_t *hello_bytes; /* our hello, owned by `handshake` */
	uint8_t hello_size;
	uint8_t initiator_depth;     /* READs in flight that the peer accepts */
	uint8_t responder_resources; /* READs in flight that we accept */
	int dscp;                    /* of its packets; -1: unknown */
	uint16_t mtu;   /* of our port, in our hello: we offer test data; 0: we do not */
	bool test_data; /* both sides move test data: exchange/test-data.h */
	char peer[ADDRESS_TEXT_SIZE];
	struct worker_listener source_listener, sink_listener;

	TAILQ_ENTRY(connection) next_watched, next_in_backlog; /* lists of the CQ thread */
	bool watched, in_backlog;                              /* membership in these lists */
	enum connection_life life;
	struct exchange exchange;
	struct message peer_mr, peer_done;
	char peer_device[TEXT_ESCAPED_SIZE(MESSAGE_DEVICE_SIZE)]; /* "": it did not say */
	bool running;                                /* established, or the peer's MSG_MR arrived */
	bool streaming;                              /* each side knows the other's region */
	bool more;                                   /* the streams yielded to other connections */
	struct flow outflow, inflow;                 /* our stream, and the peer's */
	struct flow_sender sender;                   /* our stream */
	struct flow_receiver receiver;               /* the peer's stream */
	struct resumption resuming_out, resuming_in; /* our stream, and the peer's */
	bool data_due;                               /* both MSG_MR messages have been exchanged */
	struct digest peer_has;                      /* of its MSG_HAVE */
	struct mark *marks;                          /* by send number */
	struct registration registration;            /* of the memory that the peer may access */
	bool sink_knows_end;                         /* sink_finish() was called */
	bool damaged;                                /* the peer's data does not match its digest */
	deadline_t cause_due;         /* deadline for an explanation of `failure`; 0: none */
	deadline_t last_receive;      /* when the peer last sent something */
	deadline_t last_send;         /* when we last posted a send */
	unsigned int keepalives;      /* sent since last_receive */
	deadline_t last_acknowledged; /* when a signaled send completed, or the next was posted */
	bool unacknowledged;          /* a signaled send was outstanding at the disconnect */
	bool test_data_moved;         /* all test data that we move was acknowledged */
	deadline_t aborted;           /* when we aborted; 0: not aborted */
	deadline_t stream_start;      /* 0: not started */
	deadline_t exchange_end;      /* 0: not complete */
	struct failure failure;       /* the first on the CQ thread; finally the outcome */
	struct failure incomplete;    /* the outcome if there is none: files that were left out */
	atomic_uint_fast64_t sent_bytes, received_bytes; /* moved; read by any thread */
	atomic_uint_fast64_t there_bytes; /* that did not have to move, in both directions */
	atomic_bool checking;             /* whether there are such bytes is not known yet */
	atomic_int_fast64_t data_began;   /* when the data after the check could move; 0: not yet */
	bool told_resumed;                /* connection_take_resumed() has returned them */
	uint64_t messages;                /* SENDs: each uses up a receive of the peer */
	uint64_t progress;                /* increases whenever data moves */
	atomic_int_fast64_t last_progress; /* when `progress` last changed: deadline_now() */
	atomic_bool waits_for_source;      /* our data is due and the source has not ended */
	atomic_bool waits_for_sink;        /* the peer's data has arrived; the sink is not done */

	void *owner;
	enum connection_life main_life;
	unsigned int ended;                   /* events of the worker threads that have ended */
	struct failure reason, cancel_reason; /* passed with THREAD_CLOSE, THREAD_CANCEL */
	deadline_t disconnected;              /* when the peer disconnected; passed likewise */

	struct wakeup to_thread, to_main;
};

/* buffers.c: sizes and layout of the memory. */

/*
 * Creates a region of this size. If that fails, halves the size and retries, down to `least` or one
 * page. Returns 0, or -1 with the failure recorded. Main thread.
 */
int connection_create_region(struct connection *connection, struct region *region, size_t size,
	size_t least, int access, struct failure *failure);

/* The region that the mover exposes to the peer, or NULL. */
struct region *connection_exposed(struct connection *connection);

/*
 * Chooses the queue and transfer sizes for this mover; `streams` is true if more than a text may
 * be sent in either direction, `test_data` if test data is as well. Main thread.
 */
void queue_limits_choose(struct queue_limits *limits, const struct exchange_settings *settings,
	const struct device *device, uint8_t port, const struct mover *mover, bool streams,
	bool test_data);

/*
 * Chooses how many threads read or write a file of this size, or a tree. Software devices need the
 * processors themselves, and a small file is there before the threads are. The size of a tree is
 * unknown, but its files may be many. Main thread.
 */
unsigned int workers_choose(const struct exchange_settings *settings, const struct device *device,
	uint64_t size, bool tree);

/*
 * Returns the size of the ring for a stream of this size when the other stream has size `other`:
 * half of the memory that --buffer and the locked-memory limit allow, plus any that the other
 * stream does not need; at most --depth chunks, and a whole number of chunks, so that none is split
 * at the end of the ring. Main thread.
 */
size_t ring_size(const struct connection *connection, uint64_t stream, uint64_t other);

/*
 * Returns the size of the memory for all receive slots if the peer's stream has size `stream` and
 * ours `other`, and in *least how much of it is needed: like ring_size(), half of the memory plus
 * any that our stream does not need. Main thread.
 */
size_t slots_size(
	const struct connection *connection, uint64_t stream, uint64_t other, size_t *least);

/* Divides the incoming region into receive slots. Main thread. */
void slots_divide(struct connection *connection);

/* The size of the control region, its receive slots, and the slot of the next send. */
size_t control_size(const struct queue_limits *limits);
uint8_t *control_receives(const struct connection *connection);
uint8_t *control_send(const struct connection *connection, enum operation operation);

/* post.c: work requests of the exchange. CQ thread. */

/*
 * Posts one work request; the caller sets all fields except wr_id. Returns EVENT_NONE, or
 * EVENT_FAILED with the failure recorded.
 */
enum exchange_event connection_post(
	struct connection *connection, enum operation operation, struct ibv_send_wr *request);

/* Encodes and posts a message. Returns EVENT_NONE or EVENT_FAILED. */
enum exchange_event connection_send(struct connection *connection, enum operation operation,
	const struct message *message, unsigned int flags);

/* The same for a message that is followed by this data. */
enum exchange_event connection_send_with(struct connection *connection, enum operation operation,
	const struct message *message, const struct ibv_sge *data, unsigned int flags);

/* Posts the receive with this number. Returns EVENT_NONE or EVENT_FAILED. */
enum exchange_event connection_post_receive(struct connection *connection, uint64_t slot);

/*
 * Sends an empty message or, before the peer accepts that, writes 0 bytes, which needs no memory.
 * Returns EVENT_NONE or EVENT_FAILED.
 */
enum exchange_event connection_send_keepalive(struct connection *connection);

/*
 * True if the steps of this exchange are printed: unless the client's address is only counted
 * (struct request) and the client has not proved that it holds the secret.
 */
bool connection_has_transcript(const struct connection *connection);

/* The name of a server's peer, above its steps: output_step(). NULL for a client. Any thread. */
const char *connection_client(const struct connection *connection);

/* Writes the name of our device and its port: "mlx5_0/1". Any thread. */
void connection_name_device(const struct connection *connection, char name[MESSAGE_DEVICE_SIZE]);

/* Free send queue entries, not counting those reserved for messages. */
uint64_t connection_capacity(const struct connection *connection);

/* True while a signaled send is outstanding. */
bool connection_is_unacknowledged(const struct connection *connection);

/*
 * Records why the exchange cannot continue, unless a failure is already recorded. Returns
 * EVENT_ABORTED: the peer will be notified.
 */
enum exchange_event connection_fail(struct connection *connection, enum failure_kind kind, int code,
	const char *call, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The same for the file at this path, which the peer does not learn. */
enum exchange_event connection_fail_file(struct connection *connection, int code, const char *call,
	const char *path, const char *why);

/*
 * How long to wait for the cause of a flush, in milliseconds. A peer whose access was refused
 * disconnects sooner.
 */
enum { CAUSE_OF_FLUSH_MS = 2 * DISCONNECT_AFTER_REFUSAL_MS };

/*
 * True if a failed work request, which is recorded next, may be the consequence of a disconnect or
 * an abort that has not been noticed yet. A tutorial program reports neither in time.
 */
bool connection_may_have_cause(const struct connection *connection);

/* Records a failed work request with its operation, addresses and remote region. */
void connection_record_completion(struct connection *connection, int status, const char *doing);

/*
 * Deregisters the exposed region as soon as the peer no longer needs it. The device refuses later
 * accesses, which ends this connection. Returns EVENT_NONE or EVENT_ABORTED.
 */
enum exchange_event connection_revoke(struct connection *connection, struct region *region);

/* stream.c. CQ thread. */

/* Handle the peer's announcement of a piece that ends at this position, and its credit. */
enum exchange_event stream_announced(struct connection *connection, uint64_t position);
enum exchange_event stream_announced_immediate(struct connection *connection, uint32_t immediate);
enum exchange_event stream_credited(struct connection *connection, const struct message *credit);

/* Handle what the peer already has of our file, and where its file starts. */
enum exchange_event stream_peer_has(struct connection *connection, const struct message *message);
enum exchange_event stream_peer_starts(
	struct connection *connection, const struct message *message);

/* idle.c. CQ thread. */

/*
 * The same as exchange_awaits(), but while our memory is being registered, MSG_MR has not been
 * sent.
 */
const char *idle_awaits(const struct connection *connection);

/*
 * True if the peer seems to have been idle for too long. Its messages may not have been polled yet
 * if this process was stopped.
 */
bool idle_is_late(const struct connection *connection, deadline_t now);

/* When the next check is due; INT64_MAX: never. Each message sent or received may change it. */
deadline_t idle_next_check(const struct connection *connection);

/*
 * Ends the exchange if the peer has been idle for too long, and sends a keepalive if we have.
 * Returns the resulting event.
 */
enum exchange_event idle_check(struct connection *connection, deadline_t now);

/* authentication.c. CQ thread. Without a secret, these functions do nothing. */

/* Sends our proof that we hold the secret. */
enum exchange_event authentication_send_proof(struct connection *connection);

/*
 * Verifies the peer's proof, which is due now. Returns EVENT_RECEIVED_PROOF or
 * EVENT_UNAUTHENTICATED.
 */
enum exchange_event authentication_take_proof(
	struct connection *connection, const struct message *message);

/* True if this MSG_ABORT is the server's refusal because of the secret. */
bool authentication_is_refusal(const struct connection *connection, const struct message *message);

/* Set the digest keys of our stream and, after the peer's MSG_MR, of the peer's stream. */
void authentication_key_source(struct connection *connection);
void authentication_key_sink(struct connection *connection);

/* Sign our verdict; verify the signature of the peer's. */
void authentication_sign(struct connection *connection, struct message *verdict);
bool authentication_is_signed(struct connection *connection, const struct message *verdict);

/* registration.c. CQ thread. */

/*
 * Registers the regions that are not registered yet: our MSG_MR is due, so the peer may access our
 * memory. If `registration.pending` is true afterwards, a worker thread registers them, and
 * THREAD_REGISTERED follows. Returns EVENT_NONE, or EVENT_ABORTED with the failure recorded.
 */
enum exchange_event registration_begin(struct connection *connection);

/* Ends a pending registration on THREAD_REGISTERED. Same result. */
enum exchange_event registration_end(struct connection *connection);

/* peer-text.c. CQ thread. */

/* Prints the peer's text; in brief output, not a greeting. */
void connection_print_text(const struct connection *connection, const char *text, bool greeting);

/* driver.c: called by the CQ thread. */

/* Handles the main thread's requests. Returns true if work is left for another turn. */
bool connection_take_events(struct connection *connection, unsigned int events);

/*
 * Handles pending completions and advances the streams. Returns true if work may be left for
 * another turn.
 */
bool connection_poll(struct connection *connection);

/* Resumes a connection that has work left, and polls it. Returns true if work may still be left. */
bool connection_advance(struct connection *connection);

/* Requests an event for the next completion. Poll once more afterwards. */
void connection_arm(struct connection *connection);

/* True if the peer seems to be idle; the caller polls before it checks. */
bool connection_is_late(const struct connection *connection, deadline_t now);

/* When connection_check_idle() is due. */
deadline_t connection_next_check(const struct connection *connection);

/* Checks for idleness. */
void connection_check_idle(struct connection *connection, deadline_t now);

/* Decides the outcome of a drained or abandoned connection. The CQ thread's last call. */
void connection_release(struct connection *connection);

/* Returns the connection of this endpoint. */
struct connection *connection_of(struct endpoint *endpoint);

#endif
