/*
 * A folder moves from a source through two rings to a sink, each with four workers, with and
 * without a secret. Calls take a different time each; a run has at most one kind of fault, which
 * concerns a random file and some of those behind it: the error names the first one. STREAM_RUNS in
 * the environment is the number of runs of each kind.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "stream/sink.h"
#include "stream/source.h"
#include "stream/tasks.h"
#include "tests/ring-copy.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/unit.h"

#define WORKERS    4
#define RING       ((size_t)147 * 4096)
#define MOST       ((size_t)70000)
#define FILES      60
#define PER_FOLDER 15
#define RUNS       "8"

static _Alignas(4096) uint8_t rings[2][RING];
static uint8_t data[TASKS_FILE_SIZE + 100000];
static const uint8_t key[DIGEST_KEY_SIZE] = {1, 2, 3};
static char source_why[WORKER_WHY_SIZE];

/* What happens to files in a run, or to the run. */
enum fault {
	NONE,
	OPEN_FAILS,
	READ_FAILS,
	SHRINKS,
	GROWS,
	DISAPPEARS,
	CREATE_FAILS,
	WRITE_FAILS,
	CANCELLED,
	FAULTS
};

static const int source_errors[FAULTS] = {
	[READ_FAILS] = EIO, [SHRINKS] = EIO, [GROWS] = EIO, [CANCELLED] = ECANCELED};
static const int sink_errors[FAULTS] = {[CREATE_FAILS] = EACCES, [WRITE_FAILS] = ENOSPC};

static struct {
	enum fault fault;
	unsigned int workers;
	int first;      /* the file that fails */
	uint64_t seed;  /* which others do */
	uint64_t until; /* position at which the run is cancelled */
	bool keyed;
	bool hangs;          /* helpers with files behind the first that fails, until `released`: */
	atomic_uint hanging; /* so many */
	sem_t released;
	bool extends; /* the receiver understands all kinds of entries */
	atomic_uint calls;
	atomic_uint reading, writing[FILES]; /* threads that read any file, or write this one */
	atomic_bool read_together, wrote_together; /* there were two */
	struct ring out, in;
	struct source *source;
	struct sink *sink;
	sem_t moved;
} run;

/* The number of the file that a descriptor belongs to, plus 1; 0: none. */
static atomic_int file_numbers[1024];

static size_t size_of(int file)
{
	static const size_t sizes[] = {0, 1, 4096, 5000, 100000};

	/* Some are not read ahead. */
	return file % 17 == 3 ? TASKS_FILE_SIZE + 1000 * (size_t)file
			      : sizes[file % (int)COUNT(sizes)];
}

/* The first file of each folder there is hidden. */
static void path_of(char path[64], int file)
{
	snprintf(path, 64, "in/d%d/%sf%03d", file / PER_FOLDER, file % PER_FOLDER ? "" : ".", file);
}

/* The number of a file with this name, or -1. */
static int number_of(const char *name)
{
	const char *base = strrchr(name, '/');

	base = base ? base + 1 : name;
	base += *base == '.';
	return base[0] == 'f' && strlen(base) == 4 ? atoi(base + 1) : -1;
}

/* True if this fault concerns this file. */
static bool fails(enum fault fault, int file)
{
	if (run.fault != fault || file < run.first)
		return false;
	return file == run.first || (run.seed >> (file % 60)) % 3 == 0;
}

/* True if this fault leaves files out, so that all others arrive. */
static bool omits(enum fault fault)
{
	if (fault == READ_FAILS || fault == SHRINKS || fault == GROWS)
		return run.extends;
	return fault == OPEN_FAILS || fault == DISAPPEARS;
}

/* True if this fault concerns this file, and leaves it out. */
static bool is_omitted(int file)
{
	bool opened = run.fault == OPEN_FAILS || run.fault == DISAPPEARS;

	return omits(run.fault) && fails(run.fault, file) && (opened || size_of(file) > 0);
}

static int source_error_of(enum fault fault)
{
	return omits(fault) ? 0 : source_errors[fault];
}

/* A call that concerns a file takes up to 150 us. */
static void take_time(void)
{
	static const long moments[] = {0, 150000, 0, 100000, 0, 0, 50000};
	struct timespec moment = {.tv_nsec = moments[run.calls++ % COUNT(moments)]};

	nanosleep(&moment, NULL);
}

/* The first thread that does something without a fault waits for another, but not forever. */
static void meet(atomic_uint *inside, atomic_bool *together)
{
	struct timespec moment = {.tv_nsec = 1000000};

	if (++*inside > 1)
		*together = true;
	for (int i = 0; i < 10000 && run.fault == NONE && run.workers > 1 && !*together; i++)
		nanosleep(&moment, NULL);
	--*inside;
}

/* True on the thread that owns the tasks, since only it opens folders. */
static _Thread_local bool owns_tasks;

/* If helpers hang behind the file that fails, waits until one does, but not forever. */
static void hang(int file)
{
	struct timespec moment = {.tv_nsec = 1000000};

	if (!run.hangs || file < run.first)
		return;
	if (file > run.first && !owns_tasks) {
		run.hanging++;
		sem_wait(&run.released);
		sem_post(&run.released);
		run.hanging--;
	}
	for (int i = 0; i < 10000 && run.hanging == 0; i++)
		nanosleep(&moment, NULL);
}

static int failed(int error)
{
	errno = error;
	return -1;
}

/* Changes a file before it is read for the first time. */
static void change(int file, off_t offset)
{
	char path[64];

	path_of(path, file);
	if (offset > 0)
		return;
	if (fails(SHRINKS, file) && size_of(file) > 0)
		assert_int_equal(truncate(path, (off_t)size_of(file) - 1), 0);
	if (fails(GROWS, file))
		assert_int_equal(truncate(path, (off_t)size_of(file) + 1000), 0);
}

/* These take the place of the C library's. */
int openat64(int place, const char *name, int flags, ...)
{
	int file = number_of(name), opened;
	mode_t mode = 0;
	va_list rest;

	if (flags & O_CREAT) {
		va_start(rest, flags);
		mode = va_arg(rest, mode_t);
		va_end(rest);
	}
	if (file < 0)
		owns_tasks = true;
	if (file >= 0) {
		take_time();
		if (fails((flags & O_CREAT) ? CREATE_FAILS : OPEN_FAILS, file))
			return failed(EACCES);
		if (!(flags & O_CREAT) && fails(DISAPPEARS, file))
			syscall(SYS_unlinkat, place, name, 0);
	}
	opened = (int)syscall(SYS_openat, place, name, flags, mode);
	if (opened >= 0 && opened < (int)COUNT(file_numbers))
		file_numbers[opened] = file + 1;
	return opened;
}

/* Before a file is read. Returns 0, or -1 if that fails. */
static int before_read(int descriptor, off_t offset)
{
	int file = descriptor < (int)COUNT(file_numbers) ? file_numbers[descriptor] - 1 : -1;

	if (file < 0)
		return 0;
	take_time();
	meet(&run.reading, &run.read_together);
	if (run.fault == READ_FAILS)
		hang(file);
	change(file, offset);
	return fails(READ_FAILS, file) ? failed(EIO) : 0;
}

ssize_t read(int descriptor, void *bytes, size_t size)
{
	return before_read(descriptor, lseek(descriptor, 0, SEEK_CUR))
		       ? -1
		       : syscall(SYS_read, descriptor, bytes, size);
}

ssize_t pread64(int descriptor, void *bytes, size_t size, off_t offset)
{
	return before_read(descriptor, offset)
		       ? -1
		       : syscall(SYS_pread64, descriptor, bytes, size, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t size, off_t offset)
{
	int file = descriptor < (int)COUNT(file_numbers) ? file_numbers[descriptor] - 1 : -1;

	if (file >= 0)
		take_time();
	if (file >= 0 && run.fault == WRITE_FAILS)
		hang(file);
	if (file >= 0 && size_of(file) > TASKS_FILE_SIZE)
		meet(&run.writing[file], &run.wrote_together);
	return file >= 0 && fails(WRITE_FAILS, file)
		       ? failed(ENOSPC)
		       : syscall(SYS_pwrite64, descriptor, bytes, size, offset);
}

static void set_attributes(const char *path, mode_t mode, time_t seconds)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {seconds, 123456789}};

	if (mode)
		assert_int_equal(chmod(path, mode), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void make_file(int file)
{
	char path[64];
	int made;

	path_of(path, file);
	unlink(path);
	made = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(made >= 0);
	assert_int_equal(
		syscall(SYS_pwrite64, made, data + file, size_of(file), 0), (ssize_t)size_of(file));
	close(made);
	set_attributes(path, file % 2 ? 0640 : 0751, 1000000 + file);
}

/* Folders get their times last, because creating files changes them. */
static void make_input(void)
{
	char path[64];

	mkdir("in", 0755);
	mkdir("in/empty", 0755);
	for (int i = 0; i < FILES / PER_FOLDER; i++) {
		snprintf(path, sizeof(path), "in/d%d", i);
		mkdir(path, 0755);
		snprintf(path, sizeof(path), "in/d%d/link", i);
		unlink(path);
		assert_int_equal(symlink("f003", path), 0);
		set_attributes(path, 0, 2000000 + i);
	}
	for (int i = 0; i < FILES; i++)
		make_file(i);
	for (int i = 0; i < FILES / PER_FOLDER; i++) {
		snprintf(path, sizeof(path), "in/d%d", i);
		set_attributes(path, i == 1 ? 0555 : 0750, 3000000 + i);
	}
	set_attributes("in/empty", 0700, 4000000);
	set_attributes("in", 0711, 4000001);
}

/* Checks that both paths have the same type, permissions, time and, of a file, contents. */
static void assert_alike(const char *path)
{
	static uint8_t found[sizeof(data)];
	char copy[80];
	struct stat a, b;
	int file;

	snprintf(copy, sizeof(copy), "out/%s", path);
	assert_int_equal(lstat(path, &a), 0);
	assert_int_equal(lstat(copy, &b), 0);
	assert_int_equal(a.st_mode, b.st_mode);
	assert_int_equal(a.st_mtim.tv_sec, b.st_mtim.tv_sec);
	assert_int_equal(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec);
	if (S_ISLNK(a.st_mode))
		assert_int_equal(readlink(copy, (char *)found, sizeof(found)), strlen("f003"));
	if (!S_ISREG(a.st_mode))
		return;
	file = open(copy, O_RDONLY | O_CLOEXEC);
	assert_int_equal(syscall(SYS_read, file, found, sizeof(found)), size_of(number_of(path)));
	close(file);
	assert_memory_equal(found, data + number_of(path), size_of(number_of(path)));
}

static void assert_arrived(bool attributes)
{
	char path[64];

	for (int i = 0; i < FILES; i++) {
		path_of(path, i);
		if (attributes)
			assert_alike(path);
	}
	for (int i = 0; i < FILES / PER_FOLDER; i++) {
		snprintf(path, sizeof(path), "in/d%d", i);
		assert_alike(path);
		snprintf(path, sizeof(path), "in/d%d/link", i);
		assert_alike(path);
	}
	assert_alike("in/empty");
	assert_alike("in");
}

static void wake(void *about)
{
	(void)about;
	sem_post(&run.moved);
}

static const struct worker_listener listener = {.moved = wake, .ended = wake};

static void start(void)
{
	static const char *const paths[] = {"in"};
	static const struct output_file_options options = {.output = "out/"};
	const struct output_file_offer offer = {
		.name = "in", .size = 2, .fallback = "f", .tree = true};

	run.read_together = run.wrote_together = false;
	sem_init(&run.moved, 0, 0);
	ring_init(&run.out, rings[0], RING);
	ring_init(&run.in, rings[1], RING);
	assert_int_equal(source_open_tree(&run.source, paths, 1, source_why), 0);
	if (run.extends)
		source_extend_tree(run.source);
	assert_int_equal(sink_open(&run.sink, &options, STREAM_SIZE_UNKNOWN), 0);
	assert_int_equal(source_start(run.source, &run.out, MOST, run.workers, &listener), 0);
	assert_int_equal(sink_start(run.sink, &run.in, MOST, run.workers, &listener), 0);
	if (run.keyed) {
		source_set_key(run.source, key);
		sink_set_key(run.sink, key);
	}
	source_begin(run.source);
	sink_begin(run.sink, &offer, false);
}

static bool may_move(uint64_t end)
{
	return sink_state(run.sink) == SINK_WORKING && !(run.fault == CANCELLED && end > run.until);
}

static void await_move(void)
{
	sem_wait(&run.moved);
}

/* Plays the CQ thread and the adapter. Returns the bytes that it moved. */
static uint64_t move(void)
{
	return ring_copy_all(&run.out, &run.in, SIZE_MAX, may_move, await_move);
}

static void await_sink(void)
{
	while (sink_state(run.sink) == SINK_WORKING)
		sem_wait(&run.moved);
}

/* Checks that a message is about the first file that failed. */
static void assert_names(const char *message, const char *what)
{
	char path[64], wanted[128];

	path_of(path, run.first);
	snprintf(wanted, sizeof(wanted), "cannot %s %s: ", what, path);
	if (strncmp(message, wanted, strlen(wanted)) != 0)
		fail_msg("\"%s\" instead of \"%s\"", message, wanted);
}

/* Checks that exactly the files with the fault are left out, the first one of them first. */
static void assert_omitted(void)
{
	struct omitted *unreadable = source_unreadable(run.source);
	unsigned int count = 0;
	char path[64], copy[80];

	for (int i = 0; i < FILES; i++) {
		bool omitted = is_omitted(i);

		path_of(path, i);
		snprintf(copy, sizeof(copy), "out/%s", path);
		assert_int_equal(access(copy, F_OK), omitted ? -1 : 0);
		count += omitted;
	}
	assert_int_equal(omitted_count(unreadable), count);
	if (count > 0)
		assert_names(omitted_line(unreadable, 0), "read");
	assert_int_equal(omitted_count(source_skipped(run.source)), 0);
}

static void assert_pace(const struct pace *pace)
{
	assert_int_equal(pace->workers, run.workers);
	assert_true(pace->spent[PACE_FILE] > 0 && pace->spent[PACE_LINK] > 0);
}

/* Checks that all workers took part: small files and the pieces of a larger one. */
static void assert_worked_together(void)
{
	assert_int_equal(run.read_together, run.workers > 1);
	assert_int_equal(run.wrote_together, run.workers > 1);
	assert_pace(source_pace(run.source));
	assert_pace(sink_pace(run.sink));
}

static void close_all(void)
{
	source_close(run.source);
	sink_close(run.sink);
	ring_destroy(&run.out);
	ring_destroy(&run.in);
	sem_destroy(&run.moved);
}

/* Ends the run as the CQ thread does, and checks how the two ends ended. Returns the digest. */
static struct digest end(uint64_t moved)
{
	int source_error = source_error_of(run.fault), sink_error_wanted = sink_errors[run.fault];
	bool arrives = !source_error && !sink_error_wanted;
	struct digest digest;
	const char *reason;
	int error;

	if (!arrives)
		source_stop(run.source);
	while (!ring_level(&run.out).ended)
		sem_wait(&run.moved);
	error = source_result(run.source, &digest, &reason);
	if (sink_error_wanted || run.fault == CANCELLED)
		assert_true(error == 0 || error == -ECANCELED); /* it may be at its end already */
	else
		assert_int_equal(error, -source_error);
	if (source_error && run.fault != CANCELLED)
		assert_names(reason, "read");
	if (source_error)
		sink_stop(run.sink);
	else
		sink_finish(run.sink, moved, &digest);
	await_sink();
	assert_int_equal(sink_state(run.sink), arrives ? SINK_VERIFIED : SINK_FAILED);
	reason = sink_error(run.sink, &error);
	if (!arrives)
		assert_int_equal(error, source_error ? -ECANCELED : -sink_error_wanted);
	if (sink_error_wanted)
		assert_names(reason, "write");
	if (arrives)
		assert_omitted();
	if (run.fault == NONE)
		assert_worked_together();
	close_all();
	return digest;
}

/* Counts the entries of a folder. */
static unsigned int entries_of(const char *path)
{
	DIR *stream = opendir(path);
	unsigned int count = 0;

	assert_non_null(stream);
	while (readdir(stream))
		count++;
	closedir(stream);
	return count - 2;
}

static uint64_t next_number(void)
{
	static uint64_t number = 88172645463325252U;

	number = number * 6364136223846793005U + 1442695040888963407U;
	return number >> 16;
}

/* One run with this fault, or none. Returns the bytes of the stream that moved. */
static uint64_t run_once(enum fault fault, struct digest *digest)
{
	unsigned int descriptors = entries_of("/proc/self/fd");
	uint64_t moved;

	run.fault = fault;
	run.seed = next_number();
	do
		run.first = (int)(next_number() % FILES);
	while (size_of(run.first) == 0);
	make_input();
	assert_int_equal(mkdir("out", 0755), 0);
	start();
	moved = move();
	*digest = end(moved);
	run.fault = NONE;
	if (!source_error_of(fault) && !sink_errors[fault]) {
		if (!omits(fault))
			assert_arrived(fault == NONE);
		assert_int_equal(system("chmod -R u+w out && rm -r out/in"), 0);
	}
	assert_int_equal(rmdir("out"), 0);
	assert_int_equal(entries_of("/proc/self/fd"), descriptors);
	return moved;
}

/* The bytes of the whole stream, and their digest without and with a secret. */
static struct {
	uint64_t size;
	struct digest digest[2];
} whole;

static void runs_end_as_they_should(enum fault fault)
{
	const char *wanted = getenv("STREAM_RUNS");
	int runs = atoi(wanted ? wanted : RUNS);
	struct digest digest;
	uint64_t moved;

	for (int i = 0; i < runs; i++) {
		run.workers = i % 6 == 5 ? 1 : i % 6 == 4 ? 13 : WORKERS;
		run.keyed = i % 2;
		run.extends = i % 4 > 1;
		run.until = next_number() % whole.size;
		moved = run_once(fault, &digest);
		if (fault != NONE)
			continue;
		assert_int_equal(moved, whole.size);
		assert_true(digest_equal(&digest, &whole.digest[run.keyed]));
	}
}

/* The stream is that of one worker. */
static void folders_arrive(void **state)
{
	(void)state;
	run.workers = 1;
	for (int keyed = 0; keyed < 2; keyed++) {
		run.keyed = keyed;
		whole.size = run_once(NONE, &whole.digest[keyed]);
	}
	runs_end_as_they_should(NONE);
}

static void a_file_cannot_be_opened(void **state)
{
	(void)state;
	runs_end_as_they_should(OPEN_FAILS);
}

static void a_read_fails(void **state)
{
	(void)state;
	runs_end_as_they_should(READ_FAILS);
}

static void a_file_shrinks(void **state)
{
	(void)state;
	runs_end_as_they_should(SHRINKS);
}

static void a_file_grows(void **state)
{
	(void)state;
	runs_end_as_they_should(GROWS);
}

static void a_file_disappears(void **state)
{
	(void)state;
	runs_end_as_they_should(DISAPPEARS);
}

static void a_file_cannot_be_created(void **state)
{
	(void)state;
	runs_end_as_they_should(CREATE_FAILS);
}

static void a_write_fails(void **state)
{
	(void)state;
	runs_end_as_they_should(WRITE_FAILS);
}

static void exchanges_are_cancelled(void **state)
{
	(void)state;
	runs_end_as_they_should(CANCELLED);
}

/* The failure of a file is known although helpers do not return from files behind it. */
static void nobody_waits_for_a_hung(enum fault fault)
{
	struct digest digest;
	const char *reason;
	int error;

	run.fault = fault;
	run.workers = WORKERS;
	run.keyed = false;
	run.seed = 0;
	run.first = 1;
	run.extends = false; /* a file that cannot be read is a failure */
	run.hangs = true;
	sem_init(&run.released, 0, 0);
	make_input();
	assert_int_equal(mkdir("out", 0755), 0);
	start();
	move();
	if (fault == READ_FAILS) {
		while (!ring_level(&run.out).ended)
			sem_wait(&run.moved);
		assert_int_equal(source_result(run.source, &digest, &reason), -EIO);
		assert_names(reason, "read");
		sink_stop(run.sink);
	} else {
		await_sink();
		assert_names(sink_error(run.sink, &error), "write");
		assert_int_equal(error, -ENOSPC);
		source_stop(run.source);
	}
	assert_true(run.hanging > 0);
	sem_post(&run.released);
	close_all();
	run.hangs = false;
	sem_destroy(&run.released);
	assert_int_equal(rmdir("out"), 0);
}

static void nobody_waits_for_a_hung_read(void **state)
{
	(void)state;
	nobody_waits_for_a_hung(READ_FAILS);
}

static void nobody_waits_for_a_hung_write(void **state)
{
	(void)state;
	nobody_waits_for_a_hung(WRITE_FAILS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OUTPUT_FILE_TEST(folders_arrive),
		OUTPUT_FILE_TEST(a_file_cannot_be_opened),
		OUTPUT_FILE_TEST(a_read_fails),
		OUTPUT_FILE_TEST(a_file_shrinks),
		OUTPUT_FILE_TEST(a_file_grows),
		OUTPUT_FILE_TEST(a_file_disappears),
		OUTPUT_FILE_TEST(a_file_cannot_be_created),
		OUTPUT_FILE_TEST(a_write_fails),
		OUTPUT_FILE_TEST(exchanges_are_cancelled),
		OUTPUT_FILE_TEST(nobody_waits_for_a_hung_read),
		OUTPUT_FILE_TEST(nobody_waits_for_a_hung_write),
	};

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(1 + i % 200);
	return cmocka_run_group_tests_name("tree-workers", tests, NULL, NULL);
}
