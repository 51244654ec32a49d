/*
 * A mailbox carries notes from one thread to another. A note is a set of bits on a slip that
 * belongs to the thing it is about, so that posting allocates nothing and can never fail: bits
 * posted before the slip is taken are or-ed together. An eventfd becomes readable when a slip
 * waits, so that the receiver can poll for it beside its other descriptors.
 */
#ifndef BASE_WAKEUP_QUEUE_H
#define BASE_WAKEUP_QUEUE_H

#include <pthread.h>
#include <sys/queue.h>

struct wakeup {
	STAILQ_ENTRY(wakeup) next;
	void *about;       /* what the notes are about: set once by the owner */
	unsigned int bits; /* guarded by the mailbox, not 0 while the slip is queued */
};

struct wakeup_queue {
	pthread_mutex_t lock;
	STAILQ_HEAD(, wakeup) wakeups;
	const struct wakeup *taken; /* whose bits the receiver is busy with; NULL: none */
	pthread_t receiver;         /* who that is */
	pthread_cond_t done;        /* it is no more */
	int eventfd;
};

/* Returns 0 or -errno. The caller owns the mailbox and closes it. eventfd(2). */
int wakeup_queue_open(struct wakeup_queue *wakeups);

/* Closes a mailbox that nobody uses any more; one that was never opened if eventfd is -1. */
void wakeup_queue_close(struct wakeup_queue *wakeups);

/*
 * Posts bits (not 0). What the poster wrote before is visible to the receiver after taking them.
 * The slip must live until its bits were taken, or be withdrawn. Any thread.
 */
void wakeup_queue_post(struct wakeup_queue *wakeups, struct wakeup *wakeup, unsigned int bits);

/*
 * Takes the oldest slip's bits, and is done with those taken before. Returns the slip, or NULL if
 * none waits; from then on the eventfd is not readable until the next post. The receiving thread.
 */
struct wakeup *wakeup_queue_take(struct wakeup_queue *wakeups, unsigned int *bits);

/*
 * Removes the slip's untaken bits, before what it is about is freed, and waits until the receiver
 * is done with those that it has taken: until it takes again. Any thread; the receiver need not
 * wait.
 */
void wakeup_queue_withdraw(struct wakeup_queue *wakeups, struct wakeup *wakeup);

#endif
