/*
 * The results of a measurement, as a table for people and as JSON for programs. Pure. Any thread.
 */
#ifndef MEASURE_REPORT_H
#define MEASURE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/output.h"
#include "cli/startup.h"
#include "host/counters.h"
#include "host/facts.h"
#include "measure/threads.h"

struct json_object;

/* Room for a line of the table, with its terminator. */
#define MEASUREMENT_LINE 512

struct measurement {
	const struct options *options;
	struct output output;
	char peer[SERVER_NAME_SIZE];
	struct test_threads threads;
	struct facts ours, theirs;
	struct counters our_counters, their_counters; /* before; then what they have increased by */
	bool counted;                                 /* the counters are increases */
	struct histogram latency;
	struct json_object *results;      /* an array of measurement_json() */
	uint64_t wrong_here, wrong_there; /* operations whose data was wrong */
	double best;                      /* bytes per second */
};

/*
 * Writes a line: the heading of the table, by its index from 0, or the result of one test, of which
 * each direction has a line. Returns false when there are no more.
 */
bool measurement_head(
	char line[MEASUREMENT_LINE], const struct options *options, unsigned int index);
bool measurement_row(char line[MEASUREMENT_LINE], const struct options *options,
	const struct measured *measured, unsigned int index);

/* Writes the next bar of a latency histogram; *at is 0 at first. Returns false at its end. */
bool measurement_bar(char line[MEASUREMENT_LINE], const struct histogram *latency, size_t *at);

/* Bytes per second of one end; 0 if it did nothing. */
double measurement_rate_of(const struct test_result *result);

/* Bytes per second, the sum of both directions. */
double measurement_rate(const struct measured *measured);

/*
 * Bytes per second that --expect asks for, the sum of both directions; 0 if it asks for nothing, or
 * for a share of a link whose rate is unknown.
 */
double measurement_wanted(
	const struct options *options, const struct facts *ours, const struct facts *theirs);

/* Writes a rate in the unit that the options ask for: "199.1 MB/s". */
void measurement_rate_text(
	char *text, size_t size, const struct options *options, double bytes_per_second);

/* One test as an object. NULL: no memory. */
struct json_object *measurement_json(const struct measured *measured, bool histogram);

/* The document, with the message of the failure, or NULL. NULL: no memory. */
struct json_object *measurement_document(const struct measurement *measurement, const char *error);

#endif
