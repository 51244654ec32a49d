/*
 * A thread that is stopped through an eventfd. The worker owns both from worker_start() to
 * worker_join(); the caller owns the argument and the listener.
 */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/worker.h"

static void *work(void *argument)
{
	struct worker *worker = argument;
	const cpu_set_t *processors = worker->listener->processors;

	/* A failure only costs speed. */
	if (processors)
		pthread_setaffinity_np(pthread_self(), sizeof(*processors), processors);
	worker->run(worker->argument);
	worker->listener->ended(worker->listener->about);
	return NULL;
}

int worker_start(struct worker *worker, const char *name, void (*run)(void *), void *argument,
	const struct worker_listener *listener)
{
	int error;

	worker->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (worker->stop_fd < 0)
		return -errno;
	worker->listener = listener;
	worker->run = run;
	worker->argument = argument;
	error = pthread_create(&worker->thread, NULL, work, worker);
	if (error)
		return -error;
	worker->running = true;
	pthread_setname_np(worker->thread, name);
	return 0;
}

void worker_stop(const struct worker *worker)
{
	if (worker->stop_fd >= 0)
		eventfd_write(worker->stop_fd, 1);
}

int worker_await(const struct worker *worker, int descriptor, short events)
{
	struct pollfd waiting[] = {
		{.fd = worker->stop_fd, .events = POLLIN},
		{.fd = descriptor, .events = events},
	};

	while (poll(waiting, 2, -1) < 0)
		; /* EINTR */
	return waiting[0].revents ? -ECANCELED : 0;
}

void worker_join(struct worker *worker)
{
	if (worker->running)
		pthread_join(worker->thread, NULL);
	worker->running = false;
	if (worker->stop_fd >= 0)
		close(worker->stop_fd);
	worker->stop_fd = -1;
}
