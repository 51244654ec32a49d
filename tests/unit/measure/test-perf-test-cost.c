/* The cost of a test (doorbells, completions, polls) and the times it reports, on a fake device. */
#include "tests/unit/measure/perf-test-fixture.h"
#include "tests/unit/unit.h"

#define OPERATIONS 120

/* Too large for the stack. */
static struct histogram latency;

static struct test_parameters parameters_of(bool reads, uint32_t size, uint32_t depth)
{
	return (struct test_parameters){
		.operation = test_operation_by_number(reads),
		.size = size,
		.queue_pairs = 1,
		.depth = depth,
		.slots = 1,
		.operations = OPERATIONS,
	};
}

/*
 * A list contains a quarter of the queue depth, up to a size limit; only its last work request is
 * signaled.
 */
static void operations_share_a_call_and_a_signal(void **state)
{
	static const struct {
		uint32_t size, depth;
		unsigned int lists;
	} cases[] = {
		{8, 64, 8}, {8, 128, 4}, {8, 200, 4}, {8, 4, 120}, {8, 1, 120}, {65536, 64, 30}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		for (unsigned int reads = 0; reads < 2; reads++) {
			struct test_parameters parameters =
				parameters_of(reads, cases[i].size, cases[i].depth);
			struct perf_test_fixture fixture;

			perf_test_fixture_start(&fixture, 1, parameters.depth);
			assert_int_equal(perf_test_fixture_run(&fixture, &parameters, NULL), 0);
			assert_int_equal(perf_test_fixture_operations(), OPERATIONS);
			assert_int_equal(perf_test_fixture_lists(), cases[i].lists);
			assert_int_equal(perf_test_fixture_signaled(), cases[i].lists);
			perf_test_fixture_stop(&fixture);
		}
}

/* The peer's answer confirms a WRITE; only a completion confirms a READ. */
static void few_writes_of_a_latency_test_are_signaled(void **state)
{
	(void)state;
	for (unsigned int reads = 0; reads < 2; reads++) {
		struct test_parameters parameters = parameters_of(reads, 8, 64);
		struct perf_test_fixture fixture;

		parameters.kind = TEST_LATENCY;
		perf_test_fixture_start(&fixture, 1, 64);
		histogram_init(&latency);
		assert_int_equal(perf_test_fixture_run(&fixture, &parameters, &latency), 0);
		/* Both ends WRITE. */
		assert_int_equal(perf_test_fixture_lists(), reads ? OPERATIONS : 2 * OPERATIONS);
		assert_int_equal(
			perf_test_fixture_signaled(), reads ? OPERATIONS : 2 * (OPERATIONS / 16));
		perf_test_fixture_stop(&fixture);
	}
}

/*
 * A WRITE's latency is half its round trip, so the latencies add up to at most half the run time.
 */
static void a_write_latency_is_half_a_round_trip(void **state)
{
	struct test_parameters parameters = parameters_of(false, 8, 64);
	uint64_t from, to, count, all = 0;
	struct perf_test_fixture fixture;
	size_t at = 0;

	(void)state;
	parameters.kind = TEST_LATENCY;
	perf_test_fixture_start(&fixture, 1, 64);
	histogram_init(&latency);
	assert_int_equal(perf_test_fixture_run(&fixture, &parameters, &latency), 0);
	while ((count = histogram_bar(&latency, &at, &from, &to)))
		all += count * from;
	assert_in_range(all, 1, fixture.client.result.nanoseconds / 2);
	perf_test_fixture_stop(&fixture);
}

/* Both ends report their CPU time, which is at most that of one processor. */
static void processor_time_is_reported(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 4; kind++) {
		struct test_parameters parameters = parameters_of(kind & 1, 1000, 8);
		struct perf_test_fixture fixture;

		parameters.wait = kind & 2 ? TEST_SPIN : TEST_EVENT;
		parameters.direction = TEST_BOTH;
		perf_test_fixture_start(&fixture, 1, 8);
		assert_int_equal(perf_test_fixture_run(&fixture, &parameters, NULL), 0);
		assert_in_range(fixture.client.result.cpu_nanoseconds, 1,
			fixture.client.result.nanoseconds + 10000000);
		assert_in_range(fixture.server.result.cpu_nanoseconds, 1,
			fixture.server.result.nanoseconds + 10000000);
		perf_test_fixture_stop(&fixture);
	}
}

/* While it waits for an event, an end does not poll. */
static void waiting_for_an_event_sleeps(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 2; kind++) {
		struct test_parameters parameters = parameters_of(false, 1000, 64);
		struct perf_test_fixture fixture;

		parameters.kind = kind ? TEST_LATENCY : TEST_BANDWIDTH;
		parameters.verify = true;
		perf_test_fixture_start(&fixture, 1, 64);
		histogram_init(&latency);
		assert_int_equal(
			perf_test_fixture_run_alone(&fixture.client, &parameters, &latency), -1);
		assert_in_range(perf_test_fixture_polls(), 1, 100);
		perf_test_fixture_stop(&fixture);
	}
}

/* A sufficiently long run reports its slowest and its fastest interval. */
static void interval_rates_are_reported(void **state)
{
	(void)state;
	for (unsigned int reads = 0; reads < 2; reads++) {
		struct test_parameters parameters = parameters_of(reads, 1000, 8);
		struct perf_test_fixture fixture;

		parameters.direction = TEST_BOTH;
		parameters.operations = 0;
		parameters.milliseconds = 250;
		perf_test_fixture_start(&fixture, 1, 8);
		assert_int_equal(perf_test_fixture_run(&fixture, &parameters, NULL), 0);
		assert_in_range(fixture.client.result.worst, 1, fixture.client.result.best);
		/* The server's thread may have started late. */
		if (fixture.server.result.nanoseconds >= 2 * INTERVAL_NS)
			assert_in_range(fixture.server.result.worst, 1, fixture.server.result.best);
		parameters.milliseconds = 20;
		assert_int_equal(perf_test_fixture_run(&fixture, &parameters, NULL), 0);
		/* A busy machine may have prolonged the run. */
		if (fixture.client.result.nanoseconds < INTERVAL_NS)
			assert_int_equal(fixture.client.result.best, 0);
		perf_test_fixture_stop(&fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_share_a_call_and_a_signal),
		cmocka_unit_test(few_writes_of_a_latency_test_are_signaled),
		cmocka_unit_test(a_write_latency_is_half_a_round_trip),
		cmocka_unit_test(processor_time_is_reported),
		cmocka_unit_test(waiting_for_an_event_sleeps),
		cmocka_unit_test(interval_rates_are_reported),
	};

	return cmocka_run_group_tests_name("perf-test-cost", tests, NULL, NULL);
}
