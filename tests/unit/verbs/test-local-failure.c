/* The table of failures that only this host causes, row by row, and those that a peer causes. */
#include <errno.h>

#include "tests/unit/unit.h"
#include "verbs/local-failure.h"

static void each_row_is_local(void **state)
{
	const struct local_failure *row;

	(void)state;
	for (size_t i = 0; (row = local_failure_row(i)); i++) {
		int64_t limit = row->within ? row->within : INT64_MAX;

		assert_true(local_failure_is(row->error, 0));
		assert_true(local_failure_is(row->error, limit - 1));
		if (row->within)
			assert_false(local_failure_is(row->error, limit));
		/* One row for each errno. */
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(local_failure_row(j)->error, row->error);
	}
}

/* What a peer, a router or a timer causes, however soon. */
static void others_are_unknown(void **state)
{
	static const int errors[] = {ECONNREFUSED, ECONNRESET, EPROTO, ENETUNREACH, EHOSTUNREACH,
		ECONNABORTED, EREMOTEIO};

	(void)state;
	for (size_t i = 0; i < COUNT(errors); i++)
		assert_false(local_failure_is(errors[i], 0));
	assert_false(local_failure_is(ETIMEDOUT, 1000));
	assert_false(local_failure_is(ETIMEDOUT, 68000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_is_local),
		cmocka_unit_test(others_are_unknown),
	};

	return cmocka_run_group_tests_name("local-failure", tests, NULL, NULL);
}
