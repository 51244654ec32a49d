/* What a measurement has found, as JSON: docs/measurement.schema.json. */
#include <json-c/json.h>
#include <stdio.h>

#include "base/json-document.h"
#include "base/version.h"
#include "host/link-speed.h"
#include "measure/table.h"

/* Of them in a second: of nanoseconds, of milliseconds. */
#define NS 1e9
#define MS 1e3

/* The least number above 0 that is written; what is less would be 0. */
#define LEAST 1e-9

/* A number with its fraction, as everybody writes it. */
static bool add_decimal(struct json_object *object, const char *key, double number)
{
	char text[340];

	snprintf(text, sizeof(text), "%.9f", number);
	return document_add_value(object, key, json_object_new_double_s(number, text));
}

/* A peer may claim to be faster than any number tells. */
static bool add_rate_or_null(struct json_object *object, const char *key, double rate)
{
	return document_add_known(object, key, rate < 1e18 ? (uint64_t)rate : (uint64_t)1e18);
}

static bool add_decimal_or_null(struct json_object *object, const char *key, double number)
{
	return number >= LEAST ? add_decimal(object, key, number) : document_add(object, key, NULL);
}

/* Best and worst are known together; the worst may be nothing at all. */
static bool add_intervals(struct json_object *end, const struct test_result *result)
{
	static const char worst[] = "worst_interval_bytes_per_second";

	return (result->best ? document_add_number(end, worst, result->worst)
			     : document_add(end, worst, NULL)) &&
	       document_add_known(end, "best_interval_bytes_per_second", result->best);
}

static bool add_result(struct json_object *object, const char *key, const struct measured *measured,
	const struct test_result *result)
{
	struct json_object *end = document_add_object(object, key);

	return end && document_add_number(end, "operations", result->operations) &&
	       document_add_number(end, "bytes", result->bytes) &&
	       add_decimal(end, "seconds", (double)result->nanoseconds / NS) &&
	       add_rate_or_null(end, "bytes_per_second", measurement_rate_of(result)) &&
	       add_intervals(end, result) &&
	       add_decimal_or_null(
		       end, "operations_per_second", measurement_operations_of(result)) &&
	       add_decimal(end, "cpu_seconds", (double)result->cpu_nanoseconds / NS) &&
	       add_decimal(end, "cpu_seconds_per_gb", measurement_cpu_per_gb(measured, result)) &&
	       document_add_number(end, "wrong_operations", result->wrong);
}

static bool add_histogram(struct json_object *object, const struct histogram *latency)
{
	struct json_object *bars = document_add_array(object, "histogram"), *bar;
	uint64_t from, to, count;
	size_t at = 0;

	while ((count = histogram_bar(latency, &at, &from, &to))) {
		bar = bars ? document_append_object(bars) : NULL;
		if (!bar || !document_add_number(bar, "from_ns", from) ||
			!document_add_number(bar, "to_ns", to) ||
			!document_add_number(bar, "operations", count))
			return false;
	}
	return bars;
}

static bool add_latency(struct json_object *object, const struct histogram *latency, bool histogram)
{
	struct json_object *times = document_add_object(object, "latency_ns");

	if (!times || !document_add_number(times, "minimum", latency->minimum) ||
		!document_add_number(times, "maximum", latency->maximum))
		return false;
	for (size_t i = 0; i < MEASUREMENT_PERCENTILES; i++)
		if (!document_add_number(times, measurement_percentiles[i].key,
			    histogram_percentile(latency, measurement_percentiles[i].part)))
			return false;
	return histogram ? add_histogram(times, latency) : document_add(times, "histogram", NULL);
}

static bool fill(struct json_object *object, const struct measured *measured, bool histogram)
{
	const struct test_parameters *parameters = &measured->parameters;

	return document_add_number(object, "size_bytes", parameters->size) &&
	       document_add_number(object, "threads", measured->threads) &&
	       document_add_number(object, "queue_pairs", parameters->queue_pairs) &&
	       document_add_number(object, "depth", parameters->depth) &&
	       document_add_boolean(object, "bidirectional", parameters->direction == TEST_BOTH) &&
	       document_add_boolean(object, "verified", parameters->verify) &&
	       document_add_text(object, "poll", measurement_waiting(parameters)) &&
	       add_rate_or_null(object, "bytes_per_second", measurement_rate(measured)) &&
	       add_result(object, "here", measured, &measured->ours) &&
	       add_result(object, "there", measured, &measured->theirs) &&
	       (measured->latency && measured->latency->count
			       ? add_latency(object, measured->latency, histogram)
			       : document_add(object, "latency_ns", NULL));
}

struct json_object *measurement_json(const struct measured *measured, bool histogram)
{
	struct json_object *object = json_object_new_object();

	return document_filled(object, object && fill(object, measured, histogram));
}

static bool add_asked(struct json_object *document, const struct options *options)
{
	static const char *const polls[] = {
		[POLL_AUTO] = "auto", [POLL_SPIN] = "spin", [POLL_EVENT] = "event"};
	const struct options_measure *measure = &options->measure;
	uint64_t iterations = measure->iterations;
	struct json_object *object = document_add_object(document, "asked");

	return object && document_add_number(object, "smallest_bytes", measure->smallest) &&
	       document_add_number(object, "largest_bytes", measure->largest) &&
	       document_add_known(object, "iterations", iterations) &&
	       add_decimal_or_null(object, "duration_seconds",
		       iterations ? 0 : (double)measure->duration / MS) &&
	       add_decimal(object, "warm_up_seconds", (double)measure->warm_up / MS) &&
	       document_add_number(object, "threads", measure->threads) &&
	       document_add_number(object, "queue_pairs", measure->queue_pairs) &&
	       document_add_known(object, "depth", options->depth) &&
	       document_add_boolean(object, "bidirectional", measure->bidirectional) &&
	       document_add_boolean(object, "verify", measure->verify) &&
	       document_add_text(object, "poll", polls[measure->poll]) &&
	       add_decimal_or_null(object, "expect_bytes_per_second",
		       measure->expect_percent ? 0 : measure->expect) &&
	       add_decimal_or_null(object, "expect_percent",
		       measure->expect_percent ? 100 * measure->expect : 0) &&
	       document_add_boolean(object, "secret", options->secret_file) &&
	       add_decimal(object, "timeout_seconds", (double)options->timeout / MS);
}

static bool add_counters(
	struct json_object *object, const char *key, const struct counters *counters)
{
	return counters ? document_add_value(object, key, counters_json(counters))
			: document_add(object, key, NULL);
}

static bool add_counted(struct json_object *object, const struct measurement_report *report)
{
	struct json_object *counted = document_add_object(object, "counters");

	return counted && add_counters(counted, "here", report->our_counters) &&
	       add_counters(counted, "there", report->their_counters);
}

static bool fill_document(struct json_object *object, const struct measurement_report *report)
{
	const struct options *options = report->options;

	return document_add_number(object, "schema", 1) &&
	       document_add_text(object, "program", report->program) &&
	       document_add_text(object, "version", PROJECT_VERSION) &&
	       document_add_text(
		       object, "measured", options->measure.latency ? "latency" : "bandwidth") &&
	       document_add_text(object, "mode", options->mode->name) &&
	       document_add_text(object, "host", options->host) &&
	       document_add_number(object, "port", options->port) &&
	       document_add_number(object, "status", report->status) &&
	       document_add_text(object, "error", report->error) && add_asked(object, options) &&
	       add_rate_or_null(object, "link_bytes_per_second",
		       link_speed_of_data(report->ours, report->theirs)) &&
	       document_add_value(object, "here", facts_json(report->ours)) &&
	       document_add_value(object, "there", facts_json(report->theirs)) &&
	       document_add_value(object, "results", json_object_get(report->results)) &&
	       add_counted(object, report);
}

struct json_object *measurement_document(const struct measurement_report *report)
{
	struct json_object *object = json_object_new_object();

	return document_filled(object, object && fill_document(object, report));
}
