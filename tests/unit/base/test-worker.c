/* Tests that a worker runs once, reports its end and, once stopped, cancels every wait. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/worker.h"
#include "tests/unit/common/stream-fixture.h"
#include "tests/unit/unit.h"

/* A worker that waits once. Only the main thread asserts. */
struct job {
	struct worker worker;
	struct oracle oracle;
	int pipe[2];
	int result;
	unsigned int runs;
	unsigned int ended_before; /* calls to `ended` while it ran */
	cpu_set_t processors;      /* on which it ran */
};

static void run(void *argument)
{
	struct job *job = argument;

	job->runs++;
	sched_getaffinity(0, sizeof(job->processors), &job->processors);
	job->result = worker_await(&job->worker, job->pipe[0], POLLIN);
	job->worker.listener->moved(job->worker.listener->about);
	pthread_mutex_lock(&job->oracle.lock);
	job->ended_before = job->oracle.ended;
	pthread_mutex_unlock(&job->oracle.lock);
}

static int set_up(void **state)
{
	static struct job job;

	job = (struct job){.worker.stop_fd = -1, .result = 1};
	oracle_init(&job.oracle);
	*state = &job;
	return pipe2(job.pipe, O_CLOEXEC);
}

static int tear_down(void **state)
{
	struct job *job = *state;

	oracle_destroy(&job->oracle);
	if (job->pipe[1] >= 0)
		close(job->pipe[1]);
	return close(job->pipe[0]);
}

static void start(struct job *job)
{
	assert_int_equal(
		worker_start(&job->worker, "a worker", run, job, &job->oracle.listener), 0);
	assert_true(job->worker.running);
}

/* Joins the worker and checks that it ran once and then reported its end once. */
static void finish(struct job *job, int result)
{
	oracle_await_end(&job->oracle);
	worker_join(&job->worker);
	assert_false(job->worker.running);
	assert_int_equal(job->worker.stop_fd, -1);
	assert_int_equal(job->runs, 1);
	assert_int_equal(job->result, result);
	assert_int_equal(job->ended_before, 0);
	assert_int_equal(job->oracle.ended, 1);
	assert_int_equal(job->oracle.moved, 1);
	/* A second join does nothing. */
	worker_join(&job->worker);
}

static void waits_for_its_descriptor(void **state)
{
	struct job *job = *state;

	start(job);
	a_moment();
	assert_int_equal(write(job->pipe[1], "x", 1), 1);
	finish(job, 0);
}

static void wakes_up_on_a_hang_up(void **state)
{
	struct job *job = *state;

	start(job);
	a_moment();
	close(job->pipe[1]);
	job->pipe[1] = -1;
	finish(job, 0);
}

static void stops_while_it_waits(void **state)
{
	struct job *job = *state;

	start(job);
	a_moment();
	worker_stop(&job->worker);
	worker_stop(&job->worker);
	finish(job, -ECANCELED);
}

/* A stop takes precedence over a ready descriptor. */
static void stops_before_it_waits(void **state)
{
	struct job *job = *state;

	assert_int_equal(write(job->pipe[1], "x", 1), 1);
	start(job);
	worker_stop(&job->worker);
	oracle_await_end(&job->oracle);
	/* It may have polled before the stop; every later wait is canceled. */
	assert_true(job->result == 0 || job->result == -ECANCELED);
	assert_int_equal(worker_await(&job->worker, job->pipe[0], POLLIN), -ECANCELED);
	assert_int_equal(worker_await(&job->worker, job->pipe[0], POLLIN), -ECANCELED);
	finish(job, job->result);
}

/* By default all, otherwise those of its listener, here only the last one. */
static void runs_on_its_processors(void **state)
{
	struct job *job = *state;
	cpu_set_t all, last;
	unsigned int processor = CPU_SETSIZE - 1;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	worker_start(&job->worker, "a worker", run, job, &job->oracle.listener);
	worker_stop(&job->worker);
	oracle_await_end(&job->oracle);
	worker_join(&job->worker);
	assert_true(CPU_EQUAL(&job->processors, &all));
	while (!CPU_ISSET(processor, &all))
		processor--;
	CPU_ZERO(&last);
	CPU_SET(processor, &last);
	job->oracle.listener.processors = &last;
	job->oracle.ended = job->oracle.moved = job->runs = 0;
	start(job);
	worker_stop(&job->worker);
	oracle_await_end(&job->oracle);
	finish(job, job->result);
	assert_true(CPU_EQUAL(&job->processors, &last));
}

static void sets_the_thread_name(void **state)
{
	struct job *job = *state;
	char name[16];

	start(job);
	assert_int_equal(pthread_getname_np(job->worker.thread, name, sizeof(name)), 0);
	assert_string_equal(name, "a worker");
	worker_stop(&job->worker);
	finish(job, -ECANCELED);
}

static void ignore(int number)
{
	(void)number;
}

static void keeps_waiting_after_a_signal(void **state)
{
	const struct sigaction action = {.sa_handler = ignore};
	struct job *job = *state;
	struct sigaction before;

	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	start(job);
	for (unsigned int i = 0; i < 5; i++) {
		a_moment();
		assert_int_equal(pthread_kill(job->worker.thread, SIGUSR1), 0);
	}
	a_moment();
	assert_int_equal(oracle_moved(&job->oracle), 0);
	assert_int_equal(write(job->pipe[1], "x", 1), 1);
	finish(job, 0);
	sigaction(SIGUSR1, &before, NULL);
}

static void stop_and_join_before_the_start_do_nothing(void **state)
{
	struct job *job = *state;

	worker_stop(&job->worker);
	worker_join(&job->worker);
	assert_int_equal(job->worker.stop_fd, -1);
	assert_int_equal(job->runs, 0);
}

static void does_not_start_without_descriptors(void **state)
{
	struct rlimit limit, none;
	struct job *job = *state;
	int result;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	result = worker_start(&job->worker, "a worker", run, job, &job->oracle.listener);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(result, -EMFILE);
	assert_false(job->worker.running);
	worker_stop(&job->worker);
	worker_join(&job->worker);
	assert_int_equal(job->oracle.ended, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(waits_for_its_descriptor, set_up, tear_down),
		cmocka_unit_test_setup_teardown(wakes_up_on_a_hang_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stops_while_it_waits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stops_before_it_waits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(runs_on_its_processors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sets_the_thread_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keeps_waiting_after_a_signal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			stop_and_join_before_the_start_do_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			does_not_start_without_descriptors, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
