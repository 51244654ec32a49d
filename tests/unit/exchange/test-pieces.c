/* The pieces of a stream, on the fake device: where they begin and end, when they are announced,
 * and what credit allows. The test plays the peer. */
#include <string.h>
#include <unistd.h>

#include "exchange/internal.h"
#include "tests/unit/exchange/pair.h"

/* Starts a local stream of size bytes to a peer with a ring of `ring` bytes. */
static void start_stream(
	struct fixture *fixture, char path[32], int *file, uint64_t size, uint64_t ring)
{
	struct digest digest;

	*file = pair_file(size, 1, path, &digest);
	fixture->input = path;
	fixture_exchange_regions(fixture, ring);
}

static void stop_stream(struct fixture *fixture, int file)
{
	fixture_end(fixture);
	close(file);
}

static void give_credit(struct fixture *fixture, uint64_t position, uint64_t pieces)
{
	fixture_receive(fixture,
		&(struct message){.type = MSG_CREDIT, .length = position, .pieces = pieces});
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Checks the WRITEs from this work request on, which continue at *position. */
static void check_writes(
	struct fixture *fixture, unsigned int from, uint64_t *position, uint64_t *pieces)
{
	uint64_t ours = fake_send(fixture->id, 1).piece.addr, announced = *position;

	for (unsigned int i = from; i < fake_sends(fixture->id); i++) {
		struct fake_send write = fake_send(fixture->id, i);
		uint64_t to_ends = least(7700 - *position % 7700, 3000 - *position % 3000);
		bool tells = write.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

		assert_true(tells || write.opcode == IBV_WR_RDMA_WRITE);
		assert_int_equal(write.piece.addr, ours + *position % 7700);
		assert_int_equal(write.piece.length, least(700, to_ends));
		assert_int_equal(
			write.remote_address, (uintptr_t)fixture->peer_memory + *position % 3000);
		assert_int_equal(write.rkey, PEER_RKEY);
		*position += write.piece.length;
		if (!tells)
			continue;
		assert_int_equal(write.immediate, *position);
		announced = *position;
		(*pieces)++;
	}
	/* Everything is announced, so the peer does not wait for unannounced data. */
	assert_int_equal(announced, *position);
}

/* WRITEs wrap in the peer's ring of 3000 bytes and in the local ring of 7700, and cross the end of
 * neither. Data without credit is not overwritten. The last WRITE of a batch announces the
 * position. */
static void pieces_end_where_a_ring_ends(void **state)
{
	struct fixture fixture = {.mode = MODE_WRITE, .active = true, .buffer = 8192, .chunk = 700};
	char path[32];
	uint64_t position = 0, pieces = 0;
	unsigned int seen = 1;
	int file;

	(void)state;
	start_stream(&fixture, path, &file, 100000, 3000);
	while (position < 30000) {
		uint64_t credited = position;

		fixture_complete_all(&fixture);
		check_writes(&fixture, seen, &position, &pieces);
		/* The peer's ring is filled, except for less than a chunk, which is not split. */
		assert_in_range(position - credited, 3000 - 700 + 1, 3000);
		seen = fake_sends(fixture.id);
		give_credit(&fixture, position, pieces);
	}
	stop_stream(&fixture, file);
}

/* Returns the bytes written so far, and in *pieces the announcements. */
static uint64_t count_written(struct fixture *fixture, unsigned int *pieces)
{
	uint64_t written = 0;

	fixture_complete_all(fixture);
	*pieces = 0;
	for (unsigned int i = 0; i < fake_sends(fixture->id); i++) {
		struct fake_send send = fake_send(fixture->id, i);

		written += send.opcode == IBV_WR_SEND ? 0 : send.piece.length;
		*pieces += send.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	}
	return written;
}

/* Both credit for bytes and credit for messages limit the sender. The size of a piece depends on
 * how much the source had read by then. */
static void nothing_is_sent_without_credit(void **state)
{
	struct fixture fixture = {
		.mode = MODE_WRITE, .chunk = 1024 / FLOW_TOGETHER, .peer_depth = 3};
	uint64_t chunk = fixture.chunk;
	char path[32];
	unsigned int pieces, credited = 0;
	int file;

	(void)state;
	start_stream(&fixture, path, &file, 100000, PEER_MEMORY);
	/* Credit for one message at a time, until the ring is full. */
	while (count_written(&fixture, &pieces) < PEER_MEMORY) {
		assert_int_equal(pieces, credited + 3);
		give_credit(&fixture, 0, ++credited);
	}
	give_credit(&fixture, 0, pieces);
	assert_int_equal(count_written(&fixture, &pieces), PEER_MEMORY);
	/* A chunk is not split. */
	give_credit(&fixture, chunk - 1, pieces);
	assert_int_equal(count_written(&fixture, &pieces), PEER_MEMORY);
	give_credit(&fixture, chunk, pieces);
	assert_int_equal(count_written(&fixture, &pieces), PEER_MEMORY + chunk);
	stop_stream(&fixture, file);
}

/* iWARP has no immediate data, so a message follows the last WRITE of a piece. */
static void iwarp_announces_pieces_with_messages(void **state)
{
	struct fixture fixture = {
		.mode = MODE_WRITE,
		.active = true,
		.transport = IBV_TRANSPORT_IWARP,
		.chunk = 1000 / FLOW_TOGETHER,
	};
	uint64_t piece = (uint64_t)FLOW_TOGETHER * fixture.chunk, written = 0;
	char path[32];
	unsigned int announced = 0;
	int file;

	(void)state;
	start_stream(&fixture, path, &file, 100000, PEER_MEMORY);
	fixture_complete_all(&fixture);
	for (unsigned int i = 1; i < fake_sends(fixture.id); i++) {
		struct fake_send send = fake_send(fixture.id, i);

		if (send.opcode == IBV_WR_RDMA_WRITE) {
			written += send.piece.length;
			continue;
		}
		assert_int_equal(fixture_sent(&fixture, i).type, MSG_DATA);
		assert_int_equal(fixture_sent(&fixture, i).length, written);
		announced++;
	}
	assert_int_equal(written, PEER_MEMORY);
	assert_int_equal(fixture_last(&fixture, MSG_DATA).length, PEER_MEMORY);
	/* One per piece or per full ring, not one per WRITE. */
	assert_in_range(
		announced, (PEER_MEMORY + piece - 1) / piece, PEER_MEMORY / fixture.chunk + 1);
	stop_stream(&fixture, file);
}

/* In read mode the sender announces what its ring contains and refills it after credit. */
static void credit_frees_the_ring_in_read_mode(void **state)
{
	struct fixture fixture = {.mode = MODE_READ, .active = true, .buffer = 8192, .chunk = 1000};
	char path[32];
	int file;

	(void)state;
	start_stream(&fixture, path, &file, 100000, PEER_MEMORY);
	fixture_complete_all(&fixture);
	assert_int_equal(fixture_last(&fixture, MSG_MR).length, 8000);
	assert_int_equal(fixture_last(&fixture, MSG_DATA).length, 8000);
	give_credit(&fixture, 1000, fixture_count(&fixture, MSG_DATA));
	fixture_complete_all(&fixture);
	assert_int_equal(fixture_last(&fixture, MSG_DATA).length, 9000);
	assert_int_equal(fixture_find_rdma(&fixture, IBV_WR_RDMA_WRITE), -1);
	assert_int_equal(fixture_find_rdma(&fixture, IBV_WR_RDMA_WRITE_WITH_IMM), -1);
	stop_stream(&fixture, file);
}

/* READs in flight are limited to the negotiated number and to a quarter of the peer's ring. The
 * last one is signaled, otherwise its completion would not be noticed. */
static void reads_are_bounded(void **state)
{
	static const uint8_t data[PEER_MEMORY] = {1, 2, 3};
	static const struct {
		uint8_t agreed;
		uint64_t peer_ring;
		unsigned int in_flight;
	} cases[] = {
		{1, 16384, 1}, {2, 16384, 2}, {3, 16384, 3}, {9, 16384, 7}, {9, PEER_MEMORY, 1}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fixture fixture = {
			.mode = MODE_READ,
			.active = i & 1,
			.reads = cases[i].agreed,
			.buffer = 8192,
			.chunk = 600,
			.peer_size = 100000,
		};
		unsigned int before, last;

		fixture_exchange_regions(&fixture, cases[i].peer_ring);
		fixture_complete_all(&fixture);
		before = fake_sends(fixture.id);
		fixture_receive_data(&fixture, data, sizeof(data));
		assert_int_equal(fake_sends(fixture.id), before + cases[i].in_flight);
		last = fake_sends(fixture.id) - 1;
		for (unsigned int read = before; read <= last; read++) {
			struct fake_send send = fake_send(fixture.id, read);

			assert_int_equal(send.opcode, IBV_WR_RDMA_READ);
			assert_int_equal(send.piece.length, read < before + 6 ? 600 : 496);
			assert_int_equal(send.remote_address,
				(uintptr_t)fixture.peer_memory + 600UL * (read - before));
		}
		assert_int_equal(fake_send(fixture.id, last).flags, IBV_SEND_SIGNALED);
		fixture_complete_all(&fixture);
		/* All data was read, and the peer has credit to reuse its ring. */
		assert_in_range(fixture_last(&fixture, MSG_CREDIT).length, 3 * PEER_MEMORY / 4 + 1,
			PEER_MEMORY);
		fixture_end(&fixture);
	}
}

/* In write mode credit is sent after the sink has consumed the data, and not for every piece. */
static void credit_is_given_in_parts(void **state)
{
	static const uint8_t data[512] = {1};
	struct fixture fixture = {
		.mode = MODE_WRITE,
		.active = true,
		.buffer = 8192,
		.chunk = 512,
		.depth = 16,
		.peer_size = 100000,
	};
	struct message credit;

	(void)state;
	fixture_exchange_regions(&fixture, PEER_MEMORY);
	fixture_complete_all(&fixture);
	fixture_receive_data(&fixture, data, sizeof(data));
	fixture_complete_all(&fixture);
	assert_int_equal(fixture_count(&fixture, MSG_CREDIT), 0);
	for (unsigned int i = 0; i < 7; i++) {
		fixture_receive_data(&fixture, data, sizeof(data));
		fixture_complete_all(&fixture);
	}
	credit = fixture_last(&fixture, MSG_CREDIT);
	assert_true(credit.length <= sizeof(data) * credit.pieces);
	assert_true(fixture_count(&fixture, MSG_CREDIT) <= 4);
	fixture_end(&fixture);
}

/* Positions have 64 bits, of which immediate data carries 32. Starts as if nearly 4 GiB had been
 * transferred. */
static void streams_pass_four_gib(void **state)
{
	static const uint64_t before = ((uint64_t)1 << 32) - 512;
	static const uint8_t data[100] = {1};
	struct fixture fixture = {
		.mode = MODE_WRITE,
		.chunk = 512,
		.input = "/dev/zero",
		.depth = 8,
	};
	struct connection *connection;
	struct message region;
	unsigned int pieces = 0;

	(void)state;
	fixture_start(&fixture);
	connection = fixture.connection;
	connection->outgoing_ring.filled = connection->outgoing_ring.freed = before;
	connection->incoming_ring.filled = connection->incoming_ring.freed = before;
	connection->sender.announced = connection->sender.credited = before;
	connection->sender.written = before;
	connection->receiver.announced = connection->receiver.arrived = before;
	connection->receiver.credited = fixture.announced = before;
	region = fixture_peer_region(&fixture, PEER_MEMORY);
	fixture_establish(&fixture);
	fixture_receive(&fixture, &region);
	fixture_complete_all(&fixture);
	for (unsigned int i = 0; i < 8; i++) {
		struct fake_send write = fake_send(fixture.id, i + 1);

		pieces += write.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
		assert_int_equal(write.immediate, (uint32_t)(before + 512UL * (i + 1)));
		assert_int_equal(write.remote_address,
			(uintptr_t)fixture.peer_memory + (before + 512UL * i) % PEER_MEMORY);
	}
	assert_true(pieces > 0);
	give_credit(&fixture, before + 512UL * 8, pieces);
	fixture_complete_all(&fixture);
	assert_int_equal(fixture_find(&fixture, MSG_ABORT), -1);
	assert_true(fake_sends(fixture.id) > 9);
	/* The sink is not involved: it has room for a text and waits for its end. */
	connection->theirs.size = STREAM_SIZE_UNKNOWN;
	for (unsigned int i = 0; i < 8; i++) {
		fixture_receive_data(&fixture, data, sizeof(data));
		fixture_complete_all(&fixture);
	}
	assert_int_equal(connection->receiver.arrived, before + 8 * sizeof(data));
	assert_int_equal(fixture_find(&fixture, MSG_ABORT), -1);
	fixture_end(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(pieces_end_where_a_ring_ends),
		with_fixture(nothing_is_sent_without_credit),
		with_fixture(iwarp_announces_pieces_with_messages),
		with_fixture(credit_frees_the_ring_in_read_mode),
		with_fixture(reads_are_bounded),
		with_fixture(credit_is_given_in_parts),
		with_fixture(streams_pass_four_gib),
	};

	return cmocka_run_group_tests_name("pieces", tests, NULL, NULL);
}
