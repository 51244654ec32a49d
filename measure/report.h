/* Results of a measurement, as a table and as JSON. Pure functions. Any thread. */
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

/* Maximum size of a table line, with terminator. */
#define MEASUREMENT_LINE 512

struct measurement {
	const struct options *options;
	struct output output;
	char peer[SERVER_NAME_SIZE];
	struct test_threads threads;
	struct facts ours, theirs;
	struct counters our_counters, their_counters; /* at the start; later the increase */
	bool counted;                                 /* the counters are increases */
	enum test_wait wait;                          /* how both ends wait, in all tests */
	struct histogram latency;
	struct json_object *results;      /* array of measurement_json() */
	uint64_t wrong_here, wrong_there; /* operations with wrong data */
	double best;                      /* best rate, bytes per second */
};

/*
 * Formats line `index`, from 0, of the table's heading or of a test's result, which has a line per
 * direction. Returns false after the last line.
 */
bool measurement_head(
	char line[MEASUREMENT_LINE], const struct options *options, unsigned int index);
bool measurement_row(char line[MEASUREMENT_LINE], const struct options *options,
	const struct measured *measured, unsigned int index);

/* Formats the next bar of a histogram; set *at to 0 first. Returns false after the last bar. */
bool measurement_bar(char line[MEASUREMENT_LINE], const struct histogram *latency, size_t *at);

/* The rate of one end in bytes per second; 0 if it moved no data. */
double measurement_rate_of(const struct test_result *result);

/* The combined rate of both directions in bytes per second. */
double measurement_rate(const struct measured *measured);

/*
 * The combined rate of both directions that --expect requires, in bytes per second; 0 without
 * --expect, or for a percentage of an unknown link rate.
 */
double measurement_wanted(
	const struct options *options, const struct facts *ours, const struct facts *theirs);

/* Formats a rate in the requested unit: "199.1 MB/s". */
void measurement_rate_text(
	char *text, size_t size, const struct options *options, double bytes_per_second);

/* One test as a JSON object. NULL: out of memory. */
struct json_object *measurement_json(const struct measured *measured, bool histogram);

/* The JSON document; error is the failure's message or NULL. NULL: out of memory. */
struct json_object *measurement_document(const struct measurement *measurement, const char *error);

#endif
