/* What the CQ thread posts, and when, on a made-up device, with a peer that the test plays. */
#include <string.h>

#include "rig.h"

static const struct message verified = {.type = MSG_VERDICT, .verdict = VERDICT_VERIFIED};

static void exchange_well(struct rig *rig)
{
	static const char tutorial[] = "a tutorial's";
	const char *data = rig->tutorial ? tutorial : PEER_TEXT;
	size_t size = rig->tutorial ? sizeof(tutorial) : sizeof(PEER_TEXT);

	memcpy(rig->peer_memory, data, size);
	rig_start_data(rig, PEER_MEMORY);
	rig_exchange_data(rig, data, size);
	if (!rig->tutorial) {
		rig_complete_all(rig);
		rig_hear(rig, &verified);
	}
	/* Only the active end knows by itself that it is over; a tutorial peer disconnects. */
	assert_int_equal(rig_notes(rig), rig->active && !rig->tutorial ? CONNECTION_FINISHED : 0);
	rig_close(rig, NULL);
	assert_false(failure_is_set(&rig->outcome));
	if (rig->mode == MODE_WRITE)
		assert_string_equal((char *)rig->peer_memory, "ours");
	assert_int_equal(rig_count(rig, MSG_VERDICT), !rig->tutorial);
	rig_stop(rig);
	assert_non_null(strstr(rig->printed, "remote buffer: "));
	assert_non_null(strstr(rig->printed, data));
	assert_non_null(strstr(rig->printed, rig->mode == MODE_WRITE
						     ? "writing message to remote memory...\n"
						     : "reading message from remote memory...\n"));
}

static void exchanges_in_both_modes_roles_and_with_both_peers(void **state)
{
	(void)state;
	for_each_rig(true, exchange_well);
}

/* What the tutorial's programs do: MSG_MR, one WRITE or READ, MSG_DONE, fenced behind a READ. */
static void tutorial_done_is_fenced_where_it_could_overtake(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct rig rig = {.mode = i & 1, .active = i & 2, .tutorial = true};
		struct fake_send rdma, done;
		unsigned int fence = rig.mode == MODE_READ ? IBV_SEND_FENCE : 0;

		rig_start_data(&rig, PEER_MEMORY);
		assert_int_equal(fake_sends(rig.id), 3);
		rdma = fake_send(rig.id, 1);
		done = fake_send(rig.id, 2);
		assert_int_equal(
			rdma.opcode, rig.mode == MODE_READ ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE);
		assert_int_equal(rdma.flags, IBV_SEND_SIGNALED);
		assert_int_equal(done.opcode, IBV_WR_SEND);
		assert_int_equal(done.flags, IBV_SEND_SIGNALED | fence);
		assert_int_equal(rig_sent(&rig, 2).type, MSG_DONE);
		rig_close(&rig, NULL);
		rig_stop(&rig);
	}
}

/* What our messages say, byte for byte where it matters. */
static void say_what_is_true(struct rig *rig)
{
	struct message region, done;
	struct digest digest = digest_of("ours", sizeof("ours"));
	uint8_t to_tutorial[MESSAGE_SIZE] = {MSG_DONE};
	const struct ibv_mr *mr;
	int access;

	rig_start_data(rig, PEER_MEMORY);
	region = rig_sent(rig, 0);
	mr = fake_region(region.rkey, &access);
	assert_true(mr && mr->rkey == region.rkey);
	assert_int_equal(region.address, (uintptr_t)mr->addr);
	assert_int_equal(region.length, mr->length);
	assert_int_equal(region.length, SINK_TEXT_SIZE);
	assert_int_equal(region.text_size, 0);
	done = rig_last(rig, MSG_DONE);
	if (rig->tutorial) {
		assert_int_equal(region.depth, 0);
		assert_memory_equal(fake_send(rig->id, (unsigned int)rig_find(rig, MSG_DONE)).bytes,
			to_tutorial, MESSAGE_SIZE);
	} else {
		assert_true(region.depth > 0);
		assert_int_equal(done.length, sizeof("ours"));
		assert_true(digest_equal(&done.digest, &digest));
	}
	rig_close(rig, NULL);
	rig_stop(rig);
}

static void messages_say_what_is_true(void **state)
{
	(void)state;
	for_each_rig(true, say_what_is_true);
}

/* The peer learns how our file is called, of its path nothing. */
static void the_first_message_names_our_file(void **state)
{
	struct rig rig = {.mode = MODE_WRITE, .active = true, .input = "/proc/self/status"};
	struct message region;

	(void)state;
	rig_start(&rig);
	rig_establish(&rig);
	region = rig_sent(&rig, 0);
	assert_int_equal(region.text_size, strlen("status"));
	assert_memory_equal(region.text, "status", strlen("status"));
	rig_close(&rig, NULL);
	rig_stop(&rig);
}

/* With a tutorial peer: the operation goes where its MSG_MR said, no longer than both ends allow. */
static void tutorial_rdma_is_as_agreed(void **state)
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
		struct rig rig = {.mode = cases[i].mode, .active = true, .tutorial = true};
		struct fake_send rdma;

		rig_start_data(&rig, cases[i].peer_length);
		rdma = fake_send(rig.id, 1);
		assert_int_equal(rdma.piece.length, cases[i].length);
		assert_int_equal(rdma.remote_address, (uintptr_t)rig.peer_memory);
		assert_int_equal(rdma.rkey, PEER_RKEY);
		rig_complete(&rig, IBV_WC_SUCCESS);
		rig_close(&rig, NULL);
		rig_stop(&rig);
	}
}

/* A text that does not fit a tutorial peer's region is not sent, not even in part. */
static void a_tutorial_region_too_small_is_refused(void **state)
{
	struct rig rig = {.mode = MODE_WRITE, .active = true, .tutorial = true};

	(void)state;
	rig_start_data(&rig, sizeof("ours") - 1);
	assert_int_equal(fake_sends(rig.id), 1);
	assert_int_equal(rig_notes(&rig), CONNECTION_FINISHED);
	rig_close(&rig, NULL);
	rig_stop(&rig);
	assert_int_equal(rig.outcome.kind, FAILURE_PROTOCOL);
	assert_int_equal(failure_status(&rig.outcome), STATUS_PEER);
	assert_non_null(strstr(rig.outcome.evidence, "its region has 4 bytes"));
}

/* The passive end may not be the first to send: iWARP. */
static void the_passive_end_waits(void **state)
{
	struct rig rig = {.mode = MODE_WRITE};
	struct message region;

	(void)state;
	rig_start(&rig);
	region = rig_peer_region(&rig, PEER_MEMORY);
	rig_establish(&rig);
	assert_int_equal(fake_sends(rig.id), 0);
	rig_hear(&rig, &region);
	assert_int_equal(fake_sends(rig.id), 1);
	rig_close(&rig, NULL);
	rig_stop(&rig);
}

/* The active end's first message may come before rdmacm reports the connection at the passive one. */
static void a_message_may_come_before_the_connection_is_reported(void **state)
{
	struct rig rig = {.mode = MODE_WRITE};
	struct message region;

	(void)state;
	rig_start(&rig);
	region = rig_peer_region(&rig, PEER_MEMORY);
	rig_hear(&rig, &region);
	assert_int_equal(fake_sends(rig.id), 1);
	rig_establish(&rig);
	assert_int_equal(fake_sends(rig.id), 1);
	rig_complete(&rig, IBV_WC_SUCCESS);
	assert_true(rig_find_rdma(&rig, IBV_WR_RDMA_WRITE_WITH_IMM) > 0);
	rig_close(&rig, NULL);
	rig_stop(&rig);
}

static void data_waits_for_a_tutorial_peers_done(void **state)
{
	struct rig rig = {.mode = MODE_READ, .active = true, .tutorial = true};

	(void)state;
	rig_exchange_regions(&rig, PEER_MEMORY);
	assert_int_equal(fake_sends(rig.id), 1);
	rig_hear(&rig, &(struct message){.type = MSG_DONE});
	assert_int_equal(fake_sends(rig.id), 3);
	rig_close(&rig, NULL);
	rig_stop(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_rig(exchanges_in_both_modes_roles_and_with_both_peers),
		with_rig(tutorial_done_is_fenced_where_it_could_overtake),
		with_rig(messages_say_what_is_true),
		with_rig(the_first_message_names_our_file),
		with_rig(tutorial_rdma_is_as_agreed),
		with_rig(a_tutorial_region_too_small_is_refused),
		with_rig(the_passive_end_waits),
		with_rig(a_message_may_come_before_the_connection_is_reported),
		with_rig(data_waits_for_a_tutorial_peers_done),
	};

	return cmocka_run_group_tests_name("posting", tests, NULL, NULL);
}
