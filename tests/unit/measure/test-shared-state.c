/* What the threads of a run share. */
#include "measure/shared-state.h"
#include "tests/unit/unit.h"

#define MS        UINT64_C(1000000)
#define START     (UINT64_C(5000) * MS)
#define THREADS   4
#define ADDITIONS 10000

static void the_bytes_of_all_threads_count(void **state)
{
	struct test_shared shared;
	struct intervals intervals;

	(void)state;
	test_shared_init(&shared, START);
	assert_int_equal(shared.start, START);
	assert_false(shared.broken);
	test_shared_add(&shared, START + 40 * MS, 400);
	test_shared_add(&shared, START + 60 * MS, 500);
	assert_int_equal(test_shared_intervals(&shared).best, 0);
	test_shared_add(&shared, START + 100 * MS, 100);
	test_shared_add(&shared, START + 200 * MS, 3000);
	intervals = test_shared_intervals(&shared);
	assert_int_equal(intervals.worst, 10000);
	assert_int_equal(intervals.best, 30000);
	assert_int_equal(shared.bytes, 4000);
}

/* Who had to wait for another thread has an older time. It counts as now, and ends no interval. */
static void an_older_time_counts_as_now(void **state)
{
	struct test_shared shared;
	struct intervals intervals;

	(void)state;
	test_shared_init(&shared, START);
	test_shared_add(&shared, START + 100 * MS, 1000);
	test_shared_add(&shared, START + 99 * MS, 500);
	intervals = test_shared_intervals(&shared);
	assert_int_equal(intervals.worst, 10000);
	assert_int_equal(intervals.best, 10000);
	test_shared_add(&shared, START + 150 * MS, 250);
	test_shared_add(&shared, START + 200 * MS, 250);
	intervals = test_shared_intervals(&shared);
	assert_int_equal(intervals.worst, 10000);
	assert_int_equal(intervals.best, 10000);
}

static void *addition(void *argument)
{
	for (unsigned int i = 1; i <= ADDITIONS; i++)
		test_shared_add(argument, START + i, 3);
	return NULL;
}

static void no_byte_is_lost_between_threads(void **state)
{
	pthread_t threads[THREADS];
	struct test_shared shared;

	(void)state;
	test_shared_init(&shared, START);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, addition, &shared), 0);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(shared.bytes, THREADS * ADDITIONS * 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bytes_of_all_threads_count),
		cmocka_unit_test(an_older_time_counts_as_now),
		cmocka_unit_test(no_byte_is_lost_between_threads),
	};

	return cmocka_run_group_tests_name("shared-state", tests, NULL, NULL);
}
