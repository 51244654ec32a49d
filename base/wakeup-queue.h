/*
 * A wakeup queue carries events from any thread to one receiving thread. An event is a bit in a
 * wakeup, which is embedded in the object that the event concerns, so posting allocates nothing and
 * cannot fail. Bits posted before the wakeup is taken are ORed together. An eventfd is readable
 * while a wakeup is queued, so that the receiver can poll it together with other descriptors.
 */
#ifndef BASE_WAKEUP_QUEUE_H
#define BASE_WAKEUP_QUEUE_H

#include <pthread.h>
#include <stddef.h>
#include <sys/queue.h>

struct wakeup {
	STAILQ_ENTRY(wakeup) next;
	void *about;       /* the object that the events concern: set once by the owner */
	unsigned int bits; /* guarded by the queue's lock; not 0 while the wakeup is queued */
};

struct wakeup_queue {
	pthread_mutex_t lock;
	STAILQ_HEAD(, wakeup) wakeups;
	size_t length;              /* of the list */
	const struct wakeup *taken; /* the receiver is handling its bits; NULL: none */
	pthread_t receiver;         /* the receiving thread */
	pthread_cond_t done;        /* signals that `taken` has changed */
	int eventfd;
};

/* Opens a queue, which the caller owns and closes. Returns 0 or -errno. eventfd(2). */
int wakeup_queue_open(struct wakeup_queue *wakeups);

/* Closes a queue that no thread uses any longer; does nothing if eventfd is -1. */
void wakeup_queue_close(struct wakeup_queue *wakeups);

/*
 * Posts bits, which must not be 0. Once the receiver takes them, it sees everything that the poster
 * wrote before the call. The wakeup must live until its bits are taken or it is withdrawn. Any
 * thread.
 */
void wakeup_queue_post(struct wakeup_queue *wakeups, struct wakeup *wakeup, unsigned int bits);

/*
 * Takes the bits of the oldest wakeup, which also means that the receiver has handled the bits that
 * it took before. Returns the wakeup, or NULL if the queue is empty; the eventfd is then not
 * readable until the next post. Receiving thread.
 */
struct wakeup *wakeup_queue_take(struct wakeup_queue *wakeups, unsigned int *bits);

/*
 * Returns the number of wakeups in the queue. A receiver with other work to do takes only one more
 * than that before it does the other work, because handling a wakeup may post the next one.
 */
size_t wakeup_queue_length(struct wakeup_queue *wakeups);

/*
 * Removes the wakeup's pending bits and, if the receiver is handling bits of this wakeup, waits
 * until the receiver calls wakeup_queue_take() again. The object can then be freed. Any thread;
 * does not wait on the receiving thread.
 */
void wakeup_queue_withdraw(struct wakeup_queue *wakeups, struct wakeup *wakeup);

#endif
