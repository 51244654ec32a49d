#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "mailbox.h"

int mailbox_open(struct mailbox *mailbox)
{
	mailbox->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (mailbox->eventfd < 0)
		return -errno;
	STAILQ_INIT(&mailbox->slips);
	mailbox->taken = NULL;
	pthread_cond_init(&mailbox->done, NULL);
	return -pthread_mutex_init(&mailbox->lock, NULL);
}

void mailbox_close(struct mailbox *mailbox)
{
	if (mailbox->eventfd < 0)
		return;
	pthread_cond_destroy(&mailbox->done);
	pthread_mutex_destroy(&mailbox->lock);
	close(mailbox->eventfd);
	mailbox->eventfd = -1;
}

void mailbox_post(struct mailbox *mailbox, struct slip *slip, unsigned int bits)
{
	bool wake;

	pthread_mutex_lock(&mailbox->lock);
	wake = STAILQ_EMPTY(&mailbox->slips);
	if (slip->bits == 0)
		STAILQ_INSERT_TAIL(&mailbox->slips, slip, next);
	slip->bits |= bits;
	pthread_mutex_unlock(&mailbox->lock);
	/* The counter cannot overflow: it is at most 1 per transition from empty. */
	if (wake)
		eventfd_write(mailbox->eventfd, 1);
}

struct slip *mailbox_take(struct mailbox *mailbox, unsigned int *bits)
{
	struct slip *slip;
	eventfd_t ignored;

	pthread_mutex_lock(&mailbox->lock);
	slip = STAILQ_FIRST(&mailbox->slips);
	mailbox->taken = slip;
	mailbox->receiver = pthread_self();
	pthread_cond_broadcast(&mailbox->done);
	if (slip) {
		STAILQ_REMOVE_HEAD(&mailbox->slips, next);
		*bits = slip->bits;
		slip->bits = 0;
	} else {
		eventfd_read(mailbox->eventfd, &ignored);
	}
	pthread_mutex_unlock(&mailbox->lock);
	return slip;
}

void mailbox_withdraw(struct mailbox *mailbox, struct slip *slip)
{
	pthread_mutex_lock(&mailbox->lock);
	if (slip->bits != 0)
		STAILQ_REMOVE(&mailbox->slips, slip, slip, next);
	slip->bits = 0;
	while (mailbox->taken == slip && !pthread_equal(mailbox->receiver, pthread_self()))
		pthread_cond_wait(&mailbox->done, &mailbox->lock);
	pthread_mutex_unlock(&mailbox->lock);
}
