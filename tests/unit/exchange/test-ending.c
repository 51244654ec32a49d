/* How a connection ends, on the fake device: the first failure is the outcome, nothing is freed
 * before every work request has completed, and late events do not change the outcome. */
#include <errno.h>
#include <string.h>

#include "base/explain.h"
#include "exchange/internal.h"
#include "tests/unit/exchange/fixture.h"

static const struct failure deadline = {
	.kind = FAILURE_DEADLINE, .phase = PHASE_EXCHANGE, .code = ETIMEDOUT, .call = "--timeout"};

/* Runs an exchange to completion. acknowledged selects whether the local verdict has completed. */
static void start_complete(struct fixture *fixture, bool acknowledged)
{
	static const struct message verified = {.type = MSG_VERDICT};

	fixture_start_data(fixture, PEER_MEMORY);
	fixture_exchange_data(fixture, PEER_TEXT, sizeof(PEER_TEXT));
	if (acknowledged)
		fixture_complete_all(fixture);
	fixture_receive(fixture, &verified);
}

/* The flushes and the disconnect that follow a failure are its consequences. */
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

/* A process that exits frees its memory regions before its connection. */
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

/* An earlier failure, such as damaged data, remains the outcome. */
static void a_refusal_does_not_hide_an_earlier_failure(void **state)
{
	static const struct message unknown_type = {.type = MSG_TYPES};

	(void)state;
	for (unsigned int i = 0; i < 2 * MODE_COUNT; i++) {
		struct fixture fixture = {.mode = i % MODE_COUNT, .active = i / MODE_COUNT};

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

/* Waiting for the cause does not delay a cancel by the main thread. */
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

/* A tutorial program exits as soon as its memory is misused, so its disconnect explains nothing. */
static void a_refusal_by_a_tutorial_peer_fails_at_once(void **state)
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

/* The peer's side of a refusal: the local flush is reported only if the peer, which knows the
 * cause, does not disconnect in time. */
static void a_flush_waits_for_its_cause(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2 * MODE_COUNT; i++) {
		struct fixture fixture = {.mode = i % MODE_COUNT, .active = i / MODE_COUNT};

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

/* The reason of the peer arrived before the connection broke, but is noticed after a failed send or
 * a post that the broken queue pair rejects. */
static void the_reason_of_the_peer_wins(void **state)
{
	static const struct message reason = {
		.type = MSG_ABORT, .text = "too large", .text_size = sizeof("too large") - 1};

	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		struct fixture fixture = {.mode = i & 1, .active = i & 2};

		if (i & 4) {
			struct message region = fixture_start_established(&fixture, PEER_MEMORY);

			fixture_receive(&fixture, &region);
			fake_fail("ibv_post_send", 0, ENOTCONN);
			fixture_complete(&fixture, IBV_WC_SUCCESS);
			assert_false(fake_fail_is_due());
		} else {
			fixture_start_data(&fixture, PEER_MEMORY);
			fake_complete(fixture.id, IBV_WC_WR_FLUSH_ERR);
			fake_settle();
		}
		assert_int_equal(fixture_events(&fixture), 0);
		fixture_receive(&fixture, &reason);
		assert_int_equal(fixture_events(&fixture), CONNECTION_FINISHED);
		connection_disconnected(fixture.connection);
		fixture_end(&fixture);
		assert_int_equal(fixture.outcome.kind, FAILURE_ABORTED);
		assert_non_null(strstr(fixture.outcome.evidence, "too large"));
	}
}

/*
 * The peer aborts or disconnects after our device has waited long for acknowledgements: packets
 * were lost.
 */
static void an_end_after_silence_names_the_loss(void **state)
{
	static const struct message abort = {
		.type = MSG_ABORT, .text = "timed out", .text_size = sizeof("timed out") - 1};
	static const struct {
		int64_t silent;
		bool acknowledged;
		int code;
	} cases[] = {{2500, false, CODE_UNACKNOWLEDGED}, {1500, false, 0}, {2500, true, 0}};

	(void)state;
	for (unsigned int i = 0; i < 4 * COUNT(cases); i++) {
		struct fixture fixture = {.mode = MODE_WRITE,
			.active = i & 1,
			.input = "/dev/zero",
			.timeout = 60000};

		fixture_start_data(&fixture, PEER_MEMORY);
		fake_pass(cases[i / 4].silent);
		if (cases[i / 4].acknowledged)
			fixture_complete_all(&fixture);
		if (i & 2)
			fixture_receive(&fixture, &abort);
		connection_disconnected(fixture.connection);
		fixture_end(&fixture);
		assert_int_equal(fixture.outcome.code, cases[i / 4].code);
		assert_int_equal(fixture.outcome.kind,
			i & 2 && !cases[i / 4].code ? FAILURE_ABORTED : FAILURE_GONE);
		if (i & 2)
			assert_non_null(
				strstr(fixture.outcome.evidence, "the peer aborted: timed out"));
	}
}

/* A queue pair that rejects work requests is broken: rdmacm reports why, or the peer has gone. */
static void a_rejected_post_waits_for_its_cause(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture fixture = {.mode = MODE_WRITE, .active = i & 1};
		struct message region = fixture_start_established(&fixture, PEER_MEMORY);

		fixture_receive(&fixture, &region);
		fake_fail("ibv_post_send", 0, ENOTCONN);
		fixture_complete(&fixture, IBV_WC_SUCCESS);
		assert_int_equal(fixture_events(&fixture), 0);
		if (i & 2)
			connection_disconnected(fixture.connection);
		else
			fake_pass(2000);
		fixture_end(&fixture);
		assert_int_equal(fixture.outcome.kind, i & 2 ? FAILURE_GONE : FAILURE_ERRNO);
		assert_null(strstr(fixture.outcome.evidence, "after"));
	}
}

static void without_a_disconnect_the_refusal_is_the_failure(void **state)
{
	static const char *const doing[MODE_COUNT] = {
		[MODE_WRITE] = "RDMA WRITE, queue pair 17",
		[MODE_READ] = "sending MSG_DATA",
		[MODE_SEND] = "sending data",
	};

	(void)state;
	for (unsigned int i = 0; i < 2 * MODE_COUNT; i++) {
		struct fixture fixture = {.mode = i % MODE_COUNT, .active = i / MODE_COUNT};

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
		assert_non_null(strstr(fixture.outcome.evidence, doing[fixture.mode]));
	}
}

/* The reverse order: after a flush, the event from rdmacm is the better explanation. */
static void a_flush_is_never_the_cause(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2 * MODE_COUNT; i++) {
		struct fixture fixture = {.mode = i % MODE_COUNT, .active = i / MODE_COUNT};

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

/* A connection that breaks before the exchange is complete has failed, even without an rdmacm
 * event. */
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

/* soft-RoCE reports a message that is too long as a local queue pair error. */
static void a_message_that_is_too_long_is_a_peer_failure(void **state)
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

/* The text of the timeout names the missing message. */
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

/* Once both sides have verified, neither a disconnect nor a deadline changes the outcome. */
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

/* exchange/state-machine.h: once the exchange is complete, a failed completion of the last local
 * message is ignored. */
static void our_last_message_need_not_arrive(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE};

	(void)state;
	start_complete(&fixture, false);
	fixture_complete(&fixture, IBV_WC_RETRY_EXC_ERR);
	fixture_end(&fixture);
	assert_false(failure_is_set(&fixture.outcome));
}

/* The peer sends another verdict or an invalid message after the end. */
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

/* The device owns the memory until the last work request has completed. */
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

/* Successful unsignaled sends, such as keepalives, are drained once a later drain work request
 * completes. */
static void unsignaled_sends_are_drained(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2 * MODE_COUNT; i++) {
		struct fixture fixture = {.mode = i % MODE_COUNT, .active = i / MODE_COUNT};
		struct ibv_send_wr request = {.opcode = IBV_WR_RDMA_WRITE};
		unsigned int last;

		fixture_start_data(&fixture, PEER_MEMORY);
		fixture_complete_all(&fixture);
		/* A keepalive is signaled, so that an idle side notices if it is lost. */
		fake_pass(4000);
		last = fake_sends(fixture.id) - 1;
		assert_int_equal(fake_send(fixture.id, last).piece.length, 0);
		assert_true(fake_send(fixture.id, last).flags & IBV_SEND_SIGNALED);
		assert_int_equal(connection_post(fixture.connection, OPERATION_CREDIT, &request),
			EVENT_NONE);
		assert_false(fake_send(fixture.id, last + 1).flags & IBV_SEND_SIGNALED);
		fixture_complete_all(&fixture);
		fixture_close(&fixture, &deadline);
		fixture_stop(&fixture);
		assert_int_equal(fixture.outcome.kind, FAILURE_DEADLINE);
	}
}

/* A work request that the device refuses generates no completion. */
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

/* If a receive cannot be reposted, a message would find no receive. If the completion queue cannot
 * be polled or armed, a message would not be noticed until the deadline. */
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

/* An event of a destroyed connection would point to freed memory. */
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

/* rdma_disconnect() fails if no connection is established. The queue pair must be flushed
 * anyway. */
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

/* Both threads run without settling, for ThreadSanitizer: closes while completions arrive. */
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
		with_fixture(a_refusal_does_not_hide_an_earlier_failure),
		with_fixture(a_refused_exchange_can_be_cancelled),
		with_fixture(a_refusal_by_a_tutorial_peer_fails_at_once),
		with_fixture(a_flush_waits_for_its_cause),
		with_fixture(the_reason_of_the_peer_wins),
		with_fixture(an_end_after_silence_names_the_loss),
		with_fixture(a_rejected_post_waits_for_its_cause),
		with_fixture(without_a_disconnect_the_refusal_is_the_failure),
		with_fixture(a_flush_is_never_the_cause),
		with_fixture(a_flush_alone_is_still_a_failure),
		with_fixture(a_message_that_is_too_long_is_a_peer_failure),
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
