/*
 * A locked list of wakeups and an eventfd that is readable while the list is not empty. The queue
 * owns the lock and the eventfd; each wakeup belongs to the object that it concerns.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/wakeup-queue.h"

int wakeup_queue_open(struct wakeup_queue *wakeups)
{
	wakeups->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wakeups->eventfd < 0)
		return -errno;
	STAILQ_INIT(&wakeups->wakeups);
	wakeups->length = 0;
	wakeups->taken = NULL;
	pthread_cond_init(&wakeups->done, NULL);
	return -pthread_mutex_init(&wakeups->lock, NULL);
}

void wakeup_queue_close(struct wakeup_queue *wakeups)
{
	if (wakeups->eventfd < 0)
		return;
	pthread_cond_destroy(&wakeups->done);
	pthread_mutex_destroy(&wakeups->lock);
	close(wakeups->eventfd);
	wakeups->eventfd = -1;
}

void wakeup_queue_post(struct wakeup_queue *wakeups, struct wakeup *wakeup, unsigned int bits)
{
	bool wake;

	pthread_mutex_lock(&wakeups->lock);
	wake = STAILQ_EMPTY(&wakeups->wakeups);
	if (wakeup->bits == 0) {
		STAILQ_INSERT_TAIL(&wakeups->wakeups, wakeup, next);
		wakeups->length++;
	}
	wakeup->bits |= bits;
	pthread_mutex_unlock(&wakeups->lock);
	/* The counter cannot overflow: it increases by 1 only when the queue was empty. */
	if (wake)
		eventfd_write(wakeups->eventfd, 1);
}

struct wakeup *wakeup_queue_take(struct wakeup_queue *wakeups, unsigned int *bits)
{
	struct wakeup *wakeup;
	eventfd_t ignored;

	pthread_mutex_lock(&wakeups->lock);
	wakeup = STAILQ_FIRST(&wakeups->wakeups);
	wakeups->taken = wakeup;
	wakeups->receiver = pthread_self();
	pthread_cond_broadcast(&wakeups->done);
	if (wakeup) {
		STAILQ_REMOVE_HEAD(&wakeups->wakeups, next);
		wakeups->length--;
		*bits = wakeup->bits;
		wakeup->bits = 0;
	} else {
		eventfd_read(wakeups->eventfd, &ignored);
	}
	pthread_mutex_unlock(&wakeups->lock);
	return wakeup;
}

size_t wakeup_queue_length(struct wakeup_queue *wakeups)
{
	size_t length;

	pthread_mutex_lock(&wakeups->lock);
	length = wakeups->length;
	pthread_mutex_unlock(&wakeups->lock);
	return length;
}

void wakeup_queue_withdraw(struct wakeup_queue *wakeups, struct wakeup *wakeup)
{
	pthread_mutex_lock(&wakeups->lock);
	if (wakeup->bits != 0) {
		STAILQ_REMOVE(&wakeups->wakeups, wakeup, wakeup, next);
		wakeups->length--;
	}
	wakeup->bits = 0;
	while (wakeups->taken == wakeup && !pthread_equal(wakeups->receiver, pthread_self()))
		pthread_cond_wait(&wakeups->done, &wakeups->lock);
	pthread_mutex_unlock(&wakeups->lock);
}
