/* Memory between two guard pages: it is zeroed, and accessing either guard page faults. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/guard-pages.h"
#include "tests/unit/readable.h"
#include "tests/unit/unit.h"

static void buffer_is_zeroed_and_guarded_at_both_ends(void **state)
{
	static const size_t sizes[] = {1, 4095, 4096, 4097, 1000000};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	(void)state;
	assert_true(page > 0);
	for (size_t i = 0; i < COUNT(sizes); i++) {
		size_t pages = guard_pages_round(sizes[i]);
		uint8_t *start = guard_pages_map(sizes[i]);

		assert_non_null(start);
		assert_true(pages >= sizes[i] && pages < sizes[i] + page && pages % page == 0);
		assert_false(is_there(start - 1));
		assert_false(is_there(start + pages));
		for (size_t at = 0; at < pages; at++)
			assert_int_equal(start[at], 0);
		memset(start, 0xa5, pages);
		guard_pages_unmap(start, sizes[i]);
		assert_false(is_there(start));
	}
	guard_pages_unmap(NULL, 7);
}

static void reports_out_of_memory(void **state)
{
	(void)state;
	errno = 0;
	assert_null(guard_pages_map((size_t)1 << 50));
	assert_int_equal(errno, ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffer_is_zeroed_and_guarded_at_both_ends),
		cmocka_unit_test(reports_out_of_memory),
	};

	return cmocka_run_group_tests_name("guard-pages", tests, NULL, NULL);
}
