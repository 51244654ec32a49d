/*
 * The shared receive queue of several queue pairs of one endpoint. The device takes its receives
 * for whichever queue pair a message arrives at. They are not posted again one by one: when fewer
 * than the limit are left, the device raises IBV_EVENT_SRQ_LIMIT_REACHED, and all that have
 * completed are posted again at once. The event takes a detour through the thread that reads it, so
 * the limit is above the number that must always be posted; if messages arrive faster than the
 * event, what completed says that so few are left, and the receives are posted again as well. So an
 * owner that sleeps needs not be woken by the event: the next message does.
 *
 * The thread that owns the endpoint calls all functions but shared_receives_limit_reached().
 */
#ifndef VERBS_SHARED_RECEIVES_H
#define VERBS_SHARED_RECEIVES_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct shared_receives {
	struct ibv_srq *srq; /* NULL: none */
	uint32_t count, limit;
	uint32_t least;  /* that should always be posted */
	uint32_t posted; /* that belong to the device, or have completed without being counted */
	uint32_t *free;  /* slots to be posted again */
	uint32_t free_count;
	uint8_t *start;          /* of the receives' memory */
	uint32_t slot_size, key; /* of each receive */
	bool overlapping;        /* all of them are the same memory */
	bool begun;              /* the receives are posted */
	atomic_bool reached;     /* the device has raised the event */
};

/*
 * Creates a queue of which `least` receives, at least 1, should always be posted. Besides these, it
 * has twice the reserve; the device raises the event when one half of that has been used. Returns 0
 * or -errno. ibv_create_srq(3).
 */
int shared_receives_create(
	struct shared_receives *shared, struct ibv_pd *pd, uint32_t least, uint32_t reserve);

/*
 * Posts all receives for the first time, whose memory has been set, and arms the limit. Their
 * work requests have the number `wr_id` plus the slot times 2^16. Returns 0 or -errno.
 * ibv_post_srq_recv(3), ibv_modify_srq(3).
 */
int shared_receives_begin(struct shared_receives *shared, uint64_t wr_id);

/* The memory of a receive. */
uint8_t *shared_receives_slot(const struct shared_receives *shared, uint64_t slot);

/* Counts a completed receive. */
void shared_receives_take(struct shared_receives *shared);

/* Gives back a completed receive, for the next refill. */
void shared_receives_release(struct shared_receives *shared, uint64_t slot);

/*
 * If the limit has been reached, or fewer than the least are posted, posts what was given back and
 * arms the limit again. Returns the number of receives posted, or -errno.
 */
int shared_receives_refill(struct shared_receives *shared, uint64_t wr_id);

/* Notes that the limit of a queue has been reached. Any thread. ibv_get_async_event(3). */
void shared_receives_limit_reached(const struct ibv_srq *srq);

/* Destroys the queue, once its queue pairs are destroyed. Does nothing if there is none. */
void shared_receives_destroy(struct shared_receives *shared);

#endif
