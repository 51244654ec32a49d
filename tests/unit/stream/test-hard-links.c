/* Files with several names: which is the first one, and what that costs. */
#include <stdio.h>
#include <string.h>

#include "host/memory-budget.h"
#include "stream/hard-links.h"
#include "tests/unit/unit.h"

static uint64_t memory_used(void)
{
	struct memory_budget budget;

	memory_budget_read(&budget);
	return budget.used;
}

static void the_first_name_is_found(void **state)
{
	struct hard_links links = {0};
	char path[32];

	(void)state;
	for (unsigned int walk = 0; walk < 2; walk++) {
		for (unsigned int i = 0; i < 3000; i++) {
			snprintf(path, sizeof(path), "d/%u", i);
			/* 10 devices have files of the same numbers. */
			if (hard_links_find(&links, i % 10, i / 10, path))
				fail_msg("%s was not new", path);
		}
		for (unsigned int i = 0; i < 3000; i++) {
			snprintf(path, sizeof(path), "d/%u", i);
			assert_string_equal(hard_links_find(&links, i % 10, i / 10, "again"), path);
		}
		assert_int_equal(memory_used(), links.files.taken);
		assert_in_range(links.files.taken, 3000 * sizeof(path), 3000 * 128);
		hard_links_forget(&links);
		assert_int_equal(memory_used(), 0);
	}
}

/* What does not fit into the budget is a file of its own, each time. */
static void memory_is_limited(void **state)
{
	struct hard_links links = {0};
	char path[1024];
	ino_t number = 0;

	(void)state;
	memory_budget_start(1 << 20);
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	do
		assert_null(hard_links_find(&links, 1, ++number, path));
	while (hard_links_find(&links, 1, number, path));
	assert_in_range(number, 500, 1024);
	assert_null(hard_links_find(&links, 1, number, path));
	assert_non_null(hard_links_find(&links, 1, number - 1, path));
	hard_links_forget(&links);
	assert_int_equal(memory_used(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_name_is_found),
		cmocka_unit_test(memory_is_limited),
	};

	return cmocka_run_group_tests_name("hard-links", tests, NULL, NULL);
}
