/* What the CQ thread posts, and when, on a made-up device, with a peer that the test plays. */
#include <string.h>

#include "rig.h"

static const struct message verified = {.type = MSG_VERDICT, .verdict = VERDICT_VERIFIED};

/* Runs the test for each mode, each role, and with both kinds of peer. */
static void for_each_rig(void (*test)(struct rig *rig))
{
	for (unsigned int i = 0; i < 8; i++) {
		struct rig rig = {.mode = i & 1, .active = i & 2, .tutorial = i & 4};

		test(&rig);
	}
}

static void exchange_well(struct rig *rig)
{
	static const char data[] = "the peer's";

	memcpy(rig->peer_memory, data, sizeof(data));
	rig_start_data(rig, REGION_SIZE);
	rig_exchange_data(rig, data, sizeof(data));
	if (!rig->tutorial) {
		rig_complete(rig, IBV_WC_SUCCESS);
		rig_hear(rig, &verified);
	}
	/* Only the active end knows by itself that it is over; a tutorial peer disconnects. */
	assert_int_equal(rig_notes(rig), rig->active && !rig->tutorial ? CONNECTION_FINISHED : 0);
	rig_close(rig, NULL);
	assert_false(failure_is_set(&rig->outcome));
	if (rig->mode == MODE_WRITE)
		assert_string_equal((char *)rig->peer_memory, "ours");
	assert_int_equal(fake_sends(rig->id), rig->tutorial ? SEND_VERDICT : SENDS_ALL);
	rig_stop(rig);
	assert_non_null(strstr(rig->printed, "remote buffer: the peer's\n"));
	assert_non_null(strstr(rig->printed, rig->mode == MODE_WRITE
						     ? "writing message to remote memory...\n"
						     : "reading message from remote memory...\n"));
}

static void exchanges_in_both_modes_roles_and_with_both_peers(void **state)
{
	(void)state;
	for_each_rig(exchange_well);
}

/* MSG_DONE is posted behind the RDMA operation, with a fence where it could overtake it. */
static void chain_done_behind_rdma(struct rig *rig)
{
	struct fake_send rdma, done;

	rig_start_data(rig, REGION_SIZE);
	assert_int_equal(fake_sends(rig->id), SEND_VERDICT);
	rdma = fake_send(rig->id, SEND_RDMA);
	done = fake_send(rig->id, SEND_DONE);
	assert_int_equal(rdma.call, done.call);
	assert_int_equal(
		rdma.opcode, rig->mode == MODE_READ ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE);
	assert_int_equal(rdma.flags, IBV_SEND_SIGNALED);
	assert_int_equal(done.opcode, IBV_WR_SEND);
	assert_int_equal(done.flags,
		IBV_SEND_SIGNALED | (rig->mode == MODE_READ ? (unsigned int)IBV_SEND_FENCE : 0));
	assert_int_equal(rig_sent(rig, SEND_DONE).type, MSG_DONE);
	rig_close(rig, NULL);
	rig_stop(rig);
}

static void done_is_fenced_where_it_could_overtake(void **state)
{
	(void)state;
	for_each_rig(chain_done_behind_rdma);
}

static void every_send_is_signaled(void **state)
{
	struct rig rig = {.mode = MODE_WRITE, .active = true};

	(void)state;
	rig_start_data(&rig, REGION_SIZE);
	rig_exchange_data(&rig, "x", 2);
	for (unsigned int i = 0; i < SENDS_ALL; i++)
		assert_true(fake_send(rig.id, i).flags & IBV_SEND_SIGNALED);
	rig_close(&rig, NULL);
	rig_stop(&rig);
}

/* What our messages say, byte for byte where it matters. */
static void say_what_is_true(struct rig *rig)
{
	struct message region, done;
	struct digest digest = digest_of("ours", sizeof("ours"));
	uint8_t to_tutorial[MESSAGE_SIZE] = {MSG_DONE};
	const struct ibv_mr *mr;
	int access;

	rig_start_data(rig, REGION_SIZE);
	region = rig_sent(rig, SEND_MR);
	mr = fake_region(region.rkey, &access);
	assert_true(mr && mr->rkey == region.rkey);
	assert_int_equal(region.address, (uintptr_t)mr->addr);
	assert_int_equal(region.length, mr->length);
	assert_int_equal(region.length, REGION_SIZE);
	done = rig_sent(rig, SEND_DONE);
	if (rig->tutorial) {
		assert_memory_equal(fake_send(rig->id, SEND_DONE).bytes, to_tutorial, MESSAGE_SIZE);
	} else {
		assert_int_equal(done.length, sizeof("ours"));
		assert_true(digest_equal(&done.digest, &digest));
	}
	rig_close(rig, NULL);
	rig_stop(rig);
}

static void messages_say_what_is_true(void **state)
{
	(void)state;
	for_each_rig(say_what_is_true);
}

/* The RDMA operation goes where the peer's MSG_MR said, and is no longer than both ends allow. */
static void rdma_is_as_agreed(void **state)
{
	static const struct {
		enum mode_number mode;
		uint64_t peer_length;
		uint32_t length;
	} cases[] = {
		{MODE_WRITE, sizeof("ours"), sizeof("ours")},
		{MODE_WRITE, REGION_SIZE, sizeof("ours")},
		{MODE_WRITE, UINT32_MAX, sizeof("ours")},
		{MODE_READ, 1, 1},
		{MODE_READ, REGION_SIZE - 1, REGION_SIZE - 1},
		{MODE_READ, REGION_SIZE, REGION_SIZE},
		{MODE_READ, REGION_SIZE + 1, REGION_SIZE},
		{MODE_READ, (uint64_t)UINT32_MAX + 1, REGION_SIZE},
		{MODE_READ, (uint64_t)1 << 62, REGION_SIZE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rig rig = {.mode = cases[i].mode, .active = true};
		struct fake_send rdma;

		rig_start_data(&rig, cases[i].peer_length);
		rdma = fake_send(rig.id, SEND_RDMA);
		assert_int_equal(rdma.piece.length, cases[i].length);
		assert_int_equal(rdma.remote_address, (uintptr_t)rig.peer_memory);
		assert_int_equal(rdma.rkey, PEER_RKEY);
		rig_complete(&rig, IBV_WC_SUCCESS);
		rig_close(&rig, NULL);
		rig_stop(&rig);
	}
}

/* Data that does not fit the peer's region is not sent, not even in part. */
static void a_region_too_small_is_refused(void **state)
{
	struct rig rig = {.mode = MODE_WRITE, .active = true};

	(void)state;
	rig_start_data(&rig, sizeof("ours") - 1);
	assert_int_equal(fake_sends(rig.id), SEND_RDMA);
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
	region = rig_peer_region(&rig, REGION_SIZE);
	rig_establish(&rig);
	assert_int_equal(fake_sends(rig.id), 0);
	rig_hear(&rig, &region);
	assert_int_equal(fake_sends(rig.id), 1);
	rig_close(&rig, NULL);
	rig_stop(&rig);
}

/* The first message may come before rdmacm reports the connection. */
static void a_message_may_come_before_the_connection_is_reported(void **state)
{
	(void)state;
	for (unsigned int active = 0; active < 2; active++) {
		struct rig rig = {.mode = MODE_WRITE, .active = active};
		struct message region;

		rig_start(&rig);
		region = rig_peer_region(&rig, REGION_SIZE);
		rig_hear(&rig, &region);
		assert_int_equal(fake_sends(rig.id), !active);
		rig_establish(&rig);
		assert_int_equal(fake_sends(rig.id), 1);
		rig_complete(&rig, IBV_WC_SUCCESS);
		assert_int_equal(fake_sends(rig.id), SEND_VERDICT);
		rig_close(&rig, NULL);
		rig_stop(&rig);
	}
}

static void data_waits_for_a_tutorial_peers_done(void **state)
{
	struct rig rig = {.mode = MODE_READ, .active = true, .tutorial = true};

	(void)state;
	rig_exchange_regions(&rig, REGION_SIZE);
	assert_int_equal(fake_sends(rig.id), SEND_RDMA);
	rig_hear(&rig, &(struct message){.type = MSG_DONE});
	assert_int_equal(fake_sends(rig.id), SEND_VERDICT);
	rig_close(&rig, NULL);
	rig_stop(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_rig(exchanges_in_both_modes_roles_and_with_both_peers),
		with_rig(done_is_fenced_where_it_could_overtake),
		with_rig(every_send_is_signaled),
		with_rig(messages_say_what_is_true),
		with_rig(rdma_is_as_agreed),
		with_rig(a_region_too_small_is_refused),
		with_rig(the_passive_end_waits),
		with_rig(a_message_may_come_before_the_connection_is_reported),
		with_rig(data_waits_for_a_tutorial_peers_done),
	};

	return cmocka_run_group_tests_name("posting", tests, NULL, NULL);
}
