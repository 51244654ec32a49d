/*
 * The options, one row each in alphabetical order, and the functions that read their values.
 * Strings are not copied: struct options points into argv.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dscp.h"
#include "base/path-pattern.h"
#include "base/units.h"
#include "cli/choice.h"
#include "cli/option-table.h"
#include "protocol/attributes.h"
#include "protocol/command.h"
#include "protocol/datagram.h"
#include "protocol/test-parameters.h"

#define KIB         UINT64_C(1024)
#define MIB         (1024 * KIB)
#define GIB         (1024 * MIB)
#define TIB         (1024 * GIB)
#define DAY         86400000 /* milliseconds */
#define CLIENTS_MAX 1000000
#define DEPTH_MAX   1024

__attribute__((format(printf, 2, 0))) static enum options_result record(
	struct options *options, const char *format, va_list args)
{
	char text[OPTIONS_ERROR_MAX];

	vsnprintf(text, sizeof(text), format, args);
	/* An argument may contain any byte: escape it, so that the error stays on one line. */
	text_escape(options->error, text, strlen(text));
	return OPTIONS_WRONG;
}

enum options_result options_wrong(struct options *options, const char *format, ...)
{
	enum options_result result;
	va_list args;

	va_start(args, format);
	result = record(options, format, args);
	va_end(args);
	return result;
}

enum options_result options_advise(struct options *options, const char *format, ...)
{
	enum options_result result;
	va_list args;

	va_start(args, format);
	result = record(options, format, args);
	va_end(args);
	options->advised = true;
	return result;
}

/* Stores a number in the option's field. */
static bool store(struct options *options, const struct option_row *row, uint64_t number)
{
	void *field = (char *)options + row->field;

	if (row->width == sizeof(uint64_t))
		*(uint64_t *)field = number;
	else if (row->width == sizeof(uint16_t))
		*(uint16_t *)field = (uint16_t)number;
	else
		*(uint32_t *)field = (uint32_t)number;
	return true;
}

/* Reads a decimal number within the limits. Returns false for any other text. */
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

bool options_take_port(struct options *options, const char *text)
{
	uint64_t number;

	if (!read_number(text, 1, UINT16_MAX, &number))
		return false;
	options->port = (uint16_t)number;
	return true;
}

bool options_is_host(const char *text)
{
	char address[INET6_ADDRSTRLEN];
	size_t size = strcspn(text, "%"); /* a zone may follow, as in fe80::1%eth0 */
	struct in6_addr ignored;

	if (!strchr(text, ':'))
		return true;
	if (size >= sizeof(address) || strchr(text + size, ':'))
		return false;
	snprintf(address, sizeof(address), "%.*s", (int)size, text);
	return inet_pton(AF_INET6, address, &ignored) == 1;
}

/* Functions used in the table. */

static bool take_flag(struct options *options, const struct option_row *row, const char *value)
{
	(void)value;
	*(bool *)((char *)options + row->field) = true;
	return true;
}

/* Handles an option without a value that sets its field to an enum value: the row's minimum. */
static bool take_constant(struct options *options, const struct option_row *row, const char *value)
{
	(void)value;
	return store(options, row, row->minimum);
}

/* Adds the row's bit to those of the field. */
static bool take_bit(struct options *options, const struct option_row *row, const char *value)
{
	(void)value;
	*(unsigned int *)((char *)options + row->field) |= (unsigned int)row->minimum;
	return true;
}

/* Reads one of the choices in the row's argument, which are in the order of the field's enum. */
static bool take_choice(struct options *options, const struct option_row *row, const char *value)
{
	int position = choice_find(row->argument, value);

	return position >= 0 && store(options, row, (uint64_t)position);
}

/* UNIT_AUTO is no choice. */
static bool take_unit(struct options *options, const struct option_row *row, const char *value)
{
	int position = choice_find(row->argument, value);

	return position >= 0 && store(options, row, UNIT_MB + (uint64_t)position);
}

static bool take_ordering(struct options *options, const struct option_row *row, const char *value)
{
	int position = choice_find("auto|on|off", value);

	return position >= 0 && store(options, row, (uint64_t)position);
}

static bool take_text(struct options *options, const struct option_row *row, const char *value)
{
	*(const char **)((char *)options + row->field) = value;
	return true;
}

/* Reads an address or a host name without a port. */
static bool take_host(struct options *options, const struct option_row *row, const char *value)
{
	return options_is_host(value) && take_text(options, row, value);
}

enum options_result options_add_input(struct options *options, const char *path)
{
	if (options->input_count == OPTIONS_INPUTS_MAX)
		return options_wrong(options,
			"at most %d files can be named; name their directory instead",
			OPTIONS_INPUTS_MAX);
	options->inputs[options->input_count++] = path;
	options->input = options->inputs[0];
	return OPTIONS_RUN;
}

/* Reads the name of a picture, whose ending is the format. */
static bool take_picture(struct options *options, const struct option_row *row, const char *value)
{
	size_t length = strlen(value);

	return length > 4 &&
	       (strcmp(value + length - 4, ".svg") == 0 ||
		       strcmp(value + length - 4, ".png") == 0) &&
	       take_text(options, row, value);
}

static bool take_input(struct options *options, const struct option_row *row, const char *value)
{
	(void)row;
	return options_add_input(options, value) == OPTIONS_RUN;
}

static bool take_exclude(struct options *options, const struct option_row *row, const char *value)
{
	const char *required = path_pattern_required(value);

	(void)row;
	if (required)
		return options_wrong(options, "--exclude must be %s, not '%s'", required, value) ==
		       OPTIONS_RUN;
	options->excluded[options->excluded_count++] = value;
	return true;
}

static bool take_message(struct options *options, const struct option_row *row, const char *value)
{
	if (strlen(value) <= OPTIONS_MESSAGE_MAX)
		return take_text(options, row, value);
	options_wrong(options, "--message has %zu bytes; at most %d are allowed", strlen(value),
		OPTIONS_MESSAGE_MAX);
	return false;
}

static bool take_number(struct options *options, const struct option_row *row, const char *value)
{
	uint64_t number;

	return read_number(value, row->minimum, row->maximum, &number) &&
	       store(options, row, number);
}

/* Stores the number of bytes plus 1: 0 means that the option was not given. */
static bool take_inline(struct options *options, const struct option_row *row, const char *value)
{
	uint64_t number;

	return read_number(value, row->minimum, row->maximum, &number) &&
	       store(options, row, number + 1);
}

static bool take_size(struct options *options, const struct option_row *row, const char *value)
{
	uint64_t size;

	return units_parse(value, row->minimum, row->maximum, &size) == 0 &&
	       store(options, row, size);
}

/*
 * Reads seconds, possibly with a fraction, and stores milliseconds. Accepts 0 only if it is the
 * minimum.
 */
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

static bool take_dscp(struct options *options, const struct option_row *row, const char *value)
{
	(void)row;
	options->dscp = dscp_parse(value);
	return options->dscp >= 0;
}

/* Reads the operation sizes of a measurement: a single size, or a range "SIZE..SIZE". */
static bool take_sizes(struct options *options, const struct option_row *row, const char *value)
{
	struct options_measure *measure = &options->measure;
	const char *dots = strstr(value, "..");
	char first[UNITS_TEXT];

	if (!dots) {
		if (units_parse(value, row->minimum, row->maximum, &measure->smallest))
			return false;
		measure->largest = measure->smallest;
		return true;
	}
	if ((size_t)(dots - value) >= sizeof(first))
		return false;
	snprintf(first, sizeof(first), "%.*s", (int)(dots - value), value);
	return units_parse(first, row->minimum, row->maximum, &measure->smallest) == 0 &&
	       units_parse(dots + 2, measure->smallest, row->maximum, &measure->largest) == 0;
}

/* Bytes per second in the unit of a rate; 0.01 for a percentage; 0 for an unknown unit. */
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

/* VIA_AUTO is no choice. */
static bool take_via(struct options *options, const struct option_row *row, const char *value)
{
	int position = choice_find("ssh|srun|clush|pdsh|mpirun|none", value);

	return position >= 0 && store(options, row, VIA_SSH + (uint64_t)position);
}

static bool take_mtu(struct options *options, const struct option_row *row, const char *value)
{
	if (choice_find(row->argument, value) < 0)
		return false;
	return store(options, row, strtoull(value, NULL, 10));
}

static bool take_mode(struct options *options, const struct option_row *row, const char *value)
{
	(void)row;
	options->mode = mode_by_name(value);
	return options->mode;
}

/* Sets of commands. A server needs no options to serve measurements and diagnoses. */
#define SERVER       (1U << CLI_SERVE)
#define STATUS       (1U << CLI_STATUS)
#define EXCHANGE     (SERVER | 1U << CLI_EXCHANGE)
#define COPY         (1U << CLI_COPY)
#define FILES        (EXCHANGE | COPY)
#define BANDWIDTH    (1U << CLI_BANDWIDTH)
#define MEASUREMENTS (BANDWIDTH | 1U << CLI_LATENCY)
#define DIAGNOSE     (1U << CLI_DIAGNOSE)
#define COMPARE      (1U << CLI_COMPARE)
#define EXPLAIN      (1U << CLI_EXPLAIN)
#define RECEIVE      (1U << CLI_RECEIVE_GROUP)
#define SEND         (1U << CLI_SEND_GROUP)
#define MULTICAST    (RECEIVE | SEND)
#define MESH         (1U << CLI_MESH)
#define AGENT        (1U << CLI_MESH_AGENT)
#define CLIENT       (1U << CLI_EXCHANGE | MEASUREMENTS | DIAGNOSE)

#define FIELD(member) \
	.field = offsetof(struct options, member), .width = sizeof(((struct options *)0)->member)

const struct option_row option_rows[] = {
	{FILES, 'A', "acls", NULL, "keep POSIX ACLs", take_bit, FIELD(kept), KEPT_ACLS},
	{MESH, 0, "agent-path", "PROGRAM", "rdma-client at the hosts; default in PATH", take_text,
		FIELD(mesh.agent_path)},
	{SERVER, 0, "bind", "ADDRESS", "listen on this address only", take_host, FIELD(bind), 0, 0,
		"an address or a host name without a port"},
	{RECEIVE, 0, "bind", "ADDRESS", "receive on the device that has this address", take_host,
		FIELD(bind), 0, 0, "an address or a host name without a port"},
	{BANDWIDTH, 0, "bidirectional", NULL, "measure both directions at the same time", take_flag,
		FIELD(measure.bidirectional)},
	{SERVER, 0, "bootstrap", "rdmacm|tcp|both", "accept connections this way; default rdmacm",
		take_choice, FIELD(bootstrap), 0, 0, "rdmacm, tcp or both"},
	{CLIENT, 0, "bootstrap", "rdmacm|tcp", "connect this way; default rdmacm", take_choice,
		FIELD(bootstrap), 0, 0, "rdmacm or tcp"},
	{EXCHANGE, 0, "buffer", "SIZE", "register SIZE per connection; default 7M", take_size,
		FIELD(buffer), 16 * KIB, 4 * GIB, "16K to 4G"},
	{FILES, 0, "checksum", NULL, "compare data, not sizes and times", take_flag,
		FIELD(checksum)},
	{EXCHANGE, 0, "chunk", "SIZE", "limit one WRITE or READ; default by device", take_size,
		FIELD(chunk), KIB, 64 * MIB, "1K to 64M"},
	{SERVER | STATUS | CLIENT | COPY | COMPARE | MULTICAST | MESH, 0, "color",
		"auto|always|never", "color results; default: on a terminal", take_choice,
		FIELD(color), 0, 0, "auto, always or never"},
	{MESH, 0, "concurrency", "N", "run at most N tests at a time; default: no limit",
		take_number, FIELD(mesh.concurrency), 1, 1024},
	{SERVER, 0, "count", "N", "exit after N clients", take_number, FIELD(count), 1, UINT64_MAX},
	{RECEIVE, 0, "count", "N", "exit after N streams; a message is one, too", take_number,
		FIELD(count), 1, UINT64_MAX},
	{SEND, 0, "count", "N", "send N numbered datagrams; default: one message", take_number,
		FIELD(multicast.count), 1, DATAGRAM_COUNT_MAX},
	{MESH, 0, "cross-rail", NULL, "also test pairs of devices of different names", take_flag,
		FIELD(mesh.cross_rail)},
	{MEASUREMENTS, 0, "csv", NULL, "print comma-separated values instead of text", take_flag,
		FIELD(measure.csv)},
	{EXCHANGE | BANDWIDTH, 0, "depth", "N", "keep N operations in flight; default by size",
		take_number, FIELD(depth), 1, DEPTH_MAX},
	{SERVER | CLIENT | COPY | MULTICAST, 'd', "device", "NAME",
		"use only this RDMA device (see `rdma link`)", take_text, FIELD(device)},
	{MESH | AGENT, 'd', "device", "all|NAME,...", "use these RDMA devices; default: all",
		take_text, FIELD(device)},
	{FILES, 0, "direct", NULL, "read and write a file past the page cache", take_flag,
		FIELD(direct)},
	{EXCHANGE, 0, "discard", NULL, "verify received data, but do not store it", take_flag,
		FIELD(discard)},
	{1U << CLI_EXCHANGE | COPY, 'n', "dry-run", NULL, "list what would be sent, and stop",
		take_flag, FIELD(dry_run)},
	{MEASUREMENTS | MESH, 0, "duration", "SECONDS", "measure each size this long; default 2",
		take_seconds, FIELD(measure.duration), 1, DAY, "0.001 to 86400 seconds"},
	{FILES, 0, "exclude", "PATTERN", "omit what matches, as for rsync (repeatable)",
		take_exclude, FIELD(excluded), .repeats = true},
	{BANDWIDTH | MESH, 0, "expect", "RATE|PERCENT",
		"exit with 1 if slower: 11GB/s, 90Gb/s, 90%", take_expectation,
		FIELD(measure.expect), 0, 0,
		"a rate or at most 100%, such as 11GB/s, 90Gb/s or 90%"},
	{EXCHANGE, 'f', "force", NULL, "replace existing output files", take_flag, FIELD(force)},
	{SERVER | CLIENT, 0, "gid-index", "N", "use this entry of the GID table", take_number,
		FIELD(path.gid_index), 0, UINT8_MAX},
	{FILES, 0, "group", NULL, "keep groups", take_bit, FIELD(kept), KEPT_GROUP},
	{SERVER, 0, "handshake-timeout", "SECONDS", "limit the time of a handshake; default 8",
		take_seconds, FIELD(handshake_timeout), 1, DAY, "0.001 to 86400 seconds"},
	{SERVER | STATUS | CLIENT | COPY | COMPARE | EXPLAIN | MULTICAST | MESH | AGENT, 'h',
		"help", NULL, "print this help and exit", .take = NULL},
	{1U << CLI_LATENCY, 0, "histogram", NULL, "print the distribution of the latencies",
		take_flag, FIELD(measure.histogram)},
	{MESH, 0, "hosts", "HOSTS", "these hosts: h1,h2 or h[1-64]; default: a job's", take_text,
		FIELD(mesh.hosts)},
	{MESH, 0, "hosts-file", "FILE", "the hosts in FILE, one or more on each line", take_text,
		FIELD(mesh.hosts_file)},
	{MESH, 0, "html", "FILE", "write a page with the matrix to FILE", take_text,
		FIELD(mesh.html)},
	{SERVER | CLIENT, 0, "ib-port", "N", "use this port of the RDMA device", take_number,
		FIELD(path.port), 1, UINT8_MAX},
	{MEASUREMENTS, 0, "inline", "N", "copy up to N bytes into the work request", take_inline,
		FIELD(measure.inline_below), 0, TEST_INLINE_MAX},
	{EXCHANGE, 'i', "input", "FILE|DIRECTORY|-",
		"send this (repeatable), or standard input (-)", take_input, FIELD(input),
		.repeats = true},
	{DIAGNOSE, 0, "interval", "SECONDS", "repeat, one line each time, until interrupted",
		take_seconds, FIELD(interval), 1, DAY, "0.001 to 86400 seconds"},
	{MEASUREMENTS, 0, "iterations", "N", "stop after N operations per queue pair", take_number,
		FIELD(measure.iterations), 1, UINT32_MAX},
	{SERVER | STATUS | CLIENT | COPY | COMPARE | MESH, 0, "json", NULL,
		"print JSON instead of text", take_flag, FIELD(json)},
	{MESH, 0, "listen", "PORT", "await agents at this port or ADDRESS:PORT", take_text,
		FIELD(mesh.listen)},
	{SERVER, 0, "max-clients", "N", "serve N clients at once; default 2048", take_number,
		FIELD(max_clients), 1, CLIENTS_MAX},
	{SERVER, 0, "max-clients-per-address", "N", "serve N clients at once from one address",
		take_number, FIELD(max_clients_per_address), 1, CLIENTS_MAX},
	{SERVER, 0, "max-size", "SIZE", "refuse clients that send more", take_size, FIELD(max_size),
		1, UINT64_MAX - 1, "a size of at least 1"},
	{SERVER, 0, "memory", "SIZE", "limit the memory of all clients together", take_size,
		FIELD(memory), OPTIONS_MEMORY_MIN, 1024 * TIB, "a size from 4M to 1024T"},
	{EXCHANGE | SEND, 0, "message", "TEXT", "send this text, at most 1023 bytes", take_message,
		FIELD(message)},
	{COPY, 0, "mode", "write|read|send", "move the data by this operation; default write",
		take_mode, .expected = "write, read or send"},
	{MEASUREMENTS | DIAGNOSE | MESH, 0, "metrics", "FILE",
		"write figures for Prometheus to FILE", take_text, FIELD(metrics)},
	{SERVER | CLIENT, 0, "mtu", "256|512|1024|2048|4096", "limit the path MTU", take_mtu,
		FIELD(path.mtu), 0, 0, "256, 512, 1024, 2048 or 4096"},
	{AGENT, 0, "name", "NAME", "the name of this host in the mesh", take_text,
		FIELD(mesh.name)},
	{FILES | MESH, 0, "no-progress", NULL, "do not show progress", take_constant,
		FIELD(progress), PROGRESS_NEVER},
	{FILES, 0, "numeric-ids", NULL, "keep the numbers of owners and groups", take_flag,
		FIELD(numeric_ids)},
	{EXCHANGE, 'o', "output", "FILE|DIRECTORY/|-", "save received data there, or print it (-)",
		take_text, FIELD(output)},
	{FILES, 0, "owner", NULL, "keep owners (as root)", take_bit, FIELD(kept), KEPT_OWNER},
	{SERVER | CLIENT, 0, "pkey-index", "N", "use this entry of the P_Key table", take_number,
		FIELD(path.pkey_index), 0, UINT16_MAX},
	{MEASUREMENTS, 0, "plot", "FILE", "draw the results to FILE.svg or FILE.png", take_picture,
		FIELD(measure.plot), 0, 0, "a file name that ends in .svg or .png"},
	{MEASUREMENTS, 0, "poll", "auto|spin|event", "wait this way; default: auto", take_choice,
		FIELD(measure.poll), 0, 0, "auto, spin or event"},
	{SERVER, 'p', "port", "N", "listen on this port, 0: any; default 7471", take_number,
		FIELD(port), 0, UINT16_MAX},
	{SERVER, 0, "port-file", "FILE", "write the port number to FILE when ready", take_text,
		FIELD(port_file)},
	{FILES | MESH, 0, "progress", NULL, "show progress; default: on a terminal", take_constant,
		FIELD(progress), PROGRESS_ALWAYS},
	{BANDWIDTH, 0, "qps", "N", "use N queue pairs per thread; default 1", take_number,
		FIELD(measure.queue_pairs), 1, TEST_QUEUE_PAIRS_MAX},
	{MESH, 0, "quick", NULL, "test each host with a few others only", take_flag,
		FIELD(mesh.quick)},
	{SERVER | CLIENT | COPY | MULTICAST | MESH, 'q', "quiet", NULL, "print only errors",
		take_flag, FIELD(quiet)},
	{SEND, 0, "rate", "N", "send N datagrams per second; default 1000", take_number,
		FIELD(multicast.rate), 1, 1000000000},
	{EXCHANGE | BANDWIDTH, 0, "relaxed-ordering", "WHEN",
		"relax PCI write order: auto, on or off", take_ordering, FIELD(ordering), 0, 0,
		"auto, on or off"},
	{COPY | MESH, 0, "rsh", "COMMAND", "reach the other host by this; default ssh", take_text,
		FIELD(copy.rsh)},
	{SERVER | CLIENT | MESH | AGENT, 0, "secret-file", "FILE",
		"require a peer that has the same secret", take_text, FIELD(secret_file)},
	{COPY, 0, "server-path", "PROGRAM", "rdma-server there; default in PATH", take_text,
		FIELD(copy.server_path)},
	{MEASUREMENTS, 0, "sge", "N", "gather each operation from N pieces; default 1", take_number,
		FIELD(measure.gathers), 1, TEST_SGE_MAX},
	{BANDWIDTH, 0, "signal-every", "N", "ask for one completion for N operations", take_number,
		FIELD(measure.signal_every), 1, TEST_DEPTH_MAX},
	{MEASUREMENTS | MESH, 0, "size", "SIZE[..SIZE]",
		"use this size or range; default 64K (latency: 8)", take_sizes,
		FIELD(measure.smallest), 1, COMMAND_REGION_MAX,
		"a size from 1 to 16M, or an ascending range, such as 2..8M"},
	{SEND, 0, "size", "SIZE", "send datagrams of this size; default: the MTU", take_size,
		FIELD(multicast.size), DATAGRAM_HEADER, DATAGRAM_MAX,
		"a size from 40 (the header) to 4096 (the largest MTU)"},
	{SERVER | CLIENT, 0, "sl", "N", "use this service level; default 0", take_number,
		FIELD(path.service_level), 0, 15},
	{CLIENT | COPY, 0, "source", "ADDRESS", "connect from this local address", take_host,
		FIELD(source), 0, 0, "an address or a host name without a port"},
	{SEND, 0, "source", "ADDRESS", "send from the device that has this address", take_host,
		FIELD(source), 0, 0, "an address or a host name without a port"},
	{BANDWIDTH, 0, "srq", NULL, "share the receives of all queue pairs", take_flag,
		FIELD(measure.shares)},
	{MESH, 0, "start-timeout", "SECONDS", "wait this long for all agents; default 60",
		take_seconds, FIELD(mesh.start_timeout), 1, DAY, "0.001 to 86400 seconds"},
	{SERVER, 0, "stdio", NULL, "serve one client, of the program that runs it", take_flag,
		FIELD(stdio)},
	{MESH, 0, "suggest-drain", NULL, "print a scontrol command for each bad host", take_flag,
		FIELD(mesh.suggest_drain)},
	{BANDWIDTH, 0, "threads", "N", "run N threads, one connection each; default 1", take_number,
		FIELD(measure.threads), 1, OPTIONS_THREADS_MAX},
	{FILES | MEASUREMENTS | MESH, 0, "timeout", "SECONDS",
		"wait this long for the peer; default 10", take_seconds, FIELD(timeout), 1, DAY,
		"0.001 to 86400 seconds"},
	{RECEIVE, 0, "timeout", "SECONDS", "end a stream after this silence; default 10",
		take_seconds, FIELD(timeout), 1, DAY, "0.001 to 86400 seconds"},
	{SEND, 0, "timeout", "SECONDS", "limit the time to join; default 10", take_seconds,
		FIELD(timeout), 1, DAY, "0.001 to 86400 seconds"},
	{SERVER, 0, "timestamps", NULL, "begin each line with the time", take_flag,
		FIELD(timestamps)},
	{MESH, 0, "together", NULL, "test all rails at the same time", take_flag,
		FIELD(mesh.together)},
	{SERVER | CLIENT | COPY, 0, "tos", "DSCP", "mark packets with this DSCP (26, AF31, EF)",
		take_dscp, FIELD(dscp), 0, 0, "0 to 63, CS0 to CS7, AF11 to AF43 or EF"},
	{MESH, 0, "topology", "FILE", "groups of hosts: Slurm's topology.conf", take_text,
		FIELD(mesh.topology)},
	{SERVER | CLIENT, 0, "traffic-class", "N", "send packets with this traffic class",
		take_number, FIELD(path.traffic_class), 0, UINT8_MAX},
	{MEASUREMENTS, 0, "transport", "rc|uc|ud", "use this type of queue pairs; default rc",
		take_choice, FIELD(measure.transport), 0, 0, "rc, uc or ud"},
	{BANDWIDTH | COMPARE, 0, "unit", "MB/s|MiB/s|Gb/s",
		"print rates in this unit; default MB/s", take_unit, FIELD(measure.unit), 0, 0,
		"MB/s, MiB/s or Gb/s"},
	{FILES, 0, "update", NULL, "merge into existing directories", take_flag, FIELD(update)},
	{MESH, 0, "via", "PROGRAM", "ssh, srun, clush, pdsh, mpirun or none", take_via,
		FIELD(mesh.via), 0, 0, "ssh, srun, clush, pdsh, mpirun or none"},
	{FILES | MEASUREMENTS | DIAGNOSE | MULTICAST | MESH, 'v', "verbose", NULL, "print details",
		take_flag, FIELD(verbose)},
	{MEASUREMENTS, 0, "verify", NULL, "verify every byte at both ends", take_flag,
		FIELD(measure.verify)},
	{SERVER | STATUS | CLIENT | COPY | COMPARE | EXPLAIN | MULTICAST | MESH | AGENT, 'V',
		"version", NULL, "print the version and exit", .take = NULL},
	{MEASUREMENTS, 0, "warm-up", "SECONDS", "warm up before each size; default 0.2",
		take_seconds, FIELD(measure.warm_up), 0, DAY, "0 to 86400 seconds"},
	{DIAGNOSE, 0, "watch", NULL, "print device events until interrupted", take_flag,
		FIELD(watch)},
	{FILES, 0, "workers", "N", "use N threads for a file; default by size", take_number,
		FIELD(workers), 1, OPTIONS_WORKERS_MAX},
	{FILES, 'X', "xattrs", NULL, "keep extended attributes", take_bit, FIELD(kept),
		KEPT_XATTRS},
};

const unsigned int option_row_count = sizeof(option_rows) / sizeof(option_rows[0]);

_Static_assert(
	sizeof(option_rows) / sizeof(option_rows[0]) <= OPTION_ROWS_MAX, "a place for each row");

enum options_result options_take(
	struct options *options, const struct option_row *row, const char *value)
{
	if (row->argument && *value == '\0' && row->take != take_message)
		return options_wrong(options, "--%s must not be empty", row->name);
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
		return options_wrong(options,
			"--%s must be a number of at least %" PRIu64 ", not '%s'", row->name,
			row->minimum, value);
	return options_wrong(options,
		"--%s must be a number from %" PRIu64 " to %" PRIu64 ", not '%s'", row->name,
		row->minimum, row->maximum, value);
}
