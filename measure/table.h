/*
 * What a measurement has found, as a table for people and as JSON for programs. Pure. Any thread.
 */
#ifndef MEASURE_TABLE_H
#define MEASURE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"
#include "host/counters.h"
#include "host/facts.h"
#include "measure/histogram.h"
#include "protocol/test-parameters.h"

struct json_object;

/* Room for a line of the table, with its terminator. */
#define MEASUREMENT_LINE 512

/* One run. */
struct measured {
	struct test_parameters parameters;
	struct test_result ours, theirs;
	const struct histogram *latency; /* NULL: bandwidth was measured */
	uint32_t threads;                /* each with the plan's queue pairs */
};

/* The parts of all operations whose times are told: as the table and the document name them. */
#define MEASUREMENT_PERCENTILES 5

extern const struct measurement_percentile {
	double part;
	const char *name, *key;
} measurement_percentiles[MEASUREMENT_PERCENTILES];

/*
 * The lines above the table, by their index from 0; returns false when there is none. And the lines of
 * one run: both directions have one each.
 */
bool measurement_head(
	char line[MEASUREMENT_LINE], const struct options *options, unsigned int index);
bool measurement_row(char line[MEASUREMENT_LINE], const struct options *options,
	const struct measured *measured, unsigned int index);

/* The next bar of the latencies' histogram; *at is 0 at first. Returns false at its end. */
bool measurement_bar(char line[MEASUREMENT_LINE], const struct histogram *latency, size_t *at);

/* Bytes and operations in a second of one end; 0 if it did nothing. */
double measurement_rate_of(const struct test_result *result);
double measurement_operations_of(const struct test_result *result);

/* How the ends learned that something is complete, as --poll has it. Static. */
const char *measurement_waiting(const struct test_parameters *parameters);

/* CPU seconds of one end for each GB that went either way. */
double measurement_cpu_per_gb(const struct measured *measured, const struct test_result *end);

/* Bytes in a second; of both directions the sum. */
double measurement_rate(const struct measured *measured);

/*
 * Bytes in a second that --expect wants, of both directions the sum; 0 if it wants nothing, or a share of
 * a link of which is not known what it can carry.
 */
double measurement_wanted(
	const struct options *options, const struct facts *ours, const struct facts *theirs);

/* Writes a rate in the unit that the options ask for: "199.1 MB/s". */
void measurement_rate_text(
	char *text, size_t size, const struct options *options, double bytes_per_second);

/* The run as an object. NULL: no memory. */
struct json_object *measurement_json(const struct measured *measured, bool histogram);

/* All that a measurement has found. */
struct measurement_report {
	const char *program;
	const struct options *options;
	unsigned int status;               /* the exit status */
	const char *error;                 /* the sentence, NULL if all is well */
	const struct facts *ours, *theirs; /* empty: not found out */
	const struct counters *our_counters, *their_counters; /* NULL: not found out */
	struct json_object *results;                          /* an array of measurement_json() */
};

/* The document. NULL: no memory. */
struct json_object *measurement_document(const struct measurement_report *report);

#endif
