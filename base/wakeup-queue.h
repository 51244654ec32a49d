/*
 * A wakeup queue carries events from any thread to one receiving thread. An event is a bit in a
 * wakeup, which is a member of the object that the event is about, so posting allocates nothing and
 * cannot fail: bits posted before the wakeup is taken are or-ed together. An eventfd is readable
 * while a wakeup is queued, so the receiver can poll for it together with its other descriptors.
 */
#ifndef BASE_WAKEUP_QUEUE_H
#define BASE_WAKEUP_QUEUE_H

#include <pthread.h>
#include <sys/queue.h>

struct wakeup {
	STAILQ_ENTRY(wakeup) next;
	void *about;       /* the object that the events are about: set once by the owner */
	unsigned int bits; /* guarded by the queue's lock; not 0 while the wakeup is queued */
};

struct wakeup_queue {
	pthread_mutex_t lock;
	STAILQ_HEAD(, wakeup) wakeups;
	const struct wakeup *taken; /* whose bits the receiver is handling; NULL: none */
	pthread_t receiver;         /* the thread that handles them */
	pthread_cond_t done;        /* `taken` has changed */
	int eventfd;
};

/* Returns 0 or -errno. The caller owns the queue and closes it. eventfd(2). */
int wakeup_queue_open(struct wakeup_queue *wakeups);

/* Closes a queue that no thread uses any more; does nothing if eventfd is -1. */
void wakeup_queue_close(struct wakeup_queue *wakeups);

/*
 * Posts bits (not 0). What the poster wrote before is visible to the receiver after taking them.
 * The wakeup must live until its bits are taken or it is withdrawn. Any thread.
 */
void wakeup_queue_post(struct wakeup_queue *wakeups, struct wakeup *wakeup, unsigned int bits);

/*
 * Takes the bits of the oldest wakeup; the receiver has then handled those it took before. Returns
 * the wakeup, or NULL if the queue is empty: the eventfd is then not readable until the next post.
 * The receiving thread.
 */
struct wakeup *wakeup_queue_take(struct wakeup_queue *wakeups, unsigned int *bits);

/*
 * Removes the bits that are not taken yet, before the object that they are about is freed, and
 * waits until the receiver has handled the bits that it has taken: until it takes again. Any
 * thread; on the receiving thread it does not wait.
 */
void wakeup_queue_withdraw(struct wakeup_queue *wakeups, struct wakeup *wakeup);

#endif
