/*
 * A file moves from a source through two rings to a sink, each with four workers, with blocks as
 * large as those of an exchange, with and without a secret. Reads and writes take a different time
 * each; a run has at most one fault, at a random place. STREAM_RUNS in the environment is the
 * number of runs of each kind.
 */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "stream/sink.h"
#include "stream/source.h"
#include "tests/ring-copy.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/unit.h"

#define WORKERS 4
#define RING    ((size_t)147 * 4096)
#define SIZE    ((size_t)2500000)
#define RUNS    "15"

static uint8_t data[SIZE];
static _Alignas(4096) uint8_t rings[2][RING];
static const uint8_t key[DIGEST_KEY_SIZE] = {1, 2, 3};
static char source_why[WORKER_WHY_SIZE];

/* What happens in a run. */
enum fault { NONE, READ_FAILS, WRITE_FAILS, SLOW_READS, CANCELLED, FAULTS };

static struct {
	enum fault fault;
	off_t at; /* of the read or write that fails, or of the block at which it is cancelled */
	atomic_uint calls;
	bool keyed, direct;
	size_t most;
	struct ring out, in;
	struct source *source;
	struct sink *sink;
	sem_t moved;
} run;

static void sleep_for(unsigned int microseconds)
{
	struct timespec moment = {.tv_nsec = 1000L * microseconds};

	nanosleep(&moment, NULL);
}

/* Takes up to 150 us. Returns true if it fails. */
static bool access_disk(enum fault fault, size_t size, off_t offset)
{
	static const unsigned int moments[] = {0, 150, 0, 100, 0, 0, 50};

	sleep_for(moments[run.calls++ % COUNT(moments)]);
	if (run.fault == SLOW_READS && fault == READ_FAILS)
		sleep_for(500);
	if (run.fault != fault || run.at < offset || run.at >= offset + (off_t)size)
		return false;
	errno = fault == READ_FAILS ? EIO : ENOSPC;
	return true;
}

/* These take the place of the C library's. */
ssize_t pread64(int file, void *bytes, size_t size, off_t offset)
{
	return access_disk(READ_FAILS, size, offset)
		       ? -1
		       : syscall(SYS_pread64, file, bytes, size, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off_t offset)
{
	return access_disk(WRITE_FAILS, size, offset)
		       ? -1
		       : syscall(SYS_pwrite64, file, bytes, size, offset);
}

static void wake(void *about)
{
	(void)about;
	sem_post(&run.moved);
}

static const struct worker_listener listener = {.moved = wake, .ended = wake};

static void make_input(void)
{
	int file = open("in", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(file >= 0);
	assert_int_equal(write(file, data, SIZE), SIZE);
	close(file);
}

static void start(void)
{
	static struct output_file_options options = {.output = "out", .force = true};
	const struct output_file_offer offer = {.name = "", .fallback = "f"};

	options.direct = run.direct;
	sem_init(&run.moved, 0, 0);
	ring_init(&run.out, rings[0], RING);
	ring_init(&run.in, rings[1], RING);
	assert_int_equal(source_open(&run.source, "in", NULL, 0, source_why), 0);
	if (run.direct)
		assert_int_equal(source_use_direct(run.source, "in", source_why), 0);
	assert_int_equal(sink_open(&run.sink, &options, SIZE), 0);
	assert_int_equal(source_start(run.source, &run.out, run.most, WORKERS, &listener), 0);
	assert_int_equal(sink_start(run.sink, &run.in, run.most, WORKERS, &listener), 0);
	if (run.keyed) {
		source_set_key(run.source, key);
		sink_set_key(run.sink, key);
	}
	source_begin(run.source);
	sink_begin(run.sink, &offer, false);
}

static bool may_move(uint64_t end)
{
	return sink_state(run.sink) == SINK_WORKING &&
	       !(run.fault == CANCELLED && end > (uint64_t)run.at);
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

static void await_source(void)
{
	while (!ring_level(&run.out).ended)
		sem_wait(&run.moved);
}

/* Ends the run as the CQ thread does, and checks how the two ends ended. */
static void end(uint64_t moved)
{
	enum fault fault = run.fault == SLOW_READS ? NONE : run.fault;
	enum sink_state state = fault == NONE ? SINK_VERIFIED : SINK_FAILED;
	const int source_errors[] = {[READ_FAILS] = -EIO, [CANCELLED] = -ECANCELED, [FAULTS] = 0};
	const int sink_errors[] = {
		[READ_FAILS] = -ECANCELED, [WRITE_FAILS] = -ENOSPC, [CANCELLED] = -ECANCELED};
	struct digest digest;
	const char *reason;
	int error;

	if (fault == CANCELLED || fault == WRITE_FAILS)
		source_stop(run.source);
	await_source();
	error = source_result(run.source, &digest, &reason);
	if (fault != WRITE_FAILS) /* it may be at its end already */
		assert_true(error == source_errors[fault] || (fault == CANCELLED && error == 0));
	if (fault == READ_FAILS)
		assert_true(moved <= (uint64_t)run.at);
	if (fault == NONE) {
		assert_int_equal(moved, SIZE);
		sink_finish(run.sink, moved, &digest);
	} else if (fault != WRITE_FAILS) {
		sink_stop(run.sink);
	} else if (sink_state(run.sink) == SINK_WORKING) {
		ring_end(&run.in);
	}
	await_sink();
	assert_int_equal(sink_state(run.sink), state);
	sink_error(run.sink, &error);
	assert_int_equal(error, state == SINK_VERIFIED ? 0 : sink_errors[fault]);
	source_close(run.source);
	sink_close(run.sink);
	assert_int_equal(access("out", F_OK), state == SINK_VERIFIED ? 0 : -1);
	unlink("out");
	assert_int_equal(count_entries(NULL), 1);
	ring_destroy(&run.out);
	ring_destroy(&run.in);
	sem_destroy(&run.moved);
}

/* True if the file system of the test supports direct access. */
static bool has_direct(void)
{
	int file = open("in", O_RDONLY | O_DIRECT | O_CLOEXEC);

	if (file >= 0)
		close(file);
	return file >= 0;
}

static void runs_end_as_they_should(enum fault fault)
{
	static const size_t blocks[] = {65536, 70000, 200000, 300000};
	const char *wanted = getenv("STREAM_RUNS");
	int runs = atoi(wanted ? wanted : RUNS);
	uint64_t number = 88172645463325252U + (uint64_t)fault;

	make_input();
	for (int i = 0; i < runs; i++) {
		run.fault = fault;
		run.keyed = i % 2;
		run.direct = i % 3 == 1 && has_direct();
		run.most = blocks[i / 2 % (int)COUNT(blocks)];
		number = number * 6364136223846793005U + 1442695040888963407U;
		run.at = (off_t)((number >> 33) % SIZE);
		start();
		end(move());
	}
}

static void files_arrive(void **state)
{
	(void)state;
	runs_end_as_they_should(NONE);
}

static void reads_are_slow(void **state)
{
	(void)state;
	runs_end_as_they_should(SLOW_READS);
}

static void a_read_fails(void **state)
{
	(void)state;
	runs_end_as_they_should(READ_FAILS);
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

/* The blocks of a keyed digest begin elsewhere than those that are read. */
static void the_peer_has_the_beginning(void **state)
{
	static const size_t sizes[] = {1, 65536, 100001, SIZE - 1};

	(void)state;
	make_input();
	for (size_t i = 0; i < 2 * COUNT(sizes); i++) {
		struct digester *digester = digester_new();
		size_t have = sizes[i / 2];
		struct digest existing, whole = digest_of(data, SIZE), digest;
		const char *reason;

		if (i % 2) {
			digester_set_key(digester, key);
			whole = digest_of_keyed(key, data, SIZE);
		}
		digester_add(digester, data, have);
		existing = digester_result(digester, DIGEST_EXISTING);
		digester_free(digester);
		run.fault = NONE;
		sem_init(&run.moved, 0, 0);
		ring_init(&run.out, rings[0], RING);
		assert_int_equal(source_open(&run.source, "in", NULL, 0, source_why), 0);
		assert_int_equal(source_start(run.source, &run.out, 131072, WORKERS, &listener), 0);
		if (i % 2)
			source_set_key(run.source, key);
		source_begin_after(run.source, have, &existing);
		while (!ring_level(&run.out).ended) {
			sem_wait(&run.moved);
			ring_free_to(&run.out, ring_level(&run.out).filled);
		}
		assert_int_equal(ring_level(&run.out).filled, SIZE - have);
		assert_int_equal(source_result(run.source, &digest, &reason), 0);
		assert_true(digest_equal(&digest, &whole));
		source_close(run.source);
		ring_destroy(&run.out);
		sem_destroy(&run.moved);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OUTPUT_FILE_TEST(files_arrive),
		OUTPUT_FILE_TEST(reads_are_slow),
		OUTPUT_FILE_TEST(a_read_fails),
		OUTPUT_FILE_TEST(a_write_fails),
		OUTPUT_FILE_TEST(exchanges_are_cancelled),
		OUTPUT_FILE_TEST(the_peer_has_the_beginning),
	};

	for (size_t i = 0; i < SIZE; i++)
		data[i] = (uint8_t)(i * 31 + i / 251);
	return cmocka_run_group_tests_name("stream-workers", tests, NULL, NULL);
}
