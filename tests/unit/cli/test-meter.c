/* Tests when the progress meter prints what. Standard error is a file here. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/meter.h"
#include "tests/unit/unit.h"

#define MB UINT64_C(1000000)

static const struct output output = {.program = "prog"};

/*
 * Shows each state, before the one with this number the note about what was there, and returns what
 * was printed to standard error.
 */
static const char *shown(
	struct meter *meter, const struct progress_state states[], size_t count, int noted)
{
	static char text[4096];
	int saved = dup(STDERR_FILENO);
	FILE *file = tmpfile();
	size_t size;

	assert_true(file && saved >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
	for (size_t i = 0; i < count; i++) {
		if ((int)i == noted)
			meter_note_resumed(meter, &output, &states[i], &states[i]);
		meter_show(meter, &output, &states[i]);
		assert_true(output_drain());
	}
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	rewind(file);
	size = fread(text, 1, sizeof(text) - 1, file);
	text[size] = '\0';
	fclose(file);
	return text;
}

/* Nothing of it goes to a file or pipe, unless --progress asks for it. */
static void is_wanted_for_a_file_only_with_the_option(void **state)
{
	static const struct {
		enum progress_wanted progress;
		bool quiet, wanted;
	} cases[] = {
		{PROGRESS_AUTO, false, false},
		{PROGRESS_ALWAYS, false, true},
		{PROGRESS_ALWAYS, true, true},
		{PROGRESS_NEVER, false, false},
	};
	int saved = dup(STDERR_FILENO), file = open("/dev/null", O_WRONLY);

	(void)state;
	assert_true(saved >= 0 && file >= 0 && dup2(file, STDERR_FILENO) >= 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct options options = {
			.progress = cases[i].progress, .quiet = cases[i].quiet};
		struct meter meter;

		meter_init(&meter, &options);
		assert_int_equal(meter_next(&meter, true) >= 0, cases[i].wanted);
		assert_int_equal(meter_next(&meter, false), -1);
	}
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	close(file);
}

/* While both sides compare what is there, no rate is shown; then, what was there is said. */
static void says_what_was_already_there(void **state)
{
	const struct progress_state states[] = {
		{.total = 200 * MB, .checking = true},
		{.total = 200 * MB, .checking = true},
		{.there = 120 * MB, .began = deadline_now() + 3600000, .total = 200 * MB},
		{.there = 120 * MB, .began = deadline_now() + 3600000, .total = 200 * MB},
	};
	static const char checking[] = "prog: checking what is already there\n";
	static const char line[] = "prog: 60 %  120.0 MB of 200.0 MB  --  -- left\n";
	static const char note[] = "prog: resuming at 60 %: 120.0 MB of 200.0 MB already there\n";
	const struct options options = {.progress = PROGRESS_ALWAYS};
	char expected[4096];
	struct meter meter;

	(void)state;
	meter_init(&meter, &options);
	for (unsigned int i = 0; i < 2; i++) {
		const char *text;

		assert_true(meter_next(&meter, true) >= 0);
		/* The next line is always half a second later, so that the rate is known. */
		text = shown(&meter, states, 3, 2);
		snprintf(expected, sizeof(expected), "%s%s%s%s", checking, checking, note, line);
		assert_string_equal(text, expected);
		assert_null(strstr(shown(&meter, states + 3, 1, -1), "resuming"));
		assert_int_equal(meter_next(&meter, false), -1);
	}
}

/* The rate is that since the check, at once; that of a server's other clients stays known. */
static void the_rate_is_that_of_what_moves(void **state)
{
	struct progress_state first = {.moved = 2 * MB, .there = MB, .total = 9 * MB};
	const struct progress_state second = {
		.there = 2 * MB, .total = 4 * MB, .peer = "192.0.2.8:4711"};
	const struct progress_state both = {.moved = 2 * MB, .there = 3 * MB, .total = 13 * MB};
	const struct options options = {.progress = PROGRESS_ALWAYS};
	struct meter meter;
	int64_t start;

	(void)state;
	meter_init(&meter, &options);
	assert_true(meter_next(&meter, true) >= 0);
	meter.progress.start_ms -= 5000;
	start = first.began = deadline_now() - 1000;
	assert_non_null(strstr(shown(&meter, &first, 1, 0), " left\n"));
	assert_int_equal(meter.progress.start_ms, start);
	assert_null(strstr(shown(&meter, &first, 1, -1), "--"));
	meter_note_resumed(&meter, &output, &second, &both);
	assert_int_equal(meter.progress.start_ms, start);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_wanted_for_a_file_only_with_the_option),
		cmocka_unit_test(says_what_was_already_there),
		cmocka_unit_test(the_rate_is_that_of_what_moves),
	};

	return cmocka_run_group_tests_name("meter", tests, NULL, NULL);
}
