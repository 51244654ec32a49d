/* The modes by name and by their numbers on the wire. */
#include "protocol/mode.h"
#include "tests/unit/unit.h"

static void finds_each_mode_by_number_and_name(void **state)
{
	(void)state;
	for (unsigned int number = 0; number < MODE_COUNT; number++) {
		const struct mode *mode = mode_by_number(number);

		assert_non_null(mode);
		assert_int_equal(mode->number, number);
		assert_ptr_equal(mode_by_name(mode->name), mode);
	}
	assert_string_equal(mode_by_number(0)->name, "write");
	assert_string_equal(mode_by_number(0)->doing, "writing message to");
	assert_false(mode_by_number(0)->reads);
	assert_string_equal(mode_by_number(1)->name, "read");
	assert_true(mode_by_number(1)->reads);
	assert_string_equal(mode_by_number(1)->doing, "reading message from");
}

static void rejects_unknown_modes(void **state)
{
	static const char *const names[] = {"", "any", "WRITE", "writ", "writes", "read "};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++)
		assert_null(mode_by_name(names[i]));
	assert_null(mode_by_number(MODE_COUNT));
	assert_null(mode_by_number(255));
	assert_null(mode_by_number(UINT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_each_mode_by_number_and_name),
		cmocka_unit_test(rejects_unknown_modes),
	};

	return cmocka_run_group_tests_name("mode", tests, NULL, NULL);
}
