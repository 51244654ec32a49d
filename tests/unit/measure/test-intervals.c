/* The worst and the best tenth of a second. */
#include "measure/shared-state.h"
#include "tests/unit/unit.h"

#define MS    UINT64_C(1000000)
#define START (UINT64_C(5000) * MS)

static void no_interval_before_its_time(void **state)
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
	/* Milliseconds, bytes until then, worst and best of the intervals that are over. */
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

/* One that nobody ended in time counts for as long as it took. */
static void a_long_interval_is_slow(void **state)
{
	struct intervals intervals;

	(void)state;
	intervals_init(&intervals, START);
	intervals_add(&intervals, START + 100 * MS, 1000);
	intervals_add(&intervals, START + 500 * MS, 2000);
	assert_int_equal(intervals.worst, 2500);
	assert_int_equal(intervals.best, 10000);
	/* The next begins there. */
	intervals_add(&intervals, START + 599 * MS, 3000);
	assert_int_equal(intervals.worst, 2500);
	intervals_add(&intervals, START + 600 * MS, 3000);
	assert_int_equal(intervals.worst, 2500);
	assert_int_equal(intervals.best, 10000);
}

/* However much was moved before a link stopped, and in whatever part of an interval it did. */
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

/* A link that stopped for a whole interval is not one of which nothing is known. */
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
	/* 100 GB in a tenth of a second: their nanoseconds' product is beyond 64 bits. */
	intervals_add(&intervals, START + 100 * MS, UINT64_C(100000000000));
	assert_int_equal(intervals.best, UINT64_C(1000000000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_interval_before_its_time),
		cmocka_unit_test(the_first_interval_is_best_and_worst),
		cmocka_unit_test(each_interval_counts_its_own_bytes),
		cmocka_unit_test(a_long_interval_is_slow),
		cmocka_unit_test(a_gap_is_an_interval),
		cmocka_unit_test(an_empty_interval_is_the_worst),
		cmocka_unit_test(does_not_overflow),
	};

	return cmocka_run_group_tests_name("intervals", tests, NULL, NULL);
}
