/*
 * Runs the file side of an exchange once, without RDMA: the source, the sink and the rings of
 * stream/, with this program's main thread in place of the CQ thread and the adapter. It prints
 * how long that took and where the processor time went, for scripts/compare pipeline. See usage().
 *
 * With -p, the linker's wrappers (ld(1), --wrap) of the functions that do the work charge the
 * processor time of the calling thread to a stage.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stream/crew.h"
#include "stream/holes.h"
#include "stream/sink.h"
#include "stream/source.h"
#include "tests/ring-copy.h"

/* As an exchange chooses them for an adapter: the default of --buffer, in whole blocks. */
#define BLOCK ((size_t)512 << 10)
#define RING  (13 * BLOCK)

/* Where a whole tree stream is kept; only what is written to occupies memory. */
#define STREAM_MAX ((size_t)4 << 30)

/* Copies below this size are not the sink's copies of data. */
#define COPY_MIN 4096

enum stage { OTHER, READ, DIGEST, HOLES, COPY, WRITE, SYNC, NAMES, STAGES };

static atomic_llong spent[STAGES]; /* nanoseconds of all threads */
static bool accounting;
static _Thread_local enum stage current;
static _Thread_local long long mark;
static _Thread_local bool adapter; /* the main thread, which is measured as a whole */

static long long nanoseconds(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Charges the thread's processor time since the last call, and returns the stage before. */
static enum stage enter(enum stage stage)
{
	enum stage before = current;
	long long now;

	if (!accounting || adapter)
		return before;
	now = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
	spent[before] += now - mark;
	mark = now;
	current = stage;
	return before;
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
#define WRAP(charged, type, name, parameters, arguments) \
	type __real_##name parameters; \
	type __wrap_##name parameters; \
	type __wrap_##name parameters \
	{ \
		enum stage before = enter(charged); \
		type result = __real_##name arguments; \
\
		enter(before); \
		return result; \
	}

WRAP(READ, ssize_t, read, (int file, void *to, size_t size), (file, to, size))
WRAP(READ, ssize_t, pread64, (int file, void *to, size_t size, off_t at), (file, to, size, at))
WRAP(WRITE, ssize_t, pwrite64, (int file, const void *from, size_t size, off_t at),
	(file, from, size, at))
WRAP(HOLES, int, holes_write,
	(const struct holes_file *file, const void *from, size_t size, off_t at),
	(file, from, size, at))
WRAP(SYNC, int, fsync, (int file), (file))
WRAP(SYNC, int, syncfs, (int file), (file))
WRAP(SYNC, int, sync_file_range, (int file, off_t from, off_t size, unsigned int flags),
	(file, from, size, flags))
WRAP(NAMES, int, fallocate64, (int file, int mode, off_t from, off_t size),
	(file, mode, from, size))
WRAP(NAMES, int, close, (int file), (file))
WRAP(NAMES, int, ftruncate64, (int file, off_t size), (file, size))
WRAP(NAMES, int, fchmod, (int file, mode_t mode), (file, mode))
WRAP(NAMES, int, futimens, (int file, const struct timespec times[2]), (file, times))

int __real_open64(const char *path, int flags, mode_t mode);
int __wrap_open64(const char *path, int flags, mode_t mode);
int __real_openat64(int folder, const char *path, int flags, mode_t mode);
int __wrap_openat64(int folder, const char *path, int flags, mode_t mode);
void *__real_memcpy(void *to, const void *from, size_t size);
void *__wrap_memcpy(void *to, const void *from, size_t size);
void __real_digester_add(struct digester *digester, const void *data, size_t size);
void __wrap_digester_add(struct digester *digester, const void *data, size_t size);
void __real_digester_prepare(const struct digester *digester, uint64_t position, const void *data,
	size_t size, struct digest_part *part);
void __wrap_digester_prepare(const struct digester *digester, uint64_t position, const void *data,
	size_t size, struct digest_part *part);
void __real_digester_add_prepared(
	struct digester *digester, const void *data, size_t size, struct digest_part *part);
void __wrap_digester_add_prepared(
	struct digester *digester, const void *data, size_t size, struct digest_part *part);

/* A caller without O_CREAT passes no mode; what is taken for it then is ignored. */
int __wrap_open64(const char *path, int flags, mode_t mode)
{
	enum stage before = enter(NAMES);
	int file = __real_open64(path, flags, mode);

	enter(before);
	return file;
}

int __wrap_openat64(int folder, const char *path, int flags, mode_t mode)
{
	enum stage before = enter(NAMES);
	int file = __real_openat64(folder, path, flags, mode);

	enter(before);
	return file;
}

void *__wrap_memcpy(void *to, const void *from, size_t size)
{
	enum stage before;

	if (size < COPY_MIN)
		return __real_memcpy(to, from, size);
	before = enter(COPY);
	__real_memcpy(to, from, size);
	enter(before);
	return to;
}

void __wrap_digester_add(struct digester *digester, const void *data, size_t size)
{
	enum stage before = enter(DIGEST);

	__real_digester_add(digester, data, size);
	enter(before);
}

void __wrap_digester_prepare(const struct digester *digester, uint64_t position, const void *data,
	size_t size, struct digest_part *part)
{
	enum stage before = enter(DIGEST);

	__real_digester_prepare(digester, position, data, size, part);
	enter(before);
}

void __wrap_digester_add_prepared(
	struct digester *digester, const void *data, size_t size, struct digest_part *part)
{
	enum stage before = enter(DIGEST);

	__real_digester_add_prepared(digester, data, size, part);
	enter(before);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static _Noreturn void fail(const char *what, const char *why)
{
	fprintf(stderr, "pipeline-speed: %s: %s\n", what, why);
	exit(1);
}

static _Noreturn void usage(void)
{
	fputs("usage: pipeline-speed [OPTION]... read INPUT          file -> ring\n"
	      "       pipeline-speed [OPTION]... write INPUT OUTPUT  ring -> file\n"
	      "       pipeline-speed [OPTION]... both INPUT OUTPUT   file -> ring -> ring -> file\n"
	      "       pipeline-speed run COMMAND...                  a program\n"
	      "       pipeline-speed forget PATH   drops a file or folder from the page cache\n"
	      "-w N: workers; -s: with a secret; -p: find out where processor time goes\n"
	      "-b BYTES: block; -r BYTES: ring; -m BYTES: memory that this host has at hand at the\n"
	      "start. A file is written to the file OUTPUT, a folder into\n"
	      "the folder OUTPUT. 'write' makes up the contents of a file, with the holes of INPUT.\n"
	      "Prints seconds: wall time, processor time, that of this program's main thread, and\n"
	      "that of reads, digests, tests for holes, copies, writes, syncs, names.\n",
		stderr);
	exit(2);
}

/* One run. */
static struct {
	const char *input, *output;
	unsigned int workers;
	bool keyed, folder, sparse;
	size_t block, ring_size;
	size_t at_hand;     /* see have_memory_at_hand() */
	uint8_t *memory[2]; /* of the two rings */
	struct ring out, in;
	struct source *source;
	struct sink *sink;
	struct span pieces[64];
	int moved; /* an eventfd: a file thread wakes this thread */
} run = {.workers = 1, .block = BLOCK, .ring_size = RING};

static const uint8_t key[DIGEST_KEY_SIZE] = {1, 2, 3};

static void wake(void *about)
{
	(void)about;
	eventfd_write(run.moved, 1);
}

static const struct worker_listener listener = {.moved = wake, .ended = wake};

static void await_move(void)
{
	eventfd_t unused;

	eventfd_read(run.moved, &unused);
}

static uint8_t *new_memory(size_t size)
{
	uint8_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		fail("mmap", strerror(errno));
	madvise(memory, size, MADV_HUGEPAGE);
	return memory;
}

static void open_source(struct ring *ring)
{
	char why[WORKER_WHY_SIZE];
	int error = run.folder ? source_open_tree(&run.source, &run.input, 1, why)
			       : source_open(&run.source, run.input, NULL, 0, why);

	if (error)
		fail("source", why);
	if (source_start(run.source, ring, run.block, run.workers, &listener))
		fail("source", "cannot start");
	if (run.keyed)
		source_set_key(run.source, key);
}

static void open_sink(uint64_t size)
{
	static struct output_file_options options;

	options = (struct output_file_options){.output = run.output, .force = true};
	if (sink_open(&run.sink, &options, size) ||
		sink_start(run.sink, &run.in, run.block, run.workers, &listener))
		fail("sink", "cannot start");
	if (run.keyed)
		sink_set_key(run.sink, key);
}

static void begin_sink(uint64_t storage)
{
	sink_begin(run.sink,
		&(struct output_file_offer){
			.name = "", .fallback = "data", .tree = run.folder, .storage = storage},
		false);
}

/* Checks that the source has read everything. Returns the digest. */
static struct digest end_source(void)
{
	struct digest digest;
	const char *why;

	if (source_result(run.source, &digest, &why))
		fail("source", why);
	source_close(run.source);
	return digest;
}

/* Returns true while the sink works; ends the program if it has failed. */
static bool sink_works(void)
{
	int error;

	if (sink_state(run.sink) == SINK_FAILED)
		fail("sink", sink_error(run.sink, &error));
	return sink_state(run.sink) == SINK_WORKING;
}

static void end_sink(uint64_t size, const struct digest *digest)
{
	sink_finish(run.sink, size, digest);
	while (sink_works())
		await_move();
	if (sink_state(run.sink) != SINK_VERIFIED)
		fail("sink", "the data is damaged");
	sink_close(run.sink);
}

/* Takes everything out of the source's ring. Returns the size of the stream. */
static uint64_t discard(struct ring *ring)
{
	struct ring_level level;

	for (;;) {
		level = ring_level(ring);
		if (level.filled > level.freed)
			ring_free_to(ring, level.filled);
		else if (level.ended)
			return level.filled;
		else
			await_move();
	}
}

static void measure_read(void)
{
	ring_init(&run.out, run.memory[0], run.ring_size);
	open_source(&run.out);
	source_begin(run.source);
	discard(&run.out);
	end_source();
}

static bool may_move(uint64_t end)
{
	(void)end;
	return sink_works();
}

/* Moves data from ring to ring, as the adapter does. */
static void measure_both(void)
{
	struct digest digest;
	uint64_t size;

	ring_init(&run.out, run.memory[0], run.ring_size);
	ring_init(&run.in, run.memory[1], run.ring_size);
	open_source(&run.out);
	open_sink(source_size(run.source));
	begin_sink(source_storage(run.source));
	source_begin(run.source);
	size = ring_copy_all(&run.out, &run.in, run.block, may_move, await_move);
	digest = end_source();
	end_sink(size, &digest);
}

/* Where the data of 'write' is: `size` bytes, again and again, or a whole tree stream. */
static struct {
	uint8_t *bytes;
	uint64_t size, total;
	struct digest digest;
} data;

/* Keeps the whole stream of a folder. */
static void keep_stream(void)
{
	struct ring whole;

	data.bytes = new_memory(STREAM_MAX);
	ring_init(&whole, data.bytes, STREAM_MAX);
	open_source(&whole);
	source_begin(run.source);
	while (!ring_level(&whole).ended)
		await_move();
	data.size = data.total = ring_level(&whole).filled;
	data.digest = end_source();
	ring_destroy(&whole);
}

/* Fills the ring's memory; of a sparse file, with as large a part of zeros. */
static void make_up(void)
{
	struct digester *digester = digester_new();
	struct stat status;
	uint64_t number = 88172645463325252U, left;
	size_t full = run.ring_size;

	if (!digester || stat(run.input, &status))
		fail(run.input, strerror(errno));
	data.total = left = (uint64_t)status.st_size;
	if (run.sparse)
		full = (size_t)((double)full * 512 * (double)status.st_blocks / (double)left);
	for (size_t i = 0; i + sizeof(number) <= full; i += sizeof(number)) {
		number ^= number << 13;
		number ^= number >> 7;
		number ^= number << 17;
		memcpy(data.bytes + i, &number, sizeof(number));
	}
	if (run.keyed)
		digester_set_key(digester, key);
	for (size_t part; left > 0; left -= part) {
		part = left < run.ring_size ? (size_t)left : run.ring_size;
		digester_add(digester, data.bytes, part);
	}
	data.digest = digester_result(digester, DIGEST_STREAM);
	digester_free(digester);
}

/* A piece at a time, as an adapter does without a processor. */
static void arrive(void)
{
	uint64_t position = 0;

	while (position < data.total && sink_works()) {
		struct ring_level level = ring_level(&run.in);
		uint64_t room = run.ring_size - (level.filled - level.freed);
		uint64_t left = data.total - position;
		size_t size = (size_t)(left < run.block ? left : run.block);

		if (size > run.in.size - position % run.in.size)
			size = (size_t)(run.in.size - position % run.in.size);
		if (size > room) {
			await_move();
			continue;
		}
		if (run.folder)
			ring_place(&run.in, data.bytes + position);
		ring_fill(&run.in, size);
		position += size;
	}
}

static void prepare_write(void)
{
	if (run.folder) {
		keep_stream();
		ring_init(&run.in, data.bytes, run.ring_size);
		ring_use_pieces(&run.in, run.pieces, (unsigned int)(run.ring_size / run.block));
	} else {
		data.bytes = run.memory[1];
		ring_init(&run.in, data.bytes, run.ring_size);
		make_up();
	}
}

static void measure_write(void)
{
	struct stat status = {0};

	stat(run.input, &status);
	open_sink(run.folder ? STREAM_SIZE_UNKNOWN : data.total);
	begin_sink(run.folder ? 0 : 512 * (uint64_t)status.st_blocks);
	arrive();
	end_sink(data.total, &data.digest);
}

/*
 * Uses memory and returns it to the kernel. A host takes back what a virtual machine has not used
 * for a few seconds, and giving it again takes longer than writing a file to it.
 */
static void have_memory_at_hand(void)
{
	if (run.at_hand > 0) {
		uint8_t *memory = new_memory(run.at_hand);

		memset(memory, 1, run.at_hand);
		munmap(memory, run.at_hand);
	}
}

static double seconds(long long time)
{
	return (double)time * 1e-9;
}

static long long processor_time(int who)
{
	struct rusage used;

	getrusage(who, &used);
	return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000LL +
	       (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000LL;
}

static void measure(void (*function)(void))
{
	long long wall, processor, main_thread;

	for (int i = 0; i < STAGES; i++)
		spent[i] = 0;
	have_memory_at_hand();
	wall = nanoseconds(CLOCK_MONOTONIC);
	processor = processor_time(RUSAGE_SELF);
	main_thread = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
	function();
	printf("%.6f %.6f %.6f", seconds(nanoseconds(CLOCK_MONOTONIC) - wall),
		seconds(processor_time(RUSAGE_SELF) - processor),
		seconds(nanoseconds(CLOCK_THREAD_CPUTIME_ID) - main_thread));
	for (int i = OTHER + 1; i < STAGES; i++)
		printf(" %.6f", seconds(spent[i]));
	putchar('\n');
}

static void measure_program(char **command)
{
	long long wall;
	pid_t child;
	int status;

	have_memory_at_hand();
	wall = nanoseconds(CLOCK_MONOTONIC);
	child = fork();
	if (child == 0) {
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		fail(command[0], "failed");
	printf("%.6f %.6f 0 0 0 0 0 0 0 0\n", seconds(nanoseconds(CLOCK_MONOTONIC) - wall),
		seconds(processor_time(RUSAGE_CHILDREN)));
}

static int forget(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	int file;

	(void)status;
	(void)place;
	if (kind != FTW_F)
		return 0;
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		fail(path, strerror(errno));
	posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
	close(file);
	return 0;
}

static void take_options(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "+w:b:r:m:sp")) >= 0) {
		if (option == 'w')
			run.workers = (unsigned int)strtoul(optarg, NULL, 10);
		else if (option == 'b')
			run.block = strtoul(optarg, NULL, 10);
		else if (option == 'r')
			run.ring_size = strtoul(optarg, NULL, 10);
		else if (option == 'm')
			run.at_hand = strtoul(optarg, NULL, 10);
		else if (option == 's')
			run.keyed = true;
		else if (option == 'p')
			accounting = true;
		else
			usage();
	}
	if (run.workers < 1 || run.workers > CREW_MAX || run.block == 0 ||
		run.ring_size < run.block ||
		run.ring_size / run.block > sizeof(run.pieces) / sizeof(run.pieces[0]))
		usage();
}

static void take_input(const char *path)
{
	struct stat status;

	if (stat(path, &status))
		fail(path, strerror(errno));
	run.input = path;
	run.folder = S_ISDIR(status.st_mode);
	run.sparse = 512 * status.st_blocks < status.st_size / 2;
}

int main(int argc, char **argv)
{
	const char *command;

	if (sodium_init() < 0)
		fail("sodium_init", "failed");
	take_options(argc, argv);
	argc -= optind;
	argv += optind;
	if (argc < 2)
		usage();
	command = argv[0];
	if (strcmp(command, "run") == 0) {
		measure_program(argv + 1);
		return 0;
	}
	if (strcmp(command, "forget") == 0)
		return nftw(argv[1], forget, 16, FTW_PHYS) ? 1 : 0;
	take_input(argv[1]);
	run.output = argv[2];
	run.moved = eventfd(0, EFD_CLOEXEC);
	for (int i = 0; i < 2; i++)
		memset(run.memory[i] = new_memory(run.ring_size), 0, run.ring_size);
	adapter = true;
	if (strcmp(command, "read") == 0 && argc == 2) {
		measure(measure_read);
	} else if (strcmp(command, "write") == 0 && argc == 3) {
		prepare_write();
		measure(measure_write);
	} else if (strcmp(command, "both") == 0 && argc == 3) {
		measure(measure_both);
	} else {
		usage();
	}
	return 0;
}
