/* Operations that use up receives, at both ends on a fake device. */
#include <string.h>

#include "measure/receives.h"
#include "tests/unit/measure/perf-test-device.h"

#define OPERATIONS 120

/* Too large for the stack. */
static struct histogram latency;

static struct test_parameters parameters_of(enum test_operation_number number, uint32_t size)
{
	return (struct test_parameters){
		.operation = &test_operations[number],
		.size = size,
		.queue_pairs = 1,
		.depth = 8,
		.slots = 1,
		.operations = OPERATIONS,
		.seed = 42,
	};
}

static enum test_operation_number operation_at(unsigned int index)
{
	return index & 1 ? TEST_WRITE_IMM : TEST_SEND;
}

/* Runs a test that must succeed, in which no request ever found no receive. */
static void run(struct perf_test_fixture *fixture, const struct test_parameters *parameters)
{
	uint64_t all = parameters->operations * parameters->queue_pairs;

	histogram_init(&latency);
	if (perf_test_fixture_run(fixture, parameters, &latency))
		fail_msg("%s, size %u, direction %d: %s, %s", parameters->operation->name,
			parameters->size, parameters->direction,
			fixture->client.control.failure.call,
			fixture->client.control.failure.evidence);
	assert_int_equal(fixture->server.status, 0);
	assert_int_equal(perf_test_device.starved, 0);
	assert_int_equal(fixture->client.result.wrong + fixture->server.result.wrong, 0);
	assert_int_equal(
		fixture->client.result.operations, parameters->direction == TEST_SERVER ? 0 : all);
	assert_int_equal(fixture->server.result.operations,
		parameters->direction == TEST_CLIENT && parameters->kind == TEST_BANDWIDTH ? 0
											   : all);
}

/* Runs every kind of bandwidth test in sequence on one connection. */
static void run_all(enum test_operation_number number, uint32_t queue_pairs, uint32_t depth,
	uint32_t slots, uint32_t size)
{
	struct perf_test_fixture fixture;

	perf_test_fixture_start(&fixture, queue_pairs, depth);
	for (unsigned int kind = 0; kind < 4 * TEST_DIRECTIONS; kind++) {
		struct test_parameters parameters = parameters_of(number, size);

		parameters.direction = (enum test_direction)(kind / 4);
		parameters.verify = kind & 2;
		parameters.wait = kind & 1 ? TEST_SPIN : TEST_EVENT;
		parameters.queue_pairs = queue_pairs;
		parameters.depth = depth;
		parameters.slots = parameters.verify ? slots : 1;
		/* The first test decides whether receives have memory of their own. */
		if (number == TEST_SEND && slots > 1 && !parameters.verify)
			continue;
		run(&fixture, &parameters);
	}
	perf_test_fixture_stop(&fixture);
}

/* Lengths of messages are those of operations, too, as are those of notices and commands. */
static void messages_are_told_apart_by_length(void **state)
{
	static const uint32_t sizes[] = {1, 2, 3, 8, 64, 128, 4096};

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		run_all(TEST_SEND, 1, 8, 1, sizes[i]);
		run_all(TEST_SEND, 1, 8, 8, sizes[i]);
		run_all(TEST_WRITE_IMM, 1, 8, 8, sizes[i]);
	}
}

static void any_shape_runs(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		run_all(operation_at(i), 1, 1, 1, 1000);
		run_all(operation_at(i), 1, 2, 2, 1000);
		run_all(operation_at(i), 1, 3, 3, 1000);
		run_all(operation_at(i), 1, 100, 1, 1000);
		run_all(operation_at(i), 3, 8, 8, 1000);
		run_all(operation_at(i), 7, 40, 1, 2048);
	}
}

/* In turns with other operations on the same connection. */
static void operations_alternate(void **state)
{
	static const enum test_operation_number numbers[] = {
		TEST_WRITE, TEST_SEND, TEST_READ, TEST_SEND, TEST_FETCH_ADD, TEST_SEND, TEST_WRITE};
	struct perf_test_fixture fixture;

	(void)state;
	perf_test_fixture_start(&fixture, 2, 64);
	for (size_t i = 0; i < COUNT(numbers); i++)
		for (unsigned int kind = 0; kind < 2; kind++) {
			struct test_parameters parameters =
				parameters_of(numbers[i], TEST_ATOMIC_SIZE);

			parameters.kind = (enum test_kind)kind;
			parameters.wait = TEST_EVENT;
			histogram_init(&latency);
			assert_int_equal(perf_test_fixture_run(&fixture, &parameters, &latency), 0);
			assert_int_equal(perf_test_device.starved, 0);
		}
	perf_test_fixture_stop(&fixture);
}

/*
 * Queue pairs that share their receives: all are posted again when few are left, and no request
 * finds none, at any depth and in both directions. Few of them spin, which takes long if other
 * programs need the processors.
 */
static void receives_are_shared(void **state)
{
	static const struct {
		uint32_t queue_pairs, depth;
		bool verify;
	} cases[] = {{1, 1, false}, {1, 8, true}, {3, 8, true}, {8, 1, true}, {8, 1, false},
		{7, 40, false}, {5, 3, true}, {2, 100, false}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		for (unsigned int kind = 0; kind < 2 * TEST_DIRECTIONS; kind++) {
			struct test_parameters parameters = parameters_of(operation_at(kind), 100);
			struct perf_test_fixture fixture;

			parameters.direction = (enum test_direction)(kind / 2);
			parameters.wait = (i + kind) % 4 ? TEST_EVENT : TEST_SPIN;
			parameters.verify = cases[i].verify;
			parameters.queue_pairs = cases[i].queue_pairs;
			parameters.depth = cases[i].depth;
			parameters.slots = cases[i].verify ? cases[i].depth : 1;
			perf_test_fixture_start_shared(
				&fixture, parameters.queue_pairs, parameters.depth);
			for (unsigned int runs = 0; runs < 2; runs++)
				run(&fixture, &parameters);
			assert_true(perf_test_device.limits > 0);
			perf_test_fixture_stop(&fixture);
		}
}

static void only_some_tests_can_share_receives(void **state)
{
	struct test_parameters parameters = parameters_of(TEST_SEND, 100);
	struct perf_test_fixture fixture;

	(void)state;
	perf_test_fixture_start_shared(&fixture, 2, 64);
	assert_true(test_run_can(&fixture.server.test, &parameters));
	parameters.kind = TEST_LATENCY;
	assert_false(test_run_can(&fixture.server.test, &parameters));
	parameters.kind = TEST_BANDWIDTH;
	parameters.operation = &test_operations[TEST_WRITE];
	assert_false(test_run_can(&fixture.server.test, &parameters));
	parameters.operation = &test_operations[TEST_WRITE_IMM];
	assert_true(test_run_can(&fixture.server.test, &parameters));
	perf_test_fixture_stop(&fixture);
}

static void a_time_limit_ends_a_run(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 4 * TEST_DIRECTIONS; kind++) {
		struct test_parameters parameters = parameters_of(operation_at(kind), 1000);
		struct perf_test_fixture fixture;

		parameters.direction = (enum test_direction)(kind / 4);
		parameters.verify = kind & 2;
		parameters.operations = 0;
		parameters.milliseconds = 20;
		perf_test_fixture_start(&fixture, 1, 8);
		assert_int_equal(perf_test_fixture_run(&fixture, &parameters, NULL), 0);
		assert_true(
			fixture.client.result.operations + fixture.server.result.operations > 0);
		assert_int_equal(fixture.client.result.wrong + fixture.server.result.wrong, 0);
		assert_int_equal(perf_test_device.starved, 0);
		perf_test_fixture_stop(&fixture);
	}
}

static void wrong_data_is_found(void **state)
{
	static const enum fault faults[] = {DAMAGED, LOST, MISPLACED};
	static const unsigned int places[] = {0, 7, 60, OPERATIONS - 1};

	(void)state;
	for (unsigned int kind = 0; kind < 8; kind++)
		for (size_t i = 0; i < COUNT(faults) * COUNT(places); i++) {
			struct test_parameters parameters = parameters_of(operation_at(kind), 1000);
			struct perf_test_fixture fixture;

			parameters.verify = true;
			parameters.direction = kind & 2 ? TEST_SERVER : TEST_CLIENT;
			parameters.slots = kind & 4 ? 8 : 1;
			perf_test_fixture_start(&fixture, 1, 8);
			perf_test_fixture_fault(
				places[i / COUNT(faults)], faults[i % COUNT(faults)]);
			assert_int_equal(perf_test_fixture_run(&fixture, &parameters, NULL), 0);
			assert_int_equal(fixture.client.result.wrong, kind & 2 ? 1 : 0);
			assert_int_equal(fixture.server.result.wrong, kind & 2 ? 0 : 1);
			perf_test_fixture_stop(&fixture);
		}
}

static void a_latency_test_times_each_operation(void **state)
{
	static const uint32_t sizes[] = {1, 2, 8, 64, 128, 4096};

	(void)state;
	for (unsigned int kind = 0; kind < 8; kind++)
		for (size_t i = 0; i < COUNT(sizes); i++) {
			struct test_parameters parameters =
				parameters_of(operation_at(kind), sizes[i]);
			struct perf_test_fixture fixture;

			parameters.kind = TEST_LATENCY;
			parameters.wait = kind & 2 ? TEST_SPIN : TEST_EVENT;
			parameters.verify = kind & 4;
			perf_test_fixture_start(&fixture, 1, 64);
			run(&fixture, &parameters);
			assert_int_equal(latency.count, OPERATIONS);
			run(&fixture, &parameters);
			perf_test_fixture_stop(&fixture);
		}
}

static void a_latency_test_finds_wrong_data(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 4; kind++) {
		struct test_parameters parameters = parameters_of(operation_at(kind), 1000);
		struct perf_test_fixture fixture;

		parameters.kind = TEST_LATENCY;
		parameters.verify = true;
		perf_test_fixture_start(&fixture, 1, 64);
		perf_test_fixture_fault(10, kind & 2 ? DAMAGED : LOST);
		histogram_init(&latency);
		assert_int_equal(perf_test_fixture_run(&fixture, &parameters, &latency), 0);
		assert_int_equal(fixture.client.result.wrong + fixture.server.result.wrong, 1);
		perf_test_fixture_stop(&fixture);
	}
}

/* Each pair of operation, kind of test and way to wait, because each takes the whole timeout. */
static void a_silent_peer_ends_a_run(void **state)
{
	static const unsigned int kinds[] = {0, 3, 5, 6};

	(void)state;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		unsigned int kind = kinds[i];
		struct test_parameters parameters = parameters_of(operation_at(kind), 1000);
		struct perf_test_fixture fixture;

		parameters.kind = kind & 2 ? TEST_LATENCY : TEST_BANDWIDTH;
		parameters.wait = kind & 4 ? TEST_SPIN : TEST_EVENT;
		perf_test_fixture_start(&fixture, 1, 64);
		histogram_init(&latency);
		assert_int_equal(
			perf_test_fixture_run_alone(&fixture.client, &parameters, &latency), -1);
		assert_int_equal(fixture.client.control.failure.kind, FAILURE_DEADLINE);
		assert_int_equal(
			perf_test_fixture_run_alone(&fixture.server, &parameters, NULL), -1);
		assert_int_equal(fixture.server.control.failure.kind, FAILURE_DEADLINE);
		perf_test_fixture_stop(&fixture);
	}
}

/* Sends a message of this length from the client on one of its queue pairs. */
static void send_wrong(struct perf_test *client, unsigned int queue_pair, uint32_t length)
{
	struct ibv_sge sge = {(uintptr_t)client->control->private.start, length, 1};
	struct ibv_send_wr request = {.sg_list = &sge,
		.num_sge = length > 0,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED};

	assert_int_equal(perf_test_post(client, &client->queue_pairs[queue_pair], CONTROL_OPERATION,
				 &request),
		0);
}

/* Begins at both ends, as far as the client's first operation. */
static void begin_both(struct perf_test_fixture *fixture, const struct test_parameters *parameters)
{
	test_run_begin(&fixture->client.test, parameters, 1000);
	test_run_begin(&fixture->server.test, parameters, 1000);
	assert_int_equal(perf_test_send_empty(&fixture->client.test), 0);
	assert_int_equal(receives_use_up(&fixture->client.test), 0);
}

/* Sends messages of these lengths from the client, then runs the server's half. */
static void assert_refused(const struct test_parameters *parameters, const uint32_t *lengths)
{
	struct perf_test_fixture fixture;
	struct command command;

	perf_test_fixture_start(&fixture, 1, 64);
	begin_both(&fixture, parameters);
	for (; *lengths != UINT32_MAX; lengths++)
		send_wrong(&fixture.client.test, 0, *lengths);
	/* What follows the end of the operations is taken for a command. */
	if (perf_test_fixture_run_alone(&fixture.server, parameters, NULL) == 0)
		assert_int_equal(control_receive_message(
					 &fixture.server.control, &command, deadline_in(1000)),
			-1);
	assert_int_equal(fixture.server.control.failure.kind, FAILURE_PROTOCOL);
	perf_test_fixture_stop(&fixture);
}

static void impossible_messages_are_refused(void **state)
{
	static const uint32_t permission[] = {0, UINT32_MAX}, confirmation[] = {2, UINT32_MAX},
			      other[] = {1000, 999, UINT32_MAX}, after[] = {1, 1000, UINT32_MAX},
			      twice[] = {1, 1, UINT32_MAX}, notice[] = {8, UINT32_MAX},
			      send[] = {1000, UINT32_MAX};
	struct test_parameters parameters = parameters_of(TEST_SEND, 1000);

	(void)state;
	assert_refused(&parameters, permission);
	assert_refused(&parameters, confirmation);
	assert_refused(&parameters, other);
	assert_refused(&parameters, after);
	assert_refused(&parameters, twice);
	assert_refused(&parameters, notice);
	parameters = parameters_of(TEST_WRITE_IMM, 1000);
	assert_refused(&parameters, send);
	assert_refused(&parameters, permission);
}

/*
 * A client that sends more operations than it was permitted is refused, whether the queue pairs
 * have receives of their own or one of them takes all that they share.
 */
static void too_many_operations_are_refused(void **state)
{
	struct test_parameters parameters = parameters_of(TEST_SEND, 100);

	(void)state;
	parameters.queue_pairs = 2;
	for (unsigned int kind = 0; kind < 4; kind++) {
		bool shares = kind & 1, drains = kind & 2;
		unsigned int count = shares ? 2 * (8 + 16) + 2 * (8 + 24) : 8 + 16;
		struct perf_test_fixture fixture;

		if (shares)
			perf_test_fixture_start_shared(&fixture, 2, 8);
		else
			perf_test_fixture_start(&fixture, 2, 8);
		perf_test_device.send_size = parameters.size;
		begin_both(&fixture, &parameters);
		for (unsigned int i = 0; i < (drains ? count : 9); i++) {
			send_wrong(&fixture.client.test, 1, parameters.size);
			/* The device delivers it. */
			assert_true(endpoint_poll(&fixture.client.control.endpoint,
					    &fixture.client.test.polled) >= 0);
		}
		/* The other queue pair finds no receive, if they share them. */
		send_wrong(&fixture.client.test, 0, parameters.size);
		endpoint_arm(&fixture.client.control.endpoint);
		assert_int_equal(perf_test_device.starved > 0, shares && drains);
		assert_int_equal(
			perf_test_fixture_run_alone(&fixture.server, &parameters, NULL), -1);
		assert_int_equal(fixture.server.control.failure.kind, FAILURE_PROTOCOL);
		assert_string_equal(fixture.server.control.failure.evidence,
			"the peer sent more operations than it was permitted");
		perf_test_fixture_stop(&fixture);
	}
}

/* Parameters for which there is too little memory, or there are no receives. */
static void impossible_parameters_are_refused(void **state)
{
	struct test_parameters parameters = parameters_of(TEST_SEND, 4096);
	struct perf_test_fixture fixture;

	(void)state;
	perf_test_fixture_start(&fixture, 1, 100);
	assert_true(receives_suffice(&fixture.server.test, &parameters));
	parameters.depth = 101;
	assert_false(receives_suffice(&fixture.server.test, &parameters));
	parameters.depth = parameters.slots = 100;
	assert_true(receives_suffice(&fixture.server.test, &parameters));
	parameters.size = 3 * COMMAND_MAX;
	assert_false(receives_suffice(&fixture.server.test, &parameters));
	parameters.size = 4096;
	parameters.slots = 1;
	run(&fixture, &parameters);
	parameters.slots = 2; /* the receives already have the same memory */
	assert_false(receives_suffice(&fixture.server.test, &parameters));
	fixture.server.control.receives = 0;
	parameters.slots = 1;
	assert_false(receives_suffice(&fixture.server.test, &parameters));
	parameters.operation = &test_operations[TEST_READ];
	assert_true(receives_suffice(&fixture.server.test, &parameters));
	perf_test_fixture_stop(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(receives_are_shared),
		cmocka_unit_test(only_some_tests_can_share_receives),
		cmocka_unit_test(messages_are_told_apart_by_length),
		cmocka_unit_test(any_shape_runs),
		cmocka_unit_test(operations_alternate),
		cmocka_unit_test(a_time_limit_ends_a_run),
		cmocka_unit_test(wrong_data_is_found),
		cmocka_unit_test(a_latency_test_times_each_operation),
		cmocka_unit_test(a_latency_test_finds_wrong_data),
		cmocka_unit_test(a_silent_peer_ends_a_run),
		cmocka_unit_test(impossible_messages_are_refused),
		cmocka_unit_test(too_many_operations_are_refused),
		cmocka_unit_test(impossible_parameters_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
