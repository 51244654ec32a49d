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
static char line[PROGRESS_LINE_SIZE];

/* Returns the line at this time after the start, in a file. */
static const char *line_at(int64_t ms, uint64_t bytes, uint64_t total)
{
	const struct progress_state state = {.moved = bytes, .total = total};

	progress_line(&progress, START_MS + ms, &state, &(struct progress_style){0}, line);
	return line;
}

static void start(void)
{
	progress_start(&progress, START_MS, 0);
}

/* Formats a line every 250 ms until `ms`, at a constant rate in bytes per millisecond. */
static void run_steadily(int64_t ms, uint64_t rate, uint64_t total)
{
	for (int64_t now = 0; now < ms; now += 250)
		line_at(now, (uint64_t)now * rate, total);
}

/* Lines on terminals of these columns, of which the last one stays empty. */
static const unsigned int terminals[] = {40, 60, 80, 120};

struct lines {
	const char *ascii[COUNT(terminals)], *utf8[COUNT(terminals)];
};

/* Checks the lines of a transfer that has run for 15.5 s at a rate in bytes per millisecond. */
static void expect_lines(
	const struct progress_state *state, uint64_t rate, const struct lines *lines)
{
	char text[PROGRESS_LINE_SIZE];

	for (size_t i = 0; i < 2 * COUNT(terminals); i++) {
		const struct progress_style style = {terminals[i / 2] - 1, .utf8 = i % 2};
		struct progress_state before = *state;

		start();
		for (int64_t left = 15500; left > 0; left -= 250) {
			before.moved = state->moved - (uint64_t)left * rate;
			progress_line(&progress, START_MS + 15500 - left, &before, &style, text);
		}
		progress_line(&progress, START_MS + 15500, state, &style, text);
		assert_string_equal(text, style.utf8 ? lines->utf8[i / 2] : lines->ascii[i / 2]);
	}
}

static void shows_a_file_at_each_width(void **state)
{
	static const struct progress_state file = {.moved = 1240 * MB, .total = 5370 * MB};
	static const struct lines lines = {
		{
			" 23 %   1.24 GB   80.0 MB/s   0:52 left",
			" 23 %   1.24 GB of 5.37 GB   80.0 MB/s   0:52 left",
			"[======>                   ]  23 %   1.24 GB of 5.37 GB   80.0 MB/s   0:52 left",
			"[=========>                              ]  23 %   1.24 GB of 5.37 GB   80.0 MB/s   0:52 left",
		},
		{
			" 23 %   1.24 GB   80.0 MB/s   0:52 left",
			" 23 %   1.24 GB of 5.37 GB   80.0 MB/s   0:52 left",
			"[██████                    ]  23 %   1.24 GB of 5.37 GB   80.0 MB/s   0:52 left",
			"[█████████▏                              ]  23 %   1.24 GB of 5.37 GB   80.0 MB/s   0:52 left",
		},
	};

	(void)state;
	expect_lines(&file, 80000, &lines);
}

static void shows_a_directory_at_each_width(void **state)
{
	static const struct progress_state directory = {
		.moved = 1240 * MB,
		.total = 5370 * MB,
		.file = 42,
		.files = 5000,
		.name = "photos/2024/IMG_0042 \xc3\xbc.jpg",
	};
	static const struct lines lines = {
		{
			" 23 %   1.24 GB   80.0 MB/s   0:52 left",
			" 23 %   1.24 GB   80.0 MB/s   0:52 left  file 42 of 5,000",
			" 23 %   1.24 GB of 5.37 GB   80.0 MB/s   0:52 left  42 of 5,000: ...0042 ??.jpg",
			"[======>                       ]  23 %   1.24 GB of 5.37 GB   80.0 MB/s   0:52 left  42 of 5,000: ...24/IMG_0042 ??.jpg",
		},
		{
			" 23 %   1.24 GB   80.0 MB/s   0:52 left",
			" 23 %   1.24 GB   80.0 MB/s   0:52 left  file 42 of 5,000",
			" 23 %   1.24 GB of 5.37 GB   80.0 MB/s   0:52 left  42 of 5,000: …MG_0042 ü.jpg",
			"[██████▉                       ]  23 %   1.24 GB of 5.37 GB   80.0 MB/s   0:52 left  42 of 5,000: …/2024/IMG_0042 ü.jpg",
		},
	};

	(void)state;
	expect_lines(&directory, 80000, &lines);
}

static void shows_a_pipe_at_each_width(void **state)
{
	static const struct progress_state pipe = {.moved = 1240 * MB, .total = PROGRESS_UNKNOWN};
	static const char text[] = " 1.24 GB   80.0 MB/s  0:15 so far";
	static const struct lines lines = {{text, text, text, text}, {text, text, text, text}};

	(void)state;
	expect_lines(&pipe, 80000, &lines);
}

/* Rate and time left are those of what moves. */
static void shows_a_resumed_file_at_each_width(void **state)
{
	static const struct progress_state resumed = {
		.moved = 155 * MB, .there = 1200 * MB, .total = 2000 * MB};
	static const struct lines lines = {
		{
			" 67 %   1.36 GB   10.0 MB/s   1:05 left",
			" 67 %   1.36 GB of 2.00 GB   10.0 MB/s   1:05 left",
			"[=================>        ]  67 %   1.36 GB of 2.00 GB   10.0 MB/s   1:05 left",
			"[===========================>            ]  67 %   1.36 GB of 2.00 GB   10.0 MB/s   1:05 left",
		},
		{
			" 67 %   1.36 GB   10.0 MB/s   1:05 left",
			" 67 %   1.36 GB of 2.00 GB   10.0 MB/s   1:05 left",
			"[█████████████████▌        ]  67 %   1.36 GB of 2.00 GB   10.0 MB/s   1:05 left",
			"[███████████████████████████             ]  67 %   1.36 GB of 2.00 GB   10.0 MB/s   1:05 left",
		},
	};
	char text[PROGRESS_LINE_SIZE];

	(void)state;
	expect_lines(&resumed, 10000, &lines);
	progress_resumed(&resumed, text);
	assert_string_equal(text, "resuming at 60 %: 1.20 GB of 2.00 GB already there");
	progress_resumed(&(struct progress_state){.there = MB, .total = PROGRESS_UNKNOWN}, text);
	assert_string_equal(text, "resuming: 1.0 MB already there");
	progress_resumed(
		&(struct progress_state){
			.there = MB, .total = PROGRESS_UNKNOWN, .peer = "192.0.2.7:4711"},
		text);
	assert_string_equal(text, "resuming from 192.0.2.7:4711: 1.0 MB already there");
	progress_resumed(
		&(struct progress_state){.there = MB, .total = 2 * MB, .peer = "192.0.2.7:4711"},
		text);
	assert_string_equal(
		text, "resuming from 192.0.2.7:4711 at 50 %: 1.0 MB of 2.0 MB already there");
}

/* From the widest to the narrowest: what disappears first is the bar, and last the time left. */
static void leaves_out_the_least_important_first(void **state)
{
	static const struct {
		unsigned int columns;
		const char *text;
	} cases[] = {
		{110, "[=========>          ]  47 %   4.74 GB of 10.00 GB    8.0 MB/s  10:58 left  7 of 9: IMG_0042.jpg"},
		{100, "[====>     ]  47 %   4.74 GB of 10.00 GB    8.0 MB/s  10:58 left  7 of 9: IMG_0042.jpg"},
		{99, " 47 %   4.74 GB of 10.00 GB    8.0 MB/s  10:58 left  7 of 9: IMG_0042.jpg"},
		{73, " 47 %   4.74 GB of 10.00 GB    8.0 MB/s  10:58 left  7 of 9: IMG_0042.jpg"},
		{72, " 47 %   4.74 GB of 10.00 GB    8.0 MB/s  10:58 left  7 of 9: ...0042.jpg"},
		{69, " 47 %   4.74 GB of 10.00 GB    8.0 MB/s  10:58 left  7 of 9: ...2.jpg"},
		{68, " 47 %   4.74 GB of 10.00 GB    8.0 MB/s  10:58 left  file 7 of 9"},
		{61, "47 %  4.74 GB of 10.00 GB  8.0 MB/s  10:58 left  file 7 of 9"},
		{57, " 47 %   4.74 GB    8.0 MB/s  10:58 left  file 7 of 9"},
		{48, "47 %  4.74 GB  8.0 MB/s  10:58 left  file 7 of 9"},
		{47, " 47 %   4.74 GB    8.0 MB/s  10:58 left"},
		{35, "47 %  4.74 GB  8.0 MB/s  10:58 left"},
		{34, " 47 %   4.74 GB  10:58 left"},
		{25, "47 %  4.74 GB  10:58 left"},
		{24, " 47 %  10:58 left"},
		{16, "47 %  10:58 left"},
		{15, "10:58 left"},
		{4, "10:5"},
	};
	static const struct progress_state now = {.moved = 4740 * MB,
		.total = 10 * GB,
		.file = 7,
		.files = 9,
		.name = "IMG_0042.jpg"};
	char text[PROGRESS_LINE_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct progress_style style = {.columns = cases[i].columns};

		progress_start(&progress, START_MS, 4732 * MB);
		progress_line(&progress, START_MS + 1000, &now, &style, text);
		assert_string_equal(text, cases[i].text);
	}
}

/* The end of a name is shown, whose characters may be wide. */
static void shows_the_end_of_a_long_name(void **state)
{
	struct progress_state now = {.total = PROGRESS_UNKNOWN, .file = 1};
	struct progress_style style = {62, true};
	char text[PROGRESS_LINE_SIZE];

	(void)state;
	strcpy(now.name, "a/日本語/日本語/日本語.txt");
	start();
	progress_line(&progress, START_MS, &now, &style, text);
	assert_string_equal(text, "     0 B          --  0:00 so far  file 1: …/日本語/日本語.txt");
	style.utf8 = false;
	progress_line(&progress, START_MS, &now, &style, text);
	assert_string_equal(
		text, "     0 B          --  0:00 so far  file 1: ...?\?/?????????.txt");
	/* What a terminal would interpret is not printed. */
	strcpy(now.name, "\033[2J\xff");
	style.utf8 = true;
	progress_line(&progress, START_MS, &now, &style, text);
	assert_string_equal(text, "     0 B          --  0:00 so far  file 1: \\x1b[2J\\xff");
}

static void shows_a_running_transfer(void **state)
{
	const struct progress_state directory = {
		.moved = 1240 * MB,
		.total = 5370 * MB,
		.file = 42,
		.files = 5000,
		.name = "photos/IMG",
	};

	(void)state;
	start();
	run_steadily(15500, 80000, 5370 * MB);
	assert_string_equal(line_at(15500, 1240 * MB, 5370 * MB),
		"23 %  1.24 GB of 5.37 GB  80.0 MB/s  0:52 left");
	progress_line(&progress, START_MS + 15500, &directory, &(struct progress_style){0}, line);
	assert_string_equal(
		line, "23 %  1.24 GB of 5.37 GB  80.0 MB/s  0:52 left  42 of 5,000: photos/IMG");
}

static void shows_elapsed_time_without_a_known_size(void **state)
{
	(void)state;
	start();
	run_steadily(15500, 80000, PROGRESS_UNKNOWN);
	assert_string_equal(
		line_at(15500, 1240 * MB, PROGRESS_UNKNOWN), "1.24 GB  80.0 MB/s  0:15 so far");
	assert_string_equal(
		line_at(3723000, 1240 * MB, PROGRESS_UNKNOWN), "1.24 GB  0 B/s  1:02:03 so far");
}

static void shows_no_rate_at_the_start(void **state)
{
	(void)state;
	start();
	assert_string_equal(line_at(0, 0, GB), "0 %  0 B of 1.00 GB  --  -- left");
	assert_string_equal(line_at(1, 8 * MB, GB), "0 %  8.0 MB of 1.00 GB  --  -- left");
	assert_string_equal(
		line_at(200, 20 * MB, GB), "2 %  20.0 MB of 1.00 GB  100.0 MB/s  0:10 left");
}

static void shows_a_stall_and_its_end(void **state)
{
	(void)state;
	start();
	run_steadily(5000, 10000, 100 * MB);
	line_at(5000, 50 * MB, 100 * MB);
	/* The rate drops while the window still contains progress. */
	assert_string_equal(
		line_at(6250, 50 * MB, 100 * MB), "50 %  50.0 MB of 100.0 MB  5.0 MB/s  0:10 left");
	for (int64_t now = 6500; now < 10000; now += 250)
		line_at(now, 50 * MB, 100 * MB);
	/* The rate is 0 once the window contains no progress. */
	assert_string_equal(
		line_at(10000, 50 * MB, 100 * MB), "50 %  50.0 MB of 100.0 MB  0 B/s  -- left");
	for (int64_t now = 0; now <= 2250; now += 250)
		line_at(10000 + now, 50 * MB + (uint64_t)now * 10000, 100 * MB);
	assert_string_equal(line_at(12500, 75 * MB, 100 * MB),
		"75 %  75.0 MB of 100.0 MB  10.0 MB/s  0:03 left");
}

/* If lines are rare, the current rate covers the time between two of them. */
static void shows_the_rate_since_the_previous_line_if_lines_are_rare(void **state)
{
	(void)state;
	start();
	line_at(60000, 600 * MB, 10 * GB);
	assert_string_equal(line_at(120000, 660 * MB, 10 * GB),
		"6 %  660.0 MB of 10.00 GB  1.0 MB/s  2:35:40 left");
}

static void shows_the_rate_of_the_last_seconds_if_lines_are_frequent(void **state)
{
	(void)state;
	start();
	for (int64_t now = 0; now <= 10000; now++)
		line_at(now, (uint64_t)now * 1000, GB);
	for (int64_t now = 0; now < 3000; now++)
		line_at(10000 + now, 10 * MB + (uint64_t)now * 20000, GB);
	assert_string_equal(
		line_at(13000, 70 * MB, GB), "7 %  70.0 MB of 1.00 GB  20.0 MB/s  0:47 left");
}

/* What moved before the start, while the peer checked its data, is not part of the rate. */
static void shows_the_rate_since_the_start(void **state)
{
	(void)state;
	progress_start(&progress, START_MS + 1500, 91);
	assert_string_equal(
		line_at(2000, 91 + 5 * MB, GB), "0 %  5.0 MB of 1.00 GB  10.0 MB/s  1:40 left");
}

static void shows_100_percent_only_at_the_end(void **state)
{
	(void)state;
	start();
	run_steadily(10000, 100000, GB);
	assert_string_equal(
		line_at(10000, GB - 1, GB), "99 %  1.00 GB of 1.00 GB  100.0 MB/s  0:01 left");
	assert_string_equal(
		line_at(10000, GB, GB), "100 %  1.00 GB of 1.00 GB  100.0 MB/s  finishing");
	/* The file grew during the transfer. */
	assert_string_equal(
		line_at(10000, 2 * GB, GB), "100 %  2.00 GB of 1.00 GB  500.0 MB/s  finishing");
	start();
	assert_string_equal(line_at(0, 0, 0), "100 %  0 B of 0 B  --  finishing");
}

static void shows_no_remaining_time_beyond_its_range(void **state)
{
	(void)state;
	start();
	assert_string_equal(line_at(1000, 1, 359999), "0 %  1 B of 360.0 kB  1 B/s  99:59:58 left");
	start();
	assert_string_equal(line_at(1000, 1, 360001), "0 %  1 B of 360.0 kB  1 B/s  -- left");
}

/* Extreme rates are printed in full. */
static void shows_extreme_rates(void **state)
{
	(void)state;
	start();
	run_steadily(1000, UINT64_C(123456789012), UINT64_MAX - 1);
	assert_string_equal(line_at(1000, UINT64_C(123456789012345), UINT64_C(900000000000000000)),
		"0 %  123.46 TB of 900.00 PB  123.46 TB/s  2:01:30 left");
	start();
	assert_string_equal(line_at(100, UINT64_MAX - 1, PROGRESS_UNKNOWN),
		"18.45 EB  18.45 EB/s  0:00 so far");
	start();
	line_at(1000, UINT64_C(200000000000000000), UINT64_C(400000000000000000));
	assert_string_equal(
		line_at(11000, UINT64_C(200005650000000000), UINT64_C(400000000000000000)),
		"50 %  200.01 PB of 400.00 PB  565.00 GB/s  98:19:33 left");
}

static void tolerates_a_clock_and_a_count_that_go_backwards(void **state)
{
	(void)state;
	start();
	run_steadily(1000, 1000, GB);
	assert_string_equal(line_at(-5000, MB, PROGRESS_UNKNOWN), "1.0 MB  --  0:00 so far");
	assert_string_equal(line_at(1000, 0, GB), "0 %  0 B of 1.00 GB  0 B/s  -- left");
}

static uint64_t random_number(void)
{
	uint64_t number = (uint64_t)random() << 33 ^ (uint64_t)random() << 11 ^ (uint64_t)random();

	/* Spread evenly over all magnitudes. */
	return number >> random() % 64;
}

/* The columns of a line: each character of the names and bars here takes one. */
static size_t columns_of(const char *text)
{
	size_t columns = 0;

	for (; *text; text++)
		columns += ((unsigned char)*text & 0xc0) != 0x80;
	return columns;
}

/* No line is wider than the terminal, and from 40 columns on, each has the time. */
static void show_randomly(uint64_t bytes, uint64_t total)
{
	struct progress_style style = {(unsigned int)(random() % 150 + 1), random() % 2};
	struct progress_state now = {.moved = bytes, .total = total};
	char text[PROGRESS_LINE_SIZE];

	now.file = random() % 2 ? random_number() : 0;
	now.files = random() % 2 ? random_number() : 0;
	now.there = bytes < UINT64_MAX / 2 ? random_number() / 2 : 0;
	if (now.file > 0)
		memset(now.name, 'n', random_number() % PROGRESS_NAME_SIZE);
	progress_line(&progress, START_MS + (int64_t)(random_number() >> 20), &now, &style, text);
	assert_in_range(columns_of(text), 1, style.columns);
	if (style.columns >= 39 && !strstr(text, " left") && !strstr(text, "finishing"))
		assert_non_null(strstr(text, " so far"));
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
		show_randomly(bytes, total);
		if (strstr(line, "nan") || strstr(line, "inf"))
			fail_msg("%s", line);
		for (sign = strchr(line, '-'); sign; sign = strchr(sign + 2, '-'))
			assert_int_equal(sign[1], '-');
		if (strchr(line, '%') && sscanf(line, "%u", &percent) == 1)
			assert_in_range(percent, 0, 100);
		else
			assert_int_equal(total, PROGRESS_UNKNOWN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shows_a_file_at_each_width),
		cmocka_unit_test(shows_a_directory_at_each_width),
		cmocka_unit_test(shows_a_pipe_at_each_width),
		cmocka_unit_test(shows_a_resumed_file_at_each_width),
		cmocka_unit_test(leaves_out_the_least_important_first),
		cmocka_unit_test(shows_the_end_of_a_long_name),
		cmocka_unit_test(shows_a_running_transfer),
		cmocka_unit_test(shows_elapsed_time_without_a_known_size),
		cmocka_unit_test(shows_no_rate_at_the_start),
		cmocka_unit_test(shows_a_stall_and_its_end),
		cmocka_unit_test(shows_the_rate_since_the_previous_line_if_lines_are_rare),
		cmocka_unit_test(shows_the_rate_of_the_last_seconds_if_lines_are_frequent),
		cmocka_unit_test(shows_the_rate_since_the_start),
		cmocka_unit_test(shows_100_percent_only_at_the_end),
		cmocka_unit_test(shows_no_remaining_time_beyond_its_range),
		cmocka_unit_test(shows_extreme_rates),
		cmocka_unit_test(tolerates_a_clock_and_a_count_that_go_backwards),
		cmocka_unit_test(shows_plausible_values_only),
	};

	return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
