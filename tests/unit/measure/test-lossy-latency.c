/*
 * Latency tests over unreliable queue pairs, at both ends on a fake device that loses operations.
 */
#include "measure/lossy-latency.h"
#include "tests/unit/measure/perf-test-device.h"

#define OPERATIONS 30

/* Combinations of transport and operation. */
static const struct {
	enum test_transport transport;
	enum test_operation_number operation;
} tests_of[] = {{TEST_UC, TEST_SEND}, {TEST_UC, TEST_WRITE_IMM}, {TEST_UD, TEST_SEND}};

static struct test_parameters parameters_of(size_t which)
{
	return (struct test_parameters){
		.kind = TEST_LATENCY,
		.operation = &test_operations[tests_of[which].operation],
		.transport = tests_of[which].transport,
		.verify = true,
		.size = 100,
		.queue_pairs = 1,
		.depth = 8,
		.slots = 1,
		.operations = OPERATIONS,
		.seed = 42,
	};
}

static void start(struct perf_test_fixture *fixture, const struct test_parameters *parameters)
{
	perf_test_fixture_start_lossy(fixture, 1, parameters->depth, parameters->transport);
}

/* Runs a test that must succeed. Returns how many operations have got no answer. */
static uint64_t run(struct perf_test_fixture *fixture, const struct test_parameters *parameters)
{
	const struct test_result *ours = &fixture->client.result, *theirs = &fixture->server.result;
	struct histogram latency;

	histogram_init(&latency);
	if (perf_test_fixture_run(fixture, parameters, &latency))
		fail_msg("%s, transport %d: %s, %s", parameters->operation->name,
			parameters->transport, fixture->client.control.failure.call,
			fixture->client.control.failure.evidence);
	assert_int_equal(fixture->server.status, 0);
	assert_int_equal(ours->wrong + theirs->wrong, 0);
	assert_int_equal(ours->operations + ours->lost, parameters->operations);
	assert_int_equal(latency.count, ours->operations);
	assert_int_equal(ours->bytes, ours->operations * parameters->size);
	/* An answer can be lost, too. */
	assert_true(theirs->operations >= ours->operations);
	assert_int_equal(theirs->lost, 0);
	return ours->lost;
}

/* Tests in sequence on one connection. */
static void each_operation_is_answered(void **state)
{
	static const uint32_t sizes[] = {1, 100, 4096};

	(void)state;
	for (size_t i = 0; i < COUNT(tests_of) * 4; i++) {
		struct test_parameters parameters = parameters_of(i % COUNT(tests_of));
		struct perf_test_fixture fixture;

		parameters.wait = i / 3 & 1 ? TEST_SPIN : TEST_EVENT;
		parameters.verify = i / 3 & 2;
		start(&fixture, &parameters);
		for (size_t j = 0; j < COUNT(sizes); j++) {
			parameters.size = sizes[j];
			assert_true(test_run_can(&fixture.server.test, &parameters));
			assert_int_equal(run(&fixture, &parameters), 0);
			assert_int_equal(fixture.server.result.operations, OPERATIONS);
		}
		perf_test_fixture_stop(&fixture);
	}
}

/* Some operations or answers, the last one, or all: the test goes on, and ends. */
static void what_is_lost_is_counted(void **state)
{
	static const struct {
		uint64_t operations;
		unsigned int every, from;
		uint64_t least, most;
	} cases[] = {
		{30, 11, 0, 3, 6},
		{30, 0, 60, 1, 1},
		{4, 1, 0, 4, 4},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(tests_of) * COUNT(cases); i++) {
		struct test_parameters parameters = parameters_of(i % COUNT(tests_of));
		struct perf_test_fixture fixture;
		uint64_t lost;

		parameters.wait = i & 1 ? TEST_SPIN : TEST_EVENT;
		parameters.operations = cases[i / 3].operations;
		start(&fixture, &parameters);
		perf_test_device.lose_every = cases[i / 3].every;
		perf_test_device.lose_from = cases[i / 3].from;
		lost = run(&fixture, &parameters);
		assert_int_equal(lost, perf_test_device.lost);
		assert_in_range(lost, cases[i / 3].least, cases[i / 3].most);
		perf_test_fixture_stop(&fixture);
	}
}

/*
 * One that comes twice is answered once; one that comes after the next has been given up, as has
 * its answer.
 */
static void repeated_and_late_operations_are_ignored(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(tests_of); i++) {
		struct test_parameters parameters = parameters_of(i);
		struct perf_test_fixture fixture;

		start(&fixture, &parameters);
		perf_test_device.repeat_every = 5;
		perf_test_device.hold_every = 17;
		assert_in_range(run(&fixture, &parameters), 1, OPERATIONS / 5);
		assert_in_range(fixture.server.result.operations, OPERATIONS / 2, OPERATIONS);
		perf_test_fixture_stop(&fixture);
	}
}

static void wrong_data_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(tests_of); i++) {
		struct test_parameters parameters = parameters_of(i);
		struct perf_test_fixture fixture;
		struct histogram latency;

		histogram_init(&latency);
		start(&fixture, &parameters);
		perf_test_fixture_fault(3, DAMAGED);
		assert_int_equal(perf_test_fixture_run(&fixture, &parameters, &latency), 0);
		assert_int_equal(fixture.client.result.wrong + fixture.server.result.wrong, 1);
		perf_test_fixture_stop(&fixture);
	}
}

/* A latency test has no notices. */
static void notices_are_refused(void **state)
{
	struct test_parameters parameters = parameters_of(2);
	struct perf_test_fixture fixture;
	struct perf_test *client = &fixture.client.test;

	(void)state;
	start(&fixture, &parameters);
	test_run_begin(client, &parameters, 1000);
	test_run_begin(&fixture.server.test, &parameters, 1000);
	assert_int_equal(perf_test_notify(client, &client->lossy.connection,
				 &(struct notice){1, true, true}),
		0);
	assert_int_equal(perf_test_fixture_run_alone(&fixture.server, &parameters, NULL), -1);
	assert_int_equal(fixture.server.control.failure.kind, FAILURE_PROTOCOL);
	perf_test_fixture_stop(&fixture);
}

/*
 * A server that does not even answer on the connection is gone; so is a client that says nothing.
 */
static void silence_on_the_connection_is_a_failure(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct test_parameters parameters = parameters_of(2);
		struct perf_test_fixture fixture;
		struct perf_test_end *end;
		struct histogram latency;

		histogram_init(&latency);
		parameters.wait = i & 2 ? TEST_SPIN : TEST_EVENT;
		start(&fixture, &parameters);
		end = i & 1 ? &fixture.client : &fixture.server;
		test_run_begin(&fixture.server.test, &parameters, 1000);
		assert_int_equal(perf_test_fixture_run_alone(end, &parameters, &latency), -1);
		assert_int_equal(end->control.failure.kind, FAILURE_DEADLINE);
		perf_test_fixture_stop(&fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_operation_is_answered),
		cmocka_unit_test(what_is_lost_is_counted),
		cmocka_unit_test(repeated_and_late_operations_are_ignored),
		cmocka_unit_test(wrong_data_is_found),
		cmocka_unit_test(notices_are_refused),
		cmocka_unit_test(silence_on_the_connection_is_a_failure),
	};

	return cmocka_run_group_tests_name("lossy latency", tests, NULL, NULL);
}
