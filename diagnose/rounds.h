/*
 * The rounds of a repeated diagnosis: formats a line for each, which fits the terminal, and counts
 * them for the summary at the end. It neither prints nor reads the clock. One thread at a time.
 */
#ifndef DIAGNOSE_ROUNDS_H
#define DIAGNOSE_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Size of a verdict, and of a line of a round or of the summary, with the terminator. */
#define ROUNDS_VERDICT 512
#define ROUNDS_LINE    1024

/* Different verdicts that are counted apart. */
#define ROUNDS_VERDICTS 8

/* The column of the word "ok" or "failed" in the line of a round, in bytes. */
#define ROUNDS_STATE 10

/* What is measured in each round that succeeds. */
enum rounds_value { ROUNDS_TRIP, ROUNDS_THERE, ROUNDS_BACK, ROUNDS_VALUES };

/* One round. */
struct round {
	bool good;           /* nothing was found broken */
	const char *verdict; /* a sentence: why it failed, or what a good round found out */
	uint64_t
		values[ROUNDS_VALUES]; /* round trip in nanoseconds, bytes per second; 0: unknown */
};

/* All rounds so far; all zero before the first. */
struct rounds {
	unsigned int count, good, changes;
	char last[ROUNDS_VERDICT]; /* verdict of the last round; "": it was good */
	struct rounds_failure {
		char verdict[ROUNDS_VERDICT];
		unsigned int count;
	} failures
		[ROUNDS_VERDICTS]; /* the verdicts of rounds that failed; the first free has count 0 */
	struct rounds_range {
		uint64_t least, most;
		double sum;
		unsigned int count; /* of rounds in which it is known */
	} values[ROUNDS_VALUES];
};

/*
 * Counts a round and writes its line, which is marked "<-- changed" if the round before ended
 * otherwise: with a result instead of a failure, or another failure. On a terminal of this many
 * columns, the line is shortened to fit, down to 40 columns. 0 columns: not on a terminal.
 */
void rounds_add(struct rounds *rounds, const struct round *round, const struct tm *time,
	unsigned int columns, char line[ROUNDS_LINE]);

/*
 * Returns the heading of the columns in which good rounds stand on a terminal of this many columns,
 * or NULL: it is too narrow for them.
 */
const char *rounds_heading(unsigned int columns);

/* Writes two rates, in bytes per second, as "to 29.0 from 28.8 MB/s". Returns the text. */
const char *rounds_format_rates(char text[ROUNDS_LINE], uint64_t to, uint64_t from);

/*
 * Writes the lines of the summary, separated by newlines: the number of rounds in these
 * milliseconds, the failures, and the least, mean and most of each value. Writes "" if there was no
 * round.
 */
void rounds_summary(const struct rounds *rounds, const char *host, int64_t milliseconds, char *text,
	size_t size);

#endif
