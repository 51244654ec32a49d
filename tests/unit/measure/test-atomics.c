/* Tests of atomic operations at both ends, on a fake device. */
#include <string.h>

#include "tests/unit/measure/perf-test-device.h"

#define OPERATIONS 120

/* Too large for the stack. */
static struct histogram latency;

static struct test_parameters atomics_of(
	unsigned int number, enum test_direction direction, bool verify)
{
	bool tickets = number == TEST_COMPARE_SWAP && verify;

	return (struct test_parameters){
		.operation = test_operation_by_number(number),
		.direction = direction,
		.verify = verify,
		.size = TEST_ATOMIC_SIZE,
		.queue_pairs = 1,
		.depth = tickets ? 1 : 8,
		.slots = verify && !tickets ? 8 : 1,
		.operations = OPERATIONS,
		.seed = 42,
	};
}

/* The counter that this end's queue pair offers. */
static uint64_t counter_of(const struct perf_test_end *end, uint32_t queue_pair)
{
	uint64_t counter;

	memcpy(&counter, end->control.offered.start + end->test.queue_pairs[queue_pair].offset,
		sizeof(counter));
	return counter;
}

/*
 * Each queue pair counts its own operations, from 0 in each test. Verified, they share a counter.
 */
static void atomic_operations_count(void **state)
{
	struct perf_test_fixture fixture;

	(void)state;
	perf_test_fixture_start(&fixture, 3, 8);
	for (unsigned int kind = 0; kind < 8 * TEST_DIRECTIONS; kind++) {
		struct test_parameters parameters = atomics_of(
			kind & 1 ? TEST_FETCH_ADD : TEST_COMPARE_SWAP, kind / 8, kind & 2);
		const struct perf_test_end *counting = &fixture.server;

		parameters.wait = kind & 4 ? TEST_SPIN : TEST_EVENT;
		parameters.queue_pairs = 3;
		assert_int_equal(perf_test_fixture_run(&fixture, &parameters, NULL), 0);
		assert_int_equal(fixture.client.result.wrong, 0);
		assert_int_equal(fixture.server.result.wrong, 0);
		if (parameters.direction == TEST_SERVER)
			counting = &fixture.client;
		for (uint32_t i = 0; i < 3 && !parameters.verify; i++)
			assert_int_equal(counter_of(counting, i), OPERATIONS);
		if (!parameters.verify)
			continue;
		/* Each try of a compare-and-swap succeeds, or another's did. */
		assert_in_range(counter_of(counting, 0), kind & 1 ? 3 * OPERATIONS : OPERATIONS,
			3 * OPERATIONS);
		assert_int_equal(counter_of(counting, 1) + counter_of(counting, 2), 0);
	}
	perf_test_fixture_stop(&fixture);
}

/* An operation that fetches a wrong number is found, and a lost one by those after it. */
static void wrong_counts_are_found(void **state)
{
	static const enum fault faults[] = {DAMAGED, LOST, MISPLACED};

	(void)state;
	for (unsigned int kind = 0; kind < 4; kind++)
		for (size_t i = 0; i < COUNT(faults); i++) {
			struct test_parameters parameters =
				atomics_of(kind & 1 ? TEST_FETCH_ADD : TEST_COMPARE_SWAP,
					kind & 2 ? TEST_SERVER : TEST_CLIENT, true);
			struct perf_test_fixture fixture;

			parameters.queue_pairs = (uint32_t)i + 1;
			perf_test_fixture_start(&fixture, parameters.queue_pairs, 8);
			perf_test_fixture_fault(20, faults[i]);
			assert_int_equal(perf_test_fixture_run(&fixture, &parameters, NULL), 0);
			assert_in_range(fixture.client.result.wrong + fixture.server.result.wrong,
				1, 3 * OPERATIONS);
			perf_test_fixture_stop(&fixture);
		}
}

static void latency_of_atomic_operations(void **state)
{
	struct perf_test_fixture fixture;

	(void)state;
	perf_test_fixture_start(&fixture, 1, PERF_TEST_OUTSTANDING_MAX);
	for (unsigned int kind = 0; kind < 8; kind++) {
		struct test_parameters parameters = atomics_of(
			kind & 1 ? TEST_FETCH_ADD : TEST_COMPARE_SWAP, TEST_CLIENT, kind & 2);

		parameters.kind = TEST_LATENCY;
		parameters.wait = kind & 4 ? TEST_SPIN : TEST_EVENT;
		parameters.slots = parameters.depth = 1;
		histogram_init(&latency);
		assert_int_equal(perf_test_fixture_run(&fixture, &parameters, &latency), 0);
		assert_int_equal(fixture.client.result.wrong, 0);
		assert_int_equal(counter_of(&fixture.server, 0), OPERATIONS);
	}
	perf_test_fixture_fault(20, DAMAGED);
	{
		struct test_parameters parameters = atomics_of(TEST_FETCH_ADD, TEST_CLIENT, true);

		parameters.kind = TEST_LATENCY;
		parameters.slots = parameters.depth = 1;
		histogram_init(&latency);
		assert_int_equal(perf_test_fixture_run(&fixture, &parameters, &latency), 0);
		assert_int_equal(fixture.client.result.wrong, 1);
	}
	perf_test_fixture_stop(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(atomic_operations_count),
		cmocka_unit_test(wrong_counts_are_found),
		cmocka_unit_test(latency_of_atomic_operations),
	};

	return cmocka_run_group_tests_name("atomics", tests, NULL, NULL);
}
