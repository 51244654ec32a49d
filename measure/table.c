/* The tables of both kinds of tests: which columns they have, and how cells are formatted. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "measure/table.h"

/* A result, and the direction that the row is about. */
struct row {
	const struct options *options;
	const struct measured *measured;
	const struct test_result *result; /* of the end that initiated the operations */
	unsigned int percentile;          /* of the current column */
	bool running;                     /* the result is not complete yet */
};

/*
 * A column. A table has all columns up to some rank: as many as fit, and those of RANK_VERBOSE only
 * with --verbose.
 */
struct column {
	unsigned int width, rank;
	const char *name, *unit; /* unit NULL: that of rates */
	void (*put)(char cell[TABLE_CELL], const struct row *row);
	unsigned int percentile;
	enum { ALWAYS, BY_BOTH, LOSSY, BYTES, OPERATIONS } only; /* if what is_shown() says */
};

#define RANK_VERBOSE 5

/*
 * Formats a number with these fraction digits, and blanks in place of those that it lacks, so that
 * decimal points are aligned.
 */
static void put_decimal(char cell[TABLE_CELL], double number, int digits, int digits_max)
{
	int missing = digits_max - digits + (digits == 0);

	snprintf(cell, TABLE_CELL, "%.*f%*s", digits, number, missing, "");
}

/* Small rates get more digits. */
void table_rate(char cell[TABLE_CELL], const struct options *options, double bytes_per_second)
{
	double rate = measurement_in_unit(options, bytes_per_second);

	put_decimal(cell, rate, options->measure.unit == UNIT_GBIT || rate < 10 ? 3 : 1, 3);
}

static void put_size(char cell[TABLE_CELL], const struct row *row)
{
	char text[TABLE_SIZE];

	snprintf(cell, TABLE_CELL, "%s", table_size(text, row->measured->parameters.size));
}

static void put_initiator(char cell[TABLE_CELL], const struct row *row)
{
	snprintf(cell, TABLE_CELL, "%s", row->result == &row->measured->ours ? "client" : "server");
}

static void put_average(char cell[TABLE_CELL], const struct row *row)
{
	table_rate(cell, row->options, measurement_rate_of(row->result));
}

/*
 * The rate of an interval. Both are known if the best is; the worst may be 0. While a test runs,
 * the first operations may be in no interval yet, so that the average can exceed the best.
 */
static void put_interval(char cell[TABLE_CELL], const struct row *row, uint64_t bytes_per_second)
{
	bool early = row->running && measurement_rate_of(row->result) > (double)row->result->best;

	if (row->result->best && !early)
		table_rate(cell, row->options, (double)bytes_per_second);
	else
		snprintf(cell, TABLE_CELL, "-");
}

static void put_worst(char cell[TABLE_CELL], const struct row *row)
{
	put_interval(cell, row, row->result->worst);
}

static void put_best(char cell[TABLE_CELL], const struct row *row)
{
	put_interval(cell, row, row->result->best);
}

static void put_messages(char cell[TABLE_CELL], const struct row *row)
{
	snprintf(cell, TABLE_CELL, "%.0f", measurement_operations(row->result));
}

/*
 * CPU seconds per GB, or microseconds per atomic operation. Small operations need many seconds per
 * GB, so the fraction is omitted. The row of the other direction would repeat the number, which is
 * about both.
 */
static void put_cpu(char cell[TABLE_CELL], const struct row *row, const struct test_result *end)
{
	double amount = measurement_cpu_per_gb(row->measured, end);

	if (measurement_counts_operations(row->options))
		amount *= TEST_ATOMIC_SIZE / 1e3;
	*cell = '\0';
	if (row->result == &row->measured->ours)
		put_decimal(cell, amount, amount < 1000 ? 2 : 0, 2);
}

static void put_our_cpu(char cell[TABLE_CELL], const struct row *row)
{
	put_cpu(cell, row, &row->measured->ours);
}

static void put_their_cpu(char cell[TABLE_CELL], const struct row *row)
{
	put_cpu(cell, row, &row->measured->theirs);
}

static void put_operations(char cell[TABLE_CELL], const struct row *row)
{
	snprintf(cell, TABLE_CELL, "%" PRIu64, row->result->operations);
}

/* How many operations are lost is known at the end. */
static void put_lost(char cell[TABLE_CELL], const struct row *row)
{
	if (row->running)
		snprintf(cell, TABLE_CELL, "-");
	else
		snprintf(cell, TABLE_CELL, "%" PRIu64, row->result->lost);
}

static void put_lost_part(char cell[TABLE_CELL], const struct row *row)
{
	const struct test_result *result = row->result;
	uint64_t sent = result->operations + result->lost;

	if (row->running || sent == 0)
		snprintf(cell, TABLE_CELL, "-");
	else
		put_decimal(cell, 100 * (double)result->lost / (double)sent, 2, 2);
}

static void put_depth(char cell[TABLE_CELL], const struct row *row)
{
	snprintf(cell, TABLE_CELL, "%" PRIu32, row->measured->parameters.depth);
}

/* A fraction of 100,000 us says nothing, and it would need the space between the columns. */
void table_latency(char cell[TABLE_CELL], double nanoseconds)
{
	double microseconds = nanoseconds / 1000;

	snprintf(cell, TABLE_CELL, "%.*f", microseconds < 99999.995 ? 2 : 0, microseconds);
}

/* All operations may have been lost. */
static void put_latency(char cell[TABLE_CELL], const struct row *row, uint64_t nanoseconds)
{
	if (row->measured->latency->count > 0)
		table_latency(cell, (double)nanoseconds);
	else
		snprintf(cell, TABLE_CELL, "-");
}

static void put_minimum(char cell[TABLE_CELL], const struct row *row)
{
	put_latency(cell, row, row->measured->latency->minimum);
}

/* Of too few operations, a high percentile is only the maximum. */
static void put_percentile(char cell[TABLE_CELL], const struct row *row)
{
	const struct histogram *latency = row->measured->latency;
	double part = measurement_percentiles[row->percentile].part;

	if (part > 0.5 && (double)latency->count * (1 - part) < 1 - 1e-9)
		snprintf(cell, TABLE_CELL, "-");
	else
		put_latency(cell, row, histogram_percentile(latency, part));
}

static void put_maximum(char cell[TABLE_CELL], const struct row *row)
{
	put_latency(cell, row, row->measured->latency->maximum);
}

/* With --verbose and --bidirectional, 80 columns of text. */
static const struct column bandwidth_columns[] = {
	{4, 0, "size", "B", .put = put_size},
	{7, 0, "by", "", .put = put_initiator, .only = BY_BOTH},
	{9, 0, "average", NULL, .put = put_average},
	{8, 0, "lost", "%", .put = put_lost_part, .only = LOSSY},
	{9, 1, "worst", NULL, .put = put_worst},
	{9, 1, "best", NULL, .put = put_best},
	{9, 2, "messages", "1/s", .put = put_messages, .only = BYTES},
	{10, 3, "this host", "CPU s/GB", .put = put_our_cpu, .only = BYTES},
	{9, 3, "other", "CPU s/GB", .put = put_their_cpu, .only = BYTES},
	{11, 3, "this host", "CPU us/op", .put = put_our_cpu, .only = OPERATIONS},
	{11, 3, "other", "CPU us/op", .put = put_their_cpu, .only = OPERATIONS},
	{10, 4, "lost", "ops", .put = put_lost, .only = LOSSY},
	{8, RANK_VERBOSE, "total", "ops", .put = put_operations},
	{6, RANK_VERBOSE, "depth", "ops", .put = put_depth},
};

static const struct column latency_columns[] = {
	{4, 0, "size", "B", .put = put_size},
	{10, 2, "minimum", "us", .put = put_minimum},
	{9, 0, "median", "us", .put = put_percentile, .percentile = 0},
	{8, 0, "lost", "%", .put = put_lost_part, .only = LOSSY},
	{9, 3, "90 %", "us", .put = put_percentile, .percentile = 1},
	{9, 1, "99 %", "us", .put = put_percentile, .percentile = 2},
	{9, 3, "99.9 %", "us", .put = put_percentile, .percentile = 3},
	{9, 4, "99.99 %", "us", .put = put_percentile, .percentile = 4},
	{10, 1, "maximum", "us", .put = put_maximum},
	{8, RANK_VERBOSE, "total", "ops", .put = put_operations},
};

/* The columns of a table. */
struct layout {
	const struct column *columns;
	size_t count;
	unsigned int rank; /* of the last columns that are shown */
	const struct options *options;
};

static bool is_shown(const struct layout *layout, const struct column *column, unsigned int rank)
{
	const struct options *options = layout->options;

	if (column->rank > rank)
		return false;
	switch (column->only) {
	case BY_BOTH:
		return options->measure.bidirectional;
	case LOSSY:
		return options->measure.transport != TEST_RC;
	case BYTES:
		return !measurement_counts_operations(options);
	case OPERATIONS:
		return measurement_counts_operations(options);
	case ALWAYS:
		break;
	}
	return true;
}

static unsigned int width(const struct layout *layout, unsigned int rank)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < layout->count; i++)
		if (is_shown(layout, &layout->columns[i], rank))
			sum += layout->columns[i].width;
	return sum;
}

/* Chooses the columns up to this rank that fit. */
static struct layout choose(
	const struct options *options, unsigned int columns, unsigned int rank_max)
{
	struct layout layout = {
		.columns = bandwidth_columns,
		.count = sizeof(bandwidth_columns) / sizeof(bandwidth_columns[0]),
		.rank = rank_max,
		.options = options,
	};

	if (options->measure.latency) {
		layout.columns = latency_columns;
		layout.count = sizeof(latency_columns) / sizeof(latency_columns[0]);
	}
	while (layout.rank > 0 && width(&layout, layout.rank) > columns)
		layout.rank--;
	return layout;
}

static unsigned int rank_of(const struct options *options)
{
	return options->verbose ? RANK_VERBOSE : RANK_VERBOSE - 1;
}

const char *table_size(char text[TABLE_SIZE], uint64_t bytes)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} units[] = {{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"", 1}};
	size_t i = 0;

	while (bytes < units[i].bytes || bytes % units[i].bytes)
		if (units[++i].bytes == 1)
			break;
	snprintf(text, TABLE_SIZE, "%" PRIu64 "%s", bytes / units[i].bytes, units[i].name);
	return text;
}

bool table_head(char line[TABLE_LINE], const struct options *options, unsigned int columns,
	unsigned int index)
{
	struct layout layout = choose(options, columns, rank_of(options));

	*line = '\0';
	for (size_t i = 0; i < layout.count; i++) {
		const struct column *column = &layout.columns[i];
		const char *unit = column->unit ? column->unit : measurement_unit(options);

		if (is_shown(&layout, column, layout.rank))
			text_append(line, TABLE_LINE, "%*s", (int)column->width,
				index == 0 ? column->name : unit);
	}
	return index < 2;
}

/* Of a running test, the columns after this rank are not known. */
static unsigned int rank_known(const struct row *row)
{
	if (!row->running)
		return RANK_VERBOSE;
	return row->options->measure.latency ? RANK_VERBOSE - 1 : 2;
}

/*
 * Formats the cells, without blanks at the end, up to the last column that is known and of which
 * the end is among the first `room` columns of the screen. A cell that is too wide shifts those
 * after it.
 */
static void put_cells(
	char line[TABLE_LINE], const struct layout *layout, struct row *row, unsigned int room)
{
	char cell[TABLE_CELL];
	size_t end;

	*line = '\0';
	for (size_t i = 0; i < layout->count; i++) {
		const struct column *column = &layout->columns[i];

		if (!is_shown(layout, column, layout->rank))
			continue;
		end = strlen(line);
		if (column->rank > rank_known(row) || end + column->width > room)
			break;
		row->percentile = column->percentile;
		column->put(cell, row);
		if (end > 0 && line[end - 1] != ' ' && strlen(cell) >= column->width)
			text_append(line, TABLE_LINE, " ");
		text_append(line, TABLE_LINE, "%*s", (int)column->width, cell);
	}
	for (end = strlen(line); end > 0 && line[end - 1] == ' '; end--)
		line[end - 1] = '\0';
}

bool table_row(char line[TABLE_LINE], const struct options *options, unsigned int columns,
	const struct measured *measured, unsigned int index)
{
	struct layout layout = choose(options, columns, rank_of(options));
	struct row row = {
		options, measured, index == 0 ? &measured->ours : &measured->theirs, 0, false};

	if (index > (unsigned int)measurement_both(measured))
		return false;
	put_cells(line, &layout, &row, TABLE_LINE);
	return true;
}

void table_running_row(char line[TABLE_LINE], const struct options *options, unsigned int columns,
	const struct measured *measured, const char *progress)
{
	unsigned int used = (unsigned int)strlen(progress) + 3; /* blanks, and the last column */
	struct layout layout = choose(options, columns, rank_of(options));
	struct row row = {options, measured, &measured->ours, 0, true};

	put_cells(line, &layout, &row, columns > used ? columns - used : 0);
	text_append(line, TABLE_LINE, "  %s", progress);
}

/* Bars of at most this share of the operations are joined, if they are in one power of two. */
#define SMALL_SHARE 0.01

/* The power of two below this number. */
static unsigned int power_of(uint64_t number)
{
	return 63 - (unsigned int)__builtin_clzll(number | 1);
}

/*
 * Like histogram_bar(), but consecutive bars of few operations are one. No bar exceeds the
 * maximum.
 */
static uint64_t joined_bar(const struct histogram *latency, size_t *at, uint64_t *to)
{
	uint64_t most = (uint64_t)(SMALL_SHARE * (double)latency->count), from, next, end;
	uint64_t count = histogram_bar(latency, at, &from, to), sum = count;
	size_t after = *at;

	while (count > 0 && count <= most) {
		count = histogram_bar(latency, &after, &next, &end);
		if (count == 0 || count > most || power_of(next) != power_of(from))
			break;
		sum += count;
		*to = end;
		*at = after;
	}
	if (*to > latency->maximum)
		*to = latency->maximum;
	return sum;
}

/* The most operations in one bar. */
static uint64_t longest(const struct histogram *latency)
{
	uint64_t to, count, most = 1;
	size_t at = 0;

	while ((count = joined_bar(latency, &at, &to)))
		if (count > most)
			most = count;
	return most;
}

void table_bars_head(char line[TABLE_LINE])
{
	snprintf(line, TABLE_LINE, "%13s %9s %9s", "latency up to", "ops", "share");
}

bool table_bar(
	char line[TABLE_LINE], unsigned int columns, const struct histogram *latency, size_t *at)
{
	uint64_t to, count = joined_bar(latency, at, &to);
	unsigned int used, room, size;

	if (count == 0)
		return false;
	snprintf(line, TABLE_LINE, "%10.2f us %9" PRIu64 " %7.2f %% ", (double)to / 1000, count,
		100 * (double)count / (double)latency->count);
	used = (unsigned int)strlen(line);
	if (columns > TABLE_LINE - 1)
		columns = TABLE_LINE - 1;
	room = columns > used ? columns - used : 0;
	size = (unsigned int)((double)room * (double)count / (double)longest(latency) + 0.5);
	memset(line + used, '#', size);
	line[size ? used + size : used - 1] = '\0';
	return true;
}
