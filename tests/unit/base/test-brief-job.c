/* Brief jobs: on which threads they run, and that jobs that block do not delay others. */
#include <semaphore.h>
#include <unistd.h>

#include "base/brief-job.h"
#include "tests/unit/unit.h"

/* A job that tells its thread, and waits until it may end. */
struct visit {
	struct brief_job job;
	pid_t thread;
	sem_t begun, may_end;
};

static void run(void *argument)
{
	struct visit *visit = argument;

	visit->thread = gettid();
	sem_post(&visit->begun);
	while (sem_wait(&visit->may_end))
		; /* EINTR */
}

static void start(struct visit *visit, bool blocks)
{
	*visit = (struct visit){.job = {.name = "visit", .run = run, .argument = visit}};
	sem_init(&visit->begun, 0, 0);
	sem_init(&visit->may_end, 0, blocks ? 0 : 1);
	assert_int_equal(brief_job_start(&visit->job), 0);
}

static void finish(struct visit *visit)
{
	brief_job_wait(&visit->job);
	assert_true(visit->job.done);
	sem_destroy(&visit->begun);
	sem_destroy(&visit->may_end);
}

static void jobs_one_after_another_share_a_thread(void **state)
{
	struct visit first, next;

	(void)state;
	start(&first, false);
	finish(&first);
	assert_int_not_equal(first.thread, gettid());
	for (int i = 0; i < 1000; i++) {
		start(&next, false);
		finish(&next);
		assert_int_equal(next.thread, first.thread);
	}
}

static void a_job_that_blocks_delays_no_other(void **state)
{
	struct visit blocked[3], other;

	(void)state;
	for (size_t i = 0; i < COUNT(blocked); i++)
		start(&blocked[i], true);
	for (size_t i = 0; i < COUNT(blocked); i++)
		while (sem_wait(&blocked[i].begun))
			; /* EINTR */
	start(&other, false);
	finish(&other);
	for (size_t i = 0; i < COUNT(blocked); i++) {
		assert_int_not_equal(blocked[i].thread, other.thread);
		sem_post(&blocked[i].may_end);
		finish(&blocked[i]);
	}
	/* One of them waits for this one. */
	start(&other, false);
	finish(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_one_after_another_share_a_thread),
		cmocka_unit_test(a_job_that_blocks_delays_no_other),
	};

	return cmocka_run_group_tests_name("brief jobs", tests, NULL, NULL);
}
