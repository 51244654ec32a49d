/* The table of failures that only this host causes, row by row, and those that a peer causes. */
#include <errno.h>

#include "base/explain.h"
#include "base/local-failure.h"
#include "tests/unit/unit.h"

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
		ECONNABORTED, EREMOTEIO, EHOSTDOWN, ENONET, EMSGSIZE, EOPNOTSUPP, EACCES};

	(void)state;
	for (size_t i = 0; i < COUNT(errors); i++)
		assert_false(local_failure_is(errors[i], 0));
	assert_false(local_failure_is(ETIMEDOUT, 1000));
	assert_false(local_failure_is(ETIMEDOUT, 68000));
	assert_false(local_failure_is(ETIMEDOUT, LOCAL_FAILURE_LATE));
}

/* Whatever failed, an errno of this host alone names no other side, and no other errno this one. */
static void the_side_follows_the_table(void **state)
{
	static const enum phase open[] = {
		PHASE_CONNECT, PHASE_EXCHANGE, PHASE_DIAGNOSIS, PHASE_MEASUREMENT};

	(void)state;
	for (int error = 1; error < 134; error++)
		for (enum phase phase = 0; phase < PHASE_COUNT; phase++) {
			enum side side = explain(FAILURE_ERRNO, phase, error)->side;

			if (local_failure_is(error, LOCAL_FAILURE_LATE))
				assert_int_equal(side, SIDE_HERE);
		}
	for (int error = 1; error < 134; error++)
		for (size_t i = 0; i < COUNT(open); i++)
			if (!local_failure_is(error, LOCAL_FAILURE_LATE))
				assert_int_not_equal(
					explain(FAILURE_ERRNO, open[i], error)->side, SIDE_HERE);
	/* What only the peer sends. */
	assert_int_equal(explain(FAILURE_ERRNO, PHASE_CONNECT, ECONNREFUSED)->side, SIDE_THERE);
	assert_int_equal(explain(FAILURE_ERRNO, PHASE_CONNECT, EHOSTUNREACH)->side, SIDE_ANYWHERE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_is_local),
		cmocka_unit_test(others_are_unknown),
		cmocka_unit_test(the_side_follows_the_table),
	};

	return cmocka_run_group_tests_name("local-failure", tests, NULL, NULL);
}
