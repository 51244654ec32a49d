/* Received data: written or shown if it is verified, and discarded otherwise. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/common/digest-fixture.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/stream/sink-fixture.h"
#include "tests/unit/unit.h"

static uint8_t found[DRAIN_DATA];

static void keeps_a_text_without_a_thread(void **state)
{
	(void)state;
	for (size_t size = 0; size <= SINK_TEXT_SIZE; size += size % 7 + 1) {
		const uint8_t *text;
		size_t length;

		drain_start(NULL, size);
		drain_begin("");
		assert_true(drain_arrive(size));
		assert_int_equal(sink_state(drain.sink), SINK_WORKING);
		drain_finish(size, size);
		assert_int_equal(sink_state(drain.sink), SINK_VERIFIED);
		/* The text is a copy: later writes into the ring do not change it. */
		memset(drain.memory, 0, sizeof(drain.memory));
		text = sink_text(drain.sink, &length);
		assert_non_null(text);
		assert_int_equal(length, size);
		assert_memory_equal(text, drain_data, size);
		assert_string_equal(sink_name(drain.sink), "");
		assert_int_equal(oracle_moved(&drain.oracle), 0);
		assert_int_equal(drain.oracle.ended, 0);
		drain_again();
	}
}

static void detects_a_damaged_text(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		drain_start(NULL, 100);
		drain_begin("");
		assert_true(drain_arrive(100));
		if (i == 0)
			drain.memory[50] ^= 4;
		drain_finish(i == 1 ? 99 : i == 2 ? 101 : 100, i == 3 ? 99 : 100);
		assert_int_equal(sink_state(drain.sink), SINK_DAMAGED);
		drain_again();
	}
}

/* Without an output, long data, or data of unknown size, is only digested. */
static void digests_discarded_data(void **state)
{
	static const size_t sizes[] = {
		0, 1, 1023, 1024, 1025, DRAIN_RING, DRAIN_RING + 1, DRAIN_DATA};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT(sizes); i++) {
		size_t size = sizes[i / 2], length;
		const uint8_t *text;

		if (i % 2 && size <= SINK_TEXT_SIZE)
			continue;
		drain_start(NULL, i % 2 ? size : STREAM_SIZE_UNKNOWN);
		drain_begin("name");
		assert_true(drain_arrive(size));
		drain_finish(size, size);
		drain_assert_ends(SINK_VERIFIED);
		text = sink_text(drain.sink, &length);
		assert_int_equal(length, size);
		/* A short text is shown, even if its size was not known in advance. */
		assert_int_equal(text != NULL, size <= SINK_TEXT_SIZE);
		if (text)
			assert_memory_equal(text, drain_data, size);
		assert_string_equal(sink_name(drain.sink), "");
		drain_again();
	}
	assert_int_equal(count_entries(NULL), 0);
}

static void keeps_files_of_all_sizes(void **state)
{
	static const size_t sizes[] = {0, 1, DRAIN_MOST - 1, DRAIN_MOST, DRAIN_MOST + 1,
		DRAIN_RING - 1, DRAIN_RING, DRAIN_RING + 1, 2 * DRAIN_RING - 1, 2 * DRAIN_RING,
		2 * DRAIN_RING + 1, 5 * DRAIN_RING + 7, DRAIN_DATA};

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		size_t length;

		drain_start("data.bin", i % 2 ? sizes[i] : STREAM_SIZE_UNKNOWN);
		drain_begin("offered");
		assert_true(drain_arrive(sizes[i]));
		a_moment();
		/* All data has arrived, but is not verified yet. */
		assert_int_equal(sink_state(drain.sink), SINK_WORKING);
		assert_int_not_equal(access("data.bin", F_OK), 0);
		drain_finish(sizes[i], sizes[i]);
		drain_assert_ends(SINK_VERIFIED);
		assert_string_equal(sink_name(drain.sink), "data.bin");
		assert_null(sink_text(drain.sink, &length));
		drain_assert_kept("data.bin", sizes[i]);
		assert_int_equal(count_entries(NULL), 1);
		assert_int_equal(unlink("data.bin"), 0);
		drain_again();
	}
}

static void keeps_files_in_a_directory_under_the_offered_name(void **state)
{
	static const struct {
		const char *offered, *kept;
	} names[] = {
		{"data.bin", "data.bin"},
		{"", "10.0.0.1-45678"},
		{"../../etc/passwd", "passwd"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		drain_start("./", 5000);
		drain_begin(names[i].offered);
		assert_true(drain_arrive(5000));
		drain_finish(5000, 5000);
		drain_assert_ends(SINK_VERIFIED);
		assert_string_equal(sink_name(drain.sink), names[i].kept);
		drain_assert_kept(names[i].kept, 5000);
		drain_again();
	}
	assert_int_equal(count_entries(NULL), COUNT(names));
}

static void truncates_long_names(void **state)
{
	char name[2000];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	drain_start("./", 1);
	sink_begin(drain.sink,
		&(struct output_file_offer){
			.name = name, .size = sizeof(name) - 1, .fallback = name},
		false);
	assert_true(drain_arrive(1));
	drain_finish(1, 1);
	drain_assert_ends(SINK_VERIFIED);
	assert_in_range(strlen(sink_name(drain.sink)), 1, FILE_NAME_MAX);
	drain_assert_kept(sink_name(drain.sink), 1);
}

static void discards_damaged_data(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		drain_start("data.bin", STREAM_SIZE_UNKNOWN);
		drain_begin("");
		assert_true(drain_arrive(DRAIN_DATA));
		drain_finish(i == 1   ? DRAIN_DATA - 1
			     : i == 2 ? DRAIN_DATA + 1
				      : DRAIN_DATA,
			i == 0 ? DRAIN_DATA - 1 : DRAIN_DATA);
		drain_assert_ends(SINK_DAMAGED);
		assert_int_equal(count_entries(NULL), 0);
		drain_again();
	}
}

/* A consumer that pauses, reads to the end, and closes. */
static void *consume(void *argument)
{
	int descriptor = *(int *)argument;
	uint64_t seed = 1;
	size_t at = 0;
	ssize_t got;

	while (at < DRAIN_DATA && (got = read(descriptor, found + at,
					   (size_t)random_below(&seed, DRAIN_DATA - at) + 1)) > 0) {
		at += (size_t)got;
		if (random_below(&seed, 3) == 0)
			a_moment();
	}
	close(descriptor);
	return NULL;
}

static void writes_to_a_slow_consumer(void **state)
{
	int reading = drain_to_pipe();
	pthread_t thread;

	(void)state;
	memset(found, 0, sizeof(found));
	assert_int_equal(pthread_create(&thread, NULL, consume, &reading), 0);
	drain_start("-", STREAM_SIZE_UNKNOWN);
	drain_begin("");
	assert_true(drain_arrive(DRAIN_DATA));
	drain_finish(DRAIN_DATA, DRAIN_DATA);
	drain_assert_ends(SINK_VERIFIED);
	assert_string_equal(sink_name(drain.sink), "-");
	pthread_join(thread, NULL);
	assert_memory_equal(found, drain_data, DRAIN_DATA);
}

/* The capacity of the pipe. */
#define PIPE ((size_t)65536)

static const uint8_t key[DIGEST_KEY_SIZE] = {7, 1, 1};

static void verifies_keyed_digests(void **state)
{
	static const size_t sizes[] = {
		0, 1, SINK_TEXT_SIZE, SINK_TEXT_SIZE + 1, DRAIN_RING + 1, DRAIN_DATA};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT(sizes); i++) {
		size_t size = sizes[i / 2];
		/* An unkeyed digest does not match. */
		const struct digest digest =
			i & 1 ? digest_of(drain_data, size)
			      : reference_digest(key, drain_data, size, DIGEST_STREAM);

		drain_start("data.bin", size);
		sink_set_key(drain.sink, key);
		drain_begin("");
		assert_true(drain_arrive(size));
		sink_finish(drain.sink, size, &digest);
		drain_assert_ends(i & 1 ? SINK_DAMAGED : SINK_VERIFIED);
		if (!(i & 1))
			drain_assert_kept("data.bin", size);
		unlink("data.bin");
		assert_int_equal(count_entries(NULL), 0);
		drain_again();
	}
}

/*
 * With a key, the bytes written are those that were digested, even if the ring is overwritten
 * later.
 */
static void writes_the_digested_bytes(void **state)
{
	int reading = drain_to_pipe();
	struct digest digest;
	size_t at = 0;
	ssize_t got;

	(void)state;
	/*
	 * Once its last page is in use, the pipe is full, and the sink waits with the data it took
	 * next.
	 */
	assert_int_equal(fcntl(reading, F_SETPIPE_SZ, PIPE), PIPE);
	drain_start("-", STREAM_SIZE_UNKNOWN);
	sink_set_key(drain.sink, key);
	drain_begin("");
	assert_true(drain_arrive(PIPE));
	a_moment();
	memset(drain.memory, 0xee, sizeof(drain.memory));
	while (at < PIPE && (got = read(reading, found + at, sizeof(found) - at)) > 0)
		at += (size_t)got;
	assert_int_equal(at, PIPE);
	assert_memory_not_equal(found, drain_data, at);
	digest = reference_digest(key, found, at, DIGEST_STREAM);
	sink_finish(drain.sink, at, &digest);
	drain_assert_ends(SINK_VERIFIED);
	close(reading);
}

/* The CQ thread is woken when space is free, so that it can grant credit, but not for each byte. */
static void reports_free_space_in_steps(void **state)
{
	(void)state;
	drain_start(NULL, DRAIN_DATA);
	drain_begin("");
	for (uint64_t position = 0; position < 2 * DRAIN_RING; position++) {
		ring_fill(&drain.ring, 1);
		while (ring_level(&drain.ring).freed <= position)
			poll(NULL, 0, 0);
	}
	a_moment();
	assert_in_range(oracle_moved(&drain.oracle), 7, 8);
	sink_stop(drain.sink);
	drain_assert_failed(-ECANCELED, NULL);
	assert_in_range(oracle_moved(&drain.oracle), 9, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SINK_TEST(keeps_a_text_without_a_thread),
		SINK_TEST(detects_a_damaged_text),
		SINK_TEST(digests_discarded_data),
		SINK_TEST(keeps_files_of_all_sizes),
		SINK_TEST(keeps_files_in_a_directory_under_the_offered_name),
		SINK_TEST(truncates_long_names),
		SINK_TEST(discards_damaged_data),
		SINK_TEST(writes_to_a_slow_consumer),
		SINK_TEST(verifies_keyed_digests),
		SINK_TEST(writes_the_digested_bytes),
		SINK_TEST(reports_free_space_in_steps),
	};

	/* SIGPIPE is ignored, as in the programs. */
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("sink", tests, NULL, NULL);
}
