/* The test pattern depends on seed and position. */
#include <string.h>

#include "protocol/test-pattern.h"
#include "tests/unit/unit.h"

#define SIZE 1000

static void accepts_its_own_data(void **state)
{
	uint8_t data[SIZE + 1];

	(void)state;
	for (size_t size = 0; size <= SIZE; size++) {
		data[size] = 0xaa;
		pattern_fill(data, size, size);
		assert_int_equal(pattern_check(data, size, size), size);
		/* Writes no byte past the requested size. */
		assert_int_equal(data[size], 0xaa);
	}
}

static void finds_each_wrong_byte(void **state)
{
	uint8_t data[SIZE];

	(void)state;
	pattern_fill(data, SIZE, 7);
	for (size_t at = 0; at < SIZE; at++) {
		data[at] ^= 1;
		assert_int_equal(pattern_check(data, SIZE, 7), at);
		data[at] ^= 1;
	}
}

/* Stale or misplaced data does not match: every 8-byte word differs. */
static void differs_by_seed_and_position(void **state)
{
	uint8_t data[SIZE], other[SIZE];

	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		pattern_fill(data, SIZE, seed);
		pattern_fill(other, SIZE, seed + 1);
		for (size_t at = 0; at + 8 <= SIZE; at += 8) {
			assert_memory_not_equal(data + at, other + at, 8);
			assert_memory_not_equal(data + at, data + (at + 8) % SIZE, 8);
		}
	}
}

/* The bytes are fixed: both ends may differ in byte order and version. */
static void is_the_same_on_every_platform(void **state)
{
	/*
	 * The first outputs of SplitMix64 seeded with 1234567, as its authors' program prints them.
	 */
	static const uint64_t expected[] = {
		6457827717110365317u, 3203168211198807973u, 9817491932198370423u};
	uint8_t data[24];

	(void)state;
	pattern_fill(data, sizeof(data), 1234567);
	for (size_t i = 0; i < sizeof(data); i++)
		assert_int_equal(data[i], (uint8_t)(expected[i / 8] >> i % 8 * 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepts_its_own_data),
		cmocka_unit_test(finds_each_wrong_byte),
		cmocka_unit_test(differs_by_seed_and_position),
		cmocka_unit_test(is_the_same_on_every_platform),
	};

	return cmocka_run_group_tests_name("test-pattern", tests, NULL, NULL);
}
