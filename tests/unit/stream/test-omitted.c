/* Lists of the entries that a tree's stream leaves out. */
#include <stdio.h>

#include "stream/omitted.h"
#include "tests/unit/unit.h"

static void the_first_entries_are_named_and_all_counted(void **state)
{
	struct omitted omitted;
	char line[32];

	(void)state;
	omitted_start(&omitted);
	assert_int_equal(omitted_count(&omitted), 0);
	assert_null(omitted_line(&omitted, 0));
	for (unsigned int i = 0; i < OMITTED_SHOWN + 5; i++) {
		snprintf(line, sizeof(line), "skipped a/%u", i);
		omitted_add(&omitted, line);
	}
	assert_int_equal(omitted_count(&omitted), OMITTED_SHOWN + 5);
	assert_string_equal(omitted_line(&omitted, 0), "skipped a/0");
	snprintf(line, sizeof(line), "skipped a/%d", OMITTED_SHOWN - 1);
	assert_string_equal(omitted_line(&omitted, OMITTED_SHOWN - 1), line);
	assert_null(omitted_line(&omitted, OMITTED_SHOWN));
	assert_null(omitted_line(&omitted, UINT64_MAX));
	omitted_end(&omitted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_entries_are_named_and_all_counted),
	};

	return cmocka_run_group_tests_name("omitted", tests, NULL, NULL);
}
