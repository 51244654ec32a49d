/*
 * Counts the results of a unit test and prints them as one line, which `make check` adds up. They
 * follow from what cmocka returns, not from its output, whose wording differs between its versions.
 */
#include <stdbool.h>
#include <stdio.h>

#include "tests/unit/unit.h"

static CMFixtureFunction wrapped_setup;
static bool is_set_up;
static size_t skipped;

static int set_up(void **state)
{
	int result = wrapped_setup != NULL ? wrapped_setup(state) : 0;

	is_set_up = result == 0;
	return result;
}

int unit_tests_run(const char *group, const struct CMUnitTest *tests, size_t count,
	CMFixtureFunction group_setup, CMFixtureFunction group_teardown)
{
	size_t failed, run;
	int result;

	wrapped_setup = group_setup;
	is_set_up = false;
	skipped = 0;
	result = _cmocka_run_group_tests(group, tests, count, set_up, group_teardown);
	failed = result < 0 ? count : (size_t)result;
	run = is_set_up ? count - skipped : 0;
	unit_tests_report(run > failed ? run - failed : 0, failed, skipped);
	return failed != 0;
}

void unit_tests_report(size_t passed, size_t failed, size_t tests_skipped)
{
	fflush(stderr);
	printf("results: %zu passed, %zu failed, %zu skipped\n", passed, failed, tests_skipped);
	fflush(stdout);
}

void unit_test_skip(const char *file, int line)
{
	skipped++;
	_skip(file, line);
}
