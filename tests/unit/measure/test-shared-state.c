/* The state that the threads of a test share, with its slowest and fastest interval of 100 ms. */
#include "measure/shared-state.h"
#include "tests/unit/unit.h"

#define MS        UINT64_C(1000000)
#define START     (UINT64_C(5000) * MS)
#define THREADS   4
#define ADDITIONS 10000

static void no_interval_before_100_ms(void **state)
{
	struct intervals intervals;

	(void)state;
	intervals_init(&intervals, START);
	intervals_add(&intervals, START, 0);
	intervals_add(&intervals, START + 100 * MS - 1, 12345);
	assert_int_equal(intervals.worst, 0);
	assert_int_equal(intervals.best, 0);
}

static void the_first_interval_is_best_and_worst(void **state)
{
	struct intervals intervals;

	(void)state;
	intervals_init(&intervals, START);
	intervals_add(&intervals, START + 50 * MS, 400);
	intervals_add(&intervals, START + 100 * MS, 1000);
	assert_int_equal(intervals.worst, 10000);
	assert_int_equal(intervals.best, 10000);
}

static void each_interval_counts_its_own_bytes(void **state)
{
	/*
	 * Time in ms, total bytes so far, and the worst and best rate of the completed intervals.
	 */
	static const struct {
		uint64_t at, bytes, worst, best;
	} cases[] = {
		{100, 1000, 10000, 10000},
		{199, 9000, 10000, 10000},
		{200, 4000, 10000, 30000},
		{300, 4100, 1000, 30000},
		{400, 9100, 1000, 50000},
		{420, 99999, 1000, 50000},
		{500, 9300, 1000, 50000},
	};
	struct intervals intervals;

	(void)state;
	intervals_init(&intervals, START);
	for (size_t i = 0; i < COUNT(cases); i++) {
		intervals_add(&intervals, START + cases[i].at * MS, cases[i].bytes);
		assert_int_equal(intervals.worst, cases[i].worst);
		assert_int_equal(intervals.best, cases[i].best);
	}
}

/* An interval that is closed late is averaged over its actual length. */
static void a_long_interval_is_slow(void **state)
{
	struct intervals intervals;

	(void)state;
	intervals_init(&intervals, START);
	intervals_add(&intervals, START + 100 * MS, 1000);
	intervals_add(&intervals, START + 500 * MS, 2000);
	assert_int_equal(intervals.worst, 2500);
	assert_int_equal(intervals.best, 10000);
	/* The next interval starts here. */
	intervals_add(&intervals, START + 599 * MS, 3000);
	assert_int_equal(intervals.worst, 2500);
	intervals_add(&intervals, START + 600 * MS, 3000);
	assert_int_equal(intervals.worst, 2500);
	assert_int_equal(intervals.best, 10000);
}

/* The average is never outside the range, even if the last, incomplete interval is slow. */
static void the_range_includes_the_average(void **state)
{
	struct intervals intervals;

	(void)state;
	intervals_init(&intervals, START);
	intervals_include(&intervals, 1000, 1000 * MS);
	assert_int_equal(intervals.best, 0);
	intervals_add(&intervals, START + 100 * MS, 1000);
	intervals_include(&intervals, 0, 0);
	assert_int_equal(intervals.worst, 10000);
	intervals_include(&intervals, 1010, 180 * MS);
	assert_int_equal(intervals.worst, 5611);
	assert_int_equal(intervals.best, 10000);
	intervals_include(&intervals, 2000, 100 * MS);
	assert_int_equal(intervals.worst, 5611);
	assert_int_equal(intervals.best, 20000);
}

/* A stall counts as a slow interval, whenever it starts and however much was transferred before. */
static void a_gap_is_an_interval(void **state)
{
	struct intervals intervals;

	(void)state;
	intervals_init(&intervals, START);
	intervals_add(&intervals, START + 100 * MS, 1000);
	intervals_add(&intervals, START + 190 * MS, 1900);
	intervals_add(&intervals, START + 340 * MS, 1930);
	assert_int_equal(intervals.worst, 200);
	assert_int_equal(intervals.best, 10000);
	intervals_add(&intervals, START + 440 * MS, 2930);
	assert_int_equal(intervals.worst, 200);
	assert_int_equal(intervals.best, 10000);
}

/* An interval without any data has rate 0; it is not skipped. */
static void an_empty_interval_is_the_worst(void **state)
{
	struct intervals intervals;

	(void)state;
	intervals_init(&intervals, START);
	intervals_add(&intervals, START + 100 * MS, 1000);
	intervals_add(&intervals, START + 200 * MS, 1000);
	intervals_add(&intervals, START + 300 * MS, 2000);
	assert_int_equal(intervals.worst, 0);
	assert_int_equal(intervals.best, 10000);
}

static void does_not_overflow(void **state)
{
	struct intervals intervals;

	(void)state;
	intervals_init(&intervals, START);
	/* 100 GB in 100 ms: bytes times nanoseconds exceed 64 bits. */
	intervals_add(&intervals, START + 100 * MS, UINT64_C(100000000000));
	assert_int_equal(intervals.best, UINT64_C(1000000000000));
}

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

/*
 * A thread that waited for the lock passes an older time, which counts as the current time and ends
 * no interval.
 */
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
		cmocka_unit_test(no_interval_before_100_ms),
		cmocka_unit_test(the_first_interval_is_best_and_worst),
		cmocka_unit_test(each_interval_counts_its_own_bytes),
		cmocka_unit_test(a_long_interval_is_slow),
		cmocka_unit_test(the_range_includes_the_average),
		cmocka_unit_test(a_gap_is_an_interval),
		cmocka_unit_test(an_empty_interval_is_the_worst),
		cmocka_unit_test(does_not_overflow),
		cmocka_unit_test(the_bytes_of_all_threads_count),
		cmocka_unit_test(an_older_time_counts_as_now),
		cmocka_unit_test(no_byte_is_lost_between_threads),
	};

	return cmocka_run_group_tests_name("shared-state", tests, NULL, NULL);
}
