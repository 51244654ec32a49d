/* The shares of time that a source or sink spends on each part. */
#include "stream/pace.h"
#include "tests/unit/unit.h"

static void shares_add_up(void **state)
{
	struct pace pace = {0};
	char text[PACE_TEXT];

	(void)state;
	assert_int_equal(pace_text(text, &pace), -1);
	pace.spent[PACE_FILE] = 600;
	pace.spent[PACE_DIGEST] = 300;
	pace.spent[PACE_LINK] = 100;
	assert_int_equal(pace_text(text, &pace), 0);
	assert_string_equal(text, "file 60 %, digest 30 %, waiting for the link 10 %");
	pace.spent[PACE_FILE] = pace.spent[PACE_DIGEST] = 995;
	pace.spent[PACE_LINK] = 0;
	assert_int_equal(pace_text(text, &pace), 0);
	assert_string_equal(text, "file 50 %, digest 50 %, waiting for the link 0 %");
}

static void time_is_added(void **state)
{
	struct pace pace = {0};
	uint64_t start = pace_now(), end;

	(void)state;
	end = pace_add(&pace, PACE_LINK, start);
	assert_true(end >= start);
	assert_int_equal(pace.spent[PACE_LINK], end - start);
	assert_int_equal(pace.spent[PACE_FILE], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_add_up),
		cmocka_unit_test(time_is_added),
	};

	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
