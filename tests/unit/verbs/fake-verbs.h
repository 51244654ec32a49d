/* A fake RDMA device: replacements for the functions of libibverbs and librdmacm that the verbs
 * module calls, so that it can be tested on any machine. They are linked before the libraries and
 * override them.
 *
 * Nothing happens until the test requests it: posted work requests wait in order until the test
 * completes one, delivers a message or moves the queue pair to the error state. Two connections can
 * be joined, so that one receives what the other sends. The clock advances only when the test says
 * so.
 *
 * The device is as strict as hardware. It prints a message and aborts the process where hardware
 * would fail: a work request addresses memory outside its region, with the wrong key or without the
 * access flag; a queue overflows (a slot becomes free only after its completion or a later
 * completion has been polled); a message arrives without a posted receive; memory changes while it
 * is being sent. An unsignaled send that succeeds generates no completion. A completion event is
 * raised only after it was requested. */
#ifndef TESTS_UNIT_VERBS_FAKE_VERBS_H
#define TESTS_UNIT_VERBS_FAKE_VERBS_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/hello.h"
#include "protocol/message.h"
#include "tests/unit/common/personality.h"

/* Defaults of the fake device, those of soft-RoCE. */
#define FAKE_SOFT_VENDOR 0xffffff
#define FAKE_SIW_VENDOR  0x626d74 /* software iWARP */
#define FAKE_MESSAGE_MAX (1U << 23)
#define FAKE_VECTORS     4

/* The lkey of the first region; those of later regions follow. */
#define FAKE_LKEY 0x1000

/* A send work request as posted. */
struct fake_send {
	uint64_t wr_id;
	enum ibv_wr_opcode opcode;
	unsigned int flags;
	uint32_t immediate;   /* in host byte order */
	struct ibv_sge piece; /* length 0: no scatter/gather entry */
	struct ibv_sge data;  /* the second entry of a SEND; length 0: none */
	uint64_t remote_address;
	uint32_t rkey;
	struct digest digest; /* of the piece, not set for a READ */
	struct digest data_digest;
	uint8_t bytes[MESSAGE_MAX]; /* payload of a SEND, without `data` */
	bool completed, polled;
};

/* Parameters that the code under test passed to rdmacm and ibv_modify_qp() for a connection. */
struct fake_requests {
	struct rdma_conn_param connect; /* or accept; private_data is NULL, see below */
	uint8_t private_data[56];
	unsigned int disconnects;
	uint8_t rnr_timer;   /* 0: not set */
	uint8_t ack_timeout; /* 0: not set */
};

/* Resets the device; no call fails. Objects of an earlier test must have been freed. */
void fake_start(enum ibv_transport_type transport);

/* Starts the device as fake_start() does, with this personality. */
void fake_start_as(const struct personality *personality);

struct ibv_context *fake_context(void);

/* Gives the context a descriptor of asynchronous events, which it lacks by default. */
void fake_open_events(void);

/* Raises an asynchronous event of a port, or of the device if `port` is 0, or of a queue pair. */
void fake_raise(enum ibv_event_type type, unsigned int port);
void fake_raise_for(enum ibv_event_type type, struct ibv_qp *qp);
void fake_raise_limit(struct ibv_srq *srq);

/* Returns the number of events that were not read and acknowledged. */
unsigned int fake_unacknowledged_events(void);

/* The result of ibv_query_device(). Change it before the code under test calls that function. */
struct ibv_device_attr *fake_attributes(void);

/* Returns a new id, in the state after route resolution or a connection request, with the peer
 * 192.0.2.9:7471. */
struct rdma_cm_id *fake_id(void);

/* Returns how many queue pairs have been destroyed with receives and an armed completion queue. A
 * driver may flush the receives (siw), which raises an event. */
unsigned int fake_destroyed_armed(void);

/* Makes one call of this function fail, after `after` calls that succeed. */
void fake_fail(const char *function, unsigned int after, int error);

/* True if that failure is still pending. */
bool fake_fail_is_due(void);

/* Limits registered memory, in bytes rounded up to whole pages, per protection domain, as if its
 * connection were the only connection of the process; 0: no limit. */
void fake_limit_memory(size_t bytes);

/* From now on, registrations of at least this many bytes wait, as if they took long; 0: none does,
 * and those that wait continue. The CQ thread must not wait. */
void fake_hold_registrations(size_t bytes);

/* Sets the RLIMIT_MEMLOCK that getrlimit() reports, in bytes; 0: unlimited, the default. */
void fake_announce_limit(size_t bytes);

/* Grants CAP_IPC_LOCK, which lifts the limit. */
void fake_grant_locking(void);

/* Returns the number of bytes currently registered in all protection domains, in whole pages. */
size_t fake_registered(void);

/* Returns the total size of the completion queues without a channel, which are never destroyed. */
unsigned int fake_unused_entries(void);

/* Returns the number of live objects: ids, queues, domains, regions, channels. */
unsigned int fake_objects(void);

/* Sets the memory that RDMA operations access when the test acts as the peer. */
void fake_expose(void *memory, size_t length, uint32_t rkey);

/* Sets the traffic class of the paths that rdmacm resolved. */
void fake_set_traffic_class(uint8_t traffic_class);

/* Sets the active MTU of the port and the path MTU of all queue pairs, at first unknown. */
void fake_set_mtus(enum ibv_mtu port, enum ibv_mtu path);

/* Sets active_width and active_speed of the port: 0, which means nothing, after fake_start(). */
void fake_set_rate(uint8_t width, uint8_t speed);

/* Limits the READs in flight from now on, as negotiated by rdmacm. */
void fake_agree(struct rdma_cm_id *id, uint8_t reads);

/* Number of work requests posted to the send queue so far, excluding drain work requests; and one
 * of those work requests. */
unsigned int fake_sends(struct rdma_cm_id *id);
struct fake_send fake_send(struct rdma_cm_id *id, unsigned int index);

/* Number of outstanding sends. */
unsigned int fake_waiting(struct rdma_cm_id *id);

/* The completion vector of the id's completion queue. */
int fake_vector(struct rdma_cm_id *id);

/* Number of outstanding receives. */
unsigned int fake_receives(struct rdma_cm_id *id);

/* Completes the oldest outstanding send or, if the personality overtakes, sometimes a later WRITE
 * or SEND. With IBV_WC_SUCCESS it is also executed. */
void fake_complete(struct rdma_cm_id *id, enum ibv_wc_status status);

/* Flips a bit in the data of one RDMA operation, after `after` undamaged operations. */
void fake_damage(unsigned int after);

/* Joins two connections: each receives the sends that complete on the other. */
void fake_join(struct rdma_cm_id *a, struct rdma_cm_id *b);

/* Delivers a message to the oldest receive, or fails that receive. */
void fake_arrive(struct rdma_cm_id *id, const void *bytes, size_t length);
void fake_fail_receive(struct rdma_cm_id *id, enum ibv_wc_status status);

/* Delivers this number of empty messages, each as soon as a receive is posted. */
void fake_flood(struct rdma_cm_id *id, unsigned int messages);

/* Returns the largest number of completions polled between two calls of poll(2). */
unsigned int fake_longest_turn(void);

/* Delivers the immediate data of a peer's WRITE of `length` bytes. */
void fake_arrive_immediate(struct rdma_cm_id *id, uint32_t length, uint32_t immediate);

/* Moves the queue pair to the error state: posted work requests are flushed, and later work
 * requests are flushed at once. */
void fake_break(struct rdma_cm_id *id);

/* From now on, a failed post returns -1 and sets errno, as libsiw does in some cases. */
void fake_posts_set_errno(void);

/* Queue pairs with more bytes of inline data than this cannot be created. */
void fake_limit_inline(uint32_t bytes);

/* Selects whether a local disconnect flushes posted work requests at once, which is the default. */
void fake_flush_on_disconnect(bool flush);

/* Returns how many connections were reset because their queue pairs were modified. */
unsigned int fake_resets(void);

struct fake_requests fake_requests(struct rdma_cm_id *id);

/* Returns the region registered under this lkey or rkey, or NULL. */
const struct ibv_mr *fake_region(uint32_t key, int *access);

/* True if any registered region is remotely readable or writable. */
bool fake_is_exposed(void);

/* Waits until all other threads have processed their input and sleep. */
void fake_settle(void);

/* Advances the clock, wakes the CQ thread for each timeout that expires, then settles. */
void fake_pass(int64_t milliseconds);

/* Advances the clock in a test that has no CQ thread. */
void fake_advance(int64_t milliseconds);

#endif
