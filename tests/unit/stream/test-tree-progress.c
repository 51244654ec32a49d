/* Tests what is known of a tree stream while it moves. */
#include <stdio.h>
#include <string.h>

#include "stream/tree-progress.h"
#include "tests/unit/unit.h"

static void counts_files(void **state)
{
	struct tree_progress progress = TREE_PROGRESS_INITIAL;
	struct tree_state now = tree_progress_state(&progress, UINT64_MAX);

	(void)state;
	assert_int_equal(now.total + now.files + now.file + now.bytes + strlen(now.name), 0);
	tree_progress_plan(&progress, 1000, 2);
	tree_progress_count(&progress, "tree/file", 900, 20);
	tree_progress_count(&progress, "tree/link", 0, 940);
	now = tree_progress_state(&progress, UINT64_MAX);
	assert_int_equal(now.total, 1000);
	assert_int_equal(now.files, 2);
	assert_int_equal(now.file, 2);
	assert_int_equal(now.bytes, 900);
	assert_string_equal(now.name, "tree/link");
}

/*
 * Files that are read ahead have not moved. Only the oldest and the last of these are remembered.
 */
static void counts_only_what_has_moved(void **state)
{
	static const struct {
		uint64_t moved, file;
	} cases[] = {{0, 0}, {100, 0}, {101, 1}, {350, 3}, {700, 6}, {701, 7}, {1999, 7}, {2000, 7},
		{2001, 20}, {UINT64_MAX, 20}};
	struct tree_progress progress = TREE_PROGRESS_INITIAL;
	struct tree_state now;
	char name[20];

	(void)state;
	for (uint64_t i = 1; i <= 20; i++) {
		snprintf(name, sizeof(name), "file-%d", (int)i);
		tree_progress_count(&progress, name, 10, 100 * i);
	}
	for (size_t i = 0; i < COUNT(cases); i++) {
		now = tree_progress_state(&progress, cases[i].moved);
		assert_int_equal(now.file, cases[i].file);
		assert_int_equal(now.bytes, 10 * cases[i].file);
	}
	assert_string_equal(now.name, "file-20");
	tree_progress_count(&progress, "next", 10, 3000);
	assert_int_equal(tree_progress_state(&progress, 3000).file, 20);
	assert_int_equal(tree_progress_state(&progress, 3001).file, 21);
}

static void keeps_the_end_of_a_long_path(void **state)
{
	struct tree_progress progress = TREE_PROGRESS_INITIAL;
	char path[1000];

	(void)state;
	memset(path, 'x', sizeof(path));
	strcpy(path + sizeof(path) - sizeof("/end"), "/end");
	tree_progress_count(&progress, path, 1, 0);
	assert_string_equal(tree_progress_state(&progress, UINT64_MAX).name,
		path + strlen(path) - PROGRESS_NAME_SIZE + 1);
}

static void needs_no_one_who_asks(void **state)
{
	(void)state;
	tree_progress_plan(NULL, 1, 1);
	tree_progress_count(NULL, "file", 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_files),
		cmocka_unit_test(counts_only_what_has_moved),
		cmocka_unit_test(keeps_the_end_of_a_long_path),
		cmocka_unit_test(needs_no_one_who_asks),
	};

	return cmocka_run_group_tests_name("tree-progress", tests, NULL, NULL);
}
