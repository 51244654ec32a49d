/* Counting the datagrams of a stream. */
#include "multicast/tally.h"
#include "tests/unit/unit.h"

static void assert_counts(const struct tally *tally, uint64_t received, uint64_t missing,
	uint64_t duplicated, uint64_t reordered)
{
	assert_int_equal(tally->received, received);
	assert_int_equal(tally_missing(tally), missing);
	assert_int_equal(tally->duplicated, duplicated);
	assert_int_equal(tally->reordered, reordered);
}

static void each_number_counts_once(void **state)
{
	static const uint64_t numbers[] = {0, 1, 3, 2, 3, 9, 8, 0, 9};
	struct tally tally;

	(void)state;
	assert_int_equal(tally_begin(&tally, 10), 0);
	assert_counts(&tally, 0, 10, 0, 0);
	for (size_t i = 0; i < COUNT(numbers); i++)
		tally_take(&tally, numbers[i]);
	assert_counts(&tally, 6, 4, 3, 2); /* 2 and 8 came late */
	assert_true(tally_take(&tally, 7));
	assert_false(tally_take(&tally, 7));
	tally_end(&tally);
}

/* Every size around those of a byte. */
static void streams_of_all_sizes_are_complete(void **state)
{
	(void)state;
	for (uint64_t count = 1; count < 40; count++) {
		struct tally tally;

		assert_int_equal(tally_begin(&tally, count), 0);
		for (uint64_t i = 0; i < count; i++)
			assert_true(tally_take(&tally, i));
		assert_counts(&tally, count, 0, 0, 0);
		tally_end(&tally);
	}
}

/* The end says how many were sent: at most the count, and not fewer than have arrived. */
static void the_end_says_how_many_were_sent(void **state)
{
	struct tally tally;

	(void)state;
	assert_int_equal(tally_begin(&tally, 100), 0);
	assert_int_equal(tally.first, 100);
	assert_true(tally_take(&tally, 30));
	assert_true(tally_take(&tally, 20));
	assert_int_equal(tally.first, 20);
	assert_false(tally_set_sent(&tally, 101));
	assert_false(tally_set_sent(&tally, 30));
	assert_counts(&tally, 2, 98, 0, 1);
	assert_true(tally_set_sent(&tally, 40));
	assert_counts(&tally, 2, 38, 0, 1);
	/* Neither those that were not sent nor impossible ones count. */
	assert_false(tally_take(&tally, 40));
	assert_false(tally_take(&tally, 100));
	assert_false(tally_take(&tally, UINT64_MAX));
	assert_counts(&tally, 2, 38, 0, 1);
	assert_true(tally_take(&tally, 39));
	assert_counts(&tally, 3, 37, 0, 1);
	tally_end(&tally);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_number_counts_once),
		cmocka_unit_test(streams_of_all_sizes_are_complete),
		cmocka_unit_test(the_end_says_how_many_were_sent),
	};

	return cmocka_run_group_tests_name("tally", tests, NULL, NULL);
}
