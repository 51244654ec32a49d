/*
 * One end of a control connection: the client of a diagnosis or measurement, or its counterpart in
 * the server. The caller alternately sends a message and waits for one, so its code is sequential.
 * The client uses it on its main thread and its measuring threads, the server on a separate thread
 * per session. The connection has its own endpoint and completion channel. Only one thread at a
 * time may use it.
 *
 * Each end has three regions: `offered`, which the peer may WRITE, READ and, if the device can,
 * change by atomic operations until the connection closes; `private`, the local buffer for data
 * operations; and the message buffers. The first two contain nothing but test patterns.
 *
 * Every wait ends at its deadline, when the peer disconnects, when the device is removed, or when
 * stop_fd becomes readable. The failure is then recorded, and all later calls fail immediately.
 *
 * The peer's last message may contain the reason for the disconnect that follows it, but a busy
 * process finds both at once: rdmacm reports events on one channel, the device completions on
 * another. So what ends the connection is recorded in `end`: an event, a failed completion or a
 * rejected send. It becomes the failure only once all messages that arrived before have been taken.
 */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/deadline.h"
#include "base/failure.h"
#include "host/counters.h"
#include "host/facts.h"
#include "protocol/command.h"
#include "protocol/handshake.h"
#include "protocol/test-parameters.h"
#include "verbs/cm.h"
#include "verbs/device.h"
#include "verbs/endpoint.h"
#include "verbs/memory.h"
#include "verbs/shared-receives.h"

/* Receives posted per queue pair: commands and replies on the first, test notices on all. */
#define CONTROL_RECEIVES 8

/*
 * Receives per queue pair besides those for the operations of a test that use them up: messages and
 * notices arrive in between (measure/receives.h).
 */
#define CONTROL_RECEIVES_BESIDES (2 * CONTROL_RECEIVES)

/* Size of a notice in bytes, and notices in flight per queue pair (measure/perf-test.h). */
#define CONTROL_NOTICE_SIZE 8
#define CONTROL_NOTICES     8

/* Keepalives, or answers to keepalives, whose sends may not have completed. */
#define CONTROL_KEEPALIVES 3

/* Send queue entries in addition to a test's operations: a message, notices and keepalives. */
#define CONTROL_SENDS (1 + CONTROL_NOTICES + CONTROL_KEEPALIVES)

/*
 * Not 7, which soft-RoCE treats as infinite: a broken path must be reported within seconds. A
 * connection survives link failures of less than 3.8 s: seven times TRANSPORT_ACK_TIMEOUT.
 */
#define CONTROL_RETRIES 6

/* Kinds of work requests (verbs/endpoint.h). A test posts the kinds above CONTROL_MESSAGE. */
enum control_work {
	CONTROL_MESSAGE,
	CONTROL_NOTICE,
	CONTROL_KEEPALIVE,
	CONTROL_OPERATION,
};

struct control {
	const struct control_request *request; /* client only (control/client.h) */
	struct cm_channel *events;             /* used by this id only */
	struct rdma_cm_id *id;
	int stop_fd;          /* -1: none */
	struct device device; /* its completion channel is used by this connection only */
	struct endpoint endpoint;
	enum ordering ordering; /* of `offered` and `private`; strict by default */
	struct region offered, private, messages;
	struct handshake handshake;
	uint8_t reads;         /* client only: READs that each end may have outstanding */
	uint64_t peer_address; /* memory offered by the peer */
	uint32_t peer_length, peer_rkey;
	struct kept_receive *kept; /* ring of completed receives not yet processed */
	unsigned int kept_first, kept_count, kept_max;
	uint32_t receives;   /* of a test, per queue pair; set before control_prepare() */
	uint32_t inline_max; /* bytes of inline data, 0: by default; set before control_prepare() */
	uint32_t gathers; /* pieces of a request's memory, 0: one; set before control_prepare() */
	bool shares; /* the other queue pairs share their receives; set before control_prepare() */
	uint32_t sharing; /* how many they are */
	struct shared_receives shared;
	enum test_transport transport; /* of the other queue pairs; set before they are added */
	bool retired; /* they are posted; the first CONTROL_RECEIVES are not posted again */
	struct queue_pair *held; /* owner of the last message's slot; NULL: none */
	bool heard;              /* received a message */
	uint64_t held_slot;
	bool answers;    /* the server answers the client's keepalives */
	bool explains;   /* server only: the client understands COMMAND_ABORT */
	bool tries;      /* client only: the server understands COMMAND_OPERATIONS */
	bool links;      /* client only: the server understands COMMAND_OPERATIONS_LINK */
	bool unanswered; /* client only: the last keepalive has not been answered */
	bool connected, disconnected;
	uint32_t commands;            /* number of commands sent by the client */
	char peer[ADDRESS_TEXT_SIZE]; /* as "address:port" */
	bool waited;                  /* a signaled send was outstanding at the last look */
	uint64_t posted;              /* sends that had been posted at the last look */
	uint64_t acknowledged;        /* sends that had completed at the last look */
	deadline_t changed;           /* when that changed, or nothing was outstanding */
	deadline_t looked;            /* the last time when the connection was seen to be open */
	struct failure end;           /* why the connection ended, once the messages are taken */
	struct failure failure;       /* the first failure */
};

/*
 * Initialises a connection, which takes ownership of the id and its event channel. secret may be
 * NULL; role is the local role in the handshake.
 */
void control_init(struct control *control, struct cm_channel *events, struct rdma_cm_id *id,
	const struct sockaddr *peer, const struct secret *secret, enum secret_role role);

/*
 * Creates the memory and an endpoint with capacity for this many queue pairs and `depth` operations
 * on each, and posts the receives. If they share receives, the connection's own is one more, and
 * the queues have room for the receives of another two. With a secret, `offered` and `private` are
 * registered later, by control_register(). Returns 0, or -1 with the failure recorded, like all
 * functions below. rdma_create_qp(3), ibv_reg_mr(3).
 */
int control_prepare(struct control *control, uint32_t queue_pairs, uint32_t depth);

/*
 * Registers `offered` and `private` once the peer has proved that it knows the secret. The peer can
 * then access `offered` and, on iWARP, `private`.
 */
int control_register(struct control *control);

/*
 * Replaces `offered` and `private` if they are smaller than size. Must be called after the proof
 * and before an rkey is sent to the peer.
 */
int control_enlarge(struct control *control, size_t size);

/*
 * Creates another queue pair, which the caller connects. Its receives are for notices. Returns NULL
 * with the failure recorded on error.
 */
struct queue_pair *control_add_queue_pair(struct control *control);

/* Returns registered memory for the CONTROL_NOTICES notices that a queue pair can send. */
uint8_t *control_notices(const struct control *control, const struct queue_pair *pair);

/*
 * Sets the number of RDMA READs in flight that this end requests and accepts, within the device's
 * limits.
 */
void control_limit_reads(const struct control *control, struct rdma_conn_param *parameters,
	uint8_t asks, uint8_t answers);

/* Stores the local proof in text and points the command to it; text must outlive the command. */
void control_prove(
	const struct control *control, struct command *command, uint8_t text[SECRET_PROOF_SIZE]);

/* True if the command or reply contains a valid proof from the peer. */
bool control_is_proved(const struct control *control, const struct command *command);

/*
 * Sends a message after the previous one has been acknowledged. If the device rejects it, the next
 * wait fails, once it has returned the messages that have arrived.
 */
int control_send_message(
	struct control *control, const struct command *message, deadline_t deadline);

/*
 * Sends the message that ends the session, and waits until the peer has disconnected, in all at
 * most two seconds: a disconnect by this end could overtake the message and, on iWARP, discard it.
 * Ignores stop_fd, and leaves the recorded failure as it is.
 */
void control_send_last(struct control *control, const struct command *message);

/*
 * Waits for a message. Its text is valid until the next call. Returns 1 for a keepalive. At the
 * client, COMMAND_ABORT is a failure.
 */
int control_receive_message(struct control *control, struct command *message, deadline_t deadline);

/*
 * The first function stores the peer's region from its message; the second describes the local
 * region.
 */
void control_set_peer_region(struct control *control, const struct command *region);
void control_describe_region(const struct control *control, struct command *region);

/*
 * Reads the counters of the local port; sets an empty list if they cannot be read.
 * control/self-facts.c.
 */
void control_counters(const struct control *control, struct counters *counters);

/* Collects the facts of this end: program, device, port, limits. control/self-facts.c. */
void control_facts(const struct control *control, struct facts *facts);

/* For a test's event loop, which polls the endpoint itself. */

/* Handles pending rdmacm events and the stop signal. Never blocks. */
int control_check(struct control *control);

/*
 * Arms the endpoint or, if it is armed, sleeps until an event arrives. In either case, the caller
 * then polls again. Returns 0; 1 at the deadline; -1 on failure.
 */
int control_sleep_until(struct control *control, deadline_t deadline);

/* The same, but fails at the deadline. */
int control_sleep(struct control *control, deadline_t deadline);

/*
 * Records that this completion failed: the next call of control_check() or control_sleep() fails.
 * May wait one second until rdmacm reports the cause.
 */
void control_completion_failed(struct control *control, const struct completion *completion);

/*
 * Records why a send was rejected with this -errno. Returns -1. May wait two seconds until rdmacm
 * reports the cause.
 */
int control_post_failed(struct control *control, int error);

/* If this receive is the server's COMMAND_ABORT, records its reason and returns true. */
bool control_take_abort(struct control *control, const struct completion *completion);

/* Keeps a completed receive for control_receive_message() or control_take_kept(). */
void control_keep(struct control *control, const struct completion *completion);

/* Removes and returns the oldest kept receive (kept_count > 0), valid until another is kept. */
const struct completion *control_take_kept(struct control *control);

/* Reposts a completed receive, unless those of a test have replaced it. */
int control_release(struct control *control, const struct completion *completion);

/*
 * Disconnects, if still connected, and frees everything. Has no effect on a closed connection.
 * rdma_disconnect(3).
 */
void control_close(struct control *control);

#endif
