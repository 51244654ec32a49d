/*
 * A file moves from a source through two rings to a sink, each with four workers, with blocks as
 * large as those of an exchange, with and without a secret. Reads and writes take a different time
 * each, and may do a part of the work; a run has at most one kind of fault, which begins at a
 * random place: the first one in the file has another cause than those behind it, which are found
 * earlier. STREAM_RUNS in the environment is the number of runs of each kind.
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
	atomic_uint calls, inside[2], together[2]; /* reads and writes: now, and most at a time */
	atomic_uint_fast64_t direct_bytes[2];
	bool meets; /* two threads are expected inside at a time */
	bool hangs; /* accesses behind the one that fails return only after `released` */
	sem_t released;
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

/* Notes how many threads are here at a time. The first one waits for another, but not forever. */
static void enter(bool writes)
{
	unsigned int inside = ++run.inside[writes], most = run.together[writes];

	while (inside > most)
		if (atomic_compare_exchange_weak(&run.together[writes], &most, inside))
			break;
	for (int i = 0; i < 10000 && run.meets && run.together[writes] < 2; i++)
		sleep_for(1000);
}

/* Fails an access behind the one that has the fault, at once or when it is released. */
static int fail_behind(void)
{
	if (run.hangs) {
		sem_wait(&run.released);
		sem_post(&run.released);
	}
	return EROFS;
}

/* Takes up to 150 us. Returns 0 or the errno with which it fails. */
static int access_disk(enum fault fault, size_t size, off_t offset)
{
	static const unsigned int moments[] = {0, 150, 0, 100, 0, 0, 50};
	unsigned int call = run.calls++;

	if (run.fault == fault && run.at < offset)
		return fail_behind();
	sleep_for(moments[call % COUNT(moments)]);
	if (run.fault == SLOW_READS && fault == READ_FAILS)
		sleep_for(500);
	if (run.fault == fault && run.at < offset + (off_t)size) {
		do
			sleep_for(1000);
		while (run.hangs && run.inside[fault == WRITE_FAILS] < 2);
		return fault == READ_FAILS ? EIO : ENOSPC;
	}
	return call % 13 == 0 ? EINTR : 0;
}

/* Counts what moves directly, and now and then moves less. */
static size_t prepare(bool writes, int file, size_t size)
{
	if (fcntl(file, F_GETFL) & O_DIRECT)
		run.direct_bytes[writes] += size;
	else if (run.calls % 17 == 0 && size > 1000)
		size = 1000;
	return size;
}

/* These take the place of the C library's. */
ssize_t pread64(int file, void *bytes, size_t size, off_t offset)
{
	enter(false);
	errno = access_disk(READ_FAILS, size, offset);
	run.inside[false]--;
	return errno ? -1 : syscall(SYS_pread64, file, bytes, prepare(false, file, size), offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off_t offset)
{
	enter(true);
	errno = access_disk(WRITE_FAILS, size, offset);
	run.inside[true]--;
	return errno ? -1 : syscall(SYS_pwrite64, file, bytes, prepare(true, file, size), offset);
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
	run.direct_bytes[0] = run.direct_bytes[1] = 0;
	for (int i = 0; i < 2; i++)
		run.together[i] = 0;
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

static void assert_pace(const struct pace *pace)
{
	assert_int_equal(pace->workers, WORKERS);
	for (int i = 0; i < PACE_PARTS; i++)
		assert_true(pace->spent[i] > 0);
}

/* Checks what a whole run did, besides moving the data. */
static void assert_means(void)
{
	assert_pace(source_pace(run.source));
	assert_pace(sink_pace(run.sink));
	for (int i = 0; i < 2; i++) {
		assert_true(run.together[i] > 1 && run.together[i] <= WORKERS);
		assert_true(run.direct ? run.direct_bytes[i] > SIZE / 2 : run.direct_bytes[i] == 0);
	}
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
		assert_true(sink_pace(run.sink)->spent[PACE_LINK] > 0);
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
	if (fault == NONE)
		assert_means();
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
		run.meets = fault == NONE || fault == SLOW_READS;
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
		run.meets = false;
		sem_init(&run.moved, 0, 0);
		ring_init(&run.out, rings[0], RING);
		assert_int_equal(source_open(&run.source, "in", NULL, 0, source_why), 0);
		assert_int_equal(source_start(run.source, &run.out, 131072, WORKERS, &listener), 0);
		if (i % 2)
			source_set_key(run.source, key);
		source_begin_after(run.source, have, &existing, false);
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

/* The failure is known although other threads of the crew do not return. */
static void nobody_waits_for_a_hung(enum fault fault)
{
	struct digest digest;
	const char *reason;
	int error;

	make_input();
	run.fault = fault;
	run.at = 1000;
	run.meets = run.keyed = run.direct = false;
	run.most = 65536;
	run.hangs = true;
	sem_init(&run.released, 0, 0);
	start();
	move();
	if (fault == READ_FAILS) {
		await_source();
		assert_int_equal(source_result(run.source, &digest, &reason), -EIO);
		assert_string_equal(reason, "cannot read in: Input/output error");
		sink_stop(run.sink);
	} else {
		await_sink();
		assert_string_equal(
			sink_error(run.sink, &error), "cannot write out: No space left on device");
		assert_int_equal(error, -ENOSPC);
		source_stop(run.source);
	}
	assert_true(run.inside[fault == WRITE_FAILS] > 0); /* those that hang */
	sem_post(&run.released);
	source_close(run.source);
	sink_close(run.sink);
	run.hangs = false;
	assert_int_equal(count_entries(NULL), 1);
	ring_destroy(&run.out);
	ring_destroy(&run.in);
	sem_destroy(&run.moved);
	sem_destroy(&run.released);
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
		OUTPUT_FILE_TEST(files_arrive),
		OUTPUT_FILE_TEST(reads_are_slow),
		OUTPUT_FILE_TEST(a_read_fails),
		OUTPUT_FILE_TEST(a_write_fails),
		OUTPUT_FILE_TEST(exchanges_are_cancelled),
		OUTPUT_FILE_TEST(the_peer_has_the_beginning),
		OUTPUT_FILE_TEST(nobody_waits_for_a_hung_read),
		OUTPUT_FILE_TEST(nobody_waits_for_a_hung_write),
	};

	for (size_t i = 0; i < SIZE; i++)
		data[i] = (uint8_t)(i * 31 + i / 251);
	return cmocka_run_group_tests_name("stream-workers", tests, NULL, NULL);
}
