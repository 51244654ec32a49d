/* Hidden files: their names, leftover files that are adopted or removed, and files of others. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
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

/* Creates a file with the hidden name of "f" that has this number. */
static void leave(unsigned int number, const char *data)
{
	char hidden[FILE_NAME_MAX + 1];

	hidden_name("f", number, hidden);
	put(hidden, data);
}

/* True if the hidden name of "f" with this number exists. */
static bool is_left(unsigned int number)
{
	char hidden[FILE_NAME_MAX + 1];

	hidden_name("f", number, hidden);
	return access(hidden, F_OK) == 0;
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

/* Names of which the same part fits into a hidden name. */
static void long_names_have_different_hidden_names(void **state)
{
	char one[FILE_NAME_MAX + 1], other[FILE_NAME_MAX + 1], name[FILE_NAME_MAX + 1] = "";

	(void)state;
	memset(name, 'n', FILE_NAME_MAX);
	hidden_name(name, 0, one);
	name[FILE_NAME_MAX - 1] = 'm';
	hidden_name(name, 0, other);
	assert_int_equal(strlen(one), FILE_NAME_MAX);
	assert_string_not_equal(one, other);
	/* The last number uses all digits. */
	hidden_name(name, HIDDEN_NAMES - 1, one);
	assert_string_equal(one + FILE_NAME_MAX - 3, "fff");
}

static void adopts_the_largest_leftover_file_that_fits(void **state)
{
	char hidden[FILE_NAME_MAX + 1], largest[FILE_NAME_MAX + 1];
	uint64_t size;
	int file;

	(void)state;
	leave(1, "12");
	leave(3, "12345");
	leave(5, "123456789");
	leave(7, "");
	file = open_hidden("f", 5, hidden, &size);
	assert_true(file >= 0);
	hidden_name("f", 3, largest);
	assert_string_equal(hidden, largest);
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
	leave(0, "data");
	leave(2, "data");
	file = open_hidden("f", 0, hidden, &size);
	assert_true(file >= 0);
	assert_int_equal(size, 0);
	assert_contents(hidden, "");
	assert_int_equal(count_entries(NULL), 1);
	close(file);
}

/* Those of a process that was killed while it received the same name many times. */
static void finds_leftover_files_without_a_gap(void **state)
{
	char hidden[FILE_NAME_MAX + 1];
	uint64_t size;
	int file;

	(void)state;
	for (unsigned int number = 0; number < 3 * HIDDEN_NAMES_TRIED; number++)
		leave(number, number == 2 * HIDDEN_NAMES_TRIED ? "12345" : "1234");
	leave(3 * HIDDEN_NAMES_TRIED + 1, "after a gap");
	file = open_hidden("f", 100, hidden, &size);
	assert_true(file >= 0);
	assert_int_equal(size, 5);
	assert_true(is_left(2 * HIDDEN_NAMES_TRIED));
	assert_true(is_left(3 * HIDDEN_NAMES_TRIED + 1));
	assert_int_equal(count_entries(NULL), 2);
	close(file);
}

/* A file that a later transfer might not find must not be left. */
static void knows_which_names_are_always_tried(void **state)
{
	char hidden[FILE_NAME_MAX + 1];

	(void)state;
	for (unsigned int number = 0; number < HIDDEN_NAMES; number++) {
		hidden_name("f", number, hidden);
		assert_int_equal(hidden_name_is_tried("f", hidden), number < HIDDEN_NAMES_TRIED);
		assert_false(hidden_name_is_tried("g", hidden));
	}
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
		".g.123456", ".f.f.123456", ".f.123456.x", ".ff123456", ".f.123456"};
	char hidden[FILE_NAME_MAX + 1];
	bool root = geteuid() == 0;
	uint64_t size;
	int file;

	(void)state;
	for (size_t i = 0; i < COUNT(others); i++)
		put(others[i], "data");
	/*
	 * A link, a file with another name, a FIFO, a folder and another user's file are no
	 * leftover files.
	 */
	hidden_name("f", 0, hidden);
	assert_int_equal(symlink("f.123456", hidden), 0);
	hidden_name("f", 1, hidden);
	assert_int_equal(link(".g.123456", hidden), 0);
	hidden_name("f", 2, hidden);
	assert_int_equal(mkfifo(hidden, 0600), 0);
	hidden_name("f", 3, hidden);
	assert_int_equal(mkdir(hidden, 0700), 0);
	if (root) {
		leave(4, "data");
		hidden_name("f", 4, hidden);
		assert_int_equal(chown(hidden, 65534, 65534), 0);
	}
	file = open_hidden("f", 100, hidden, &size);
	assert_true(file >= 0);
	assert_int_equal(size, 0);
	assert_int_equal(count_entries(NULL), COUNT(others) + 5 + root);
	close(file);
}

/* Another user can create all hidden names of a name in a shared directory. */
static void finds_a_name_if_all_numbers_are_used(void **state)
{
	char hidden[FILE_NAME_MAX + 1];
	uint64_t size;
	int files[2];

	(void)state;
	for (unsigned int number = 0; number < HIDDEN_NAMES; number++) {
		hidden_name("f", number, hidden);
		assert_int_equal(symlink("nowhere", hidden), 0);
	}
	for (size_t i = 0; i < COUNT(files); i++) {
		files[i] = open_hidden("f", 100, hidden, &size);
		assert_true(files[i] >= 0);
		assert_false(hidden_name_is_tried("f", hidden));
	}
	assert_int_equal(count_entries(NULL), HIDDEN_NAMES + 2);
	close(files[0]);
	close(files[1]);
}

/* Receives files of the same name again and again, each of which must be this thread's own. */
static void *use_hidden_files(void *argument)
{
	const char *own = argument;
	char hidden[FILE_NAME_MAX + 1], found;
	struct stat status, named;
	uint64_t size;

	for (unsigned int i = 0; i < 300; i++) {
		int file = open_hidden("f", 100, hidden, &size);
		bool kept = i % 5 == 0;

		if (file < 0 || pwrite(file, own, 1, 0) != 1)
			return (char *)"cannot open or write";
		sched_yield();
		if (fstat(file, &status) || stat(hidden, &named) || status.st_nlink != 1 ||
			status.st_ino != named.st_ino)
			return (char *)"the name belongs to another file";
		if (pread(file, &found, 1, 0) != 1 || found != *own)
			return (char *)"another thread uses the file";
		if (!kept)
			unlink(hidden);
		close(file);
	}
	return NULL;
}

static void threads_never_share_a_hidden_file(void **state)
{
	static char own[] = "abcd";
	pthread_t threads[4];
	void *error;

	(void)state;
	for (size_t i = 0; i < COUNT(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use_hidden_files, &own[i]), 0);
	for (size_t i = 0; i < COUNT(threads); i++) {
		assert_int_equal(pthread_join(threads[i], &error), 0);
		if (error)
			fail_msg("%s", (char *)error);
	}
	assert_in_range(count_entries(NULL), 0, COUNT(threads));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OUTPUT_FILE_TEST(names_the_file_after_its_final_name),
		OUTPUT_FILE_TEST(long_names_have_different_hidden_names),
		OUTPUT_FILE_TEST(adopts_the_largest_leftover_file_that_fits),
		OUTPUT_FILE_TEST(removes_leftover_files_that_it_does_not_adopt),
		OUTPUT_FILE_TEST(finds_leftover_files_without_a_gap),
		OUTPUT_FILE_TEST(knows_which_names_are_always_tried),
		OUTPUT_FILE_TEST(leaves_files_in_use_alone),
		OUTPUT_FILE_TEST(leaves_other_files_alone),
		OUTPUT_FILE_TEST(finds_a_name_if_all_numbers_are_used),
		OUTPUT_FILE_TEST(threads_never_share_a_hidden_file),
	};

	return cmocka_run_group_tests_name("hidden-file", tests, NULL, NULL);
}
