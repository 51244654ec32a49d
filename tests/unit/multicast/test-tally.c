/* Counting the datagrams of a stream. */
#include "multicast/tally.h"
#include "tests/unit/unit.h"

static void assert_counts(const struct tally *tally, uint64_t received, uint64_t lost,
	uint64_t duplicated, uint64_t reordered)
{
	assert_int_equal(tally->received, received);
	assert_int_equal(tally_lost(tally), lost);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_number_counts_once),
		cmocka_unit_test(streams_of_all_sizes_are_complete),
	};

	return cmocka_run_group_tests_name("tally", tests, NULL, NULL);
}
