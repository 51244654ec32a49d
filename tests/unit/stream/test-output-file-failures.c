/* Output files when the disk, the directory, the name or the process fails. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stream/file-name.h"
#include "stream/output-file.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/unit.h"

/*
 * The errno values with which the wrapped functions of the same names fail; 0: they succeed or fail
 * as usual. close() closes in any case.
 */
static struct {
	int renameat2, linkat, fsync, close, fallocate;
} faults;

/* The calls of fallocate(), and its last range. */
static struct {
	unsigned int calls;
	int mode;
	off_t start, size;
} allocated;

static int fail_with(int error)
{
	errno = error;
	return -1;
}

int renameat2(int old_folder, const char *old_name, int new_folder, const char *new_name,
	unsigned int flags)
{
	return faults.renameat2 ? fail_with(faults.renameat2)
				: (int)syscall(SYS_renameat2, old_folder, old_name, new_folder,
					  new_name, flags);
}

int linkat(int old_folder, const char *old_name, int new_folder, const char *new_name, int flags)
{
	return faults.linkat ? fail_with(faults.linkat)
			     : (int)syscall(SYS_linkat, old_folder, old_name, new_folder, new_name,
				       flags);
}

int fsync(int descriptor)
{
	return faults.fsync ? fail_with(faults.fsync) : (int)syscall(SYS_fsync, descriptor);
}

/* Succeeds on a tmpfs, too. */
int fallocate64(int descriptor, int mode, off_t start, off_t size)
{
	(void)descriptor;
	allocated.calls++;
	allocated.mode = mode;
	allocated.start = start;
	allocated.size = size;
	return faults.fallocate ? fail_with(faults.fallocate) : 0;
}

int fstatfs64(int descriptor, struct statfs64 *status)
{
	(void)descriptor;
	memset(status, 0, sizeof(*status));
	return 0;
}

int close(int descriptor)
{
	int result = (int)syscall(SYS_close, descriptor);

	return faults.close ? fail_with(faults.close) : result;
}

static int set_up(void **state)
{
	memset(&faults, 0, sizeof(faults));
	memset(&allocated, 0, sizeof(allocated));
	return output_file_fixture_set_up(state);
}

static int tear_down(void **state)
{
	memset(&faults, 0, sizeof(faults));
	return output_file_fixture_tear_down(state);
}

/*
 * Runs a function in a child process. It returns 0, 77 to skip the test, or the number of the
 * failed check.
 */
static void run_in_child(int (*function)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(function());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* The file appears after the check: it is kept, whichever system calls the file system supports. */
static void keeps_a_file_that_appears_during_the_transfer(void **state)
{
	static const struct {
		int renameat2, linkat;
	} cases[] = {{0, 0}, {EINVAL, 0}, {ENOSYS, 0}, {EINVAL, EPERM}, {EINVAL, EOPNOTSUPP}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct output_file *file;

		faults.renameat2 = cases[i].renameat2;
		faults.linkat = cases[i].linkat;
		assert_int_equal(open_output(&file, "big.iso", false), 0);
		assert_int_equal(output_file_write(file, "new", 3, why), 0);
		put("big.iso", "old");
		assert_int_equal(output_file_commit(file, why), -EEXIST);
		assert_string_equal(why,
			"cannot write big.iso: File exists (--force at the receiver replaces it)");
		output_file_close(file);
		assert_contents("big.iso", "old");
		unlink("big.iso");
		/* Without the other file, committing succeeds. */
		assert_int_equal(receive("big.iso", false, "new"), 0);
		assert_contents("big.iso", "new");
		assert_int_equal(count_entries(NULL), 1);
		unlink("big.iso");
	}
}

static void names_only_the_file(void **state)
{
	static const struct {
		const char *output;
		int error;
		const char *why;
	} cases[] = {
		{"", -ENOENT, "cannot write the output file: No such file or directory"},
		{"/nowhere/secret/file", -ENOENT, "cannot write file: No such file or directory"},
		{"/nowhere/secret/", -ENOENT, "cannot write offered: No such file or directory"},
		{"/dev/null/", -ENOTDIR, "cannot write offered: Not a directory"},
		{"/dev/null/file", -ENOTDIR, "cannot write file: Not a directory"},
		{"\x1b[2J/\x1b[2J", -ENOENT, "cannot write \\x1b[2J: No such file or directory"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(receive(cases[i].output, false, "data"), cases[i].error);
		assert_string_equal(why, cases[i].why);
	}
}

static void is_stopped_while_it_waits(void **state)
{
	struct output_file_options options = {.output = "fifo"};
	struct output_file_offer offer = {.fallback = "unused"};
	int stop_fd = eventfd(1, EFD_CLOEXEC);
	struct output_file *file;

	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(output_file_open(&file, &options, &offer, stop_fd, why), -ECANCELED);
	assert_string_equal(why, "cannot write fifo: Operation canceled");
	close(stop_fd);
}

static void reports_errors_of_closing(void **state)
{
	struct output_file *file;

	(void)state;
	assert_int_equal(open_output(&file, "file", false), 0);
	faults.fsync = EIO;
	assert_int_equal(output_file_commit(file, why), -EIO);
	assert_string_equal(why, "cannot write file: Input/output error");
	output_file_close(file);
	assert_int_equal(count_entries(NULL), 0);
	faults.fsync = EINVAL;
	assert_int_equal(receive("file", false, "data"), 0);
	faults.fsync = 0;
	assert_int_equal(open_output(&file, "file", true), 0);
	faults.close = EDQUOT;
	assert_int_equal(output_file_commit(file, why), -EDQUOT);
	faults.close = 0;
	output_file_close(file);
	assert_int_equal(open_output(&file, "/dev/null", true), 0);
	faults.close = EIO;
	assert_int_equal(output_file_commit(file, why), -EIO);
	faults.close = 0;
	output_file_close(file);
	assert_contents("file", "data");
	assert_int_equal(count_entries(NULL), 1);
}

static int fill_a_small_disk(void)
{
	static char data[64 << 10];
	struct output_file *file;
	int error = 0;

	/* The mount is private to this process and disappears with it. */
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("none", folder, "tmpfs", 0, "size=256k") || chdir(folder))
		return 77;
	memset(data, 'x', sizeof(data));
	if (open_output(&file, "big.iso", false))
		return 1;
	for (int i = 0; i < 10 && !error; i++)
		error = output_file_write(file, data, sizeof(data), why);
	if (error != -ENOSPC || strcmp(why, "cannot write big.iso: No space left on device") != 0)
		return 2;
	/* An incomplete file can never be committed, not even when there is space again. */
	if (output_file_write(file, data, 0, why) != -ENOSPC ||
		output_file_commit(file, why) != -ENOSPC)
		return 3;
	output_file_close(file);
	return count_entries(NULL) == 0 ? 0 : 4;
}

static void reports_a_full_disk(void **state)
{
	(void)state;
	run_in_child(fill_a_small_disk);
}

/* Root passes every permission check, so drop privileges first. */
static int write_where_one_may_not(void)
{
	if (geteuid() == 0 && (setgroups(0, NULL) || setgid(65534) || setuid(65534)))
		return 77;
	if (receive("locked/file", false, "data") != -EACCES)
		return 1;
	if (strcmp(why, "cannot write file: Permission denied") != 0)
		return 2;
	/* This directory accepts files, but cannot be read, nor opened to be synced. */
	return receive("drop/file", false, "data") == 0 ? 0 : 3;
}

static void reports_an_inaccessible_directory(void **state)
{
	(void)state;
	assert_int_equal(mkdir("locked", 0755) | chmod("locked", 0555), 0);
	assert_int_equal(mkdir("drop", 0755) | chmod("drop", 0333), 0);
	run_in_child(write_where_one_may_not);
	assert_int_equal(chmod("locked", 0755) | chmod("drop", 0755), 0);
}

static int die_in_the_middle(void)
{
	struct output_file *file;

	if (open_output(&file, "big.iso", false) || output_file_write(file, "data", 4, why))
		return 1;
	return 0;
}

static void leaves_only_the_hidden_file_when_killed(void **state)
{
	char hidden[FILE_NAME_MAX + 1] = "";

	(void)state;
	run_in_child(die_in_the_middle);
	assert_int_equal(count_entries(hidden), 1);
	assert_memory_equal(hidden, ".big.iso.", 9);
	/* The leftover file does not prevent the next transfer. */
	assert_int_equal(receive("big.iso", false, "data"), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

static int open_sized(struct output_file **file, uint64_t length, uint64_t storage)
{
	static const struct output_file_options options = {.output = "file", .force = true};
	const struct output_file_offer offer = {
		.name = "", .fallback = "f", .length = length, .storage = storage};

	return output_file_open(file, &options, &offer, -1, why);
}

static void reserves_storage(void **state)
{
	const uint64_t length = 3 << 20;
	static const uint8_t zeros[8192];
	struct output_file *file;

	(void)state;
	assert_int_equal(open_sized(&file, length, length), 0);
	assert_int_equal(allocated.calls, 1);
	assert_int_equal(allocated.mode, FALLOC_FL_KEEP_SIZE);
	assert_int_equal(allocated.start, 0);
	assert_int_equal(allocated.size, length);
	/* Zeros need no storage: it is returned. */
	assert_int_equal(output_file_write_at(file, zeros, sizeof(zeros), 4096), 0);
	assert_int_equal(allocated.calls, 2);
	assert_int_equal(allocated.mode, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE);
	assert_int_equal(allocated.start, 4096);
	assert_int_equal(allocated.size, sizeof(zeros));
	output_file_close(file);
	/* Neither of a sparse nor of a small file. */
	assert_int_equal(open_sized(&file, length, length - 1), 0);
	output_file_close(file);
	assert_int_equal(open_sized(&file, 1000, 1000), 0);
	output_file_close(file);
	assert_int_equal(allocated.calls, 2);
}

static void cannot_reserve_storage(void **state)
{
	static const uint8_t zeros[4096];
	struct output_file *file;

	(void)state;
	faults.fallocate = ENOSPC; /* others took the space first */
	assert_int_equal(open_sized(&file, 1 << 20, 1 << 20), -ENOSPC);
	assert_string_equal(why, "cannot write file: No space left on device");
	faults.fallocate = EDQUOT;
	assert_int_equal(open_sized(&file, 1 << 20, 1 << 20), -EDQUOT);
	assert_string_equal(why, "cannot write file: Disk quota exceeded");
	assert_int_equal(count_entries(NULL), 0);
	/* It is not needed. */
	faults.fallocate = EOPNOTSUPP;
	assert_int_equal(open_sized(&file, 1 << 20, 1 << 20), 0);
	assert_int_equal(output_file_write_at(file, zeros, sizeof(zeros), 0), 0);
	assert_int_equal(allocated.calls, 3);
	output_file_close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(keeps_a_file_that_appears_during_the_transfer),
		TEST(names_only_the_file),
		TEST(is_stopped_while_it_waits),
		TEST(reports_errors_of_closing),
		TEST(reports_a_full_disk),
		TEST(reserves_storage),
		TEST(cannot_reserve_storage),
		TEST(reports_an_inaccessible_directory),
		TEST(leaves_only_the_hidden_file_when_killed),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
