/* Counters that several sessions share, on a fake device. */
#include <string.h>

#include "measure/shared-counter.h"
#include "tests/unit/measure/perf-test-device.h"

static int join(struct counter_share *share, uint64_t number, struct perf_test_end *end)
{
	struct control *control = &end->control;

	return counter_share_join(
		share, number, &control->device, control->endpoint.pd, &control->failure);
}

static void sessions_share_by_number(void **state)
{
	struct counter_share one = {0}, two = {0}, other = {0};
	struct perf_test_fixture fixture;
	uint64_t number = 5;

	(void)state;
	perf_test_fixture_start(&fixture, 1, 8);
	assert_int_equal(join(&one, 7, &fixture.client), 0);
	assert_int_equal(join(&two, 7, &fixture.server), 0);
	assert_int_equal(join(&other, 8, &fixture.server), 0);
	assert_ptr_equal(one.region.start, two.region.start);
	assert_ptr_not_equal(one.region.start, other.region.start);
	assert_int_not_equal(one.region.mr->rkey, two.region.mr->rkey);

	/* It stays while a session offers it, and is a new one after that. */
	memcpy(one.region.start, &number, sizeof(number));
	counter_share_leave(&one);
	assert_null(one.counter);
	assert_int_equal(join(&one, 7, &fixture.client), 0);
	assert_memory_equal(one.region.start, &number, sizeof(number));
	counter_share_leave(&one);
	counter_share_leave(&two);
	assert_int_equal(join(&one, 7, &fixture.client), 0);
	memcpy(&number, one.region.start, sizeof(number));
	assert_int_equal(number, 0);

	/* A session offers one at a time. */
	assert_int_equal(join(&one, 8, &fixture.client), 0);
	assert_ptr_equal(one.region.start, other.region.start);
	assert_int_equal(join(&one, 8, &fixture.client), 0);
	counter_share_leave(&other);
	counter_share_leave(&one);
	counter_share_leave(&one);
	perf_test_fixture_stop(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sessions_share_by_number),
	};

	return cmocka_run_group_tests_name("shared counters", tests, NULL, NULL);
}
