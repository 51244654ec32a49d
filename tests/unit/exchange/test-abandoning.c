/* Abandoning a connection whose work requests do not complete, on the fake device. */
#include <errno.h>
#include <string.h>

#include "base/explain.h"
#include "tests/unit/exchange/fixture.h"

static const struct failure deadline = {
	.kind = FAILURE_DEADLINE, .phase = PHASE_EXCHANGE, .code = ETIMEDOUT, .call = "--timeout"};

/* Without a reason from the main thread the outcome is still a failure. */
static void an_abandoned_exchange_has_failed(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE, .active = true};

	(void)state;
	fixture_start_data(&fixture, PEER_MEMORY);
	fake_flush_on_disconnect(false);
	connection_abandon(fixture.connection, NULL);
	fixture_end(&fixture);
	assert_true(failure_is_set(&fixture.outcome));
}

static void a_broken_channel_does_not_block_a_connection(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE};
	struct message region;

	(void)state;
	region = fixture_start_established(&fixture, PEER_MEMORY);
	fake_fail("ibv_get_cq_event", 0, EIO);
	fixture_receive(&fixture, &region);
	/* The channel is not polled again, otherwise the thread would spin. */
	assert_int_equal(fake_sends(fixture.id), 0);
	/* No event reports that the queue is drained, so the main thread abandons the
	 * connection. */
	connection_abandon(fixture.connection, &deadline);
	fixture_end(&fixture);
	assert_int_equal(explain_status(&fixture.outcome), STATUS_PEER);
}

/* A removed device completes no work request. */
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
		/* Late completions are ignored. */
		fixture.events = 0;
		fake_break(fixture.id);
		fake_settle();
		assert_int_equal(fixture_events(&fixture), 0);
		fixture_stop(&fixture);
	}
}

/* The CQ thread has released the connection, but the main thread has not received that event and
 * waits for it. */
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

/* The main thread knows that the CQ thread has released the connection. Another event would point
 * to freed memory. */
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
		with_fixture(an_abandoned_exchange_has_failed),
		with_fixture(a_broken_channel_does_not_block_a_connection),
		with_fixture(an_abandoned_connection_is_released_at_once),
		with_fixture(an_abandoned_connection_waits_for_its_event),
		with_fixture(a_released_connection_is_not_abandoned),
	};

	return cmocka_run_group_tests_name("abandoning", tests, NULL, NULL);
}
