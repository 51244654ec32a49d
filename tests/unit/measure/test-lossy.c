/* Tests over unreliable queue pairs, at both ends on a fake device that loses operations. */
#include <arpa/inet.h>
#include <string.h>

#include "measure/lossy.h"
#include "tests/unit/measure/perf-test-device.h"

#define OPERATIONS 120

/* Combinations of transport and operation. */
static const struct {
	enum test_transport transport;
	enum test_operation_number operation;
} tests_of[] = {{TEST_UC, TEST_SEND}, {TEST_UC, TEST_WRITE_IMM}, {TEST_UD, TEST_SEND}};

static struct test_parameters parameters_of(size_t which, uint32_t size)
{
	return (struct test_parameters){
		.operation = &test_operations[tests_of[which].operation],
		.transport = tests_of[which].transport,
		.size = size,
		.queue_pairs = 1,
		.depth = 8,
		.slots = 1,
		.operations = OPERATIONS,
		.seed = 42,
	};
}

static void start(struct perf_test_fixture *fixture, const struct test_parameters *parameters)
{
	perf_test_fixture_start_lossy(
		fixture, parameters->queue_pairs, parameters->depth, parameters->transport);
}

/* Runs a test that must succeed. Returns how many operations were lost. */
static uint64_t run(struct perf_test_fixture *fixture, const struct test_parameters *parameters)
{
	const struct test_result *ours = &fixture->client.result, *theirs = &fixture->server.result;
	uint64_t each = parameters->operations * parameters->queue_pairs;

	perf_test_device.lost = perf_test_device.unreliable = 0;
	if (perf_test_fixture_run(fixture, parameters, NULL))
		fail_msg("%s, transport %d, direction %d: %s, %s", parameters->operation->name,
			parameters->transport, parameters->direction,
			fixture->client.control.failure.call,
			fixture->client.control.failure.evidence);
	assert_int_equal(fixture->server.status, 0);
	assert_int_equal(ours->wrong + theirs->wrong, 0);
	assert_int_equal(
		ours->operations + ours->lost, parameters->direction == TEST_SERVER ? 0 : each);
	assert_int_equal(
		theirs->operations + theirs->lost, parameters->direction == TEST_CLIENT ? 0 : each);
	assert_int_equal(ours->lost + theirs->lost, perf_test_device.lost);
	return perf_test_device.lost;
}

/* Each kind of test in sequence on one connection, in which the receiver may be too slow. */
static void whatever_is_sent_arrives_or_is_lost(void **state)
{
	static const struct {
		uint32_t queue_pairs, depth, size;
	} shapes[] = {{1, 8, 1}, {1, 1, 100}, {3, 8, 4096}, {7, 40, 1024}};

	(void)state;
	for (size_t i = 0; i < COUNT(tests_of) * COUNT(shapes); i++)
		for (unsigned int kind = 0; kind < 4 * TEST_DIRECTIONS; kind++) {
			struct test_parameters parameters =
				parameters_of(i % COUNT(tests_of), shapes[i / 3].size);
			struct perf_test_fixture fixture;

			parameters.queue_pairs = shapes[i / 3].queue_pairs;
			parameters.depth = shapes[i / 3].depth;
			parameters.direction = (enum test_direction)(kind / 4);
			parameters.wait = kind & 1 ? TEST_SPIN : TEST_EVENT;
			parameters.verify = kind & 2 && !parameters.operation->immediate;
			parameters.slots = parameters.verify ? parameters.depth : 1;
			start(&fixture, &parameters);
			for (unsigned int runs = 0; runs < 2; runs++)
				run(&fixture, &parameters);
			perf_test_fixture_stop(&fixture);
		}
}

/* Every third, the last ones, or all: the test ends all the same. */
static void lost_operations_are_counted(void **state)
{
	static const struct {
		unsigned int every, from;
		uint64_t least;
	} cases[] = {{3, 0, OPERATIONS / 3}, {0, OPERATIONS, 1}, {0, 50, 71}, {1, 0, OPERATIONS}};

	(void)state;
	for (size_t i = 0; i < COUNT(tests_of) * COUNT(cases); i++) {
		struct test_parameters parameters = parameters_of(i % COUNT(tests_of), 100);
		struct perf_test_fixture fixture;
		uint64_t lost;

		parameters.verify = !parameters.operation->immediate;
		parameters.slots = parameters.verify ? parameters.depth : 1;
		start(&fixture, &parameters);
		perf_test_device.lose_every = cases[i / 3].every;
		perf_test_device.lose_from = cases[i / 3].from;
		lost = run(&fixture, &parameters);
		assert_true(lost >= cases[i / 3].least);
		perf_test_fixture_stop(&fixture);
	}
}

/* An operation that comes twice counts once; one that comes after the next counts. */
static void repeated_and_late_operations_count_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(tests_of); i++) {
		struct test_parameters parameters = parameters_of(i, 100);
		struct perf_test_fixture fixture;

		parameters.verify = !parameters.operation->immediate;
		parameters.slots = parameters.verify ? parameters.depth : 1;
		start(&fixture, &parameters);
		perf_test_device.repeat_every = 5;
		perf_test_device.hold_every = 7;
		run(&fixture, &parameters);
		assert_null(perf_test_device.held);
		perf_test_fixture_stop(&fixture);
	}
}

/* Takes a message with this immediate data. Returns whether it counts as an operation. */
static bool takes(struct perf_test *test, uint32_t immediate)
{
	struct queue_pair *pair = test->queue_pairs[0].pair;
	struct ibv_wc wc = {.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV,
		.wc_flags = IBV_WC_WITH_IMM,
		.imm_data = htonl(immediate),
		.byte_len = test->parameters.size + TEST_GRH_SIZE,
		.src_qp = pair->number_of_peer};
	struct completion completion = {
		.pair = pair, .wc = &wc, .kind = ENDPOINT_RECEIVE, .data = pair->slots.start};
	const uint8_t *data;
	uint64_t number;
	int taken = lossy_take(test, &completion, &number, &data);

	assert_true(taken >= 0);
	if (taken == 0)
		return false;
	assert_int_equal((uint32_t)number, immediate);
	assert_ptr_equal(data, completion.data + TEST_GRH_SIZE);
	return true;
}

/* Up to 64 operations may overtake one; numbers go on after 2^32. */
static void late_operations_have_a_limit(void **state)
{
	static const struct {
		uint32_t number;
		bool counts;
	} cases[] = {
		{UINT32_MAX, false}, /* before the first */
		{3, true},
		{0, true},
		{0, false},
		{3, false},
		{66, true}, /* 3 is the last one of the 64 */
		{3, false},
		{2, false}, /* would have been the first time */
		{4, true},
		{65, true},
		{130, true}, /* after 64, none of the others is known */
		{66, false},
		{67, true},
		{129, true},
		{0x7fffffff, true},
		{130, false},
		{0xfffffffe, true},
		{0, true},
		{0xffffffff, true},
		{0xfffffffe, false},
	};
	struct test_parameters parameters = parameters_of(2, 100);
	struct perf_test_fixture fixture;
	struct perf_test *test = &fixture.server.test;
	uint64_t expected = 0;

	(void)state;
	start(&fixture, &parameters);
	test_run_begin(test, &parameters, 1000);
	for (size_t i = 0; i < COUNT(cases); i++) {
		if (takes(test, cases[i].number) != cases[i].counts)
			fail_msg("case %zu: %u", i, cases[i].number);
		expected += cases[i].counts;
	}
	assert_int_equal(test->lossy.arrived, expected);
	assert_int_equal(test->queue_pairs[0].served, UINT64_C(0x100000001));
	perf_test_fixture_stop(&fixture);
}

static void wrong_data_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(tests_of); i++) {
		struct test_parameters parameters = parameters_of(i, 1000);
		struct perf_test_fixture fixture;

		if (parameters.operation->immediate)
			continue;

		parameters.verify = true;
		parameters.slots = parameters.depth;
		start(&fixture, &parameters);
		perf_test_fixture_fault(3, DAMAGED);
		assert_int_equal(perf_test_fixture_run(&fixture, &parameters, NULL), 0);
		assert_int_equal(fixture.server.result.wrong, 1);
		perf_test_fixture_stop(&fixture);
	}
}

/* Datagrams from a stranger, from another queue pair of the client, and to none at all. */
static void strangers_do_not_count(void **state)
{
	struct test_parameters parameters = parameters_of(2, 100);
	struct perf_test_fixture fixture;
	struct perf_test *client;

	(void)state;
	parameters.queue_pairs = 2;
	start(&fixture, &parameters);
	client = &fixture.client.test;
	test_run_begin(client, &parameters, 1000);
	test_run_begin(&fixture.server.test, &parameters, 1000);
	for (unsigned int kind = 0; kind < 3; kind++) {
		struct ibv_sge piece[TEST_SGE_MAX];
		struct ibv_send_wr request;

		perf_test_describe(client, &client->queue_pairs[0], 0, &request, piece);
		if (kind == 0)
			request.wr.ud.remote_qpn =
				fixture.server.test.queue_pairs[1].pair->qp->qp_num;
		else if (kind == 1)
			request.wr.ud.remote_qpn = 0xabcdef;
		else
			piece->length = 99;
		request.send_flags |= IBV_SEND_SIGNALED;
		assert_int_equal(
			perf_test_post(client, &client->queue_pairs[0], CONTROL_NOTICE, &request),
			0);
	}
	assert_int_equal(endpoint_arm(&fixture.client.control.endpoint), 0);
	run(&fixture, &parameters);
	assert_int_equal(fixture.server.test.lossy.arrived + perf_test_device.lost, 2 * OPERATIONS);
	perf_test_fixture_stop(&fixture);
}

/*
 * Between two tests, late operations and datagrams from unknown senders are dropped, and their
 * receives are posted again.
 */
static void strays_between_tests_are_ignored(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(tests_of); i++) {
		struct test_parameters parameters = parameters_of(i, 100);
		struct command sent = {.type = COMMAND_END, .number = 1}, received;
		struct perf_test_fixture fixture;
		struct perf_test *client = &fixture.client.test;
		struct control *server = &fixture.server.control;
		struct queue_pair *pair;

		start(&fixture, &parameters);
		test_run_begin(client, &parameters, 1000);
		test_run_begin(&fixture.server.test, &parameters, 1000);
		pair = fixture.server.test.queue_pairs[0].pair;
		for (uint64_t number = 0; number < 3; number++) {
			struct ibv_sge pieces[TEST_SGE_MAX];
			struct ibv_send_wr request;

			perf_test_describe(
				client, &client->queue_pairs[0], number, &request, pieces);
			assert_int_equal(perf_test_post(client, &client->queue_pairs[0],
						 CONTROL_OPERATION, &request),
				0);
		}
		/* The second one arrives after them, whatever overtakes what. */
		for (unsigned int commands = 0; commands < 2; commands++) {
			assert_int_equal(endpoint_arm(&server->endpoint), 0);
			assert_int_equal(
				control_send_message(client->control, &sent, deadline_in(1000)), 0);
			assert_int_equal(
				control_receive_message(server, &received, deadline_in(1000)), 0);
			assert_int_equal(received.type, COMMAND_END);
		}
		assert_int_equal(pair->receives_posted, server->receives);
		perf_test_fixture_stop(&fixture);
	}
}

/* The peer says that more has arrived than was sent, or says it twice or too early. */
static void impossible_notices_are_refused(void **state)
{
	static const struct notice cases[][2] = {
		{{1, true, true}, {1, true, true}},
		{{1, false, true}},
		{{1, true, false}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct test_parameters parameters = parameters_of(0, 100);
		struct perf_test_fixture fixture;
		struct perf_test *client = &fixture.client.test;

		start(&fixture, &parameters);
		test_run_begin(client, &parameters, 1000);
		test_run_begin(&fixture.server.test, &parameters, 1000);
		assert_int_equal(perf_test_send_empty(client), 0);
		for (size_t j = 0; j < 2 && (j == 0 || cases[i][j].last); j++)
			assert_int_equal(
				perf_test_notify(client, &client->lossy.connection, &cases[i][j]),
				0);
		assert_int_equal(
			perf_test_fixture_run_alone(&fixture.server, &parameters, NULL), -1);
		assert_int_equal(fixture.server.control.failure.kind, FAILURE_PROTOCOL);
		perf_test_fixture_stop(&fixture);
	}
}

static void only_some_tests_can_be_unreliable(void **state)
{
	struct test_parameters parameters = parameters_of(2, 100);
	struct perf_test_fixture fixture;

	(void)state;
	start(&fixture, &parameters);
	assert_true(test_run_can(&fixture.server.test, &parameters));
	parameters.transport = TEST_RC;
	assert_false(test_run_can(&fixture.server.test, &parameters));
	parameters.transport = TEST_UC;
	assert_false(test_run_can(&fixture.server.test, &parameters));
	parameters.transport = TEST_UD;
	parameters.size = (uint32_t)fixture.server.control.offered.size - TEST_GRH_SIZE;
	assert_true(lossy_suffices(&fixture.server.test, &parameters));
	parameters.size++;
	assert_false(lossy_suffices(&fixture.server.test, &parameters));
	perf_test_fixture_stop(&fixture);
}

/* No attribute of a device tells which types of queue pairs it has. */
static void a_device_may_have_no_such_queue_pairs(void **state)
{
	struct test_parameters parameters = parameters_of(2, 100);
	struct perf_test_fixture fixture;
	struct control *control = &fixture.client.control;
	struct queue_pair *last;
	struct ibv_qp *qp;

	(void)state;
	start(&fixture, &parameters);
	perf_test_device.no_type = IBV_QPT_UC;
	control->transport = TEST_UC;
	/* In the place of the last one. */
	last = &control->endpoint.pairs[--control->endpoint.pair_count];
	qp = last->qp;
	assert_null(control_add_queue_pair(control));
	last->qp = qp;
	control->endpoint.pair_count++;
	assert_int_equal(control->failure.kind, FAILURE_HOST);
	assert_int_equal(control->failure.code, HOST_NO_OPTION);
	assert_non_null(strstr(control->failure.evidence, " of this host has no IBV_QPT_UC"));
	perf_test_fixture_stop(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_is_sent_arrives_or_is_lost),
		cmocka_unit_test(lost_operations_are_counted),
		cmocka_unit_test(repeated_and_late_operations_count_once),
		cmocka_unit_test(late_operations_have_a_limit),
		cmocka_unit_test(wrong_data_is_found),
		cmocka_unit_test(strangers_do_not_count),
		cmocka_unit_test(strays_between_tests_are_ignored),
		cmocka_unit_test(impossible_notices_are_refused),
		cmocka_unit_test(only_some_tests_can_be_unreliable),
		cmocka_unit_test(a_device_may_have_no_such_queue_pairs),
	};

	return cmocka_run_group_tests_name("lossy", tests, NULL, NULL);
}
