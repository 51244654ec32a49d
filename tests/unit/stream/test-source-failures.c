/* Sources that fail: the cause is reported, and stopping ends every wait. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/message.h"
#include "tests/unit/stream/source-fixture.h"
#include "tests/unit/unit.h"

static void assert_failed(int error, const char *sentence)
{
	struct digest digest;
	const char *why;

	assert_true(ring_level(&feed.ring).ended);
	assert_int_equal(source_result(feed.source, &digest, &why), error);
	assert_string_equal(why, sentence);
}

/* Sends a file that is changed when its first bytes are in the ring, or also before that. */
static void change_while_sent(unsigned int workers, void (*change)(int file), bool before)
{
	int file = feed_make_file("data.bin", FEED_DATA);

	feed.workers = workers;
	feed_open(feed.path);
	if (before)
		change(file);
	feed_start();
	source_begin(feed.source);
	assert_true(feed_take());
	change(file);
	close(file);
	while (feed_take())
		;
	oracle_await_end(&feed.oracle);
}

/* The ring already contains more than that, so the source reaches a premature end of file. */
static void shrink(int file)
{
	assert_int_equal(ftruncate(file, 2 * FEED_MOST), 0);
}

static void detect_a_file_that_shrinks(unsigned int workers)
{
	change_while_sent(workers, shrink, false);
	assert_true(feed.size < FEED_DATA);
	assert_failed(-EIO, "cannot read data.bin: file was truncated while being read");
}

static void detects_a_file_that_shrinks(void **state)
{
	(void)state;
	detect_a_file_that_shrinks(1);
}

static void several_workers_detect_a_file_that_shrinks(void **state)
{
	(void)state;
	detect_a_file_that_shrinks(4);
}

static void overwrite(int file)
{
	assert_int_equal(pwrite(file, "x", 1, FEED_DATA - 1), 1);
}

static void grow(int file)
{
	assert_int_equal(pwrite(file, "x", 1, FEED_DATA), 1);
}

static void touch(int file)
{
	assert_int_equal(futimens(file, NULL), 0);
}

/* Nothing is a whole file that may be a mixture of two. */
static void detects_a_file_that_changes(void **state)
{
	static void (*const changes[])(int file) = {overwrite, touch};

	for (unsigned int i = 0; i < 2 * COUNT(changes); i++) {
		if (i > 0)
			feed_set_up(state);
		change_while_sent(i % 2 ? 4 : 1, changes[i / 2], false);
		assert_failed(-EIO, "cannot read data.bin: it changed while being read");
		if (i < 2 * COUNT(changes) - 1)
			feed_tear_down(state);
	}
}

/* As a log does. Its size has been announced: what is appended is not sent. */
static void sends_a_file_that_grows(void **state)
{
	for (unsigned int i = 0; i < 4; i++) {
		if (i > 0)
			feed_set_up(state);
		change_while_sent(i % 2 ? 4 : 1, grow, i / 2);
		feed_assert_sent(feed_data, FEED_DATA);
		if (i < 3)
			feed_tear_down(state);
	}
}

/* It is sent as it is when it begins to be read. */
static void sends_a_file_that_was_rewritten_before(void **state)
{
	int file = feed_make_file("data.bin", FEED_DATA);

	(void)state;
	feed_open(feed.path);
	assert_int_equal(pwrite(file, feed_data, FEED_DATA, 0), FEED_DATA);
	assert_int_equal(futimens(file, NULL), 0);
	close(file);
	feed_run();
	feed_assert_sent(feed_data, FEED_DATA);
}

static void reports_read_errors(void **state)
{
	(void)state;
	feed_path("none");
	/* Offset 0 of /proc/self/mem is not mapped, so reading it fails. */
	feed_open("/proc/self/mem");
	feed_run();
	assert_int_equal(feed.size, 0);
	assert_failed(-EIO, "cannot read mem: Input/output error");
}

static void stop_and_close(void)
{
	struct digest digest;
	const char *why;

	source_stop(feed.source);
	source_stop(feed.source);
	oracle_await_end(&feed.oracle);
	assert_int_equal(source_result(feed.source, &digest, &why), -ECANCELED);
	assert_true(ring_level(&feed.ring).ended);
}

static void stops_before_it_begins(void **state)
{
	(void)state;
	close(feed_make_file("data.bin", FEED_DATA));
	feed_open(feed.path);
	feed_start();
	stop_and_close();
	assert_int_equal(ring_level(&feed.ring).filled, 0);
}

static void stops_while_the_ring_is_full(void **state)
{
	(void)state;
	close(feed_make_file("data.bin", FEED_DATA));
	feed_open(feed.path);
	feed_start();
	source_begin(feed.source);
	while (ring_level(&feed.ring).filled < FEED_RING)
		a_moment();
	a_moment();
	stop_and_close();
}

static void stops_while_the_pipe_is_empty(void **state)
{
	int writing;

	(void)state;
	feed_from_pipe(&writing);
	assert_int_equal(write(writing, feed_data, FEED_MOST), FEED_MOST);
	feed_open("-");
	feed_start();
	source_begin(feed.source);
	while (ring_level(&feed.ring).filled < FEED_MOST)
		a_moment();
	a_moment();
	stop_and_close();
	close(writing);
}

static void stops_while_a_fifo_has_no_writer(void **state)
{
	(void)state;
	feed_path("fifo");
	assert_int_equal(mkfifo(feed.path, 0600), 0);
	feed_open(feed.path);
	feed_start();
	source_begin(feed.source);
	a_moment();
	stop_and_close();
}

static void stops_at_any_time(void **state)
{
	uint64_t seed = 1;

	for (unsigned int i = 0; i < 50; i++) {
		if (i > 0)
			feed_set_up(state);
		close(feed_make_file("data.bin", FEED_DATA));
		feed_open(feed.path);
		feed_start();
		source_begin(feed.source);
		for (uint64_t takes = random_below(&seed, 10); takes > 0; takes--)
			feed_take();
		source_stop(feed.source);
		oracle_await_end(&feed.oracle);
		if (i < 49)
			feed_tear_down(state);
	}
}

static void stopping_without_a_thread_is_safe(void **state)
{
	(void)state;
	source_stop(NULL);
	source_close(NULL);
	assert_false(source_is_running(NULL));
	close(feed_make_file("data.bin", 1));
	feed_open(feed.path);
	/* Never started; the teardown closes it. */
	source_stop(feed.source);
}

static void assert_refused(const char *input, int error, const char *sentence)
{
	char why[WORKER_WHY_SIZE] = "";

	assert_int_equal(source_open(&feed.source, input, NULL, 0, why), error);
	assert_string_equal(why, sentence);
}

static void refuses_unreadable_inputs(void **state)
{
	char sentence[128], missing[512];

	(void)state;
	feed_path("none");
	snprintf(missing, sizeof(missing), "%s/a/b", feed_folder);
	assert_refused(feed.path, -ENOENT, "cannot read none: No such file or directory");
	assert_refused(missing, -ENOENT, "cannot read b: No such file or directory");
	snprintf(sentence, sizeof(sentence), "cannot read %s: Is a directory",
		strrchr(feed_folder, '/') + 1);
	assert_refused(feed_folder, -EISDIR, sentence);
	/* A path without a last component is shown as given. */
	assert_refused("/proc/", -EISDIR, "cannot read /proc/: Is a directory");
}

static void refuses_a_closed_standard_input(void **state)
{
	int directory = open(feed_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(directory >= 0);
	assert_int_equal(dup2(directory, STDIN_FILENO), STDIN_FILENO);
	close(directory);
	assert_refused("-", -EISDIR, "cannot read standard input: Is a directory");
	close(STDIN_FILENO);
	assert_refused("-", -EBADF, "cannot read standard input: Bad file descriptor");
}

/* Error messages are shown on terminals and sent to the peer. */
static void error_messages_escape_and_shorten_names(void **state)
{
	char why[WORKER_WHY_SIZE], name[256];

	(void)state;
	feed_path("a\033[31mb\nc");
	assert_refused(
		feed.path, -ENOENT, "cannot read a\\x1b[31mb\\x0ac: No such file or directory");
	memset(name, '\n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	feed_path(name);
	assert_int_equal(source_open(&feed.source, feed.path, NULL, 0, why), -ENOENT);
	assert_int_equal(strspn(why, "cannot read\\x0: NsuhfildtyNo "), strlen(why));
	assert_true(strlen(why) < sizeof(why) - 1);
	memset(name, 'n', sizeof(name) - 1);
	feed_path(name);
	assert_int_equal(source_open(&feed.source, feed.path, NULL, 0, why), -ENOENT);
	assert_true(strlen(why) <= MESSAGE_TEXT_MAX);
	assert_non_null(strstr(why, "No such file or directory"));
}

static void keeps_long_names(void **state)
{
	char name[256];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	close(feed_make_file(name, 1));
	feed_open(feed.path);
	assert_string_equal(source_name(feed.source), name);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, feed_set_up, feed_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(detects_a_file_that_shrinks),
		TEST(several_workers_detect_a_file_that_shrinks),
		TEST(detects_a_file_that_changes),
		TEST(sends_a_file_that_grows),
		TEST(sends_a_file_that_was_rewritten_before),
		TEST(reports_read_errors),
		TEST(stops_before_it_begins),
		TEST(stops_while_the_ring_is_full),
		TEST(stops_while_the_pipe_is_empty),
		TEST(stops_while_a_fifo_has_no_writer),
		TEST(stops_at_any_time),
		TEST(stopping_without_a_thread_is_safe),
		TEST(refuses_unreadable_inputs),
		TEST(refuses_a_closed_standard_input),
		TEST(error_messages_escape_and_shorten_names),
		TEST(keeps_long_names),
	};

	return cmocka_run_group_tests_name(
		"source-failures", tests, feed_set_up_group, feed_tear_down_group);
}
