/* Both ends of bandwidth and latency tests on a fake device. */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "protocol/test-pattern.h"
#include "tests/unit/measure/perf-test-device.h"

#define OPERATIONS 120
#define MEMORY     COMMAND_REGION_MIN

/* Too large for the stack. */
static struct histogram latency;

static struct test_parameters parameters_of(bool reads, enum test_direction direction, bool verify)
{
	return (struct test_parameters){
		.operation = test_operation_by_number(reads),
		.direction = direction,
		.verify = verify,
		.size = 1000,
		.queue_pairs = 1,
		.depth = 8,
		.slots = verify ? 8 : 1,
		.operations = OPERATIONS,
		.seed = 42,
	};
}

static void assert_done(
	const struct perf_test_fixture *fixture, const struct test_parameters *parameters)
{
	uint64_t all = parameters->operations * parameters->queue_pairs;

	const struct test_result *ours = &fixture->client.result, *theirs = &fixture->server.result;

	assert_int_equal(ours->operations, parameters->direction == TEST_SERVER ? 0 : all);
	assert_int_equal(ours->bytes, ours->operations * parameters->size);
	assert_true(ours->nanoseconds > 0 || parameters->direction == TEST_SERVER);
	assert_int_equal(ours->wrong, 0);
	assert_int_equal(fixture->server.status, 0);
	assert_int_equal(theirs->wrong, 0);
	/*
	 * If both ends initiate and do not verify, the server stops as soon as the client has
	 * finished.
	 */
	if (parameters->direction == TEST_CLIENT)
		assert_int_equal(theirs->operations, 0);
	else if (parameters->verify || parameters->direction == TEST_SERVER)
		assert_int_equal(theirs->operations, all);
	else
		assert_true(theirs->operations <= all);
}

/* Runs every kind of bandwidth test in sequence on one connection. */
static void run_all(uint32_t queue_pairs, uint32_t depth, uint32_t slots, uint32_t size)
{
	struct perf_test_fixture fixture;

	perf_test_fixture_start(&fixture, queue_pairs, depth);
	for (unsigned int kind = 0; kind < 8 * TEST_DIRECTIONS; kind++) {
		struct test_parameters parameters = parameters_of(kind & 1, kind / 8, kind & 2);

		parameters.wait = kind & 4 ? TEST_SPIN : TEST_EVENT;
		parameters.queue_pairs = queue_pairs;
		parameters.depth = depth;
		parameters.slots = parameters.verify ? slots : 1;
		parameters.size = size;
		if (perf_test_fixture_run(&fixture, &parameters, NULL))
			fail_msg("kind %u: %s", kind, fixture.client.control.failure.call);
		assert_done(&fixture, &parameters);
	}
	perf_test_fixture_stop(&fixture);
}

static void bandwidth_of_one_queue_pair(void **state)
{
	(void)state;
	run_all(1, 8, 8, 1000);
	run_all(1, 16, 5, 1);
	run_all(1, 1, 1, 4096);
	run_all(1, 100, 2, 33);
	run_all(1, 3, 3, 32);
}

static void bandwidth_of_several_queue_pairs(void **state)
{
	(void)state;
	run_all(3, 8, 8, 1000);
	run_all(3, 1, 1, 64);
	run_all(7, 40, 4, 2048);
}

/* WRITEs up to the queue pair's inline limit are posted inline; READs never are. */
static void small_writes_are_inline(void **state)
{
	static const struct {
		uint32_t size;
		bool reads, is_inline;
		uint32_t below; /* of --inline */
	} cases[] = {
		{32, false, true, 0},
		{33, false, false, 0},
		{8, true, false, 0},
		{1, false, false, 1},
		{8, false, true, 9},
		{9, false, false, 9},
		{32, false, true, 33},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct test_parameters parameters =
			parameters_of(cases[i].reads, TEST_CLIENT, false);
		struct perf_test_fixture fixture;

		parameters.size = cases[i].size;
		parameters.inline_below = cases[i].below;
		perf_test_fixture_start(&fixture, 1, 8);
		assert_int_equal(perf_test_fixture_run(&fixture, &parameters, NULL), 0);
		assert_int_equal(perf_test_fixture_operations(), OPERATIONS);
		assert_int_equal(perf_test_fixture_inline(), cases[i].is_inline ? OPERATIONS : 0);
		perf_test_fixture_stop(&fixture);
	}
}

static void a_time_limit_ends_a_run(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 4 * TEST_DIRECTIONS; kind++) {
		struct test_parameters parameters = parameters_of(kind & 1, kind / 4, kind & 2);
		const struct test_result *result;
		struct perf_test_fixture fixture;

		parameters.operations = 0;
		parameters.milliseconds = 20;
		perf_test_fixture_start(&fixture, 1, 8);
		assert_int_equal(perf_test_fixture_run(&fixture, &parameters, NULL), 0);
		result = parameters.direction == TEST_SERVER ? &fixture.server.result
							     : &fixture.client.result;
		/*
		 * If the peer is too slow to generate data for READs, possibly no operation
		 * finishes in time.
		 */
		assert_true(result->operations > 0 ||
			    (parameters.operation->fetches && parameters.verify));
		assert_true(result->nanoseconds >= 20000000);
		assert_int_equal(fixture.client.result.wrong + fixture.server.result.wrong, 0);
		assert_int_equal(fixture.server.status, 0);
		perf_test_fixture_stop(&fixture);
	}
}

static void count_calls(void *context, uint64_t now)
{
	unsigned int *calls = context;

	assert_true(now > 0);
	*calls += 1;
}

/* At a check during the test, and while a busy-polling end waits for its peer. */
static void a_running_test_is_shown(void **state)
{
	struct test_parameters parameters = parameters_of(false, TEST_CLIENT, false);
	struct perf_test_fixture fixture;
	unsigned int calls = 0;

	(void)state;
	perf_test_fixture_start(&fixture, 1, 64);
	fixture.client.test.show = count_calls;
	fixture.client.test.show_context = &calls;
	parameters.operations = 0;
	parameters.milliseconds = PERF_TEST_CHECK_NS / 1000000 + 10;
	assert_int_equal(perf_test_fixture_run(&fixture, &parameters, NULL), 0);
	assert_true(calls > 0);
	calls = 0;
	parameters.kind = TEST_LATENCY;
	parameters.wait = TEST_SPIN;
	parameters.slots = 1;
	parameters.depth = 64;
	histogram_init(&latency);
	assert_int_equal(perf_test_fixture_run_alone(&fixture.client, &parameters, &latency), -1);
	assert_true(calls > 0);
	perf_test_fixture_stop(&fixture);
}

/*
 * The end that compares the data finds the single wrong operation and the offset of its wrong byte.
 */
static void find_wrong_data(
	bool reads, enum test_direction direction, unsigned int slot, enum fault fault)
{
	struct test_parameters parameters = parameters_of(reads, direction, true);
	struct perf_test_fixture fixture;
	const struct test_result *finds, *other;

	perf_test_fixture_start(&fixture, 1, 8);
	perf_test_fixture_fault(slot, fault);
	assert_int_equal(perf_test_fixture_run(&fixture, &parameters, NULL), 0);
	/* The initiator compares READ data; the target compares written data. */
	finds = reads == (direction == TEST_CLIENT) ? &fixture.client.result
						    : &fixture.server.result;
	other = finds == &fixture.client.result ? &fixture.server.result : &fixture.client.result;
	assert_int_equal(finds->wrong, 1);
	assert_int_equal(other->wrong, 0);
	if (fault == DAMAGED)
		assert_int_equal(finds->wrong_offset, parameters.size / 2);
	perf_test_fixture_stop(&fixture);
}

static void wrong_data_is_found(void **state)
{
	static const enum fault faults[] = {DAMAGED, LOST, MISPLACED};
	static const unsigned int slots[] = {0, 7, 60, OPERATIONS - 1};

	(void)state;
	for (unsigned int kind = 0; kind < 4; kind++)
		for (size_t i = 0; i < COUNT(faults); i++)
			for (size_t j = 0; j < COUNT(slots); j++)
				find_wrong_data(kind & 1, kind & 2 ? TEST_SERVER : TEST_CLIENT,
					slots[j], faults[i]);
}

/*
 * Without verification the damage goes unnoticed, which shows that the fixture's faults are real.
 */
static void wrong_data_is_ignored_without_verify(void **state)
{
	struct test_parameters parameters = parameters_of(false, TEST_CLIENT, false);
	struct perf_test_fixture fixture;

	(void)state;
	perf_test_fixture_start(&fixture, 1, 8);
	perf_test_fixture_fault(5, DAMAGED);
	assert_int_equal(perf_test_fixture_run(&fixture, &parameters, NULL), 0);
	assert_done(&fixture, &parameters);
	perf_test_fixture_stop(&fixture);
}

static void assert_failure(const struct perf_test_end *end, enum failure_kind kind)
{
	assert_int_equal(end->status, -1);
	assert_int_equal(end->control.failure.kind, kind);
}

static void a_failed_operation_ends_a_run(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 4; kind++) {
		struct test_parameters parameters = parameters_of(kind & 1, TEST_CLIENT, kind & 2);
		struct perf_test_fixture fixture;

		perf_test_fixture_start(&fixture, 1, 8);
		perf_test_fixture_fault(20, REFUSED);
		assert_int_equal(perf_test_fixture_run(&fixture, &parameters, NULL), -1);
		assert_failure(&fixture.client, FAILURE_COMPLETION);
		assert_int_equal(fixture.client.control.failure.code, IBV_WC_REM_ACCESS_ERR);
		perf_test_fixture_stop(&fixture);
	}
}

/* Both ends give up on a silent peer, whether they spin or wait for events. */
static void the_idle_timeout_ends_a_run(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 4; kind++) {
		struct test_parameters parameters = parameters_of(kind & 1, TEST_CLIENT, true);
		struct perf_test_fixture fixture;

		parameters.wait = kind & 2 ? TEST_SPIN : TEST_EVENT;
		perf_test_fixture_start(&fixture, 3, 8);
		parameters.queue_pairs = 3;
		parameters.slots = 4;
		assert_int_equal(
			perf_test_fixture_run_alone(&fixture.client, &parameters, NULL), -1);
		assert_failure(&fixture.client, FAILURE_DEADLINE);
		assert_int_equal(
			perf_test_fixture_run_alone(&fixture.server, &parameters, NULL), -1);
		assert_failure(&fixture.server, FAILURE_DEADLINE);
		perf_test_fixture_stop(&fixture);
	}
}

/* Asserts that an end fails the test when its peer sends this notice on that queue pair. */
static void assert_impossible(const struct test_parameters *parameters, bool at_server,
	size_t queue_pair, const struct notice *notice)
{
	struct perf_test_fixture fixture;
	struct perf_test_end *end;
	struct perf_test *other;

	perf_test_fixture_start(&fixture, 2, 64);
	end = at_server ? &fixture.server : &fixture.client;
	other = at_server ? &fixture.client.test : &fixture.server.test;
	histogram_init(&latency);
	assert_int_equal(perf_test_notify(other, &other->queue_pairs[queue_pair], notice), 0);
	assert_int_equal(perf_test_fixture_run_to_end(end, parameters, &latency), -1);
	assert_failure(end, FAILURE_PROTOCOL);
	perf_test_fixture_stop(&fixture);
}

/*
 * Rejects a position beyond what is posted, an empty notice, and a final notice or a confirmation
 * that comes too early.
 */
static void impossible_notices_are_refused(void **state)
{
	static const struct notice ahead = {9, true, false}, ready_ahead = {17, false, false},
				   nothing = {0, true, false}, done = {0, true, true},
				   confirmed = {0, false, true};

	(void)state;
	for (unsigned int kind = 0; kind < 4; kind++) {
		struct test_parameters parameters = parameters_of(kind & 1, TEST_CLIENT, true);

		parameters.wait = kind & 2 ? TEST_SPIN : TEST_EVENT;
		assert_impossible(&parameters, true, 0, &ahead);
		assert_impossible(&parameters, true, 0, &nothing);
		assert_impossible(&parameters, true, 0, &confirmed);
		assert_impossible(&parameters, true, 1, &done);
		assert_impossible(&parameters, false, 0, &ready_ahead);
		assert_impossible(&parameters, false, 0, &done);
		/* A confirmation from an end that has not sent its final notice. */
		assert_impossible(&parameters, false, 0, &confirmed);
		assert_impossible(&parameters, false, 1, &confirmed);
		parameters.direction = TEST_BOTH;
		parameters.verify = false;
		assert_impossible(&parameters, true, 0, &done);
		assert_impossible(&parameters, true, 0, &confirmed);
	}
}

static void notices_in_a_latency_test_are_refused(void **state)
{
	static const struct notice notice = {1, true, false};

	(void)state;
	for (unsigned int kind = 0; kind < 4; kind++) {
		struct test_parameters parameters = parameters_of(false, TEST_CLIENT, kind & 2);

		parameters.kind = TEST_LATENCY;
		parameters.wait = kind & 1 ? TEST_SPIN : TEST_EVENT;
		assert_impossible(&parameters, true, 0, &notice);
		assert_impossible(&parameters, false, 0, &notice);
	}
}

static void the_idle_timeout_ends_a_latency_test(void **state)
{
	(void)state;
	for (unsigned int wait = 0; wait < TEST_WAITS; wait++) {
		struct test_parameters parameters = parameters_of(false, TEST_CLIENT, false);
		struct perf_test_fixture fixture;

		parameters.kind = TEST_LATENCY;
		parameters.wait = (enum test_wait)wait;
		perf_test_fixture_start(&fixture, 1, 64);
		histogram_init(&latency);
		assert_int_equal(
			perf_test_fixture_run_alone(&fixture.server, &parameters, NULL), -1);
		assert_failure(&fixture.server, FAILURE_DEADLINE);
		assert_int_equal(
			perf_test_fixture_run_alone(&fixture.client, &parameters, &latency), -1);
		assert_failure(&fixture.client, FAILURE_DEADLINE);
		assert_int_equal(latency.count, 0);
		perf_test_fixture_stop(&fixture);
	}
}

static void a_signal_ends_a_run(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 4; kind++) {
		struct test_parameters parameters = parameters_of(false, TEST_CLIENT, true);
		struct perf_test_fixture fixture;

		parameters.kind = kind & 1 ? TEST_LATENCY : TEST_BANDWIDTH;
		parameters.wait = kind & 2 ? TEST_SPIN : TEST_EVENT;
		perf_test_fixture_start(&fixture, 1, 64);
		histogram_init(&latency);
		eventfd_write(fixture.client.control.stop_fd, 1);
		assert_int_equal(
			perf_test_fixture_run_to_end(&fixture.client, &parameters, &latency), -1);
		assert_failure(&fixture.client, FAILURE_INTERRUPTED);
		perf_test_fixture_stop(&fixture);
	}
}

/*
 * Each thread of a client runs its own test: when one fails, the others stop without waiting for
 * the end of their test time.
 */
static void a_failed_thread_ends_a_run(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 8; kind++) {
		struct test_parameters parameters =
			parameters_of(kind & 1, kind & 2 ? TEST_BOTH : TEST_CLIENT, kind & 4);
		struct perf_test_fixture fixture;

		parameters.operations = 0;
		parameters.milliseconds = 86400000;
		perf_test_fixture_start(&fixture, 1, 8);
		fixture.client.others_failed = true;
		assert_int_equal(perf_test_fixture_run(&fixture, &parameters, NULL), -1);
		assert_failure(&fixture.client, FAILURE_INTERRUPTED);
		perf_test_fixture_stop(&fixture);
	}
}

/*
 * A spinning server waits for each damaged message to settle, and must still notice a stop signal.
 */
static void a_signal_ends_a_run_with_damaged_data(void **state)
{
	struct test_parameters parameters = parameters_of(false, TEST_CLIENT, true);
	struct perf_test_fixture fixture;
	struct perf_test *test = &fixture.server.test;
	struct test_shared shared;
	uint8_t *memory;

	(void)state;
	parameters.kind = TEST_LATENCY;
	parameters.wait = TEST_SPIN;
	parameters.slots = 1;
	perf_test_fixture_start(&fixture, 1, 64);
	memory = fixture.server.control.offered.start;
	test_run_begin(test, &parameters, 60000);
	/*
	 * The first message is correct and arrives at once: otherwise the server checks for a stop
	 * signal only every 64 messages.
	 */
	pattern_fill(
		memory, parameters.size - 1, perf_test_seed(test, test->queue_pairs, 0, false));
	memory[parameters.size - 1] = 1;
	perf_test_fixture_reply(memory + parameters.size - 1);
	eventfd_write(fixture.server.control.stop_fd, 1);
	test_shared_init(&shared, test_now());
	fixture.server.status = test_run(test, &shared, &fixture.server.result, NULL);
	assert_failure(&fixture.server, FAILURE_INTERRUPTED);
	assert_in_range(fixture.server.result.operations, 0, 2);
	perf_test_fixture_stop(&fixture);
}

/*
 * Runs every kind of latency test in sequence on one connection. The fake device copies data of
 * more than 32 bytes in any order, so their last byte says nothing.
 */
static void run_latencies(uint32_t size)
{
	struct perf_test_fixture fixture;

	perf_test_fixture_start(&fixture, 1, 64);
	for (unsigned int kind = 0; kind < 4 * TEST_WAITS; kind++) {
		struct test_parameters parameters = parameters_of(kind & 1, TEST_CLIENT, kind & 2);

		if (kind / 4 == TEST_SPIN && size > 32)
			continue;
		parameters.kind = TEST_LATENCY;
		parameters.wait = (enum test_wait)(kind / 4);
		parameters.depth = 64;
		parameters.slots = 1;
		parameters.size = size;
		histogram_init(&latency);
		if (perf_test_fixture_run(&fixture, &parameters, &latency))
			fail_msg("kind %u: %s", kind, fixture.client.control.failure.call);
		assert_int_equal(latency.count, OPERATIONS);
		assert_true(latency.minimum > 0);
		assert_int_equal(fixture.client.result.operations, OPERATIONS);
		assert_int_equal(fixture.client.result.wrong, 0);
		assert_int_equal(fixture.server.status, 0);
		assert_int_equal(fixture.server.result.wrong, 0);
		if (!parameters.operation->fetches)
			assert_int_equal(fixture.server.result.operations, OPERATIONS);
	}
	perf_test_fixture_stop(&fixture);
}

static void a_latency_test_times_each_operation(void **state)
{
	(void)state;
	run_latencies(1);
	run_latencies(8);
	run_latencies(32);
	run_latencies(33);
	run_latencies(4096);
}

/* Also with single-byte messages, whose arrival an event signals to a sleeping end. */
static void a_latency_test_finds_wrong_data(void **state)
{
	static const enum fault faults[] = {DAMAGED, LOST};

	(void)state;
	for (unsigned int kind = 0; kind < 8; kind++) {
		struct test_parameters parameters = parameters_of(kind & 1, TEST_CLIENT, true);
		struct perf_test_fixture fixture;

		parameters.kind = TEST_LATENCY;
		parameters.wait = TEST_EVENT;
		parameters.slots = 1;
		parameters.size = kind & 2 ? 1 : 1000;
		perf_test_fixture_start(&fixture, 1, 64);
		histogram_init(&latency);
		perf_test_fixture_fault(10, faults[kind >> 2]);
		assert_int_equal(perf_test_fixture_run(&fixture, &parameters, &latency), 0);
		assert_int_equal(fixture.client.result.wrong + fixture.server.result.wrong, 1);
		perf_test_fixture_stop(&fixture);
	}
}

/* Polls until everything that this end has sent has completed. */
static void await_sends(struct perf_test_end *end)
{
	const struct queue_pair *pair = end->control.endpoint.pairs;
	struct completion_batch batch;
	struct completion completion;

	while (pair->sends_completed < pair->sends_posted) {
		assert_true(endpoint_poll(&end->control.endpoint, &batch) >= 0);
		while (endpoint_next_completion(&end->control.endpoint, &batch, &completion))
			;
	}
}

/* Calls perf_test_check_due() at the client once in each of these seconds. */
static void check_each_second(struct perf_test_end *client, uint64_t *now, unsigned int seconds)
{
	for (; seconds > 0; seconds--, *now += PERF_TEST_KEEPALIVE_NS)
		assert_int_equal(perf_test_check_due(&client->test, *now), 1);
}

/*
 * A server that is stopped holds one keepalive, and the client gives up in time. The time begins
 * when the keepalive has been sent: slow operations may precede it.
 */
static void a_stopped_server_gets_one_keepalive(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 2; kind++) {
		struct test_parameters parameters = parameters_of(true, TEST_CLIENT, false);
		struct perf_test_fixture fixture;
		struct perf_test *test = &fixture.client.test;
		uint64_t now = PERF_TEST_KEEPALIVE_NS;
		const struct fixture_qp *qp;

		parameters.kind = kind ? TEST_LATENCY : TEST_BANDWIDTH;
		perf_test_fixture_start(&fixture, 1, 64);
		qp = (const struct fixture_qp *)test->queue_pairs->pair->qp;
		fixture.client.control.answers = true;
		test_run_begin(test, &parameters, 10000);
		check_each_second(&fixture.client, &now, 20);
		assert_int_equal(qp->posted, 1);
		await_sends(&fixture.client);
		check_each_second(&fixture.client, &now, 9);
		assert_int_equal(qp->posted, 1);
		fixture.client.status = perf_test_check_due(test, now);
		assert_failure(&fixture.client, FAILURE_DEADLINE);
		perf_test_fixture_stop(&fixture);
	}
}

/* A server of version 0.1 answers no keepalives. */
static void keepalives_do_not_wait_for_an_old_server(void **state)
{
	struct test_parameters parameters = parameters_of(true, TEST_CLIENT, false);
	struct perf_test_fixture fixture;
	struct perf_test *test = &fixture.client.test;
	uint64_t now = PERF_TEST_KEEPALIVE_NS;

	(void)state;
	perf_test_fixture_start(&fixture, 1, 64);
	test_run_begin(test, &parameters, 10000);
	check_each_second(&fixture.client, &now, 20);
	assert_int_equal(((const struct fixture_qp *)test->queue_pairs->pair->qp)->posted, 20);
	perf_test_fixture_stop(&fixture);
}

/* A client that floods the server with keepalives does not overrun the server's send queue. */
static void answers_to_keepalives_are_bounded(void **state)
{
	struct test_parameters parameters = parameters_of(true, TEST_CLIENT, false);
	struct perf_test_fixture fixture;

	(void)state;
	parameters.kind = TEST_LATENCY;
	perf_test_fixture_start(&fixture, 1, 8);
	fixture.server.control.answers = true;
	test_run_begin(&fixture.server.test, &parameters, 10000);
	for (unsigned int i = 0; i < 4; i++, await_sends(&fixture.server))
		assert_int_equal(perf_test_take_empty(&fixture.server.test), 0);
	for (unsigned int i = 0; i < CONTROL_KEEPALIVES; i++)
		assert_int_equal(perf_test_take_empty(&fixture.server.test), 0);
	fixture.server.status = perf_test_take_empty(&fixture.server.test);
	assert_failure(&fixture.server, FAILURE_PROTOCOL);
	perf_test_fixture_stop(&fixture);
}

/* A client whose first message is not read in time writes 0 bytes, which is no operation. */
static unsigned int reminders(const struct perf_test_fixture *fixture)
{
	uint64_t posted =
		fixture->client.test.queue_pairs->posted + fixture->server.test.queue_pairs->posted;

	return perf_test_device.operations - (unsigned int)posted;
}

/* Each operation has the requested number of pieces, none of them empty, in both directions. */
static void operations_are_gathered_from_pieces(void **state)
{
	static const uint32_t sizes[] = {8, 9, 15, 1000, 4096};

	(void)state;
	for (unsigned int kind = 0; kind < 2; kind++)
		for (uint32_t pieces = 1; pieces <= MAX_SGE; pieces++)
			for (size_t i = 0; i < COUNT(sizes); i++)
				for (unsigned int reads = 0; reads < 2; reads++) {
					struct test_parameters parameters =
						parameters_of(reads, TEST_CLIENT, true);
					struct perf_test_fixture fixture;

					parameters.kind = (enum test_kind)kind;
					parameters.slots = kind == TEST_LATENCY ? 1 : 8;
					parameters.depth = 64;
					parameters.size = sizes[i];
					parameters.gathers = pieces;
					histogram_init(&latency);
					perf_test_fixture_start(&fixture, 1, 64);
					assert_int_equal(perf_test_fixture_run(
								 &fixture, &parameters, &latency),
						0);
					assert_int_equal(fixture.client.result.wrong +
								 fixture.server.result.wrong,
						0);
					assert_int_equal(perf_test_device.pieces,
						pieces * (perf_test_device.operations -
								 reminders(&fixture)));
					perf_test_fixture_stop(&fixture);
				}
}

/* Completions account for all operations, whether the number or the time of them is limited. */
static void one_completion_accounts_for_many_operations(void **state)
{
	static const uint32_t depths[] = {1, 2, 3, 8, 18, 64, 100};

	(void)state;
	for (size_t i = 0; i < COUNT(depths); i++)
		for (uint32_t every = 1; every <= depths[i]; every = every * 2 + 1)
			for (unsigned int kind = 0; kind < 16; kind++) {
				struct test_parameters parameters =
					parameters_of(kind & 1, TEST_CLIENT, kind & 2);
				struct perf_test_fixture fixture;
				unsigned int wanted = (OPERATIONS + every - 1) / every;

				parameters.depth = depths[i];
				parameters.slots = parameters.verify ? depths[i] : 1;
				parameters.signal_every = every;
				if (kind & 4)
					parameters.operation = &test_operations[TEST_SEND];
				if (kind & 8) {
					parameters.operations = 0;
					parameters.milliseconds = 2;
				}
				perf_test_fixture_start(&fixture, 1, depths[i]);
				assert_int_equal(
					perf_test_fixture_run(&fixture, &parameters, NULL), 0);
				assert_int_equal(
					fixture.client.result.wrong + fixture.server.result.wrong,
					0);
				assert_int_equal(fixture.client.result.operations,
					fixture.client.test.queue_pairs->posted);
				if (!(kind & 8))
					assert_int_equal(
						perf_test_fixture_signaled() - reminders(&fixture),
						wanted);
				perf_test_fixture_stop(&fixture);
			}
}

static void refuses_unsupported_parameters(void **state)
{
	struct test_parameters parameters = parameters_of(false, TEST_CLIENT, true);
	struct perf_test_fixture fixture;
	struct perf_test *test = &fixture.server.test;

	(void)state;
	perf_test_fixture_start(&fixture, 2, 8);
	assert_true(test_run_can(test, &parameters));
	parameters.queue_pairs = 3;
	assert_false(test_run_can(test, &parameters));
	parameters.queue_pairs = 2;
	parameters.depth = 9;
	assert_false(test_run_can(test, &parameters));
	parameters.depth = 8;
	parameters.slots = 8;
	parameters.size = MEMORY / 16;
	assert_true(test_run_can(test, &parameters));
	parameters.size++;
	assert_false(test_run_can(test, &parameters));
	parameters.size--;
	fixture.server.control.peer_length--;
	assert_false(test_run_can(test, &parameters));
	fixture.server.control.peer_length++;
	/* Only an end that posts operations needs room for inline data. */
	parameters.inline_below = 34;
	assert_true(test_run_can(test, &parameters));
	parameters.direction = TEST_BOTH;
	assert_false(test_run_can(test, &parameters));
	parameters.inline_below = 33;
	assert_true(test_run_can(test, &parameters));
	parameters.gathers = MAX_SGE + 1;
	assert_false(test_run_can(test, &parameters));
	parameters.direction = TEST_CLIENT;
	assert_true(test_run_can(test, &parameters));
	perf_test_fixture_stop(&fixture);
}

/* Refuses a wrong number of queue pair numbers, and parameters before any queue pair exists. */
static void requires_the_agreed_number_of_queue_pairs(void **state)
{
	static const size_t wrong[] = {0, 1, 3, 5, 8, 256};
	struct perf_test unmade;
	struct test_parameters parameters = parameters_of(false, TEST_CLIENT, false);
	uint8_t numbers[256] = {0};
	struct perf_test_fixture fixture;

	(void)state;
	perf_test_fixture_start(&fixture, 2, 8);
	for (size_t i = 0; i < COUNT(wrong); i++) {
		fixture.server.control.failure = (struct failure){0};
		assert_int_equal(
			perf_test_connect_queue_pairs(&fixture.server.test, numbers, wrong[i]), -1);
		assert_int_equal(fixture.server.control.failure.kind, FAILURE_PROTOCOL);
	}
	assert_int_equal(perf_test_encode_numbers(&fixture.server.test, numbers), 4);
	perf_test_init(&unmade, &fixture.server.control, 8, true);
	assert_false(test_run_can(&unmade, &parameters));
	perf_test_fixture_stop(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bandwidth_of_one_queue_pair),
		cmocka_unit_test(bandwidth_of_several_queue_pairs),
		cmocka_unit_test(small_writes_are_inline),
		cmocka_unit_test(operations_are_gathered_from_pieces),
		cmocka_unit_test(one_completion_accounts_for_many_operations),
		cmocka_unit_test(a_time_limit_ends_a_run),
		cmocka_unit_test(a_running_test_is_shown),
		cmocka_unit_test(wrong_data_is_found),
		cmocka_unit_test(wrong_data_is_ignored_without_verify),
		cmocka_unit_test(a_failed_operation_ends_a_run),
		cmocka_unit_test(the_idle_timeout_ends_a_run),
		cmocka_unit_test(impossible_notices_are_refused),
		cmocka_unit_test(notices_in_a_latency_test_are_refused),
		cmocka_unit_test(the_idle_timeout_ends_a_latency_test),
		cmocka_unit_test(a_signal_ends_a_run),
		cmocka_unit_test(a_failed_thread_ends_a_run),
		cmocka_unit_test(a_signal_ends_a_run_with_damaged_data),
		cmocka_unit_test(a_latency_test_times_each_operation),
		cmocka_unit_test(a_latency_test_finds_wrong_data),
		cmocka_unit_test(a_stopped_server_gets_one_keepalive),
		cmocka_unit_test(keepalives_do_not_wait_for_an_old_server),
		cmocka_unit_test(answers_to_keepalives_are_bounded),
		cmocka_unit_test(refuses_unsupported_parameters),
		cmocka_unit_test(requires_the_agreed_number_of_queue_pairs),
	};

	return cmocka_run_group_tests_name("perf-test", tests, NULL, NULL);
}
