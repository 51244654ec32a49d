#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "measurement.h"

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

double measurement_rate_of(const struct tally *tally)
{
	return tally->nanoseconds ? (double)tally->bytes * NS / (double)tally->nanoseconds : 0;
}

double measurement_operations_of(const struct tally *tally)
{
	return tally->nanoseconds ? (double)tally->operations * NS / (double)tally->nanoseconds : 0;
}

double measurement_rate(const struct measured *measured)
{
	return measurement_rate_of(&measured->ours) +
	       (measured->plan.both_ways ? measurement_rate_of(&measured->theirs) : 0);
}

void measurement_rate_text(
	char *text, size_t size, const struct options *options, double bytes_per_second)
{
	snprintf(text, size, "%.*f %s", options->measure.unit == UNIT_GBIT ? 3 : 1,
		bytes_per_second / units[options->measure.unit].bytes,
		units[options->measure.unit].name);
}

double measurement_cpu_per_gb(const struct measured *measured, const struct tally *end)
{
	uint64_t bytes =
		measured->ours.bytes + (measured->plan.both_ways ? measured->theirs.bytes : 0);

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
		snprintf(line + used, MEASUREMENT_LINE - (size_t)used, " %10s", "max us");
	} else if (index == 0)
		snprintf(line, MEASUREMENT_LINE, "%10s %12s %11s %11s %11s %11s %15s", "bytes",
			"operations", "average", "worst", "best", "messages", "CPU s/GB");
	else
		snprintf(line, MEASUREMENT_LINE, "%10s %12s %11s %11s %11s %11s %7s %7s", "", "",
			unit, unit, unit, "1/s", "here", "there");
	return true;
}

/* An interval's rate; there is none of what was over too soon. */
static void put_interval(char text[24], double unit, uint64_t bytes_per_second, int decimals)
{
	if (bytes_per_second)
		snprintf(text, 24, "%.*f", decimals, (double)bytes_per_second / unit);
	else
		snprintf(text, 24, "-");
}

static void bandwidth_row(char line[MEASUREMENT_LINE], const struct options *options,
	const struct measured *measured, bool back)
{
	const struct tally *tally = back ? &measured->theirs : &measured->ours;
	double unit = units[options->measure.unit].bytes;
	int decimals = options->measure.unit == UNIT_GBIT ? 3 : 1;
	char worst[24], best[24];

	put_interval(worst, unit, tally->worst, decimals);
	put_interval(best, unit, tally->best, decimals);
	snprintf(line, MEASUREMENT_LINE,
		"%10" PRIu32 " %12" PRIu64 " %11.*f %11s %11s %11.0f %7.2f %7.2f%s",
		measured->plan.size, tally->operations, decimals, measurement_rate_of(tally) / unit,
		worst, best, measurement_operations_of(tally),
		measurement_cpu_per_gb(measured, &measured->ours),
		measurement_cpu_per_gb(measured, &measured->theirs),
		!measured->plan.both_ways ? ""
		: back                    ? "  back"
					  : "  there");
}

static double microseconds(uint64_t nanoseconds)
{
	return (double)nanoseconds / 1000;
}

bool measurement_row(char line[MEASUREMENT_LINE], const struct options *options,
	const struct measured *measured, unsigned int index)
{
	const struct latency *latency = measured->latency;
	int used;

	if (index > (unsigned int)measured->plan.both_ways)
		return false;
	if (!latency) {
		bandwidth_row(line, options, measured, index == 1);
		return true;
	}
	used = snprintf(line, MEASUREMENT_LINE, "%10" PRIu32 " %12" PRIu64 " %10.2f",
		measured->plan.size, latency->count, microseconds(latency->minimum));
	for (size_t i = 0; i < MEASUREMENT_PERCENTILES; i++)
		used += snprintf(line + used, MEASUREMENT_LINE - (size_t)used, " %10.2f",
			microseconds(latency_percentile(latency, measurement_percentiles[i].part)));
	snprintf(line + used, MEASUREMENT_LINE - (size_t)used, " %10.2f",
		microseconds(latency->maximum));
	return true;
}

bool measurement_bar(char line[MEASUREMENT_LINE], const struct latency *latency, size_t *at)
{
	uint64_t from, to, count = latency_bar(latency, at, &from, &to);
	double part = (double)count / (double)latency->count;

	if (count == 0)
		return false;
	snprintf(line, MEASUREMENT_LINE, "%12.2f us %12" PRIu64 " %7.3f %% %.*s",
		microseconds(from), count, part * 100, (int)(part * 60 + 0.5),
		"############################################################");
	return true;
}
