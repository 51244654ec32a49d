/* Results of a measurement: rates and the document of docs/measurement.schema.json. */
#include <json-c/json.h>
#include <stdio.h>

#include "base/envelope.h"
#include "base/explain.h"
#include "base/json-document.h"
#include "host/link-speed.h"
#include "measure/report.h"

/* Nanoseconds per second. */
#define NS 1e9

const struct measurement_percentile measurement_percentiles[MEASUREMENT_PERCENTILES] = {
	{0.5, "median", "median"},
	{0.9, "90 %", "p90"},
	{0.99, "99 %", "p99"},
	{0.999, "99.9 %", "p99_9"},
	{0.9999, "99.99 %", "p99_99"},
};

/* Units of the rate. */
static const struct unit {
	const char *name;
	double bytes;
} units[] = {
	[UNIT_MB] = {"MB/s", 1e6},
	[UNIT_MIB] = {"MiB/s", 1048576},
	[UNIT_GBIT] = {"Gb/s", 1e9 / 8},
};

static double per_second(const struct test_result *result, uint64_t number)
{
	return result->nanoseconds ? (double)number * NS / (double)result->nanoseconds : 0;
}

double measurement_rate_of(const struct test_result *result)
{
	return per_second(result, result->bytes);
}

double measurement_operations(const struct test_result *result)
{
	return per_second(result, result->operations);
}

bool measurement_both(const struct measured *measured)
{
	return measured->parameters.direction == TEST_BOTH;
}

double measurement_rate(const struct measured *measured)
{
	return measurement_rate_of(&measured->ours) +
	       (measurement_both(measured) ? measurement_rate_of(&measured->theirs) : 0);
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

bool measurement_counts_operations(const struct options *options)
{
	return options->operation->atomic && options->measure.unit == UNIT_AUTO;
}

static const struct unit *unit_of(const struct options *options)
{
	static const struct unit thousands = {"kops/s", 1e3 * TEST_ATOMIC_SIZE};

	if (measurement_counts_operations(options))
		return &thousands;
	return &units[options->measure.unit == UNIT_AUTO ? UNIT_MB : options->measure.unit];
}

double measurement_in_unit(const struct options *options, double bytes_per_second)
{
	return bytes_per_second / unit_of(options)->bytes;
}

const char *measurement_unit(const struct options *options)
{
	return unit_of(options)->name;
}

void measurement_rate_text(
	char *text, size_t size, const struct options *options, double bytes_per_second)
{
	double rate = measurement_in_unit(options, bytes_per_second);

	snprintf(text, size, "%.*f %s", options->measure.unit == UNIT_GBIT || rate < 10 ? 3 : 1,
		rate, measurement_unit(options));
}

const char *measurement_waiting(enum test_wait wait)
{
	return wait == TEST_EVENT ? "event" : "spin";
}

double measurement_cpu_per_gb(const struct measured *measured, const struct test_result *end)
{
	uint64_t bytes =
		measured->ours.bytes + (measurement_both(measured) ? measured->theirs.bytes : 0);

	return bytes ? (double)end->cpu_nanoseconds / (double)bytes : 0;
}

/* The JSON document. */

#define MS 1e3

/* Smaller numbers would be written as 0. */
#define LEAST 1e-9

/* Digits after the decimal point. */
#define FRACTION_DIGITS 9

static void add_decimal(struct json_object *object, const char *key, double number)
{
	document_add_decimal(object, key, number, FRACTION_DIGITS);
}

static void add_decimal_or_null(struct json_object *object, const char *key, double number)
{
	if (number >= LEAST)
		add_decimal(object, key, number);
	else
		document_add_null(object, key);
}

/* The peer may report an arbitrary rate, so the value is limited. */
static void add_rate_or_null(struct json_object *object, const char *key, double rate)
{
	document_add_known(object, key, rate < 1e18 ? (uint64_t)rate : (uint64_t)1e18);
}

static struct json_object *result_json(
	const struct measured *measured, const struct test_result *result)
{
	struct json_object *object = json_object_new_object();

	document_add_number(object, "operations", result->operations);
	document_add_number(object, "bytes", result->bytes);
	add_decimal(object, "seconds", (double)result->nanoseconds / NS);
	add_rate_or_null(object, "bytes_per_second", measurement_rate_of(result));
	/* Both rates are known if the best is nonzero; the worst may be 0. */
	document_add_number_if(
		object, "worst_interval_bytes_per_second", result->best != 0, result->worst);
	document_add_known(object, "best_interval_bytes_per_second", result->best);
	add_decimal_or_null(object, "operations_per_second", measurement_operations(result));
	add_decimal(object, "cpu_seconds", (double)result->cpu_nanoseconds / NS);
	add_decimal(object, "cpu_seconds_per_gb", measurement_cpu_per_gb(measured, result));
	document_add_number(object, "wrong_operations", result->wrong);
	document_add_number_if(object, "lost_operations",
		test_parameters_lossy(&measured->parameters), result->lost);
	return object;
}

static struct json_object *histogram_json(const struct histogram *latency)
{
	struct json_object *bars = json_object_new_array();
	uint64_t from, to, count;
	size_t at = 0;

	while ((count = histogram_bar(latency, &at, &from, &to))) {
		struct json_object *bar = json_object_new_object();

		document_add_number(bar, "from_ns", from);
		document_add_number(bar, "to_ns", to);
		document_add_number(bar, "operations", count);
		document_append(bars, bar);
	}
	return bars;
}

static struct json_object *latency_json(const struct histogram *latency, bool histogram)
{
	struct json_object *object = json_object_new_object();

	document_add_number(object, "minimum", latency->minimum);
	document_add_number(object, "maximum", latency->maximum);
	for (size_t i = 0; i < MEASUREMENT_PERCENTILES; i++)
		document_add_number(object, measurement_percentiles[i].key,
			histogram_percentile(latency, measurement_percentiles[i].part));
	if (histogram)
		document_add(object, "histogram", histogram_json(latency));
	else
		document_add_null(object, "histogram");
	return object;
}

struct json_object *measurement_json(const struct measured *measured, bool histogram)
{
	const struct test_parameters *parameters = &measured->parameters;
	struct json_object *object = json_object_new_object();

	document_add_number(object, "size_bytes", parameters->size);
	document_add_number(object, "threads", measured->threads);
	document_add_number(object, "queue_pairs", parameters->queue_pairs);
	document_add_number(object, "depth", parameters->depth);
	document_add_boolean(object, "bidirectional", measurement_both(measured));
	document_add_boolean(object, "verified", parameters->verify);
	document_add_text(object, "poll", measurement_waiting(parameters->wait));
	add_rate_or_null(object, "bytes_per_second", measurement_rate(measured));
	document_add(object, "here", result_json(measured, &measured->ours));
	document_add(object, "there", result_json(measured, &measured->theirs));
	if (measured->latency && measured->latency->count)
		document_add(object, "latency_ns", latency_json(measured->latency, histogram));
	else
		document_add_null(object, "latency_ns");
	return document_filled(object);
}

static struct json_object *asked_json(const struct options *options)
{
	static const char *const polls[] = {
		[POLL_AUTO] = "auto", [POLL_SPIN] = "spin", [POLL_EVENT] = "event"};
	static const char *const transports[] = {
		[TEST_RC] = "rc", [TEST_UC] = "uc", [TEST_UD] = "ud"};
	static const char *const orderings[] = {
		[ORDERING_AUTO] = "auto", [ORDERING_RELAXED] = "on", [ORDERING_STRICT] = "off"};
	const struct options_measure *measure = &options->measure;
	double duration = measure->iterations ? 0 : (double)measure->duration / MS;
	double rate = measure->expect_percent ? 0 : measure->expect;
	double percent = measure->expect_percent ? 100 * measure->expect : 0;
	struct json_object *object = json_object_new_object();

	document_add_number(object, "smallest_bytes", measure->smallest);
	document_add_number(object, "largest_bytes", measure->largest);
	document_add_known(object, "iterations", measure->iterations);
	add_decimal_or_null(object, "duration_seconds", duration);
	add_decimal(object, "warm_up_seconds", (double)measure->warm_up / MS);
	document_add_number(object, "threads", measure->threads);
	document_add_number(object, "queue_pairs", measure->queue_pairs);
	document_add_known(object, "depth", options->depth);
	document_add_boolean(object, "bidirectional", measure->bidirectional);
	document_add_number_if(
		object, "inline_bytes", measure->inline_below, measure->inline_below - 1);
	document_add_known(object, "signal_every", measure->signal_every);
	document_add_number(object, "sge", measure->gathers ? measure->gathers : 1);
	document_add_boolean(object, "srq", measure->shares);
	document_add_text(object, "transport", transports[measure->transport]);
	document_add_boolean(object, "verify", measure->verify);
	document_add_text(object, "poll", polls[measure->poll]);
	add_decimal_or_null(object, "expect_bytes_per_second", rate);
	add_decimal_or_null(object, "expect_percent", percent);
	document_add_number_if(object, "dscp", options->dscp >= 0, (uint64_t)options->dscp);
	document_add_text(object, "relaxed_ordering", orderings[options->ordering]);
	document_add_boolean(object, "secret", options->secret_file);
	add_decimal(object, "timeout_seconds", (double)options->timeout / MS);
	return object;
}

const char *measurement_verdict(const struct failure *failure)
{
	if (!failure_is_set(failure))
		return "measured";
	if (failure->kind == FAILURE_IMPAIRED && failure->code == IMPAIRED_EXPECTED)
		return "slow";
	return explain_status(failure) == STATUS_DAMAGED ? "damaged" : "failed";
}

struct json_object *measurement_document(const struct measurement *measurement, const char *message)
{
	const struct failure *failure = &measurement->threads.failure;
	const struct options *options = measurement->options;
	const struct facts *ours = &measurement->ours, *theirs = &measurement->theirs;
	bool counted = measurement->counted;
	const struct envelope envelope = {
		.program = measurement->output.program,
		.command = options->measure.latency ? "latency" : "bandwidth",
		.status = explain_status(failure),
		.verdict = measurement_verdict(failure),
		.message = message,
		.failure = failure,
	};
	struct json_object *object = envelope_json(&envelope);

	document_add_text(object, "mode", options->operation->name);
	document_add_text(object, "host", options->host);
	document_add_number(object, "port", options->port);
	document_add(object, "asked", asked_json(options));
	add_rate_or_null(object, "link_bytes_per_second", link_speed_of_data(ours, theirs));
	document_add(object, "here", facts_json(ours));
	document_add(object, "there", facts_json(theirs));
	document_add(object, "results", json_object_get(measurement->results));
	document_add(object, "counters",
		counters_of_both_json(counted ? &measurement->our_counters : NULL,
			counted ? &measurement->their_counters : NULL));
	return document_filled(object);
}
