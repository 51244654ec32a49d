/*
 * Received data that cannot be written: the cause is reported, no file is left behind, and no
 * thread waits forever.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/stream/sink-fixture.h"
#include "tests/unit/unit.h"

static void keeps_existing_files(void **state)
{
	(void)state;
	put("data.bin", "older");
	drain_start("data.bin", DRAIN_DATA);
	drain_begin("");
	assert_false(drain_arrive(DRAIN_DATA));
	drain_assert_failed(-EEXIST, NULL);
	assert_contents("data.bin", "older");
	assert_int_equal(count_entries(NULL), 1);
	drain_again();
	drain.options.force = true;
	drain_start("data.bin", DRAIN_DATA);
	drain_begin("");
	assert_true(drain_arrive(DRAIN_DATA));
	drain_finish(DRAIN_DATA, DRAIN_DATA);
	drain_assert_ends(SINK_VERIFIED);
	drain_assert_kept("data.bin", DRAIN_DATA);
}

/* The name is taken while the data arrives. */
static void fails_when_committing(void **state)
{
	(void)state;
	drain_start("data.bin", DRAIN_DATA);
	drain_begin("");
	assert_true(drain_arrive(DRAIN_DATA));
	put("data.bin", "newer");
	drain_finish(DRAIN_DATA, DRAIN_DATA);
	drain_assert_failed(-EEXIST, NULL);
	assert_contents("data.bin", "newer");
	assert_int_equal(count_entries(NULL), 1);
}

static void fails_on_a_full_device(void **state)
{
	(void)state;
	drain_start("/dev/full", DRAIN_DATA);
	drain_begin("");
	assert_false(drain_arrive(DRAIN_DATA));
	drain_assert_failed(-ENOSPC, "cannot write full: No space left on device");
}

static void fails_without_a_folder(void **state)
{
	(void)state;
	drain_start("none/data.bin", DRAIN_DATA);
	drain_begin("");
	assert_false(drain_arrive(DRAIN_DATA));
	drain_assert_failed(-ENOENT, NULL);
}

static void fails_on_a_closed_pipe(void **state)
{
	(void)state;
	close(drain_to_pipe());
	drain_start("-", DRAIN_DATA);
	drain_begin("");
	assert_false(drain_arrive(DRAIN_DATA));
	drain_assert_failed(-EPIPE, "cannot write to standard output: Broken pipe");
}

static void stop(void)
{
	sink_stop(drain.sink);
	sink_stop(drain.sink);
	drain_assert_failed(-ECANCELED, NULL);
}

/* An output is not opened before the stream begins. */
static void stops_before_it_begins(void **state)
{
	static const char *const outputs[] = {NULL, "data.bin", "none/data.bin", "./", "-"};

	(void)state;
	for (size_t i = 0; i < COUNT(outputs); i++) {
		drain_start(outputs[i], DRAIN_DATA);
		stop();
		drain_again();
	}
	assert_int_equal(count_entries(NULL), 0);
}

static void stops_without_data(void **state)
{
	char hidden[FILE_NAME_MAX + 1] = "";

	(void)state;
	drain_start("data.bin", DRAIN_DATA);
	drain_begin("");
	assert_true(drain_arrive(DRAIN_RING + 1));
	while (count_entries(hidden) == 0)
		a_moment();
	assert_int_equal(hidden[0], '.');
	stop();
	assert_int_equal(count_entries(NULL), 0);
}

static void stops_without_a_reader(void **state)
{
	int reading = drain_to_pipe();
	struct pollfd full = {.fd = STDOUT_FILENO, .events = POLLOUT};

	(void)state;
	assert_true(fcntl(STDOUT_FILENO, F_SETPIPE_SZ, 4096) >= 0);
	drain_start("-", DRAIN_DATA);
	drain_begin("");
	assert_true(drain_arrive(DRAIN_RING + DRAIN_MOST));
	while (poll(&full, 1, 0) == 1)
		a_moment();
	stop();
	close(reading);
}

static void stops_while_a_fifo_has_no_reader(void **state)
{
	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	drain_start("fifo", DRAIN_DATA);
	drain_begin("");
	a_moment();
	stop();
	assert_int_equal(count_entries(NULL), 1);
}

static void *begin_now(void *argument)
{
	(void)argument;
	drain_begin("offered");
	return NULL;
}

/* The main thread stops the sink while the CQ thread begins the stream. */
static void stops_while_it_begins(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 50; i++) {
		pthread_t thread;

		drain_start("data.bin", DRAIN_DATA);
		assert_int_equal(pthread_create(&thread, NULL, begin_now, NULL), 0);
		stop();
		pthread_join(thread, NULL);
		drain_again();
	}
	assert_int_equal(count_entries(NULL), 0);
}

static void stops_at_any_time(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (unsigned int i = 0; i < 50; i++) {
		size_t size = (size_t)random_below(&seed, 3 * DRAIN_RING);

		drain_start("data.bin", STREAM_SIZE_UNKNOWN);
		drain_begin("");
		assert_true(drain_arrive(size));
		if (i % 2)
			drain_finish(size, size);
		sink_stop(drain.sink);
		oracle_await_end(&drain.oracle);
		/*
		 * The sink may have finished before it was stopped, but then the file is complete.
		 */
		if (sink_state(drain.sink) == SINK_VERIFIED) {
			drain_assert_kept("data.bin", size);
			assert_int_equal(unlink("data.bin"), 0);
		} else {
			drain_assert_failed(-ECANCELED, NULL);
		}
		assert_int_equal(count_entries(NULL), 0);
		drain_again();
	}
}

static void stopping_without_a_thread_is_safe(void **state)
{
	(void)state;
	sink_stop(NULL);
	sink_close(NULL);
	assert_false(sink_is_running(NULL));
	assert_int_equal(sink_open(&drain.sink, &drain.options, DRAIN_DATA), 0);
	/* Never started; the teardown closes it. */
	sink_stop(drain.sink);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SINK_TEST(keeps_existing_files),
		SINK_TEST(fails_when_committing),
		SINK_TEST(fails_on_a_full_device),
		SINK_TEST(fails_without_a_folder),
		SINK_TEST(fails_on_a_closed_pipe),
		SINK_TEST(stops_before_it_begins),
		SINK_TEST(stops_without_data),
		SINK_TEST(stops_without_a_reader),
		SINK_TEST(stops_while_a_fifo_has_no_reader),
		SINK_TEST(stops_while_it_begins),
		SINK_TEST(stops_at_any_time),
		SINK_TEST(stopping_without_a_thread_is_safe),
	};

	/* SIGPIPE is ignored, as in the programs. */
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("sink-failures", tests, NULL, NULL);
}
