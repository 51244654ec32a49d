/* Hidden files: unused names, leftover files that are adopted or removed, and files of others. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/hidden-file.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/unit.h"

/* Opens the hidden file of a name in the current folder. */
static int open_hidden(
	const char *name, uint64_t most, char hidden[FILE_NAME_MAX + 1], uint64_t *size)
{
	int directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), file;

	assert_true(directory >= 0);
	file = hidden_file_open(directory, name, most, hidden, size);
	close(directory);
	return file;
}

static void names_the_file_after_its_final_name(void **state)
{
	char hidden[FILE_NAME_MAX + 1], long_name[FILE_NAME_MAX + 1] = "";
	uint64_t size = 1;
	struct stat status;
	int file;

	(void)state;
	file = open_hidden("big.iso", 0, hidden, &size);
	assert_true(file >= 0);
	assert_int_equal(size, 0);
	assert_int_equal(strlen(hidden), strlen(".big.iso.") + 6);
	assert_int_equal(strncmp(hidden, ".big.iso.", 9), 0);
	assert_int_equal(fstat(file, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0644);
	close(file);
	memset(long_name, 'n', FILE_NAME_MAX);
	file = open_hidden(long_name, 0, hidden, &size);
	assert_true(file >= 0);
	assert_int_equal(strlen(hidden), FILE_NAME_MAX);
	close(file);
}

static void adopts_the_largest_leftover_file_that_fits(void **state)
{
	char hidden[FILE_NAME_MAX + 1];
	uint64_t size;
	int file;

	(void)state;
	put(".f.000001", "12");
	put(".f.00000a", "12345");
	put(".f.0000ff", "123456789");
	put(".f.ffffff", "");
	file = open_hidden("f", 5, hidden, &size);
	assert_true(file >= 0);
	assert_string_equal(hidden, ".f.00000a");
	assert_int_equal(size, 5);
	assert_contents(hidden, "12345");
	assert_int_equal(count_entries(NULL), 1);
	close(file);
}

static void removes_leftover_files_that_it_does_not_adopt(void **state)
{
	char hidden[FILE_NAME_MAX + 1];
	uint64_t size = 1;
	int file;

	(void)state;
	put(".f.123456", "data");
	file = open_hidden("f", 0, hidden, &size);
	assert_true(file >= 0);
	assert_int_equal(size, 0);
	assert_string_not_equal(hidden, ".f.123456");
	assert_int_equal(count_entries(NULL), 1);
	close(file);
}

/* Its owner keeps a hidden file locked, also in the same process. */
static void leaves_files_in_use_alone(void **state)
{
	char first[FILE_NAME_MAX + 1], second[FILE_NAME_MAX + 1];
	uint64_t size;
	int files[2];

	(void)state;
	files[0] = open_hidden("f", 0, first, &size);
	assert_int_equal(write(files[0], "data", 4), 4);
	files[1] = open_hidden("f", 100, second, &size);
	assert_true(files[1] >= 0);
	assert_int_equal(size, 0);
	assert_string_not_equal(first, second);
	assert_int_equal(count_entries(NULL), 2);
	close(files[0]);
	close(files[1]);
}

static void leaves_other_files_alone(void **state)
{
	static const char *const others[] = {".f.12345", ".f.1234567", ".f.12345G", "f.123456",
		".g.123456", ".f.f.123456", ".f.123456.x", ".ff123456"};
	char hidden[FILE_NAME_MAX + 1];
	uint64_t size;
	int file;

	(void)state;
	for (size_t i = 0; i < COUNT(others); i++)
		put(others[i], "data");
	/* Neither a link, nor a file with another name, nor a FIFO is a leftover file. */
	assert_int_equal(symlink("f.123456", ".f.aaaaaa"), 0);
	assert_int_equal(link(".g.123456", ".f.bbbbbb"), 0);
	assert_int_equal(mkfifo(".f.cccccc", 0600), 0);
	assert_int_equal(mkdir(".f.dddddd", 0700), 0);
	file = open_hidden("f", 100, hidden, &size);
	assert_true(file >= 0);
	assert_int_equal(size, 0);
	assert_int_equal(count_entries(NULL), COUNT(others) + 5);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OUTPUT_FILE_TEST(names_the_file_after_its_final_name),
		OUTPUT_FILE_TEST(adopts_the_largest_leftover_file_that_fits),
		OUTPUT_FILE_TEST(removes_leftover_files_that_it_does_not_adopt),
		OUTPUT_FILE_TEST(leaves_files_in_use_alone),
		OUTPUT_FILE_TEST(leaves_other_files_alone),
	};

	return cmocka_run_group_tests_name("hidden-file", tests, NULL, NULL);
}
