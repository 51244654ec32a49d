/* After which failure to connect another attempt is made, and which failure is reported. */
#include "diagnose/attempts.h"
#include "tests/unit/unit.h"

static const struct failure silent = {.kind = FAILURE_DEADLINE, .phase = PHASE_CONNECT};
static const struct failure busy = {
	.kind = FAILURE_DEADLINE, .phase = PHASE_ROUTE, .code = CODE_NOTHING_ASKED};
static const struct failure late = {
	.kind = FAILURE_DEADLINE, .phase = PHASE_ADDRESS, .code = CODE_DIAGNOSIS};
static const struct failure refused = {.kind = FAILURE_REFUSED, .phase = PHASE_CONNECT};

/*
 * reports(EXPECTED, FAILURE, FAILURE...): after these attempts, of which all but the last are
 * followed by another.
 */
#define reports(expected, ...) \
	assert_reported(&(expected), (const struct failure *const[]){__VA_ARGS__, NULL})

static void assert_reported(const struct failure *expected, const struct failure *const *failures)
{
	struct failure kept = {0};

	for (; failures[1]; failures++)
		assert_true(attempts_continue(&kept, failures[0]));
	attempts_continue(&kept, failures[0]);
	assert_int_equal(kept.kind, expected->kind);
	assert_int_equal(kept.phase, expected->phase);
	assert_int_equal(kept.code, expected->code);
}

static bool another(const struct failure *failure)
{
	struct failure kept = {0};

	return attempts_continue(&kept, failure);
}

static void silence_and_a_busy_host_deserve_another_attempt(void **state)
{
	(void)state;
	assert_true(another(&silent));
	assert_true(another(&busy));
	assert_false(another(&late));
	assert_false(another(&refused));
}

static void a_request_without_a_reply_tells_most(void **state)
{
	(void)state;
	reports(silent, &silent, &busy);
	reports(silent, &silent, &late);
	reports(silent, &busy, &silent, &busy);
	reports(busy, &busy, &late);
	reports(busy, &busy);
	reports(late, &late);
}

static void an_answer_counts_whatever_was_before(void **state)
{
	struct failure kept = {0};

	(void)state;
	reports(refused, &silent, &busy, &refused);
	reports(refused, &busy, &refused);
	attempts_continue(&kept, &silent);
	assert_false(attempts_continue(&kept, &refused));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silence_and_a_busy_host_deserve_another_attempt),
		cmocka_unit_test(a_request_without_a_reply_tells_most),
		cmocka_unit_test(an_answer_counts_whatever_was_before),
	};

	return cmocka_run_group_tests_name("attempts", tests, NULL, NULL);
}
