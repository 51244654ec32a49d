/* Deadlines: the remaining time is never negative and always fits in the timeout of poll(2). */
#include <limits.h>
#include <poll.h>

#include "base/deadline.h"
#include "tests/unit/unit.h"

#define MINUTE 60000

static void counts_down(void **state)
{
	deadline_t before = deadline_now(), deadline = deadline_in(MINUTE);

	(void)state;
	assert_true(deadline >= before + MINUTE);
	/* A loaded machine may delay these calls, but by less than a minute. */
	assert_in_range(deadline_left(deadline), 1, MINUTE);
	poll(NULL, 0, 20);
	assert_true(deadline_now() >= before + 20);
	assert_true(deadline_left(deadline) <= MINUTE - 20);
}

static void past_deadlines_leave_no_time(void **state)
{
	(void)state;
	assert_int_equal(deadline_left(deadline_in(0)), 0);
	assert_int_equal(deadline_left(deadline_in(-MINUTE)), 0);
	assert_int_equal(deadline_left(0), 0);
	assert_int_equal(deadline_left(INT64_MIN / 2), 0);
}

static void distant_deadlines_fit_an_int(void **state)
{
	(void)state;
	assert_int_equal(deadline_left(deadline_in((int64_t)INT_MAX + MINUTE)), INT_MAX);
	assert_int_equal(deadline_left(INT64_MAX / 2), INT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_down),
		cmocka_unit_test(past_deadlines_leave_no_time),
		cmocka_unit_test(distant_deadlines_fit_an_int),
	};

	return cmocka_run_group_tests_name("deadline", tests, NULL, NULL);
}
