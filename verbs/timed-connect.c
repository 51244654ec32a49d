/* See verbs/timed-connect.h. */
#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "verbs/timed-connect.h"

/* Nothing else of the programs uses it. */
#define WAKE SIGRTMIN

/* The signal is repeated: it may come just before the call waits. */
#define REPEAT_NS 10000000

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static void do_nothing(int signal)
{
	(void)signal;
}

/* Makes the timer interrupt what this thread waits for. Returns 0, or -1 with errno set. */
static int start_timer(timer_t *timer, deadline_t deadline)
{
	const int left = deadline_left(deadline);
	const struct sigaction wake = {.sa_handler = do_nothing}; /* without SA_RESTART */
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = WAKE};
	const struct itimerspec times = {
		.it_value = {.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000L + 1},
		.it_interval = {.tv_nsec = REPEAT_NS},
	};

	event.sigev_notify_thread_id = gettid();
	if (sigaction(WAKE, &wake, NULL) || timer_create(CLOCK_MONOTONIC, &event, timer))
		return -1;
	return timer_settime(*timer, 0, &times, NULL);
}

int timed_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters, deadline_t deadline)
{
	sigset_t wake, before;
	timer_t timer;
	int result, error;

	if (start_timer(&timer, deadline))
		return -1;
	sigemptyset(&wake);
	sigaddset(&wake, WAKE);
	pthread_sigmask(SIG_UNBLOCK, &wake, &before);
	result = rdma_connect(id, parameters);
	error = result && errno == EINTR && deadline_left(deadline) == 0 ? ETIMEDOUT : errno;
	timer_delete(timer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return result;
}
