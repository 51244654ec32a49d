/*
 * What a measurement prints: a title, the facts about both ends (those that are equal once), a row
 * for each size, and the best result. No line has more than 80 columns, except the bars of a
 * histogram on a wider terminal. While a test runs, a terminal shows its row. Main thread.
 */
#ifndef MEASURE_SCREEN_H
#define MEASURE_SCREEN_H

#include "measure/report.h"

/* The columns for lines of text and for tables: no more than 80. */
unsigned int screen_columns(const struct output *output);

/* Prints a line. What does not fit continues below, indented. */
void screen_print_line(const struct output *output, const char *line);

/* Size of a title, with terminator. */
#define SCREEN_TITLE 1024

/* The operation, from where to where data moves, and the time. */
void screen_title(const struct measurement *measurement, char title[SCREEN_TITLE]);

/* Prints everything above the results. The ends are connected, and how they wait is chosen. */
void screen_print_head(const struct measurement *measurement);

/* Prints a result: its rows and, with --histogram, the bars. */
void screen_print_result(const struct measurement *measurement, const struct measured *measured);

/* Prints the counters of both ports, which have become increases. */
void screen_print_counters(const struct measurement *measurement);

/* Prints the best result of all sizes, if there is one. */
void screen_print_best(const struct measurement *measurement);

/* A test that is running. */
struct screen_test {
	const struct measurement *measurement;
	const struct test_parameters *parameters;
	const char *phase; /* before the measured test: what is done; NULL: it is measured */
	uint64_t next;     /* when to show the row again, by test_now() */
};

/* Shows the row of the running test, if standard error is a terminal and it is time to. */
void screen_show_running(struct screen_test *test, uint64_t now);

/* Prints the row of a test that was interrupted, unless nothing was measured. */
void screen_print_interrupted(const struct screen_test *test, uint64_t now);

#endif
