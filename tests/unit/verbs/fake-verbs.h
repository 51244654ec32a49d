/*
 * A made-up RDMA device: the functions of libibverbs and librdmacm that the verbs module calls, so
 * that it can be tested on any machine. Linked before the libraries, they take the place of theirs.
 *
 * Nothing moves until the test says so: what is posted waits, in order, until the test completes
 * it, lets a message arrive or breaks the queue pair. Two connections can be joined: then what one
 * sends arrives at the other. The clock stands still, too, until the test moves it.
 *
 * It is as strict as hardware, and ends the process with a word where that would fail: a work
 * request names memory outside its region, with another's key or without the right; a queue
 * overflows, where a place is free again only when a completion of it, or of a later one, was
 * polled; a message finds no receive; memory is written to while it is being sent. A send without
 * IBV_SEND_SIGNALED that succeeds completes silently. An event comes only after it was asked for.
 */
#ifndef TESTS_UNIT_VERBS_FAKE_VERBS_H
#define TESTS_UNIT_VERBS_FAKE_VERBS_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/hello.h"
#include "protocol/message.h"

/* What the made-up device says of itself: by default, what soft-RoCE says. */
#define FAKE_SOFT_VENDOR 0xffffff
#define FAKE_MESSAGE_MAX (1U << 23)

/* A send work request as it was posted. */
struct fake_send {
	uint64_t wr_id;
	enum ibv_wr_opcode opcode;
	unsigned int flags;
	uint32_t immediate;   /* in the host's order */
	struct ibv_sge piece; /* of no bytes: there is none */
	uint64_t remote_address;
	uint32_t rkey;
	struct digest digest;       /* of the piece, but for a READ */
	uint8_t bytes[MESSAGE_MAX]; /* what a SEND sends */
};

/* What rdmacm was asked for about a connection. */
struct fake_requests {
	struct rdma_conn_param connect; /* or accept; private_data is not kept */
	uint8_t private_data[56];
	unsigned int disconnects;
	uint8_t rnr_timer;   /* 0: not set */
	uint8_t ack_timeout; /* 0: not set */
};

/* Forgets what was; no call fails. Nothing may be left of the test before. */
void fake_start(enum ibv_transport_type transport);

struct ibv_context *fake_context(void);

/* What ibv_query_device() gives: to be changed before it is called. */
struct ibv_device_attr *fake_attributes(void);

/* A new id as rdmacm has it when a route is resolved or a request came, of peer 192.0.2.9:7471. */
struct rdma_cm_id *fake_id(void);

/* Makes the call of that function fail once, after so many that do not. */
void fake_fail(const char *function, unsigned int after, int error);

/* True if that failure has not happened yet. */
bool fake_fail_is_due(void);

/*
 * Lets so many bytes be registered at a time, in whole pages, in each protection domain, as if its
 * connection was all that a process has; 0: as many as wanted.
 */
void fake_limit_memory(size_t bytes);

/* Lets getrlimit() say that so many bytes may be locked; 0: any number, as at first. */
void fake_announce_limit(size_t bytes);

/* Bytes in whole pages that are registered now, in all. */
size_t fake_registered(void);

/* Objects that were made and are not freed: ids, queues, domains, regions, channels. */
unsigned int fake_objects(void);

/* The peer's memory, if the peer is the test: where RDMA goes. */
void fake_expose(void *memory, size_t length, uint32_t rkey);

/* So many READs may be in flight from now on, as rdmacm has agreed. */
void fake_agree(struct rdma_cm_id *id, uint8_t reads);

/* What was posted to the send queue so far, and one of it. */
unsigned int fake_sends(struct rdma_cm_id *id);
struct fake_send fake_send(struct rdma_cm_id *id, unsigned int index);

/* Sends that were posted and are not complete. */
unsigned int fake_waiting(struct rdma_cm_id *id);

/* Receives that are posted and not complete. */
unsigned int fake_receives(struct rdma_cm_id *id);

/* Completes the oldest send that is not; if it succeeds, the RDMA operation happens. */
void fake_complete(struct rdma_cm_id *id, enum ibv_wc_status status);

/* Flips a bit of what the next RDMA operation but so many brings. */
void fake_damage(unsigned int after);

/* Joins two connections: what one sends and completes arrives at the other. */
void fake_join(struct rdma_cm_id *a, struct rdma_cm_id *b);

/* A message arrives in the oldest receive, or that receive fails. */
void fake_arrive(struct rdma_cm_id *id, const void *bytes, size_t length);
void fake_fail_receive(struct rdma_cm_id *id, enum ibv_wc_status status);

/* So many messages of no bytes arrive, each as soon as there is a receive for it. */
void fake_flood(struct rdma_cm_id *id, unsigned int messages);

/* The most completions that were polled with no look at what else there is to do: poll(2). */
unsigned int fake_longest_turn(void);

/* The peer's WRITE of so many bytes has happened, and brings immediate data. */
void fake_arrive_immediate(struct rdma_cm_id *id, uint32_t length, uint32_t immediate);

/* The queue pair enters the error state: what is posted is flushed, and what is posted later. */
void fake_break(struct rdma_cm_id *id);

/* Whether what is posted comes back at once when we end the connection, as it does at first. */
void fake_flush_on_disconnect(bool flush);

struct fake_requests fake_requests(struct rdma_cm_id *id);

/* The region of that local or remote key as it is registered; NULL if there is none. */
const struct ibv_mr *fake_region(uint32_t key, int *access);

/* True if a region is registered that the peer may read or write. */
bool fake_is_exposed(void);

/* Waits until all other threads have taken everything and sleep. */
void fake_settle(void);

/* Lets so many milliseconds pass, and the CQ thread wake whenever it wants to; then settles. */
void fake_pass(int64_t milliseconds);

#endif
