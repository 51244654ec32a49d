/* Tests of atomic operations at both ends, on a fake device. */
#include <string.h>

#include "measure/atomics.h"
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

/*
 * Lets both ends use the counter with this number instead of the one in the server's region, as
 * test_run_begin_both() and the server's sessions do.
 */
static void share(struct perf_test_fixture *fixture, uint64_t number)
{
	struct control *control = &fixture->server.control;
	struct counter_share *share = &fixture->server.test.share;

	assert_int_equal(counter_share_join(share, number, &control->device, control->endpoint.pd,
				 &control->failure),
		0);
	fixture->client.test.counter_address = (uintptr_t)share->region.start;
	fixture->client.test.counter_rkey = share->region.mr->rkey;
}

/* The tickets of a shared counter are those of all its sessions, so no session checks them. */
static void a_shared_counter_counts_for_all(void **state)
{
	struct perf_test_fixture fixture;
	uint64_t counter;

	(void)state;
	perf_test_fixture_start(&fixture, 2, 8);
	share(&fixture, 7);
	for (unsigned int kind = 0; kind < 4; kind++) {
		struct test_parameters parameters =
			atomics_of(kind & 1 ? TEST_FETCH_ADD : TEST_COMPARE_SWAP,
				kind & 2 ? TEST_BOTH : TEST_CLIENT, true);
		const struct tickets *taken = &fixture.client.test.tickets;

		parameters.queue_pairs = 2;
		parameters.counter = 7;
		assert_int_equal(perf_test_fixture_run(&fixture, &parameters, NULL), 0);
		assert_int_equal(fixture.client.result.wrong + fixture.server.result.wrong, 0);
		assert_true(atomics_are_complete(taken));
		memcpy(&counter, fixture.server.test.share.region.start, sizeof(counter));
		assert_int_equal(counter, taken->taken);
		assert_in_range(counter, OPERATIONS, 2 * OPERATIONS);
		assert_int_equal(counter_of(&fixture.server, 0), 0);
	}
	counter_share_leave(&fixture.server.test.share);
	perf_test_fixture_stop(&fixture);
}

static void missing_and_repeated_tickets_are_found(void **state)
{
	struct perf_test_fixture fixture;
	struct test_parameters parameters = atomics_of(TEST_FETCH_ADD, TEST_CLIENT, true);

	(void)state;
	parameters.counter = 7;
	perf_test_fixture_start(&fixture, 1, 8);
	share(&fixture, 7);
	perf_test_fixture_fault(20, LOST);
	assert_int_equal(perf_test_fixture_run(&fixture, &parameters, NULL), 0);
	assert_false(fixture.client.result.wrong == 0 &&
		     atomics_are_complete(&fixture.client.test.tickets));
	counter_share_leave(&fixture.server.test.share);
	perf_test_fixture_stop(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(atomic_operations_count),
		cmocka_unit_test(wrong_counts_are_found),
		cmocka_unit_test(latency_of_atomic_operations),
		cmocka_unit_test(a_shared_counter_counts_for_all),
		cmocka_unit_test(missing_and_repeated_tickets_are_found),
	};

	return cmocka_run_group_tests_name("atomics", tests, NULL, NULL);
}
