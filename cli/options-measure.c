/* The options of a measurement. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/option-table.h"
#include "protocol/command.h"
#include "protocol/test-parameters.h"

#define DURATION_DEFAULT 2000
#define WARM_UP_DEFAULT  200
#define BANDWIDTH_SIZE   65536
#define LATENCY_SIZE     8

/* A word that an option may be. */
struct word {
	const char *name;
	int value;
};

static bool parse_word(const struct word *words, const char *text, int *value)
{
	for (; words->name; words++)
		if (strcmp(words->name, text) == 0) {
			*value = words->value;
			return true;
		}
	return false;
}

static enum options_result take_flag(struct options_measure *measure, int option)
{
	switch (option) {
	case OPTION_BANDWIDTH:
		measure->bandwidth = true;
		break;
	case OPTION_BIDIRECTIONAL:
		measure->bidirectional = true;
		break;
	case OPTION_HISTOGRAM:
		measure->histogram = true;
		break;
	case OPTION_LATENCY:
		measure->latency = true;
		break;
	default:
		measure->verify = true;
		break;
	}
	return OPTIONS_RUN;
}

/* Reads "SIZE..SIZE". */
static bool parse_sizes(const char *text, uint64_t *smallest, uint64_t *largest)
{
	const char *dots = strstr(text, "..");
	char first[UNITS_TEXT];

	if (!dots || (size_t)(dots - text) >= sizeof(first))
		return false;
	memcpy(first, text, (size_t)(dots - text));
	first[dots - text] = '\0';
	return units_parse(first, 1, COMMAND_REGION_MAX, smallest) == 0 &&
	       units_parse(dots + 2, *smallest, COMMAND_REGION_MAX, largest) == 0;
}

/* Bytes in a second, of the units that rates have; of a percentage 0.01. */
static double rate_of(const char *unit)
{
	static const struct {
		const char *name;
		double bytes;
	} units[] = {{"%", 0.01}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"MiB/s", 1048576},
		{"GiB/s", 1073741824}, {"Mb/s", 1e6 / 8}, {"Gb/s", 1e9 / 8}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(units[i].name, unit) == 0)
			return units[i].bytes;
	return 0;
}

static bool parse_expectation(const char *text, struct options_measure *measure)
{
	size_t digits = strspn(text, "0123456789.");
	char *end;
	double number = strtod(text, &end);

	measure->expect_percent = strcmp(text + digits, "%") == 0;
	measure->expect = number * rate_of(text + digits);
	return digits > 0 && end == text + digits && measure->expect > 0 &&
	       isfinite(measure->expect) && !(measure->expect_percent && measure->expect > 1);
}

static enum options_result take_amount(struct options *options, int option, const char *value)
{
	struct options_measure *measure = &options->measure;
	uint64_t number = 0;

	switch (option) {
	case OPTION_DURATION:
		if (!options_seconds(value, &measure->duration))
			return options_wrong(options,
				"--duration must be 0.001 to %d seconds, not '%s'",
				OPTIONS_SECONDS_MAX, value);
		break;
	case OPTION_WARM_UP:
		if (strcmp(value, "0") == 0)
			measure->warm_up = 0;
		else if (!options_seconds(value, &measure->warm_up))
			return options_wrong(options, "--warm-up must be 0 to %d seconds, not '%s'",
				OPTIONS_SECONDS_MAX, value);
		break;
	case OPTION_ITERATIONS:
		if (!options_number(value, 1, UINT32_MAX, &measure->iterations))
			return options_wrong(options,
				"--iterations must be a number from 1 to %u, not '%s'", UINT32_MAX,
				value);
		break;
	case OPTION_QPS:
		if (!options_number(value, 1, TEST_QUEUE_PAIRS_MAX, &number))
			return options_wrong(options,
				"--qps must be a number from 1 to %d, not '%s'",
				TEST_QUEUE_PAIRS_MAX, value);
		measure->queue_pairs = (uint32_t)number;
		break;
	case OPTION_THREADS:
		if (!options_number(value, 1, OPTIONS_THREADS_MAX, &number))
			return options_wrong(options,
				"--threads must be a number from 1 to %d, not '%s'",
				OPTIONS_THREADS_MAX, value);
		measure->threads = (uint32_t)number;
		break;
	case OPTION_SIZE:
		if (units_parse(value, 1, COMMAND_REGION_MAX, &measure->smallest))
			return options_wrong(options, "--size must be 1 to 16M, not '%s'", value);
		measure->largest = measure->smallest;
		break;
	default:
		if (!parse_sizes(value, &measure->smallest, &measure->largest))
			return options_wrong(options,
				"--sizes must be two sizes from 1 to 16M, as in 2..8M, not '%s'",
				value);
		break;
	}
	return OPTIONS_RUN;
}

enum options_result options_take_measure(struct options *options, int option, const char *value)
{
	static const struct word polls[] = {
		{"auto", POLL_AUTO}, {"spin", POLL_SPIN}, {"event", POLL_EVENT}, {NULL, 0}};
	static const struct word units[] = {
		{"MB/s", UNIT_MB}, {"MiB/s", UNIT_MIB}, {"Gb/s", UNIT_GBIT}, {NULL, 0}};
	struct options_measure *measure = &options->measure;
	int number;

	if (!value)
		return take_flag(measure, option);
	switch (option) {
	case OPTION_POLL:
		if (!parse_word(polls, value, &number))
			return options_wrong(
				options, "--poll must be auto, spin or event, not '%s'", value);
		measure->poll = (enum poll_wanted)number;
		break;
	case OPTION_UNIT:
		if (!parse_word(units, value, &number))
			return options_wrong(
				options, "--unit must be MB/s, MiB/s or Gb/s, not '%s'", value);
		measure->unit = (enum rate_unit)number;
		break;
	case OPTION_EXPECT:
		if (!parse_expectation(value, measure))
			return options_wrong(options,
				"--expect must be a rate or a percentage, as 11GB/s, 90Gb/s or 90%%, "
				"not '%s'",
				value);
		break;
	default:
		return take_amount(options, option, value);
	}
	return OPTIONS_RUN;
}

/* What belongs to bandwidth alone, or to latency alone, and is given with the other one. */
static const char *misplaced(const struct options *options)
{
	const struct options_measure *measure = &options->measure;

	if (measure->bandwidth)
		return measure->histogram ? "--histogram" : NULL;
	if (measure->bidirectional)
		return "--bidirectional";
	if (measure->expect > 0)
		return "--expect";
	if (measure->queue_pairs > 1)
		return "--qps";
	if (measure->unit != UNIT_MB)
		return "--unit";
	if (measure->threads > 1)
		return "--threads";
	return options->depth ? "--depth" : NULL;
}

size_t options_measure_memory(const struct options_measure *measure)
{
	uint64_t pieces = measure->verify && measure->bandwidth ? 2 : 1;

	return (size_t)(measure->largest * measure->queue_pairs * pieces);
}

enum options_result options_check_measure(struct options *options)
{
	struct options_measure *measure = &options->measure;

	if (measure->bandwidth && measure->latency)
		return options_wrong(
			options, "--bandwidth and --latency are both given; one can be measured");
	if (misplaced(options))
		return options_wrong(options, "%s does not go with %s", misplaced(options),
			measure->bandwidth ? "--bandwidth" : "--latency");
	if (measure->iterations && measure->duration)
		return options_wrong(
			options, "--iterations and --duration are both given; one can end it");
	/* Who is done first would leave the others what it has not measured. */
	if (measure->iterations && measure->threads > 1)
		return options_wrong(options,
			"--threads does not go with --iterations, as all threads end together");
	if (measure->duration == 0)
		measure->duration = DURATION_DEFAULT;
	if (measure->warm_up < 0)
		measure->warm_up = WARM_UP_DEFAULT;
	if (measure->queue_pairs == 0)
		measure->queue_pairs = 1;
	if (measure->threads == 0)
		measure->threads = 1;
	if (measure->smallest == 0)
		measure->smallest = measure->largest =
			measure->bandwidth ? BANDWIDTH_SIZE : LATENCY_SIZE;
	if (options_measure_memory(measure) > COMMAND_REGION_MAX)
		return options_wrong(options, "the size times --qps%s must not be more than 16M",
			measure->verify ? ", twice with --verify," : "");
	if (!test_shape_is_possible(measure->queue_pairs, options->depth ? options->depth : 1))
		return options_wrong(
			options, "--qps times --depth must not be more than %d", TEST_REQUESTS_MAX);
	return OPTIONS_RUN;
}
