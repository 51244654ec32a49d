/*
 * One end of a connection: a protection domain, one completion queue, the queue pair that rdmacm
 * connects and, for a measurement, additional queue pairs.
 *
 * On each queue pair, sends are numbered in posting order, which is also completion order: a
 * completion covers its own send and every unsignaled send before it. If the device completes out
 * of order, a completion that overtakes another is held until its turn. Receives use slots of equal
 * size in the caller's memory; a slot belongs to the device from posting to completion. The
 * completion queue has room for everything that can be posted, so it cannot overflow.
 *
 * The endpoint only posts and polls; only endpoint_drain() waits. An exchange is driven by
 * completion events on the CQ thread of its device, while a control connection waits on its own
 * thread: both call the same functions. Only one thread at a time may use an endpoint.
 *
 * Draining: endpoint_flush() moves the queue pairs to the error state, which flushes everything
 * posted. An endpoint may be closed when endpoint_is_drained() returns true, on most devices at
 * once. Only soft-RoCE raises the event of an armed completion queue without checking whether the
 * queue still exists; there, one more work request is posted to trigger the event that disarms it.
 */
#ifndef VERBS_ENDPOINT_H
#define VERBS_ENDPOINT_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"
#include "base/failure.h"
#include "verbs/device.h"
#include "verbs/send-errors.h"
#include "verbs/shared-receives.h"

/* Completions per call of ibv_poll_cq(3). */
#define ENDPOINT_BATCH 16

/* Kinds of work requests that the endpoint itself posts; the caller's kinds have lower values. */
#define ENDPOINT_RECEIVE 0xff
#define ENDPOINT_DRAIN   0xfe

/* The kind of a receive of a shared queue, until it has completed. */
#define ENDPOINT_SHARED 0xfd

/* Capacity of a queue pair. */
struct queue_size {
	uint32_t sends, receives;
	uint32_t inline_max; /* bytes of inline data; reduced if the device rejects it */
	uint32_t gathers;    /* pieces of memory that a send may consist of; 0: one */
	bool inline_exact;   /* reduce it to the most that the device accepts */
};

/* Receive buffers of equal size, registered with this key. */
struct slot_area {
	uint8_t *start;
	uint32_t slot_size, key;
	bool shared; /* all of them are the same memory */
};

/* The completion of a send that overtook the completion of an earlier one. */
struct held_completion {
	bool present;
	struct ibv_wc wc;
};

struct queue_pair {
	struct ibv_qp *qp; /* NULL: none */
	uint8_t index;     /* in its endpoint */
	struct queue_size size;
	uint64_t sends_posted, sends_completed;
	uint64_t last_signaled; /* number of the last signaled send, plus 1 */
	uint32_t signal_within; /* sends of which at least one is signaled; 0: a quarter of all */
	struct held_completion
		*held; /* if the device completes out of order: in a ring, by number */
	unsigned int receives_posted; /* outstanding */
	struct slot_area slots, more; /* `more`: the receive buffers from this number on */
	uint64_t more_from;           /* 0: none */
	struct ibv_ah *address;       /* of datagrams: the peer's; NULL: none */
	uint32_t number_of_peer;
};

struct endpoint {
	struct rdma_cm_id *id; /* the caller's; owns the first queue pair */
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	int vector;     /* completion vector of the queue */
	bool armed;     /* the completion queue will raise an event */
	bool abandoned; /* no longer polled: its events are only acknowledged */
	const struct device_traits *traits;
	uint64_t drain;                 /* number of the last drain work request, plus 1; 0: none */
	struct queue_pair *pairs;       /* the first is rdmacm's */
	unsigned int pair_count;        /* created so far */
	struct shared_receives *shared; /* the caller's, of all added queue pairs; NULL: none */
	enum ibv_qp_type added;         /* the type of added queue pairs; 0: like the first */
	uint64_t memory;                /* taken from the memory budget */
	struct send_errors unsent;      /* counted if its device may break the connection then */
};

/* Completions polled with one call; endpoint_next_completion() decodes each. */
struct completion_batch {
	struct ibv_wc wcs[ENDPOINT_BATCH];
	int count, next;
	struct queue_pair *last; /* of the last send that completed, or NULL */
};

struct completion {
	const struct ibv_wc *wc; /* valid until the next poll */
	struct queue_pair *pair;
	unsigned int kind;   /* the caller's, ENDPOINT_RECEIVE or ENDPOINT_DRAIN */
	uint64_t number;     /* of a send: its number; of a receive: its slot */
	bool shared;         /* a receive of the shared queue */
	uint64_t sends;      /* sends that it completes, including itself; 0 for a receive */
	const uint8_t *data; /* of a receive: wc->byte_len bytes, unless immediate */
};

/*
 * True if the peer's device rejected the work request, possibly because the peer's program exited:
 * its memory is freed before its connection. In that case, a disconnect follows within
 * DISCONNECT_AFTER_REFUSAL_MS.
 */
#define DISCONNECT_AFTER_REFUSAL_MS 1000
bool completion_is_refusal(const struct completion *completion);

/*
 * Takes the connection's share of the memory budget, sets the ACK timeout of an id that is bound to
 * a device, and creates its protection domain, completion queue and rdmacm queue pair. The endpoint
 * has room for `pairs` queue pairs of this size in total. Completion events go to the device's
 * channel. Returns 0, or -1 with the failure recorded; endpoint_close() frees everything in either
 * case. rdma_create_qp(3), ibv_create_cq(3).
 */
int endpoint_open(struct endpoint *endpoint, struct rdma_cm_id *id, struct device *device,
	const struct queue_size *size, unsigned int pairs, struct failure *failure);

/* The Q_Key of datagrams. Any would do: it is no secret. */
#define ENDPOINT_QKEY 0x72646d61

/*
 * Creates another queue pair like the first, or of the type `added`, in state INIT, for the caller
 * to connect. Returns NULL with the failure recorded on error. ibv_create_qp(3), ibv_modify_qp(3).
 */
struct queue_pair *endpoint_add_queue_pair(struct endpoint *endpoint, struct failure *failure);

/*
 * Connects an added queue pair to the peer's queue pair with this number, over the path of the
 * first queue pair, which is connected; for datagrams, makes the peer's address handle. Returns 0,
 * or -1 with the failure recorded. rdma_init_qp_attr(3), ibv_modify_qp(3), ibv_create_ah(3).
 */
int endpoint_connect_queue_pair(struct endpoint *endpoint, struct queue_pair *pair,
	uint32_t number_of_peer, struct failure *failure);

/*
 * Sets *route to the global route of a connected endpoint's packets, with the index of the GID that
 * they are sent from. Returns false if it is unknown or there is none, as on iWARP and on
 * InfiniBand within a subnet. rdma_init_qp_attr(3).
 */
bool endpoint_global_route(const struct endpoint *endpoint, struct ibv_global_route *route);

/*
 * Returns the DSCP of a connected endpoint's packets, or -1 if it is unknown, as on iWARP and on
 * InfiniBand within a subnet.
 */
int endpoint_dscp(const struct endpoint *endpoint);

/*
 * Returns the path MTU of a connected endpoint in bytes, or 0 if it is unknown. ibv_query_qp(3).
 */
unsigned int endpoint_path_mtu(const struct endpoint *endpoint);

/* Sets the receive buffers of a queue pair: one slot per receive. */
void queue_pair_set_slots(struct queue_pair *pair, struct slot_area area);

/*
 * Sets the receive buffers of the slots from this number on, in addition to those before them.
 * Neither area may be replaced while one of its receives is posted.
 */
void queue_pair_add_slots(struct queue_pair *pair, uint64_t from, struct slot_area area);

/*
 * Converts the result of ibv_post_send(), ibv_post_recv() or ibv_post_srq_recv() to 0 or -errno.
 * They should return a positive errno, but libsiw returns -errno, or -1 with errno set, as the
 * calls of librdmacm do. Any thread.
 */
int endpoint_post_result(int error);

/* Posts one receive, or the first ones. Returns 0 or -errno. ibv_post_recv(3). */
int queue_pair_post_receive(struct queue_pair *pair, uint64_t slot);
int queue_pair_post_receives(struct queue_pair *pair, uint64_t count);

/*
 * Numbers and posts a list of work requests of the same kind; the caller fills in the rest of each
 * request. At least one request in every quarter of the send queue is signaled, or as the queue
 * pair's signal_within says, so that entries become free; if the device completes out of order,
 * each request is signaled. Returns 0 or -errno;
 * -ENOTCONN means that the connection has ended, for which rdmacm will report the cause.
 * ibv_post_send(3).
 */
int queue_pair_post(struct queue_pair *pair, unsigned int kind, struct ibv_send_wr *first);

/* Returns the number of usable send queue entries if `reserved` entries are kept free. */
uint64_t queue_pair_capacity(const struct queue_pair *pair, uint64_t reserved);

/* True while a signaled send is outstanding. */
bool queue_pair_is_unacknowledged(const struct queue_pair *pair);

/*
 * Polls at most ENDPOINT_BATCH completions. Returns their number, or -EIO with an empty batch if
 * the queue is broken. ibv_poll_cq(3).
 */
int endpoint_poll(struct endpoint *endpoint, struct completion_batch *batch);

/*
 * Gets the next completion of a batch and frees its queue entries. Returns false after the last
 * one. Must be called until it returns false; otherwise, the endpoint never drains.
 */
bool endpoint_next_completion(
	struct endpoint *endpoint, struct completion_batch *batch, struct completion *completion);

/*
 * Requests one event for the next completion. Earlier completions raise no event: poll once more
 * afterwards. Returns 0 or -EIO. ibv_req_notify_cq(3).
 */
int endpoint_arm(struct endpoint *endpoint);

/*
 * Takes one completion event from the channel and acknowledges it. Returns its endpoint, which is
 * no longer armed and which the caller then polls, or NULL. In that case, *error is 0 if no event
 * was pending or its endpoint is abandoned, otherwise -errno (the device was removed).
 * ibv_get_cq_event(3).
 */
struct endpoint *endpoint_take_event(struct ibv_comp_channel *channel, int *error);

/*
 * If the device must be drained, moves all queue pairs to the error state: everything posted is
 * flushed. On iWARP, where a completed send may not have arrived, that would reset the TCP
 * connection. ibv_modify_qp(3).
 */
void endpoint_flush(struct endpoint *endpoint);

/* True while a work request of the first queue pair is outstanding that must complete first. */
bool endpoint_is_outstanding(const struct endpoint *endpoint);

/*
 * Call this after endpoint_flush() and after each poll. Returns true if the device need not be
 * drained, or if nothing is outstanding on the first queue pair and the completion queue is not
 * armed or will raise no event. Otherwise ensures that one more event arrives.
 */
bool endpoint_is_drained(struct endpoint *endpoint);

/*
 * If the device must be drained, flushes the queue pairs and waits, until the deadline, for
 * everything posted to complete, so that no event arrives for a destroyed completion queue. No
 * other endpoint may use the channel.
 */
void endpoint_drain(
	struct endpoint *endpoint, struct ibv_comp_channel *channel, deadline_t deadline);

/*
 * Adds to a failure of the connection, or to its evidence, what its device knows: device_blame(),
 * and packets that could not be sent. Does nothing before endpoint_open(). Any thread.
 */
void endpoint_blame(const struct endpoint *endpoint, struct failure *failure);

/* Destroys the queue pairs and the completion queue: the device no longer accesses any memory. */
void endpoint_close_queues(struct endpoint *endpoint);

/* Frees everything except the id. Regions in its protection domain must be freed first. */
void endpoint_close(struct endpoint *endpoint);

#endif
