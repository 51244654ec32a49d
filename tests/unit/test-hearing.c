/*
 * What the CQ thread makes of what it hears, on a made-up device, from a peer that the test plays:
 * wrong, damaged and malicious.
 */
#include <string.h>

#include "lib/text.h"
#include "rig.h"

static const struct message verified = {.type = MSG_VERDICT, .verdict = VERDICT_VERIFIED};

/* Ends a rig whose exchange the CQ thread has given up, and compares how. */
static void expect_failure(struct rig *rig, enum failure_kind kind, enum exit_status status)
{
	assert_int_equal(rig_notes(rig), CONNECTION_FINISHED);
	rig_close(rig, NULL);
	assert_int_equal(rig->outcome.kind, kind);
	assert_int_equal(failure_status(&rig->outcome), status);
	rig_stop(rig);
}

/* The size that a MSG_DONE claims must be one that the data can have. */
static void impossible_sizes_are_refused(void **state)
{
	static const struct {
		enum mode_number mode;
		uint64_t region, claimed;
		bool possible;
	} cases[] = {
		{MODE_WRITE, REGION_SIZE, 0, false},
		{MODE_WRITE, REGION_SIZE, 1, true},
		{MODE_WRITE, REGION_SIZE, REGION_SIZE, true},
		{MODE_WRITE, REGION_SIZE, REGION_SIZE + 1, false},
		{MODE_WRITE, REGION_SIZE, UINT64_MAX, false},
		{MODE_WRITE, REGION_SIZE, (uint64_t)1 << 32, false},
		/* Its own region does not matter where it writes into ours. */
		{MODE_WRITE, 5, REGION_SIZE, true},
		{MODE_READ, REGION_SIZE, 0, false},
		{MODE_READ, 100, 100, true},
		{MODE_READ, 100, 101, false},
		{MODE_READ, UINT32_MAX, REGION_SIZE, true},
		{MODE_READ, UINT32_MAX, REGION_SIZE + 1, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rig rig = {.mode = cases[i].mode, .active = true};
		struct message done = {.type = MSG_DONE, .length = cases[i].claimed};

		rig_start_data(&rig, cases[i].region);
		rig_hear(&rig, &done);
		if (cases[i].possible) {
			assert_int_equal(rig_notes(&rig), 0);
			rig_close(&rig, NULL);
			rig_stop(&rig);
		} else {
			expect_failure(&rig, FAILURE_PROTOCOL, STATUS_PEER);
			assert_non_null(strstr(rig.outcome.evidence, "claims a message of"));
		}
	}
}

/* Whatever the peer sends is printed with its length, and no byte of it reaches the terminal. */
static void print_safely(struct rig *rig, const uint8_t *data, size_t size, size_t text_size)
{
	char expected[TEXT_ESCAPED_SIZE(REGION_SIZE) + 32] = "remote buffer: ";
	size_t start = strlen(expected);

	memcpy(rig->peer_memory, data, size);
	rig_start_data(rig, size);
	rig_exchange_data(rig, data, size);
	rig_close(rig, NULL);
	rig_stop(rig);
	text_escape(expected + start, data, text_size);
	memcpy(expected + strlen(expected), "\n", 2);
	assert_non_null(strstr(rig->printed, expected));
	for (const char *byte = rig->printed; *byte; byte++)
		assert_true(*byte == '\n' || (*byte >= ' ' && *byte <= '~'));
}

static void remote_text_is_printed_safely(void **state)
{
	uint8_t data[REGION_SIZE];

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct rig full = {.mode = i & 1, .active = i & 2}, ended = full;

		/* Control bytes, without a zero to end them. */
		for (size_t j = 0; j < sizeof(data); j++)
			data[j] = (uint8_t)(j % 255 + 1);
		print_safely(&full, data, sizeof(data), sizeof(data));
		data[10] = 0;
		print_safely(&ended, data, sizeof(data), 10);
	}
}

/* What a tutorial peer sends has no length: the region ends it. */
static void a_tutorial_text_ends_with_the_region(void **state)
{
	uint8_t data[REGION_SIZE];

	(void)state;
	memset(data, '\a', sizeof(data));
	for (unsigned int mode = 0; mode < MODE_COUNT; mode++) {
		struct rig rig = {.mode = mode, .tutorial = true};

		memcpy(rig.peer_memory, data, sizeof(data));
		rig_exchange_regions(&rig, REGION_SIZE);
		(void)rig_peer_data(&rig, data, sizeof(data));
		rig_hear(&rig, &(struct message){.type = MSG_DONE});
		rig_complete(&rig, IBV_WC_SUCCESS);
		rig_complete(&rig, IBV_WC_SUCCESS);
		rig_close(&rig, NULL);
		rig_stop(&rig);
		assert_false(failure_is_set(&rig.outcome));
		assert_null(strchr(rig.printed, '\a'));
		assert_int_equal(strlen(strstr(rig.printed, "remote buffer: ")),
			strlen("remote buffer: ") + 4UL * REGION_SIZE + 1);
	}
}

static void damage_here_is_told_and_not_printed(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct rig rig = {.mode = i & 1, .active = i & 2};
		struct message done;

		memcpy(rig.peer_memory, "damaged", sizeof("damaged"));
		rig_start_data(&rig, REGION_SIZE);
		done = rig_peer_data(&rig, "damaged", sizeof("damaged"));
		done.digest.bytes[DIGEST_SIZE - 1] ^= 1;
		rig_complete(&rig, IBV_WC_SUCCESS);
		rig_complete(&rig, IBV_WC_SUCCESS);
		rig_hear(&rig, &done);
		assert_int_equal(rig_sent(&rig, SEND_VERDICT).type, MSG_VERDICT);
		assert_int_equal(rig_sent(&rig, SEND_VERDICT).verdict, VERDICT_DAMAGED);
		rig_complete(&rig, IBV_WC_SUCCESS);
		rig_hear(&rig, &verified);
		rig_close(&rig, NULL);
		rig_stop(&rig);
		assert_int_equal(rig.outcome.kind, FAILURE_DAMAGED);
		assert_int_equal(failure_status(&rig.outcome), STATUS_DAMAGED);
		assert_null(strstr(rig.printed, "remote buffer"));
	}
}

/* It arrived whole here, but the peer says that ours did not arrive whole there. */
static void damage_there_is_believed(void **state)
{
	static const struct message damaged = {.type = MSG_VERDICT, .verdict = VERDICT_DAMAGED};

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct rig rig = {.mode = i & 1, .active = i & 2};

		memcpy(rig.peer_memory, "x", 2);
		rig_start_data(&rig, REGION_SIZE);
		rig_exchange_data(&rig, "x", 2);
		assert_int_equal(rig_sent(&rig, SEND_VERDICT).verdict, VERDICT_VERIFIED);
		rig_complete(&rig, IBV_WC_SUCCESS);
		rig_hear(&rig, &damaged);
		rig_close(&rig, NULL);
		rig_stop(&rig);
		assert_int_equal(rig.outcome.kind, FAILURE_DAMAGED_THERE);
		assert_int_equal(failure_status(&rig.outcome), STATUS_DAMAGED);
	}
}

/* A peer that goes away after damaged data did not send good data. */
static void damage_outlives_the_connection(void **state)
{
	struct rig rig = {.mode = MODE_WRITE};
	struct message done;

	(void)state;
	rig_start_data(&rig, REGION_SIZE);
	done = rig_peer_data(&rig, "x", 2);
	done.digest.bytes[0] ^= 1;
	rig_complete(&rig, IBV_WC_SUCCESS);
	rig_complete(&rig, IBV_WC_SUCCESS);
	rig_hear(&rig, &done);
	connection_disconnected(rig.connection);
	rig_close(&rig, NULL);
	rig_stop(&rig);
	assert_int_equal(failure_status(&rig.outcome), STATUS_DAMAGED);
}

/* What a peer may send that is no message, and what is said about it. */
static void what_is_no_message_is_refused(void **state)
{
	static const struct {
		uint8_t bytes[MESSAGE_SIZE + 1];
		size_t length;
		const char *says;
	} cases[] = {
		{{0}, 0, "message of 0 bytes, not 56"},
		{{0}, MESSAGE_SIZE - 1, "message of 55 bytes, not 56"},
		{{0}, MESSAGE_SIZE + 1, "message of 57 bytes, not 56"},
		{{3}, MESSAGE_SIZE, "unknown type 3"},
		{{0xff, 0xff, 0xff, 0xff}, MESSAGE_SIZE, "unknown type 4294967295"},
		{{MSG_MR}, MESSAGE_SIZE, "its MSG_MR has impossible contents"},
		{{MSG_VERDICT, [4] = 2}, MESSAGE_SIZE, "its MSG_VERDICT has impossible contents"},
		{{MSG_DONE, [32] = 1}, MESSAGE_SIZE, "it sent MSG_DONE before its MSG_MR"},
		{{MSG_VERDICT}, MESSAGE_SIZE, "it sent MSG_VERDICT before its MSG_DONE"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rig rig = {.mode = MODE_WRITE, .active = i & 1};

		rig_start(&rig);
		rig_establish(&rig);
		fake_arrive(rig.id, cases[i].bytes, cases[i].length);
		fake_settle();
		expect_failure(&rig, FAILURE_PROTOCOL, STATUS_PEER);
		if (!strstr(rig.outcome.evidence, cases[i].says))
			fail_msg("'%s' is not '%s'", rig.outcome.evidence, cases[i].says);
	}
}

/* A second MSG_MR must not move the target of what is agreed. */
static void a_message_too_many_changes_nothing(void **state)
{
	struct rig rig = {.mode = MODE_WRITE, .active = true};
	struct message other;

	(void)state;
	rig_start(&rig);
	other = rig_peer_region(&rig, REGION_SIZE);
	rig_establish(&rig);
	rig_hear(&rig, &other);
	other.address ^= 0x1000;
	rig_hear(&rig, &other);
	rig_complete(&rig, IBV_WC_SUCCESS);
	assert_int_equal(fake_sends(rig.id), SEND_RDMA);
	expect_failure(&rig, FAILURE_PROTOCOL, STATUS_PEER);
	assert_non_null(strstr(rig.outcome.evidence, "a second MSG_MR"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_rig(impossible_sizes_are_refused),
		with_rig(remote_text_is_printed_safely),
		with_rig(a_tutorial_text_ends_with_the_region),
		with_rig(damage_here_is_told_and_not_printed),
		with_rig(damage_there_is_believed),
		with_rig(damage_outlives_the_connection),
		with_rig(what_is_no_message_is_refused),
		with_rig(a_message_too_many_changes_nothing),
	};

	return cmocka_run_group_tests_name("hearing", tests, NULL, NULL);
}
