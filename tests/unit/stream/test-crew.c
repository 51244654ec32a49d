/*
 * Several threads read or write the blocks of a file side by side. Reads and writes take a
 * different time each, and fail where a test says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host/memory-budget.h"
#include "stream/crew.h"
#include "stream/hidden-file.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/stream/sink-fixture.h"
#include "tests/unit/stream/source-fixture.h"
#include "tests/unit/unit.h"

#define WORKERS 4

/* How often a test repeats, because threads meet differently each time. */
#define TIMES 20

/* What pread() and pwrite() do in this program. */
static struct {
	atomic_uint calls;
	off_t fails_at; /* the block that contains this position; -1: none */
	int error;
} disk;

static void disk_works(void)
{
	disk.calls = 0;
	disk.fails_at = -1;
}

/* Takes up to 200 us. Returns true if the block fails. */
static bool access_disk(size_t size, off_t offset)
{
	static const unsigned int moments[] = {0, 150, 20, 200, 0, 90, 10};
	unsigned int call = disk.calls++;
	struct timespec moment = {.tv_nsec = 1000L * moments[call % 7]};

	nanosleep(&moment, NULL);
	if (disk.fails_at < offset || disk.fails_at >= offset + (off_t)size)
		return false;
	errno = disk.error;
	return true;
}

/* These take the place of the C library's. */
ssize_t pread64(int file, void *bytes, size_t size, off_t offset)
{
	return access_disk(size, offset) ? -1 : syscall(SYS_pread64, file, bytes, size, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off_t offset)
{
	return access_disk(size, offset) ? -1 : syscall(SYS_pwrite64, file, bytes, size, offset);
}

static atomic_uint numbers_seen;

static void see(void *argument, unsigned int number)
{
	assert_ptr_equal(argument, &numbers_seen);
	numbers_seen |= 1U << number % 32;
}

static void each_member_has_a_number(void **state)
{
	(void)state;
	numbers_seen = 0;
	assert_int_equal(crew_run(1, "alone", see, &numbers_seen), 1);
	assert_int_equal(numbers_seen, 1);
	assert_int_equal(crew_run(7, "together", see, &numbers_seen), 7);
	assert_int_equal(numbers_seen, 0x7f);
	/* More than there can be. */
	assert_int_equal(crew_run(CREW_MAX + 1, "too many", see, &numbers_seen), CREW_MAX);
}

static int feed_set_up_with_workers(void **state)
{
	disk_works();
	if (feed_set_up(state))
		return -1;
	feed.workers = WORKERS;
	return 0;
}

static void blocks_are_sent_in_order(void **state)
{
	close(feed_make_file("data.bin", FEED_DATA));
	for (int i = 0; i < TIMES; i++) {
		feed_open(feed.path);
		feed_run();
		feed_assert_sent(feed_data, FEED_DATA);
		assert_true(disk.calls >= FEED_DATA / FEED_MOST);
		if (i + 1 < TIMES) {
			source_close(feed.source);
			ring_destroy(&feed.ring);
			oracle_destroy(&feed.oracle);
			close(feed.saved_input);
			assert_int_equal(feed_set_up_with_workers(state), 0);
		}
	}
}

static void the_first_block_that_fails_counts(void **state)
{
	const off_t failing = 2 * FEED_MOST + 1;
	struct digest digest;
	const char *reason;

	(void)state;
	close(feed_make_file("data.bin", FEED_DATA));
	disk.fails_at = failing;
	disk.error = EIO;
	feed_open(feed.path);
	feed_start();
	source_begin(feed.source);
	oracle_await_end(&feed.oracle);
	assert_int_equal(source_result(feed.source, &digest, &reason), -EIO);
	assert_string_equal(reason, "cannot read data.bin: Input/output error");
	assert_true(ring_level(&feed.ring).filled <= (uint64_t)failing);
	assert_true(ring_level(&feed.ring).ended);
}

static void workers_stop(void **state)
{
	struct digest digest;
	const char *reason;

	(void)state;
	close(feed_make_file("data.bin", FEED_DATA));
	feed_open(feed.path);
	feed_start();
	source_begin(feed.source);
	assert_true(feed_take());
	source_stop(feed.source);
	oracle_await_end(&feed.oracle);
	assert_int_equal(source_result(feed.source, &digest, &reason), -ECANCELED);
}

static int drain_set_up_with_workers(void **state)
{
	disk_works();
	if (drain_set_up(state))
		return -1;
	drain.workers = WORKERS;
	return 0;
}

static void blocks_are_stored_where_they_belong(void **state)
{
	(void)state;
	drain.options.force = true;
	for (int i = 0; i < TIMES; i++) {
		drain_start("data.bin", DRAIN_DATA);
		drain_begin("");
		assert_true(drain_arrive(DRAIN_DATA));
		drain_finish(DRAIN_DATA, DRAIN_DATA);
		drain_assert_ends(SINK_VERIFIED);
		drain_assert_kept("data.bin", DRAIN_DATA);
		drain_again();
	}
	assert_true(disk.calls >= TIMES * (DRAIN_DATA / DRAIN_MOST));
}

static void copies_are_digested_with_a_secret(void **state)
{
	static const uint8_t key[DIGEST_KEY_SIZE] = {1, 2, 3};
	const struct digest digest = digest_of_keyed(key, drain_data, DRAIN_DATA);

	(void)state;
	drain_start("data.bin", DRAIN_DATA);
	sink_set_key(drain.sink, key);
	drain_begin("");
	assert_true(drain_arrive(DRAIN_DATA));
	sink_finish(drain.sink, DRAIN_DATA, &digest);
	drain_assert_ends(SINK_VERIFIED);
	drain_assert_kept("data.bin", DRAIN_DATA);
}

/* Copies are part of the memory that a server's clients share. */
static void fewer_workers_need_less_memory(void **state)
{
	static const uint8_t key[DIGEST_KEY_SIZE] = {1, 2, 3};
	const struct digest digest = digest_of_keyed(key, drain_data, DRAIN_DATA);
	struct memory_budget budget;

	(void)state;
	memory_budget_start(UINT64_C(300) << 10);
	drain_start("data.bin", DRAIN_DATA);
	sink_set_key(drain.sink, key);
	drain_begin("");
	assert_true(drain_arrive(DRAIN_DATA));
	memory_budget_read(&budget);
	assert_in_range(budget.used, UINT64_C(256) << 10, UINT64_C(300) << 10);
	sink_finish(drain.sink, DRAIN_DATA, &digest);
	drain_assert_ends(SINK_VERIFIED);
	assert_int_equal(sink_pace(drain.sink)->workers, 2);
	drain_again();
	memory_budget_read(&budget);
	assert_int_equal(budget.used, 0);
	assert_int_equal(unlink("data.bin"), 0);
	/* There is not enough for one. */
	memory_budget_start(UINT64_C(100) << 10);
	drain_start("data.bin", DRAIN_DATA);
	sink_set_key(drain.sink, key);
	drain_begin("");
	assert_false(drain_arrive(DRAIN_DATA));
	drain_assert_failed(-ENOMEM, "cannot write: Cannot allocate memory");
	memory_budget_start(0);
}

static void memory_for_copies_is_reserved_before_the_transfer(void **state)
{
	struct output_file_options options = {.output = "data.bin"};
	unsigned int workers = 4;
	struct failure failure = {0};
	struct memory_budget budget;
	struct sink *sink;

	(void)state;
	memory_budget_start(UINT64_C(300) << 10);
	assert_int_equal(sink_open(&sink, &options, DRAIN_DATA), 0);
	assert_int_equal(sink_reserve(sink, &workers, false, &failure), 0);
	assert_int_equal(workers, 4);
	assert_int_equal(sink_reserve(sink, &workers, true, &failure), 0);
	assert_int_equal(workers, 2);
	memory_budget_read(&budget);
	assert_in_range(budget.used, UINT64_C(256) << 10, UINT64_C(300) << 10);
	sink_close(sink);
	memory_budget_read(&budget);
	assert_int_equal(budget.used, 0);
	/* A block for --direct is larger. */
	options.direct = true;
	assert_int_equal(sink_open(&sink, &options, DRAIN_DATA), 0);
	assert_int_equal(sink_reserve(sink, &workers, false, &failure), -1);
	assert_true(failure_is_for_memory(&failure));
	sink_close(sink);
	memory_budget_start(0);
}

static void a_full_disk_ends_all_workers(void **state)
{
	(void)state;
	disk.fails_at = DRAIN_DATA / 2;
	disk.error = ENOSPC;
	drain_start("data.bin", DRAIN_DATA);
	drain_begin("");
	if (drain_arrive(DRAIN_DATA))
		drain_finish(DRAIN_DATA, DRAIN_DATA);
	drain_assert_failed(-ENOSPC, "cannot write data.bin: No space left on device");
	assert_int_equal(count_entries(NULL), 0);
}

static void a_damaged_block_is_noticed(void **state)
{
	(void)state;
	drain_start("data.bin", DRAIN_DATA);
	drain_begin("");
	assert_true(drain_arrive(DRAIN_DATA));
	drain_finish(DRAIN_DATA, DRAIN_DATA - 1);
	drain_assert_ends(SINK_DAMAGED);
	assert_int_equal(count_entries(NULL), 0);
}

/* What is left if the program was killed: a block is missing before the last one. */
static void a_missing_block_and_what_follows_it_is_cut_off(void **state)
{
	const uint64_t left = OUTPUT_FILE_RESUMED + (1 << 20), gap = left - (512 << 10);
	struct output_file_options options = {.output = "big"};
	struct output_file_offer offer = {.name = "", .fallback = "f", .total = 2 * left};
	char hidden[FILE_NAME_MAX + 1];
	static const uint8_t block[256 << 10] = {1};
	struct output_file *file;
	uint64_t size;
	int descriptor;

	(void)state;
	hidden_name("big", 1, hidden);
	put(hidden, "");
	descriptor = open(hidden, O_WRONLY | O_CLOEXEC);
	for (uint64_t at = 0; at < left; at += sizeof(block))
		if (at != gap)
			assert_int_equal(
				pwrite(descriptor, block, sizeof(block), (off_t)at), sizeof(block));
	close(descriptor);
	assert_int_equal(output_file_open(&file, &options, &offer, -1, why), 0);
	assert_true(output_file_existing(file, &size) >= 0);
	assert_int_equal(size, gap);
	output_file_close(file);
}

#define FEED(function) \
	cmocka_unit_test_setup_teardown(function, feed_set_up_with_workers, feed_tear_down)
#define DRAIN(function) \
	cmocka_unit_test_setup_teardown(function, drain_set_up_with_workers, drain_tear_down)

int main(void)
{
	const struct CMUnitTest sources[] = {
		cmocka_unit_test(each_member_has_a_number),
		cmocka_unit_test(memory_for_copies_is_reserved_before_the_transfer),
		FEED(blocks_are_sent_in_order),
		FEED(the_first_block_that_fails_counts),
		FEED(workers_stop),
	};
	const struct CMUnitTest sinks[] = {
		DRAIN(blocks_are_stored_where_they_belong),
		DRAIN(copies_are_digested_with_a_secret),
		DRAIN(fewer_workers_need_less_memory),
		DRAIN(a_full_disk_ends_all_workers),
		DRAIN(a_damaged_block_is_noticed),
		DRAIN(a_missing_block_and_what_follows_it_is_cut_off),
	};

	return cmocka_run_group_tests_name(
		       "crew-sources", sources, feed_set_up_group, feed_tear_down_group) +
	       cmocka_run_group_tests_name("crew-sinks", sinks, NULL, NULL);
}
