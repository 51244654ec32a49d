/*
 * Tree streams from end to end: what a tree input reads, a tree output stores. And the streams,
 * names and places that a tree output refuses.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host/memory-budget.h"
#include "protocol/tree.h"
#include "stream/hidden-file.h"
#include "stream/tree-input.h"
#include "stream/tree-output.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/unit.h"

/* The last error of a tree input. */
static char input_why[WORKER_WHY_SIZE];

/* The tree input sends all kinds of entries. */
static bool extends;

/* A stream under construction. */
static struct {
	uint8_t bytes[1 << 18];
	size_t size;
} stream;

static int output_folder = -1;
static struct tree_output *output;

/* Opens a tree output in the folder "in". */
static int open_tree(bool force)
{
	int error;

	output_folder = open("in", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(output_folder >= 0);
	error = tree_output_open(
		&output, output_folder, "name", &(struct tree_output_options){.force = force}, why);
	if (error)
		output = NULL;
	return error;
}

static void close_tree(void)
{
	tree_output_close(output, false);
	output = NULL;
	close(output_folder);
}

/* Writes the bytes to a tree output in the folder "in", in pieces, and commits. */
static int store(const uint8_t *bytes, size_t size, size_t piece, bool force)
{
	int error = open_tree(force);

	for (size_t at = 0; !error && at < size; at += piece)
		error = tree_output_write(
			output, bytes + at, size - at < piece ? size - at : piece, why);
	if (!error)
		error = tree_output_commit(output, why);
	close_tree();
	return error;
}

/* Reads the inputs into the stream, in pieces. Returns 0 or -errno. */
static int load(const char *const paths[], unsigned int count, size_t piece)
{
	struct tree_input *input;
	ssize_t got = tree_input_open(&input, paths, count, input_why);

	if (got)
		return (int)got;
	if (extends)
		tree_input_extend(input);
	stream.size = 0;
	do {
		got = tree_input_read(input, stream.bytes + stream.size, piece, -1, input_why);
		assert_true(got <= (ssize_t)piece);
		stream.size += got > 0 ? (size_t)got : 0;
		assert_true(stream.size + piece <= sizeof(stream.bytes));
	} while (got > 0);
	tree_input_close(input);
	return (int)got;
}

static void set_time(const char *path, time_t seconds)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {seconds, 123456789}};

	assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

/* Checks that both paths have the same type, permissions, time, size and target. */
static void assert_alike(const char *from, const char *to)
{
	char targets[2][64] = {"", ""};
	struct stat a, b;

	assert_int_equal(lstat(from, &a), 0);
	assert_int_equal(lstat(to, &b), 0);
	assert_int_equal(a.st_mode, b.st_mode);
	assert_int_equal(a.st_mtim.tv_sec, b.st_mtim.tv_sec);
	assert_int_equal(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec);
	if (!S_ISDIR(a.st_mode))
		assert_int_equal(a.st_size, b.st_size);
	if (!S_ISLNK(a.st_mode))
		return;
	assert_true(readlink(from, targets[0], sizeof(targets[0]) - 1) > 0);
	assert_true(readlink(to, targets[1], sizeof(targets[1]) - 1) > 0);
	assert_string_equal(targets[0], targets[1]);
}

/* Creates a tree with everything that can be sent. */
static void make_tree(void)
{
	int sparse;

	assert_int_equal(mkdir("in", 0755), 0);
	assert_int_equal(mkdir("a", 0755), 0);
	assert_int_equal(mkdir("a/inner", 0755), 0);
	assert_int_equal(mkdir("a/empty", 0700), 0);
	put("a/file", "contents");
	put("a/nothing", "");
	put("a/inner/.hidden", "also");
	put("a/inner/-dash\n", "odd");
	assert_int_equal(symlink("inner/.hidden", "a/link"), 0);
	assert_int_equal(symlink("/nonexistent", "a/dangling"), 0);
	put("b", "solo");
	sparse = open("sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
	assert_true(sparse >= 0);
	assert_int_equal(pwrite(sparse, "x", 1, 99999), 1);
	close(sparse);
	assert_int_equal(chmod("a/file", 0751), 0);
	assert_int_equal(chmod("a/nothing", 0400), 0);
	set_time("a/link", 1000000000);
	set_time("a/inner/.hidden", -5);
	assert_int_equal(chmod("a/inner", 0500), 0);
	set_time("a/inner", 1234567890);
	set_time("a", 1);
	set_time("b", 4102444800);
}

static void everything_arrives_as_it_was(void **state)
{
	static const char *const paths[] = {"a", "./b", "sparse"};
	static const char *const all[] = {"a", "a/inner", "a/empty", "a/file", "a/nothing",
		"a/inner/.hidden", "a/inner/-dash\n", "a/link", "a/dangling", "b", "sparse"};
	static const size_t pieces[] = {1, 7, 4096, 100000};
	char to[64];
	struct stat status;

	(void)state;
	make_tree();
	for (size_t i = 0; i < COUNT(pieces); i++) {
		assert_int_equal(load(paths, COUNT(paths), pieces[i]), 0);
		assert_int_equal(
			store(stream.bytes, stream.size, pieces[COUNT(pieces) - 1 - i], false), 0);
		for (size_t k = 0; k < COUNT(all); k++) {
			snprintf(to, sizeof(to), "in/%s", all[k]);
			assert_alike(all[k], to);
		}
		assert_contents("in/a/file", "contents");
		assert_contents("in/a/inner/-dash\n", "odd");
		assert_contents("in/b", "solo");
		assert_int_equal(stat("in/sparse", &status), 0);
		assert_true(status.st_blocks * 512 < 99999);
		assert_int_equal(chmod("in/a/inner", 0700), 0);
		assert_int_equal(system("rm -r in/a in/b in/sparse && rmdir in && mkdir in"), 0);
	}
	chmod("a/inner", 0700);
}

static void special_bits_are_not_sent(void **state)
{
	static const char *const paths[] = {"f"};
	struct stat status;

	(void)state;
	assert_int_equal(mkdir("in", 0755), 0);
	put("f", "data");
	assert_int_equal(chmod("f", 07711), 0);
	assert_int_equal(load(paths, 1, 4096), 0);
	assert_int_equal(store(stream.bytes, stream.size, 4096, false), 0);
	assert_int_equal(stat("in/f", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0711);
}

static void a_folder_is_named_after_its_path(void **state)
{
	static const char *const cases[] = {"a/", "./a//", "a/inner/..", "a/."};

	(void)state;
	make_tree();
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(load(&cases[i], 1, 4096), 0);
		assert_int_equal(store(stream.bytes, stream.size, 4096, false), 0);
		assert_contents("in/a/file", "contents");
		chmod("in/a/inner", 0700);
		assert_int_equal(system("rm -r in/a && rmdir in && mkdir in"), 0);
	}
	chmod("a/inner", 0700);
}

static void the_first_input_that_is_not_excluded_gives_the_name(void **state)
{
	static const char *const paths[] = {"a.o", "b.o", "c"}, *const patterns[] = {"*.o", "/c/x"};
	struct tree_input *input;

	(void)state;
	put("a.o", "");
	put("c", "");
	assert_int_equal(mkdir("b.o", 0755), 0);
	assert_int_equal(tree_input_open(&input, paths, COUNT(paths), input_why), 0);
	assert_string_equal(tree_input_name(input), "a.o");
	assert_int_equal(tree_input_exclude(input, patterns, COUNT(patterns)), 0);
	assert_string_equal(tree_input_name(input), "c");
	tree_input_close(input);
}

static void inputs_that_cannot_be_sent_are_named(void **state)
{
	static const struct {
		const char *paths[2];
		unsigned int count;
		int error;
		const char *why;
	} cases[] = {
		{{"missing"}, 1, -ENOENT, "cannot read missing: No such file or directory"},
		{{"d/x", "e/x"}, 2, -EEXIST,
			"cannot read x: two --input have this name, and would be stored as one"},
		{{"d", "d/"}, 2, -EEXIST,
			"cannot read d: two --input have this name, and would be stored as one"},
		{{"/"}, 1, -EINVAL, "cannot read /: it has no name to send"},
		{{"fifo"}, 1, -EINVAL,
			"cannot read fifo: only files and directories can be sent together"},
	};

	(void)state;
	assert_int_equal(mkdir("d", 0755), 0);
	assert_int_equal(mkdir("e", 0755), 0);
	put("d/x", "1");
	put("e/x", "2");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(load(cases[i].paths, cases[i].count, 4096), cases[i].error);
		assert_string_equal(input_why, cases[i].why);
	}
}

/* FIFOs and sockets are named and counted; both ends know the size of everything else. */
static void special_files_are_skipped(void **state)
{
	static const char *const paths[] = {"a"};
	struct tree_progress sent = TREE_PROGRESS_INITIAL;
	struct tree_input *input;
	struct omitted skipped;
	struct tree_state planned;
	ssize_t got;

	(void)state;
	make_tree();
	assert_int_equal(mkfifo("a/fifo\n", 0600), 0);
	assert_int_equal(mknod("a/empty/socket", S_IFSOCK | 0600, 0), 0);
	omitted_start(&skipped);
	assert_int_equal(tree_input_open(&input, paths, 1, input_why), 0);
	tree_input_count_in(input, &sent);
	tree_input_list_omitted(input, &skipped, NULL);
	stream.size = 0;
	while ((got = tree_input_read(input, stream.bytes + stream.size, 4096, -1, input_why)) > 0)
		stream.size += (size_t)got;
	assert_int_equal(got, 0);
	tree_input_close(input);
	planned = tree_progress_state(&sent, UINT64_MAX);
	assert_int_equal(planned.total, stream.size);
	assert_int_equal(planned.files, 6);
	assert_int_equal(planned.file, 6);
	assert_int_equal(omitted_count(&skipped), 2);
	assert_string_equal(
		omitted_line(&skipped, 0), "skipped a/empty/socket: a FIFO, socket or device");
	assert_string_equal(
		omitted_line(&skipped, 1), "skipped a/fifo\\x0a: a FIFO, socket or device");
	omitted_end(&skipped);
	assert_int_equal(store(stream.bytes, stream.size, 4096, false), 0);
	assert_contents("in/a/file", "contents");
	assert_int_equal(access("in/a/fifo\n", F_OK), -1);
	assert_int_equal(access("in/a/empty", F_OK), 0);
	/* The list is optional. */
	assert_int_equal(load(paths, 1, 4096), 0);
	assert_int_equal(stream.size, planned.total);
	chmod("a/inner", 0700);
}

/* Reads the stream up to this size, without more than that. */
static void read_up_to(struct tree_input *input, size_t size)
{
	while (stream.size < size) {
		assert_int_equal(
			tree_input_read(input, stream.bytes + stream.size, 1, -1, input_why), 1);
		stream.size++;
	}
}

/* Creates a file of this size with a byte of data at these offsets. */
static void make_sparse(const char *name, off_t size, const off_t at[], size_t count)
{
	int file = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);

	assert_true(file >= 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(pwrite(file, "x", 1, at[i]), 1);
	assert_int_equal(ftruncate(file, size), 0);
	assert_int_equal(close(file), 0);
}

/* 10 MB of holes take a few bytes, and both ends know how many. */
static void holes_are_not_sent(void **state)
{
	static const char *const paths[] = {"d"}, *const names[] = {
							  "middle", "ends", "none", "full"};
	static const off_t middle[] = {5000000, 6000000, 6004096}, ends[] = {0, 9999999};
	static const size_t pieces[] = {7, 4096, 1};
	struct tree_progress sent = TREE_PROGRESS_INITIAL;
	char command[64];
	struct tree_input *input;
	struct stat status;

	(void)state;
	assert_int_equal(mkdir("in", 0755), 0);
	assert_int_equal(mkdir("d", 0755), 0);
	make_sparse("d/middle", 10000000, middle, COUNT(middle));
	make_sparse("d/ends", 10000000, ends, COUNT(ends));
	make_sparse("d/none", 10000000, NULL, 0);
	make_sparse("d/full", 1, ends, 1);
	assert_int_equal(stat("d/none", &status), 0);
	if (status.st_blocks > 0)
		skip(); /* the file system has no holes */
	extends = true;
	for (size_t i = 0; i < COUNT(pieces); i++) {
		assert_int_equal(load(paths, 1, pieces[i]), 0);
		assert_true(stream.size < 100000);
		assert_int_equal(
			store(stream.bytes, stream.size, pieces[COUNT(pieces) - 1 - i], false), 0);
		for (size_t k = 0; k < COUNT(names); k++) {
			snprintf(command, sizeof(command), "cmp d/%s in/d/%s", names[k], names[k]);
			assert_int_equal(system(command), 0);
		}
		assert_int_equal(stat("in/d/ends", &status), 0);
		assert_true(status.st_blocks * 512 < 1000000);
		assert_int_equal(system("rm -r in/d && rmdir in && mkdir in"), 0);
	}
	extends = false;
	assert_int_equal(tree_input_open(&input, paths, 1, input_why), 0);
	tree_input_extend(input);
	tree_input_count_in(input, &sent);
	while (tree_input_read(input, stream.bytes, 4096, -1, input_why) > 0)
		;
	assert_int_equal(tree_progress_state(&sent, UINT64_MAX).total, stream.size);
	tree_input_close(input);
}

/*
 * Sends the file "d/f", which changes after its header, and has another name. Checks that it is
 * named with this reason, and not stored; under its other name, it is what it became.
 */
static void change_while_sent(const char *change, const char *reason)
{
	static const char *const paths[] = {"d"};
	struct tree_progress sent = TREE_PROGRESS_INITIAL;
	struct omitted unreadable;
	struct tree_input *input;
	ssize_t got = 1;

	omitted_start(&unreadable);
	set_time("d/f", 1234567890);
	assert_int_equal(link("d/f", "d/g"), 0);
	put("d/h", "after it");
	assert_int_equal(tree_input_open(&input, paths, 1, input_why), 0);
	tree_input_extend(input);
	tree_input_count_in(input, &sent);
	tree_input_list_omitted(input, NULL, &unreadable);
	stream.size = 0;
	read_up_to(input, 3 * TREE_HEADER_SIZE + 2);
	assert_int_equal(system(change), 0);
	while (got > 0) {
		got = tree_input_read(input, stream.bytes + stream.size,
			sizeof(stream.bytes) - stream.size, -1, input_why);
		stream.size += got > 0 ? (size_t)got : 0;
	}
	assert_int_equal(got, 0);
	tree_input_close(input);
	assert_int_equal(omitted_count(&unreadable), 1);
	assert_string_equal(omitted_line(&unreadable, 0), reason);
	omitted_end(&unreadable);
	assert_int_equal(tree_progress_state(&sent, UINT64_MAX).file, 2);
	assert_int_equal(store(stream.bytes, stream.size, 4096, false), 0);
	assert_contents("in/d/h", "after it");
	assert_int_equal(access("in/d/f", F_OK), -1);
	assert_int_equal(system("cmp d/g in/d/g"), 0);
	assert_int_equal(system("rm -r d in && mkdir in"), 0);
}

/* A mixture of what a file was and what it became is not stored. */
static void a_file_that_changes_is_withdrawn(void **state)
{
	static const char changed[] = "cannot read d/f: it changed while being read";
	static const char shrank[] = "cannot read d/f: file was truncated while being read";
	static const struct {
		const char *change, *reason;
	} cases[] = {
		{"printf x | dd of=d/f bs=1 seek=70000 conv=notrunc status=none", changed},
		{"echo more >>d/f", changed},
		{"touch d/f", changed},
		{"truncate -s 60000 d/f", shrank},
		{"truncate -s 0 d/f", shrank},
	};

	(void)state;
	assert_int_equal(mkdir("in", 0755), 0);
	for (size_t i = 0; i < 2 * COUNT(cases); i++) {
		const off_t at[] = {50000};

		assert_int_equal(mkdir("d", 0755), 0);
		if (i % 2)
			make_sparse("d/f", 100000, at, COUNT(at));
		else
			assert_int_equal(system("head -c 100000 /dev/urandom >d/f"), 0);
		change_while_sent(cases[i / 2].change, cases[i / 2].reason);
	}
}

/* The file system has no hard links. */
static bool refuses_links;

int linkat(int from, const char *path, int to, const char *name, int flags)
{
	if (refuses_links) {
		errno = EPERM;
		return -1;
	}
	return (int)syscall(SYS_linkat, from, path, to, name, flags);
}

/* Also in different folders, with a name that the receiver changes, and with holes. */
static void hard_links_stay_links(void **state)
{
	static const char *const paths[] = {"d", ".e"};
	struct stat one, other;

	(void)state;
	assert_int_equal(mkdir("in", 0755), 0);
	assert_int_equal(mkdir("d", 0755), 0);
	assert_int_equal(mkdir("d/inner", 0755), 0);
	assert_int_equal(mkdir(".e", 0755), 0);
	put("d/a", "several names");
	make_sparse("d/sparse", 100000, (const off_t[]){50000}, 1);
	assert_int_equal(link("d/a", "d/b"), 0);
	assert_int_equal(link("d/a", "d/inner/c"), 0);
	assert_int_equal(link("d/sparse", "d/sparse too"), 0);
	put(".e/f", "");
	assert_int_equal(link(".e/f", ".e/g"), 0);
	set_time("d/a", 1234567890);
	extends = true;
	for (unsigned int i = 0; i < 4; i++) {
		extends = !(i & 2);
		refuses_links = i & 1;
		assert_int_equal(load(paths, COUNT(paths), 4096), 0);
		assert_int_equal(store(stream.bytes, stream.size, i & 1 ? 1 : 4096, false), 0);
		assert_contents("in/d/inner/c", "several names");
		assert_alike("d/b", "in/d/b");
		assert_int_equal(system("cmp 'd/sparse too' 'in/d/sparse too'"), 0);
		assert_int_equal(stat("in/d/a", &one), 0);
		assert_int_equal(stat("in/d/inner/c", &other), 0);
		assert_int_equal(one.st_ino == other.st_ino, i == 0);
		assert_int_equal(one.st_nlink, i == 0 ? 3 : 1);
		assert_int_equal(stat("in/d/sparse", &one), 0);
		assert_true(one.st_blocks * 512 < 50000);
		assert_int_equal(stat("in/_e/f", &one), 0);
		assert_int_equal(one.st_nlink, i == 0 ? 2 : 1);
		assert_int_equal(system("rm -r in/d in/_e && rmdir in && mkdir in"), 0);
	}
	extends = refuses_links = false;
}

/* What vanishes or changes while it is sent is named; everything else arrives. */
static void entries_that_vanish_are_left_out(void **state)
{
	static const char *const paths[] = {"a"};
	static const char *const lines[] = {"cannot read a/changed: it changed while being read",
		"cannot read a/gone: No such file or directory",
		"cannot read a/inner: No such file or directory",
		"cannot read a/link: No such file or directory"};
	struct tree_input *input;
	struct omitted unreadable;
	ssize_t got;

	(void)state;
	make_tree();
	put("a/changed", "1");
	put("a/gone", "22");
	omitted_start(&unreadable);
	assert_int_equal(tree_input_open(&input, paths, 1, input_why), 0);
	tree_input_list_omitted(input, NULL, &unreadable);
	stream.size = 0;
	/* Now the names of the folder are known. */
	read_up_to(input, 2 * TREE_HEADER_SIZE + 1);
	assert_int_equal(chmod("a/inner", 0700), 0);
	assert_int_equal(system("rm -r a/inner a/link a/gone a/changed && mkfifo a/changed"), 0);
	while ((got = tree_input_read(input, stream.bytes + stream.size, 7, -1, input_why)) > 0)
		stream.size += (size_t)got;
	assert_int_equal(got, 0);
	tree_input_close(input);
	assert_int_equal(omitted_count(&unreadable), COUNT(lines));
	for (size_t i = 0; i < COUNT(lines); i++)
		assert_string_equal(omitted_line(&unreadable, i), lines[i]);
	omitted_end(&unreadable);
	assert_int_equal(store(stream.bytes, stream.size, 4096, false), 0);
	assert_contents("in/a/file", "contents");
	assert_int_equal(access("in/a/nothing", F_OK), 0);
	assert_int_equal(access("in/a/gone", F_OK), -1);
}

/* The first walk leaves them out, too, so both ends know the size of the stream. */
static void entries_without_permission_are_left_out(void **state)
{
	static const char *const paths[] = {"a"};
	struct tree_progress sent = TREE_PROGRESS_INITIAL;
	struct tree_input *input;
	struct omitted unreadable;
	ssize_t got;

	(void)state;
	make_tree();
	assert_int_equal(chmod("a/file", 0), 0);
	assert_int_equal(chmod("a/empty", 0), 0);
	assert_int_equal(chmod("a/inner", 0444), 0); /* its entries have names, but no more */
	/* Root may read everything. */
	assert_int_equal(chmod(folder, 0755), 0);
	if (geteuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	omitted_start(&unreadable);
	assert_int_equal(tree_input_open(&input, paths, 1, input_why), 0);
	tree_input_count_in(input, &sent);
	tree_input_list_omitted(input, NULL, &unreadable);
	stream.size = 0;
	while ((got = tree_input_read(input, stream.bytes + stream.size, 4096, -1, input_why)) > 0)
		stream.size += (size_t)got;
	assert_int_equal(got, 0);
	tree_input_close(input);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(tree_progress_state(&sent, UINT64_MAX).total, stream.size);
	/* a/nothing has the mode 0400 of another user, unless this test is none of root's. */
	assert_int_equal(omitted_count(&unreadable), getuid() == 0 ? 5 : 4);
	assert_string_equal(omitted_line(&unreadable, 0), "cannot read a/empty: Permission denied");
	assert_string_equal(omitted_line(&unreadable, 1), "cannot read a/file: Permission denied");
	assert_string_equal(
		omitted_line(&unreadable, 2), "cannot read a/inner/-dash\\x0a: Permission denied");
	omitted_end(&unreadable);
	assert_int_equal(store(stream.bytes, stream.size, 4096, false), 0);
	assert_int_equal(access("in/a/inner", F_OK), 0);
	assert_int_equal(access("in/a/file", F_OK), -1);
	assert_int_equal(access("in/a/empty", F_OK), -1);
	assert_int_equal(chmod("a/inner", 0700), 0);
	assert_int_equal(chmod("a/empty", 0700), 0);
	assert_int_equal(chmod("in/a/inner", 0700), 0);
}

/* Both ends know the total from the start and the current file from its first byte. */
static void both_ends_know_what_the_stream_consists_of(void **state)
{
	static const char *const paths[] = {"a"};
	struct tree_progress sent = TREE_PROGRESS_INITIAL, stored = TREE_PROGRESS_INITIAL;
	struct tree_input *input;
	struct tree_state ours, theirs;
	ssize_t got = 1;

	(void)state;
	make_tree();
	stream.size = 0;
	assert_int_equal(tree_input_open(&input, paths, 1, input_why), 0);
	tree_input_count_in(input, &sent);
	assert_int_equal(open_tree(false), 0);
	tree_output_count_in(output, &stored);
	while (got > 0) {
		got = tree_input_read(input, stream.bytes, 1, -1, input_why);
		assert_in_range(got, 0, 1);
		assert_int_equal(tree_output_write(output, stream.bytes, (size_t)got, why), 0);
		stream.size += (size_t)got;
		ours = tree_progress_state(&sent, UINT64_MAX);
		theirs = tree_progress_state(&stored, UINT64_MAX);
		assert_true(ours.files > 0);
		assert_in_range(ours.file, theirs.file, theirs.file + 1);
		if (ours.file == theirs.file)
			assert_string_equal(ours.name, theirs.name);
	}
	assert_int_equal(ours.total, stream.size);
	assert_int_equal(ours.file, ours.files);
	assert_int_equal(theirs.total, ours.total);
	assert_int_equal(theirs.files, ours.files);
	assert_int_equal(theirs.bytes, ours.bytes);
	assert_true(theirs.bytes < theirs.total);
	tree_input_close(input);
	close_tree();
	chmod("a/inner", 0700);
}

static void a_walk_can_be_stopped(void **state)
{
	static const char *const paths[] = {"a"};
	struct tree_input *input;
	uint8_t byte;
	int stop[2];

	(void)state;
	make_tree();
	assert_int_equal(pipe(stop), 0);
	assert_int_equal(write(stop[1], "", 1), 1);
	assert_int_equal(tree_input_open(&input, paths, 1, input_why), 0);
	assert_int_equal(tree_input_read(input, &byte, 1, stop[0], input_why), -ECANCELED);
	tree_input_close(input);
	close(stop[0]);
	close(stop[1]);
	chmod("a/inner", 0700);
}

/* Appends an entry to the stream. */
static void add(struct tree_entry entry, const char *name, const char *contents)
{
	entry.name_size = (uint8_t)strlen(name);
	entry.mode = 0755;
	if (entry.kind == TREE_FILE || entry.kind == TREE_LINK || entry.kind == TREE_HARD_LINK)
		entry.size = strlen(contents);
	tree_encode(&entry, stream.bytes + stream.size);
	stream.size += TREE_HEADER_SIZE;
	memcpy(stream.bytes + stream.size, name, strlen(name));
	stream.size += strlen(name);
	memcpy(stream.bytes + stream.size, contents, strlen(contents));
	stream.size += strlen(contents);
}

static void start(uint64_t storage)
{
	stream.size = 0;
	add((struct tree_entry){.kind = TREE_START, .size = storage}, "", "");
}

static void add_folder(const char *name)
{
	add((struct tree_entry){.kind = TREE_FOLDER}, name, "");
}

static void add_file(const char *name, const char *contents)
{
	add((struct tree_entry){.kind = TREE_FILE}, name, contents);
}

static void add_link(const char *name, const char *target)
{
	add((struct tree_entry){.kind = TREE_LINK}, name, target);
}

static void add_hard_link(const char *name, const char *path)
{
	add((struct tree_entry){.kind = TREE_HARD_LINK}, name, path);
}

/* Appends a sparse file of this size, and its first run. */
static void add_sparse(uint64_t size, uint64_t hole, uint64_t data)
{
	const struct tree_run run = {.hole = hole, .data = data};

	add((struct tree_entry){.kind = TREE_SPARSE, .size = size}, "s", "");
	tree_run_encode(&run, stream.bytes + stream.size);
	stream.size += TREE_RUN_SIZE;
}

static void leave(void)
{
	add((struct tree_entry){.kind = TREE_LEAVE}, "", "");
}

/* Checks that the stream is refused with this message, and that nothing remains. */
static void assert_refused(int error, const char *message)
{
	assert_int_equal(store(stream.bytes, stream.size, 4096, false), error);
	assert_string_equal(why, message);
}

/* Checks that the stream is refused as invalid for this reason. */
static void assert_invalid(const char *reason)
{
	char message[128];

	snprintf(message, sizeof(message), "the peer's files are not a valid stream: %s", reason);
	assert_refused(-EPROTO, message);
	assert_int_equal(count_entries(NULL), 1);
	assert_int_equal(rmdir("in"), 0);
	assert_int_equal(mkdir("in", 0755), 0);
}

static void invalid_streams_are_refused(void **state)
{
	(void)state;
	assert_int_equal(mkdir("in", 0755), 0);
	stream.size = 0;
	assert_invalid("it is incomplete");
	add_file("f", "data");
	assert_invalid("its first entry is misplaced");
	start(0);
	start(0);
	add((struct tree_entry){.kind = TREE_START}, "", "");
	assert_invalid("its first entry is misplaced");
	start(0);
	add_folder("d");
	assert_invalid("it is incomplete");
	start(0);
	add_file("f", "data");
	stream.size--;
	assert_invalid("it is incomplete");
	start(0);
	add_file("f", "data");
	stream.size -= 5;
	assert_invalid("it is incomplete");
	start(0);
	leave();
	assert_invalid("it leaves more directories than it enters");
	start(0);
	add_file("../f", "data");
	assert_invalid("a name is not a single component");
	start(0);
	add_folder("..");
	assert_invalid("a name is not a single component");
	start(0);
	memset(stream.bytes + stream.size, 0xff, TREE_HEADER_SIZE);
	stream.size += TREE_HEADER_SIZE;
	assert_invalid("an entry is invalid");
	start(0);
	add_link("l", "target");
	stream.bytes[stream.size - 2] = '\0';
	assert_invalid("the target of a link contains a zero byte");
	start(0);
	for (int i = 0; i < TREE_DEPTH_MAX + 1; i++)
		add_folder("d");
	assert_invalid("its directories are nested too deeply");
}

static void invalid_runs_are_refused(void **state)
{
	static const struct tree_run runs[] = {
		{101, 0}, {60, 41}, {99, 0}, {UINT64_MAX, 2}, {0, 0}};

	(void)state;
	assert_int_equal(mkdir("in", 0755), 0);
	for (size_t i = 0; i < COUNT(runs); i++) {
		start(0);
		add_sparse(100, runs[i].hole, runs[i].data);
		assert_invalid("a hole or the data behind it does not fit in its file");
	}
	start(0);
	add_sparse(100, 60, 40);
	assert_invalid("it is incomplete");
	start(0);
	add_sparse(100, 100, 0);
	stream.size--;
	assert_invalid("it is incomplete");
}

/* No name is given to anything that is not a file of the stream. */
static void hard_links_are_to_files_of_the_stream(void **state)
{
	static const char *const paths[] = {"missing", "d", "d/missing", "l", "l/passwd",
		"/etc/passwd", "../secret", "d/../f", "./f", "d//f", "f/", "f/x", "later", "/"};

	(void)state;
	assert_int_equal(mkdir("in", 0755), 0);
	put("secret", "is not in the stream");
	put("in/missing", "nor is what was there before");
	for (size_t i = 0; i < COUNT(paths); i++) {
		start(0);
		add_file("f", "data");
		add_link("l", "/etc");
		add_folder("d");
		leave();
		add_hard_link("h", paths[i]);
		add_file("later", "data");
		assert_refused(-EPROTO,
			"the peer's files are not a valid stream: a hard link is to no earlier file");
		assert_int_equal(count_entries(NULL), 2);
	}
	start(0);
	add_hard_link("h", "f");
	assert_refused(-EPROTO,
		"the peer's files are not a valid stream: a hard link is to no earlier file");
	start(0);
	add_file("f", "data");
	add_hard_link("f", "f");
	assert_int_equal(store(stream.bytes, stream.size, 4096, false), -EEXIST);
}

static void nothing_is_created_through_a_link(void **state)
{
	(void)state;
	assert_int_equal(mkdir("in", 0755), 0);
	assert_int_equal(mkdir("outside", 0755), 0);
	put("victim", "safe");
	start(0);
	add_link("d", "../../outside");
	add_folder("d");
	assert_refused(-EEXIST, "cannot write d: File exists");
	start(0);
	add_link("f", "../../victim");
	add_file("f", "overwritten");
	assert_refused(-EEXIST, "cannot write f: File exists");
	start(0);
	add_folder("d");
	add_link("up", "../../..");
	add_folder("up");
	assert_refused(-EEXIST, "cannot write d/up: File exists");
	assert_contents("victim", "safe");
	assert_int_equal(rmdir("outside"), 0);
	assert_int_equal(rmdir("in"), 0);
}

static void names_at_the_top_are_made_safe(void **state)
{
	(void)state;
	assert_int_equal(mkdir("in", 0755), 0);
	start(0);
	add_file(".bashrc", "1");
	add_file("-rf", "2");
	add_folder("a\nb");
	add_file(".kept", "3");
	leave();
	assert_int_equal(store(stream.bytes, stream.size, 4096, false), 0);
	assert_contents("in/_bashrc", "1");
	assert_contents("in/_rf", "2");
	assert_contents("in/a_b/.kept", "3");
}

static void existing_files_and_folders_are_kept(void **state)
{
	(void)state;
	assert_int_equal(mkdir("in", 0755), 0);
	assert_int_equal(mkdir("in/d", 0755), 0);
	put("in/f", "old");
	start(0);
	add_file("f", "new");
	assert_refused(
		-EEXIST, "cannot write f: File exists (--force at the receiver replaces it)");
	start(0);
	add_folder("d");
	leave();
	assert_refused(-EISDIR,
		"cannot write d: Is a directory (with --update at the receiver, directories are merged)");
	assert_int_equal(store(stream.bytes, stream.size, 4096, true), -EISDIR);
	start(0);
	add_folder("f");
	leave();
	assert_refused(
		-EEXIST, "cannot write f: File exists (--force at the receiver replaces it)");
	assert_int_equal(store(stream.bytes, stream.size, 4096, true), -EEXIST);
	assert_contents("in/f", "old");
	start(0);
	add_file("f", "new");
	assert_int_equal(store(stream.bytes, stream.size, 4096, true), 0);
	assert_contents("in/f", "new");
}

static void a_name_taken_meanwhile_is_kept(void **state)
{
	(void)state;
	assert_int_equal(mkdir("in", 0755), 0);
	start(0);
	add_file("f", "new");
	assert_int_equal(open_tree(false), 0);
	assert_int_equal(tree_output_write(output, stream.bytes, stream.size, why), 0);
	put("in/f", "theirs");
	assert_int_equal(tree_output_commit(output, why), -EEXIST);
	close_tree();
	assert_contents("in/f", "theirs");
	assert_int_equal(unlink("in/f"), 0);
	assert_int_equal(rmdir("in"), 0);
}

/* If true, the file system of these tests ignores case and keeps the first spelling. */
static bool ignores_case;

/* Returns the name, or the spelling of the entry that it stands for, stored in `spelling`. */
static const char *spelled(int directory, const char *name, char spelling[FILE_NAME_MAX + 1])
{
	int listed = ignores_case ? (int)syscall(SYS_openat, directory, ".", O_RDONLY) : -1;
	DIR *entries = listed < 0 ? NULL : fdopendir(listed);
	const struct dirent *entry;

	if (!entries)
		return name;
	while ((entry = readdir(entries)))
		if (strcasecmp(entry->d_name, name) == 0) {
			snprintf(spelling, FILE_NAME_MAX + 1, "%s", entry->d_name);
			name = spelling;
			break;
		}
	closedir(entries);
	return name;
}

/* These replace the library's functions of the same names. */

int fstatat(int directory, const char *restrict name, struct stat *restrict status, int flags)
{
	char spelling[FILE_NAME_MAX + 1];

	return (int)syscall(
		SYS_newfstatat, directory, spelled(directory, name, spelling), status, flags);
}

int mkdirat(int directory, const char *name, mode_t mode)
{
	char spelling[FILE_NAME_MAX + 1];

	return (int)syscall(SYS_mkdirat, directory, spelled(directory, name, spelling), mode);
}

int symlinkat(const char *target, int directory, const char *name)
{
	char spelling[FILE_NAME_MAX + 1];

	return (int)syscall(SYS_symlinkat, target, directory, spelled(directory, name, spelling));
}

int openat(int directory, const char *name, int flags, ...)
{
	char spelling[FILE_NAME_MAX + 1];
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, mode_t);
	va_end(args);
	return (int)syscall(SYS_openat, directory, spelled(directory, name, spelling), flags, mode);
}

#define COLLIDES "; it collides with %s: this file system does not distinguish the two names"

static void names_that_the_file_system_does_not_distinguish_are_both_named(void **state)
{
	char message[OUTPUT_FILE_WHY_SIZE];

	(void)state;
	ignores_case = true;
	assert_int_equal(mkdir("in", 0755), 0);
	start(0);
	add_folder("nol");
	add_file("README", "1");
	add_file("readme", "2");
	snprintf(message, sizeof(message), "cannot write nol/readme: File exists" COLLIDES,
		"README");
	assert_refused(-EEXIST, message);
	start(0);
	add_folder("nol");
	add_folder("Inner");
	leave();
	add_folder("inNer");
	snprintf(message, sizeof(message), "cannot write nol/inNer: File exists" COLLIDES, "Inner");
	assert_refused(-EEXIST, message);
	start(0);
	add_file("A", "1");
	add_link("a", "A");
	snprintf(message, sizeof(message), "cannot write a: File exists" COLLIDES, "A");
	assert_refused(-EEXIST, message);
	/* Entries that were there before. */
	put("in/Old", "1");
	start(0);
	add_file("old", "2");
	snprintf(message, sizeof(message),
		"cannot write old: File exists (--force at the receiver replaces it)" COLLIDES,
		"Old");
	assert_refused(-EEXIST, message);
	assert_int_equal(receive("in/OLD", false, "2"), -EEXIST);
	snprintf(message, sizeof(message),
		"cannot write OLD: File exists (--force at the receiver replaces it)" COLLIDES,
		"Old");
	assert_string_equal(why, message);
	ignores_case = false;
	/* The same name twice is no collision of two spellings. */
	start(0);
	add_folder("nol");
	add_file("readme", "1");
	add_file("readme", "2");
	assert_refused(-EEXIST, "cannot write nol/readme: File exists");
}

static void free_space_is_checked_first(void **state)
{
	static const char wanted[] = "cannot write name: No space left on device (9.22 EB needed, ";

	(void)state;
	assert_int_equal(mkdir("in", 0755), 0);
	start(INT64_MAX);
	assert_int_equal(store(stream.bytes, stream.size, 4096, false), -ENOSPC);
	assert_memory_equal(why, wanted, strlen(wanted));
	assert_int_equal(rmdir("in"), 0);
}

static void a_leftover_folder_is_removed(void **state)
{
	char hidden[FILE_NAME_MAX + 1], leftover[FILE_NAME_MAX + 8], path[FILE_NAME_MAX + 16];

	(void)state;
	hidden_name("name", 1, hidden);
	snprintf(leftover, sizeof(leftover), "in/%s", hidden);
	assert_int_equal(mkdir("in", 0755), 0);
	assert_int_equal(mkdir(leftover, 0700), 0);
	snprintf(path, sizeof(path), "%s/d", leftover);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/d/f", leftover);
	put(path, "partial");
	snprintf(path, sizeof(path), "%s/d", leftover);
	assert_int_equal(chmod(path, 0), 0);
	/* The folder of another transfer in progress stays. */
	start(0);
	add_file("f", "one");
	assert_int_equal(open_tree(false), 0);
	assert_int_equal(access(leftover, F_OK), -1);
	assert_int_equal(tree_output_write(output, stream.bytes, stream.size, why), 0);
	struct tree_output *first = output;
	int first_folder = output_folder;

	start(0);
	add_file("g", "two");
	assert_int_equal(store(stream.bytes, stream.size, 4096, false), 0);
	assert_int_equal(tree_output_commit(first, why), 0);
	tree_output_close(first, false);
	close(first_folder);
	assert_contents("in/f", "one");
	assert_contents("in/g", "two");
}

static uint64_t used(void)
{
	struct memory_budget budget;

	memory_budget_read(&budget);
	return budget.used;
}

/* Last, because the budget stays. */
static void lists_of_entries_are_taken_from_the_memory_budget(void **state)
{
	static const char *const paths[] = {"a"};
	char name[32];

	(void)state;
	assert_int_equal(mkdir("a", 0755), 0);
	assert_int_equal(mkdir("a/inner", 0755), 0);
	for (unsigned int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "a/inner/%u", i);
		put(name, "");
	}
	memory_budget_start(15000);
	assert_int_equal(load(paths, 1, 4096), -ENOMEM);
	assert_non_null(strstr(
		input_why, "a/inner: it has too many entries for the memory that may be used"));
	assert_int_equal(used(), 0);
	memory_budget_start(1000000);
	assert_int_equal(load(paths, 1, 4096), 0);
	assert_int_equal(used(), 0);
	/* Whatever is open when the input is closed. */
	for (size_t size = 100; size < 25000; size += 3000) {
		struct tree_input *input;

		assert_int_equal(tree_input_open(&input, paths, 1, input_why), 0);
		assert_int_equal(
			tree_input_read(input, stream.bytes, size, -1, input_why), (ssize_t)size);
		assert_true(used() > 10000);
		tree_input_close(input);
		assert_int_equal(used(), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OUTPUT_FILE_TEST(everything_arrives_as_it_was),
		OUTPUT_FILE_TEST(special_bits_are_not_sent),
		OUTPUT_FILE_TEST(a_folder_is_named_after_its_path),
		OUTPUT_FILE_TEST(the_first_input_that_is_not_excluded_gives_the_name),
		OUTPUT_FILE_TEST(inputs_that_cannot_be_sent_are_named),
		OUTPUT_FILE_TEST(special_files_are_skipped),
		OUTPUT_FILE_TEST(holes_are_not_sent),
		OUTPUT_FILE_TEST(a_file_that_changes_is_withdrawn),
		OUTPUT_FILE_TEST(hard_links_stay_links),
		OUTPUT_FILE_TEST(hard_links_are_to_files_of_the_stream),
		OUTPUT_FILE_TEST(entries_that_vanish_are_left_out),
		OUTPUT_FILE_TEST(entries_without_permission_are_left_out),
		OUTPUT_FILE_TEST(both_ends_know_what_the_stream_consists_of),
		OUTPUT_FILE_TEST(a_walk_can_be_stopped),
		OUTPUT_FILE_TEST(invalid_streams_are_refused),
		OUTPUT_FILE_TEST(invalid_runs_are_refused),
		OUTPUT_FILE_TEST(nothing_is_created_through_a_link),
		OUTPUT_FILE_TEST(names_at_the_top_are_made_safe),
		OUTPUT_FILE_TEST(existing_files_and_folders_are_kept),
		OUTPUT_FILE_TEST(a_name_taken_meanwhile_is_kept),
		OUTPUT_FILE_TEST(names_that_the_file_system_does_not_distinguish_are_both_named),
		OUTPUT_FILE_TEST(free_space_is_checked_first),
		OUTPUT_FILE_TEST(a_leftover_folder_is_removed),
		OUTPUT_FILE_TEST(lists_of_entries_are_taken_from_the_memory_budget),
	};

	return cmocka_run_group_tests_name("tree-stream", tests, NULL, NULL);
}
