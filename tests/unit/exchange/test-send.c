/* Send mode on the fake device: which receive a piece may use, and when a receive is posted again.
 * The test plays the peer. */
#include <string.h>
#include <unistd.h>

#include "exchange/internal.h"
#include "tests/unit/exchange/pair.h"

/* Neither side can access the other's memory. */
static void no_memory_is_exposed(void **state)
{
	(void)state;
	for (unsigned int active = 0; active < 2; active++) {
		struct fixture fixture = {.mode = MODE_SEND, .active = active};

		fixture_exchange_regions(&fixture, 1024);
		assert_false(fake_is_exposed());
		assert_int_equal(fixture_last(&fixture, MSG_MR).rkey, 0);
		fixture_end(&fixture);
	}
}

/* Returns the index of the first piece of our data, after `empty` empty messages. */
static unsigned int find_piece(struct fixture *fixture, unsigned int *empty)
{
	*empty = 0;
	for (unsigned int i = 0; i < fake_sends(fixture->id); i++) {
		struct fake_send send = fake_send(fixture->id, i);

		if (send.data.length > 0)
			return i;
		*empty += send.opcode == IBV_WR_SEND && send.piece.length == 0;
	}
	fail_msg("no piece was sent");
	return 0;
}

/* A piece never takes one of the receives that are too small for it. */
static void empty_messages_use_up_the_first_receives(void **state)
{
	(void)state;
	for (unsigned int first = 0; first <= 64; first++) {
		struct fixture fixture = {.mode = MODE_SEND, .active = first & 1};
		struct message region;
		unsigned int index, empty;

		region = fixture_start_established(&fixture, 2000);
		region.address = first;
		fixture_receive(&fixture, &region);
		fixture_complete_all(&fixture);
		index = find_piece(&fixture, &empty);
		/* MSG_MR is one of them. */
		assert_int_equal(empty, first > 0 ? first - 1 : 0);
		assert_int_equal(index, empty + 1);
		assert_int_equal(fake_send(fixture.id, index).data.length, sizeof("ours"));
		fixture_end(&fixture);
	}
}

/* No peer decides how many messages we send, or makes us send pieces of no bytes. */
static void an_invalid_msg_mr_is_refused(void **state)
{
	static const struct {
		uint64_t first, length;
		const char *says;
	} cases[] = {
		{65, 1024, "received MSG_MR with 65 first receives"},
		{(uint64_t)1 << 40, 1024, "first receives"},
		{7, 0, "MSG_MR"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases) * 2; i++) {
		struct fixture fixture = {.mode = MODE_SEND, .active = i & 1};
		struct message region = fixture_start_established(&fixture, cases[i / 2].length);

		region.address = cases[i / 2].first;
		fixture_receive(&fixture, &region);
		fixture_expect_failure(&fixture, FAILURE_PROTOCOL, STATUS_PEER);
		assert_non_null(strstr(fixture.outcome.evidence, cases[i / 2].says));
	}
}

/* Sends `size` bytes as a piece that claims to end at `to`. */
static void arrive(struct fixture *fixture, uint64_t to, size_t size)
{
	const struct message piece = {.type = MSG_DATA, .length = to};
	uint8_t bytes[MESSAGE_MAX + 8192] = {0};
	size_t head = message_encode(&piece, bytes);

	fake_arrive(fixture->id, bytes, head + size);
	fake_settle();
}

static void invalid_pieces_are_refused(void **state)
{
	static const struct {
		uint64_t to;
		size_t size;
	} cases[] = {{0, 0}, {1, 0}, {5, 4}, {5, 6}, {UINT64_MAX, 5}, {(uint64_t)1 << 32, 5}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fixture fixture = {.mode = MODE_SEND, .peer_size = STREAM_SIZE_UNKNOWN};

		fixture_exchange_regions(&fixture, 1024);
		fixture_use_first_receives(&fixture);
		arrive(&fixture, cases[i].to, cases[i].size);
		fixture_expect_violation(&fixture, "received an invalid announcement");
	}
}

/* The first receives are too small for data, so a peer that puts some there is refused. */
static void a_piece_in_a_first_receive_is_refused(void **state)
{
	struct fixture fixture = {.mode = MODE_SEND, .peer_size = STREAM_SIZE_UNKNOWN};

	(void)state;
	fixture_exchange_regions(&fixture, 1024);
	arrive(&fixture, 5, 5);
	fixture_expect_violation(&fixture, "received an invalid announcement");
}

/* A receive of a message is posted again at once, that of a piece when its data is consumed. */
static void credit_follows_the_receive(void **state)
{
	struct fixture fixture = {
		.mode = MODE_SEND, .peer_size = STREAM_SIZE_UNKNOWN, .output_path = "/dev/null"};
	struct message region, credit;
	unsigned int receives;

	(void)state;
	fixture_exchange_regions(&fixture, 1024);
	region = fixture_last(&fixture, MSG_MR);
	fixture_receive_data(&fixture, "1", 1);
	receives = fake_receives(fixture.id);
	for (unsigned int i = 0; i < 100; i++) {
		fixture_receive(&fixture, &(struct message){.type = MSG_CREDIT});
		assert_in_range(fake_receives(fixture.id), receives, receives + 1);
	}
	for (unsigned int i = 1; i < region.depth; i++)
		fixture_receive_data(&fixture, "2", 1);
	/* Credit follows for each half, 4 of 8, once the file thread has consumed it. */
	assert_int_equal(region.depth, 8);
	while (fixture_count(&fixture, MSG_CREDIT) == 0 || fake_receives(fixture.id) < receives)
		fixture_complete_all(&fixture);
	assert_in_range(fixture_count(&fixture, MSG_CREDIT), 1, 2);
	credit = fixture_last(&fixture, MSG_CREDIT);
	assert_in_range(credit.pieces, 4, 8);
	assert_in_range(fake_receives(fixture.id), receives, receives + 1);
	fixture_end(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(no_memory_is_exposed),
		with_fixture(empty_messages_use_up_the_first_receives),
		with_fixture(an_invalid_msg_mr_is_refused),
		with_fixture(invalid_pieces_are_refused),
		with_fixture(a_piece_in_a_first_receive_is_refused),
		with_fixture(credit_follows_the_receive),
	};

	return cmocka_run_group_tests_name("send", tests, NULL, NULL);
}
