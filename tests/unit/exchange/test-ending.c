/*
 * How a connection ends, on a made-up device: the first failure is the outcome, nothing is freed
 * before every work request is back, and nothing that comes late changes what was decided.
 */
#include <errno.h>
#include <string.h>

#include "base/explain.h"
#include "tests/unit/exchange/fixture.h"

static const struct failure deadline = {
	.kind = FAILURE_DEADLINE, .phase = PHASE_EXCHANGE, .code = ETIMEDOUT, .call = "--timeout"};

/* Everything that a whole exchange needs, our last word acknowledged or not. */
static void start_complete(struct fixture *fixture, bool acknowledged)
{
	static const struct message verified = {.type = MSG_VERDICT};

	fixture_start_data(fixture, PEER_MEMORY);
	fixture_exchange_data(fixture, PEER_TEXT, sizeof(PEER_TEXT));
	if (acknowledged)
		fixture_complete_all(fixture);
	fixture_receive(fixture, &verified);
}

/* The flushes that follow a failure, and the disconnect, are its effects. */
static void the_first_failure_is_the_outcome(void **state)
{
	static const struct {
		enum ibv_wc_status first;
		enum exit_status status;
	} cases[] = {
		{IBV_WC_RETRY_EXC_ERR, STATUS_PEER},
		{IBV_WC_RNR_RETRY_EXC_ERR, STATUS_PEER},
		{IBV_WC_LOC_PROT_ERR, STATUS_FAILED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fixture fixture = {.mode = i & 1, .active = i & 2};

		fixture_start_data(&fixture, PEER_MEMORY);
		fake_complete(fixture.id, cases[i].first);
		fake_break(fixture.id);
		fake_settle();
		assert_int_equal(fixture_events(&fixture), CONNECTION_FINISHED);
		connection_disconnected(fixture.connection);
		fixture_close(&fixture, &deadline);
		fixture_stop(&fixture);
		assert_int_equal(fixture.outcome.kind, FAILURE_COMPLETION);
		assert_int_equal(fixture.outcome.code, cases[i].first);
		assert_int_equal(explain_status(&fixture.outcome), cases[i].status);
		assert_non_null(strstr(fixture.outcome.evidence,
			fixture.mode == MODE_WRITE ? "RDMA WRITE, queue pair 17"
						   : "sending MSG_DATA"));
	}
}

/* A program that ends takes its memory away before its connection. */
static void a_disconnect_explains_a_refusal(void **state)
{
	static const enum ibv_wc_status refusals[] = {IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR};
	static const char gone[] =
		"connection closed by the peer while waiting for the acknowledgement of "
		"MSG_DONE, after IBV_WC_REM_";

	(void)state;
	for (unsigned int i = 0; i < 4 * COUNT(refusals); i++) {
		struct fixture fixture = {.mode = i & 1, .active = i & 2};

		fixture_start_data(&fixture, PEER_MEMORY);
		fake_complete(fixture.id, refusals[i / 4]);
		fake_break(fixture.id);
		fake_settle();
		assert_int_equal(fixture_events(&fixture), 0);
		connection_disconnected(fixture.connection);
		fixture_end(&fixture);
		assert_int_equal(fixture.outcome.kind, FAILURE_GONE);
		assert_int_equal(explain_status(&fixture.outcome), STATUS_PEER);
		assert_memory_equal(fixture.outcome.evidence, gone, sizeof(gone) - 1);
		assert_non_null(strstr(fixture.outcome.evidence, "queue pair 17"));
	}
}

/* What was known before stays the outcome: that the peer's data is damaged, say. */
static void a_refusal_hides_no_earlier_failure(void **state)
{
	static const struct message unknown_type = {.type = MSG_TYPES};

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture fixture = {.mode = i & 1, .active = i & 2};

		fixture_start_data(&fixture, PEER_MEMORY);
		fixture_receive(&fixture, &unknown_type);
		fake_complete(fixture.id, IBV_WC_REM_ACCESS_ERR);
		fake_break(fixture.id);
		fake_settle();
		assert_int_equal(fixture_events(&fixture), CONNECTION_FINISHED);
		connection_disconnected(fixture.connection);
		fixture_end(&fixture);
		assert_int_equal(fixture.outcome.kind, FAILURE_PROTOCOL);
	}
}

/* Nor does it delay what the main thread asks for meanwhile. */
static void a_refused_exchange_can_be_cancelled(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE, .active = true};

	(void)state;
	fixture_start_data(&fixture, PEER_MEMORY);
	fake_complete(fixture.id, IBV_WC_REM_ACCESS_ERR);
	fake_break(fixture.id);
	fake_settle();
	connection_cancel(fixture.connection, &deadline);
	fake_settle();
	fake_break(fixture.id);
	fake_settle();
	assert_int_equal(fixture_events(&fixture), CONNECTION_FINISHED);
	fixture_end(&fixture);
	assert_int_equal(fixture.outcome.kind, FAILURE_COMPLETION);
	assert_int_equal(fixture.outcome.code, IBV_WC_REM_ACCESS_ERR);
}

/*
 * A program of the tutorial ends at once when its memory is misused, so its end explains nothing.
 */
static void a_tutorial_peer_is_believed_at_once(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE, .tutorial = true};

	(void)state;
	fixture_start_data(&fixture, PEER_MEMORY);
	fake_complete(fixture.id, IBV_WC_REM_ACCESS_ERR);
	fake_break(fixture.id);
	fake_settle();
	assert_int_equal(fixture_events(&fixture), CONNECTION_FINISHED);
	connection_disconnected(fixture.connection);
	fixture_end(&fixture);
	assert_int_equal(fixture.outcome.code, IBV_WC_REM_ACCESS_ERR);
}

/* The other end of a refusal: its own flush waits until the peer, which knows more, disconnects. */
static void a_flush_awaits_its_cause(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture fixture = {.mode = i & 1, .active = i & 2};

		fixture_start_data(&fixture, PEER_MEMORY);
		fake_break(fixture.id);
		fake_settle();
		fake_pass(1000);
		assert_int_equal(fixture_events(&fixture), 0);
		fake_pass(2000);
		assert_int_equal(fixture_events(&fixture), CONNECTION_FINISHED);
		fixture_end(&fixture);
		assert_int_equal(fixture.outcome.code, IBV_WC_WR_FLUSH_ERR);
	}
}

static void without_a_disconnect_the_refusal_is_the_failure(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture fixture = {.mode = i & 1, .active = i & 2};

		fixture_start_data(&fixture, PEER_MEMORY);
		fake_complete(fixture.id, IBV_WC_REM_ACCESS_ERR);
		fake_break(fixture.id);
		fake_settle();
		fake_pass(2000);
		assert_int_equal(fixture_events(&fixture), CONNECTION_FINISHED);
		connection_disconnected(fixture.connection);
		fixture_end(&fixture);
		assert_int_equal(fixture.outcome.kind, FAILURE_COMPLETION);
		assert_int_equal(fixture.outcome.code, IBV_WC_REM_ACCESS_ERR);
		assert_non_null(strstr(fixture.outcome.evidence,
			fixture.mode == MODE_WRITE ? "RDMA WRITE, queue pair 17"
						   : "sending MSG_DATA"));
	}
}

/* The other way round: what is flushed first says nothing that rdmacm does not say better. */
static void a_flush_is_never_the_cause(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture fixture = {.mode = i & 1, .active = i & 2};

		fixture_start_data(&fixture, PEER_MEMORY);
		fake_break(fixture.id);
		fake_settle();
		connection_disconnected(fixture.connection);
		fixture_end(&fixture);
		assert_int_equal(fixture.outcome.kind, FAILURE_GONE);
		assert_int_equal(explain_status(&fixture.outcome), STATUS_PEER);
		assert_string_equal(fixture.outcome.evidence,
			"connection closed by the peer while waiting for "
			"the acknowledgement of MSG_DONE");
	}
}

/* Nor is a connection well that broke before all was said, even if rdmacm says nothing. */
static void a_flush_alone_is_still_a_failure(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE, .active = true};

	(void)state;
	fixture_start_data(&fixture, PEER_MEMORY);
	fake_break(fixture.id);
	fake_settle();
	fixture_end(&fixture);
	assert_true(failure_is_set(&fixture.outcome));
	assert_int_equal(explain_status(&fixture.outcome), STATUS_PEER);
	assert_string_equal(
		fixture.outcome.evidence, "while waiting for the acknowledgement of MSG_DONE");
}

/* soft-RoCE reports a message that is too long as a fault of the queue pair. */
static void a_message_that_is_too_long_is_the_peers_fault(void **state)
{
	static const enum ibv_wc_status statuses[] = {IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR};

	(void)state;
	for (size_t i = 0; i < COUNT(statuses); i++) {
		struct fixture fixture = {.mode = MODE_WRITE};

		fixture_start(&fixture);
		fixture_establish(&fixture);
		fake_fail_receive(fixture.id, statuses[i]);
		fake_break(fixture.id);
		fake_settle();
		fixture_end(&fixture);
		assert_int_equal(fixture.outcome.code, IBV_WC_LOC_LEN_ERR);
		assert_int_equal(explain_status(&fixture.outcome), STATUS_PEER);
	}
}

/* The deadline's sentence says what did not come. */
static void a_timeout_names_the_missing_message(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE, .active = true};

	(void)state;
	fixture_start(&fixture);
	fixture_establish(&fixture);
	fixture_complete(&fixture, IBV_WC_SUCCESS);
	fixture_close(&fixture, &deadline);
	fixture_stop(&fixture);
	assert_int_equal(fixture.outcome.kind, FAILURE_DEADLINE);
	assert_int_equal(explain_status(&fixture.outcome), STATUS_PEER);
	assert_string_equal(fixture.outcome.evidence, "timed out waiting for MSG_MR");
}

/* Once both sides know that all is well, neither the disconnect nor a deadline spoils it. */
static void a_complete_exchange_stays_complete(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		struct fixture fixture = {.mode = i & 1, .active = i & 2};

		start_complete(&fixture, i & 4);
		if (i & 1)
			connection_disconnected(fixture.connection);
		fixture_close(&fixture, &deadline);
		fixture_stop(&fixture);
		assert_false(failure_is_set(&fixture.outcome));
	}
}

/* exchange/state-machine.h: once complete, a failed completion of our last message is ignored. */
static void our_last_message_need_not_arrive(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE};

	(void)state;
	start_complete(&fixture, false);
	fixture_complete(&fixture, IBV_WC_RETRY_EXC_ERR);
	fixture_end(&fixture);
	assert_false(failure_is_set(&fixture.outcome));
}

/* Another verdict, or rubbish, from a peer that does not know when to stop. */
static void events_after_the_end_change_nothing(void **state)
{
	static const uint8_t damaged[MESSAGE_SIZE] = {MSG_VERDICT, [4] = VERDICT_DAMAGED};
	static const size_t lengths[] = {MESSAGE_SIZE, 3};

	(void)state;
	for (size_t i = 0; i < COUNT(lengths); i++) {
		struct fixture fixture = {.mode = MODE_WRITE, .active = true};
		unsigned int sends;

		start_complete(&fixture, true);
		assert_int_equal(fixture_events(&fixture), CONNECTION_FINISHED);
		sends = fake_sends(fixture.id);
		fake_arrive(fixture.id, damaged, lengths[i]);
		fake_settle();
		assert_int_equal(fake_sends(fixture.id), sends);
		fixture_end(&fixture);
		assert_false(failure_is_set(&fixture.outcome));
	}
}

/* The memory belongs to the device until the last work request is back. */
static void nothing_is_released_before_the_queue_pair_is_drained(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE, .active = true};

	(void)state;
	fixture_start_data(&fixture, PEER_MEMORY);
	fake_flush_on_disconnect(false);
	connection_close(fixture.connection, NULL);
	fake_settle();
	assert_int_equal(fixture_events(&fixture), 0);
	while (fake_waiting(fixture.id) > 0)
		fixture_complete(&fixture, IBV_WC_WR_FLUSH_ERR);
	while (fake_receives(fixture.id) > 1)
		fake_fail_receive(fixture.id, IBV_WC_WR_FLUSH_ERR);
	fake_settle();
	assert_false(connection_drained(fixture.connection, fixture_events(&fixture)));
	fake_fail_receive(fixture.id, IBV_WC_WR_FLUSH_ERR);
	fake_settle();
	assert_true(connection_drained(fixture.connection, fixture_events(&fixture)));
	fixture_stop(&fixture);
}

/*
 * What was unsignaled and went well, such as a keepalive, is back when a drain work request behind
 * it is.
 */
static void unsignaled_sends_are_drained(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture fixture = {.mode = i & 1, .active = i & 2};
		unsigned int last;

		fixture_start_data(&fixture, PEER_MEMORY);
		fixture_complete_all(&fixture);
		fake_pass(4000);
		last = fake_sends(fixture.id) - 1;
		assert_int_equal(fake_send(fixture.id, last).piece.length, 0);
		assert_false(fake_send(fixture.id, last).flags & IBV_SEND_SIGNALED);
		fixture_complete_all(&fixture);
		fixture_close(&fixture, &deadline);
		fixture_stop(&fixture);
		assert_int_equal(fixture.outcome.kind, FAILURE_DEADLINE);
	}
}

/* What the device does not take will not come back, either. */
static void a_refused_work_request_is_not_awaited(void **state)
{
	(void)state;
	for (unsigned int taken = 0; taken < 2; taken++) {
		struct fixture fixture = {.mode = MODE_WRITE};
		struct message region;

		region = fixture_start_established(&fixture, PEER_MEMORY);
		fixture_receive(&fixture, &region);
		fake_fail("ibv_post_send", taken, ENOMEM);
		fixture_complete(&fixture, IBV_WC_SUCCESS);
		assert_int_equal(fake_sends(fixture.id), 1 + taken);
		assert_int_equal(fixture_events(&fixture), CONNECTION_FINISHED);
		fixture_end(&fixture);
		assert_int_equal(fixture.outcome.kind, FAILURE_ERRNO);
		assert_int_equal(fixture.outcome.code, ENOMEM);
		assert_string_equal(fixture.outcome.call, "ibv_post_send");
	}
}

/*
 * A receive that cannot be posted again, a completion queue that cannot be read, or one without
 * events: a message would find no receive, or would not be noticed until the deadline.
 */
static void a_failed_call_ends_the_exchange(void **state)
{
	static const struct {
		const char *call;
		int error;
	} cases[] = {{"ibv_post_recv", ENOMEM}, {"ibv_poll_cq", EIO}, {"ibv_req_notify_cq", EIO}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fixture fixture = {.mode = MODE_WRITE};
		struct message region = fixture_start_established(&fixture, PEER_MEMORY);

		fake_fail(cases[i].call, 0, cases[i].error);
		fixture_receive(&fixture, &region);
		assert_int_equal(fixture_events(&fixture), CONNECTION_FINISHED);
		fixture_end(&fixture);
		assert_string_equal(fixture.outcome.call, cases[i].call);
		assert_int_equal(explain_status(&fixture.outcome), STATUS_FAILED);
	}
}

/* An event of a destroyed connection would point at freed memory. */
static void no_event_outlives_its_connection(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE};

	(void)state;
	fixture_start_data(&fixture, PEER_MEMORY);
	connection_close(fixture.connection, &deadline);
	fake_settle();
	connection_destroy(fixture.connection);
	fixture.connection = NULL;
	assert_int_equal(fixture_events(&fixture), 0);
	fixture_stop(&fixture);
}

/* rdma_disconnect() refuses where no connection stands; the queue pair must be flushed anyway. */
static void a_connection_that_was_never_established_is_drained(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE};

	(void)state;
	fixture_start(&fixture);
	fake_fail("rdma_disconnect", 0, EINVAL);
	fixture_close(&fixture, &deadline);
	fixture_stop(&fixture);
	assert_int_equal(fixture.outcome.kind, FAILURE_DEADLINE);
}

/* Connections share the device's thread and nothing else. */
static void one_failure_leaves_the_others_alone(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE}, other = {.mode = MODE_WRITE};
	const struct request request = fixture_request(&fixture);
	struct failure failure = {0};
	struct message region;

	(void)state;
	fixture_start(&fixture);
	region = fixture_peer_region(&fixture, PEER_MEMORY);
	other.id = fake_id();
	assert_int_equal(connection_create(&fixture.settings, mode_by_number(MODE_WRITE), other.id,
				 fixture.device, &request, &other.connection, &failure),
		0);
	fake_break(fixture.id);
	fake_settle();
	fixture_establish(&other);
	fixture_receive(&other, &region);
	fixture_complete(&other, IBV_WC_SUCCESS);
	assert_true(fixture_find_rdma(&other, IBV_WR_RDMA_WRITE_WITH_IMM) > 0);
	assert_int_equal(fake_requests(other.id).disconnects, 0);
	connection_close(other.connection, &deadline);
	fixture_close(&fixture, &deadline);
	assert_int_equal(connection_outcome(other.connection)->kind, FAILURE_DEADLINE);
	connection_destroy(other.connection);
	fixture_stop(&fixture);
}

/* The two threads at their own pace, for ThreadSanitizer: closing while completions arrive. */
static void closing_is_safe_with_completions_waiting(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 200; i++) {
		struct fixture fixture = {.mode = i & 1, .active = i & 2};
		uint8_t bytes[MESSAGE_MAX];
		struct message region;

		fixture_start(&fixture);
		region = fixture_peer_region(&fixture, PEER_MEMORY);
		message_encode(&region, bytes);
		fixture_establish(&fixture);
		fake_arrive(fixture.id, bytes, MESSAGE_SIZE);
		connection_close(fixture.connection, &deadline);
		if (i & 4)
			connection_abandon(fixture.connection, &deadline);
		fixture_end(&fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(the_first_failure_is_the_outcome),
		with_fixture(a_disconnect_explains_a_refusal),
		with_fixture(a_refusal_hides_no_earlier_failure),
		with_fixture(a_refused_exchange_can_be_cancelled),
		with_fixture(a_tutorial_peer_is_believed_at_once),
		with_fixture(a_flush_awaits_its_cause),
		with_fixture(without_a_disconnect_the_refusal_is_the_failure),
		with_fixture(a_flush_is_never_the_cause),
		with_fixture(a_flush_alone_is_still_a_failure),
		with_fixture(a_message_that_is_too_long_is_the_peers_fault),
		with_fixture(a_timeout_names_the_missing_message),
		with_fixture(a_complete_exchange_stays_complete),
		with_fixture(our_last_message_need_not_arrive),
		with_fixture(events_after_the_end_change_nothing),
		with_fixture(nothing_is_released_before_the_queue_pair_is_drained),
		with_fixture(unsignaled_sends_are_drained),
		with_fixture(a_refused_work_request_is_not_awaited),
		with_fixture(a_failed_call_ends_the_exchange),
		with_fixture(no_event_outlives_its_connection),
		with_fixture(a_connection_that_was_never_established_is_drained),
		with_fixture(one_failure_leaves_the_others_alone),
		with_fixture(closing_is_safe_with_completions_waiting),
	};

	return cmocka_run_group_tests_name("ending", tests, NULL, NULL);
}
