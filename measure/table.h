/*
 * The table of a measurement: a row for each message size and direction, in columns whose decimal
 * points are aligned. On a narrow terminal, the less important columns are left out. Pure
 * functions. Any thread.
 */
#ifndef MEASURE_TABLE_H
#define MEASURE_TABLE_H

#include "measure/report.h"

/* The width of a table that is not on a terminal, and the maximum on a terminal. */
#define TABLE_COLUMNS 80

/* Narrower terminals break lines themselves. */
#define TABLE_COLUMNS_MIN 40

/* Maximum size of a line, with terminator. */
#define TABLE_LINE 512

/* Size of a formatted message size. */
#define TABLE_SIZE 16

/* Size of a formatted number. */
#define TABLE_CELL 32

/*
 * Formats a rate as a number of the requested unit. Blanks follow in place of the digits that large
 * rates lack, so that decimal points are aligned.
 */
void table_rate(char cell[TABLE_CELL], const struct options *options, double bytes_per_second);

/* Formats a latency in microseconds; from 100,000 on, without a fraction. */
void table_latency(char cell[TABLE_CELL], double nanoseconds);

/* Formats a message size as --size accepts it: "64K", "1M", "5000". */
const char *table_size(char text[TABLE_SIZE], uint64_t bytes);

/*
 * Formats line `index`, from 0, of the heading: names and units. Returns false after the last line.
 * The table has at most this many columns of text.
 */
bool table_head(char line[TABLE_LINE], const struct options *options, unsigned int columns,
	unsigned int index);

/* Formats line `index` of a result, which has a line per direction. Returns false after the last.
 */
bool table_row(char line[TABLE_LINE], const struct options *options, unsigned int columns,
	const struct measured *measured, unsigned int index);

/*
 * Formats the row of a test that is still running, from the client's result so far, whose CPU time
 * is unknown. `progress` follows it.
 */
void table_running_row(char line[TABLE_LINE], const struct options *options, unsigned int columns,
	const struct measured *measured, const char *progress);

/*
 * Formats the heading of a histogram: the lowest latency of a bar, its operations, and their share
 * of all operations.
 */
void table_bars_head(char line[TABLE_LINE]);

/*
 * Formats the next bar of a histogram; set *at to 0 first. The longest of all bars ends in the last
 * column. Returns false after the last bar.
 */
bool table_bar(
	char line[TABLE_LINE], unsigned int columns, const struct histogram *latency, size_t *at);

#endif
