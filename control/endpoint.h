/*
 * One end of a diagnosis: a connection that does one thing at a time and waits for it, so that its
 * code can be read from top to bottom. Both programs use it, the client on its main thread, the server
 * on a thread of its own for each diagnosis. It needs no CQ thread: it polls its own completion queue.
 *
 * Each end has three pieces of registered memory: `offered`, which the peer may WRITE and READ for
 * as long as the connection lasts, `private`, from and to which this end moves data, and the buffers
 * of the messages (protocol/command.h). Nothing but test patterns ever lies in the first two.
 *
 * Every wait ends: at its deadline, when the peer disconnects, when the device goes away, or when
 * stop_fd becomes readable. Then the failure is recorded and everything else fails at once. One
 * thread at a time uses a probe.
 */
#ifndef CONTROL_ENDPOINT_H
#define CONTROL_ENDPOINT_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"
#include "base/failure.h"
#include "host/facts.h"
#include "protocol/command.h"
#include "protocol/handshake.h"
#include "rdma-common.h"

/* Receives for messages: an order and its answer, and the notices of a measurement (measure/perf-test.h). */
#define PROBE_RECEIVES 8

/* Messages that may be under way beside the operations of a run: notices and a sign of life. */
#define PROBE_MESSAGES 12

/* Not 7 times, which soft-RoCE takes for ever: a path that is broken is named within seconds. */
#define PROBE_RETRIES 6

struct probe_memory {
	uint8_t *start;
	size_t size;
	struct ibv_mr *mr;
};

struct probe {
	struct rdma_event_channel *events; /* of this id alone */
	struct rdma_cm_id *id;
	int stop_fd; /* -1: none */
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct probe_queue {
		struct ibv_cq *cq;
		bool armed; /* it will raise an event */
	} sends, receives;
	struct probe_memory offered, private, messages;
	struct handshake handshake;
	uint64_t peer_address; /* the memory that the peer offers */
	uint32_t peer_length, peer_rkey;
	unsigned int slot;  /* that the last message lies in; 0: none */
	struct ibv_wc kept; /* the completion of an order that came during a run */
	bool has_kept;
	uint32_t inline_max; /* bytes that the queue pair takes without registered memory */
	bool connected, disconnected;
	char peer[ADDRESS_TEXT_SIZE]; /* as "address:port" */
	struct failure failure;       /* the first */
};

/*
 * Begins with an id and the channel of its events, which belong to the probe from now on. peer is who
 * is at the other end. The secret, which may be NULL, and our role in its use.
 */
void probe_init(struct probe *probe, struct rdma_event_channel *events, struct rdma_cm_id *id,
	const struct sockaddr *peer, const struct secret *secret, enum secret_role role);

/*
 * Makes queue pair and memory for the device that id is bound to, and posts the receives. There is
 * room for `depth` work requests on each of so many queue pairs, which share the completion queues;
 * this one is the first. Returns 0, or -1 with the failure recorded, like all functions below.
 * rdma_create_qp(3), ibv_reg_mr(3).
 */
int probe_prepare(struct probe *probe, uint32_t queue_pairs, uint32_t depth);

/* Maps memory, zeroed and with guard pages, and registers it. base/guard-pages.h, ibv_reg_mr(3). */
int probe_make_memory(struct probe *probe, struct probe_memory *memory, size_t size, int access);

/* Gives it back, whatever there is of it. */
void probe_free_memory(struct probe_memory *memory);

/* A queue pair of the probe's completion queues, for so many work requests. ibv_create_qp(3). */
struct ibv_qp_init_attr probe_queue_pair(
	const struct probe *probe, uint32_t depth, uint32_t inline_bytes);

/* Makes `offered` and `private` anew if they are smaller than that, and nobody knows of them yet. */
int probe_enlarge(struct probe *probe, size_t size);

/*
 * Waits for that rdmacm event, in this phase; another one that ends the connection is the failure.
 * The copy may be NULL. rdma_get_cm_event(3).
 */
int probe_await_event(struct probe *probe, enum rdma_cm_event_type wanted, enum phase phase,
	deadline_t deadline, struct event_copy *copy);

/* Writes our proof into text, which the order has then, and which has to outlive it. */
void probe_prove(
	const struct probe *probe, struct command *command, uint8_t text[SECRET_PROOF_SIZE]);

/* True if that order or answer has the peer's proof. */
bool probe_is_proved(const struct probe *probe, const struct command *command);

/* Lets the peer have our offered memory, which with a secret it may not have from the start. */
int probe_open(struct probe *probe);

/* Sends a message and waits until it has arrived. */
int probe_send(struct probe *probe, const struct command *message, deadline_t deadline);

/*
 * Waits for a message. Its text stays valid until the next call. Returns 1 if it was a mere sign of life.
 */
int probe_receive(struct probe *probe, struct command *message, deadline_t deadline);

/* Nanoseconds by a clock that nobody sets: CLOCK_MONOTONIC_RAW, clock_gettime(2). */
uint64_t probe_now(void);

/* Takes in what the peer says of its memory, and says it of ours. */
void probe_meet(struct probe *probe, const struct command *region);
void probe_tell_region(const struct probe *probe, struct command *region);

/* Writes the counters of our device's port as lines of text, as host/counters.h has them. control/self-facts.c. */
size_t probe_counters(const struct probe *probe, char *text, size_t size);

/*
 * For a loop that polls the queues itself. probe_look() takes what rdmacm has to say, without waiting;
 * probe_idle() lets the queues raise events and, if they do already, sleeps until something happens:
 * the caller polls them again after either.
 */
int probe_look(struct probe *probe);
int probe_idle(struct probe *probe, deadline_t deadline);

/* This completion of that queue failed: records why. */
int probe_broke(
	struct probe *probe, const struct probe_queue *queue, const struct ibv_wc *completion);

/* What came with this completion is no order: its slot takes the next message. */
int probe_release(struct probe *probe, const struct ibv_wc *completion);

/* What came with it; valid until the next release. */
const void *probe_message(const struct probe *probe, const struct ibv_wc *completion);

/* READs at a time: as many as one side wishes for, if the device can do so many. */
static inline uint8_t probe_reads(uint8_t wished, int possible)
{
	return wished < possible ? wished : (uint8_t)possible;
}

/* Disconnects, if that is still to be done, and frees everything. rdma_disconnect(3). */
void probe_close(struct probe *probe);

/* Bytes of an enum ibv_mtu. InfiniBand specification, volume 1, 9.1.2. control/self-facts.c. */
unsigned int probe_mtu_bytes(enum ibv_mtu mtu);

/* What this end is: program, device, port, limits. control/self-facts.c. */
void probe_facts(const struct probe *probe, struct facts *facts);

#endif
