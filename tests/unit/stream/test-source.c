/* Sources: all data reaches the ring, with its digest. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/common/digest-fixture.h"
#include "tests/unit/stream/source-fixture.h"
#include "tests/unit/unit.h"

/* Whether holes are left out. */
static bool holes;

#define GIB ((uint64_t)1 << 30)

static void puts_a_text_into_the_ring_at_once(void **state)
{
	char why[WORKER_WHY_SIZE];

	(void)state;
	for (size_t size = 0; size <= FEED_RING; size += 16) {
		assert_int_equal(source_open(&feed.source, NULL, feed_data, size, why), 0);
		assert_true(source_is_text(feed.source));
		assert_int_equal(source_size(feed.source), size);
		assert_string_equal(source_name(feed.source), "");
		assert_int_equal(
			source_start(feed.source, &feed.ring, FEED_MOST, 1, &feed.oracle.listener),
			0);
		assert_false(source_is_running(feed.source));
		feed.size = 0;
		while (feed_take())
			;
		feed_assert_sent(feed_data, size);
		source_begin(feed.source);
		source_stop(feed.source);
		source_close(feed.source);
		feed.source = NULL;
		ring_destroy(&feed.ring);
		ring_init(&feed.ring, feed.memory, FEED_RING);
	}
	assert_int_equal(oracle_moved(&feed.oracle), 0);
}

static void sends_files_of_all_sizes(void **state)
{
	static const size_t sizes[] = {1, FEED_MOST - 1, FEED_MOST, FEED_MOST + 1, FEED_RING - 1,
		FEED_RING, FEED_RING + 1, 2 * FEED_RING - 1, 2 * FEED_RING, 2 * FEED_RING + 1,
		5 * FEED_RING + 7, 20 * FEED_RING};

	for (size_t i = 0; i < COUNT(sizes); i++) {
		if (i > 0)
			feed_set_up(state);
		close(feed_make_file("data.bin", sizes[i]));
		feed_open(feed.path);
		assert_int_equal(source_size(feed.source), sizes[i]);
		assert_string_equal(source_name(feed.source), "data.bin");
		feed_run();
		feed_assert_sent(feed_data, sizes[i]);
		if (i + 1 < COUNT(sizes))
			feed_tear_down(state);
	}
}

/* Files in /proc and /sys also report size 0, so only the end of file reveals the size. */
static void sends_an_empty_file(void **state)
{
	(void)state;
	close(feed_make_file("empty", 0));
	feed_open(feed.path);
	assert_int_equal(source_size(feed.source), STREAM_SIZE_UNKNOWN);
	feed_run();
	feed_assert_sent("", 0);
}

static void sends_a_proc_file(void **state)
{
	char version[FEED_DATA];
	FILE *file = fopen("/proc/version", "re");
	size_t size;

	(void)state;
	assert_non_null(file);
	size = fread(version, 1, sizeof(version), file);
	fclose(file);
	assert_in_range(size, 1, sizeof(version) - 1);
	feed_open("/proc/version");
	assert_int_equal(source_size(feed.source), STREAM_SIZE_UNKNOWN);
	assert_string_equal(source_name(feed.source), "version");
	feed_run();
	feed_assert_sent(version, size);
}

static void sends_a_device(void **state)
{
	(void)state;
	feed_path("none");
	feed_open("/dev/null");
	assert_int_equal(source_size(feed.source), STREAM_SIZE_UNKNOWN);
	feed_run();
	feed_assert_sent("", 0);
}

/* As with `( read line; rdma-client --input - ... ) <file`: starts at the offset the shell left. */
static void sends_standard_input_from_its_offset(void **state)
{
	static const size_t offsets[] = {0, 1, 100, FEED_DATA - 1, FEED_DATA};

	for (size_t i = 0; i < COUNT(offsets); i++) {
		size_t left = FEED_DATA - offsets[i];
		int file;

		if (i > 0)
			feed_set_up(state);
		file = feed_make_file("data.bin", FEED_DATA);
		assert_true(lseek(file, (off_t)offsets[i], SEEK_SET) >= 0);
		assert_int_equal(dup2(file, STDIN_FILENO), STDIN_FILENO);
		close(file);
		feed_open("-");
		assert_int_equal(source_size(feed.source), left);
		assert_string_equal(source_name(feed.source), "");
		feed_run();
		feed_assert_sent(feed_data + offsets[i], left);
		if (i + 1 < COUNT(offsets))
			feed_tear_down(state);
	}
}

static void sends_files_beyond_4_gib(void **state)
{
	int file = feed_make_file("sparse", 0);

	(void)state;
	assert_int_equal(pwrite(file, feed_data, 500, (off_t)(5 * GIB)), 500);
	assert_true(lseek(file, (off_t)(5 * GIB), SEEK_SET) >= 0);
	assert_int_equal(dup2(file, STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	feed_open("-");
	assert_int_equal(source_size(feed.source), 5 * GIB + 500);
	assert_int_equal(lseek(file, (off_t)(5 * GIB), SEEK_SET), 5 * GIB);
	source_close(feed.source);
	feed_open("-");
	assert_int_equal(source_size(feed.source), 500);
	close(file);
	feed_run();
	feed_assert_sent(feed_data, 500);
}

/* A producer that pauses between writes of sizes unrelated to the read size. */
static void produce(int descriptor)
{
	uint64_t seed = 1;

	for (size_t at = 0; at < FEED_DATA;) {
		size_t size = (size_t)random_below(&seed, 3 * FEED_MOST) + 1;

		if (size > FEED_DATA - at)
			size = FEED_DATA - at;
		if (random_below(&seed, 4) == 0)
			a_moment();
		if (write(descriptor, feed_data + at, size) != (ssize_t)size)
			break;
		at += size;
	}
}

static void *produce_into_pipe(void *argument)
{
	int descriptor = *(int *)argument;

	produce(descriptor);
	close(descriptor);
	return NULL;
}

static void *produce_into_fifo(void *argument)
{
	int descriptor = open(argument, O_WRONLY | O_CLOEXEC);

	produce(descriptor);
	close(descriptor);
	return NULL;
}

static void sends_a_slow_pipe(void **state)
{
	pthread_t thread;
	int writing;

	(void)state;
	feed_from_pipe(&writing);
	feed_open("-");
	assert_int_equal(source_size(feed.source), STREAM_SIZE_UNKNOWN);
	assert_int_equal(pthread_create(&thread, NULL, produce_into_pipe, &writing), 0);
	feed_run();
	pthread_join(thread, NULL);
	feed_assert_sent(feed_data, FEED_DATA);
	/* Standard input is shared with other processes: its flags must not change. */
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFL) & O_NONBLOCK, 0);
}

static void sends_a_fifo_when_it_gets_a_writer(void **state)
{
	pthread_t thread;

	(void)state;
	feed_path("fifo");
	assert_int_equal(mkfifo(feed.path, 0600), 0);
	feed_open(feed.path);
	assert_int_equal(source_size(feed.source), STREAM_SIZE_UNKNOWN);
	feed_start();
	a_moment();
	/*
	 * The FIFO is opened only when the stream begins; otherwise an unauthenticated peer could
	 * consume its data.
	 */
	assert_int_equal(open(feed.path, O_WRONLY | O_NONBLOCK | O_CLOEXEC), -1);
	assert_int_equal(errno, ENXIO);
	source_begin(feed.source);
	a_moment();
	assert_int_equal(ring_level(&feed.ring).filled, 0);
	assert_false(ring_level(&feed.ring).ended);
	assert_int_equal(pthread_create(&thread, NULL, produce_into_fifo, feed.path), 0);
	while (feed_take())
		;
	pthread_join(thread, NULL);
	oracle_await_end(&feed.oracle);
	feed_assert_sent(feed_data, FEED_DATA);
	/* The thread has closed it. */
	assert_int_equal(open(feed.path, O_WRONLY | O_NONBLOCK | O_CLOEXEC), -1);
	assert_int_equal(errno, ENXIO);
}

static void waits_until_it_is_started(void **state)
{
	(void)state;
	close(feed_make_file("data.bin", FEED_RING));
	feed_open(feed.path);
	feed_start();
	a_moment();
	assert_int_equal(ring_level(&feed.ring).filled, 0);
	source_begin(feed.source);
	while (feed_take())
		;
	feed_assert_sent(feed_data, FEED_RING);
	oracle_await_end(&feed.oracle);
}

/* Runs the source for a peer that already has `have` bytes, whose digest is that of these bytes. */
static void run_after(uint64_t have, const void *bytes, size_t size)
{
	struct digest digest = digest_of(bytes, size);
	uint64_t start;

	assert_false(source_start_of(feed.source, &start, &holes));
	feed_start();
	source_begin_after(feed.source, have, &digest, false);
	while (feed_take())
		;
	oracle_await_end(&feed.oracle);
}

static void continues_after_what_the_peer_has(void **state)
{
	static const size_t sizes[] = {1, FEED_MOST, FEED_RING + 1, FEED_DATA - 1, FEED_DATA};

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		const struct digest all = digest_of(feed_data, FEED_DATA);
		struct digest digest;
		uint64_t start = 0;
		const char *reason;

		close(feed_make_file("data.bin", FEED_DATA));
		feed_open(feed.path);
		run_after(sizes[i], feed_data, sizes[i]);
		assert_true(source_start_of(feed.source, &start, &holes));
		assert_int_equal(start, sizes[i]);
		assert_int_equal(source_result(feed.source, &digest, &reason), 0);
		assert_true(digest_equal(&digest, &all));
		assert_int_equal(feed.size, FEED_DATA - sizes[i]);
		assert_memory_equal(feed.taken, feed_data + sizes[i], feed.size);
		feed_tear_down(state);
		feed_set_up(state);
	}
}

/* Takes everything, which is more than fits into feed.taken. Returns its size. */
static size_t take_all(uint8_t *bytes, size_t room)
{
	size_t size = 0;
	struct span span;

	while (ring_await_data(&feed.ring, FEED_RING, &span) == RING_READY) {
		assert_true(size + span.size <= room);
		memcpy(bytes + size, span.start, span.size);
		size += span.size;
		ring_free_to(&feed.ring, size);
	}
	return size;
}

/* Runs, from where the peer continues; the digest is that of the whole file. */
static void leaves_out_holes_if_the_peer_can_store_that(void **state)
{
	static const uint64_t starts[] = {0, 1, 100000, 700000};
	enum { SIZE = 1 << 20, AT = 512 << 10 };
	static uint8_t whole[SIZE], bytes[32768];
	size_t taken;
	struct stat status;

	(void)state;
	memcpy(whole + AT, feed_data, FEED_RING + 5);
	for (size_t i = 0; i < COUNT(starts); i++) {
		const struct digest all = digest_of(whole, SIZE);
		struct digest have = digest_of(whole, (size_t)starts[i]), digest;
		uint64_t start, position = starts[i];
		int file = feed_make_file("data.bin", 0);
		const char *reason;

		assert_int_equal(ftruncate(file, SIZE), 0);
		assert_true(pwrite(file, feed_data, FEED_RING + 5, AT) > 0);
		assert_int_equal(fstat(file, &status), 0);
		close(file);
		if (status.st_blocks * 512 >= SIZE)
			skip();
		feed_open(feed.path);
		feed_start();
		source_begin_after(feed.source, starts[i], &have, true);
		taken = take_all(bytes, sizeof(bytes));
		oracle_await_end(&feed.oracle);
		assert_true(source_start_of(feed.source, &start, &holes));
		assert_int_equal(start, starts[i]);
		assert_true(holes);
		assert_int_equal(source_result(feed.source, &digest, &reason), 0);
		assert_true(digest_equal(&digest, &all));
		for (size_t at = 0; at < taken;) {
			struct tree_run run;

			assert_int_equal(tree_run_decode(&run, bytes + at, SIZE - position), 0);
			at += TREE_RUN_SIZE;
			position += run.hole;
			assert_memory_equal(bytes + at, whole + position, (size_t)run.data);
			at += (size_t)run.data;
			position += run.data;
		}
		assert_int_equal(position, SIZE);
		assert_int_equal(
			source_left_out(feed.source), (int64_t)(SIZE - starts[i]) - (int64_t)taken);
		feed_tear_down(state);
		feed_set_up(state);
	}
}

/* With a secret, a digest that was made for MSG_DONE is not that of what the peer has. */
static void a_keyed_digest_must_be_for_existing_data(void **state)
{
	static const uint8_t key[DIGEST_KEY_SIZE] = {1};
	const struct digest all = reference_digest(key, feed_data, FEED_DATA, DIGEST_STREAM);

	(void)state;
	for (unsigned int use = DIGEST_STREAM; use <= DIGEST_EXISTING; use++) {
		const struct digest have = reference_digest(key, feed_data, FEED_RING, use);
		struct digest digest;
		uint64_t start = 1;
		const char *reason;

		close(feed_make_file("data.bin", FEED_DATA));
		feed_open(feed.path);
		feed_start();
		source_set_key(feed.source, key);
		source_begin_after(feed.source, FEED_RING, &have, false);
		while (feed_take())
			;
		oracle_await_end(&feed.oracle);
		assert_true(source_start_of(feed.source, &start, &holes));
		assert_int_equal(start, use == DIGEST_EXISTING ? FEED_RING : 0);
		assert_int_equal(source_result(feed.source, &digest, &reason), 0);
		assert_true(digest_equal(&digest, &all));
		feed_tear_down(state);
		feed_set_up(state);
	}
}

/* What the peer has is not the beginning of the file, or longer than the file. */
static void sends_everything_if_the_peer_has_other_data(void **state)
{
	uint64_t start = 1;

	(void)state;
	close(feed_make_file("data.bin", FEED_DATA));
	feed_open(feed.path);
	run_after(100, feed_data + 1, 100);
	assert_true(source_start_of(feed.source, &start, &holes));
	assert_int_equal(start, 0);
	feed_assert_sent(feed_data, FEED_DATA);
	feed_tear_down(state);
	feed_set_up(state);
	close(feed_make_file("data.bin", 99));
	feed_open(feed.path);
	run_after(100, feed_data, 100);
	assert_true(source_start_of(feed.source, &start, &holes));
	assert_int_equal(start, 0);
	feed_assert_sent(feed_data, 99);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, feed_set_up, feed_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(puts_a_text_into_the_ring_at_once),
		TEST(sends_files_of_all_sizes),
		TEST(sends_an_empty_file),
		TEST(sends_a_proc_file),
		TEST(sends_a_device),
		TEST(sends_standard_input_from_its_offset),
		TEST(sends_files_beyond_4_gib),
		TEST(sends_a_slow_pipe),
		TEST(sends_a_fifo_when_it_gets_a_writer),
		TEST(waits_until_it_is_started),
		TEST(continues_after_what_the_peer_has),
		TEST(leaves_out_holes_if_the_peer_can_store_that),
		TEST(a_keyed_digest_must_be_for_existing_data),
		TEST(sends_everything_if_the_peer_has_other_data),
	};

	return cmocka_run_group_tests_name(
		"source", tests, feed_set_up_group, feed_tear_down_group);
}
