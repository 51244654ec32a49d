/*
 * One end of a control connection: the client of a diagnosis or a measurement, or the server's half
 * of it. Its user sends a message, waits for the next one, and so on, so its code reads from top to
 * bottom. The client uses it on its main thread and its measuring threads, the server on a thread
 * of its own for each session. It has an endpoint and a completion channel to itself, and one
 * thread at a time uses it.
 *
 * Each end has three regions: `offered`, which the peer may WRITE and READ for as long as the
 * connection lasts, `private`, from and to which this end moves data, and the buffers of the
 * messages. Only test patterns ever lie in the first two.
 *
 * Every wait ends: at its deadline, when the peer disconnects, when the device is removed, or when
 * stop_fd becomes readable. Then the failure is recorded, and whatever is tried afterwards fails at
 * once.
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
#include "verbs/cm.h"
#include "verbs/device.h"
#include "verbs/endpoint.h"
#include "verbs/memory.h"

/* Receives on each queue pair: commands and replies on the first, notices of a test on all. */
#define CONTROL_RECEIVES 8

/* Sends beside the operations of a test: a message, notices and keepalives. */
#define CONTROL_SENDS 12

/* Notices: bytes of one, and how many of a queue pair may be under way (measure/perf-test.h). */
#define CONTROL_NOTICE_SIZE 8
#define CONTROL_NOTICES     8

/* Not 7, which soft-RoCE takes as infinite: a broken path is named within seconds. */
#define CONTROL_RETRIES 6

/* Kinds of work requests (verbs/endpoint.h). Those above CONTROL_MESSAGE are posted by a test. */
enum control_work {
	CONTROL_MESSAGE,
	CONTROL_NOTICE,
	CONTROL_KEEPALIVE,
	CONTROL_OPERATION,
};

struct control {
	const struct control_request *request; /* of a client (control/client.h) */
	struct rdma_event_channel *events;     /* of this id alone */
	struct rdma_cm_id *id;
	int stop_fd;          /* -1: none */
	struct device device; /* whose completion channel is this connection's alone */
	struct endpoint endpoint;
	struct region offered, private, messages;
	struct handshake handshake;
	uint64_t peer_address; /* the memory that the peer offers */
	uint32_t peer_length, peer_rkey;
	struct kept_receive *kept; /* completed receives that no one has taken yet, a ring */
	unsigned int kept_first, kept_count, kept_max;
	struct queue_pair *held; /* whose slot holds the last message; NULL: none */
	uint64_t held_slot;
	bool connected, disconnected;
	uint32_t commands;            /* that the client has given */
	char peer[ADDRESS_TEXT_SIZE]; /* as "address:port" */
	struct failure failure;       /* the first */
};

/*
 * Begins with an id and the channel of its events, which belong to the control connection from now
 * on, the address of the peer, the secret, which may be NULL, and our role in its use.
 */
void control_init(struct control *control, struct rdma_event_channel *events, struct rdma_cm_id *id,
	const struct sockaddr *peer, const struct secret *secret, enum secret_role role);

/*
 * Makes the endpoint, with room for this number of queue pairs and for `depth` operations on each,
 * and the memory, and posts the receives. With a secret, `offered` is not registered yet:
 * control_offer(). Returns 0, or -1 with the failure recorded, like all functions below.
 * rdma_create_qp(3), ibv_reg_mr(3).
 */
int control_prepare(struct control *control, uint32_t queue_pairs, uint32_t depth);

/* Registers `offered`, so that the peer may use it. */
int control_offer(struct control *control);

/*
 * Replaces `offered` and `private` by larger ones if they are smaller than that. The peer has no
 * key yet.
 */
int control_enlarge(struct control *control, size_t size);

/*
 * Makes one more queue pair, for the caller to connect. Its receives take notices. NULL: it failed.
 */
struct queue_pair *control_add_queue_pair(struct control *control);

/* Registered memory for CONTROL_NOTICES notices that a queue pair sends. */
uint8_t *control_notices(const struct control *control, const struct queue_pair *pair);

/* Sets how many READs at a time this end asks for and answers, as far as the device can. */
void control_limit_reads(const struct control *control, struct rdma_conn_param *parameters,
	uint8_t asks, uint8_t answers);

/* Waits until an accepted connection is established. rdma_get_cm_event(3). */
int control_await_established(struct control *control, deadline_t deadline);

/* Puts our proof into the command, and into text, which has to outlive it. */
void control_prove(
	const struct control *control, struct command *command, uint8_t text[SECRET_PROOF_SIZE]);

/* True if the command or reply has the peer's proof. */
bool control_is_proved(const struct control *control, const struct command *command);

/* Sends a message, once the one before has arrived. */
int control_send_message(
	struct control *control, const struct command *message, deadline_t deadline);

/* Waits until the last message has arrived: what is sent last is lost if we disconnect before. */
int control_await_sent(struct control *control, deadline_t deadline);

/*
 * Waits for a message. Its text is valid until the next call. Returns 1 if it was a mere keepalive.
 */
int control_receive_message(struct control *control, struct command *message, deadline_t deadline);

/* Reads the peer's region from its message, and describes ours in a message. */
void control_set_peer_region(struct control *control, const struct command *region);
void control_describe_region(const struct control *control, struct command *region);

/* The counters of our port, none if they cannot be read. control/self-facts.c. */
void control_counters(const struct control *control, struct counters *counters);

/* What this end is: program, device, port, limits. control/self-facts.c. */
void control_facts(const struct control *control, struct facts *facts);

/* Bytes of an enum ibv_mtu. InfiniBand specification, volume 1, 9.1.2. control/self-facts.c. */
unsigned int control_mtu_bytes(enum ibv_mtu mtu);

/* For the loop of a test, which polls the endpoint itself. */

/* Handles pending rdmacm events and the stop signal. Never blocks. */
int control_check(struct control *control);

/*
 * Arms the endpoint or, if it is armed, sleeps until something happens: the caller polls again
 * after either.
 */
int control_sleep(struct control *control, deadline_t deadline);

/* Records why this completion failed. Returns -1. */
int control_completion_failed(struct control *control, const struct completion *completion);

/* Keeps a completed receive for control_receive_message() or control_take_kept(). */
void control_keep(struct control *control, const struct completion *completion);

/* The first of the kept_count receives that are kept; valid until the next one is kept. */
const struct completion *control_take_kept(struct control *control);

/* Posts the receive anew that completed. */
int control_release(struct control *control, const struct completion *completion);

/*
 * Disconnects, if that has not happened, and frees everything, if there is anything.
 * rdma_disconnect(3).
 */
void control_close(struct control *control);

#endif
