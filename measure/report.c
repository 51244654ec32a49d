/* The results of a measurement: lines of a table, and the document of docs/measurement.schema.json. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/json-document.h"
#include "base/version.h"
#include "host/link-speed.h"
#include "measure/report.h"

/* In a second. */
#define NS 1e9

/* The percentiles of a latency: part of the operations, heading of the table, key of the document. */
static const struct {
	double part;
	const char *name, *key;
} percentiles[] = {
	{0.5, "median", "median"},
	{0.9, "90 %", "p90"},
	{0.99, "99 %", "p99"},
	{0.999, "99.9 %", "p99_9"},
	{0.9999, "99.99 %", "p99_99"},
};

#define PERCENTILES (sizeof(percentiles) / sizeof(percentiles[0]))

/* Units of the rate. */
static const struct {
	const char *name;
	double bytes;
} units[] = {
	[UNIT_MB] = {"MB/s", 1e6},
	[UNIT_MIB] = {"MiB/s", 1048576},
	[UNIT_GBIT] = {"Gb/s", 1e9 / 8},
};

double measurement_rate_of(const struct test_result *result)
{
	return result->nanoseconds ? (double)result->bytes * NS / (double)result->nanoseconds : 0;
}

static double operations_per_second(const struct test_result *result)
{
	return result->nanoseconds ? (double)result->operations * NS / (double)result->nanoseconds
				   : 0;
}

/* Both ends initiate operations. */
static bool measured_both(const struct measured *measured)
{
	return measured->parameters.direction == TEST_BOTH;
}

double measurement_rate(const struct measured *measured)
{
	return measurement_rate_of(&measured->ours) +
	       (measured_both(measured) ? measurement_rate_of(&measured->theirs) : 0);
}

double measurement_wanted(
	const struct options *options, const struct facts *ours, const struct facts *theirs)
{
	const struct options_measure *measure = &options->measure;

	if (!measure->expect_percent)
		return measure->expect;
	return measure->expect * link_speed_of_data(ours, theirs) *
	       (measure->bidirectional ? 2 : 1);
}

/* Room for a number in a column. */
#define RATE 32

/* In the options' unit; a small one, as of few bytes, with more digits. */
static void put_rate(
	char *text, size_t size, const struct options *options, double bytes_per_second)
{
	double rate = bytes_per_second / units[options->measure.unit].bytes;

	snprintf(text, size, "%.*f", options->measure.unit == UNIT_GBIT || rate < 10 ? 3 : 1, rate);
}

void measurement_rate_text(
	char *text, size_t size, const struct options *options, double bytes_per_second)
{
	char rate[RATE];

	put_rate(rate, sizeof(rate), options, bytes_per_second);
	snprintf(text, size, "%s %s", rate, units[options->measure.unit].name);
}

static const char *waiting(const struct test_parameters *parameters)
{
	return parameters->wait == TEST_SPIN ? "spin" : "event";
}

/* CPU seconds of one end for each GB of both directions. */
static double cpu_per_gb(const struct measured *measured, const struct test_result *end)
{
	uint64_t bytes =
		measured->ours.bytes + (measured_both(measured) ? measured->theirs.bytes : 0);

	return bytes ? (double)end->cpu_nanoseconds / (double)bytes : 0;
}

bool measurement_head(
	char line[MEASUREMENT_LINE], const struct options *options, unsigned int index)
{
	const char *unit = units[options->measure.unit].name;
	int used;

	if (index > 1 || (index == 1 && options->measure.latency))
		return false;
	if (options->measure.latency) {
		used = snprintf(
			line, MEASUREMENT_LINE, "%10s %12s %10s", "bytes", "operations", "min us");
		for (size_t i = 0; i < PERCENTILES; i++)
			used += snprintf(line + used, MEASUREMENT_LINE - (size_t)used, " %10s",
				percentiles[i].name);
		snprintf(line + used, MEASUREMENT_LINE - (size_t)used, " %10s %6s", "max us",
			"poll");
	} else if (index == 0)
		snprintf(line, MEASUREMENT_LINE, "%10s %12s %11s %11s %11s %11s %15s %6s %6s",
			"bytes", "operations", "average", "worst", "best", "messages", "CPU s/GB",
			"depth", "poll");
	else
		snprintf(line, MEASUREMENT_LINE, "%10s %12s %11s %11s %11s %11s %7s %7s", "", "",
			unit, unit, unit, "1/s", "here", "there");
	return true;
}

/* An interval's rate, if it is known. */
static void put_interval(
	char text[RATE], const struct options *options, bool known, uint64_t bytes_per_second)
{
	if (known)
		put_rate(text, RATE, options, (double)bytes_per_second);
	else
		snprintf(text, RATE, "-");
}

/* CPU seconds for each GB: many, if operations are small. */
static void put_cpu(char text[RATE], const struct measured *measured, const struct test_result *end)
{
	double seconds = cpu_per_gb(measured, end);

	snprintf(text, RATE, "%.*f", seconds < 1000 ? 2 : 0, seconds);
}

static void bandwidth_row(char line[MEASUREMENT_LINE], const struct options *options,
	const struct measured *measured, bool back)
{
	const struct test_result *result = back ? &measured->theirs : &measured->ours;
	char average[RATE], worst[RATE], best[RATE], here[RATE], there[RATE];

	put_rate(average, sizeof(average), options, measurement_rate_of(result));
	put_interval(worst, options, result->best, result->worst);
	put_interval(best, options, result->best, result->best);
	put_cpu(here, measured, &measured->ours);
	put_cpu(there, measured, &measured->theirs);
	snprintf(line, MEASUREMENT_LINE,
		"%10" PRIu32 " %12" PRIu64 " %11s %11s %11s %11.0f %7s %7s %6" PRIu32 " %6s%s",
		measured->parameters.size, result->operations, average, worst, best,
		operations_per_second(result), here, there, measured->parameters.depth,
		waiting(&measured->parameters),
		!measured_both(measured) ? ""
		: back                   ? "  back"
					 : "  there");
}

static double microseconds(uint64_t nanoseconds)
{
	return (double)nanoseconds / 1000;
}

bool measurement_row(char line[MEASUREMENT_LINE], const struct options *options,
	const struct measured *measured, unsigned int index)
{
	const struct histogram *latency = measured->latency;
	int used;

	if (index > (unsigned int)measured_both(measured))
		return false;
	if (!latency) {
		bandwidth_row(line, options, measured, index == 1);
		return true;
	}
	used = snprintf(line, MEASUREMENT_LINE, "%10" PRIu32 " %12" PRIu64 " %10.2f",
		measured->parameters.size, latency->count, microseconds(latency->minimum));
	for (size_t i = 0; i < PERCENTILES; i++)
		used += snprintf(line + used, MEASUREMENT_LINE - (size_t)used, " %10.2f",
			microseconds(histogram_percentile(latency, percentiles[i].part)));
	snprintf(line + used, MEASUREMENT_LINE - (size_t)used, " %10.2f %6s",
		microseconds(latency->maximum), waiting(&measured->parameters));
	return true;
}

bool measurement_bar(char line[MEASUREMENT_LINE], const struct histogram *latency, size_t *at)
{
	uint64_t from, to, count = histogram_bar(latency, at, &from, &to);
	double part = (double)count / (double)latency->count;

	if (count == 0)
		return false;
	snprintf(line, MEASUREMENT_LINE, "%12.2f us %12" PRIu64 " %7.3f %% %.*s",
		microseconds(from), count, part * 100, (int)(part * 60 + 0.5),
		"############################################################");
	return true;
}

/* The document. */

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

/* A peer may claim any rate. */
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
	       add_decimal_or_null(end, "operations_per_second", operations_per_second(result)) &&
	       add_decimal(end, "cpu_seconds", (double)result->cpu_nanoseconds / NS) &&
	       add_decimal(end, "cpu_seconds_per_gb", cpu_per_gb(measured, result)) &&
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
	for (size_t i = 0; i < PERCENTILES; i++)
		if (!document_add_number(times, percentiles[i].key,
			    histogram_percentile(latency, percentiles[i].part)))
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
	       document_add_text(object, "poll", waiting(parameters)) &&
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
