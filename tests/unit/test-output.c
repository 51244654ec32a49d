/*
 * The lines that the programs print. Each test prints in a process of its own, whose standard
 * output and error are files that are looked at afterwards.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/output.h"
#include "unit.h"

#define THREADS 4
#define LINES   500

/* What a process printed, and its exit status. */
static struct printed {
	char out[65536], error[65536];
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

/* Runs body in a process of its own; where is the path of its standard output, NULL for a file. */
static void run(int (*body)(void), const char *where)
{
	FILE *out = where ? fopen(where, "r+") : tmpfile();
	FILE *error = tmpfile();
	int status;
	pid_t child;

	assert_true(out && error);
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(fileno(out), STDOUT_FILENO);
		dup2(fileno(error), STDERR_FILENO);
		output_start();
		_exit(body());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	printed.status = WEXITSTATUS(status);
	if (where)
		fclose(out);
	else
		read_back(out, printed.out);
	read_back(error, printed.error);
}

static const struct output plain = {.program = "prog"};
static const struct output quiet = {.program = "prog", .quiet = true};
static const struct output verbose = {.program = "prog", .verbose = true};

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

static void prints_what_was_asked_for(void **state)
{
	static const struct {
		int (*body)(void);
		const char *out, *error;
	} cases[] = {
		{print_plain, "line 1\n", "prog: error 3\n"},
		{print_quiet, "", "prog: error 3\n"},
		{print_verbose, "line 1\n", "prog: detail 2\nprog: error 3\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		run(cases[i].body, NULL);
		assert_int_equal(printed.status, STATUS_OK);
		assert_string_equal(printed.out, cases[i].out);
		assert_string_equal(printed.error, cases[i].error);
	}
}

/* Returns 0 if each line is in the file as soon as it was printed. */
static int print_and_look(void)
{
	struct stat status;

	output_line(&plain, "12345");
	if (fstat(STDOUT_FILENO, &status) || status.st_size != 6)
		return 1;
	output_error(&plain, "12345");
	if (fstat(STDERR_FILENO, &status) || status.st_size != 12)
		return 2;
	return 0;
}

static void flushes_each_line(void **state)
{
	(void)state;
	run(print_and_look, NULL);
	assert_int_equal(printed.status, 0);
}

static int print_much(void)
{
	output_line(&plain, "%0*d", 20000, 0);
	return 0;
}

/* The longest line of the exchange is a message of which every byte is escaped. */
static void has_room_for_the_longest_message(void **state)
{
	(void)state;
	run(print_much, NULL);
	assert_int_equal(printed.out[strlen(printed.out) - 1], '\n');
	assert_true(strlen(printed.out) > strlen("remote buffer: ") + 4UL * 1024);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_what_was_asked_for),
		cmocka_unit_test(flushes_each_line),
		cmocka_unit_test(has_room_for_the_longest_message),
		cmocka_unit_test(says_that_output_was_lost),
		cmocka_unit_test(loses_nothing_when_quiet),
		cmocka_unit_test(keeps_the_lines_of_threads_apart),
	};

	return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
