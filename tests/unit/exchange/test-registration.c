/* Registration of large memory by a worker thread, which the test holds up, on the fake device. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/explain.h"
#include "exchange/internal.h"
#include "tests/unit/common/digest-fixture.h"
#include "tests/unit/common/secret-fixture.h"
#include "tests/unit/exchange/pair.h"

/* The stream, and the ring that is large enough for it. Smaller registrations are not held up. */
#define LARGE ((uint64_t)2 << 20)

#define SENDS  (HELLO_PLANS | HELLO_RESUMES | HELLO_SENDS_DATA | HELLO_SENDS_FILE)
#define STORES (HELLO_PLANS | HELLO_RESUMES | HELLO_TAKES_FILE | HELLO_WANTS_DATA)

/* A pair with a secret. Only one end has large memory that its peer may access. */
struct setup {
	struct pair pair;
	struct fixture *large, *other;
	struct secret *secret;
	char input[32], output[64];
	int file;
	struct digest digest;
};

/* All combinations of mode and role. On iWARP, a ring that READs fill is accessible as well. */
#define SETUPS 8

static void init(struct setup *setup, unsigned int number)
{
	struct pair *pair = &setup->pair;
	bool receives = (number & 1) == 0 || number & 4;
	struct fixture *sender;

	*setup = (struct setup){.secret = make_secret('a')};
	setup->large = number & 2 ? &pair->active : &pair->passive;
	setup->other = number & 2 ? &pair->passive : &pair->active;
	sender = receives ? setup->other : setup->large;
	setup->file = pair_file(LARGE, number, setup->input, &setup->digest);
	sender->input = setup->input;
	pair->active.mode = number & 1 ? MODE_READ : MODE_WRITE;
	pair->active.transport = number & 4 ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
	pair->active.secret = pair->passive.secret = setup->secret;
	setup->large->buffer = 4 * LARGE;
}

/* Runs the pair until its large memory is being registered. */
static void run_up_to_registration(struct setup *setup)
{
	pair_start(&setup->pair);
	fake_hold_registrations(LARGE);
	pair_run(&setup->pair);
	assert_true(setup->large->connection->registration.pending);
	assert_int_equal(fixture_count(setup->large, MSG_MR), 0);
}

static void continue_registration(void)
{
	fake_hold_registrations(0);
	fake_settle();
}

static void stop(struct setup *setup)
{
	pair_stop(&setup->pair);
	close(setup->file);
	secret_free(setup->secret);
}

static void expect_success(struct setup *setup)
{
	continue_registration();
	pair_run(&setup->pair);
	pair_close(&setup->pair);
	stop(setup);
	assert_false(failure_is_set(&setup->pair.active.outcome));
	assert_false(failure_is_set(&setup->pair.passive.outcome));
}

/* Runs a complete exchange with a peer that the test plays, on this device. */
static void exchange_on(struct device *device)
{
	struct fixture fixture = {.mode = MODE_WRITE, .device = device};
	struct message region;

	fixture_start_settings(&fixture);
	fake_expose(fixture.peer_memory, PEER_MEMORY, PEER_RKEY);
	fixture_start_connection(&fixture);
	fixture.peer_ring = PEER_MEMORY;
	region = fixture_peer_region(&fixture, PEER_MEMORY);
	fixture_establish(&fixture);
	fixture_receive(&fixture, &region);
	fixture_complete(&fixture, IBV_WC_SUCCESS);
	fixture_exchange_data(&fixture, PEER_TEXT, sizeof(PEER_TEXT));
	fixture_complete_all(&fixture);
	fixture_receive(
		&fixture, &(struct message){.type = MSG_VERDICT, .verdict = VERDICT_VERIFIED});
	fixture_close(&fixture, NULL);
	assert_false(failure_is_set(&fixture.outcome));
	connection_destroy(fixture.connection);
	wakeup_queue_close(&fixture.wakeups);
}

static void other_exchanges_are_not_delayed(void **state)
{
	struct setup setup;

	(void)state;
	for (unsigned int i = 0; i < SETUPS; i++) {
		init(&setup, i);
		run_up_to_registration(&setup);
		exchange_on(setup.large->device);
		assert_true(setup.large->connection->registration.pending);
		expect_success(&setup);
	}
}

/* No thread is started for it. */
static void little_memory_is_registered_at_once(void **state)
{
	struct setup setup;

	(void)state;
	for (unsigned int i = 0; i < SETUPS; i++) {
		init(&setup, i);
		setup.large->buffer = LARGE / 2;
		pair_start(&setup.pair);
		pair_run(&setup.pair);
		assert_false(setup.large->connection->registration.worker.running);
		assert_int_equal(fixture_count(setup.large, MSG_MR), 1);
		expect_success(&setup);
	}
}

/* True if the end has sent only keepalives since it had posted this number of sends. */
static bool sent_only_keepalives(const struct fixture *fixture, unsigned int from)
{
	for (; from < fake_sends(fixture->id); from++) {
		struct fake_send send = fake_send(fixture->id, from);

		if (send.opcode != IBV_WR_SEND || send.piece.length != 0)
			return false;
	}
	return true;
}

/*
 * A passive end knows the peer's region by then, and what it already has of the peer's file. The
 * peer would refuse MSG_HAVE before MSG_MR.
 */
static void only_keepalives_precede_msg_mr(void **state)
{
	char folder[] = "/tmp/registration-XXXXXX";
	struct setup setup;
	unsigned int sends;

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (unsigned int i = 0; i < 4; i++) {
		init(&setup, i);
		snprintf(setup.output, sizeof(setup.output), "%s/output", folder);
		if (!setup.large->input)
			setup.large->output_path = setup.output;
		setup.large->plans = setup.large->input ? SENDS : STORES;
		setup.other->plans = setup.large->input ? STORES : SENDS;
		run_up_to_registration(&setup);
		sends = fake_sends(setup.large->id);
		fake_pass(setup.large->settings.timeout / 2);
		assert_true(sent_only_keepalives(setup.large, sends));
		expect_success(&setup);
		unlink(setup.output);
	}
	rmdir(folder);
}

/* Both ends send keepalives meanwhile. One of them has a short timeout. */
static void registration_may_take_longer_than_the_timeout(void **state)
{
	struct setup setup;
	unsigned int sends[2];

	(void)state;
	for (unsigned int i = 0; i < 2 * SETUPS; i++) {
		init(&setup, i);
		(i < SETUPS ? setup.large : setup.other)->timeout = 700;
		run_up_to_registration(&setup);
		sends[0] = fake_sends(setup.large->id);
		sends[1] = fake_sends(setup.other->id);
		for (int64_t time = 0; time < 2 * setup.large->settings.timeout; time += 100) {
			fake_pass(100);
			pair_run(&setup.pair);
		}
		assert_true(setup.large->connection->registration.pending);
		assert_true(sent_only_keepalives(setup.large, sends[0]));
		assert_true(sent_only_keepalives(setup.other, sends[1]));
		expect_success(&setup);
	}
}

/* The failure does not name MSG_MR, which has not been sent. */
static void a_peer_may_be_idle_during_registration(void **state)
{
	struct setup setup;

	(void)state;
	for (unsigned int i = 0; i < SETUPS; i++) {
		init(&setup, i);
		run_up_to_registration(&setup);
		fake_pass(setup.large->settings.timeout);
		pair_run(&setup.pair);
		assert_string_equal(connection_outcome(setup.large->connection)->evidence,
			"timed out waiting for a message during memory registration");
		continue_registration();
		pair_close(&setup.pair);
		stop(&setup);
	}
}

/* An authenticated peer that announces data too early: there is no memory for a READ yet. */
static void early_data_waits_for_the_memory(void **state)
{
	struct setup setup;

	(void)state;
	init(&setup, 5);
	run_up_to_registration(&setup);
	fixture_receive(setup.large, &(struct message){.type = MSG_DATA, .length = 100});
	assert_int_equal(fixture_find_rdma(setup.large, IBV_WR_RDMA_READ), -1);
	continue_registration();
	assert_true(fixture_find_rdma(setup.large, IBV_WR_RDMA_READ) >= 0);
	pair_close(&setup.pair);
	stop(&setup);
}

/* The same failure as on the CQ thread, and the peer learns of it. */
static void a_failed_registration_is_reported(void **state)
{
	struct setup setup;
	struct message abort;
	bool is_iwarp;

	(void)state;
	for (unsigned int i = 0; i < SETUPS; i++) {
		init(&setup, i);
		run_up_to_registration(&setup);
		fake_fail("ibv_reg_mr", 0, ENOMEM);
		continue_registration();
		assert_int_equal(fixture_count(setup.large, MSG_MR), 0);
		abort = fixture_last(setup.large, MSG_ABORT);
		assert_non_null(memmem(abort.text, abort.text_size, "memory", 6));
		pair_run(&setup.pair);
		/* On iWARP, the peer disconnects first. */
		is_iwarp = setup.pair.active.transport == IBV_TRANSPORT_IWARP;
		assert_true(
			fixture_events(is_iwarp ? setup.other : setup.large) & CONNECTION_FINISHED);
		pair_close(&setup.pair);
		stop(&setup);
		assert_int_equal(setup.large->outcome.kind, FAILURE_ERRNO);
		assert_int_equal(setup.large->outcome.phase, PHASE_MEMORY);
		assert_string_equal(setup.large->outcome.call, "ibv_reg_mr");
		assert_non_null(strstr(setup.large->outcome.evidence, "KiB more"));
		assert_int_equal(setup.other->outcome.kind, FAILURE_ABORTED);
	}
}

static const struct failure reason = {
	.kind = FAILURE_DEADLINE, .phase = PHASE_EXCHANGE, .code = ETIMEDOUT, .call = "--timeout"};

static void we_close(struct setup *setup)
{
	connection_close(setup->large->connection, &reason);
}

static void we_cancel(struct setup *setup)
{
	connection_cancel(setup->large->connection, &reason);
}

static void we_abandon(struct setup *setup)
{
	connection_abandon(setup->large->connection, &reason);
}

static void the_peer_aborts(struct setup *setup)
{
	connection_cancel(setup->other->connection, &reason);
}

static void the_peer_disconnects(struct setup *setup)
{
	fixture_close(setup->other, NULL);
	connection_disconnected(setup->large->connection);
}

static void the_connection_breaks(struct setup *setup)
{
	fake_break(setup->large->id);
}

static void the_peer_is_idle(struct setup *setup)
{
	fake_pass(setup->large->settings.timeout);
}

/*
 * However the exchange ends meanwhile, its outcome is known at once, and the connection is freed
 * when the registration has ended.
 */
static void check_end(unsigned int number, void (*end)(struct setup *setup), bool fails)
{
	struct setup setup;
	struct fixture *large;
	unsigned int events;

	init(&setup, number);
	run_up_to_registration(&setup);
	large = setup.large;
	end(&setup);
	pair_run(&setup.pair);
	fake_pass(5000); /* the cause of a broken connection */
	connection_close(large->connection, NULL);
	fake_settle();
	events = fixture_events(large);
	assert_true(events & CONNECTION_DRAINED);
	assert_false(connection_drained(large->connection, events));
	assert_true(failure_is_set(connection_outcome(large->connection)));
	if (fails)
		fake_fail("ibv_reg_mr", 0, ENOMEM);
	continue_registration();
	assert_true(connection_drained(large->connection, fixture_events(large)));
	assert_int_equal(fixture_count(large, MSG_MR), 0);
	assert_int_not_equal(connection_outcome(large->connection)->kind, FAILURE_ERRNO);
	fixture_close(setup.other, NULL);
	stop(&setup);
}

static void a_connection_outlives_its_registration(void **state)
{
	void (*const ends[])(struct setup * setup) = {
		we_close,
		we_cancel,
		we_abandon,
		the_peer_aborts,
		the_peer_disconnects,
		the_connection_breaks,
		the_peer_is_idle,
	};

	(void)state;
	for (size_t i = 0; i < COUNT(ends); i++)
		for (unsigned int number = 0; number < 4; number++)
			check_end(number, ends[i], i & 1);
}

/* The main thread has not closed the connection yet when the registration ends. */
static void nothing_follows_an_abort(void **state)
{
	struct setup setup;

	(void)state;
	for (unsigned int number = 0; number < 4; number++) {
		init(&setup, number);
		run_up_to_registration(&setup);
		we_cancel(&setup);
		fake_settle();
		continue_registration();
		assert_int_equal(fixture_count(setup.large, MSG_ABORT), 1);
		assert_int_equal(fixture_count(setup.large, MSG_MR), 0);
		pair_run(&setup.pair);
		pair_close(&setup.pair);
		stop(&setup);
		assert_int_equal(setup.large->outcome.kind, FAILURE_DEADLINE);
		assert_int_equal(setup.other->outcome.kind, FAILURE_ABORTED);
	}
}

/* The exchange has failed, and its queue pair is being drained, when the registration ends. */
static void a_registration_may_end_before_the_drain(void **state)
{
	struct setup setup;

	(void)state;
	for (unsigned int number = 0; number < 4; number++) {
		init(&setup, number);
		run_up_to_registration(&setup);
		fake_flush_on_disconnect(false);
		connection_close(setup.large->connection, &reason);
		fake_settle();
		continue_registration();
		assert_int_equal(fixture_count(setup.large, MSG_MR), 0);
		connection_abandon(setup.large->connection, NULL);
		fixture_close(setup.large, NULL);
		fake_flush_on_disconnect(true);
		fixture_close(setup.other, NULL);
		stop(&setup);
		assert_int_equal(setup.large->outcome.kind, FAILURE_DEADLINE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(other_exchanges_are_not_delayed),
		with_fixture(little_memory_is_registered_at_once),
		with_fixture(only_keepalives_precede_msg_mr),
		with_fixture(registration_may_take_longer_than_the_timeout),
		with_fixture(a_peer_may_be_idle_during_registration),
		with_fixture(early_data_waits_for_the_memory),
		with_fixture(a_failed_registration_is_reported),
		with_fixture(a_connection_outlives_its_registration),
		with_fixture(nothing_follows_an_abort),
		with_fixture(a_registration_may_end_before_the_drain),
	};

	return cmocka_run_group_tests_name("registration", tests, NULL, NULL);
}
