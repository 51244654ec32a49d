#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host/link-speed.h"
#include "measure/table.h"

#define NS 1e9

const struct measurement_percentile measurement_percentiles[MEASUREMENT_PERCENTILES] = {
	{0.5, "median", "median"},
	{0.9, "90 %", "p90"},
	{0.99, "99 %", "p99"},
	{0.999, "99.9 %", "p99_9"},
	{0.9999, "99.99 %", "p99_99"},
};

/* Units of the rate. Static. */
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

double measurement_operations_of(const struct test_result *result)
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

const char *measurement_waiting(const struct test_parameters *parameters)
{
	return parameters->wait == TEST_SPIN ? "spin" : "event";
}

double measurement_cpu_per_gb(const struct measured *measured, const struct test_result *end)
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
		for (size_t i = 0; i < MEASUREMENT_PERCENTILES; i++)
			used += snprintf(line + used, MEASUREMENT_LINE - (size_t)used, " %10s",
				measurement_percentiles[i].name);
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
	double seconds = measurement_cpu_per_gb(measured, end);

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
		measurement_operations_of(result), here, there, measured->parameters.depth,
		measurement_waiting(&measured->parameters),
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
	for (size_t i = 0; i < MEASUREMENT_PERCENTILES; i++)
		used += snprintf(line + used, MEASUREMENT_LINE - (size_t)used, " %10.2f",
			microseconds(
				histogram_percentile(latency, measurement_percentiles[i].part)));
	snprintf(line + used, MEASUREMENT_LINE - (size_t)used, " %10.2f %6s",
		microseconds(latency->maximum), measurement_waiting(&measured->parameters));
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
