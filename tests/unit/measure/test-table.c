/* The tables of measurements: headings, rows and histograms, at all widths. */
#include <stdio.h>
#include <string.h>

#include "measure/table.h"
#include "tests/unit/measure/measured-fixture.h"
#include "tests/unit/unit.h"

/* Too large for the stack. */
static struct histogram latency;

static struct options options_of(enum rate_unit unit, bool of_latency, bool verbose)
{
	return (struct options){.operation = &test_operations[TEST_WRITE],
		.verbose = verbose,
		.measure = {.bandwidth = !of_latency, .latency = of_latency, .unit = unit}};
}

static void sizes_are_written_as_they_are_given(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {{0, "0"}, {1, "1"}, {8, "8"}, {1000, "1000"}, {1024, "1K"}, {1025, "1025"},
		{1536, "1536"}, {4096, "4K"}, {65536, "64K"}, {5 << 10, "5K"}, {1 << 20, "1M"},
		{3 << 19, "1536K"}, {16 << 20, "16M"}, {16777215, "16777215"}, {1 << 30, "1G"},
		{UINT64_MAX, "18446744073709551615"}};
	char text[TABLE_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(table_size(text, cases[i].bytes),
			i + 1 == COUNT(cases) ? "184467440737095" : cases[i].text);
}

static void headings_name_the_columns_and_their_units(void **state)
{
	static const struct {
		enum rate_unit unit;
		bool latency, verbose, bidirectional;
		const char *lines[2];
	} cases[] = {
		{UNIT_MB, false, false, false,
			{"size  average    worst     best messages this host    other",
				"   B     MB/s     MB/s     MB/s      1/s  CPU s/GB CPU s/GB"}},
		{UNIT_MIB, false, true, false,
			{"size  average    worst     best messages this host    other   total depth",
				"   B    MiB/s    MiB/s    MiB/s      1/s  CPU s/GB CPU s/GB     "
				"ops   ops"}},
		{UNIT_GBIT, false, true, true,
			{"size     by  average    worst     best messages this host    other   "
			 "total depth",
				"   B            Gb/s     Gb/s     Gb/s      1/s  CPU s/GB CPU "
				"s/GB     ops   ops"}},
		{UNIT_GBIT, true, false, false,
			{"size   minimum   median     90 %     99 %   99.9 %  99.99 %   maximum",
				"   B        us       us       us       us       us       us      "
				"  us"}},
		{UNIT_GBIT, true, true, false,
			{"size   minimum   median     90 %     99 %   99.9 %  99.99 %   maximum   "
			 "total",
				"   B        us       us       us       us       us       us      "
				"  us     ops"}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct options options =
			options_of(cases[i].unit, cases[i].latency, cases[i].verbose);
		char line[TABLE_LINE];
		unsigned int index = 0;

		options.measure.bidirectional = cases[i].bidirectional;
		for (; table_head(line, &options, TABLE_COLUMNS, index); index++) {
			assert_true(index < 2);
			assert_string_equal(line, cases[i].lines[index]);
			assert_true(strlen(line) <= 80);
		}
		assert_int_equal(index, 2);
	}
}

static void a_bandwidth_test_has_a_row_per_direction(void **state)
{
	static const struct {
		enum rate_unit unit;
		bool bidirectional, verbose;
		const char *rows[2];
	} cases[] = {
		{UNIT_MB, false, false,
			{" 64K   32.8     30.0     40.0        500     10.00     1.00", NULL}},
		{UNIT_MIB, false, true,
			{" 64K   31.2     28.6     38.1        500     10.00     1.00    1000    16",
				NULL}},
		{UNIT_GBIT, false, false,
			{" 64K    0.262    0.240    0.320      500     10.00     1.00", NULL}},
		/* CPU seconds per GB, counting both directions. */
		{UNIT_MB, true, false,
			{" 64K client   32.8     30.0     40.0        500      6.67     0.67",
				" 64K server   16.4      0.000   20.0        250"}},
		{UNIT_MB, true, true,
			{" 64K client   32.8     30.0     40.0        500      6.67     0.67    "
			 "1000    16",
				" 64K server   16.4      0.000   20.0        250"
				"                        500    16"}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct options options = options_of(cases[i].unit, false, cases[i].verbose);
		struct measured measured = bandwidth;
		char line[TABLE_LINE];
		unsigned int index = 0;

		options.measure.bidirectional = cases[i].bidirectional;
		measured.parameters.direction = cases[i].bidirectional ? TEST_BOTH : TEST_CLIENT;
		for (; table_row(line, &options, TABLE_COLUMNS, &measured, index); index++) {
			assert_true(index < 2 && cases[i].rows[index]);
			assert_string_equal(line, cases[i].rows[index]);
			assert_true(strlen(line) <= 80);
		}
		assert_int_equal(index, cases[i].rows[1] ? 2 : 1);
	}
}

/* The table of these options, with the result of one size, equals these lines. */
static void assert_table(
	const struct options *options, const struct measured *measured, const char *const lines[3])
{
	char line[TABLE_LINE];

	for (unsigned int i = 0; table_head(line, options, TABLE_COLUMNS, i); i++)
		assert_string_equal(line, lines[i]);
	assert_true(table_row(line, options, TABLE_COLUMNS, measured, 0));
	assert_string_equal(line, lines[2]);
}

static void atomic_operations_are_counted(void **state)
{
	struct options options = options_of(UNIT_AUTO, false, false);
	struct measured measured = {
		.parameters = {.size = 8, .queue_pairs = 1, .depth = 16},
		.ours = {.operations = 70000,
			.bytes = 560000,
			.nanoseconds = 2000000000,
			.cpu_nanoseconds = 1400000000,
			.worst = 272000,
			.best = 288000},
		.theirs = {.cpu_nanoseconds = 140000000},
	};

	(void)state;
	options.operation = &test_operations[TEST_FETCH_ADD];
	assert_table(&options, &measured,
		(const char *const[]){"size  average    worst     best  this host      other",
			"   B   kops/s   kops/s   kops/s  CPU us/op  CPU us/op",
			"   8   35.0     34.0     36.0        20.00       2.00"});
	options.measure.unit = UNIT_MB;
	assert_table(&options, &measured,
		(const char *const[]){"size  average    worst     best messages this host    other",
			"   B     MB/s     MB/s     MB/s      1/s  CPU s/GB CPU s/GB",
			"   8    0.280    0.272    0.288    35000   2500      250.00"});
}

static void losses_are_a_part_of_what_was_sent(void **state)
{
	struct options options = options_of(UNIT_AUTO, false, false);
	struct measured measured = bandwidth;

	(void)state;
	options.measure.transport = TEST_UD;
	measured.ours.lost = 250;
	assert_table(&options, &measured,
		(const char *const[]){
			"size  average    lost    worst     best messages this host    other      lost",
			"   B     MB/s       %     MB/s     MB/s      1/s  CPU s/GB CPU s/GB       ops",
			" 64K   32.8     20.00   30.0     40.0        500     10.00     1.00       250"});
}

/* Small messages: low rates and high CPU times per GB still fit their columns. */
static void small_rates_have_enough_digits(void **state)
{
	static const struct measured few = {
		.parameters = {.size = 2, .queue_pairs = 1, .depth = 128},
		.ours = {.operations = 50000,
			.bytes = 100000,
			.nanoseconds = 2000000000,
			.cpu_nanoseconds = 1999500000,
			.worst = 9000,
			.best = 99960},
		.theirs = {.cpu_nanoseconds = 99999000},
	};
	struct options options = options_of(UNIT_MB, false, true);
	char line[TABLE_LINE];

	(void)state;
	assert_true(table_row(line, &options, TABLE_COLUMNS, &few, 0));
	assert_string_equal(
		line, "   2    0.050    0.009    0.100    25000  19995      999.99   50000   128");
}

/* 400 Gb/s, 100 million messages a second: still one column for each decimal point. */
static void large_rates_keep_their_columns(void **state)
{
	static const struct measured fast = {
		.parameters = {.size = 512, .queue_pairs = 1, .depth = 128},
		.ours = {.operations = 97656250,
			.bytes = 50000000000,
			.nanoseconds = 1000000000,
			.worst = 49999000000,
			.best = 50001000000},
	};
	struct options options = options_of(UNIT_MB, false, true);
	char line[TABLE_LINE];

	(void)state;
	assert_true(table_row(line, &options, TABLE_COLUMNS, &fast, 0));
	assert_string_equal(line,
		" 512 50000.0  49999.0  50001.0   97656250      0.00     0.00 97656250   128");
}

/* A run shorter than one interval has no worst and no best interval. */
static void a_short_run_has_no_intervals(void **state)
{
	struct options options = options_of(UNIT_MB, false, false);
	struct measured measured = bandwidth;
	char line[TABLE_LINE];

	(void)state;
	measured.ours.worst = measured.ours.best = 0;
	assert_true(table_row(line, &options, TABLE_COLUMNS, &measured, 0));
	assert_string_equal(line, " 64K   32.8          -        -      500     10.00     1.00");
}

/* 1 to 1000 us, as many operations each. */
static struct measured latency_measured(uint64_t each)
{
	histogram_init(&latency);
	for (uint64_t i = 0; i < 1000 * each; i++)
		histogram_add(&latency, (1 + i / each) * 1000);
	return (struct measured){
		.parameters = {.kind = TEST_LATENCY, .size = 8, .queue_pairs = 1, .depth = 1},
		.ours = {.operations = 1000 * each, .bytes = 8000 * each, .nanoseconds = 1},
		.latency = &latency,
	};
}

static void a_latency_row_has_its_percentiles(void **state)
{
	struct options options = options_of(UNIT_MB, true, true);
	struct measured measured = latency_measured(10);
	double minimum, median, p90, p99, p99_9, p99_99, maximum;
	unsigned long bytes, operations;
	char line[TABLE_LINE];

	(void)state;
	assert_true(table_row(line, &options, TABLE_COLUMNS, &measured, 0));
	assert_false(table_row(line, &options, TABLE_COLUMNS, &measured, 1));
	assert_int_equal(strlen(line), 4 + 10 + 5 * 9 + 10 + 8);
	assert_int_equal(sscanf(line, "%lu %lf %lf %lf %lf %lf %lf %lf %lu", &bytes, &minimum,
				 &median, &p90, &p99, &p99_9, &p99_99, &maximum, &operations),
		9);
	assert_int_equal(bytes, 8);
	assert_int_equal(operations, 10000);
	assert_true(minimum == 1 && maximum == 1000);
	assert_true(median > 498 && median < 502);
	assert_true(p90 > 897 && p90 < 903);
	assert_true(p99 > 987 && p99 < 993);
	assert_true(p99_9 > 996 && p99_9 < 1001);
	assert_true(p99_99 > 997 && p99_99 <= 1000);
}

static void losses_of_a_latency_test_are_a_part_as_well(void **state)
{
	static const char *const head[] = {
		"size   minimum   median    lost     90 %     99 %   99.9 %  99.99 %   maximum",
		"   B        us       us       %       us       us       us       us        us"};
	struct options options = options_of(UNIT_AUTO, true, false);
	struct measured measured = latency_measured(10);

	(void)state;
	options.measure.transport = TEST_UC;
	measured.ours.lost = 10;
	assert_table(&options, &measured,
		(const char *const[]){head[0], head[1],
			"   8      1.00   500.22    0.10   900.10   990.21   998.40  1000.00   1000.00"});
	histogram_init(&latency);
	measured.ours.operations = 0;
	assert_table(&options, &measured,
		(const char *const[]){head[0], head[1],
			"   8         -        -  100.00        -        -        -        -         -"});
}

/* Of 9,000 operations, the slowest one in 10,000 is unknown. */
static void a_high_percentile_needs_enough_operations(void **state)
{
	struct options options = options_of(UNIT_MB, true, true);
	struct measured measured = latency_measured(9);
	char line[TABLE_LINE];

	(void)state;
	assert_true(table_row(line, &options, TABLE_COLUMNS, &measured, 0));
	assert_non_null(strstr(line, "        -   1000.00    9000"));
}

/* Rare latencies, of one operation in 10,000 each, share a bar. */
static void bars_of_few_operations_are_joined(void **state)
{
	static const uint64_t rare[] = {700, 1000, 2000, 5000, 90000};
	struct measured measured = {.latency = &latency};
	char line[TABLE_LINE];
	size_t at = 0;

	(void)state;
	histogram_init(&latency);
	for (int i = 0; i < 10000; i++)
		histogram_add(&latency, 10000);
	for (size_t i = 0; i < COUNT(rare); i++)
		histogram_add(&latency, rare[i]);
	assert_true(table_bar(line, 60, measured.latency, &at));
	assert_string_equal(line, "      1.02 us         2    0.02 %");
	assert_true(table_bar(line, 60, measured.latency, &at));
	assert_string_equal(line, "      2.05 us         1    0.01 %");
	assert_true(table_bar(line, 60, measured.latency, &at));
	assert_string_equal(line, "      5.12 us         1    0.01 %");
	assert_true(table_bar(line, 60, measured.latency, &at));
	assert_non_null(strstr(line, " 10000   99.95 %"));
	/* No bar ends above the maximum. */
	assert_true(table_bar(line, 60, measured.latency, &at));
	assert_string_equal(line, "     90.00 us         1    0.01 %");
	assert_false(table_bar(line, 60, measured.latency, &at));
}

/* 100 ms and more, as over a bad link: the columns stay, without a fraction. */
static void large_latencies_keep_their_columns(void **state)
{
	static const struct {
		uint64_t nanoseconds;
		const char *text;
	} cases[] = {{0, "0.00"}, {1234567, "1234.57"}, {99999994, "99999.99"},
		{99999995, "100000"}, {100000000, "100000"}, {99999999000, "99999999"}};
	struct options options = options_of(UNIT_MB, true, true);
	struct measured measured = latency_measured(10);
	char line[TABLE_LINE], cell[TABLE_CELL];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		table_latency(cell, (double)cases[i].nanoseconds);
		assert_string_equal(cell, cases[i].text);
	}
	histogram_init(&latency);
	for (uint64_t i = 0; i < 1000; i++)
		histogram_add(&latency, i < 500 ? 12340 : 99999999000);
	assert_true(table_row(line, &options, TABLE_COLUMNS, &measured, 0));
	assert_int_equal(strlen(line), 4 + 10 + 5 * 9 + 10 + 8);
	assert_string_equal(line + strlen(line) - 18, "  99999999   10000");
	assert_memory_equal(line, "   8     12.34    12.3", 22);
}

/*
 * The cells of a running row are those of the final one, in the same columns; then comes the
 * progress.
 */
static void assert_running_row(
	const struct options *options, unsigned int columns, const struct measured *measured)
{
	static const char progress[] = "  0.7 of 2.0 s";
	char running[TABLE_LINE], final[TABLE_LINE];
	size_t cells;

	table_running_row(running, options, columns, measured, progress + 2);
	assert_true(strlen(running) < columns);
	assert_true(table_row(final, options, columns, measured, 0));
	cells = strlen(running) - strlen(progress);
	assert_string_equal(running + cells, progress);
	assert_true(cells >= 13);
	assert_memory_equal(running, final, cells);
	assert_true(final[cells] == ' ' || final[cells] == '\0');
}

/* Narrow terminals show the most important columns; none is wider than the terminal. */
static void tables_fit_all_widths(void **state)
{
	static const struct {
		unsigned int columns;
		bool latency;
		const char *head;
	} cases[] = {
		{40, false, "size  average    worst     best messages"},
		{50, false, "size  average    worst     best messages"},
		{60, false, "size  average    worst     best messages this host    other"},
		{40, true, "size   median     99 %   maximum"},
		{60, true, "size   minimum   median     90 %     99 %   99.9 %   maximum"},
	};
	char line[TABLE_LINE];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct options options = options_of(UNIT_MB, cases[i].latency, true);

		assert_true(table_head(line, &options, cases[i].columns, 0));
		assert_string_equal(line, cases[i].head);
	}
	for (unsigned int columns = TABLE_COLUMNS_MIN; columns <= TABLE_COLUMNS; columns++)
		for (unsigned int kind = 0; kind < 8; kind++) {
			struct options options = options_of(UNIT_MB, kind & 1, kind & 2);
			struct measured measured = kind & 1 ? latency_measured(10) : bandwidth;

			options.measure.bidirectional = kind == 4 || kind == 6;
			for (unsigned int i = 0; table_head(line, &options, columns, i); i++)
				assert_true(strlen(line) <= columns);
			for (unsigned int i = 0; table_row(line, &options, columns, &measured, i);
				i++)
				assert_true(strlen(line) <= columns);
			assert_running_row(&options, columns, &measured);
		}
}

static void a_running_row_has_no_cpu_time(void **state)
{
	struct options options = options_of(UNIT_MB, false, true);
	struct measured measured = bandwidth;
	char line[TABLE_LINE];

	(void)state;
	table_running_row(line, &options, 80, &measured, "0.7 of 2.0 s");
	assert_string_equal(line, " 64K   32.8     30.0     40.0        500  0.7 of 2.0 s");
	measured = latency_measured(10);
	options = options_of(UNIT_MB, true, false);
	table_running_row(line, &options, 60, &measured, "17 of 1000");
	assert_int_equal(strncmp(line, "   8      1.00 ", 15), 0);
	assert_non_null(strstr(line, "  17 of 1000"));
}

/* Operations count as lost only at the end, and the average exceeds no rate that is shown. */
static void a_running_row_claims_nothing_that_is_unknown(void **state)
{
	struct options options = options_of(UNIT_MB, false, false);
	struct measured measured = bandwidth;
	char line[TABLE_LINE];

	(void)state;
	options.measure.transport = TEST_UD;
	measured.ours.lost = 7;
	table_running_row(line, &options, 80, &measured, "0.7 of 2.0 s");
	assert_string_equal(line, " 64K   32.8         -   30.0     40.0        500  0.7 of 2.0 s");
	measured.ours.best = 20000000;
	table_running_row(line, &options, 80, &measured, "0.7 of 2.0 s");
	assert_string_equal(line, " 64K   32.8         -        -        -      500  0.7 of 2.0 s");
}

/* The bar of the most frequent latencies reaches the last column, and others are in proportion. */
static void a_histogram_counts_all_operations(void **state)
{
	static const unsigned int widths[] = {40, 60, 80, 120, 400};

	(void)state;
	for (size_t i = 0; i < COUNT(widths); i++) {
		struct measured measured = latency_measured(10);
		unsigned long operations, all = 0, most = 0;
		char line[TABLE_LINE];
		double from, part, parts = 0;
		size_t at = 0, longest = 0, bars[1000], count = 0;
		unsigned long counts[1000];

		table_bars_head(line);
		assert_string_equal(line, "latency up to       ops     share");

		while (table_bar(line, widths[i], measured.latency, &at)) {
			assert_int_equal(
				sscanf(line, "%lf us %lu %lf %%", &from, &operations, &part), 3);
			assert_true(strlen(line) <= widths[i]);
			assert_true(line[strlen(line) - 1] != ' ');
			if (strlen(line) > longest)
				longest = strlen(line);
			bars[count] = strspn(line + strcspn(line, "#"), "#");
			counts[count++] = operations;
			most = operations > most ? operations : most;
			all += operations;
			parts += part;
		}
		assert_int_equal(all, 10000);
		assert_true(parts > 99.9 && parts < 100.1);
		assert_int_equal(longest, widths[i]);
		for (size_t bar = 0; bar < count; bar++) {
			double exact =
				(double)(widths[i] - 34) * (double)counts[bar] / (double)most;

			assert_in_range(bars[bar], (unsigned long)exact, (unsigned long)exact + 1);
		}
	}
}

static void an_empty_histogram_has_no_bars(void **state)
{
	char line[TABLE_LINE];
	size_t at = 0;

	(void)state;
	histogram_init(&latency);
	assert_false(table_bar(line, 80, &latency, &at));
}

/* Impossible values from a peer: no row overflows and nothing is divided by zero. */
static void rows_fit_any_numbers(void **state)
{
	static const uint64_t numbers[] = {0, 1, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < COUNT(numbers); i++)
		for (size_t j = 0; j < COUNT(numbers); j++) {
			uint64_t a = numbers[i], b = numbers[j];
			struct measured measured = {
				.parameters = {.size = UINT32_MAX, .direction = TEST_BOTH},
				.ours = {a, b, b, a, b, a, b, 0, a},
				.theirs = {a, a, b, b, a, b, a, 0, b},
			};
			struct options options = options_of(UNIT_MB, false, true);
			char line[TABLE_LINE];

			for (unsigned int index = 0; index < 2; index++) {
				assert_true(
					table_row(line, &options, TABLE_COLUMNS, &measured, index));
				assert_true(strlen(line) < TABLE_LINE);
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_written_as_they_are_given),
		cmocka_unit_test(headings_name_the_columns_and_their_units),
		cmocka_unit_test(a_bandwidth_test_has_a_row_per_direction),
		cmocka_unit_test(atomic_operations_are_counted),
		cmocka_unit_test(losses_are_a_part_of_what_was_sent),
		cmocka_unit_test(small_rates_have_enough_digits),
		cmocka_unit_test(large_rates_keep_their_columns),
		cmocka_unit_test(a_short_run_has_no_intervals),
		cmocka_unit_test(a_latency_row_has_its_percentiles),
		cmocka_unit_test(losses_of_a_latency_test_are_a_part_as_well),
		cmocka_unit_test(large_latencies_keep_their_columns),
		cmocka_unit_test(tables_fit_all_widths),
		cmocka_unit_test(a_running_row_has_no_cpu_time),
		cmocka_unit_test(a_running_row_claims_nothing_that_is_unknown),
		cmocka_unit_test(a_high_percentile_needs_enough_operations),
		cmocka_unit_test(bars_of_few_operations_are_joined),
		cmocka_unit_test(a_histogram_counts_all_operations),
		cmocka_unit_test(an_empty_histogram_has_no_bars),
		cmocka_unit_test(rows_fit_any_numbers),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
