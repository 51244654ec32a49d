/* The header of a multicast datagram. */
#include <errno.h>
#include <string.h>

#include "protocol/datagram.h"
#include "tests/unit/unit.h"

static void headers_are_decoded(void **state)
{
	static const struct datagram cases[] = {
		{.stream = UINT64_MAX, .number = 0, .count = 1, .text = true},
		{.stream = 1, .number = 9, .count = 10},
		{.stream = 1, .number = 10, .count = 10, .end = true, .elapsed = UINT32_MAX},
		{.number = 1, .count = 10, .end = true, .elapsed = 1},
		{.number = 9, .count = 10, .end = true},
		{.number = DATAGRAM_COUNT_MAX - 1, .count = DATAGRAM_COUNT_MAX},
	};
	uint8_t bytes[DATAGRAM_HEADER];
	struct datagram decoded;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		datagram_encode(&cases[i], bytes);
		assert_int_equal(datagram_decode(&decoded, bytes, sizeof(bytes)), 0);
		assert_int_equal(decoded.stream, cases[i].stream);
		assert_int_equal(decoded.number, cases[i].number);
		assert_int_equal(decoded.count, cases[i].count);
		assert_int_equal(decoded.text, cases[i].text);
		assert_int_equal(decoded.end, cases[i].end);
		assert_int_equal(decoded.elapsed, cases[i].elapsed);
		for (size_t size = 0; size < sizeof(bytes); size++)
			assert_int_equal(datagram_decode(&decoded, bytes, size), -EPROTO);
		bytes[i] ^= 1;
		assert_int_equal(datagram_decode(&decoded, bytes, sizeof(bytes)), -EPROTO);
	}
}

static void impossible_numbers_are_rejected(void **state)
{
	static const struct datagram cases[] = {
		{.count = 0},
		{.count = DATAGRAM_COUNT_MAX + 1},
		{.number = 10, .count = 10},
		{.number = 11, .count = 10, .end = true},
		{.number = 0, .count = 10, .end = true},
		{.number = UINT64_MAX, .count = 10, .end = true},
		{.number = UINT64_MAX, .count = 10},
	};
	uint8_t bytes[DATAGRAM_HEADER];
	struct datagram decoded;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		datagram_encode(&cases[i], bytes);
		assert_int_equal(datagram_decode(&decoded, bytes, sizeof(bytes)), -EPROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_are_decoded),
		cmocka_unit_test(impossible_numbers_are_rejected),
	};

	return cmocka_run_group_tests_name("datagram", tests, NULL, NULL);
}
