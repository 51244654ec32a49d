/* Included by every unit test: cmocka, the headers that must precede it, and the results. */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka 2 takes a common name, and warns of this macro; its successor, of unsigned numbers. */
#undef stop
#ifdef assert_uint_in_range
#undef assert_in_range
#define assert_in_range(value, minimum, maximum) \
	_assert_uint_in_range((uintmax_t)(value), (uintmax_t)(minimum), (uintmax_t)(maximum), \
		__FILE__, __LINE__)
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Runs the tests as _cmocka_run_group_tests() does, and prints how many passed, failed and were
 * skipped: tests/unit/common/results.c. Returns 1 if one failed, or a function of the group;
 * otherwise 0.
 */
int unit_tests_run(const char *group, const struct CMUnitTest *tests, size_t count,
	CMFixtureFunction group_setup, CMFixtureFunction group_teardown);

/* Prints these results, of tests that unit_tests_run() did not report. */
void unit_tests_report(size_t passed, size_t failed, size_t skipped);

/* Ends the running test. */
void unit_test_skip(const char *file, int line);

#undef cmocka_run_group_tests
#undef cmocka_run_group_tests_name
#undef skip
#define cmocka_run_group_tests(tests, setup, teardown) \
	unit_tests_run(#tests, tests, COUNT(tests), setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown) \
	unit_tests_run(name, tests, COUNT(tests), setup, teardown)
#define skip() unit_test_skip(__FILE__, __LINE__)

/* Fails the test if the condition is false, naming the table entry and the condition. */
#define check_case(name, condition) \
	do { \
		if (!(condition)) \
			fail_msg("%s: %s is false", name, #condition); \
	} while (0)

#endif
