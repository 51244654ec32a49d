/* Which part of a file is read and written directly, and which files can be opened for that. */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stream/direct.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/unit.h"

#define DIRECT 1000
#define FILE_  1001

/* The last read or write. */
static struct {
	int file;
	size_t size;
	off_t offset;
} last;

static bool refuses_blocks; /* reads and writes of whole blocks fail with EINVAL */

static ssize_t take(int file, size_t size, off_t offset)
{
	if (refuses_blocks && size % DIRECT_BLOCK == 0) {
		errno = EINVAL;
		return -1;
	}
	last.file = file;
	last.size = size;
	last.offset = offset;
	return (ssize_t)size;
}

/* These take the place of the C library's. */
ssize_t pread64(int file, void *bytes, size_t size, off_t offset)
{
	(void)bytes;
	return take(file, size, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off_t offset)
{
	(void)bytes;
	return take(file, size, offset);
}

static void whole_blocks_are_direct(void **state)
{
	_Alignas(DIRECT_BLOCK) static uint8_t memory[4 * DIRECT_BLOCK];
	static const struct {
		const char *name;
		size_t at, size; /* in the memory */
		off_t offset;
		int file;
		size_t taken;
	} cases[] = {
		{"aligned", 0, 8192, 12288, DIRECT, 8192},
		{"with a tail", 4096, 8292, 4096, DIRECT, 8192},
		{"the tail", 4096, 100, 8192, FILE_, 100},
		{"with a head", 100, 9000, 4196, FILE_, 3996},
		{"all is head", 100, 50, 100, FILE_, 50},
		{"the head, up to the block", 100, 3996, 100, FILE_, 3996},
		{"another address than offset", 64, 8192, 0, FILE_, 8192},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint8_t *bytes = memory + cases[i].at;
		size_t size = cases[i].size;
		off_t offset = cases[i].offset;

		check_case(cases[i].name,
			direct_read(DIRECT, FILE_, bytes, size, offset) == (ssize_t)cases[i].taken);
		check_case(cases[i].name, last.file == cases[i].file);
		check_case(cases[i].name, last.size == cases[i].taken && last.offset == offset);
		check_case(cases[i].name, direct_write(DIRECT, FILE_, bytes, size, offset) ==
						  (ssize_t)cases[i].taken);
		check_case(cases[i].name, last.file == cases[i].file);
		direct_read(0, FILE_, bytes, size, offset);
		check_case(cases[i].name, last.file == FILE_ && last.size == size);
	}
}

static int refused; /* the errno with which O_DIRECT fails, or 0: it is ignored */

int openat64(int directory, const char *path, int flags, ...)
{
	if ((flags & O_DIRECT) && refused) {
		errno = refused;
		return -1;
	}
	return (int)syscall(SYS_openat, directory, path, flags & ~O_DIRECT, 0600);
}

static void only_the_same_file_is_opened(void **state)
{
	int file, direct;

	(void)state;
	put("file", "data");
	put("other", "data");
	file = open("file", O_RDONLY | O_CLOEXEC);
	direct = direct_open(AT_FDCWD, "file", O_RDONLY, file);
	assert_true(direct > file);
	close(direct);
	assert_int_equal(direct_open(AT_FDCWD, "other", O_RDONLY, file), -ESTALE);
	assert_int_equal(direct_open(AT_FDCWD, "none", O_RDONLY, file), -ENOENT);
	refused = EINVAL;
	assert_int_equal(direct_open(AT_FDCWD, "file", O_RDONLY, file), -EOPNOTSUPP);
	refused = 0;
	close(file);
}

static void output_is_refused_with_a_reason(void **state)
{
	const struct output_file_options file_options = {.output = "file", .direct = true};
	const struct output_file_options null_options = {.output = "/dev/null", .direct = true};
	const struct output_file_offer offer = {.name = "", .fallback = "f"};
	struct output_file *file;

	(void)state;
	assert_int_equal(output_file_open(&file, &file_options, &offer, -1, why), 0);
	assert_true(output_file_is_direct(file));
	output_file_close(file);
	refused = EINVAL;
	assert_int_equal(output_file_open(&file, &file_options, &offer, -1, why), -EOPNOTSUPP);
	assert_string_equal(why, "cannot write file: Operation not supported (the file system does "
				 "not support --direct)");
	refused = 0;
	assert_int_equal(output_file_open(&file, &null_options, &offer, -1, why), -EINVAL);
	assert_string_equal(
		why, "cannot write null: Invalid argument (--direct needs a regular file)");
	assert_int_equal(count_entries(NULL), 0);
}

/* A file system may refuse direct access only when data moves. */
static void the_first_block_is_refused(void **state)
{
	static _Alignas(DIRECT_BLOCK) uint8_t block[DIRECT_BLOCK] = {1};
	const struct output_file_options options = {.output = "file", .direct = true};
	const struct output_file_offer offer = {.name = "", .fallback = "f"};
	struct output_file *file;

	(void)state;
	refuses_blocks = true;
	assert_int_equal(direct_read(DIRECT, FILE_, block, sizeof(block), 0), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(direct_read(0, FILE_, block, sizeof(block), 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(output_file_open(&file, &options, &offer, -1, why), 0);
	assert_int_equal(output_file_write(file, block, sizeof(block), why), -EOPNOTSUPP);
	assert_string_equal(why, "cannot write file: Operation not supported (the file system does "
				 "not support --direct)");
	output_file_close(file);
	refuses_blocks = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_blocks_are_direct),
		OUTPUT_FILE_TEST(only_the_same_file_is_opened),
		OUTPUT_FILE_TEST(output_is_refused_with_a_reason),
		OUTPUT_FILE_TEST(the_first_block_is_refused),
	};

	return cmocka_run_group_tests_name("direct", tests, NULL, NULL);
}
