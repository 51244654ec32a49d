/*
 * One end of a connection: a protection domain, one completion queue, the queue pair that rdmacm
 * connects and, for a measurement, more queue pairs beside it.
 *
 * Sends are numbered in the order of posting on each queue pair, which is the order in which they
 * complete: a completion stands for itself and for every unsignaled send before it. Receives have
 * slots of equal size in memory of the caller; a slot belongs to the device from posting to
 * completion. The completion queue has room for everything that can be posted, so it cannot
 * overflow.
 *
 * The endpoint only posts and polls; only endpoint_drain() waits. An exchange is driven by
 * completion events on the CQ thread of its device, a control connection waits on its own thread:
 * both call the same functions. One thread at a time uses an endpoint.
 *
 * Draining: endpoint_flush() takes the queue pairs to the error state, from which everything posted
 * comes back. An endpoint may be closed when endpoint_is_drained() says so. A completion queue that
 * is still armed is not drained: soft-RoCE raises the event without looking whether the queue is
 * still there, so one more work request brings the event that disarms it.
 */
#ifndef VERBS_ENDPOINT_H
#define VERBS_ENDPOINT_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"
#include "base/failure.h"

/* Completions taken with one call of ibv_poll_cq(3). */
#define ENDPOINT_BATCH 16

/* Kinds of work requests that the endpoint posts itself; the caller's are below. */
#define ENDPOINT_RECEIVE 0xff
#define ENDPOINT_DRAIN   0xfe

/* How much may be posted to a queue pair. */
struct queue_size {
	uint32_t sends, receives;
	uint32_t
		inline_max; /* bytes to send without registered memory; less if the device refuses */
};

struct queue_pair {
	struct ibv_qp *qp; /* NULL: none */
	uint8_t index;     /* in its endpoint */
	struct queue_size size;
	uint64_t sends_posted, sends_completed;
	uint64_t last_signaled;       /* number of the last signaled send, plus 1 */
	unsigned int receives_posted; /* and not completed */
	uint8_t *slots;               /* where receives land; registered with slot_key */
	uint32_t slot_size, slot_key;
};

struct endpoint {
	struct rdma_cm_id *id; /* the caller's; owns the first queue pair */
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	bool armed;               /* the completion queue will raise an event */
	bool abandoned;           /* nobody polls any more: its events are only acknowledged */
	uint64_t drain;           /* number of the last drain work request, plus 1; 0: none */
	struct queue_pair *pairs; /* the first is rdmacm's */
	unsigned int pair_count;  /* that there is memory for */
};

/* Completions that were taken with one call; endpoint_next_completion() describes each. */
struct completion_batch {
	struct ibv_wc wcs[ENDPOINT_BATCH];
	int count, next;
};

struct completion {
	const struct ibv_wc *wc; /* in its batch */
	struct queue_pair *pair;
	unsigned int kind;   /* the caller's, ENDPOINT_RECEIVE or ENDPOINT_DRAIN */
	uint64_t number;     /* of a send: its number; of a receive: its slot */
	uint64_t sends;      /* sends that it stands for, itself among them; 0 for a receive */
	const uint8_t *data; /* of a receive: what arrived, wc->byte_len bytes unless immediate */
};

/*
 * True if the peer's device refused the work request for a reason that may be the end of its
 * program, whose memory is freed before its connection. Then its disconnect follows within
 * DISCONNECT_AFTER_REFUSAL_MS.
 */
#define DISCONNECT_AFTER_REFUSAL_MS 1000
bool completion_is_refusal(const struct completion *completion);

/*
 * Sets the ACK timeout of an id that is bound to a device, and makes protection domain, completion
 * queue and rdmacm's queue pair for it. There is room for `pairs` queue pairs of that size in all.
 * Completion events go to the channel. Returns 0, or -1 with the failure recorded; endpoint_close()
 * frees what was made either way. rdma_create_qp(3), ibv_create_cq(3).
 */
int endpoint_open(struct endpoint *endpoint, struct rdma_cm_id *id,
	struct ibv_comp_channel *channel, const struct queue_size *size, unsigned int pairs,
	struct failure *failure);

/*
 * Makes one more queue pair like the first, in state INIT, for the caller to connect. Returns it,
 * or NULL with the failure recorded. ibv_create_qp(3), ibv_modify_qp(3).
 */
struct queue_pair *endpoint_add_queue_pair(struct endpoint *endpoint, struct failure *failure);

/*
 * Connects an added queue pair to the peer's queue pair of that number, over the path of the first
 * one. Returns 0, or -1 with the failure recorded. ibv_modify_qp(3).
 */
int endpoint_connect_queue_pair(struct endpoint *endpoint, struct queue_pair *pair,
	uint32_t number_of_peer, struct failure *failure);

/*
 * Says where the receives of a queue pair land: as many slots of that many bytes as it has
 * receives.
 */
void queue_pair_set_slots(
	struct queue_pair *pair, uint8_t *start, uint32_t slot_size, uint32_t lkey);

/* Posts one receive, or all of them. Returns 0 or -errno. ibv_post_recv(3). */
int queue_pair_post_receive(struct queue_pair *pair, uint64_t slot);
int queue_pair_post_receives(struct queue_pair *pair);

/*
 * Numbers and posts a list of work requests of the same kind; the rest of each request is the
 * caller's. One is signaled in every quarter of the send queue even if the caller does not ask for
 * it, so that the queue empties. Returns 0 or -errno. ibv_post_send(3).
 */
int queue_pair_post(struct queue_pair *pair, unsigned int kind, struct ibv_send_wr *first);

/* Work requests that still fit into the send queue if `reserved` slots are kept free. */
uint64_t queue_pair_capacity(const struct queue_pair *pair, uint64_t reserved);

/* True while a signaled send is outstanding. */
bool queue_pair_is_unacknowledged(const struct queue_pair *pair);

/*
 * Takes what has completed, at most ENDPOINT_BATCH. Returns how many there are, or -EIO if the
 * queue is broken, and then the batch is empty. ibv_poll_cq(3).
 */
int endpoint_poll(struct endpoint *endpoint, struct completion_batch *batch);

/*
 * The next completion of a batch. Its slots in the queues are free from now on, not before. Returns
 * false after the last one. To be called until then, or the endpoint would never be drained.
 */
bool endpoint_next_completion(
	struct endpoint *endpoint, struct completion_batch *batch, struct completion *completion);

/*
 * Asks for one event at the next completion. What completed before raises none: poll once more
 * afterwards. Returns 0 or -EIO. ibv_req_notify_cq(3).
 */
int endpoint_arm(struct endpoint *endpoint);

/*
 * Takes one completion event of the channel and acknowledges it. Returns the endpoint, which is not
 * armed any more, or NULL: *error is 0 if there was no event or its endpoint is abandoned, else
 * -errno (the device was removed). The caller polls. ibv_get_cq_event(3).
 */
struct endpoint *endpoint_take_event(struct ibv_comp_channel *channel, int *error);

/* Takes all queue pairs to the error state: what is posted comes back flushed. ibv_modify_qp(3). */
void endpoint_flush(struct endpoint *endpoint);

/* True while a work request of the first queue pair has not come back. */
bool endpoint_is_outstanding(const struct endpoint *endpoint);

/*
 * After endpoint_flush(), and again after each poll: true if nothing of the first queue pair is
 * outstanding and the completion queue is not armed, or never will be. Otherwise makes sure that
 * one more event comes.
 */
bool endpoint_is_drained(struct endpoint *endpoint);

/*
 * Flushes the queue pairs and waits, until the deadline, for all that is posted to come back, so
 * that no event comes for a completion queue that is gone. The channel is the endpoint's alone.
 */
void endpoint_drain(
	struct endpoint *endpoint, struct ibv_comp_channel *channel, deadline_t deadline);

/* Destroys the queue pairs and the completion queue: the device uses no memory any more. */
void endpoint_close_queues(struct endpoint *endpoint);

/* Frees everything else but the id. Regions of its protection domain are deregistered before. */
void endpoint_close(struct endpoint *endpoint);

#endif
