/*
 * The lines that the programs print. Each test prints in a process of its own, whose standard
 * output and error are files that are looked at afterwards, or a terminal.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "lib/output.h"
#include "unit.h"

/* Characters of a line that no stream takes at once. */
#define MUCH 20000

#define THREADS 4
#define LINES   500

/* What a line has before it where a progress line stands, and what a progress line begins with. */
#define ERASE "\r\033[K"

/* What a process printed, and its exit status. */
static struct printed {
	char out[65536], error[131072];
	int status;
} printed;

static void read_back(FILE *file, char text[65536])
{
	size_t size;

	rewind(file);
	size = fread(text, 1, 65535, file);
	text[size] = '\0';
	fclose(file);
}

/* Begins a process with these as standard output and error. Returns 0 there, its number here. */
static pid_t begin(int out, int error)
{
	pid_t child;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(out, STDOUT_FILENO);
		dup2(error, STDERR_FILENO);
		output_start();
	}
	return child;
}

static void end(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	printed.status = WEXITSTATUS(status);
}

/* Runs body in a process of its own; where is the path of its standard output, NULL for a file. */
static void run(int (*body)(void), const char *where)
{
	FILE *out = where ? fopen(where, "r+") : tmpfile();
	FILE *error = tmpfile();
	pid_t child;

	assert_true(out && error);
	child = begin(fileno(out), fileno(error));
	if (child == 0)
		_exit(body());
	end(child);
	if (where)
		fclose(out);
	else
		read_back(out, printed.out);
	read_back(error, printed.error);
}

static const struct output plain = {.program = "prog"};
static const struct output quiet = {.program = "prog", .quiet = true};
static const struct output verbose = {.program = "prog", .verbose = true};
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

static void prints_what_was_asked_for(void **state)
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

/* Ends when each line is in its file, though more may come. Returns the size of the second. */
static int print_and_look(void)
{
	struct stat status;

	output_line(&plain, "12345");
	while (!fstat(STDOUT_FILENO, &status) && status.st_size < 6)
		usleep(1000);
	output_error(&plain, "12345");
	while (!fstat(STDERR_FILENO, &status) && status.st_size < 12)
		usleep(1000);
	return (int)status.st_size;
}

static void writes_each_line_at_once(void **state)
{
	(void)state;
	run(print_and_look, NULL);
	assert_int_equal(printed.status, 12);
}

static int print_much(void)
{
	output_line(&plain, "%0*d", MUCH, 0);
	return (int)output_finish(&plain, STATUS_OK);
}

static void has_room_for_the_longest_message(void **state)
{
	(void)state;
	run(print_much, NULL);
	assert_int_equal(strspn(printed.out, "0"), MUCH);
	assert_string_equal(printed.out + MUCH, "\n");
}

static int lose(enum exit_status status)
{
	output_line(&plain, "lost");
	return (int)output_finish(&plain, status);
}

static int lose_after_success(void)
{
	return lose(STATUS_OK);
}

static int lose_after_failure(void)
{
	return lose(STATUS_PEER);
}

static void says_that_output_was_lost(void **state)
{
	(void)state;
	run(lose_after_success, "/dev/full");
	assert_int_equal(printed.status, STATUS_FAILED);
	assert_non_null(strstr(printed.error, "prog: standard output was lost"));
	/* What failed before is worth more. */
	run(lose_after_failure, "/dev/full");
	assert_int_equal(printed.status, STATUS_PEER);
}

static int print_nothing(void)
{
	return (int)output_finish(&quiet, STATUS_OK);
}

static void loses_nothing_when_quiet(void **state)
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

static void keeps_the_lines_of_threads_apart(void **state)
{
	(void)state;
	run(print_from_threads, NULL);
	assert_int_equal(printed.status, STATUS_OK);
	assert_only(printed.out, "a line of output");
	assert_only(printed.error, "prog: a detail");
}

/* A terminal of that many columns, that passes on what it is given. Returns the other end. */
static int open_terminal(unsigned short columns, int *other)
{
	const struct winsize window = {.ws_row = 24, .ws_col = columns};
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct termios settings;

	assert_true(master >= 0 && !grantpt(master) && !unlockpt(master));
	*other = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(*other >= 0 && !tcgetattr(*other, &settings));
	cfmakeraw(&settings);
	assert_int_equal(tcsetattr(*other, TCSANOW, &settings), 0);
	assert_int_equal(ioctl(*other, TIOCSWINSZ, &window), 0);
	return master;
}

/* Runs body with a terminal as its standard error, and as its standard output or that discarded. */
static void run_on_terminal(int (*body)(void), bool both, unsigned short columns)
{
	int terminal, master = open_terminal(columns, &terminal);
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t got;
	pid_t child;

	assert_true(nowhere >= 0);
	child = begin(both ? terminal : nowhere, terminal);
	if (child == 0)
		_exit(body());
	close(nowhere);
	close(terminal);
	/* EIO: nobody has the terminal open any more. */
	while ((got = read(master, printed.error + size, sizeof(printed.error) - 1 - size)) > 0)
		size += (size_t)got;
	assert_true(got < 0 && errno == EIO);
	printed.error[size] = '\0';
	close(master);
	end(child);
}

/* Shows it and waits until it is seen. */
static void show(const struct output *output, const char *line)
{
	output_progress(output, line);
	assert_true(output_drain());
}

static int show_progress(void)
{
	show(&verbose, "1 of 4");
	show(&verbose, "2 of\n4");
	output_line(&verbose, "line");
	output_line(&verbose, "line");
	show(&verbose, "3 of 4");
	output_detail(&verbose, "detail");
	output_error(&verbose, "error");
	show(&verbose, "4 of 4");
	show(&verbose, NULL);
	show(&verbose, NULL);
	show(&verbose, "once more");
	output_document("{}");
	show(&quiet, "the end");
	return (int)output_finish(&verbose, STATUS_OK);
}

static void shows_progress_in_place_on_a_terminal(void **state)
{
	(void)state;
	run_on_terminal(show_progress, true, 80);
	assert_int_equal(printed.status, STATUS_OK);
	assert_string_equal(printed.error,
		"1 of 4" ERASE "2 of?4" ERASE "line\nline\n3 of 4" ERASE
		"prog: detail\nprog: error\n4 of 4" ERASE "once more" ERASE "{}\nthe end" ERASE);
	/* What does not go to the terminal disturbs nothing there. */
	run_on_terminal(show_progress, false, 80);
	assert_string_equal(printed.error,
		"1 of 4" ERASE "2 of?4" ERASE "3 of 4" ERASE
		"prog: detail\nprog: error\n4 of 4" ERASE "once more" ERASE "the end" ERASE);
}

static void shows_progress_as_lines_elsewhere(void **state)
{
	(void)state;
	run(show_progress, NULL);
	assert_int_equal(printed.status, STATUS_OK);
	assert_string_equal(printed.out, "line\nline\n{}\n");
	assert_string_equal(printed.error,
		"prog: 1 of 4\nprog: 2 of?4\nprog: 3 of 4\nprog: detail\nprog: error\n"
		"prog: 4 of 4\nprog: once more\nprog: the end\n");
}

static int show_long_progress(void)
{
	char line[1000];

	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\0';
	show(&plain, line);
	return 0;
}

/* A second line could not be erased. */
static void keeps_progress_within_one_line(void **state)
{
	static const struct {
		unsigned short columns;
		size_t shown;
	} cases[] = {{40, 39}, {80, 79}, {0, 79}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		run_on_terminal(show_long_progress, true, cases[i].columns);
		assert_int_equal(strlen(printed.error), cases[i].shown);
	}
}

/* Makes a full pipe of standard error or output. Returns the end to read from. */
static int fill(int descriptor)
{
	char bytes[4096];
	int ends[2];

	memset(bytes, 'x', sizeof(bytes));
	assert_false(pipe(ends));
	assert_true(dup2(ends[1], descriptor) == descriptor);
	assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	while (write(ends[1], bytes, sizeof(bytes)) > 0)
		;
	assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
	close(ends[1]);
	return ends[0];
}

/* Empties the pipe until the text came so often. Returns 0 if it did, after only what filled it. */
static int read_after_filling(int pipe, const char *text, unsigned int times)
{
	char bytes[4096];
	size_t met = 0;

	while (met < times * strlen(text)) {
		ssize_t got = read(pipe, bytes, sizeof(bytes));

		if (got < 0)
			usleep(1000); /* EAGAIN */
		for (ssize_t i = 0; i < got; i++)
			if (bytes[i] == text[met % strlen(text)])
				met++;
			else if (bytes[i] != 'x' || met > 0)
				return 1;
	}
	return 0;
}

/* Returns 0 if of the progress only the newest waits. */
static int show_progress_to_nobody(void)
{
	int pipe = fill(STDERR_FILENO);

	for (unsigned int i = 0; i < 3; i++)
		output_progress(&plain, "1 of 2");
	output_progress(&plain, "2 of 2");
	output_error(&plain, "error");
	return read_after_filling(pipe, "prog: 2 of 2\nprog: error\n", 1);
}

static void keeps_the_newest_progress_for_a_reader_that_pauses(void **state)
{
	(void)state;
	run(show_progress_to_nobody, NULL);
	assert_int_equal(printed.status, 0);
}

/* Returns 0 if lines that nobody reads hold nobody up, and come when they are read. */
static int print_to_a_reader_that_pauses(void)
{
	int pipe = fill(STDOUT_FILENO);

	for (unsigned int i = 0; i < LINES; i++)
		output_line(&plain, "one of very many lines");
	/* Errors have their own way. */
	output_error(&plain, "error");
	if (read_after_filling(pipe, "one of very many lines\n", LINES))
		return 1;
	return (int)output_finish(&plain, STATUS_OK);
}

static void keeps_lines_for_a_reader_that_pauses(void **state)
{
	(void)state;
	run(print_to_a_reader_that_pauses, NULL);
	assert_int_equal(printed.status, STATUS_OK);
	assert_string_equal(printed.error, "prog: error\n");
}

/* More than is kept: nothing hangs, and it is told. */
static int print_to_nobody(void)
{
	fill(STDOUT_FILENO);
	for (unsigned int i = 0; i < 100; i++)
		output_line(&plain, "%0*d", MUCH, 0);
	return (int)output_finish(&plain, STATUS_OK);
}

static void gives_up_on_a_reader_that_stopped(void **state)
{
	(void)state;
	run(print_to_nobody, NULL);
	assert_int_equal(printed.status, STATUS_FAILED);
	assert_string_equal(
		printed.error, "prog: standard output was lost: it is closed or full\n");
}

static void *print_and_show(void *argument)
{
	(void)argument;
	for (unsigned int i = 0; i < LINES; i++) {
		output_progress(&verbose, "progress");
		output_line(&verbose, "a line");
		output_detail(&verbose, "a detail");
	}
	return NULL;
}

static int show_from_threads(void)
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, print_and_show, NULL))
			return 1;
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return (int)output_finish(&verbose, STATUS_OK);
}

/* Moves past the text if it is what comes next. */
static bool take(const char **rest, const char *text)
{
	if (strncmp(*rest, text, strlen(text)) != 0)
		return false;
	*rest += strlen(text);
	return true;
}

static void erases_progress_before_the_lines_of_any_thread(void **state)
{
	const char *rest = printed.error;
	unsigned int lines = 0;
	bool stands = false;

	(void)state;
	run_on_terminal(show_from_threads, true, 80);
	assert_int_equal(printed.status, STATUS_OK);
	while (*rest) {
		bool erased = take(&rest, ERASE);

		assert_true(erased || !stands);
		stands = take(&rest, "progress");
		if (stands || (erased && !*rest))
			continue;
		assert_true(take(&rest, "a line\n") || take(&rest, "prog: a detail\n"));
		lines++;
	}
	assert_int_equal(lines, 2 * THREADS * LINES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_what_was_asked_for),
		cmocka_unit_test(writes_each_line_at_once),
		cmocka_unit_test(has_room_for_the_longest_message),
		cmocka_unit_test(says_that_output_was_lost),
		cmocka_unit_test(loses_nothing_when_quiet),
		cmocka_unit_test(keeps_the_lines_of_threads_apart),
		cmocka_unit_test(shows_progress_in_place_on_a_terminal),
		cmocka_unit_test(shows_progress_as_lines_elsewhere),
		cmocka_unit_test(keeps_progress_within_one_line),
		cmocka_unit_test(keeps_the_newest_progress_for_a_reader_that_pauses),
		cmocka_unit_test(keeps_lines_for_a_reader_that_pauses),
		cmocka_unit_test(gives_up_on_a_reader_that_stopped),
		cmocka_unit_test(erases_progress_before_the_lines_of_any_thread),
	};

	return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
