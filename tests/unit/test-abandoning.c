/* Giving up a connection whose work requests will not come back, on a made-up device. */
#include <errno.h>
#include <string.h>

#include "rig.h"

static const struct failure deadline = {
	.kind = FAILURE_DEADLINE, .phase = PHASE_EXCHANGE, .code = ETIMEDOUT, .call = "--timeout"};

/* Nobody says why, but nobody says that it is well either. */
static void an_abandoned_exchange_is_no_success(void **state)
{
	struct rig rig = {.mode = MODE_WRITE, .active = true};

	(void)state;
	rig_start_data(&rig, PEER_MEMORY);
	fake_flush_on_disconnect(false);
	connection_abandon(rig.connection, NULL);
	rig_close(&rig, NULL);
	rig_stop(&rig);
	assert_true(failure_is_set(&rig.outcome));
}

static void a_dead_channel_does_not_keep_a_connection(void **state)
{
	struct rig rig = {.mode = MODE_WRITE};
	struct message region;

	(void)state;
	rig_start(&rig);
	region = rig_peer_region(&rig, PEER_MEMORY);
	rig_establish(&rig);
	fake_fail("ibv_get_cq_event", 0, EIO);
	rig_hear(&rig, &region);
	/* It is not polled again, or the thread would spin. */
	assert_int_equal(fake_sends(rig.id), 0);
	/* No event tells that the queue is drained, so the connection is given up. */
	connection_abandon(rig.connection, &deadline);
	rig_close(&rig, NULL);
	rig_stop(&rig);
	assert_int_equal(failure_status(&rig.outcome), STATUS_PEER);
}

/* A device that is gone returns no work request. */
static void an_abandoned_connection_is_let_go_at_once(void **state)
{
	static const struct failure removed = {.kind = FAILURE_REMOVED,
		.phase = PHASE_EXCHANGE,
		.call = "RDMA_CM_EVENT_DEVICE_REMOVAL"};

	(void)state;
	for (unsigned int closed = 0; closed < 2; closed++) {
		struct rig rig = {.mode = MODE_WRITE, .active = true};

		rig_start_data(&rig, PEER_MEMORY);
		fake_flush_on_disconnect(false);
		if (closed)
			connection_close(rig.connection, &removed);
		connection_abandon(rig.connection, &removed);
		connection_abandon(rig.connection, NULL);
		rig_close(&rig, NULL);
		assert_true(rig_notes(&rig) & CONNECTION_ABANDONED);
		assert_int_equal(rig.outcome.kind, FAILURE_REMOVED);
		/* What comes back all the same is nobody's any more. */
		rig.notes = 0;
		fake_break(rig.id);
		fake_settle();
		assert_int_equal(rig_notes(&rig), 0);
		rig_stop(&rig);
	}
}

/* The thread has let go of it, but we have not heard: our note is under way, so we wait for it. */
static void an_abandoned_connection_waits_for_its_answer(void **state)
{
	struct rig rig = {.mode = MODE_WRITE, .active = true};

	(void)state;
	rig_start_data(&rig, PEER_MEMORY);
	connection_close(rig.connection, &deadline);
	fake_settle();
	connection_abandon(rig.connection, &deadline);
	assert_false(connection_drained(rig.connection, CONNECTION_DRAINED));
	fake_settle();
	assert_true(connection_drained(rig.connection, rig_notes(&rig)));
	rig_stop(&rig);
}

/* We have heard that the thread let go of it: a note would find it freed. */
static void what_is_let_go_of_is_not_abandoned(void **state)
{
	struct rig rig = {.mode = MODE_WRITE, .active = true};

	(void)state;
	rig_start_data(&rig, PEER_MEMORY);
	connection_close(rig.connection, &deadline);
	fake_settle();
	assert_true(connection_drained(rig.connection, rig_notes(&rig)));
	rig.notes = 0;
	connection_abandon(rig.connection, &deadline);
	fake_settle();
	assert_int_equal(rig_notes(&rig), 0);
	assert_true(connection_drained(rig.connection, 0));
	rig_stop(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_rig(an_abandoned_exchange_is_no_success),
		with_rig(a_dead_channel_does_not_keep_a_connection),
		with_rig(an_abandoned_connection_is_let_go_at_once),
		with_rig(an_abandoned_connection_waits_for_its_answer),
		with_rig(what_is_let_go_of_is_not_abandoned),
	};

	return cmocka_run_group_tests_name("abandoning", tests, NULL, NULL);
}
