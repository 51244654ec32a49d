/* Giving up a connection whose work requests will not come back, on a made-up device. */
#include <errno.h>
#include <string.h>

#include "base/explain.h"
#include "tests/unit/exchange/fixture.h"

static const struct failure deadline = {
	.kind = FAILURE_DEADLINE, .phase = PHASE_EXCHANGE, .code = ETIMEDOUT, .call = "--timeout"};

/* Nobody says why, but nobody says that it is well either. */
static void an_abandoned_exchange_is_no_success(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE, .active = true};

	(void)state;
	fixture_start_data(&fixture, PEER_MEMORY);
	fake_flush_on_disconnect(false);
	connection_abandon(fixture.connection, NULL);
	fixture_end(&fixture);
	assert_true(failure_is_set(&fixture.outcome));
}

static void a_dead_channel_does_not_hold_a_connection(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE};
	struct message region;

	(void)state;
	region = fixture_start_established(&fixture, PEER_MEMORY);
	fake_fail("ibv_get_cq_event", 0, EIO);
	fixture_receive(&fixture, &region);
	/* It is not polled again, or the thread would spin. */
	assert_int_equal(fake_sends(fixture.id), 0);
	/* No event tells that the queue is drained, so the connection is given up. */
	connection_abandon(fixture.connection, &deadline);
	fixture_end(&fixture);
	assert_int_equal(explain_status(&fixture.outcome), STATUS_PEER);
}

/* A device that is gone returns no work request. */
static void an_abandoned_connection_is_released_at_once(void **state)
{
	static const struct failure removed = {.kind = FAILURE_REMOVED,
		.phase = PHASE_EXCHANGE,
		.call = "RDMA_CM_EVENT_DEVICE_REMOVAL"};

	(void)state;
	for (unsigned int closed = 0; closed < 2; closed++) {
		struct fixture fixture = {.mode = MODE_WRITE, .active = true};

		fixture_start_data(&fixture, PEER_MEMORY);
		fake_flush_on_disconnect(false);
		if (closed)
			connection_close(fixture.connection, &removed);
		connection_abandon(fixture.connection, &removed);
		connection_abandon(fixture.connection, NULL);
		fixture_close(&fixture, NULL);
		assert_true(fixture_events(&fixture) & CONNECTION_ABANDONED);
		assert_int_equal(fixture.outcome.kind, FAILURE_REMOVED);
		/* What comes back all the same is nobody's any more. */
		fixture.events = 0;
		fake_break(fixture.id);
		fake_settle();
		assert_int_equal(fixture_events(&fixture), 0);
		fixture_stop(&fixture);
	}
}

/* The CQ thread has released it, but the main thread has not taken that event: it waits for it. */
static void an_abandoned_connection_waits_for_its_event(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE, .active = true};

	(void)state;
	fixture_start_data(&fixture, PEER_MEMORY);
	connection_close(fixture.connection, &deadline);
	fake_settle();
	connection_abandon(fixture.connection, &deadline);
	assert_false(connection_drained(fixture.connection, CONNECTION_DRAINED));
	fake_settle();
	assert_true(connection_drained(fixture.connection, fixture_events(&fixture)));
	fixture_stop(&fixture);
}

/* The main thread knows that the CQ thread released it: an event would find it freed. */
static void a_released_connection_is_not_abandoned(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE, .active = true};

	(void)state;
	fixture_start_data(&fixture, PEER_MEMORY);
	connection_close(fixture.connection, &deadline);
	fake_settle();
	assert_true(connection_drained(fixture.connection, fixture_events(&fixture)));
	fixture.events = 0;
	connection_abandon(fixture.connection, &deadline);
	fake_settle();
	assert_int_equal(fixture_events(&fixture), 0);
	assert_true(connection_drained(fixture.connection, 0));
	fixture_stop(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(an_abandoned_exchange_is_no_success),
		with_fixture(a_dead_channel_does_not_hold_a_connection),
		with_fixture(an_abandoned_connection_is_released_at_once),
		with_fixture(an_abandoned_connection_waits_for_its_event),
		with_fixture(a_released_connection_is_not_abandoned),
	};

	return cmocka_run_group_tests_name("abandoning", tests, NULL, NULL);
}
