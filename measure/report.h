/* Results of a measurement: its rates and its JSON document. Pure functions. Any thread. */
#ifndef MEASURE_REPORT_H
#define MEASURE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/output.h"
#include "cli/startup.h"
#include "host/counters.h"
#include "host/facts.h"
#include "measure/threads.h"

struct json_object;

/* Size of the name of this host, with terminator: HOST_NAME_MAX of limits.h. */
#define MEASUREMENT_HOST_NAME 65

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
	uint32_t best_size;               /* the size of operations that reached it */
	uint64_t lowest;                  /* lowest median latency, nanoseconds; 0: none yet */
	uint32_t lowest_size;
	char host_name[MEASUREMENT_HOST_NAME]; /* of this host */
	time_t start;
};

/* The reported percentiles. */
#define MEASUREMENT_PERCENTILES 5

extern const struct measurement_percentile {
	double part; /* of the operations */
	const char *name, *key;
} measurement_percentiles[MEASUREMENT_PERCENTILES];

/* The rate of one end in bytes per second; 0 if it moved no data. */
double measurement_rate_of(const struct test_result *result);

/* The operations per second that one end initiated; 0 if it initiated none. */
double measurement_operations(const struct test_result *result);

/* CPU seconds used by this end per GB transferred in both directions. */
double measurement_cpu_per_gb(const struct measured *measured, const struct test_result *end);

/* True if both ends initiate operations. */
bool measurement_both(const struct measured *measured);

/* The method of waiting, as a choice of --poll. */
const char *measurement_waiting(enum test_wait wait);

/* The combined rate of both directions in bytes per second. */
double measurement_rate(const struct measured *measured);

/*
 * The combined rate of both directions that --expect requires, in bytes per second; 0 without
 * --expect, or for a percentage of an unknown link rate.
 */
double measurement_wanted(
	const struct options *options, const struct facts *ours, const struct facts *theirs);

/* True if the unit of rates is operations: for atomic operations, unless --unit is given. */
bool measurement_counts_operations(const struct options *options);

/* A rate as a number of the requested unit, and the unit's name. */
double measurement_in_unit(const struct options *options, double bytes_per_second);
const char *measurement_unit(const struct options *options);

/* Formats a rate in the requested unit: "199.1 MB/s". */
void measurement_rate_text(
	char *text, size_t size, const struct options *options, double bytes_per_second);

/* The outcome in one word: "measured", "slow", "damaged" or "failed". Constant. */
const char *measurement_verdict(const struct failure *failure);

/* One test as a JSON object. NULL: out of memory. */
struct json_object *measurement_json(const struct measured *measured, bool histogram);

/* The JSON document; error is the failure's message or NULL. NULL: out of memory. */
struct json_object *measurement_document(
	const struct measurement *measurement, const char *message);

#endif
