/* Transfers that resume: what the receiver already has, and where the sender continues. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "protocol/tree.h"
#include "stream/hidden-file.h"
#include "stream/storage.h"
#include "tests/unit/common/digest-fixture.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/stream/sink-fixture.h"
#include "tests/unit/unit.h"

/* Whether holes are left out. */
static bool holes;

/* The size of an interrupted transfer, which contains only zeros. */
#define LEFT OUTPUT_FILE_RESUMED

/* The digest of `zeros` zeros and the first `size` bytes of the data. */
static struct digest digest_after_zeros(uint64_t zeros, size_t size)
{
	static const uint8_t block[65536];
	struct digester *digester = digester_new();
	struct digest digest;

	assert_non_null(digester);
	for (uint64_t done = 0; done < zeros; done += sizeof(block))
		digester_add(digester, block, sizeof(block));
	digester_add(digester, drain_data, size);
	digest = digester_result(digester, DIGEST_STREAM);
	digester_free(digester);
	return digest;
}

/* Lets the started sink begin, and waits until it knows what is there. */
static void begin(uint64_t *have, struct digest *digest)
{
	sink_begin(
		drain.sink, &(struct output_file_offer){.name = "", .fallback = "fallback"}, true);
	while (!sink_have(drain.sink, have, digest, &holes) &&
		sink_state(drain.sink) == SINK_WORKING)
		a_moment();
}

/* Starts a sink for the file "big". */
static void start(bool force, uint64_t total, uint64_t *have, struct digest *digest)
{
	drain.options.force = force;
	drain_start("big", total);
	begin(have, digest);
}

/* Creates a file of zeros. */
static void leave(const char *name, uint64_t size)
{
	put(name, "");
	assert_int_equal(truncate(name, (off_t)size), 0);
}

/* Leaves what an interrupted transfer of "big" leaves: zeros that were written. */
static void leave_hidden(uint64_t size)
{
	static const uint8_t block[65536];
	char hidden[FILE_NAME_MAX + 1];
	int file;

	hidden_name("big", 1, hidden);
	leave(hidden, size);
	file = open(hidden, O_WRONLY | O_CLOEXEC);
	assert_true(file >= 0);
	for (uint64_t done = 0; done < size; done += sizeof(block))
		assert_true(pwrite(file, block,
				    size - done < sizeof(block) ? size - done : sizeof(block),
				    (off_t)done) > 0);
	close(file);
}

static uint64_t size_of(const char *name)
{
	struct stat status;

	return stat(name, &status) ? UINT64_MAX : (uint64_t)status.st_size;
}

/* What the file system is asked to do. */
static struct {
	atomic_uint_fast64_t gap; /* a write at this offset does not return until it is 0 */
	atomic_uint behind;       /* writes behind it */
	atomic_uint_fast64_t written_back, written_size;
} disk;

/* These take the place of the C library's. */
ssize_t pwrite64(int file, const void *bytes, size_t size, off_t offset)
{
	while (disk.gap > 0 && (uint64_t)offset == disk.gap)
		a_moment();
	disk.behind += disk.gap > 0 && (uint64_t)offset > disk.gap;
	return syscall(SYS_pwrite64, file, bytes, size, offset);
}

int sync_file_range(int file, off64_t offset, off64_t size, unsigned int flags)
{
	(void)file;
	disk.written_back = (uint64_t)offset;
	disk.written_size = flags == SYNC_FILE_RANGE_WRITE ? (uint64_t)size : 0;
	return 0;
}

/* The first bytes of the data, which are replaced by a stream of runs. */
static uint8_t replaced[256];

/* Makes these runs, each with the data behind it, the stream. Returns its size. */
static size_t make_runs(const struct tree_run *runs, size_t count)
{
	size_t size = 0;

	memcpy(replaced, drain_data, sizeof(replaced));
	for (size_t i = 0; i < count; i++) {
		tree_run_encode(&runs[i], drain_data + size);
		size += TREE_RUN_SIZE;
		memset(drain_data + size, 'a' + (int)i, (size_t)runs[i].data);
		size += (size_t)runs[i].data;
	}
	assert_true(size <= sizeof(replaced));
	return size;
}

/* The digest of the file that these runs describe. */
static struct digest digest_of_runs(const struct tree_run *runs, size_t count)
{
	static const uint8_t zero;
	struct digester *digester = digester_new();
	struct digest digest;

	for (size_t i = 0; i < count; i++) {
		uint8_t letter = (uint8_t)('a' + i);

		for (uint64_t done = 0; done < runs[i].hole; done++)
			digester_add(digester, &zero, 1);
		for (uint64_t done = 0; done < runs[i].data; done++)
			digester_add(digester, &letter, 1);
	}
	digest = digester_result(digester, DIGEST_STREAM);
	digester_free(digester);
	return digest;
}

static void holes_that_were_left_out_are_holes(void **state)
{
	static const struct tree_run runs[] = {{0, 3}, {LEFT, 50}, {70000, 1}, {5000, 0}};
	const uint64_t total = 3 + LEFT + 50 + 70000 + 1 + 5000;
	const struct digest all = digest_of_runs(runs, COUNT(runs));
	size_t size = make_runs(runs, COUNT(runs));
	struct stat status;
	struct digest digest;
	uint64_t have = 1;
	uint8_t bytes[52];
	int file;

	(void)state;
	drain.workers = 2;
	start(false, total, &have, &digest);
	assert_true(holes);
	sink_continue(drain.sink, 0, true);
	assert_true(drain_arrive(size));
	memcpy(drain_data, replaced, sizeof(replaced));
	sink_finish(drain.sink, size, &all);
	drain_assert_ends(SINK_VERIFIED);
	assert_int_equal(sink_left_out(drain.sink), (int64_t)(total - size));
	assert_int_equal(stat("big", &status), 0);
	assert_int_equal(status.st_size, total);
	assert_true((uint64_t)status.st_blocks * 512 < 1 << 20);
	file = open("big", O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(file, bytes, 52, LEFT + 2), 52);
	assert_int_equal(bytes[0], 0);
	assert_int_equal(bytes[1], 'b');
	assert_int_equal(bytes[50], 'b');
	assert_int_equal(bytes[51], 0);
	assert_int_equal(pread(file, bytes, 1, LEFT + 53 + 70000), 1);
	assert_int_equal(bytes[0], 'c');
	close(file);
}

/* Neither is stored, nor left where a transfer could resume. */
static void runs_that_do_not_fit_are_refused(void **state)
{
	static const struct {
		struct tree_run runs[2];
		size_t count;
		const char *why;
	} cases[] = {
		{{{100, 1}}, 1, "a hole or the data behind it does not fit in its file"},
		{{{0, 0}}, 1, "a hole or the data behind it does not fit in its file"},
		{{{UINT64_MAX, 2}}, 1, "a hole or the data behind it does not fit in its file"},
		{{{50, 50}, {0, 1}}, 2, "it does not end with its file"},
		{{{50, 40}}, 1, "it is incomplete"},
	};
	char sentence[128];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct digest all = digest_of_runs(
			cases[i].runs, cases[i].runs[0].hole > 100 ? 0 : cases[i].count);
		size_t size = make_runs(cases[i].runs, cases[i].count);
		struct digest digest;
		uint64_t have;

		start(false, 100, &have, &digest);
		sink_continue(drain.sink, 0, true);
		drain_arrive(size);
		memcpy(drain_data, replaced, sizeof(replaced));
		sink_finish(drain.sink, size, &all);
		snprintf(sentence, sizeof(sentence), "the peer's file is not a valid stream: %s",
			cases[i].why);
		drain_assert_failed(-EPROTO, sentence);
		assert_int_equal(count_entries(NULL), 0);
		drain_again();
	}
}

static void continues_an_interrupted_transfer(void **state)
{
	struct digest digest, zeros = digest_after_zeros(LEFT, 0),
			      all = digest_after_zeros(LEFT, DRAIN_DATA);
	uint64_t have = 0;

	(void)state;
	leave_hidden(LEFT);
	start(false, LEFT + DRAIN_DATA, &have, &digest);
	assert_int_equal(have, LEFT);
	assert_true(digest_equal(&digest, &zeros));
	sink_continue(drain.sink, LEFT, false);
	assert_true(drain_arrive(DRAIN_DATA));
	sink_finish(drain.sink, DRAIN_DATA, &all);
	drain_assert_ends(SINK_VERIFIED);
	assert_false(sink_is_there(drain.sink));
	assert_string_equal(sink_path(drain.sink), "big");
	assert_string_equal(sink_target(drain.sink), "big");
	assert_int_equal(size_of("big"), LEFT + DRAIN_DATA);
	assert_int_equal(count_entries(NULL), 1);
}

/* The check at the start of a program removes nothing that an interrupted transfer left. */
static void a_check_keeps_an_interrupted_transfer(void **state)
{
	const struct output_file_options options = {.output = "big"};
	char hidden[FILE_NAME_MAX + 1];

	(void)state;
	assert_int_equal(output_file_check(&options, why), 0);
	assert_int_equal(count_entries(NULL), 0);
	leave_hidden(12345);
	hidden_name("big", 1, hidden);
	assert_int_equal(output_file_check(&options, why), 0);
	assert_int_equal(size_of(hidden), 12345);
	assert_int_equal(unlink(hidden), 0);
}

/* The sender's file does not begin with it. */
static void starts_anew_if_the_source_changed(void **state)
{
	struct digest digest, all = digest_after_zeros(0, DRAIN_DATA);
	uint64_t have = 0;

	(void)state;
	leave_hidden(LEFT);
	start(false, LEFT + DRAIN_DATA, &have, &digest);
	sink_continue(drain.sink, 0, false);
	assert_true(drain_arrive(DRAIN_DATA));
	sink_finish(drain.sink, DRAIN_DATA, &all);
	drain_assert_ends(SINK_VERIFIED);
	drain_assert_kept("big", DRAIN_DATA);
}

/* Data that does not match its digest is not resumed again. */
static void removes_damaged_data(void **state)
{
	struct digest digest, wrong = digest_after_zeros(LEFT, 1);
	uint64_t have = 0;

	(void)state;
	leave_hidden(LEFT);
	start(false, LEFT + DRAIN_DATA, &have, &digest);
	sink_continue(drain.sink, LEFT, false);
	assert_true(drain_arrive(DRAIN_DATA));
	sink_finish(drain.sink, DRAIN_DATA, &wrong);
	drain_assert_ends(SINK_DAMAGED);
	assert_int_equal(count_entries(NULL), 0);
}

/* Stopped at any time, it leaves what it has. */
static void leaves_a_large_interrupted_transfer(void **state)
{
	char hidden[FILE_NAME_MAX + 1] = "";
	struct digest digest;
	uint64_t have = 1;

	(void)state;
	start(false, LEFT, &have, &digest);
	assert_int_equal(have, 0);
	sink_continue(drain.sink, 0, false);
	assert_true(drain_arrive(DRAIN_DATA));
	while (ring_level(&drain.ring).freed < DRAIN_DATA)
		a_moment();
	sink_stop(drain.sink);
	drain_assert_ends(SINK_FAILED);
	assert_string_equal(sink_path(drain.sink), "");
	assert_string_equal(sink_target(drain.sink), "big");
	assert_int_equal(count_entries(hidden), 1);
	drain_assert_kept(hidden, DRAIN_DATA);
}

/* What other workers wrote behind a gap is removed: the next transfer takes the file as it is. */
static void leaves_no_gap(void **state)
{
	char hidden[FILE_NAME_MAX + 1] = "";
	struct digest digest;
	uint64_t have = 1;

	(void)state;
	drain.workers = 4;
	disk.gap = DRAIN_MOST;
	start(false, LEFT, &have, &digest);
	sink_continue(drain.sink, 0, false);
	assert_true(drain_arrive(DRAIN_RING));
	while (disk.behind < 2 || ring_level(&drain.ring).freed < DRAIN_MOST)
		a_moment();
	sink_stop(drain.sink);
	disk.gap = 0;
	drain_assert_ends(SINK_FAILED);
	assert_int_equal(count_entries(hidden), 1);
	drain_assert_kept(hidden, DRAIN_MOST);
}

/* Another part of the file is complete, so the disk begins to write it. */
static void starts_to_write_back(void **state)
{
	const uint64_t left = LEFT + STORAGE_PART - 65536;
	struct digest digest, all = digest_after_zeros(left, DRAIN_DATA);
	uint64_t have = 0;

	(void)state;
	leave_hidden(left);
	start(false, left + DRAIN_DATA, &have, &digest);
	sink_continue(drain.sink, left, false);
	assert_true(drain_arrive(DRAIN_DATA));
	sink_finish(drain.sink, DRAIN_DATA, &all);
	drain_assert_ends(SINK_VERIFIED);
	assert_int_equal(disk.written_back, LEFT);
	assert_int_equal(disk.written_size, STORAGE_PART);
}

static void removes_a_small_interrupted_transfer(void **state)
{
	struct digest digest;
	uint64_t have = 1;

	(void)state;
	start(false, LEFT - 1, &have, &digest);
	assert_int_equal(have, 0);
	sink_continue(drain.sink, 0, false);
	assert_true(drain_arrive(DRAIN_DATA));
	sink_stop(drain.sink);
	drain_assert_ends(SINK_FAILED);
	assert_int_equal(count_entries(NULL), 0);
}

static void recognises_a_file_that_is_already_there(void **state)
{
	struct digest digest, zeros = digest_after_zeros(65536, 0);
	uint64_t have = 0;
	struct stat before, after;

	(void)state;
	leave("big", 65536);
	assert_int_equal(stat("big", &before), 0);
	start(false, 65536, &have, &digest);
	assert_int_equal(have, 65536);
	assert_true(digest_equal(&digest, &zeros));
	sink_continue(drain.sink, 65536, false);
	sink_finish(drain.sink, 0, &zeros);
	drain_assert_ends(SINK_VERIFIED);
	assert_true(sink_is_there(drain.sink));
	assert_string_equal(sink_path(drain.sink), "big");
	assert_int_equal(stat("big", &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_int_equal(count_entries(NULL), 1);
}

/*
 * With a secret, an attacker who turns MSG_HAVE into MSG_DONE cannot pass a stale file for the
 * sender's.
 */
static void the_keyed_digest_of_existing_data_ends_no_stream(void **state)
{
	static const uint8_t key[DIGEST_KEY_SIZE] = {1}, zeros[1000];
	const struct digest existing = reference_digest(key, zeros, sizeof(zeros), DIGEST_EXISTING),
			    stream = reference_digest(key, zeros, sizeof(zeros), DIGEST_STREAM);

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct digest digest;
		uint64_t have = 0;

		leave("big", sizeof(zeros));
		drain_start("big", sizeof(zeros));
		sink_set_key(drain.sink, key);
		begin(&have, &digest);
		sink_continue(drain.sink, have, false);
		sink_finish(drain.sink, 0, i == 0 ? &digest : &stream);
		drain_assert_ends(i == 0 ? SINK_DAMAGED : SINK_VERIFIED);
		assert_int_equal(have, sizeof(zeros));
		assert_true(digest_equal(&digest, &existing));
		drain_again();
	}
}

static void keeps_a_different_file_of_the_same_size(void **state)
{
	struct digest digest, all = digest_after_zeros(0, 65536);
	uint64_t have = 0;

	(void)state;
	leave("big", 65536);
	start(false, 65536, &have, &digest);
	assert_int_equal(have, 65536);
	sink_continue(drain.sink, 0, false);
	drain_arrive(65536);
	drain_assert_failed(
		-EEXIST, "cannot write big: File exists (--force at the receiver replaces it)");
	assert_int_equal(size_of("big"), 65536);
	assert_int_equal(count_entries(NULL), 1);
	drain_again();
	/* With --force, it is replaced. */
	start(true, 65536, &have, &digest);
	assert_int_equal(have, 65536);
	sink_continue(drain.sink, 0, false);
	assert_true(drain_arrive(65536));
	sink_finish(drain.sink, 65536, &all);
	drain_assert_ends(SINK_VERIFIED);
	assert_false(sink_is_there(drain.sink));
	drain_assert_kept("big", 65536);
}

static void refuses_a_file_of_another_size_at_once(void **state)
{
	struct digest digest;
	uint64_t have = 1;

	(void)state;
	leave("big", 65535);
	start(false, 65536, &have, &digest);
	drain_assert_failed(
		-EEXIST, "cannot write big: File exists (--force at the receiver replaces it)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SINK_TEST(continues_an_interrupted_transfer),
		SINK_TEST(holes_that_were_left_out_are_holes),
		SINK_TEST(runs_that_do_not_fit_are_refused),
		SINK_TEST(a_check_keeps_an_interrupted_transfer),
		SINK_TEST(starts_anew_if_the_source_changed),
		SINK_TEST(removes_damaged_data),
		SINK_TEST(leaves_a_large_interrupted_transfer),
		SINK_TEST(leaves_no_gap),
		SINK_TEST(starts_to_write_back),
		SINK_TEST(removes_a_small_interrupted_transfer),
		SINK_TEST(recognises_a_file_that_is_already_there),
		SINK_TEST(the_keyed_digest_of_existing_data_ends_no_stream),
		SINK_TEST(keeps_a_different_file_of_the_same_size),
		SINK_TEST(refuses_a_file_of_another_size_at_once),
	};

	return cmocka_run_group_tests_name("resume", tests, NULL, NULL);
}
