/* Tests progress lines: exact text for chosen input, and invariants for random input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "tests/unit/unit.h"

#define MB UINT64_C(1000000)
#define GB (1000 * MB)

/* Arbitrary: progress lines depend only on the time since the start. */
#define START_MS 123456789

static struct progress progress;
static char line[PROGRESS_COLUMNS_MAX + 1];

/* Returns the line at this time after the start. */
static const char *line_at(int64_t ms, uint64_t bytes, uint64_t total)
{
	/* Larger than the longest valid line, to detect overlong lines. */
	char text[200];

	progress_line(&progress, START_MS + ms, bytes, total, text, sizeof(text));
	assert_true(strlen(text) <= PROGRESS_COLUMNS_MAX);
	memcpy(line, text, strlen(text) + 1);
	return line;
}

static void start(void)
{
	progress_start(&progress, START_MS);
}

/* Formats a line every 250 ms until `ms`, at a constant rate in bytes per millisecond. */
static void run_steadily(int64_t ms, uint64_t rate, uint64_t total)
{
	for (int64_t now = 0; now < ms; now += 250)
		line_at(now, (uint64_t)now * rate, total);
}

static void shows_a_running_transfer(void **state)
{
	(void)state;
	start();
	run_steadily(15500, 80000, 5370 * MB);
	assert_string_equal(line_at(15500, 1240 * MB, 5370 * MB),
		"1.24 GB of 5.37 GB  23 %  80.0 MB/s now, 80.0 MB/s average, 0:52 left");
}

static void shows_elapsed_time_without_a_known_size(void **state)
{
	(void)state;
	start();
	run_steadily(15500, 80000, PROGRESS_UNKNOWN);
	assert_string_equal(line_at(15500, 1240 * MB, PROGRESS_UNKNOWN),
		"1.24 GB  80.0 MB/s now, 80.0 MB/s average, 0:15 so far");
	assert_string_equal(line_at(3723000, 1240 * MB, PROGRESS_UNKNOWN),
		"1.24 GB  0 B/s now, 333.1 kB/s average, 1:02:03 so far");
}

static void shows_no_rate_at_the_start(void **state)
{
	(void)state;
	start();
	assert_string_equal(line_at(0, 0, GB), "0 B of 1.00 GB  0 %  -- now, -- average, -- left");
	assert_string_equal(
		line_at(1, 8 * MB, GB), "8.0 MB of 1.00 GB  0 %  -- now, -- average, -- left");
	assert_string_equal(line_at(200, 20 * MB, GB),
		"20.0 MB of 1.00 GB  2 %  100.0 MB/s now, 100.0 MB/s average, 0:10 left");
}

static void shows_a_stall_and_its_end(void **state)
{
	(void)state;
	start();
	run_steadily(5000, 10000, 100 * MB);
	line_at(5000, 50 * MB, 100 * MB);
	/* The rate drops while the window still contains progress. */
	assert_string_equal(line_at(6250, 50 * MB, 100 * MB),
		"50.0 MB of 100.0 MB  50 %  5.0 MB/s now, 8.0 MB/s average, 0:10 left");
	for (int64_t now = 6500; now < 10000; now += 250)
		line_at(now, 50 * MB, 100 * MB);
	/* The rate is 0 once the window contains no progress. */
	assert_string_equal(line_at(10000, 50 * MB, 100 * MB),
		"50.0 MB of 100.0 MB  50 %  0 B/s now, 5.0 MB/s average, -- left");
	for (int64_t now = 0; now <= 2250; now += 250)
		line_at(10000 + now, 50 * MB + (uint64_t)now * 10000, 100 * MB);
	assert_string_equal(line_at(12500, 75 * MB, 100 * MB),
		"75.0 MB of 100.0 MB  75 %  10.0 MB/s now, 6.0 MB/s average, 0:03 left");
}

/* A file receives one line per minute, so the current rate covers that minute. */
static void shows_the_rate_since_the_previous_line_if_lines_are_rare(void **state)
{
	(void)state;
	start();
	line_at(60000, 600 * MB, 10 * GB);
	assert_string_equal(line_at(120000, 660 * MB, 10 * GB),
		"660.0 MB of 10.00 GB  6 %  1.0 MB/s now, 5.5 MB/s average, 2:35:40 left");
}

static void shows_the_rate_of_the_last_seconds_if_lines_are_frequent(void **state)
{
	(void)state;
	start();
	for (int64_t now = 0; now <= 10000; now++)
		line_at(now, (uint64_t)now * 1000, GB);
	for (int64_t now = 0; now < 3000; now++)
		line_at(10000 + now, 10 * MB + (uint64_t)now * 20000, GB);
	assert_string_equal(line_at(13000, 70 * MB, GB),
		"70.0 MB of 1.00 GB  7 %  20.0 MB/s now, 5.4 MB/s average, 0:47 left");
}

static void shows_100_percent_only_at_the_end(void **state)
{
	(void)state;
	start();
	run_steadily(10000, 100000, GB);
	assert_string_equal(line_at(10000, GB - 1, GB),
		"1.00 GB of 1.00 GB  99 %  100.0 MB/s now, 100.0 MB/s average, 0:01 left");
	assert_string_equal(line_at(10000, GB, GB),
		"1.00 GB of 1.00 GB  100 %  100.0 MB/s now, 100.0 MB/s average, 0:00 left");
	/* The file grew during the transfer. */
	assert_string_equal(line_at(10000, 2 * GB, GB),
		"2.00 GB of 1.00 GB  100 %  500.0 MB/s now, 200.0 MB/s average, 0:00 left");
	start();
	assert_string_equal(line_at(0, 0, 0), "0 B of 0 B  100 %  -- now, -- average, 0:00 left");
}

static void shows_no_remaining_time_beyond_its_range(void **state)
{
	(void)state;
	start();
	assert_string_equal(line_at(1000, 1, 359999),
		"1 B of 360.0 kB  0 %  1 B/s now, 1 B/s average, 99:59:58 left");
	start();
	assert_string_equal(line_at(1000, 1, 360001),
		"1 B of 360.0 kB  0 %  1 B/s now, 1 B/s average, -- left");
}

/* Lines longer than 79 columns are truncated; extreme rates are printed in full if they fit. */
static void stays_within_its_columns(void **state)
{
	(void)state;
	start();
	run_steadily(1000, UINT64_C(123456789012), UINT64_MAX - 1);
	assert_string_equal(line_at(1000, UINT64_C(123456789012345), UINT64_C(900000000000000000)),
		"123.46 TB of 900.00 PB  0 %  123.46 TB/s now, 123.46 TB/s average, 2:01:30 left");
	start();
	assert_string_equal(line_at(100, UINT64_MAX - 1, PROGRESS_UNKNOWN),
		"18.45 EB  18.45 EB/s now, 18.45 EB/s average, 0:00 so far");
	start();
	line_at(1000, UINT64_C(200000000000000000), UINT64_C(400000000000000000));
	assert_string_equal(
		line_at(11000, UINT64_C(200005650000000000), UINT64_C(400000000000000000)),
		"200.01 PB of 400.00 PB  50 %  565.00 GB/s now, 18.18 PB/s average, 98:19:33 lef");
}

static void tolerates_a_clock_and_a_count_that_go_backwards(void **state)
{
	(void)state;
	start();
	run_steadily(1000, 1000, GB);
	assert_string_equal(
		line_at(-5000, MB, PROGRESS_UNKNOWN), "1.0 MB  -- now, -- average, 0:00 so far");
	assert_string_equal(
		line_at(1000, 0, GB), "0 B of 1.00 GB  0 %  0 B/s now, 0 B/s average, -- left");
}

static uint64_t random_number(void)
{
	uint64_t number = (uint64_t)random() << 33 ^ (uint64_t)random() << 11 ^ (uint64_t)random();

	/* Spread evenly over all magnitudes. */
	return number >> random() % 64;
}

static void shows_plausible_values_only(void **state)
{
	(void)state;
	srandom(1);
	for (unsigned int i = 0; i < 100000; i++) {
		uint64_t bytes = random_number();
		uint64_t total = random() % 4 ? random_number() : PROGRESS_UNKNOWN;
		const char *sign;
		unsigned int percent;

		if (i % 50 == 0)
			start();
		line_at((int64_t)(random_number() >> 20), bytes, total);
		if (strstr(line, "nan") || strstr(line, "inf"))
			fail_msg("%s", line);
		for (sign = strchr(line, '-'); sign; sign = strchr(sign + 2, '-'))
			assert_int_equal(sign[1], '-');
		if (sscanf(line, "%*s %*s of %*s %*s %u %%", &percent) == 1)
			assert_in_range(percent, 0, 100);
		else
			assert_int_equal(total, PROGRESS_UNKNOWN);
	}
}

static void truncates_the_line_to_the_buffer(void **state)
{
	char text[8];

	(void)state;
	start();
	progress_line(&progress, START_MS, 0, GB, text, sizeof(text));
	assert_string_equal(text, "0 B of ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shows_a_running_transfer),
		cmocka_unit_test(shows_elapsed_time_without_a_known_size),
		cmocka_unit_test(shows_no_rate_at_the_start),
		cmocka_unit_test(shows_a_stall_and_its_end),
		cmocka_unit_test(shows_the_rate_since_the_previous_line_if_lines_are_rare),
		cmocka_unit_test(shows_the_rate_of_the_last_seconds_if_lines_are_frequent),
		cmocka_unit_test(shows_100_percent_only_at_the_end),
		cmocka_unit_test(shows_no_remaining_time_beyond_its_range),
		cmocka_unit_test(stays_within_its_columns),
		cmocka_unit_test(tolerates_a_clock_and_a_count_that_go_backwards),
		cmocka_unit_test(shows_plausible_values_only),
		cmocka_unit_test(truncates_the_line_to_the_buffer),
	};

	return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
