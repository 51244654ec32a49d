/*
 * How a connection ends, on a made-up device: the first failure is the outcome, nothing is freed
 * before every work request is back, and nothing that comes late changes what was decided.
 */
#include <errno.h>
#include <string.h>

#include "rig.h"

static const struct failure deadline = {
	.kind = FAILURE_DEADLINE, .phase = PHASE_EXCHANGE, .code = ETIMEDOUT, .call = "--timeout"};

/* Everything that a whole exchange needs, our last word acknowledged or not. */
static void start_complete(struct rig *rig, bool acknowledged)
{
	static const struct message verified = {.type = MSG_VERDICT};

	rig_start_data(rig, PEER_MEMORY);
	rig_exchange_data(rig, PEER_TEXT, sizeof(PEER_TEXT));
	if (acknowledged)
		rig_complete_all(rig);
	rig_hear(rig, &verified);
}

/* The flushes that follow a failure, and the disconnect, are its effects. */
static void the_first_failure_is_the_outcome(void **state)
{
	static const struct {
		enum ibv_wc_status first;
		enum exit_status status;
	} cases[] = {
		{IBV_WC_RETRY_EXC_ERR, STATUS_PEER},
		{IBV_WC_REM_ACCESS_ERR, STATUS_PEER},
		{IBV_WC_REM_INV_REQ_ERR, STATUS_PEER},
		{IBV_WC_LOC_PROT_ERR, STATUS_FAILED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rig rig = {.mode = i & 1, .active = i & 2};

		rig_start_data(&rig, PEER_MEMORY);
		fake_complete(rig.id, cases[i].first);
		fake_break(rig.id);
		fake_settle();
		assert_int_equal(rig_notes(&rig), CONNECTION_FINISHED);
		connection_disconnected(rig.connection);
		rig_close(&rig, &deadline);
		rig_stop(&rig);
		assert_int_equal(rig.outcome.kind, FAILURE_COMPLETION);
		assert_int_equal(rig.outcome.code, cases[i].first);
		assert_int_equal(failure_status(&rig.outcome), cases[i].status);
		assert_non_null(strstr(rig.outcome.evidence,
			rig.mode == MODE_WRITE ? "RDMA WRITE, queue pair 17" : "sending MSG_DATA"));
	}
}

/* The other way round: what is flushed first says nothing that rdmacm does not say better. */
static void a_flush_is_never_the_cause(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct rig rig = {.mode = i & 1, .active = i & 2};

		rig_start_data(&rig, PEER_MEMORY);
		fake_break(rig.id);
		fake_settle();
		connection_disconnected(rig.connection);
		rig_close(&rig, NULL);
		rig_stop(&rig);
		assert_int_equal(rig.outcome.kind, FAILURE_GONE);
		assert_int_equal(failure_status(&rig.outcome), STATUS_PEER);
		assert_string_equal(rig.outcome.evidence, "it disconnected while we waited for "
							  "the acknowledgement of our MSG_DONE");
	}
}

/* Nor is a connection well that broke before all was said, even if rdmacm says nothing. */
static void a_flush_alone_is_still_a_failure(void **state)
{
	struct rig rig = {.mode = MODE_WRITE, .active = true};

	(void)state;
	rig_start_data(&rig, PEER_MEMORY);
	fake_break(rig.id);
	fake_settle();
	rig_close(&rig, NULL);
	rig_stop(&rig);
	assert_true(failure_is_set(&rig.outcome));
	assert_int_equal(failure_status(&rig.outcome), STATUS_PEER);
	assert_string_equal(
		rig.outcome.evidence, "while we waited for the acknowledgement of our MSG_DONE");
}

/* soft-RoCE reports a message that is too long as a fault of the queue pair. */
static void a_message_too_long_is_the_peers_fault(void **state)
{
	static const enum ibv_wc_status statuses[] = {IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR};

	(void)state;
	for (size_t i = 0; i < COUNT(statuses); i++) {
		struct rig rig = {.mode = MODE_WRITE};

		rig_start(&rig);
		rig_establish(&rig);
		fake_fail_receive(rig.id, statuses[i]);
		fake_break(rig.id);
		fake_settle();
		rig_close(&rig, NULL);
		rig_stop(&rig);
		assert_int_equal(rig.outcome.code, IBV_WC_LOC_LEN_ERR);
		assert_int_equal(failure_status(&rig.outcome), STATUS_PEER);
	}
}

/* The deadline's sentence says what did not come. */
static void a_deadline_says_what_was_awaited(void **state)
{
	struct rig rig = {.mode = MODE_WRITE, .active = true};

	(void)state;
	rig_start(&rig);
	rig_establish(&rig);
	rig_complete(&rig, IBV_WC_SUCCESS);
	rig_close(&rig, &deadline);
	rig_stop(&rig);
	assert_int_equal(rig.outcome.kind, FAILURE_DEADLINE);
	assert_int_equal(failure_status(&rig.outcome), STATUS_PEER);
	assert_string_equal(rig.outcome.evidence, "timed out waiting for its MSG_MR");
}

/* Once both sides know that all is well, neither the disconnect nor a deadline spoils it. */
static void what_is_complete_stays_complete(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		struct rig rig = {.mode = i & 1, .active = i & 2};

		start_complete(&rig, i & 4);
		if (i & 1)
			connection_disconnected(rig.connection);
		rig_close(&rig, &deadline);
		rig_stop(&rig);
		assert_false(failure_is_set(&rig.outcome));
	}
}

/* exchange.h: whether our own last word was acknowledged no longer matters. */
static void our_last_word_need_not_arrive(void **state)
{
	struct rig rig = {.mode = MODE_WRITE};

	(void)state;
	start_complete(&rig, false);
	rig_complete(&rig, IBV_WC_RETRY_EXC_ERR);
	rig_close(&rig, NULL);
	rig_stop(&rig);
	assert_false(failure_is_set(&rig.outcome));
}

/* Another verdict, or rubbish, from a peer that does not know when to stop. */
static void what_comes_after_the_end_changes_nothing(void **state)
{
	static const uint8_t damaged[MESSAGE_SIZE] = {MSG_VERDICT, [4] = VERDICT_DAMAGED};
	static const size_t lengths[] = {MESSAGE_SIZE, 3};

	(void)state;
	for (size_t i = 0; i < COUNT(lengths); i++) {
		struct rig rig = {.mode = MODE_WRITE, .active = true};
		unsigned int sends;

		start_complete(&rig, true);
		assert_int_equal(rig_notes(&rig), CONNECTION_FINISHED);
		sends = fake_sends(rig.id);
		fake_arrive(rig.id, damaged, lengths[i]);
		fake_settle();
		assert_int_equal(fake_sends(rig.id), sends);
		rig_close(&rig, NULL);
		rig_stop(&rig);
		assert_false(failure_is_set(&rig.outcome));
	}
}

/* The memory belongs to the device until the last work request is back. */
static void nothing_is_let_go_before_all_is_back(void **state)
{
	struct rig rig = {.mode = MODE_WRITE, .active = true};

	(void)state;
	rig_start_data(&rig, PEER_MEMORY);
	fake_flush_on_disconnect(false);
	connection_close(rig.connection, NULL);
	fake_settle();
	assert_int_equal(rig_notes(&rig), 0);
	while (fake_waiting(rig.id) > 0)
		rig_complete(&rig, IBV_WC_WR_FLUSH_ERR);
	while (fake_receives(rig.id) > 1)
		fake_fail_receive(rig.id, IBV_WC_WR_FLUSH_ERR);
	fake_settle();
	assert_false(connection_drained(rig.connection, rig_notes(&rig)));
	fake_fail_receive(rig.id, IBV_WC_WR_FLUSH_ERR);
	fake_settle();
	assert_true(connection_drained(rig.connection, rig_notes(&rig)));
	rig_stop(&rig);
}

/* What was unsignaled and went well, such as a sign of life, is back when a marker behind it is. */
static void what_went_silently_is_known_to_be_back(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct rig rig = {.mode = i & 1, .active = i & 2};
		unsigned int last;

		rig_start_data(&rig, PEER_MEMORY);
		rig_complete_all(&rig);
		fake_pass(4000);
		last = fake_sends(rig.id) - 1;
		assert_int_equal(fake_send(rig.id, last).piece.length, 0);
		assert_false(fake_send(rig.id, last).flags & IBV_SEND_SIGNALED);
		rig_complete_all(&rig);
		rig_close(&rig, &deadline);
		rig_stop(&rig);
		assert_int_equal(rig.outcome.kind, FAILURE_DEADLINE);
	}
}

/* What the device does not take will not come back, either. */
static void a_request_that_is_not_taken_is_not_awaited(void **state)
{
	(void)state;
	for (unsigned int taken = 0; taken < 2; taken++) {
		struct rig rig = {.mode = MODE_WRITE};
		struct message region;

		rig_start(&rig);
		region = rig_peer_region(&rig, PEER_MEMORY);
		rig_establish(&rig);
		rig_hear(&rig, &region);
		fake_fail("ibv_post_send", taken, ENOMEM);
		rig_complete(&rig, IBV_WC_SUCCESS);
		assert_int_equal(fake_sends(rig.id), 1 + taken);
		assert_int_equal(rig_notes(&rig), CONNECTION_FINISHED);
		rig_close(&rig, NULL);
		rig_stop(&rig);
		assert_int_equal(rig.outcome.kind, FAILURE_ERRNO);
		assert_int_equal(rig.outcome.code, ENOMEM);
		assert_string_equal(rig.outcome.call, "ibv_post_send");
	}
}

/* A receive that cannot be posted again: sooner or later a message would find none. */
static void a_receive_that_is_not_taken_ends_the_exchange(void **state)
{
	struct rig rig = {.mode = MODE_WRITE};
	struct message region;

	(void)state;
	rig_start(&rig);
	region = rig_peer_region(&rig, PEER_MEMORY);
	rig_establish(&rig);
	fake_fail("ibv_post_recv", 0, ENOMEM);
	rig_hear(&rig, &region);
	assert_int_equal(rig_notes(&rig), CONNECTION_FINISHED);
	rig_close(&rig, NULL);
	rig_stop(&rig);
	assert_string_equal(rig.outcome.call, "ibv_post_recv");
	assert_int_equal(failure_status(&rig.outcome), STATUS_FAILED);
}

/* A queue that cannot be read, or a channel that cannot: the connection still ends. */
static void a_broken_queue_ends_the_exchange(void **state)
{
	struct rig rig = {.mode = MODE_WRITE};
	struct message region;

	(void)state;
	rig_start(&rig);
	region = rig_peer_region(&rig, PEER_MEMORY);
	rig_establish(&rig);
	fake_fail("ibv_poll_cq", 0, EIO);
	rig_hear(&rig, &region);
	assert_int_equal(rig_notes(&rig), CONNECTION_FINISHED);
	rig_close(&rig, NULL);
	rig_stop(&rig);
	assert_int_equal(failure_status(&rig.outcome), STATUS_FAILED);
	assert_string_equal(rig.outcome.call, "ibv_poll_cq");
}

/* Without another event nothing more would be heard, until the deadline. */
static void a_queue_that_gives_no_more_events_ends_the_exchange(void **state)
{
	struct rig rig = {.mode = MODE_WRITE};
	struct message region;

	(void)state;
	rig_start(&rig);
	region = rig_peer_region(&rig, PEER_MEMORY);
	rig_establish(&rig);
	fake_fail("ibv_req_notify_cq", 0, EIO);
	rig_hear(&rig, &region);
	assert_int_equal(rig_notes(&rig), CONNECTION_FINISHED);
	rig_close(&rig, NULL);
	rig_stop(&rig);
	assert_string_equal(rig.outcome.call, "ibv_req_notify_cq");
}

/* A note about what is gone would point at freed memory. */
static void no_note_outlives_its_connection(void **state)
{
	struct rig rig = {.mode = MODE_WRITE};

	(void)state;
	rig_start_data(&rig, PEER_MEMORY);
	connection_close(rig.connection, &deadline);
	fake_settle();
	connection_destroy(rig.connection);
	rig.connection = NULL;
	assert_int_equal(rig_notes(&rig), 0);
	rig_stop(&rig);
}

/* rdma_disconnect() refuses where no connection stands; the queue pair must be flushed anyway. */
static void a_connection_that_never_stood_is_drained(void **state)
{
	struct rig rig = {.mode = MODE_WRITE};

	(void)state;
	rig_start(&rig);
	fake_fail("rdma_disconnect", 0, EINVAL);
	rig_close(&rig, &deadline);
	rig_stop(&rig);
	assert_int_equal(rig.outcome.kind, FAILURE_DEADLINE);
}

/* Connections share the device's thread and nothing else. */
static void one_failure_leaves_the_others_alone(void **state)
{
	struct rig rig = {.mode = MODE_WRITE}, other = {.mode = MODE_WRITE};
	const struct request request = rig_request(&rig);
	struct failure failure = {0};
	struct message region;

	(void)state;
	rig_start(&rig);
	region = rig_peer_region(&rig, PEER_MEMORY);
	other.id = fake_id();
	assert_int_equal(connection_create(&rig.session, mode_by_number(MODE_WRITE), other.id,
				 rig.device, &request, &other.connection, &failure),
		0);
	fake_break(rig.id);
	fake_settle();
	rig_establish(&other);
	rig_hear(&other, &region);
	rig_complete(&other, IBV_WC_SUCCESS);
	assert_true(rig_find_rdma(&other, IBV_WR_RDMA_WRITE_WITH_IMM) > 0);
	assert_int_equal(fake_requests(other.id).disconnects, 0);
	connection_close(other.connection, &deadline);
	rig_close(&rig, &deadline);
	assert_int_equal(connection_outcome(other.connection)->kind, FAILURE_DEADLINE);
	connection_destroy(other.connection);
	rig_stop(&rig);
}

/* The two threads at their own pace, for ThreadSanitizer: closing while completions arrive. */
static void closing_may_meet_completions(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 200; i++) {
		struct rig rig = {.mode = i & 1, .active = i & 2};
		uint8_t bytes[MESSAGE_MAX];
		struct message region;

		rig_start(&rig);
		region = rig_peer_region(&rig, PEER_MEMORY);
		message_encode(&region, bytes);
		rig_establish(&rig);
		fake_arrive(rig.id, bytes, MESSAGE_SIZE);
		connection_close(rig.connection, &deadline);
		if (i & 4)
			connection_abandon(rig.connection, &deadline);
		rig_close(&rig, NULL);
		rig_stop(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_rig(the_first_failure_is_the_outcome),
		with_rig(a_flush_is_never_the_cause),
		with_rig(a_flush_alone_is_still_a_failure),
		with_rig(a_message_too_long_is_the_peers_fault),
		with_rig(a_deadline_says_what_was_awaited),
		with_rig(what_is_complete_stays_complete),
		with_rig(our_last_word_need_not_arrive),
		with_rig(what_comes_after_the_end_changes_nothing),
		with_rig(nothing_is_let_go_before_all_is_back),
		with_rig(what_went_silently_is_known_to_be_back),
		with_rig(a_request_that_is_not_taken_is_not_awaited),
		with_rig(a_receive_that_is_not_taken_ends_the_exchange),
		with_rig(a_broken_queue_ends_the_exchange),
		with_rig(a_queue_that_gives_no_more_events_ends_the_exchange),
		with_rig(no_note_outlives_its_connection),
		with_rig(a_connection_that_never_stood_is_drained),
		with_rig(one_failure_leaves_the_others_alone),
		with_rig(closing_may_meet_completions),
	};

	return cmocka_run_group_tests_name("ending", tests, NULL, NULL);
}
