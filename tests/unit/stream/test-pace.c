/* The shares of time that a source or sink spends on each part. */
#include "base/clock.h"
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

/* What was over before the block in front of it was done did not hold up the stream. */
static void only_the_first_block_counts(void **state)
{
	struct pace pace = {0};
	uint64_t start = clock_now_ns();

	(void)state;
	pace_start(&pace, 2, 4096);
	assert_in_range(pace.until, start, clock_now_ns());
	start = pace.until;
	pace_until(&pace, PACE_LINK, start + 10);
	pace_until(&pace, PACE_FILE, start + 100);
	pace_until(&pace, PACE_DIGEST, start + 110);
	/* the second one was read meanwhile, and digested afterwards */
	pace_until(&pace, PACE_LINK, start + 12);
	pace_until(&pace, PACE_FILE, start + 105);
	pace_until(&pace, PACE_DIGEST, start + 120);
	assert_int_equal(pace.spent[PACE_LINK], 10);
	assert_int_equal(pace.spent[PACE_FILE], 90);
	assert_int_equal(pace.spent[PACE_DIGEST], 20);
	assert_int_equal(pace.workers, 2);
	assert_int_equal(pace.block, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_add_up),
		cmocka_unit_test(only_the_first_block_counts),
	};

	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
