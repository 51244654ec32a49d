/* Sparse files: content, allocated blocks, offsets beyond 4 GiB, errors. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/holes.h"
#include "tests/unit/unit.h"

#define BLOCK ((size_t)4096)
#define MANY  (64 * BLOCK)

/* Creates an unlinked temporary file. */
static int make_file(void)
{
	char path[] = "/tmp/test-holes.XXXXXX";
	int file = mkostemp(path, O_CLOEXEC);

	assert_true(file >= 0);
	unlink(path);
	return file;
}

static blkcnt_t blocks_of(int file)
{
	struct stat status;

	assert_int_equal(fsync(file), 0);
	assert_int_equal(fstat(file, &status), 0);
	return status.st_blocks;
}

/* Skips the test if the file system does not support holes. */
static void need_holes(int file)
{
	assert_int_equal(ftruncate(file, MANY), 0);
	if (blocks_of(file) != 0) {
		close(file);
		skip();
	}
	assert_int_equal(ftruncate(file, 0), 0);
}

/* Writes the data in pieces, sets the file's size, and reads it back. */
static void check_round_trip(const uint8_t *data, size_t size, size_t piece)
{
	static uint8_t back[MANY + BLOCK];
	int file = make_file();

	for (size_t at = 0; at < size; at += piece)
		assert_int_equal(holes_write(&(struct holes_file){.file = file}, data + at,
					 size - at < piece ? size - at : piece, (off_t)at),
			0);
	assert_int_equal(ftruncate(file, (off_t)size), 0);
	assert_int_equal(pread(file, back, sizeof(back), 0), size);
	assert_memory_equal(back, data, size);
	close(file);
}

static void reads_back_what_was_written(void **state)
{
	static const size_t pieces[] = {1000, BLOCK, BLOCK + 1, 3 * BLOCK - 7, MANY};
	static uint8_t data[MANY];

	(void)state;
	/* Runs of zeros of all lengths, within blocks and across block boundaries. */
	for (size_t at = 0, gap = 1; at < sizeof(data); at += gap, gap += 37)
		data[at] = (uint8_t)gap | 1;
	for (size_t i = 0; i < COUNT(pieces); i++) {
		check_round_trip(data, sizeof(data), pieces[i]);
		check_round_trip(data, sizeof(data) - 5, pieces[i]);
	}
	memset(data, 0, sizeof(data));
	check_round_trip(data, sizeof(data), 1000);
	/* A block that only begins or ends with zeros is data. */
	data[BLOCK - 1] = 1;
	data[2 * BLOCK] = 1;
	check_round_trip(data, sizeof(data), MANY);
}

static void leaves_holes_for_blocks_of_zeros(void **state)
{
	static uint8_t data[MANY];
	int file = make_file();

	(void)state;
	need_holes(file);
	assert_int_equal(holes_write(&(struct holes_file){.file = file}, data, sizeof(data), 0), 0);
	assert_int_equal(ftruncate(file, MANY), 0);
	assert_int_equal(blocks_of(file), 0);
	/* 2 blocks of data, plus at most what the file system allocates together with them. */
	data[0] = 1;
	data[MANY - 1] = 1;
	assert_int_equal(holes_write(&(struct holes_file){.file = file}, data, sizeof(data), 0), 0);
	assert_in_range(blocks_of(file), 1, MANY / 2 / 512);
	close(file);
}

static void reaches_beyond_4_gib(void **state)
{
	const off_t far = (5LL << 30) + 123;
	int file = make_file();
	char back[5];

	(void)state;
	need_holes(file);
	assert_int_equal(holes_write(&(struct holes_file){.file = file}, "hello", 5, far), 0);
	assert_int_equal(pread(file, back, 5, far), 5);
	assert_memory_equal(back, "hello", 5);
	assert_int_equal(lseek(file, 0, SEEK_END), far + 5);
	close(file);
}

/* Runs of a file: what holes_find() finds from each end of a run to the next. */
static void finds_the_runs_of_a_file(void **state)
{
	static const struct tree_run wanted[] = {
		{2 * BLOCK, BLOCK}, {5 * BLOCK, 2 * BLOCK}, {7, 0}};
	const uint64_t size = 10 * BLOCK + 7;
	int file = make_file();
	struct tree_run run;
	struct stat status;
	uint64_t at = 0;

	(void)state;
	need_holes(file);
	assert_int_equal(pwrite(file, "x", 1, 2 * BLOCK + 1), 1);
	assert_int_equal(pwrite(file, "xy", 2, 9 * BLOCK - 1), 2);
	assert_int_equal(ftruncate(file, (off_t)size), 0);
	assert_int_equal(fstat(file, &status), 0);
	assert_false(holes_likely(&status)); /* it is small */
	for (size_t i = 0; i < COUNT(wanted); i++) {
		assert_int_equal(holes_find(file, at, size, &run), 0);
		assert_int_equal(run.hole, wanted[i].hole);
		assert_int_equal(run.data, wanted[i].data);
		at += run.hole + run.data;
	}
	assert_int_equal(at, size);
	/* From within a run, and up to less than the file has. */
	assert_int_equal(holes_find(file, 2 * BLOCK + 5, size, &run), 0);
	assert_true(run.hole == 0 && run.data == BLOCK - 5);
	assert_int_equal(holes_find(file, BLOCK, 2 * BLOCK + 5, &run), 0);
	assert_true(run.hole == BLOCK && run.data == 5);
	assert_int_equal(holes_find(file, BLOCK, 2 * BLOCK, &run), 0);
	assert_true(run.hole == BLOCK && run.data == 0);
	/* The file is shorter than it was. */
	assert_int_equal(holes_find(file, 10 * BLOCK, size + 1, &run), -ENODATA);
	assert_int_equal(ftruncate(file, 1 << 20), 0);
	assert_int_equal(fstat(file, &status), 0);
	assert_true(holes_likely(&status));
	close(file);
}

static void reports_errors(void **state)
{
	struct tree_run run;

	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(holes_write(&(struct holes_file){.file = full}, "data", 4, 0), -ENOSPC);
	close(full);
	assert_int_equal(holes_write(&(struct holes_file){.file = -1}, "data", 4, 0), -EBADF);
	assert_int_equal(holes_find(-1, 0, 1, &run), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_back_what_was_written),
		cmocka_unit_test(leaves_holes_for_blocks_of_zeros),
		cmocka_unit_test(reaches_beyond_4_gib),
		cmocka_unit_test(finds_the_runs_of_a_file),
		cmocka_unit_test(reports_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
