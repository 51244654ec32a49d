/* What the CQ thread posts, and when, on a made-up device, with a peer that the test plays. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pair.h"
#include "rdma-internal.h"

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
		assert_int_equal(rdma.opcode,
			rig.mode == MODE_READ ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE);
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
		assert_memory_equal(
			fake_send(rig->id, (unsigned int)rig_find(rig, MSG_DONE)).bytes,
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

/* Our stream of that many bytes to a peer with that ring and depth. */
static void start_stream(struct rig *rig, char path[32], int *file, uint64_t size, uint64_t ring)
{
	struct digest digest;

	*file = pair_file(size, 1, path, &digest);
	rig->input = path;
	rig_exchange_regions(rig, ring);
}

static void stop_stream(struct rig *rig, int file)
{
	rig_close(rig, NULL);
	rig_stop(rig);
	close(file);
}

static void give_credit(struct rig *rig, uint64_t position, uint64_t pieces)
{
	rig_hear(rig, &(struct message){.type = MSG_CREDIT, .length = position, .pieces = pieces});
}

/*
 * WRITEs go round the peer's ring of 3000 bytes and round ours of 4096 and cross the end of neither;
 * what is not credited is not overwritten; and each tells how far the stream is now.
 */
static void pieces_end_where_a_ring_ends(void **state)
{
	static const uint32_t lengths[] = {1000, 1000, 1000, 1000, 96, 1000, 904};
	struct rig rig = {.mode = MODE_WRITE, .active = true, .buffer = 8192, .chunk = 1000};
	char path[32];
	uint64_t position = 0;
	int file;

	(void)state;
	start_stream(&rig, path, &file, 100000, 3000);
	/* As many as the peer's ring holds. */
	assert_int_equal(fake_sends(rig.id), 4);
	for (unsigned int i = 0; i < COUNT(lengths); i++) {
		struct fake_send write = fake_send(rig.id, i + 1);

		assert_int_equal(write.opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
		assert_int_equal(write.piece.length, lengths[i]);
		assert_int_equal(write.remote_address,
			(uintptr_t)rig.peer_memory + position % 3000);
		assert_int_equal(write.rkey, PEER_RKEY);
		position += lengths[i];
		assert_int_equal(write.immediate, position);
		rig_complete_all(&rig);
		give_credit(&rig, position, i + 1);
	}
	stop_stream(&rig, file);
}

/* Credit for bytes and credit for messages: either holds us back. */
static void nothing_is_sent_without_credit(void **state)
{
	struct rig rig = {.mode = MODE_WRITE, .buffer = 65536, .chunk = 512, .peer_depth = 3};
	char path[32];
	int file;

	(void)state;
	start_stream(&rig, path, &file, 100000, PEER_MEMORY);
	rig_complete_all(&rig);
	assert_int_equal(fake_sends(rig.id), 1 + 3);
	/* Of one message: one more. */
	give_credit(&rig, 0, 1);
	rig_complete_all(&rig);
	assert_int_equal(fake_sends(rig.id), 1 + 4);
	/* Of many, but the ring is full with 8 pieces. */
	for (unsigned int pieces = 2; pieces < 8; pieces++) {
		give_credit(&rig, 0, pieces);
		rig_complete_all(&rig);
	}
	rig_complete_all(&rig);
	assert_int_equal(fake_sends(rig.id), 1 + 8);
	/* A chunk is not cut in two. */
	give_credit(&rig, 511, 8);
	rig_complete_all(&rig);
	assert_int_equal(fake_sends(rig.id), 1 + 8);
	give_credit(&rig, 512, 8);
	rig_complete_all(&rig);
	assert_int_equal(fake_sends(rig.id), 1 + 9);
	stop_stream(&rig, file);
}

/* iWARP has no immediate data: a message follows each WRITE. */
static void iwarp_tells_by_messages(void **state)
{
	struct rig rig = {
		.mode = MODE_WRITE,
		.active = true,
		.transport = IBV_TRANSPORT_IWARP,
		.buffer = 8192,
		.chunk = 1000,
	};
	char path[32];
	int file;

	(void)state;
	start_stream(&rig, path, &file, 100000, PEER_MEMORY);
	for (unsigned int piece = 0; piece < 4; piece++) {
		assert_int_equal(fake_send(rig.id, 2 * piece + 1).opcode, IBV_WR_RDMA_WRITE);
		assert_int_equal(rig_sent(&rig, 2 * piece + 2).type, MSG_DATA);
		assert_int_equal(rig_sent(&rig, 2 * piece + 2).length, 1000 * (piece + 1));
	}
	/* And the rest of the ring. */
	assert_int_equal(rig_sent(&rig, 10).length, PEER_MEMORY);
	assert_int_equal(fake_sends(rig.id), 11);
	stop_stream(&rig, file);
}

/* In read mode we tell of what is in our ring, and put in more when the peer is done with that. */
static void in_read_mode_credit_empties_our_ring(void **state)
{
	struct rig rig = {.mode = MODE_READ, .active = true, .buffer = 8192, .chunk = 1000};
	char path[32];
	uint64_t told;
	int file;

	(void)state;
	start_stream(&rig, path, &file, 100000, PEER_MEMORY);
	rig_complete_all(&rig);
	told = rig_last(&rig, MSG_DATA).length;
	assert_int_equal(told, 4096);
	give_credit(&rig, 1000, rig_count(&rig, MSG_DATA));
	rig_complete_all(&rig);
	assert_int_equal(rig_last(&rig, MSG_DATA).length, 5096);
	assert_int_equal(rig_find_rdma(&rig, IBV_WR_RDMA_WRITE), -1);
	assert_int_equal(rig_find_rdma(&rig, IBV_WR_RDMA_WRITE_WITH_IMM), -1);
	stop_stream(&rig, file);
}

/* READs in flight are as many as agreed, and not longer than a chunk or than there is room. */
static void reads_are_bounded(void **state)
{
	static const uint8_t data[PEER_MEMORY] = {1, 2, 3};

	(void)state;
	for (uint8_t reads = 1; reads <= 3; reads++) {
		struct rig rig = {
			.mode = MODE_READ,
			.active = reads & 1,
			.reads = reads,
			.buffer = 8192,
			.chunk = 600,
			.peer_size = 100000,
		};
		unsigned int before;

		rig_exchange_regions(&rig, PEER_MEMORY);
		rig_complete_all(&rig);
		before = fake_sends(rig.id);
		rig_hear_data(&rig, data, sizeof(data));
		assert_int_equal(fake_sends(rig.id), before + reads);
		for (unsigned int i = 0; i < reads; i++) {
			struct fake_send read = fake_send(rig.id, before + i);

			assert_int_equal(read.opcode, IBV_WR_RDMA_READ);
			assert_int_equal(read.flags, IBV_SEND_SIGNALED);
			assert_int_equal(read.piece.length, 600);
			assert_int_equal(
				read.remote_address, (uintptr_t)rig.peer_memory + 600 * i);
		}
		rig_complete(&rig, IBV_WC_SUCCESS);
		assert_int_equal(fake_send(rig.id, before + reads).opcode, IBV_WR_RDMA_READ);
		rig_complete_all(&rig);
		/* All was read, and the peer knows that it may use its ring again. */
		assert_true(rig_last(&rig, MSG_CREDIT).length >= 3 * PEER_MEMORY / 4);
		rig_close(&rig, NULL);
		rig_stop(&rig);
	}
}

/* What we took in write mode is credited when the sink is done with it, now and then. */
static void credit_is_given_in_parts(void **state)
{
	static const uint8_t data[512] = {1};
	struct rig rig = {
		.mode = MODE_WRITE,
		.active = true,
		.buffer = 8192,
		.chunk = 512,
		.depth = 16,
		.peer_size = 100000,
	};
	struct message credit;

	(void)state;
	rig_exchange_regions(&rig, PEER_MEMORY);
	rig_complete_all(&rig);
	rig_hear_data(&rig, data, sizeof(data));
	rig_complete_all(&rig);
	assert_int_equal(rig_count(&rig, MSG_CREDIT), 0);
	for (unsigned int i = 0; i < 7; i++) {
		rig_hear_data(&rig, data, sizeof(data));
		rig_complete_all(&rig);
	}
	credit = rig_last(&rig, MSG_CREDIT);
	assert_true(credit.length <= sizeof(data) * credit.pieces);
	assert_true(rig_count(&rig, MSG_CREDIT) <= 4);
	stop_stream(&rig, -1);
}

/* Positions have 64 bits, of which immediate data carries 32: as if 4 GiB had gone before. */
static void streams_pass_four_gib(void **state)
{
	static const uint64_t before = ((uint64_t)1 << 32) - 1024;
	static const uint8_t data[2000] = {1};
	struct rig rig = {
		.mode = MODE_WRITE,
		.buffer = 8192,
		.chunk = 512,
		.input = "/dev/zero",
		.peer_size = STREAM_SIZE_UNKNOWN,
	};
	struct connection *connection;
	struct message region;

	(void)state;
	rig_start(&rig);
	connection = rig.connection;
	connection->outgoing_ring.filled = connection->outgoing_ring.freed = before;
	connection->incoming_ring.filled = connection->incoming_ring.freed = before;
	connection->sender.told = connection->sender.credited = connection->signaled = before;
	connection->receiver.told = connection->receiver.arrived = before;
	connection->receiver.credited = rig.told = before;
	region = rig_peer_region(&rig, PEER_MEMORY);
	rig_establish(&rig);
	rig_hear(&rig, &region);
	rig_complete_all(&rig);
	for (unsigned int i = 0; i < 8; i++) {
		struct fake_send write = fake_send(rig.id, i + 1);

		assert_int_equal(write.opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
		assert_int_equal(write.immediate, (uint32_t)(before + 512 * (i + 1)));
		assert_int_equal(write.remote_address,
			(uintptr_t)rig.peer_memory + (before + 512 * i) % PEER_MEMORY);
	}
	give_credit(&rig, before + 512 * 8, 8);
	rig_complete_all(&rig);
	assert_int_equal(rig_find(&rig, MSG_ABORT), -1);
	assert_true(fake_sends(rig.id) > 9);
	rig_hear_data(&rig, data, sizeof(data));
	rig_complete_all(&rig);
	assert_int_equal(rig_find(&rig, MSG_ABORT), -1);
	stop_stream(&rig, -1);
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
		with_rig(pieces_end_where_a_ring_ends),
		with_rig(nothing_is_sent_without_credit),
		with_rig(iwarp_tells_by_messages),
		with_rig(in_read_mode_credit_empties_our_ring),
		with_rig(reads_are_bounded),
		with_rig(credit_is_given_in_parts),
		with_rig(streams_pass_four_gib),
	};

	return cmocka_run_group_tests_name("posting", tests, NULL, NULL);
}
