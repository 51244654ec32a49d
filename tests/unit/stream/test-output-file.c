/* Output files: commit, discard, permissions, and existing files of the same name. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/file-name.h"
#include "stream/output-file.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/unit.h"

static mode_t permissions(const char *path)
{
	struct stat status;

	assert_int_equal(lstat(path, &status), 0);
	return status.st_mode & 07777;
}

static void appears_whole_when_committed(void **state)
{
	char hidden[FILE_NAME_MAX + 1] = "";
	struct output_file *output_file;

	(void)state;
	assert_int_equal(open_output(&output_file, "big.iso", false), 0);
	assert_string_equal(output_file_name(output_file), "big.iso");
	assert_int_equal(output_file_write(output_file, "first ", 6, why), 0);
	assert_int_equal(output_file_write(output_file, "second", 6, why), 0);
	assert_int_equal(access("big.iso", F_OK), -1);
	assert_int_equal(count_entries(hidden), 1);
	assert_memory_equal(hidden, ".big.iso.", 9);
	assert_int_equal(strlen(hidden), strlen(".big.iso.xxxxxx"));
	assert_int_equal(output_file_commit(output_file, why), 0);
	output_file_close(output_file);
	assert_contents("big.iso", "first second");
	assert_int_equal(count_entries(NULL), 1);
	output_file_close(NULL);
}

static void leaves_nothing_when_not_committed(void **state)
{
	struct output_file *output_file;

	(void)state;
	assert_int_equal(open_output(&output_file, "big.iso", false), 0);
	assert_int_equal(output_file_write(output_file, "data", 4, why), 0);
	output_file_close(output_file);
	assert_int_equal(count_entries(NULL), 0);
}

static void keeps_zeros_at_the_end(void **state)
{
	static char zeros[3 * 4096 + 5];
	struct output_file *output_file;
	struct stat status;

	(void)state;
	assert_int_equal(open_output(&output_file, "zeros", false), 0);
	/*
	 * Offsets beyond 4 GiB would take seconds here: tests/unit/stream/test-holes.c covers them.
	 */
	for (int i = 0; i < 100; i++)
		assert_int_equal(output_file_write(output_file, zeros, sizeof(zeros), why), 0);
	assert_int_equal(output_file_commit(output_file, why), 0);
	output_file_close(output_file);
	assert_int_equal(stat("zeros", &status), 0);
	assert_int_equal(status.st_size, 100 * sizeof(zeros));
	/* An empty stream creates an empty file. */
	assert_int_equal(receive("empty", false, ""), 0);
	assert_contents("empty", "");
}

static void has_the_permissions_of_any_new_file(void **state)
{
	static const mode_t masks[] = {022, 027, 0, 077};

	(void)state;
	for (size_t i = 0; i < COUNT(masks); i++) {
		umask(masks[i]);
		assert_int_equal(receive("file", true, "data"), 0);
		assert_int_equal(permissions("file"), 0666 & ~masks[i]);
	}
}

static void takes_the_name_of_the_peer_in_a_directory(void **state)
{
	static const struct {
		const char *output, *name;
		size_t size;
		const char *wanted;
	} cases[] = {
		{"folder", "a.iso", 5, "a.iso"},
		{"folder/", "../../b.iso", 11, "b.iso"},
		{"folder//", ".c", 2, "_c"},
		{"folder/.", "d\n", 2, "d_"},
		{"link", "e", 1, "e"},
		{"folder", "", 0, "10.0.0.1-45678"},
		{"folder", "x/..", 4, "10.0.0.1-45678"},
	};
	char path[80];

	(void)state;
	assert_int_equal(mkdir("folder", 0700), 0);
	assert_int_equal(symlink("folder", "link"), 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct output_file *output_file;

		assert_int_equal(open_named(&output_file, cases[i].output, true, cases[i].name,
					 cases[i].size),
			0);
		assert_string_equal(output_file_name(output_file), cases[i].wanted);
		assert_int_equal(output_file_commit(output_file, why), 0);
		output_file_close(output_file);
		snprintf(path, sizeof(path), "folder/%s", cases[i].wanted);
		assert_int_equal(access(path, F_OK), 0);
	}
}

/* Renaming the directory during the transfer has no effect. */
static void stays_in_its_directory(void **state)
{
	struct output_file *output_file;

	(void)state;
	assert_int_equal(mkdir("before", 0700), 0);
	assert_int_equal(open_output(&output_file, "before/file", false), 0);
	assert_int_equal(rename("before", "after"), 0);
	assert_int_equal(output_file_commit(output_file, why), 0);
	output_file_close(output_file);
	assert_int_equal(access("after/file", F_OK), 0);
}

static void keeps_existing_files(void **state)
{
	(void)state;
	put("big.iso", "old");
	assert_int_equal(receive("big.iso", false, "new"), -EEXIST);
	assert_string_equal(
		why, "cannot write big.iso: File exists (--force at the receiver replaces it)");
	assert_contents("big.iso", "old");
	assert_int_equal(receive("big.iso", true, "new"), 0);
	assert_contents("big.iso", "new");
	assert_int_equal(count_entries(NULL), 1);
}

/* Before any data of a tree arrives, too, if the peer has named its first entry. */
static void refuses_a_tree_whose_first_name_is_taken(void **state)
{
	const struct output_file_options options = {.output = "."};
	struct output_file_offer offer = {
		.name = "photos", .size = 6, .fallback = "peer", .tree = true};
	struct output_file *file = NULL;

	(void)state;
	assert_int_equal(mkdir("photos", 0700), 0);
	assert_int_equal(mkdir("peer", 0700), 0);
	assert_int_equal(output_file_open(&file, &options, &offer, -1, why), -EISDIR);
	assert_string_equal(why,
		"cannot write photos: Is a directory (with --update at the receiver, directories are merged)");
	assert_null(file);
	assert_int_equal(count_entries(NULL), 2);
	offer.size = 0;
	assert_int_equal(output_file_open(&file, &options, &offer, -1, why), 0);
	output_file_close(file);
}

static void replaces_no_directory(void **state)
{
	struct output_file *output_file;

	(void)state;
	assert_int_equal(mkdir("offered", 0700), 0);
	assert_int_equal(receive(".", true, "data"), -EISDIR);
	assert_string_equal(
		why, "cannot write offered: Is a directory (a directory is never replaced)");
	rmdir("offered");
	assert_int_equal(open_output(&output_file, "file", true), 0);
	assert_int_equal(mkdir("file", 0700), 0);
	assert_int_equal(output_file_commit(output_file, why), -EISDIR);
	output_file_close(output_file);
	assert_int_equal(count_entries(NULL), 1);
}

/* A peer cannot choose a device in /dev, nor a FIFO that others read. */
static void replaces_only_files_of_a_directory(void **state)
{
	(void)state;
	assert_int_equal(mkfifo("offered", 0600), 0);
	assert_int_equal(receive("./", true, "data"), -EEXIST);
	assert_string_equal(why, "cannot write offered: File exists (not a regular file)");
	unlink("offered");
	assert_int_equal(symlink("elsewhere", "offered"), 0);
	assert_int_equal(receive("./", false, "data"), -EEXIST);
	assert_int_equal(receive("./", true, "data"), 0);
	assert_contents("offered", "data");
	assert_int_equal(access("elsewhere", F_OK), -1);
}

static void replaces_the_file_behind_a_link(void **state)
{
	struct output_file *output_file;
	char back[8];

	(void)state;
	put("file", "old");
	assert_int_equal(symlink("file", "link"), 0);
	assert_int_equal(receive("link", false, "new"), -EEXIST);
	assert_int_equal(open_output(&output_file, "link", true), 0);
	assert_string_equal(output_file_name(output_file), "file");
	assert_int_equal(output_file_write(output_file, "new", 3, why), 0);
	assert_int_equal(output_file_commit(output_file, why), 0);
	output_file_close(output_file);
	assert_contents("file", "new");
	assert_int_equal(readlink("link", back, sizeof(back)), 4);
	/* A dangling link counts as the existing file. */
	unlink("file");
	assert_int_equal(receive("link", false, "new"), -EEXIST);
	assert_int_equal(receive("link", true, "new"), 0);
	assert_int_equal(permissions("link"), 0644);
}

static void writes_straight_into_devices(void **state)
{
	struct stat status;

	(void)state;
	assert_int_equal(symlink("/dev/null", "null"), 0);
	assert_int_equal(receive("/dev/null", false, "data"), 0);
	assert_int_equal(receive("null", true, "data"), 0);
	assert_int_equal(stat("/dev/null", &status), 0);
	assert_true(S_ISCHR(status.st_mode));
	assert_int_equal(receive("/dev/full", false, "data"), -ENOSPC);
	assert_string_equal(why, "cannot write full: No space left on device");
	assert_int_equal(count_entries(NULL), 1);
}

static void writes_to_standard_output(void **state)
{
	int saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), ends[2];
	char back[8] = "";

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	dup2(ends[1], STDOUT_FILENO);
	assert_int_equal(receive("-", false, "data"), 0);
	assert_int_equal(receive("/dev/stdout", true, "more"), 0);
	assert_int_equal(read(ends[0], back, sizeof(back)), 8);
	assert_memory_equal(back, "datamore", 8);
	close(ends[0]);
	assert_int_equal(receive("-", false, "data"), -EPIPE);
	dup2(saved, STDOUT_FILENO);
	assert_string_equal(why, "cannot write to standard output: Broken pipe");
	close(saved);
	close(ends[1]);
	assert_int_equal(count_entries(NULL), 0);
}

static void takes_names_of_255_bytes(void **state)
{
	char name[FILE_NAME_MAX + 2], hidden[FILE_NAME_MAX + 1] = "";
	struct output_file *output_file;

	(void)state;
	memset(name, 'a', sizeof(name));
	assert_int_equal(
		open_named(&output_file, ".", false, name, FILE_NAME_MAX + 1), -ENAMETOOLONG);
	assert_string_equal(why, "cannot write the output file: File name too long");
	/* The hidden name is never cut in the middle of a UTF-8 character. */
	for (size_t i = 0; i + 1 < FILE_NAME_MAX; i += 2)
		memcpy(name + i, "\xc3\xa4", 2);
	assert_int_equal(open_named(&output_file, ".", false, name, FILE_NAME_MAX), 0);
	assert_int_equal(count_entries(hidden), 1);
	assert_int_equal(strlen(hidden), 1 + 246 + 7);
	assert_int_equal(output_file_commit(output_file, why), 0);
	output_file_close(output_file);
	name[FILE_NAME_MAX] = '\0';
	assert_int_equal(access(name, F_OK), 0);
	/* An error message that escaping made too long still ends with the reason. */
	assert_int_equal(open_named(&output_file, ".", false, name, FILE_NAME_MAX), -EEXIST);
	assert_non_null(strstr(why, "...: File exists (--force at the receiver replaces it)"));
	/* The same limit applies to a name that the user specifies. */
	name[FILE_NAME_MAX] = 'a';
	name[FILE_NAME_MAX + 1] = '\0';
	assert_int_equal(receive(name, false, "data"), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OUTPUT_FILE_TEST(appears_whole_when_committed),
		OUTPUT_FILE_TEST(leaves_nothing_when_not_committed),
		OUTPUT_FILE_TEST(keeps_zeros_at_the_end),
		OUTPUT_FILE_TEST(has_the_permissions_of_any_new_file),
		OUTPUT_FILE_TEST(takes_the_name_of_the_peer_in_a_directory),
		OUTPUT_FILE_TEST(stays_in_its_directory),
		OUTPUT_FILE_TEST(keeps_existing_files),
		OUTPUT_FILE_TEST(refuses_a_tree_whose_first_name_is_taken),
		OUTPUT_FILE_TEST(replaces_no_directory),
		OUTPUT_FILE_TEST(replaces_only_files_of_a_directory),
		OUTPUT_FILE_TEST(replaces_the_file_behind_a_link),
		OUTPUT_FILE_TEST(writes_straight_into_devices),
		OUTPUT_FILE_TEST(writes_to_standard_output),
		OUTPUT_FILE_TEST(takes_names_of_255_bytes),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
