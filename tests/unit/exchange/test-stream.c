/* Streams between two ends on the fake device. The device executes work requests in any order that
 * a connection allows and aborts on a violation. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "tests/unit/exchange/pair.h"

static const struct failure none;

/* Boundary sizes for the rings and chunks below. */
static const uint64_t sizes[] = {
	0, 1, 999, 1000, 1001, 1024, 1025, 4095, 4096, 4097, 8191, 8192, 8193, 50000};

/* What one end sends and the other must receive. */
struct stream {
	int file;
	char path[32];
	struct digest digest;
	uint64_t size;
};

static void make_stream(
	struct stream *stream, struct fixture *from, uint64_t size, unsigned int seed)
{
	stream->size = size;
	stream->file = pair_file(size, seed, stream->path, &stream->digest);
	from->input = stream->path;
}

/* Checks the line printed for a received stream without an output file. */
static void expect_printed(const struct fixture *fixture, const struct stream *stream)
{
	char digest[DIGEST_TEXT_SIZE], line[128], count[UNITS_TEXT];

	if (stream->size <= SINK_TEXT_SIZE)
		return;
	digest_text(digest, &stream->digest);
	snprintf(line, sizeof(line), "remote buffer: %s bytes, XXH3 %s\n",
		units_format_count(count, stream->size), digest);
	if (!strstr(fixture->printed, line))
		fail_msg("'%s' is missing in '%s'", line, fixture->printed);
}

/* Runs the pair until the exchange is over and checks that both ends succeeded. */
static void expect_exchange(struct pair *pair)
{
	pair_start(pair);
	pair_run(pair);
	assert_int_equal(fixture_events(&pair->active) & CONNECTION_FINISHED, CONNECTION_FINISHED);
	assert_int_equal(fixture_events(&pair->passive) & CONNECTION_FINISHED, 0);
	pair_close(pair);
	pair_stop(pair);
	if (failure_is_set(&pair->active.outcome))
		fail_msg("active: %s", pair->active.outcome.evidence);
	if (failure_is_set(&pair->passive.outcome))
		fail_msg("passive: %s", pair->passive.outcome.evidence);
}

static void any_size_arrives_in_both_directions(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < COUNT(sizes) * MODE_COUNT * 2; i++) {
		uint64_t size = sizes[i / 2 / MODE_COUNT], other = sizes[7UL * i % COUNT(sizes)];
		struct pair pair = {.chance = i};
		struct stream up, down;

		pair.active.mode = i % MODE_COUNT;
		pair.active.transport = i & 2 ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
		pair.active.buffer = pair.passive.buffer = 8192;
		pair.active.chunk = pair.passive.chunk = 1000;
		make_stream(&up, &pair.active, size, i);
		make_stream(&down, &pair.passive, other, ~i);
		expect_exchange(&pair);
		expect_printed(&pair.active, &up);
		expect_printed(&pair.active, &down);
		close(up.file);
		close(down.file);
	}
}

/* Any combination of buffer, chunk and depth at the two ends works. */
static void any_two_ring_sizes_work_together(void **state)
{
	static const uint64_t buffers[] = {8192, 16384, 24576, 65536};
	static const uint32_t chunks[] = {512, 700, 1000, 2048, 4096, 65536};
	static const uint32_t depths[] = {1, 2, 3, 5, 16, 0};

	(void)state;
	for (unsigned int i = 0; i < 64; i++) {
		struct pair pair = {.chance = i};
		struct fixture *ends[] = {&pair.active, &pair.passive};
		struct stream streams[2];
		unsigned int dice = i;

		pair.active.mode = i % MODE_COUNT;
		pair.active.transport = i & 2 ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
		for (unsigned int end = 0; end < 2; end++) {
			ends[end]->buffer = buffers[pair_dice(&dice) % COUNT(buffers)];
			ends[end]->chunk = chunks[pair_dice(&dice) % COUNT(chunks)];
			ends[end]->depth = depths[pair_dice(&dice) % COUNT(depths)];
			ends[end]->reads = (uint8_t)(pair_dice(&dice) % 4 + 1);
			make_stream(&streams[end], ends[end], pair_dice(&dice) * 2ULL, i);
		}
		expect_exchange(&pair);
		for (unsigned int end = 0; end < 2; end++) {
			expect_printed(&pair.active, &streams[end]);
			close(streams[end].file);
		}
	}
}

/* Checks the order and the signaling of all sends of one end. */
static void check_sends(struct fixture *fixture, bool writes, unsigned int *signaled)
{
	int done = fixture_find(fixture, MSG_DONE), verdict = fixture_find(fixture, MSG_VERDICT);
	uint64_t announced = 0;

	assert_int_equal(fixture_find(fixture, MSG_MR), 0);
	assert_true(done > 0 && verdict > done);
	*signaled = 0;
	for (unsigned int i = 0; i < fake_sends(fixture->id); i++) {
		struct fake_send send = fake_send(fixture->id, i);
		bool message = send.opcode == IBV_WR_SEND && send.piece.length > 0;
		bool data = writes ? send.opcode == IBV_WR_RDMA_WRITE_WITH_IMM
				   : message && fixture_sent(fixture, i).type == MSG_DATA;

		*signaled += (send.flags & IBV_SEND_SIGNALED) != 0;
		if (!data)
			continue;
		/* Data precedes MSG_DONE, and each announced position is greater than the one
		 * before. */
		assert_true((int)i < done);
		assert_true(
			(writes ? send.immediate : fixture_sent(fixture, i).length) > announced);
		announced = writes ? send.immediate : fixture_sent(fixture, i).length;
	}
	assert_int_equal(fixture_sent(fixture, (unsigned int)done).length, announced);
	assert_int_equal(fixture_count(fixture, MSG_MR), 1);
	assert_int_equal(fixture_count(fixture, MSG_DONE), 1);
	assert_int_equal(fixture_count(fixture, MSG_VERDICT), 1);
	assert_int_equal(fixture_count(fixture, MSG_ABORT), 0);
	assert_int_equal(verdict, fake_sends(fixture->id) - 1);
}

static void sends_are_in_order_and_mostly_unsignaled(void **state)
{
	(void)state;
	for (unsigned int mode = 0; mode < MODE_COUNT; mode++) {
		struct pair pair = {.chance = mode, .active = {.mode = mode}};
		struct fixture *ends[] = {&pair.active, &pair.passive};
		struct stream streams[2];
		unsigned int signaled;

		for (unsigned int end = 0; end < 2; end++) {
			make_stream(&streams[end], ends[end], 60000, end);
			ends[end]->chunk = 512;
			ends[end]->depth = 16;
		}
		pair_start(&pair);
		pair_run(&pair);
		for (unsigned int end = 0; end < 2; end++) {
			check_sends(ends[end], mode == MODE_WRITE, &signaled);
			/* All READs are signaled. */
			assert_true(mode == MODE_READ || signaled * 2 < fake_sends(ends[end]->id));
		}
		pair_close(&pair);
		pair_stop(&pair);
		close(streams[0].file);
		close(streams[1].file);
	}
}

/* One end sends its text, the other a file, which may be as small as a text. */
static void a_text_and_a_file_can_be_exchanged(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		struct pair pair = {.chance = i, .active = {.mode = i % MODE_COUNT}};
		struct fixture *sender = i & 2 ? &pair.active : &pair.passive;
		struct stream stream;

		make_stream(&stream, sender, i & 4 ? 10 : 50000, i);
		expect_exchange(&pair);
		expect_printed(&pair.active, &stream);
		assert_non_null(strstr(pair.active.printed, "remote buffer: ours\n"));
		close(stream.file);
	}
}

/* An output file receives the stream, and the text is not printed. */
static void an_output_file_contains_the_stream(void **state)
{
	static const uint64_t lengths[] = {0, 1, 1024, 5000, 70000};

	(void)state;
	for (unsigned int i = 0; i < COUNT(lengths) * 4; i++) {
		struct pair pair = {.chance = i, .active = {.mode = i % MODE_COUNT}};
		struct fixture *sender = i & 2 ? &pair.active : &pair.passive;
		struct fixture *receiver = i & 2 ? &pair.passive : &pair.active;
		char folder[] = "/tmp/test-stream.XXXXXX", output[64];
		static uint8_t bytes[100000];
		struct stream stream;
		struct digest kept;
		FILE *file;
		size_t size;

		assert_non_null(mkdtemp(folder));
		snprintf(output, sizeof(output), "%s/kept", folder);
		make_stream(&stream, sender, lengths[i / 4], i);
		receiver->output_path = output;
		expect_exchange(&pair);
		file = fopen(output, "re");
		assert_non_null(file);
		size = fread(bytes, 1, sizeof(bytes), file);
		fclose(file);
		kept = digest_of(bytes, size);
		assert_int_equal(size, stream.size);
		assert_true(digest_equal(&kept, &stream.digest));
		close(stream.file);
		assert_int_equal(unlink(output) || rmdir(folder), 0);
	}
}

/* Positions exceed 32 bits. The input is sparse, so only the written places are compared. */
static void a_stream_may_exceed_4_gib(void **state)
{
	static const uint64_t size = ((uint64_t)1 << 32) + 1000000;
	const uint64_t places[] = {0, INT32_MAX - 1, UINT32_MAX - 1, size - 4};

	(void)state;
	if (getenv("EMULATOR")) {
		print_message("skipped: an emulator needs many minutes for so much data\n");
		skip();
	}
	for (unsigned int mode = 0; mode < MODE_COUNT; mode++) {
		struct pair pair = {.chance = mode, .active = {.mode = mode}};
		struct fixture *sender = mode == MODE_WRITE ? &pair.active : &pair.passive;
		struct fixture *receiver = mode == MODE_WRITE ? &pair.passive : &pair.active;
		char folder[] = "/tmp/test-stream.XXXXXX", output[64], input[32], bytes[4];
		int file = memfd_create("input", MFD_CLOEXEC), kept;
		struct stat status;

		assert_int_equal(ftruncate(file, (off_t)size), 0);
		for (size_t i = 0; i < COUNT(places); i++)
			assert_int_equal(pwrite(file, "data", 4, (off_t)places[i]), 4);
		pair_age(file);
		snprintf(input, sizeof(input), "/proc/self/fd/%d", file);
		assert_non_null(mkdtemp(folder));
		snprintf(output, sizeof(output), "%s/kept", folder);
		sender->input = input;
		receiver->output_path = output;
		pair.active.buffer = pair.passive.buffer = 16 << 20;
		pair.active.chunk = pair.passive.chunk = 1 << 20;
		expect_exchange(&pair);
		kept = open(output, O_RDONLY | O_CLOEXEC);
		assert_int_equal(fstat(kept, &status), 0);
		assert_int_equal(status.st_size, size);
		for (size_t i = 0; i < COUNT(places); i++) {
			assert_int_equal(pread(kept, bytes, 4, (off_t)places[i]), 4);
			assert_memory_equal(bytes, "data", 4);
		}
		close(file);
		close(kept);
		assert_int_equal(unlink(output) || rmdir(folder), 0);
	}
}

/* The verdict includes the state of the output file, so it is sent only after that is complete. */
static void the_verdict_waits_for_the_output(void **state)
{
	(void)state;
	for (unsigned int mode = 0; mode < MODE_COUNT; mode++) {
		struct pair pair = {.active = {.mode = mode}, .passive = {.output_path = "fifo"}};
		char folder[] = "/tmp/test-stream.XXXXXX", taken[16];
		int reader;

		assert_non_null(mkdtemp(folder));
		assert_int_equal(chdir(folder) || mkfifo("fifo", 0600), 0);
		pair_start(&pair);
		/* The FIFO has no reader, so the passive end cannot even open it. */
		pair_run(&pair);
		assert_true(fixture_find(&pair.active, MSG_VERDICT) >= 0);
		assert_int_equal(fixture_find(&pair.passive, MSG_VERDICT), -1);
		assert_int_equal(fixture_events(&pair.active) & CONNECTION_FINISHED, 0);
		reader = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		while (fixture_find(&pair.passive, MSG_VERDICT) < 0)
			fake_settle();
		assert_int_equal(read(reader, taken, sizeof(taken)), sizeof("ours"));
		close(reader);
		pair_run(&pair);
		pair_close(&pair);
		pair_stop(&pair);
		assert_false(failure_is_set(&pair.active.outcome));
		assert_false(failure_is_set(&pair.passive.outcome));
		assert_int_equal(unlink("fifo") || chdir("/") || rmdir(folder), 0);
	}
}

/* Progress counts streams, not the messages of an end that sends no more. */
static void progress_is_counted(void **state)
{
	struct pair pair = {.active = {.mode = MODE_WRITE}};
	struct stream stream;
	struct progress_state now;
	uint64_t before = 0;

	(void)state;
	make_stream(&stream, &pair.active, 50000, 1);
	pair.active.chunk = pair.passive.chunk = 1000;
	pair_start(&pair);
	do {
		now = connection_progress(pair.active.connection);
		assert_int_equal(now.total, 50000);
		assert_in_range(now.moved, before, now.total);
		before = now.moved;
	} while (pair_step(&pair, 10));
	assert_int_equal(now.moved, now.total);
	assert_int_equal(now.there, 0);
	assert_false(now.checking);
	assert_int_equal(now.file, 0);
	pair_close(&pair);
	pair_stop(&pair);
	close(stream.file);
}

/* The plans of an end that sends or stores a file. */
#define SENDS  (HELLO_PLANS | HELLO_RESUMES | HELLO_SENDS_DATA | HELLO_SENDS_FILE)
#define STORES (HELLO_PLANS | HELLO_RESUMES | HELLO_TAKES_FILE | HELLO_WANTS_DATA)

/* Stores a copy of the stream's data, with this byte changed unless it is beyond the end. */
static void store_copy(const char *path, const struct stream *stream, size_t changed)
{
	uint8_t *data = malloc(stream->size);
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(data && file >= 0);
	assert_int_equal(pread(stream->file, data, stream->size, 0), stream->size);
	if (changed < stream->size)
		data[changed] ^= 1;
	assert_int_equal(write(file, data, stream->size), stream->size);
	close(file);
	free(data);
}

static void assert_same_file(const char *path, const struct stream *stream)
{
	uint8_t *data = malloc(stream->size + 1);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	struct digest digest;

	assert_true(data && file >= 0);
	assert_int_equal(read(file, data, stream->size + 1), stream->size);
	digest = digest_of(data, stream->size);
	assert_true(digest_equal(&digest, &stream->digest));
	close(file);
	free(data);
}

/*
 * All of the file was there, or none of it. What resumes is told once, of the peer if it is asked
 * for.
 */
static void check_progress(struct connection *connection, bool there, bool with_peer)
{
	struct progress_state now = connection_progress(connection);

	assert_int_equal(now.moved, there ? 0 : 50000);
	assert_int_equal(now.there, there ? 50000 : 0);
	assert_int_equal(now.total, 50000);
	assert_false(now.checking);
	assert_int_equal(connection_take_resumed(connection, with_peer, &now), there);
	assert_int_equal(*now.peer != '\0', there && with_peer);
	assert_false(connection_take_resumed(connection, with_peer, &now));
}

/*
 * The receiver has nothing, the same file or a different one of the same size. i selects the mode
 * and which end sends.
 */
static void a_file_that_is_there_is_not_sent_again(void **state)
{
	char output[] = "/tmp/test-stream.XXXXXX";
	int made = mkstemp(output);

	(void)state;
	assert_true(made >= 0);
	close(made);
	for (unsigned int i = 0; i < 12; i++) {
		struct pair pair = {.chance = i, .active = {.mode = i % MODE_COUNT}};
		struct fixture *sender = i & 2 ? &pair.passive : &pair.active;
		struct fixture *receiver = i & 2 ? &pair.active : &pair.passive;
		struct stream stream;

		make_stream(&stream, sender, 50000, i);
		sender->plans = SENDS;
		receiver->plans = STORES;
		receiver->output_path = output;
		if (i / 4 == 0)
			unlink(output);
		else
			store_copy(output, &stream, i / 4 == 1 ? SIZE_MAX : 49999);
		pair_start(&pair);
		pair_run(&pair);
		assert_int_equal(fixture_count(receiver, MSG_HAVE), 1);
		assert_int_equal(fixture_count(sender, MSG_START), 1);
		assert_int_equal(fixture_last(receiver, MSG_HAVE).length, i / 4 ? 50000 : 0);
		assert_int_equal(fixture_last(sender, MSG_START).length, i / 4 == 1 ? 50000 : 0);
		if (i / 4 < 2) {
			check_progress(pair.active.connection, i / 4 == 1, false);
			check_progress(pair.passive.connection, i / 4 == 1, true);
		}
		pair_close(&pair);
		connection_report(pair.active.connection, &none, NULL, false);
		connection_report(pair.passive.connection, &none, NULL, false);
		pair_stop(&pair);
		/* Both ends print to the same output. */
		if (i / 4 == 2) {
			assert_int_equal(receiver->outcome.kind, FAILURE_FILE);
			assert_int_equal(sender->outcome.kind, FAILURE_ABORTED);
			assert_non_null(strstr(sender->outcome.evidence, "File exists"));
		} else {
			assert_false(failure_is_set(&pair.active.outcome));
			assert_false(failure_is_set(&pair.passive.outcome));
			assert_same_file(output, &stream);
			assert_int_equal(
				strstr(pair.active.printed, "\nalready there: ") != NULL, i / 4);
		}
		close(stream.file);
	}
	unlink(output);
}

/* Time and rate of a file that may resume begin when both ends know from where. */
static void the_check_of_what_is_there_is_timed_apart(void **state)
{
	char output[] = "/tmp/test-stream.XXXXXX";
	static const char wanted[] = " in 500 ms, 100.0 kB/s, after a check of 1.5 s, verified, ";
	int made = mkstemp(output);

	(void)state;
	assert_true(made >= 0 && unlink(output) == 0);
	close(made);
	for (unsigned int end = 0; end < 2; end++) {
		struct pair pair = {.chance = end, .active = {.mode = MODE_WRITE}};
		struct fixture *sender = end ? &pair.passive : &pair.active;
		struct fixture *receiver = end ? &pair.active : &pair.passive;
		bool checked = false, moved = false;
		struct progress_state here, there;
		struct stream stream;

		make_stream(&stream, sender, 50000, 1);
		sender->plans = SENDS;
		receiver->plans = STORES;
		receiver->output_path = output;
		pair_start(&pair);
		do {
			here = connection_progress(sender->connection);
			there = connection_progress(receiver->connection);
			if (here.checking && there.checking && !checked)
				fake_pass(1500);
			else if (there.moved > 0 && !moved)
				fake_pass(500);
			checked |= here.checking && there.checking;
			moved |= there.moved > 0;
		} while (pair_step(&pair, 1));
		assert_true(checked && moved);
		pair_close(&pair);
		connection_report(pair.active.connection, &none, NULL, false);
		connection_report(pair.passive.connection, &none, NULL, false);
		pair_stop(&pair);
		for (unsigned int sent = 0; sent < 2; sent++) {
			const char *line =
				strstr(pair.active.printed, sent ? "\nsent " : "\nreceived ");

			assert_non_null(line);
			line = strstr(line, " in ");
			assert_int_equal(strncmp(line, wanted, strlen(wanted)), 0);
		}
		unlink(output);
		close(stream.file);
	}
}

/* The report at the end covers streams but not texts, and is also printed as JSON. */
static void the_end_is_reported(void **state)
{
	struct pair pair = {.active = {.mode = MODE_WRITE}};
	char digest[DIGEST_TEXT_SIZE], expected[128];
	struct stream stream;

	(void)state;
	make_stream(&stream, &pair.active, 50000, 1);
	pair_start(&pair);
	pair_run(&pair);
	fake_pass(2000);
	pair_close(&pair);
	connection_report(pair.active.connection, &none, NULL, true);
	connection_report(pair.passive.connection, &none, NULL, false);
	pair_stop(&pair);
	digest_text(digest, &stream.digest);
	snprintf(expected, sizeof(expected), ", XXH3 %s", digest);
	assert_non_null(strstr(pair.active.printed, "\nsent "));
	assert_non_null(strstr(pair.active.printed, "\ndiscarded data from "));
	assert_non_null(strstr(pair.active.printed, ": 50,000 bytes"));
	assert_non_null(strstr(pair.active.printed, expected));
	assert_null(strstr(pair.active.printed, ": 5 bytes"));
	assert_non_null(strstr(pair.active.printed, "\"device\":\"fake0\""));
	close(stream.file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(any_size_arrives_in_both_directions),
		with_fixture(any_two_ring_sizes_work_together),
		with_fixture(sends_are_in_order_and_mostly_unsignaled),
		with_fixture(a_text_and_a_file_can_be_exchanged),
		with_fixture(an_output_file_contains_the_stream),
		with_fixture(a_stream_may_exceed_4_gib),
		with_fixture(the_verdict_waits_for_the_output),
		with_fixture(progress_is_counted),
		with_fixture(a_file_that_is_there_is_not_sent_again),
		with_fixture(the_check_of_what_is_there_is_timed_apart),
		with_fixture(the_end_is_reported),
	};

	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
