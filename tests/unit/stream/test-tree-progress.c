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

/* Files that are read ahead have not moved. */
static void counts_only_what_has_moved(void **state)
{
	struct tree_progress progress = TREE_PROGRESS_INITIAL;
	struct tree_state now;
	char name[20];

	(void)state;
	for (uint64_t i = 1; i <= TREE_MARKS; i++) {
		snprintf(name, sizeof(name), "file-%d", (int)i);
		tree_progress_count(&progress, name, 10, 100 * i);
	}
	for (uint64_t moved = 0; moved <= UINT64_C(100) * (TREE_MARKS + 1); moved += 50) {
		uint64_t file = moved < 101 ? 0 : (moved - 1) / 100;

		now = tree_progress_state(&progress, moved);
		assert_int_equal(now.file, file);
		assert_int_equal(now.bytes, 10 * file);
	}
	assert_string_equal(now.name, "file-32");
	tree_progress_count(&progress, "next", 10, 4000);
	assert_int_equal(tree_progress_state(&progress, 4000).file, TREE_MARKS);
	assert_int_equal(tree_progress_state(&progress, 4001).file, TREE_MARKS + 1);
}

/* Of 1,000 small files that are read ahead, the one that moves is known well enough. */
static void counts_many_files_that_are_read_ahead(void **state)
{
	struct tree_progress progress = TREE_PROGRESS_INITIAL;
	struct tree_state now = {0};

	(void)state;
	for (uint64_t i = 1; i <= 1000; i++)
		tree_progress_count(&progress, "file", 10, 100 * i);
	for (uint64_t file = 1; file <= 1000; file++) {
		uint64_t before = now.file;

		now = tree_progress_state(&progress, 100 * file + 1);
		assert_in_range(now.file, before, file);
		assert_in_range(file - now.file, 0, 63);
		assert_int_equal(now.bytes, 10 * now.file);
	}
	assert_int_equal(now.file, 1000);
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
		cmocka_unit_test(counts_many_files_that_are_read_ahead),
		cmocka_unit_test(keeps_the_end_of_a_long_path),
		cmocka_unit_test(needs_no_one_who_asks),
	};

	return cmocka_run_group_tests_name("tree-progress", tests, NULL, NULL);
}
