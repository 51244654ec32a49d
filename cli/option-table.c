/*
 * The options, one row each, and the functions that read their values. Texts are not copied: the
 * options point into argv.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/option-table.h"
#include "protocol/command.h"
#include "protocol/test-parameters.h"

#define KIB         UINT64_C(1024)
#define MIB         (1024 * KIB)
#define GIB         (1024 * MIB)
#define DAY         86400000 /* milliseconds */
#define CLIENTS_MAX 1000000
#define DEPTH_MAX   1024

enum options_result options_wrong(struct options *options, const char *format, ...)
{
	char text[OPTIONS_ERROR_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* A word of the command line may hold anything; the error stays one line. */
	text_escape(options->error, text, strlen(text));
	return OPTIONS_WRONG;
}

/* Stores a number in the option's field. */
static bool store(struct options *options, const struct option_row *row, uint64_t number)
{
	void *field = (char *)options + row->field;

	if (row->width == sizeof(uint64_t))
		*(uint64_t *)field = number;
	else
		*(uint32_t *)field = (uint32_t)number;
	return true;
}

/* Reads a whole decimal number between the limits. Returns false if the text is anything else. */
static bool read_number(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *number)
{
	char *end;

	/* strtoull() would accept blanks and signs. */
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && *number >= minimum && *number <= maximum;
}

bool options_take_port(struct options *options, const char *text, uint16_t minimum)
{
	uint64_t number;

	if (!read_number(text, minimum, UINT16_MAX, &number)) {
		options_wrong(options, "the port must be a number from %u to 65535, not '%s'",
			minimum, text);
		return false;
	}
	options->port = (uint16_t)number;
	return true;
}

/* The functions of the table. */

static bool take_flag(struct options *options, const struct option_row *row, const char *value)
{
	(void)value;
	*(bool *)((char *)options + row->field) = true;
	return true;
}

/* An option that is a word of its field's enum: the row's minimum. */
static bool take_constant(struct options *options, const struct option_row *row, const char *value)
{
	(void)value;
	return store(options, row, row->minimum);
}

/* One of the words of the row's argument, which stand in the order of the field's enum. */
static bool take_choice(struct options *options, const struct option_row *row, const char *value)
{
	const char *word = row->argument;

	for (unsigned int i = 0; *word; i++) {
		size_t length = strcspn(word, "|");

		if (strlen(value) == length && memcmp(word, value, length) == 0)
			return store(options, row, i);
		word += length + (word[length] == '|');
	}
	return false;
}

static bool take_text(struct options *options, const struct option_row *row, const char *value)
{
	*(const char **)((char *)options + row->field) = value;
	return true;
}

static bool take_message(struct options *options, const struct option_row *row, const char *value)
{
	if (strlen(value) <= OPTIONS_MESSAGE_MAX)
		return take_text(options, row, value);
	options_wrong(options, "--message has %zu bytes; at most %d are possible", strlen(value),
		OPTIONS_MESSAGE_MAX);
	return false;
}

static bool take_port(struct options *options, const struct option_row *row, const char *value)
{
	return options_take_port(options, value, (uint16_t)row->minimum);
}

static bool take_number(struct options *options, const struct option_row *row, const char *value)
{
	uint64_t number;

	return read_number(value, row->minimum, row->maximum, &number) &&
	       store(options, row, number);
}

static bool take_size(struct options *options, const struct option_row *row, const char *value)
{
	uint64_t size;

	return units_parse(value, row->minimum, row->maximum, &size) == 0 &&
	       store(options, row, size);
}

/* Seconds, with a fraction if wanted, as milliseconds from 1 up; "0" only if it is the minimum. */
static bool take_seconds(struct options *options, const struct option_row *row, const char *value)
{
	double seconds;
	char *end;

	if (row->minimum == 0 && strcmp(value, "0") == 0)
		return store(options, row, 0);
	/* strtod() would accept names, signs and hexadecimal. */
	if (strspn(value, "0123456789.") != strlen(value))
		return false;
	seconds = strtod(value, &end);
	return end > value && *end == '\0' && seconds >= 0.001 &&
	       seconds <= (double)row->maximum / 1000 &&
	       store(options, row, (uint64_t)(seconds * 1000 + 0.5));
}

/* The size of a measurement's operations. */
static bool take_one_size(struct options *options, const struct option_row *row, const char *value)
{
	struct options_measure *measure = &options->measure;

	if (units_parse(value, row->minimum, row->maximum, &measure->smallest))
		return false;
	measure->largest = measure->smallest;
	return true;
}

/* Two sizes, "SIZE..SIZE". */
static bool take_sizes(struct options *options, const struct option_row *row, const char *value)
{
	struct options_measure *measure = &options->measure;
	const char *dots = strstr(value, "..");
	char first[UNITS_TEXT];

	if (!dots || (size_t)(dots - value) >= sizeof(first))
		return false;
	snprintf(first, sizeof(first), "%.*s", (int)(dots - value), value);
	return units_parse(first, row->minimum, row->maximum, &measure->smallest) == 0 &&
	       units_parse(dots + 2, measure->smallest, row->maximum, &measure->largest) == 0;
}

/* Bytes per second of a rate's unit, 0.01 of a percentage, 0 if there is no such unit. */
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

static bool take_expectation(
	struct options *options, const struct option_row *row, const char *value)
{
	struct options_measure *measure = &options->measure;
	size_t digits = strspn(value, "0123456789.");
	char *end;
	double number = strtod(value, &end);

	(void)row;
	measure->expect_percent = strcmp(value + digits, "%") == 0;
	measure->expect = number * rate_of(value + digits);
	return digits > 0 && end == value + digits && measure->expect > 0 &&
	       isfinite(measure->expect) && !(measure->expect_percent && measure->expect > 1);
}

/* Bits of commands. A server serves measurements and diagnoses without options for them. */
#define SERVER    (1U << CLI_SERVE)
#define CLIENT    (1U << CLI_EXCHANGE | MEASUREMENTS | 1U << CLI_DIAGNOSE)
#define EXCHANGES (SERVER | 1U << CLI_EXCHANGE)

#define FIELD(member) \
	.field = offsetof(struct options, member), .width = sizeof(((struct options *)0)->member)

/* The letters are those that perftest has for the same thing. */
const struct option_row option_rows[] = {
	{SERVER, 0, "bind", "ADDRESS", "listen on this address or host name only", take_text,
		FIELD(bind)},
	{EXCHANGES, 0, "buffer", "SIZE",
		"registered memory for the data of a connection; default 7M", take_size,
		FIELD(buffer), 16 * KIB, 4 * GIB, "16K to 4G"},
	{EXCHANGES, 0, "chunk", "SIZE",
		"bytes of one WRITE or READ; default: chosen for the device", take_size,
		FIELD(chunk), KIB, 64 * MIB, "1K to 64M"},
	{SERVER, 0, "count", "N", "stop after N clients", take_number, FIELD(count), 1, UINT64_MAX},
	{EXCHANGES | MEASUREMENTS, 0, "depth", "N",
		"chunks, or measured operations, in flight; default: as many as fit", take_number,
		FIELD(depth), 1, DEPTH_MAX},
	{SERVER | CLIENT, 'd', "device", "NAME", "use this RDMA device only (see `rdma link`)",
		take_text, FIELD(device)},
	{EXCHANGES, 0, "force", NULL, "replace output files that exist", take_flag, FIELD(force)},
	{SERVER, 0, "handshake-timeout", "SECONDS",
		"time for a client to connect and begin; default 8, or --timeout", take_seconds,
		FIELD(handshake_timeout), 1, DAY, "0.001 to 86400 seconds"},
	{SERVER | CLIENT, 'h', "help", NULL, "print this help and exit", .take = NULL},
	{EXCHANGES, 0, "input", "FILE|-",
		"send this file, or standard input (-), instead of a message", take_text,
		FIELD(input)},
	{SERVER | CLIENT, 0, "json", NULL,
		"print a JSON document for each connection instead of lines", take_flag,
		FIELD(json)},
	{SERVER, 0, "max-clients", "N", "clients at a time; default 2048", take_number,
		FIELD(max_clients), 1, CLIENTS_MAX},
	{SERVER, 0, "max-clients-per-address", "N", "of them, from one address; default: all",
		take_number, FIELD(max_clients_per_address), 1, CLIENTS_MAX},
	{SERVER, 0, "max-size", "SIZE", "refuse clients that send more; default: no limit",
		take_size, FIELD(max_size), 1, UINT64_MAX - 1, "a size from 1 up"},
	{EXCHANGES, 0, "message", "TEXT", "the message to exchange, up to 1023 bytes", take_message,
		FIELD(message)},
	{EXCHANGES, 0, "no-progress", NULL, "show no progress", take_constant, FIELD(progress),
		PROGRESS_NEVER},
	{EXCHANGES, 0, "output", "FILE|DIRECTORY/|-",
		"write what arrives there, or to standard output (-)", take_text, FIELD(output)},
	{SERVER, 'p', "port", "N", "listen on this port; default: the system picks one", take_port,
		FIELD(port), 0, UINT16_MAX},
	{SERVER, 0, "port-file", "FILE", "write the port into FILE when ready", take_text,
		FIELD(port_file)},
	{EXCHANGES, 0, "progress", NULL, "show progress on standard error; default: if a terminal",
		take_constant, FIELD(progress), PROGRESS_ALWAYS},
	{SERVER | CLIENT, 0, "quiet", NULL, "print no lines but errors", take_flag, FIELD(quiet)},
	{SERVER | CLIENT, 0, "secret-file", "FILE",
		"deal only with a peer that holds the same secret", take_text, FIELD(secret_file)},
	{CLIENT, 0, "source", "ADDRESS", "connect from this address", take_text, FIELD(source)},
	{EXCHANGES | MEASUREMENTS, 0, "timeout", "SECONDS",
		"give up when the peer is silent for this time; default 10", take_seconds,
		FIELD(timeout), 1, DAY, "0.001 to 86400 seconds"},
	{SERVER | CLIENT, 'v', "verbose", NULL, "tell details on standard error", take_flag,
		FIELD(verbose)},
	{SERVER | CLIENT, 'V', "version", NULL, "print the version and exit", .take = NULL},
	{MEASUREMENTS, 0, "bandwidth", NULL, "measure how much goes through", take_flag,
		FIELD(measure.bandwidth)},
	{MEASUREMENTS, 0, "bidirectional", NULL, "the server does the same at the same time",
		take_flag, FIELD(measure.bidirectional)},
	{MEASUREMENTS, 0, "duration", "SECONDS", "measure for so long, with each size; default 2",
		take_seconds, FIELD(measure.duration), 1, DAY, "0.001 to 86400 seconds"},
	{MEASUREMENTS, 0, "expect", "RATE|PERCENT",
		"exit with 1 if it is less: 11GB/s, 90Gb/s, or 90% of the link's", take_expectation,
		FIELD(measure.expect), 0, 0, "a rate or a percentage, as 11GB/s, 90Gb/s or 90%"},
	{MEASUREMENTS, 0, "histogram", NULL, "show how the latencies are distributed", take_flag,
		FIELD(measure.histogram)},
	{MEASUREMENTS, 0, "iterations", "N",
		"measure so many operations on each queue pair, instead of a time", take_number,
		FIELD(measure.iterations), 1, UINT32_MAX},
	{MEASUREMENTS, 0, "latency", NULL, "measure how long one operation takes", take_flag,
		FIELD(measure.latency)},
	{MEASUREMENTS, 0, "poll", "auto|spin|event",
		"how to wait; default: whichever is faster in the warm-up", take_choice,
		FIELD(measure.poll), 0, 0, "auto, spin or event"},
	{MEASUREMENTS, 0, "qps", "N", "queue pairs of each thread; default 1", take_number,
		FIELD(measure.queue_pairs), 1, TEST_QUEUE_PAIRS_MAX},
	{MEASUREMENTS, 0, "size", "SIZE",
		"bytes of an operation; default 64K, or 8 for the latency", take_one_size,
		FIELD(measure.smallest), 1, COMMAND_REGION_MAX, "1 to 16M"},
	{MEASUREMENTS, 0, "sizes", "SIZE..SIZE",
		"all of these, each twice as large as the one before", take_sizes,
		FIELD(measure.smallest), 1, COMMAND_REGION_MAX,
		"two sizes from 1 to 16M, as in 2..8M"},
	{MEASUREMENTS, 0, "threads", "N",
		"threads at a time, each with a connection of its own; default 1", take_number,
		FIELD(measure.threads), 1, OPTIONS_THREADS_MAX},
	{MEASUREMENTS, 0, "unit", "MB/s|MiB/s|Gb/s", "unit of the bandwidth; default MB/s",
		take_choice, FIELD(measure.unit), 0, 0, "MB/s, MiB/s or Gb/s"},
	{MEASUREMENTS, 0, "verify", NULL, "look at every byte of every operation, at both ends",
		take_flag, FIELD(measure.verify)},
	{MEASUREMENTS, 0, "warm-up", "SECONDS", "do the same before, unmeasured; default 0.2",
		take_seconds, FIELD(measure.warm_up), 0, DAY, "0 to 86400 seconds"},
};

const unsigned int option_row_count = sizeof(option_rows) / sizeof(option_rows[0]);

_Static_assert(
	sizeof(option_rows) / sizeof(option_rows[0]) <= OPTION_ROWS_MAX, "a bit for each row");

enum options_result options_take(
	struct options *options, const struct option_row *row, const char *value)
{
	if (row->argument && *value == '\0' && row->take != take_message)
		return options_wrong(options, "--%s must not be ''", row->name);
	if (!row->take)
		return row->letter == 'h' ? OPTIONS_HELP : OPTIONS_VERSION;
	if (row->take(options, row, value))
		return OPTIONS_RUN;
	if (*options->error)
		return OPTIONS_WRONG;
	if (row->expected)
		return options_wrong(
			options, "--%s must be %s, not '%s'", row->name, row->expected, value);
	if (row->maximum == UINT64_MAX)
		return options_wrong(options, "--%s must be a number from %" PRIu64 " up, not '%s'",
			row->name, row->minimum, value);
	return options_wrong(options,
		"--%s must be a number from %" PRIu64 " to %" PRIu64 ", not '%s'", row->name,
		row->minimum, row->maximum, value);
}
