/* What the CQ thread posts and when, on the fake device. The test plays the peer. */
#include <string.h>

#include "base/explain.h"
#include "tests/unit/common/secret-fixture.h"
#include "tests/unit/exchange/pair.h"

static const struct message verified = {.type = MSG_VERDICT, .verdict = VERDICT_VERIFIED};

static void expect_success(struct fixture *fixture)
{
	static const char *const lines[MODE_COUNT] = {
		[MODE_WRITE] = "writing message to remote memory...\n",
		[MODE_READ] = "reading message from remote memory...\n",
		[MODE_SEND] = "sending message to remote memory...\n",
	};
	static const char tutorial[] = "a tutorial's";
	const char *data = fixture->tutorial ? tutorial : PEER_TEXT;
	size_t size = fixture->tutorial ? sizeof(tutorial) : sizeof(PEER_TEXT);

	memcpy(fixture->peer_memory, data, size);
	fixture_start_data(fixture, PEER_MEMORY);
	fixture_exchange_data(fixture, data, size);
	if (!fixture->tutorial) {
		fixture_complete_all(fixture);
		fixture_receive(fixture, &verified);
	}
	/* Only the active end finishes on its own with one of our peers. A tutorial peer
	 * disconnects. */
	assert_int_equal(fixture_events(fixture),
		fixture->active && !fixture->tutorial ? CONNECTION_FINISHED : 0);
	fixture_close(fixture, NULL);
	assert_false(failure_is_set(&fixture->outcome));
	if (fixture->mode == MODE_WRITE)
		assert_string_equal((char *)fixture->peer_memory, "ours");
	assert_int_equal(fixture_count(fixture, MSG_VERDICT), !fixture->tutorial);
	fixture_stop(fixture);
	assert_non_null(strstr(fixture->printed, "remote buffer: "));
	assert_non_null(strstr(fixture->printed, data));
	assert_non_null(strstr(fixture->printed, lines[fixture->mode]));
}

static void exchanges_succeed_in_all_modes_and_roles_with_both_peers(void **state)
{
	(void)state;
	for_each_fixture(true, expect_success);
}

/* Failures of its address are only counted: what it sends is printed, but no transcript. */
static void a_counted_client_has_no_transcript(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture fixture = {.mode = i & 1, .tutorial = i & 2, .counted = true};

		fixture_start_data(&fixture, PEER_MEMORY);
		fixture_complete_all(&fixture);
		fixture_end(&fixture);
		assert_null(strstr(fixture.printed, "received MSG_MR"));
		assert_null(strstr(fixture.printed, "completed"));
	}
}

/* Unless it holds our secret, which the others of its address may not. */
static void a_counted_client_with_the_secret_has_a_transcript(void **state)
{
	struct secret *secret = make_secret('a');

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct pair pair = {.passive = {.counted = true}};
		const char *line;

		if (i == 1)
			pair.active.secret = pair.passive.secret = secret;
		pair_start(&pair);
		pair_run(&pair);
		pair_close(&pair);
		pair_stop(&pair);
		/* The active end captures the lines of both. */
		line = strstr(pair.active.printed, "received MSG_MR");
		assert_non_null(line);
		assert_int_equal(strstr(line + 1, "received MSG_MR") != NULL, i);
	}
	secret_free(secret);
}

/* The tutorial's sequence: MSG_MR, one WRITE or READ, MSG_DONE, which is fenced behind a READ. */
static void tutorial_done_is_fenced_behind_a_read(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture fixture = {.mode = i & 1, .active = i & 2, .tutorial = true};
		struct fake_send rdma, done;
		unsigned int fence = fixture.mode == MODE_READ ? IBV_SEND_FENCE : 0;

		fixture_start_data(&fixture, PEER_MEMORY);
		assert_int_equal(fake_sends(fixture.id), 3);
		rdma = fake_send(fixture.id, 1);
		done = fake_send(fixture.id, 2);
		assert_int_equal(rdma.opcode,
			fixture.mode == MODE_READ ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE);
		assert_int_equal(rdma.flags, IBV_SEND_SIGNALED);
		assert_int_equal(done.opcode, IBV_WR_SEND);
		assert_int_equal(done.flags, IBV_SEND_SIGNALED | fence);
		assert_int_equal(fixture_sent(&fixture, 2).type, MSG_DONE);
		fixture_end(&fixture);
	}
}

/* The contents of our messages, byte for byte where it matters. */
static void expect_message_contents(struct fixture *fixture)
{
	struct message region, done;
	struct digest digest = digest_of("ours", sizeof("ours"));
	uint8_t to_tutorial[MESSAGE_SIZE] = {MSG_DONE};
	const struct ibv_mr *mr;
	int access;

	fixture_start_data(fixture, PEER_MEMORY);
	region = fixture_sent(fixture, 0);
	if (fixture->mode == MODE_SEND) {
		assert_int_equal(region.address, 7);
		assert_int_equal(region.rkey, 0);
		assert_in_range(region.length, SINK_TEXT_SIZE, SINK_TEXT_SIZE + 63);
	} else {
		mr = fake_region(region.rkey, &access);
		assert_true(mr && mr->rkey == region.rkey);
		assert_int_equal(region.address, (uintptr_t)mr->addr);
		assert_int_equal(region.length, mr->length);
		assert_int_equal(region.length, SINK_TEXT_SIZE);
	}
	assert_int_equal(region.text_size, 0);
	done = fixture_last(fixture, MSG_DONE);
	if (fixture->tutorial) {
		assert_int_equal(region.depth, 0);
		assert_memory_equal(
			fake_send(fixture->id, (unsigned int)fixture_find(fixture, MSG_DONE)).bytes,
			to_tutorial, MESSAGE_SIZE);
	} else {
		assert_true(region.depth > 0);
		assert_int_equal(done.length, sizeof("ours"));
		assert_true(digest_equal(&done.digest, &digest));
	}
	fixture_end(fixture);
}

static void messages_have_the_right_contents(void **state)
{
	(void)state;
	for_each_fixture(true, expect_message_contents);
}

/* The peer receives the base name of the input file, without its directory. */
static void the_first_message_names_our_file(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE, .active = true, .input = "/proc/self/status"};
	struct message region;

	(void)state;
	fixture_start(&fixture);
	fixture_establish(&fixture);
	region = fixture_sent(&fixture, 0);
	assert_int_equal(region.text_size, strlen("status"));
	assert_memory_equal(region.text, "status", strlen("status"));
	fixture_end(&fixture);
}

/* With a tutorial peer, the operation targets the region of its MSG_MR. Its length is limited by
 * both ends. */
static void tutorial_rdma_uses_the_announced_region(void **state)
{
	static const struct {
		enum mode_number mode;
		uint64_t peer_length;
		uint32_t length;
	} cases[] = {
		{MODE_WRITE, sizeof("ours"), sizeof("ours")},
		{MODE_WRITE, SINK_TEXT_SIZE, sizeof("ours")},
		{MODE_WRITE, UINT32_MAX, sizeof("ours")},
		{MODE_READ, 1, 1},
		{MODE_READ, SINK_TEXT_SIZE - 1, SINK_TEXT_SIZE - 1},
		{MODE_READ, SINK_TEXT_SIZE, SINK_TEXT_SIZE},
		{MODE_READ, SINK_TEXT_SIZE + 1, SINK_TEXT_SIZE},
		{MODE_READ, (uint64_t)UINT32_MAX + 1, SINK_TEXT_SIZE},
		{MODE_READ, (uint64_t)1 << 62, SINK_TEXT_SIZE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fixture fixture = {.mode = cases[i].mode, .active = true, .tutorial = true};
		struct fake_send rdma;

		fixture_start_data(&fixture, cases[i].peer_length);
		rdma = fake_send(fixture.id, 1);
		assert_int_equal(rdma.piece.length, cases[i].length);
		assert_int_equal(rdma.remote_address, (uintptr_t)fixture.peer_memory);
		assert_int_equal(rdma.rkey, PEER_RKEY);
		fixture_complete(&fixture, IBV_WC_SUCCESS);
		fixture_end(&fixture);
	}
}

/* A text larger than a tutorial peer's region is not sent, not even in part. */
static void a_small_tutorial_region_is_refused(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE, .active = true, .tutorial = true};

	(void)state;
	fixture_start_data(&fixture, sizeof("ours") - 1);
	assert_int_equal(fake_sends(fixture.id), 1);
	assert_int_equal(fixture_events(&fixture), CONNECTION_FINISHED);
	fixture_end(&fixture);
	assert_int_equal(fixture.outcome.kind, FAILURE_PROTOCOL);
	assert_int_equal(explain_status(&fixture.outcome), STATUS_PEER);
	assert_non_null(strstr(fixture.outcome.evidence, "region of 4 bytes is too small"));
}

/* On iWARP the passive end must not send first. */
static void the_passive_side_does_not_send_first(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE};
	struct message region;

	(void)state;
	region = fixture_start_established(&fixture, PEER_MEMORY);
	assert_int_equal(fake_sends(fixture.id), 0);
	fixture_receive(&fixture, &region);
	assert_int_equal(fake_sends(fixture.id), 1);
	fixture_end(&fixture);
}

/* The first message may arrive before the passive end's RDMA_CM_EVENT_ESTABLISHED. */
static void a_message_may_precede_the_established_event(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE};
	struct message region;

	(void)state;
	fixture_start(&fixture);
	region = fixture_peer_region(&fixture, PEER_MEMORY);
	fixture_receive(&fixture, &region);
	assert_int_equal(fake_sends(fixture.id), 1);
	fixture_establish(&fixture);
	assert_int_equal(fake_sends(fixture.id), 1);
	fixture_complete(&fixture, IBV_WC_SUCCESS);
	assert_true(fixture_find_rdma(&fixture, IBV_WR_RDMA_WRITE_WITH_IMM) > 0);
	fixture_end(&fixture);
}

static void data_waits_for_msg_done_of_a_tutorial_peer(void **state)
{
	struct fixture fixture = {.mode = MODE_READ, .active = true, .tutorial = true};

	(void)state;
	fixture_exchange_regions(&fixture, PEER_MEMORY);
	assert_int_equal(fake_sends(fixture.id), 1);
	fixture_receive(&fixture, &(struct message){.type = MSG_DONE});
	assert_int_equal(fake_sends(fixture.id), 3);
	fixture_end(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(exchanges_succeed_in_all_modes_and_roles_with_both_peers),
		with_fixture(a_counted_client_has_no_transcript),
		with_fixture(a_counted_client_with_the_secret_has_a_transcript),
		with_fixture(tutorial_done_is_fenced_behind_a_read),
		with_fixture(messages_have_the_right_contents),
		with_fixture(the_first_message_names_our_file),
		with_fixture(tutorial_rdma_uses_the_announced_region),
		with_fixture(a_small_tutorial_region_is_refused),
		with_fixture(the_passive_side_does_not_send_first),
		with_fixture(a_message_may_precede_the_established_event),
		with_fixture(data_waits_for_msg_done_of_a_tutorial_peer),
	};

	return cmocka_run_group_tests_name("post", tests, NULL, NULL);
}
