/*
 * See measure/metrics.h. The values of each size are those of its JSON object; a value that is
 * unknown is left out.
 */
#include <json-c/json.h>
#include <stdio.h>

#include "base/explain.h"
#include "base/json-document.h"
#include "base/metrics-file.h"
#include "host/facts.h"
#include "measure/metrics.h"

/* Size of a number of bytes as a label, with terminator. */
#define SIZE_TEXT 24

/* The words of measurement_verdict(). */
static const char *const verdicts[] = {"measured", "slow", "damaged", "failed", NULL};

struct family {
	const char *name, *help;
	const char *path; /* in the JSON object of a result; NULL: no more families */
	double unit;
};

static const struct family bandwidth_families[] = {
	{"bytes_per_second", "Rate, of both directions together if both are measured.",
		"bytes_per_second", 1},
	{"operations_per_second", "Operations of this host.", "here.operations_per_second", 1},
	{0},
};

static const struct family latency_families[] = {
	{"minimum_seconds", "Shortest latency.", "latency_ns.minimum", 1e-9},
	{"median_seconds", "Median latency.", "latency_ns.median", 1e-9},
	{"p99_seconds", "99th percentile of the latencies.", "latency_ns.p99", 1e-9},
	{"maximum_seconds", "Longest latency.", "latency_ns.maximum", 1e-9},
	{0},
};

static void put_family(struct metrics_file *metrics, const struct measurement *measurement,
	const struct family *family)
{
	size_t count = json_object_array_length(measurement->results);
	bool begun = false;

	for (size_t i = 0; i < count; i++) {
		struct json_object *result = json_object_array_get_idx(measurement->results, i);
		double value = json_object_get_double(document_find(result, family->path));
		char size[SIZE_TEXT];

		if (value <= 0)
			continue;
		if (!begun)
			metrics_file_family(metrics, family->name, family->help);
		begun = true;
		snprintf(size, sizeof(size), "%llu",
			(unsigned long long)json_object_get_int64(
				document_find(result, "size_bytes")));
		metrics_file_value(
			metrics, &(struct metrics_label){"size", size}, value * family->unit);
	}
}

static void put_labels(struct metrics_file *metrics, const struct measurement *measurement)
{
	const struct options *options = measurement->options;
	const char *device = facts_value(&measurement->ours, "device");
	const struct metrics_label labels[] = {
		{"host", measurement->host_name},
		{"peer", options->host},
		{"device", device ? device : options->device},
		{"bootstrap", options->bootstrap == BOOTSTRAP_TCP ? "tcp" : "rdmacm"},
		{"operation", options->operation->name},
	};

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		metrics->labels[i] = labels[i];
}

static void put_all(struct metrics_file *metrics, const struct measurement *measurement)
{
	const struct failure *failure = &measurement->threads.failure;
	const struct metrics_outcome outcome = {
		verdicts, measurement_verdict(failure), explain_status(failure)};
	bool latency = measurement->options->measure.latency;

	metrics->prefix = latency ? "rdma_latency_" : "rdma_bandwidth_";
	put_labels(metrics, measurement);
	metrics_file_outcome(metrics, &outcome);
	for (const struct family *family = latency ? latency_families : bandwidth_families;
		family->path; family++)
		put_family(metrics, measurement, family);
}

enum exit_status measurement_metrics_write(
	const struct measurement *measurement, enum exit_status status)
{
	const char *path = measurement->options->metrics;
	struct metrics_file metrics;
	int error = metrics_file_open(&metrics, path);

	if (!error) {
		put_all(&metrics, measurement);
		error = metrics_file_close(&metrics);
	}
	return metrics_file_status(&measurement->output, path, error, status);
}
