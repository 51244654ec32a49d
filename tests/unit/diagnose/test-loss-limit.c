/* Which losses are significant. */
#include "diagnose/loss-limit.h"
#include "tests/unit/unit.h"

static void a_single_loss_is_insignificant(void **state)
{
	(void)state;
	assert_false(loss_limit_exceeded(0, 0, 1024));
	assert_false(loss_limit_exceeded(1, 0, 1024));
	assert_false(loss_limit_exceeded(1, 16384, 1024));
	assert_true(loss_limit_exceeded(2, 16384, 1024));
}

static void a_thousandth_and_one_are_allowed(void **state)
{
	const uint64_t packets = 7000;

	(void)state;
	assert_false(loss_limit_exceeded(8, packets * 4096, 4096));
	assert_true(loss_limit_exceeded(9, packets * 4096, 4096));
	assert_false(loss_limit_exceeded(8, packets * 256, 256));
	assert_true(loss_limit_exceeded(9, packets * 256, 256));
}

static void packets_of_unknown_size_are_not_judged(void **state)
{
	(void)state;
	assert_false(loss_limit_exceeded(1000000, 1000, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_single_loss_is_insignificant),
		cmocka_unit_test(a_thousandth_and_one_are_allowed),
		cmocka_unit_test(packets_of_unknown_size_are_not_judged),
	};

	return cmocka_run_group_tests_name("loss-limit", tests, NULL, NULL);
}
