/*
 * A made-up RDMA device: the functions of libibverbs and librdmacm that the verbs module calls, so
 * that it can be tested on any machine. Linked before the libraries, they take the place of theirs.
 *
 * Nothing moves until the test says so: what is posted waits, in order, until the test completes
 * it, lets a message arrive or breaks the queue pair. It is as strict as hardware: a work request
 * that names memory outside its region, with another's key or without the right ends the process
 * with a word about it; an event comes only after it was asked for.
 */
#ifndef FAKE_VERBS_H
#define FAKE_VERBS_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/introduction.h"
#include "lib/message.h"

/* A send work request as it was posted. */
struct fake_send {
	uint64_t wr_id;
	enum ibv_wr_opcode opcode;
	unsigned int flags;
	unsigned int call; /* which ibv_post_send() it came with, from 1 up */
	struct ibv_sge piece;
	uint64_t remote_address;
	uint32_t rkey;
	uint8_t bytes[MESSAGE_SIZE]; /* what a SEND sends */
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

/* A new id as rdmacm has it when a route is resolved or a request came, of peer 192.0.2.9:7471. */
struct rdma_cm_id *fake_id(void);

/* Makes the call of that function fail once, after so many that do not. */
void fake_fail(const char *function, unsigned int after, int error);

/* Objects that were made and are not freed: ids, queues, domains, regions, channels. */
unsigned int fake_objects(void);

/* The peer's memory: where RDMA goes. */
void fake_expose(void *memory, size_t length, uint32_t rkey);

/* What was posted to the send queue so far, and one of it. */
unsigned int fake_sends(struct rdma_cm_id *id);
struct fake_send fake_send(struct rdma_cm_id *id, unsigned int index);

/* Completes the oldest send that is not; if it succeeds, the RDMA operation happens. */
void fake_complete(struct rdma_cm_id *id, enum ibv_wc_status status);

/* A message arrives in the oldest receive, or that receive fails. */
void fake_arrive(struct rdma_cm_id *id, const void *bytes, size_t length);
void fake_fail_receive(struct rdma_cm_id *id, enum ibv_wc_status status);

/* The queue pair enters the error state: what is posted is flushed, and what is posted later. */
void fake_break(struct rdma_cm_id *id);

/* Whether rdma_disconnect() breaks the queue pair at once, as it does at first. */
void fake_flush_on_disconnect(bool flush);

struct fake_requests fake_requests(struct rdma_cm_id *id);

/* The region of that local or remote key as it is registered; NULL if there is none. */
const struct ibv_mr *fake_region(uint32_t key, int *access);

/* Waits until the CQ thread has taken everything and sleeps. */
void fake_settle(void);

#endif
