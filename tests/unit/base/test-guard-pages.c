/* Memory between two guard pages: it is zeroed, and accessing either guard page faults. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* Returns a field of the mapping's entry in /proc/self/smaps, in KiB; -1 if it is missing. */
static long smaps_field(const void *start, const char *field)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	char line[512], entry[32];
	bool inside = false;
	long size = -1;

	assert_non_null(maps);
	snprintf(entry, sizeof(entry), "%lx-", (unsigned long)(uintptr_t)start);
	while (size < 0 && fgets(line, sizeof(line), maps)) {
		inside |= strncmp(line, entry, strlen(entry)) == 0;
		if (inside && strncmp(line, field, strlen(field)) == 0)
			size = strtol(line + strlen(field) + 1, NULL, 10);
	}
	fclose(maps);
	return size;
}

/* The guard pages must not move: the device would write beyond the end of the mapping. */
static void large_mappings_are_aligned_to_huge_pages(void **state)
{
	static const size_t sizes[] = {
		2 * GUARD_PAGES_HUGE - 1, 2 * GUARD_PAGES_HUGE, 2 * GUARD_PAGES_HUGE + 1, 7000000};

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		size_t pages = guard_pages_round(sizes[i]);
		uint8_t *start = guard_pages_map(sizes[i]);

		assert_non_null(start);
		assert_int_equal(guard_pages_are_huge(sizes[i]), i > 0);
		if (i > 0)
			assert_int_equal((uintptr_t)start % GUARD_PAGES_HUGE, 0);
		assert_false(is_there(start - 1));
		assert_false(is_there(start + pages));
		memset(start, 0xa5, pages);
		guard_pages_unmap(start, sizes[i]);
		assert_false(is_there(start - 1));
		assert_false(is_there(start));
		assert_false(is_there(start + pages - 1));
	}
}

static void large_mappings_consist_of_huge_pages(void **state)
{
	size_t size = 2 * GUARD_PAGES_HUGE;
	char enabled[64] = "[never]";
	FILE *setting = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
	uint8_t *start;

	(void)state;
	if (setting) {
		assert_non_null(fgets(enabled, sizeof(enabled), setting));
		fclose(setting);
	}
	if (strstr(enabled, "[never]")) {
		print_message("skipped: transparent huge pages are disabled\n");
		skip();
	}
	/* Linux rejects advice that it does not know: madvise(2). */
	if (madvise(NULL, 0, -1) == 0) {
		print_message("skipped: madvise(2) is ignored here, as by qemu-user\n");
		skip();
	}
	start = guard_pages_map(size);
	assert_non_null(start);
	memset(start, 0xa5, size);
	if (smaps_field(start, "AnonHugePages:") == 0) {
		/* Asked for, but the kernel found no contiguous memory. */
		assert_int_equal(smaps_field(start, "THPeligible:"), 1);
		print_message("the kernel has no huge page to spare\n");
	}
	guard_pages_unmap(start, size);
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
		cmocka_unit_test(large_mappings_are_aligned_to_huge_pages),
		cmocka_unit_test(large_mappings_consist_of_huge_pages),
		cmocka_unit_test(reports_out_of_memory),
	};

	return cmocka_run_group_tests_name("guard-pages", tests, NULL, NULL);
}
