/* Tests the progress line, which is the last line on a terminal. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "tests/unit/base/output-fixture.h"
#include "tests/unit/unit.h"

/* Erases the progress line before other output on the terminal. */
#define ERASE "\r\033[K"

/* Around the name of the program in an error on the terminal. */
#define RED "\033[31m"
#define OFF "\033[m"

/* Shows a progress line and waits until it is written. */
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
		"1 of 4" ERASE "2 of?4" ERASE "line\nline\n3 of 4" ERASE "prog: detail\n" RED
		"prog:" OFF " error\n4 of 4" ERASE "once more" ERASE "{}\nthe end" ERASE);
	/* Output that does not go to the terminal does not erase the progress line. */
	run_on_terminal(show_progress, false, 80);
	assert_string_equal(printed.error,
		"1 of 4" ERASE "2 of?4" ERASE "3 of 4" ERASE "prog: detail\n" RED "prog:" OFF
		" error\n4 of 4" ERASE "once more" ERASE "the end" ERASE);
}

static void prints_progress_as_lines_without_a_terminal(void **state)
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

/* ERASE clears one line only, so a wrapped progress line could not be erased. */
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

static int show_wide_progress(void)
{
	show(&plain, "[██▌ ] 1234567890123456789012345678901234567890");
	output_progress_note(&plain, "a note that is much wider");
	show(&plain, "[███ ] 60 %");
	return (int)output_finish(&plain, STATUS_OK);
}

/*
 * A character of several bytes takes one column; a note stays above the progress, broken between
 * words.
 */
static void counts_characters_and_keeps_notes(void **state)
{
	(void)state;
	run_on_terminal(show_wide_progress, true, 20);
	assert_string_equal(printed.error,
		"[██▌ ] 123456789012" ERASE "a note that is much\n  wider\n[███ ] 60 %" ERASE);
	run(show_wide_progress, NULL);
	assert_string_equal(printed.error,
		"prog: [██▌ ] 1234567890123456789012345678901234567890\nprog: a note that is much wider\n"
		"prog: [███ ] 60 %\n");
}

/* Returns 0 if only the newest progress line is queued. */
static int show_progress_without_a_reader(void)
{
	int pipe = fill(STDERR_FILENO);

	for (unsigned int i = 0; i < 3; i++)
		output_progress(&plain, "1 of 2");
	output_progress(&plain, "2 of 2");
	output_error(&plain, "error");
	return read_after_filling(pipe, "prog: 2 of 2\nprog: error\n", 1);
}

static void keeps_the_newest_progress_for_a_paused_reader(void **state)
{
	(void)state;
	run(show_progress_without_a_reader, NULL);
	assert_int_equal(printed.status, 0);
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

/* Skips the text if *rest starts with it. */
static bool take(const char **rest, const char *text)
{
	if (strncmp(*rest, text, strlen(text)) != 0)
		return false;
	*rest += strlen(text);
	return true;
}

static void erases_progress_before_lines_from_any_thread(void **state)
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
		cmocka_unit_test(shows_progress_in_place_on_a_terminal),
		cmocka_unit_test(prints_progress_as_lines_without_a_terminal),
		cmocka_unit_test(keeps_progress_within_one_line),
		cmocka_unit_test(counts_characters_and_keeps_notes),
		cmocka_unit_test(keeps_the_newest_progress_for_a_paused_reader),
		cmocka_unit_test(erases_progress_before_lines_from_any_thread),
	};

	return cmocka_run_group_tests_name("output-progress", tests, NULL, NULL);
}
