/* A set of files: what is found again, what it costs, and when there is no memory. */
#include <stdalign.h>
#include <stddef.h>

#include "host/memory-budget.h"
#include "stream/file-set.h"
#include "tests/unit/unit.h"

static uint64_t memory_used(void)
{
	struct memory_budget budget;

	memory_budget_read(&budget);
	return budget.used;
}

static void files_are_found_by_device_and_inode(void **state)
{
	struct file_set set = {0};
	unsigned int *bytes;

	(void)state;
	for (unsigned int i = 0; i < 3000; i++) {
		assert_null(file_set_find(&set, i % 10, i / 10));
		bytes = file_set_add(&set, i % 10, i / 10, sizeof(*bytes));
		assert_int_equal((uintptr_t)bytes % alignof(max_align_t), 0);
		assert_int_equal(*bytes, 0);
		*bytes = i;
	}
	for (unsigned int i = 0; i < 3000; i++) {
		bytes = file_set_find(&set, i % 10, i / 10);
		assert_non_null(bytes);
		assert_int_equal(*bytes, i);
	}
	assert_null(file_set_find(&set, 10, 0));
	assert_null(file_set_find(&set, 0, 300));
	assert_int_equal(memory_used(), set.taken);
	file_set_clear(&set);
	assert_int_equal(memory_used(), 0);
	assert_null(file_set_find(&set, 0, 0));
}

static void memory_is_limited(void **state)
{
	struct file_set set = {0};
	ino_t number = 0;

	(void)state;
	memory_budget_start(1 << 20);
	while (file_set_add(&set, 1, number, 1000))
		number++;
	assert_in_range(number, 500, 1048);
	assert_null(file_set_find(&set, 1, number));
	file_set_clear(&set);
	assert_int_equal(memory_used(), 0);
	memory_budget_start(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_found_by_device_and_inode),
		cmocka_unit_test(memory_is_limited),
	};

	return cmocka_run_group_tests_name("file-set", tests, NULL, NULL);
}
