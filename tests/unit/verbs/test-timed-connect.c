/* A deadline for rdma_connect(), which waits here for what never comes. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "tests/unit/unit.h"
#include "verbs/timed-connect.h"

static int fails_with; /* an errno; 0: waits */
static bool returns;

/* Waits as a system call does: until a signal is handled. */
int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters)
{
	const struct timespec minutes = {.tv_sec = 130};

	(void)id, (void)parameters;
	if (returns)
		return 0;
	errno = fails_with;
	return fails_with ? -1 : nanosleep(&minutes, NULL);
}

static void waits_until_the_deadline(void **state)
{
	deadline_t start = deadline_now();
	sigset_t all, now;

	(void)state;
	/* Also if the thread blocks all signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	assert_int_equal(timed_connect(NULL, NULL, deadline_in(100)), -1);
	assert_int_equal(errno, ETIMEDOUT);
	assert_true(deadline_now() - start >= 100);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	assert_true(sigismember(&now, SIGRTMIN));
	/* A deadline that has passed already. */
	assert_int_equal(timed_connect(NULL, NULL, deadline_in(0)), -1);
	assert_int_equal(errno, ETIMEDOUT);
}

static void passes_on_results_and_errors(void **state)
{
	(void)state;
	fails_with = ECONNREFUSED;
	assert_int_equal(timed_connect(NULL, NULL, deadline_in(600000)), -1);
	assert_int_equal(errno, ECONNREFUSED);
	fails_with = EINTR;
	assert_int_equal(timed_connect(NULL, NULL, deadline_in(600000)), -1);
	assert_int_equal(errno, EINTR);
	returns = true;
	assert_int_equal(timed_connect(NULL, NULL, deadline_in(600000)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_until_the_deadline),
		cmocka_unit_test(passes_on_results_and_errors),
	};

	return cmocka_run_group_tests_name("timed-connect", tests, NULL, NULL);
}
