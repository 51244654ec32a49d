/* Patterns of paths: what rsync(1) would match. */
#include <string.h>

#include "base/path-pattern.h"
#include "tests/unit/unit.h"

static const struct {
	const char *pattern, *path;
	bool folder, matches;
} cases[] = {
	{"*.o", "photos/a.o", false, true},
	{"*.o", "a.o", false, true},
	{"*.o", "photos/a.o/b", false, false},
	{"*.o", "photos/a.oo", false, false},
	{"a", "photos/b/a", true, true},
	{"a", "photos/a/b", false, false},
	{"a*b", "photos/acb", false, true},
	{"a*b", "a/b", false, false},
	{"a**b", "photos/a/x/b", false, true},
	{"**", "photos/a", false, true},
	{"*", "photos/a", false, true},
	/* from the start, or from any component */
	{"/photos/a", "photos/a", false, true},
	{"/photos/a", "x/photos/a", false, false},
	{"/a", "photos/a", false, false},
	{"photos/a", "x/photos/a", false, true},
	{"hotos/a", "photos/a", false, false},
	{"**/a", "a", false, true},
	{"**/a", "x/y/a", false, true},
	{"x/**/a", "x/y/z/a", false, true},
	{"x/**", "x/y/z", false, true},
	{"x/**", "x", true, false},
	{"x/*/a", "x/y/z/a", false, false},
	/* only folders */
	{"cache/", "photos/cache", true, true},
	{"cache/", "photos/cache", false, false},
	{"cache/***", "photos/cache", true, true},
	{"/photos/", "photos", true, true},
	{"c*/", "photos/cache", true, true},
	/* one byte */
	{"a?c", "abc", false, true},
	{"a?c", "a/c", false, false},
	{"a?", "a", false, false},
	{"[a-c]1", "b1", false, true},
	{"[a-c]1", "d1", false, false},
	{"[!a-c]1", "d1", false, true},
	{"[^a-c]1", "b1", false, false},
	{"x[!a]y", "x/y", false, false},
	{"[]x]", "]", false, true},
	{"[[:digit:]]", "7", false, true},
	{"[[:digit:]]", "x", false, false},
	{"[a\\]]", "]", false, true},
	{"x[a]", "x", false, false},
	/* without a special meaning */
	{"\\*", "*", false, true},
	{"\\*", "a", false, false},
	{"a\\b", "ab", false, false},
	{"a\\b", "a\\b", false, true},
	{"a\\b?", "abc", false, true},
	{"\xff*", "\xff\xfe", false, true},
	{"a", "A", false, false},
	{"*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false, false},
};

static void the_meaning_is_that_of_rsync(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		check_case(cases[i].pattern, path_pattern_matches(cases[i].pattern, cases[i].path,
						     cases[i].folder) == cases[i].matches);
}

static void faults_are_named(void **state)
{
	char text[5000];

	(void)state;
	assert_null(path_pattern_required("*.o"));
	assert_null(path_pattern_required("[]]"));
	assert_null(path_pattern_required("[[:alpha:]]/"));
	assert_string_equal(path_pattern_required(""), "a pattern that matches something");
	assert_string_equal(path_pattern_required("/"), "a pattern that matches something");
	assert_string_equal(path_pattern_required("a[b"), "a pattern with a ] for each [");
	assert_string_equal(path_pattern_required("[]"), "a pattern with a ] for each [");
	assert_string_equal(path_pattern_required("[[:alpha:]"), "a pattern with a ] for each [");
	assert_string_equal(
		path_pattern_required("a*\\"), "a pattern without a backslash at its end");
	memset(text, 'a', sizeof(text));
	text[0] = '[';
	text[sizeof(text) - 1] = '\0';
	assert_string_equal(path_pattern_required(text), "a shorter pattern");
	strcpy(text + 300, "]");
	assert_string_equal(path_pattern_required(text), "a pattern with shorter sets");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_meaning_is_that_of_rsync),
		cmocka_unit_test(faults_are_named),
	};

	return cmocka_run_group_tests_name("path-pattern", tests, NULL, NULL);
}
