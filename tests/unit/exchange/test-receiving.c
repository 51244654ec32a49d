/* Messages that the CQ thread receives from a peer, on the fake device: incorrect, damaged and
 * malicious ones. The test plays the peer. */
#include <string.h>

#include "base/explain.h"
#include "base/text.h"
#include "tests/unit/exchange/fixture.h"

static const struct message verified = {.type = MSG_VERDICT, .verdict = VERDICT_VERIFIED};

/* Any data of the peer is printed escaped and with its full length. */
static void print_safely(
	struct fixture *fixture, const uint8_t *data, size_t size, size_t text_size)
{
	char expected[TEXT_ESCAPED_SIZE(SINK_TEXT_SIZE) + 32] = "remote buffer: ";
	size_t start = strlen(expected);

	fixture->peer_size = size;
	fixture_start_data(fixture, size);
	fixture_exchange_data(fixture, data, size);
	fixture_end(fixture);
	text_escape(expected + start, data, text_size);
	memcpy(expected + strlen(expected), "\n", 2);
	assert_non_null(strstr(fixture->printed, expected));
	for (const char *byte = fixture->printed; *byte; byte++)
		assert_true(*byte == '\n' || (*byte >= ' ' && *byte <= '~'));
}

static void remote_text_is_printed_safely(void **state)
{
	uint8_t data[SINK_TEXT_SIZE];

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture full = {.mode = i & 1, .active = i & 2}, ended = full;

		/* Control bytes without a terminating zero. */
		for (size_t j = 0; j < sizeof(data); j++)
			data[j] = (uint8_t)(j % 255 + 1);
		print_safely(&full, data, sizeof(data), sizeof(data));
		data[10] = 0;
		print_safely(&ended, data, sizeof(data), 10);
	}
}

/* The text of a tutorial peer has no length: it ends at the end of the region. */
static void a_tutorial_text_ends_with_the_region(void **state)
{
	uint8_t data[SINK_TEXT_SIZE];

	(void)state;
	memset(data, '\a', sizeof(data));
	for (unsigned int mode = 0; mode < ONE_SIDED_MODES; mode++) {
		struct fixture fixture = {.mode = mode, .tutorial = true};

		memcpy(fixture.peer_memory, data, sizeof(data));
		fixture_start_data(&fixture, SINK_TEXT_SIZE);
		fixture_exchange_data(&fixture, data, sizeof(data));
		fixture_end(&fixture);
		assert_false(failure_is_set(&fixture.outcome));
		assert_null(strchr(fixture.printed, '\a'));
		assert_int_equal(strlen(strstr(fixture.printed, "remote buffer: ")),
			strlen("remote buffer: ") + 4UL * SINK_TEXT_SIZE + 1);
	}
}

/* Messages that the tutorial does not define are refused from a tutorial peer. */
static void a_tutorial_peer_may_send_only_two_messages(void **state)
{
	static const struct message messages[] = {
		{.type = MSG_DATA, .length = 1},
		{.type = MSG_CREDIT},
		{.type = MSG_VERDICT},
		{.type = MSG_ABORT},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(messages); i++) {
		struct fixture fixture = {.mode = MODE_WRITE, .active = i & 1, .tutorial = true};
		bool abort = messages[i].type == MSG_ABORT;

		fixture_exchange_regions(&fixture, PEER_MEMORY);
		fixture_receive(&fixture, &messages[i]);
		assert_int_equal(fixture_count(&fixture, MSG_ABORT), 0);
		fixture_expect_failure(
			&fixture, abort ? FAILURE_ABORTED : FAILURE_PROTOCOL, STATUS_PEER);
	}
}

static void local_damage_is_reported_and_not_printed(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2 * MODE_COUNT; i++) {
		struct fixture fixture = {.mode = i % MODE_COUNT, .active = i / MODE_COUNT};
		struct message done;

		fixture_start_data(&fixture, PEER_MEMORY);
		fixture_receive_data(&fixture, PEER_TEXT, sizeof(PEER_TEXT));
		fixture_complete_all(&fixture);
		done = fixture_peer_done(&fixture, PEER_TEXT, sizeof(PEER_TEXT));
		done.digest.bytes[DIGEST_SIZE - 1] ^= 1;
		fixture_receive(&fixture, &done);
		assert_int_equal(fixture_last(&fixture, MSG_VERDICT).verdict, VERDICT_DAMAGED);
		fixture_complete_all(&fixture);
		fixture_receive(&fixture, &verified);
		fixture_end(&fixture);
		assert_int_equal(fixture.outcome.kind, FAILURE_DAMAGED);
		assert_int_equal(explain_status(&fixture.outcome), STATUS_DAMAGED);
		assert_null(strstr(fixture.printed, "remote buffer"));
	}
}

/* The peer's data arrived undamaged, but the peer reports that the local data did not. */
static void damage_reported_by_the_peer_is_reported(void **state)
{
	static const struct message damaged = {.type = MSG_VERDICT, .verdict = VERDICT_DAMAGED};

	(void)state;
	for (unsigned int i = 0; i < 2 * MODE_COUNT; i++) {
		struct fixture fixture = {.mode = i % MODE_COUNT, .active = i / MODE_COUNT};

		fixture_start_data(&fixture, PEER_MEMORY);
		fixture_exchange_data(&fixture, PEER_TEXT, sizeof(PEER_TEXT));
		assert_int_equal(fixture_last(&fixture, MSG_VERDICT).verdict, VERDICT_VERIFIED);
		fixture_complete_all(&fixture);
		fixture_receive(&fixture, &damaged);
		fixture_end(&fixture);
		assert_int_equal(fixture.outcome.kind, FAILURE_DAMAGED_THERE);
		assert_int_equal(explain_status(&fixture.outcome), STATUS_DAMAGED);
	}
}

/* A disconnect does not hide that the received data was damaged. */
static void a_disconnect_does_not_hide_damage(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE};
	struct message done;

	(void)state;
	fixture_start_data(&fixture, PEER_MEMORY);
	fixture_receive_data(&fixture, PEER_TEXT, sizeof(PEER_TEXT));
	fixture_complete_all(&fixture);
	done = fixture_peer_done(&fixture, PEER_TEXT, sizeof(PEER_TEXT));
	done.digest.bytes[0] ^= 1;
	fixture_receive(&fixture, &done);
	connection_disconnected(fixture.connection);
	fixture_end(&fixture);
	assert_int_equal(explain_status(&fixture.outcome), STATUS_DAMAGED);
}

/* Invalid messages and the failures they cause. */
static void invalid_messages_are_refused(void **state)
{
	static const struct {
		uint8_t bytes[320];
		size_t length;
		const char *says;
	} cases[] = {
		{{0}, 1, "message of 1 bytes, expected 56"},
		{{0}, MESSAGE_SIZE - 1, "message of 55 bytes, expected 56"},
		{{0}, MESSAGE_MAX + 1, "message of 312 bytes, expected 56"},
		{{0}, 320, "message of 320 bytes, expected 56"},
		/* Most messages have no text. */
		{{MSG_DONE}, MESSAGE_SIZE + 1, "message of 57 bytes, expected 56"},
		{{MSG_VERDICT}, MESSAGE_SIZE + 1, "message of 57 bytes, expected 56"},
		{{MSG_DATA}, MESSAGE_SIZE + 1, "message of 57 bytes, expected 56"},
		{{MSG_CREDIT}, MESSAGE_MAX, "message of 311 bytes, expected 56"},
		{{MSG_TYPES}, MESSAGE_SIZE, "unknown type 9"},
		{{0xff, 0xff, 0xff, 0xff}, MESSAGE_SIZE, "unknown type 4294967295"},
		{{MSG_TYPES}, MESSAGE_MAX, "unknown type 9"},
		{{MSG_MR}, MESSAGE_SIZE, "received an invalid MSG_MR"},
		{{MSG_VERDICT, [4] = 3}, MESSAGE_SIZE, "received an invalid MSG_VERDICT"},
		{{MSG_DONE, [32] = 1}, MESSAGE_SIZE, "received MSG_DONE before MSG_MR"},
		{{MSG_VERDICT}, MESSAGE_SIZE, "received MSG_VERDICT before MSG_DONE"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fixture fixture = {.mode = MODE_WRITE, .active = i & 1};

		fixture_start(&fixture);
		fixture_establish(&fixture);
		fake_arrive(fixture.id, cases[i].bytes, cases[i].length);
		fake_settle();
		fixture_expect_failure(&fixture, FAILURE_PROTOCOL, STATUS_PEER);
		if (!strstr(fixture.outcome.evidence, cases[i].says))
			fail_msg("'%s' does not contain '%s'", fixture.outcome.evidence,
				cases[i].says);
	}
}

/* A second MSG_MR must not change the agreed target. */
static void a_second_msg_mr_is_refused(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE, .active = true};
	struct message other;

	(void)state;
	fixture_start(&fixture);
	other = fixture_peer_region(&fixture, PEER_MEMORY);
	fixture_establish(&fixture);
	fixture_receive(&fixture, &other);
	other.address ^= 0x1000;
	fixture_receive(&fixture, &other);
	fixture_complete_all(&fixture);
	assert_int_equal(fixture_find_rdma(&fixture, IBV_WR_RDMA_WRITE_WITH_IMM), -1);
	fixture_expect_violation(&fixture, "a second MSG_MR");
}

/* A message longer than any receive: the device reports an error. */
static void a_message_that_is_too_long_ends_the_connection(void **state)
{
	static const uint8_t bytes[321] = {MSG_ABORT};
	struct fixture fixture = {.mode = MODE_WRITE, .active = true};

	(void)state;
	fixture_start(&fixture);
	fixture_establish(&fixture);
	fake_arrive(fixture.id, bytes, sizeof(bytes));
	fake_settle();
	fixture_expect_failure(&fixture, FAILURE_COMPLETION, STATUS_PEER);
	assert_int_equal(fixture.outcome.code, IBV_WC_LOC_LEN_ERR);
}

/* The peer's reason is reported and printed escaped. */
static void an_abort_is_received(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		struct fixture fixture = {.mode = i & 1, .active = i & 2};
		struct message abort = {.type = MSG_ABORT};
		unsigned int sends;

		if (!(i & 4))
			message_set_text(&abort, "no room\a\n");
		else
			abort.refusal = REFUSAL_MALFORMED;
		fixture_start_data(&fixture, PEER_MEMORY);
		sends = fake_sends(fixture.id);
		fixture_receive(&fixture, &abort);
		assert_int_equal(fake_sends(fixture.id), sends);
		assert_int_equal(fixture_events(&fixture), CONNECTION_FINISHED);
		fixture_end(&fixture);
		assert_int_equal(fixture.outcome.kind, FAILURE_ABORTED);
		assert_int_equal(fixture.outcome.code, i & 4 ? CODE_VIOLATION : 0);
		assert_int_equal(explain_status(&fixture.outcome), STATUS_PEER);
		assert_string_equal(
			fixture.outcome.evidence, i & 4 ? "the peer aborted: no reason given"
							: "the peer aborted: no room\\x07\\x0a");
	}
}

/* Keepalives carry no data and use one receive, which is reposted. */
static void keepalives_change_nothing(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE};
	unsigned int sends, receives;

	(void)state;
	fixture_start_data(&fixture, PEER_MEMORY);
	sends = fake_sends(fixture.id);
	receives = fake_receives(fixture.id);
	for (unsigned int i = 0; i < 100; i++) {
		fake_arrive(fixture.id, "", 0);
		fake_settle();
	}
	assert_int_equal(fake_sends(fixture.id), sends);
	assert_int_equal(fake_receives(fixture.id), receives);
	fixture_end(&fixture);
}

/* However fast a peer sends, the device's other connections are served and timeouts are checked. */
static void a_busy_peer_leaves_time_for_others(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2 * MODE_COUNT; i++) {
		struct fixture fixture = {
			.mode = i % MODE_COUNT, .active = i / MODE_COUNT, .input = "/dev/null"};

		fixture_exchange_regions(&fixture, PEER_MEMORY);
		fixture_complete_all(&fixture);
		fake_flood(fixture.id, 100000);
		fake_settle();
		/* The flood is over: some receives are unused. */
		assert_true(fake_receives(fixture.id) > 0);
		assert_in_range(fake_longest_turn(), 1, 1000);
		assert_int_equal(fixture_events(&fixture) & CONNECTION_FINISHED, 0);
		fixture_end(&fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(remote_text_is_printed_safely),
		with_fixture(a_tutorial_text_ends_with_the_region),
		with_fixture(a_tutorial_peer_may_send_only_two_messages),
		with_fixture(local_damage_is_reported_and_not_printed),
		with_fixture(damage_reported_by_the_peer_is_reported),
		with_fixture(a_disconnect_does_not_hide_damage),
		with_fixture(invalid_messages_are_refused),
		with_fixture(a_second_msg_mr_is_refused),
		with_fixture(a_message_that_is_too_long_ends_the_connection),
		with_fixture(an_abort_is_received),
		with_fixture(keepalives_change_nothing),
		with_fixture(a_busy_peer_leaves_time_for_others),
	};

	return cmocka_run_group_tests_name("receiving", tests, NULL, NULL);
}
