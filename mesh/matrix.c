/* See mesh/matrix.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "mesh/matrix.h"

/* The widest name of a host, and a number with its blank. */
#define NAME_MAX_WIDTH 16
#define NUMBER_WIDTH   6

struct table {
	const struct mesh_results *results;
	const struct verdict *verdict;
	int name_width;
	double unit; /* bytes per second */
	int digits;  /* after the decimal point */
};

/* The name of a host, shortened at its end. */
static void add_name(char line[MATRIX_LINE], const struct table *table, unsigned int host)
{
	text_append(line, MATRIX_LINE, "%*.*s", table->name_width, table->name_width,
		table->results->list->names[host]);
}

/* Chooses the unit so that the typical rate has at most three digits before the point. */
static const char *choose_unit(struct table *table)
{
	static const struct {
		const char *name;
		double bytes;
	} units[] = {{"GB/s", 1e9}, {"MB/s", 1e6}, {"kB/s", 1e3}};
	double most = 0;
	size_t i = 0;

	for (unsigned int from = 0; from < table->results->list->count; from++)
		for (unsigned int to = 0; to < table->results->list->count; to++)
			most = fmax(most, (double)results_bandwidth(table->results, from, to)
						  ->bytes_per_second);
	while (i < 2 && most < units[i].bytes)
		i++;
	table->unit = units[i].bytes;
	table->digits = most / table->unit < 100 ? 1 : 0;
	return units[i].name;
}

static void add_number(
	char line[MATRIX_LINE], const struct table *table, unsigned int from, unsigned int to)
{
	const struct mesh_result *result = results_bandwidth(table->results, from, to);

	if (from == to)
		text_append(line, MATRIX_LINE, "%*s", NUMBER_WIDTH, ".");
	else if (result->state == MESH_GOOD)
		text_append(line, MATRIX_LINE, "%*.*f", NUMBER_WIDTH, table->digits,
			(double)result->bytes_per_second / table->unit);
	else
		text_append(line, MATRIX_LINE, "%*s", NUMBER_WIDTH,
			result->state == MESH_BROKEN ? "fail" : "?");
}

/* Healthy, tenths of the typical rate, failed or not measured. */
static char sign_of(const struct table *table, unsigned int from, unsigned int to)
{
	const struct mesh_result *result = results_bandwidth(table->results, from, to);
	const struct localisation *by = &table->verdict->bandwidth;
	size_t cell = (size_t)from * by->hosts + to;
	int tenths;

	if (from == to)
		return '\\';
	if (result->state != MESH_GOOD)
		return result->state == MESH_BROKEN ? 'x' : '?';
	if (!by->low[cell])
		return '.';
	tenths = (int)(10 * exp(by->values[cell] - by->typical));
	return (char)('0' + (tenths > 9 ? 9 : tenths));
}

/* The numbers of the columns, one digit on each line: tens and units. */
static void print_head(const struct table *table, bool numbers,
	void (*print)(void *context, const char *line), void *context)
{
	unsigned int hosts = table->results->list->count;

	for (unsigned int power = numbers ? 1 : hosts > 100 ? 100 : 10; power > 0; power /= 10) {
		char line[MATRIX_LINE] = "";

		text_append(line, sizeof(line), "%*s", table->name_width + (numbers ? 0 : 4),
			numbers      ? "to"
			: power == 1 ? "to "
				     : "");
		for (unsigned int to = 0; to < hosts; to++)
			if (numbers)
				text_append(line, sizeof(line), " %*.*s", NUMBER_WIDTH - 1,
					NUMBER_WIDTH - 1, table->results->list->names[to]);
			else
				text_append(line, sizeof(line), "%c",
					power > 1 && to + 1 < power
						? ' '
						: (char)('0' + (to + 1) / power % 10));
		print(context, line);
	}
}

void matrix_print(const struct mesh_results *results, const struct verdict *verdict,
	unsigned int columns, void (*print)(void *context, const char *line), void *context)
{
	struct table table = {.results = results, .verdict = verdict};
	unsigned int hosts = results->list->count;
	const char *unit = choose_unit(&table);
	char line[MATRIX_LINE];
	bool numbers;

	for (unsigned int i = 0; i < hosts; i++)
		if ((int)strlen(results->list->names[i]) > table.name_width)
			table.name_width = (int)strlen(results->list->names[i]);
	if (table.name_width > NAME_MAX_WIDTH)
		table.name_width = NAME_MAX_WIDTH;
	numbers = (unsigned int)table.name_width + NUMBER_WIDTH * hosts <= columns;
	if (!numbers && (unsigned int)table.name_width + 4 + hosts > columns) {
		print(context,
			"the matrix of so many hosts does not fit here: use --html or --json");
		return;
	}
	if (numbers)
		snprintf(line, sizeof(line),
			"%s from the host of the row to that of the column:", unit);
	else
		snprintf(line, sizeof(line),
			". healthy, 0-9 tenths of the typical rate, x failed, ? not measured:");
	print(context, line);
	print_head(&table, numbers, print, context);
	for (unsigned int from = 0; from < hosts; from++) {
		*line = '\0';
		add_name(line, &table, from);
		if (!numbers)
			text_append(line, sizeof(line), "%3u ", from + 1);
		for (unsigned int to = 0; to < hosts; to++)
			if (numbers)
				add_number(line, &table, from, to);
			else
				text_append(line, sizeof(line), "%c", sign_of(&table, from, to));
		print(context, line);
	}
}
