/* Tests parsing of sizes and formatting of amounts, rates and durations. */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "tests/unit/unit.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

static void parses_every_unit(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = {
		{"0", 0},
		{"1", 1},
		{"65536", 65536},
		{"007", 7},
		{"0K", 0},
		{"64K", 64 * KIB},
		{"64k", 64 * KIB},
		{"64KiB", 64 * KIB},
		{"64KB", 64000},
		{"64kB", 64000},
		{"1M", MIB},
		{"1m", MIB},
		{"1MiB", MIB},
		{"1MB", 1000000},
		{"2G", 2 * GIB},
		{"2g", 2 * GIB},
		{"2GiB", 2 * GIB},
		{"2GB", 2000000000},
		{"3T", 3072 * GIB},
		{"3t", 3072 * GIB},
		{"3TiB", 3072 * GIB},
		{"3TB", UINT64_C(3000000000000)},
		{"16777215T", (uint64_t)16777215 * 1024 * GIB},
		{"18446744073709551615", UINT64_MAX},
		{"17179869183G", 17179869183 * GIB},
		{"00000000000000000000000000001", 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t bytes = 42;

		check_case(cases[i].text, units_parse(cases[i].text, 0, UINT64_MAX, &bytes) == 0);
		check_case(cases[i].text, bytes == cases[i].bytes);
	}
}

static void rejects_malformed_sizes(void **state)
{
	static const char *const cases[] = {"", " ", "K", "KiB", "-1", "+1", " 1", "1 ", "1 K",
		"1K ", "1\n", "0x10", "1.5M", "1,5M", "1e6", "one", "1B", "1P", "1Ki", "1kiB",
		"1kib", "1Kib", "1kb", "1Mb", "1mB", "1gb", "1KK", "1KM", "1M1", "-1K",
		"99999999999999999999X"};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t bytes = 42;

		check_case(cases[i], units_parse(cases[i], 0, UINT64_MAX, &bytes) == -EINVAL);
		check_case(cases[i], bytes == 42);
	}
}

static void rejects_sizes_out_of_range(void **state)
{
	static const struct {
		const char *text;
		uint64_t minimum, maximum;
	} cases[] = {
		{"1023", KIB, MIB},
		{"1KB", KIB, MIB},
		{"0", 1, UINT64_MAX},
		{"1048577", KIB, MIB},
		{"2M", KIB, MIB},
		{"4G", 0, UINT32_MAX},
		{"18446744073709551616", 0, UINT64_MAX},
		{"18446744073709551620", 0, UINT64_MAX},
		{"99999999999999999999999", 0, UINT64_MAX},
		{"17179869184G", 0, UINT64_MAX},
		{"18014398509481985K", 0, UINT64_MAX},
		{"18446744073709551615K", 0, UINT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t bytes = 42;

		check_case(cases[i].text, units_parse(cases[i].text, cases[i].minimum,
						  cases[i].maximum, &bytes) == -ERANGE);
		check_case(cases[i].text, bytes == 42);
	}
}

static void accepts_both_limits_of_the_range(void **state)
{
	uint64_t bytes;

	(void)state;
	assert_int_equal(units_parse("1K", KIB, MIB, &bytes), 0);
	assert_int_equal(bytes, KIB);
	assert_int_equal(units_parse("1M", KIB, MIB, &bytes), 0);
	assert_int_equal(bytes, MIB);
	assert_int_equal(units_parse("7", 7, 7, &bytes), 0);
	assert_int_equal(bytes, 7);
}

static const struct amount {
	uint64_t bytes;
	const char *text;
} amounts[] = {
	{0, "0 B"},
	{1, "1 B"},
	{999, "999 B"},
	{1000, "1.0 kB"},
	{1024, "1.0 kB"},
	{1049, "1.0 kB"},
	{1050, "1.1 kB"},
	{1500, "1.5 kB"},
	{65536, "65.5 kB"},
	{999949, "999.9 kB"},
	{999950, "1.0 MB"},
	{1000000, "1.0 MB"},
	{4194304, "4.2 MB"},
	{83500000, "83.5 MB"},
	{209715200, "209.7 MB"},
	{999949999, "999.9 MB"},
	{999950000, "1.00 GB"},
	{1000000000, "1.00 GB"},
	{5368709120, "5.37 GB"},
	{999994999999, "999.99 GB"},
	{999995000000, "1.00 TB"},
	{1234000000000000, "1.23 PB"},
	{1000000000000000000, "1.00 EB"},
	{UINT64_MAX, "18.45 EB"},
};

static void formats_amounts_and_rates(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(amounts); i++) {
		char text[UNITS_TEXT], rate[UNITS_TEXT];

		assert_ptr_equal(units_format(text, amounts[i].bytes), text);
		assert_string_equal(text, amounts[i].text);
		assert_ptr_equal(units_format_rate(rate, amounts[i].bytes), rate);
		check_case(amounts[i].text, strncmp(rate, text, strlen(text)) == 0);
		assert_string_equal(rate + strlen(text), "/s");
	}
}

static void formats_counts(void **state)
{
	static const struct {
		uint64_t number;
		const char *text;
	} cases[] = {{0, "0"}, {999, "999"}, {1000, "1,000"}, {12345, "12,345"},
		{123456, "123,456"}, {1234567, "1,234,567"},
		{UINT64_MAX, "18,446,744,073,709,551,615"}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[UNITS_TEXT];

		assert_ptr_equal(units_format_count(text, cases[i].number), text);
		assert_string_equal(text, cases[i].text);
	}
}

static void formats_durations(void **state)
{
	static const struct {
		int64_t milliseconds;
		const char *text;
	} cases[] = {
		{INT64_MIN, "0 ms"},
		{-1, "0 ms"},
		{0, "0 ms"},
		{40, "40 ms"},
		{999, "999 ms"},
		{1000, "1.0 s"},
		{1049, "1.0 s"},
		{1050, "1.1 s"},
		{2500, "2.5 s"},
		{59949, "59.9 s"},
		{59950, "1:00"},
		{60000, "1:00"},
		{64999, "1:05"},
		{65000, "1:05"},
		{3599499, "59:59"},
		{3599500, "1:00:00"},
		{3600000, "1:00:00"},
		{11232000, "3:07:12"},
		{360000000, "100:00:00"},
		{INT64_MAX, "2562047788015:12:56"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[UNITS_TEXT];

		assert_ptr_equal(units_format_duration(text, cases[i].milliseconds), text);
		assert_string_equal(text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_every_unit),
		cmocka_unit_test(rejects_malformed_sizes),
		cmocka_unit_test(rejects_sizes_out_of_range),
		cmocka_unit_test(accepts_both_limits_of_the_range),
		cmocka_unit_test(formats_amounts_and_rates),
		cmocka_unit_test(formats_counts),
		cmocka_unit_test(formats_durations),
	};

	return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
