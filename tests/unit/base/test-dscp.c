/* Code points: every number and name, and text that is neither. */
#include <stdio.h>

#include "base/dscp.h"
#include "tests/unit/unit.h"

static void numbers_stand_for_themselves(void **state)
{
	char text[8];

	(void)state;
	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "%d", i);
		assert_int_equal(dscp_parse(text), i < 64 ? i : -1);
	}
}

static void names_have_the_values_of_their_standards(void **state)
{
	static const struct {
		const char *name;
		int value;
	} cases[] = {
		{"CS0", 0},
		{"CS1", 8},
		{"cs7", 56},
		{"AF11", 10},
		{"AF13", 14},
		{"AF21", 18},
		{"AF31", 26},
		{"af43", 38},
		{"EF", 46},
		{"ef", 46},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(dscp_parse(cases[i].name), cases[i].value);
}

static void other_text_is_rejected(void **state)
{
	static const char *const cases[] = {"", " 1", "1 ", "-1", "+1", "0x1a", "026", "100", "CS",
		"CS8", "CS11", "AF", "AF1", "AF01", "AF10", "AF14", "AF51", "AF111", "E", "EFF",
		"1.5"};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		check_case(cases[i], dscp_parse(cases[i]) == -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_stand_for_themselves),
		cmocka_unit_test(names_have_the_values_of_their_standards),
		cmocka_unit_test(other_text_is_rejected),
	};

	return cmocka_run_group_tests_name("dscp", tests, NULL, NULL);
}
