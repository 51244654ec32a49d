/* Tests the lines that the programs print. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/output.h"
#include "tests/unit/base/output-fixture.h"
#include "tests/unit/unit.h"

/* The length of a line too long for any stream to accept in one write. */
#define MUCH 20000

static const struct output aside = {.program = "prog", .lines_on_stderr = true};
static const struct output quiet_aside = {
	.program = "prog", .quiet = true, .lines_on_stderr = true};

static int print_all(const struct output *output)
{
	output_line(output, "line %d", 1);
	output_detail(output, "detail %d", 2);
	output_error(output, "error %d", 3);
	return (int)output_finish(output, STATUS_OK);
}

/* Each function once. */
static int print_priorities(void)
{
	const struct failure failure = {.kind = FAILURE_INTERRUPTED, .phase = PHASE_EXCHANGE};

	output_line(&verbose, "line");
	output_line_warning(&verbose, "line with a warning");
	output_step(&verbose, NULL, "step");
	output_document("{}");
	/* Standard output may be a stream of its own, whose lines would mix with the others. */
	output_drain();
	output_detail(&verbose, "detail");
	output_warning(&verbose, "warning");
	output_error(&verbose, "error\n<0>no emergency");
	output_failure(&plain, &failure, "host");
	output_progress(&plain, "progress");
	return (int)output_finish(&plain, STATUS_OK);
}

static int print_plain(void)
{
	return print_all(&plain);
}

static int print_quiet(void)
{
	return print_all(&quiet);
}

static int print_verbose(void)
{
	return print_all(&verbose);
}

static int print_aside(void)
{
	return print_all(&aside);
}

static int print_quiet_aside(void)
{
	return print_all(&quiet_aside);
}

static void prints_only_selected_lines(void **state)
{
	static const struct {
		int (*body)(void);
		const char *out, *error;
	} cases[] = {
		{print_plain, "line 1\n", "prog: error 3\n"},
		{print_quiet, "", "prog: error 3\n"},
		{print_verbose, "line 1\n", "prog: detail 2\nprog: error 3\n"},
		{print_aside, "", "line 1\nprog: error 3\n"},
		{print_quiet_aside, "", "prog: error 3\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		run(cases[i].body, NULL);
		assert_int_equal(printed.status, STATUS_OK);
		assert_string_equal(printed.out, cases[i].out);
		assert_string_equal(printed.error, cases[i].error);
	}
}

/*
 * Waits, without output_finish(), until all lines are in their files. Returns the size of stderr.
 */
static int print_and_wait(void)
{
	struct stat status;

	output_line(&plain, "12345");
	while (!fstat(STDOUT_FILENO, &status) && status.st_size < 6)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	output_error(&plain, "12345");
	while (!fstat(STDERR_FILENO, &status) && status.st_size < 12)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	return (int)status.st_size;
}

static void writes_each_line_at_once(void **state)
{
	(void)state;
	run(print_and_wait, NULL);
	assert_int_equal(printed.status, 12);
}

static int print_long_line(void)
{
	output_line(&plain, "%0*d", MUCH, 0);
	return (int)output_finish(&plain, STATUS_OK);
}

static void prints_a_long_line_whole(void **state)
{
	(void)state;
	run(print_long_line, NULL);
	assert_int_equal(strspn(printed.out, "0"), MUCH);
	assert_string_equal(printed.out + MUCH, "\n");
}

#define SENT "sent many/1.txt to 192.0.2.1:7471: 100917 bytes in 729 ms, verified, XXH3 3753e98"

static int print_lines_that_wrap(void)
{
	output_set_coloring(OUTPUT_COLOR_NEVER);
	output_result(&plain, NULL, SENT);
	output_result(&plain, NULL, "short, and sweet");
	output_result(&plain, NULL, "a line without a place where it could be broken in two");
	output_result(&quiet, NULL, SENT);
	return (int)output_finish(&plain, STATUS_OK);
}

static int print_a_line_with_a_long_part(void)
{
	output_set_coloring(OUTPUT_COLOR_NEVER);
	output_result(&plain, NULL,
		"sent big to h:7471: 20000000 bytes (20.0 MB) by WRITE in 945 ms, 21.2 MB/s, "
		"verified, XXH3 1eb5d9bd849f76ae");
	return (int)output_finish(&plain, STATUS_OK);
}

/* What follows a part that is too long still continues below. */
static void goes_on_breaking_after_a_long_part(void **state)
{
	(void)state;
	run_on_terminal(print_a_line_with_a_long_part, true, 40);
	assert_string_equal(printed.error, "sent big to h:7471:\n"
					   "  20000000 bytes (20.0 MB) by WRITE in\n"
					   "  945 ms, 21.2 MB/s, verified,\n"
					   "  XXH3 1eb5d9bd849f76ae\n");
}

static int print_a_list_and_long_words(void)
{
	output_set_coloring(OUTPUT_COLOR_NEVER);
	output_result(&plain, NULL, "verified both ways with h:7471: rxe0/1 here, rxe0/1 there.");
	output_result(&plain, NULL, "an-unbreakable-word-as-wide-as-the-terminal, and more");
	return (int)output_finish(&plain, STATUS_OK);
}

/* What follows a colon stays together if it fits. */
static void a_list_is_not_torn(void **state)
{
	(void)state;
	run_on_terminal(print_a_list_and_long_words, true, 45);
	assert_string_equal(printed.error, "verified both ways with h:7471:\n"
					   "  rxe0/1 here, rxe0/1 there.\n"
					   "an-unbreakable-word-as-wide-as-the-terminal,\n"
					   "  and more\n");
	run_on_terminal(print_a_list_and_long_words, true, 25);
	assert_string_equal(printed.error, "verified both ways with\n"
					   "  h:7471: rxe0/1 here,\n"
					   "  rxe0/1 there.\n"
					   "an-unbreakable-word-as-wide-as-the-terminal,\n"
					   "  and more\n");
}

/* Only on a terminal, a long line continues below, after a comma or colon, or between words. */
static void breaks_long_lines_on_a_terminal(void **state)
{
	static const char unbroken[] = "a line without a place where it could be broken in two\n";
	static const struct {
		unsigned short columns;
		const char *sent, *words;
	} cases[] = {
		{120, SENT "\n", unbroken},
		{81, SENT "\n", unbroken},
		{80,
			"sent many/1.txt to 192.0.2.1:7471:\n"
			"  100917 bytes in 729 ms, verified, XXH3 3753e98\n",
			unbroken},
		{40,
			"sent many/1.txt to 192.0.2.1:7471:\n"
			"  100917 bytes in 729 ms, verified,\n"
			"  XXH3 3753e98\n",
			"a line without a place where it could be\n  broken in two\n"},
	};
	char expected[256];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		run_on_terminal(print_lines_that_wrap, true, cases[i].columns);
		snprintf(expected, sizeof(expected), "%sshort, and sweet\n%s", cases[i].sent,
			cases[i].words);
		assert_string_equal(printed.error, expected);
	}
	run(print_lines_that_wrap, NULL);
	snprintf(expected, sizeof(expected), "%s\nshort, and sweet\n%s", SENT, unbroken);
	assert_string_equal(printed.out, expected);
}

static int print_verdicts(void)
{
	output_set_coloring(OUTPUT_COLOR_ALWAYS);
	output_result(&plain, NULL, "sent verified.txt to h:1: 5 bytes in 1 ms, verified, XXH3 00");
	output_result(&plain, NULL, "received x from h:1: 5 bytes in 1 ms, incomplete.");
	output_result(&plain, "h:1", "verified both ways");
	output_result(&plain, "h:1", "not verified: h is a tutorial program.");
	output_result(&plain, NULL, "best rate");
	return (int)output_finish(&plain, STATUS_OK);
}

static void verdicts_are_colored(void **state)
{
	(void)state;
	run(print_verdicts, NULL);
	assert_string_equal(printed.out,
		"sent verified.txt to h:1: 5 bytes in 1 ms, \033[32mverified\033[m, XXH3 00\n"
		"received x from h:1: 5 bytes in 1 ms, \033[33mincomplete\033[m.\n"
		"client h:1:\n"
		"\033[32mverified\033[m both ways\n"
		"\033[33mnot verified\033[m: h is a tutorial program.\n"
		"best rate\n");
}

/* Prints to a pipe without a reader. Returns the child's status as waitpid(2) does. */
static int status_without_reader(bool ignores)
{
	int ends[2], status = 0;
	pid_t child;

	if (pipe(ends))
		return -1;
	close(ends[0]);
	child = fork();
	if (child == 0) {
		signal(SIGPIPE, ignores ? SIG_IGN : SIG_DFL);
		dup2(ends[1], STDOUT_FILENO);
		output_line(&plain, "line");
		_exit((int)output_finish(&plain, STATUS_OK));
	}
	close(ends[1]);
	waitpid(child, &status, 0);
	return status;
}

static int print_without_reader(void)
{
	int status = status_without_reader(false);

	return WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE ? 0 : 1;
}

static int print_without_reader_ignored(void)
{
	int status = status_without_reader(true);

	return WIFEXITED(status) && WEXITSTATUS(status) == STATUS_FAILED ? 0 : 1;
}

/* A closed pipe ends a program quietly, as others, unless it ignores SIGPIPE. */
static void a_closed_pipe_is_no_error(void **state)
{
	(void)state;
	run(print_without_reader, NULL);
	assert_int_equal(printed.status, 0);
	assert_string_equal(printed.error, "");
	run(print_without_reader_ignored, NULL);
	assert_int_equal(printed.status, 0);
	assert_string_equal(printed.error,
		"prog: cannot write to standard output: it is closed, full or blocked\n");
}

/* Without a free descriptor the output thread cannot start. */
static int print_without_descriptors(void)
{
	const struct rlimit none = {0};

	if (setrlimit(RLIMIT_NOFILE, &none))
		return 1;
	return print_all(&verbose);
}

static void prints_without_the_output_thread(void **state)
{
	(void)state;
	run(print_without_descriptors, NULL);
	assert_int_equal(printed.status, STATUS_OK);
	assert_string_equal(printed.out, "line 1\n");
	assert_string_equal(printed.error, "prog: detail 2\nprog: error 3\n");
}

static int lose_output(enum exit_status status)
{
	output_line(&plain, "lost");
	return (int)output_finish(&plain, status);
}

static int lose_after_success(void)
{
	return lose_output(STATUS_OK);
}

static int lose_after_failure(void)
{
	return lose_output(STATUS_PEER);
}

/* The loss is known before the end, to this process and to its parent. */
static int notice_loss(void)
{
	if (output_is_lost())
		return STATUS_OK;
	output_line(&plain, "lost");
	output_drain();
	return output_is_lost() ? STATUS_FAILED : STATUS_OK;
}

static int lose_in_child(void)
{
	output_set_lost();
	return (int)output_finish(&plain, STATUS_OK);
}

static void reports_lost_output(void **state)
{
	(void)state;
	run(notice_loss, "/dev/full");
	assert_int_equal(printed.status, STATUS_FAILED);
	run(lose_in_child, NULL);
	assert_int_equal(printed.status, STATUS_FAILED);
	run(lose_after_success, "/dev/full");
	assert_int_equal(printed.status, STATUS_FAILED);
	assert_non_null(strstr(printed.error, "prog: cannot write to standard output"));
	/* An earlier failure takes precedence. */
	run(lose_after_failure, "/dev/full");
	assert_int_equal(printed.status, STATUS_PEER);
}

static int print_nothing(void)
{
	return (int)output_finish(&quiet, STATUS_OK);
}

static void succeeds_with_nothing_to_print(void **state)
{
	(void)state;
	run(print_nothing, "/dev/full");
	assert_int_equal(printed.status, STATUS_OK);
	assert_string_equal(printed.error, "");
}

static void *print_lines(void *argument)
{
	(void)argument;
	for (unsigned int i = 0; i < LINES; i++) {
		output_line(&verbose, "a line of output");
		output_detail(&verbose, "a detail");
	}
	return NULL;
}

static int print_from_threads(void)
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, print_lines, NULL))
			return 1;
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return (int)output_finish(&verbose, STATUS_OK);
}

static void assert_only(char *text, const char *line)
{
	unsigned int lines = 0;
	char *rest, *found;

	for (found = strtok_r(text, "\n", &rest); found; found = strtok_r(NULL, "\n", &rest)) {
		assert_string_equal(found, line);
		lines++;
	}
	assert_int_equal(lines, THREADS * LINES);
}

static void does_not_mix_lines_from_threads(void **state)
{
	(void)state;
	run(print_from_threads, NULL);
	assert_int_equal(printed.status, STATUS_OK);
	assert_only(printed.out, "a line of output");
	assert_only(printed.error, "prog: a detail");
}

/* Returns 0 if a reader that pauses does not block the printing thread and later gets all lines. */
static int print_to_a_paused_reader(void)
{
	int pipe = fill(STDOUT_FILENO);

	for (unsigned int i = 0; i < LINES; i++)
		output_line(&plain, "one of very many lines");
	/* Standard error does not wait for standard output. */
	output_error(&plain, "error");
	if (read_after_filling(pipe, "one of very many lines\n", LINES))
		return 1;
	return (int)output_finish(&plain, STATUS_OK);
}

static void keeps_lines_for_a_paused_reader(void **state)
{
	(void)state;
	run(print_to_a_paused_reader, NULL);
	assert_int_equal(printed.status, STATUS_OK);
	assert_string_equal(printed.error, "prog: error\n");
}

/* Prints more than the queue holds: nothing blocks forever, and the loss is reported. */
static int print_without_a_reader(void)
{
	fill(STDOUT_FILENO);
	for (unsigned int i = 0; i < 100; i++)
		output_line(&plain, "%0*d", MUCH, 0);
	return (int)output_finish(&plain, STATUS_OK);
}

static void gives_up_on_a_stopped_reader(void **state)
{
	(void)state;
	run(print_without_a_reader, NULL);
	assert_int_equal(printed.status, STATUS_FAILED);
	assert_string_equal(printed.error,
		"prog: cannot write to standard output: it is closed, full or blocked\n");
}

/* Two clients of a server, and our own steps. */
static int print_steps(void)
{
	static const struct output brief = {.program = "prog", .brief = true};

	output_step(&plain, NULL, "own step");
	output_step(&plain, "a:1", "step %d", 1);
	output_step(&plain, "a:1", "step %d", 2);
	output_step(&plain, "b:2", "step %d", 1);
	output_step(&quiet, "c:3", "quiet");
	output_step(&brief, "c:3", "brief");
	output_step(&plain, "b:2", "step %d", 2);
	output_step(&plain, "a:1", "step %d", 3);
	return (int)output_finish(&plain, STATUS_OK);
}

static void steps_of_a_client_follow_its_name(void **state)
{
	(void)state;
	run(print_steps, NULL);
	assert_string_equal(printed.out, "own step\nclient a:1:\nstep 1\nstep 2\n"
					 "client b:2:\nstep 1\nstep 2\nclient a:1:\nstep 3\n");
	assert_string_equal(printed.error, "");
}

/* With timestamps, on a terminal and elsewhere. */
static int print_with_times(void)
{
	output_set_timestamps(true);
	setenv("TZ", "UTC-1", 1);
	tzset();
	output_line(&plain, "line");
	output_document("{}");
	output_drain();
	output_error(&plain, "error");
	return (int)output_finish(&plain, STATUS_OK);
}

static int print_wrapped_with_times(void)
{
	output_set_timestamps(true);
	setenv("TZ", "UTC-1", 1);
	tzset();
	output_set_coloring(OUTPUT_COLOR_NEVER);
	output_result(&plain, NULL, SENT);
	return (int)output_finish(&plain, STATUS_OK);
}

/* Removes the time from the start of the text, and checks that it is the current local time. */
static const char *after_time(const char *text)
{
	time_t before = time(NULL) - 60;
	int year, month, day, hour, minute, length = 0;
	struct tm local;
	double second;

	assert_int_equal(sscanf(text, "%4d-%2d-%2d %2d:%2d:%6lf%n", &year, &month, &day, &hour,
				 &minute, &second, &length),
		6);
	assert_int_equal(length, 23);
	assert_true(text[length] == ' ');
	local = (struct tm){.tm_year = year - 1900,
		.tm_mon = month - 1,
		.tm_mday = day,
		.tm_hour = hour,
		.tm_min = minute,
		.tm_sec = (int)second};
	assert_in_range(timegm(&local) - 3600, before, before + 120);
	return text + length + 1;
}

static void lines_begin_with_the_time(void **state)
{
	(void)state;
	run(print_with_times, NULL);
	assert_string_equal(after_time(printed.out), "line\n{}\n");
	assert_string_equal(after_time(printed.error), "prog: error\n");
	/* The color begins after the time. */
	setenv("TERM", "xterm", 1);
	run_on_terminal(print_with_times, false, 80);
	assert_string_equal(after_time(printed.error), "\033[31mprog:\033[m error\n");
	/* What continues a line has none, and both parts fit. */
	run_on_terminal(print_wrapped_with_times, true, 80);
	assert_string_equal(after_time(printed.error),
		"sent many/1.txt to 192.0.2.1:7471:\n"
		"                          100917 bytes in 729 ms, verified, XXH3 3753e98\n");
}

#define OUT_LINES "line\nline with a warning\nstep\n{}\n"
#define ERROR_LINES \
	"prog: detail\nprog: warning\nprog: error?<0>no emergency\n" \
	"prog: exchange with host failed: interrupted by a signal.\nprog: progress\n"

/* Which of the streams JOURNAL_STREAM names, as its device and inode. */
enum named { NAMED_NONE, NAMED_OUT, NAMED_ERROR, NAMED_OTHER_DEVICE, NAMED_OTHER_INODE, NAMED_BAD };

static enum named named;

static int print_under_systemd(void)
{
	struct stat status;
	char stream[64];

	if (fstat(named == NAMED_OUT ? STDOUT_FILENO : STDERR_FILENO, &status))
		return 1;
	snprintf(stream, sizeof(stream), "%llu:%llu%s",
		(unsigned long long)status.st_dev + (named == NAMED_OTHER_DEVICE),
		(unsigned long long)status.st_ino + (named == NAMED_OTHER_INODE),
		named == NAMED_BAD ? "x" : "");
	if (named == NAMED_NONE ? unsetenv("JOURNAL_STREAM") : setenv("JOURNAL_STREAM", stream, 1))
		return 1;
	output_start();
	return print_priorities();
}

static void lines_of_the_journal_begin_with_their_priority(void **state)
{
	static const struct {
		enum named named;
		const char *out, *error;
	} cases[] = {
		{NAMED_NONE, OUT_LINES, ERROR_LINES},
		{NAMED_OTHER_DEVICE, OUT_LINES, ERROR_LINES},
		{NAMED_OTHER_INODE, OUT_LINES, ERROR_LINES},
		{NAMED_BAD, OUT_LINES, ERROR_LINES},
		{NAMED_OUT, "<6>line\n<4>line with a warning\n<6>step\n<6>{}\n", ERROR_LINES},
		{NAMED_ERROR, OUT_LINES,
			"<6>prog: detail\n<4>prog: warning\n<3>prog: error?<0>no emergency\n"
			"<3>prog: exchange with host failed: interrupted by a signal.\n"
			"<6>prog: progress\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		named = cases[i].named;
		run(print_under_systemd, NULL);
		assert_int_equal(printed.status, STATUS_OK);
		assert_string_equal(printed.out, cases[i].out);
		assert_string_equal(printed.error, cases[i].error);
	}
}

static int print_long_lines(void)
{
	output_error(&plain, "exchange with 10.0.0.2:7471 failed: nothing is listening; start it");
	output_line(&plain, "short line");
	output_line(&plain, "averylongwordthatdoesnotfitthisterminalatall next");
	output_set_timestamps(true);
	output_line(&plain, "one two three four five");
	return (int)output_finish(&plain, STATUS_OK);
}

/* On a terminal, lines are broken between words; in a file, they are not. */
static void long_lines_are_broken_between_words(void **state)
{
	(void)state;
	setenv("NO_COLOR", "1", 1);
	run_on_terminal(print_long_lines, true, 40);
	unsetenv("NO_COLOR");
	assert_non_null(strstr(printed.error, "prog: exchange with 10.0.0.2:7471\n"
					      "  failed: nothing is listening; start it\n"
					      "short line\n"
					      "averylongwordthatdoesnotfitthisterminalatall\n"
					      "  next\n"));
	assert_non_null(
		strstr(printed.error, " one two three\n                          four five\n"));
	run(print_long_lines, NULL);
	assert_non_null(strstr(printed.error, "failed: nothing is listening; start it\n"));
	assert_non_null(strstr(printed.out, "terminalatall next\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_the_journal_begin_with_their_priority),
		cmocka_unit_test(steps_of_a_client_follow_its_name),
		cmocka_unit_test(lines_begin_with_the_time),
		cmocka_unit_test(prints_only_selected_lines),
		cmocka_unit_test(writes_each_line_at_once),
		cmocka_unit_test(prints_a_long_line_whole),
		cmocka_unit_test(prints_without_the_output_thread),
		cmocka_unit_test(a_closed_pipe_is_no_error),
		cmocka_unit_test(reports_lost_output),
		cmocka_unit_test(succeeds_with_nothing_to_print),
		cmocka_unit_test(breaks_long_lines_on_a_terminal),
		cmocka_unit_test(a_list_is_not_torn),
		cmocka_unit_test(goes_on_breaking_after_a_long_part),
		cmocka_unit_test(verdicts_are_colored),
		cmocka_unit_test(does_not_mix_lines_from_threads),
		cmocka_unit_test(keeps_lines_for_a_paused_reader),
		cmocka_unit_test(gives_up_on_a_stopped_reader),
		cmocka_unit_test(long_lines_are_broken_between_words),
	};

	return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
