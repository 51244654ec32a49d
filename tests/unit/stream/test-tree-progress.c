/* Tests what is known of a tree stream while it moves. */
#include <string.h>

#include "stream/tree-progress.h"
#include "tests/unit/unit.h"

static void counts_files(void **state)
{
	struct tree_progress progress = TREE_PROGRESS_INITIAL;
	struct tree_state now = tree_progress_state(&progress);

	(void)state;
	assert_int_equal(now.total + now.files + now.file + now.bytes + strlen(now.name), 0);
	tree_progress_plan(&progress, 1000, 2);
	tree_progress_count(&progress, "tree/file", 900);
	tree_progress_count(&progress, "tree/link", 0);
	now = tree_progress_state(&progress);
	assert_int_equal(now.total, 1000);
	assert_int_equal(now.files, 2);
	assert_int_equal(now.file, 2);
	assert_int_equal(now.bytes, 900);
	assert_string_equal(now.name, "tree/link");
}

static void keeps_the_end_of_a_long_path(void **state)
{
	struct tree_progress progress = TREE_PROGRESS_INITIAL;
	char path[1000];

	(void)state;
	memset(path, 'x', sizeof(path));
	strcpy(path + sizeof(path) - sizeof("/end"), "/end");
	tree_progress_count(&progress, path, 1);
	assert_string_equal(
		tree_progress_state(&progress).name, path + strlen(path) - PROGRESS_NAME_SIZE + 1);
}

static void needs_no_one_who_asks(void **state)
{
	(void)state;
	tree_progress_plan(NULL, 1, 1);
	tree_progress_count(NULL, "file", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_files),
		cmocka_unit_test(keeps_the_end_of_a_long_path),
		cmocka_unit_test(needs_no_one_who_asks),
	};

	return cmocka_run_group_tests_name("tree-progress", tests, NULL, NULL);
}
