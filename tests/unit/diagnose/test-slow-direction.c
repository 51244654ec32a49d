/* When one direction counts as slow. */
#include "diagnose/slow-direction.h"
#include "tests/unit/unit.h"

#define MB UINT64_C(1000000)

/* A test that moved data at this rate for half a second. */
static struct test_result of(uint64_t rate, uint64_t best)
{
	return (struct test_result){.bytes = rate / 2, .nanoseconds = 500000000, .best = best};
}

static void a_rate_that_is_several_times_lower_is_suspect(void **state)
{
	(void)state;
	assert_int_equal(slow_direction_suspected(10 * MB, 30 * MB), IMPAIRED_SPEED);
	assert_int_equal(slow_direction_suspected(40 * MB, 30 * MB), IMPAIRED_SPEED);
	assert_int_equal(slow_direction_suspected(2 * MB, 30 * MB), IMPAIRED_SLOW_TO);
	assert_int_equal(slow_direction_suspected(30 * MB, 2 * MB), IMPAIRED_SLOW_FROM);
	assert_int_equal(slow_direction_suspected(0, 0), IMPAIRED_SPEED);
}

/*
 * Tests of the slow and the other direction in turn: the rate of the sender, and the best interval.
 */
static void only_a_limit_that_holds_at_any_time_is_one(void **state)
{
	static const struct {
		uint64_t slow, best, other, slow_again, best_again, other_again;
		bool holds;
	} cases[] = {
		/* A path of 14 Mbit/s. */
		{2 * MB, 3 * MB, 30 * MB, 2 * MB, 3 * MB, 28 * MB, true},
		/* Too slow for an interval with data, which is unknown. */
		{MB / 3, 0, 30 * MB, MB / 3, 0, 30 * MB, true},
		/* A host that is busy in one of the tests, or in a part of it. */
		{2 * MB, 3 * MB, 30 * MB, 20 * MB, 25 * MB, 28 * MB, false},
		{2 * MB, 3 * MB, 30 * MB, 2 * MB, 25 * MB, 28 * MB, false},
		{2 * MB, 3 * MB, 30 * MB, 2 * MB, 3 * MB, 5 * MB, false},
		/* Overloaded hosts: 0.4 MB/s, then 1.8. */
		{4 * MB / 10, 13 * MB / 20, 18 * MB / 10, 4 * MB / 10, 0, 18 * MB / 10, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct slow_direction direction = {0};
		struct test_result results[] = {of(cases[i].slow, cases[i].best),
			of(cases[i].other, 2 * cases[i].other),
			of(cases[i].slow_again, cases[i].best_again),
			of(cases[i].other_again, 2 * cases[i].other_again)};

		assert_false(slow_direction_holds(&direction));
		for (size_t j = 0; j < COUNT(results); j++)
			slow_direction_add(&direction, j % 2 == 0, &results[j]);
		assert_int_equal(slow_direction_holds(&direction), cases[i].holds);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_that_is_several_times_lower_is_suspect),
		cmocka_unit_test(only_a_limit_that_holds_at_any_time_is_one),
	};

	return cmocka_run_group_tests_name("slow-direction", tests, NULL, NULL);
}
