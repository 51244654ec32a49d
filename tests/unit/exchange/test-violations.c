/* A peer that violates the stream protocol, on the fake device: the violation is detected, the peer
 * receives an abort, and the exchange ends. */
#include <string.h>

#include "tests/unit/exchange/fixture.h"

/* The size in MSG_DONE must match both the bytes received and the announced size. */
static void inconsistent_sizes_are_refused(void **state)
{
	static const struct {
		uint64_t announced, claimed;
		const char *says; /* NULL: valid */
	} cases[] = {
		{5, 5, NULL},
		{STREAM_SIZE_UNKNOWN, 5, NULL},
		{5, 0, "does not match the 5 bytes received"},
		{5, 4, "does not match the 5 bytes received"},
		{5, 6, "does not match the 5 bytes received"},
		{5, UINT64_MAX, "does not match the 5 bytes received"},
		{5, (uint64_t)1 << 32, "does not match the 5 bytes received"},
		{6, 5, "received fewer than the announced 6 bytes"},
		{6, 6, "does not match the 5 bytes received"},
		{UINT64_MAX - 1, 5, "received fewer than the announced"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases) * 2 * MODE_COUNT; i++) {
		struct fixture fixture = {.mode = i % MODE_COUNT, .active = i / MODE_COUNT % 2};
		struct message done = fixture_peer_done(&fixture, "12345", 5);

		fixture.peer_size = cases[i / 2 / MODE_COUNT].announced;
		done.length = cases[i / 2 / MODE_COUNT].claimed;
		fixture_exchange_regions(&fixture, PEER_MEMORY);
		fixture_receive_data(&fixture, "12345", 5);
		fixture_complete_all(&fixture);
		fixture_receive(&fixture, &done);
		if (cases[i / 2 / MODE_COUNT].says) {
			fixture_expect_violation(&fixture, cases[i / 2 / MODE_COUNT].says);
		} else {
			assert_int_equal(
				fixture_last(&fixture, MSG_VERDICT).verdict, VERDICT_VERIFIED);
			fixture_end(&fixture);
		}
	}
}

/* MSG_HAVE and MSG_START are refused unless they are due, and MSG_START anywhere else. */
static void unexpected_resumptions_are_refused(void **state)
{
	static const uint8_t stores =
		HELLO_PLANS | HELLO_RESUMES | HELLO_TAKES_FILE | HELLO_WANTS_DATA;
	static const uint8_t sends =
		HELLO_PLANS | HELLO_RESUMES | HELLO_SENDS_DATA | HELLO_SENDS_FILE;
	static const struct {
		uint8_t plans, peer_plans;
		struct message messages[2];
		const char *says;
	} cases[] = {
		{0, 0, {{.type = MSG_HAVE}}, "unexpected MSG_HAVE"},
		{0, 0, {{.type = MSG_START}}, "unexpected MSG_START"},
		{stores, sends, {{.type = MSG_HAVE}}, "unexpected MSG_HAVE"},
		{stores, sends, {{.type = MSG_START, .length = 1}},
			"unexpected MSG_START at byte 1"},
		{stores, sends, {{.type = MSG_START}, {.type = MSG_START}},
			"unexpected MSG_START at byte 0"},
		{stores, sends, {{.type = MSG_DATA, .length = 5}}, "received unexpected data"},
		{stores, sends, {{.type = MSG_DONE}}, "received MSG_DONE before MSG_START"},
		{sends, stores, {{.type = MSG_START}}, "unexpected MSG_START"},
		{sends, stores, {{.type = MSG_HAVE}, {.type = MSG_HAVE}}, "unexpected MSG_HAVE"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases) * 2 * ONE_SIDED_MODES; i++) {
		struct fixture fixture = {.mode = i % ONE_SIDED_MODES,
			.active = i / ONE_SIDED_MODES % 2,
			.plans = cases[i / 2 / ONE_SIDED_MODES].plans,
			.peer_plans = cases[i / 2 / ONE_SIDED_MODES].peer_plans,
			.output_path =
				cases[i / 2 / ONE_SIDED_MODES].plans == stores ? "/dev/null" : NULL,
			.input =
				cases[i / 2 / ONE_SIDED_MODES].plans == sends ? "/dev/null" : NULL};

		fixture_exchange_regions(&fixture, PEER_MEMORY);
		/* A sink has a thread, which may not have looked yet. */
		while (cases[i / 2 / ONE_SIDED_MODES].plans == stores &&
			fixture_count(&fixture, MSG_HAVE) == 0)
			fake_settle();
		fixture_receive(&fixture, &cases[i / 2 / ONE_SIDED_MODES].messages[0]);
		if (cases[i / 2 / ONE_SIDED_MODES].messages[1].type)
			fixture_receive(&fixture, &cases[i / 2 / ONE_SIDED_MODES].messages[1]);
		fixture_expect_violation(&fixture, cases[i / 2 / ONE_SIDED_MODES].says);
	}
}

/* Impossible announcements by the peer. */
static void unexpected_data_is_refused(void **state)
{
	static const struct {
		uint64_t promised, announced;
		const char *says;
	} cases[] = {
		{7, 8, "received more than the announced 7 bytes"},
		{7, UINT64_MAX, "received more than the announced 7 bytes"},
		{100000, 0, "received an invalid announcement of data up to byte 0"},
		{100000, 3 * PEER_MEMORY, "announcement of data up to byte 12288"},
		{STREAM_SIZE_UNKNOWN, UINT64_MAX, "received an invalid announcement"},
		{STREAM_SIZE_UNKNOWN, (uint64_t)1 << 32, "received an invalid announcement"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases) * 4; i++) {
		struct fixture fixture = {
			.mode = i & 1,
			.active = i & 2,
			.buffer = 2 * PEER_MEMORY,
			.peer_size = cases[i / 4].promised,
		};
		struct message data = {.type = MSG_DATA, .length = cases[i / 4].announced};

		fixture_exchange_regions(&fixture, PEER_MEMORY);
		fixture_receive(&fixture, &data);
		fixture_expect_violation(&fixture, cases[i / 4].says);
		assert_null(strstr(fixture.printed, "remote buffer"));
	}
}

/* Data before MSG_MR and after MSG_DONE. */
static void data_out_of_order_is_refused(void **state)
{
	static const struct message data = {.type = MSG_DATA, .length = 1};

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture early = {.mode = i & 1, .active = i & 2}, late = early;

		fixture_start(&early);
		fixture_establish(&early);
		fixture_receive(&early, &data);
		/* The passive end cannot send an abort: nothing has confirmed that the connection
		 * is established. */
		fixture_expect_failure(&early, FAILURE_PROTOCOL, STATUS_PEER);
		assert_string_equal(early.outcome.evidence, "received unexpected data");

		late.peer_size = STREAM_SIZE_UNKNOWN;
		fixture_start_data(&late, PEER_MEMORY);
		fixture_exchange_data(&late, PEER_TEXT, sizeof(PEER_TEXT));
		fixture_receive(&late, &(struct message){.type = MSG_DATA, .length = 100});
		fixture_expect_violation(&late, "received unexpected data");
	}
}

/* A peer that ignores credit is detected before it can exhaust the receive queue. */
static void pieces_beyond_credit_are_refused(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture fixture = {
			.mode = i & 1,
			.active = i & 2,
			.depth = 2,
			.peer_size = STREAM_SIZE_UNKNOWN,
		};

		fixture_exchange_regions(&fixture, PEER_MEMORY);
		/* No local send is acknowledged, so eventually no credit can be sent. */
		for (unsigned int piece = 0; piece < 50 && fixture_count(&fixture, MSG_ABORT) == 0;
			piece++)
			fixture_receive_data(&fixture, "x", 1);
		assert_true(fixture_count(&fixture, MSG_CREDIT) > 0);
		fixture_expect_violation(&fixture, "received an invalid announcement");
	}
}

/* Immediate data is the low half of the stream position. */
static void wrong_immediate_data_is_refused(void **state)
{
	static const struct {
		enum mode_number mode;
		bool tutorial;
		uint32_t immediate;
		const char *says;
	} cases[] = {
		{MODE_WRITE, false, 0, "announcement of data up to byte 0"},
		{MODE_READ, false, 0, "announcement of data up to byte 0"},
		{MODE_WRITE, false, 99999, "announcement of data up to byte 99999"},
		{MODE_READ, false, 99999, "announcement of data up to byte 99999"},
		{MODE_WRITE, false, 100001, "received more than the announced 100,000 bytes"},
		{MODE_WRITE, false, UINT32_MAX, "received more than the announced 100,000 bytes"},
		{MODE_WRITE, true, 3, "received unexpected data"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fixture fixture = {
			.mode = cases[i].mode,
			.active = i & 1,
			.tutorial = cases[i].tutorial,
			.peer_size = 100000,
			.buffer = 8192,
		};

		fixture_exchange_regions(&fixture, PEER_MEMORY);
		fake_arrive_immediate(fixture.id, 1, cases[i].immediate);
		fake_settle();
		if (!fixture.tutorial) {
			fixture_expect_violation(&fixture, cases[i].says);
			continue;
		}
		assert_int_equal(fixture_count(&fixture, MSG_ABORT), 0);
		fixture_expect_failure(&fixture, FAILURE_PROTOCOL, STATUS_PEER);
		assert_string_equal(fixture.outcome.evidence, cases[i].says);
	}
}

/* Credit must not exceed the announced data and must not decrease. */
static void credit_for_unannounced_data_is_refused(void **state)
{
	static const struct {
		uint64_t position, pieces;
	} cases[] = {{6, 1}, {5, 2}, {UINT64_MAX, 1}, {5, UINT64_MAX}, {4, 1}, {5, 0}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases) * 2 * MODE_COUNT; i++) {
		struct fixture fixture = {.mode = i % MODE_COUNT, .active = i / MODE_COUNT % 2};
		struct message credit = {
			.type = MSG_CREDIT,
			.length = cases[i / 2 / MODE_COUNT].position,
			.pieces = cases[i / 2 / MODE_COUNT].pieces,
		};

		fixture_start_data(&fixture, PEER_MEMORY);
		/* Valid: "ours" was sent as one piece. */
		fixture_receive(
			&fixture, &(struct message){.type = MSG_CREDIT, .length = 5, .pieces = 1});
		fixture_complete_all(&fixture);
		assert_int_equal(fixture_count(&fixture, MSG_ABORT), 0);
		fixture_receive(&fixture, &credit);
		fixture_expect_violation(&fixture, "received invalid credit");
	}
}

/* Credit from a peer that does not know the stream yet. */
static void early_credit_is_refused(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE, .active = true};

	(void)state;
	fixture_start(&fixture);
	fixture_establish(&fixture);
	fixture_receive(&fixture, &(struct message){.type = MSG_CREDIT});
	fixture_expect_violation(&fixture, "received invalid credit up to byte 0");
}

/* With a depth of 0 the sender would wait forever. */
static void a_peer_without_receives_is_refused(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2 * MODE_COUNT; i++) {
		struct fixture fixture = {.mode = i % MODE_COUNT, .active = i / MODE_COUNT};
		struct message region;

		fixture_start(&fixture);
		region = fixture_peer_region(&fixture, PEER_MEMORY);
		region.depth = 0;
		fixture_establish(&fixture);
		fixture_receive(&fixture, &region);
		fixture_expect_failure(&fixture, FAILURE_PROTOCOL, STATUS_PEER);
		assert_string_equal(fixture.outcome.evidence, "received MSG_MR with a depth of 0");
	}
}

/* The passive end replies: before our MSG_MR it must not send anything, and no ring exists for its
 * data. */
static void an_early_message_is_refused(void **state)
{
	(void)state;
	for (unsigned int type = 0; type < MSG_TYPES; type++) {
		struct fixture fixture = {.mode = type & 1, .active = true};
		struct message message;

		fixture_start(&fixture);
		message = fixture_peer_region(&fixture, PEER_MEMORY);
		message.type = type;
		fixture_receive(&fixture, &message);
		fixture_establish(&fixture);
		assert_int_equal(fake_sends(fixture.id), 0);
		fixture_expect_failure(&fixture, FAILURE_PROTOCOL, STATUS_PEER);
		assert_string_equal(fixture.outcome.evidence, "received a message out of turn");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(inconsistent_sizes_are_refused),
		with_fixture(unexpected_resumptions_are_refused),
		with_fixture(unexpected_data_is_refused),
		with_fixture(data_out_of_order_is_refused),
		with_fixture(pieces_beyond_credit_are_refused),
		with_fixture(wrong_immediate_data_is_refused),
		with_fixture(credit_for_unannounced_data_is_refused),
		with_fixture(early_credit_is_refused),
		with_fixture(a_peer_without_receives_is_refused),
		with_fixture(an_early_message_is_refused),
	};

	return cmocka_run_group_tests_name("violations", tests, NULL, NULL);
}
