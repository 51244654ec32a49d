/*
 * The command lines of both programs: the value that each option sets, and the error for each
 * invalid argument.
 */
#include <stdio.h>
#include <string.h>

#include "cli/option-table.h"
#include "cli/parse.h"
#include "protocol/attributes.h"
#include "tests/unit/unit.h"

#define WORDS_MAX 12

static const enum program programs[] = {PROGRAM_SERVER, PROGRAM_CLIENT};

/* Stands for port 0 in the cases, where 0 stands for the default. */
#define ANY_PORT 65534

/* Stands for DSCP 0 likewise. */
#define DSCP_0 64

/* Parses the words up to NULL as the command line of a program. */
static enum options_result parse(
	struct options *options, enum program program, const char *const words[])
{
	char *argv[WORDS_MAX + 2] = {
		(char *)(program == PROGRAM_SERVER ? "rdma-server" : "rdma-client")};
	int argc = 1;

	/* Poison, so that the test detects fields that the parser does not set. */
	memset(options, 0xa5, sizeof(*options));
	for (size_t i = 0; i < WORDS_MAX && words[i]; i++)
		argv[argc++] = (char *)words[i];
	return parse_command_line(options, program, argc, argv);
}

static void assert_same_text(const char *got, const char *wanted)
{
	if (wanted)
		assert_string_equal(got, wanted);
	else
		assert_null(got);
}

static void assert_same(const struct options *got, const struct options *wanted)
{
	assert_ptr_equal(got->mode, wanted->mode);
	assert_same_text(got->secret_file, wanted->secret_file);
	assert_same_text(got->message, wanted->message);
	assert_same_text(got->device, wanted->device);
	assert_int_equal(got->timeout, wanted->timeout ? wanted->timeout : 10000);
	assert_int_equal(got->ordering, wanted->ordering);
	assert_int_equal(got->dscp, wanted->dscp == DSCP_0 ? 0 : wanted->dscp ? wanted->dscp : -1);
	assert_int_equal(got->verbose, wanted->verbose);
	assert_int_equal(got->quiet, wanted->quiet);
	assert_same_text(got->input, wanted->input);
	assert_int_equal(got->input_count,
		wanted->input_count ? wanted->input_count : wanted->input != NULL);
	for (unsigned int i = 0; i < wanted->input_count; i++)
		assert_same_text(got->inputs[i], wanted->inputs[i]);
	assert_int_equal(got->excluded_count, wanted->excluded_count);
	for (unsigned int i = 0; i < wanted->excluded_count; i++)
		assert_same_text(got->excluded[i], wanted->excluded[i]);
	assert_same_text(got->output, wanted->output);
	assert_int_equal(got->force, wanted->force);
	assert_int_equal(got->kept, wanted->kept);
	assert_int_equal(got->numeric_ids, wanted->numeric_ids);
	assert_int_equal(got->buffer, wanted->buffer ? wanted->buffer : 7340032);
	assert_int_equal(got->chunk, wanted->chunk);
	assert_int_equal(got->depth, wanted->depth);
	assert_int_equal(got->progress, wanted->progress);
	assert_int_equal(got->json, wanted->json);
	assert_int_equal(got->watch, wanted->watch);
	assert_int_equal(got->interval, wanted->interval);
	assert_int_equal(got->color, wanted->color);
	assert_same_text(got->metrics, wanted->metrics);
	assert_same_text(got->bind, wanted->bind);
	assert_same_text(got->port_file, wanted->port_file);
	assert_int_equal(got->count, wanted->count);
	assert_int_equal(got->max_clients, wanted->max_clients ? wanted->max_clients : 2048);
	assert_int_equal(got->max_clients_per_address, wanted->max_clients_per_address);
	assert_int_equal(got->max_size, wanted->max_size);
	assert_int_equal(got->handshake_timeout, wanted->handshake_timeout
							 ? wanted->handshake_timeout
						 : got->timeout < 8000 ? got->timeout
								       : 8000);
	assert_same_text(got->source, wanted->source);
	assert_int_equal(got->command, wanted->command);
	assert_same_text(got->host, wanted->host);
	assert_int_equal(got->port, wanted->port == ANY_PORT ? 0
				    : wanted->port           ? wanted->port
							     : OPTIONS_PORT);
}

#define S PROGRAM_SERVER
#define C PROGRAM_CLIENT
#define H .host = "h", .port = 7
#define D .command = CLI_DIAGNOSE

#define FILES(...) ((const char *[]){__VA_ARGS__})

static char longest[OPTIONS_MESSAGE_MAX + 1], too_long[OPTIONS_MESSAGE_MAX + 2];

static const struct right {
	enum program program;
	const char *words[WORDS_MAX];
	const char *mode; /* NULL: any mode, or diagnose */
	struct options options;
} right[] = {
	{S, {"write"}, "write", {0}},
	{S, {"read"}, "read", {0}},
	{S, {"any"}, NULL, {0}},
	{S, {NULL}, NULL, {0}},
	{S, {"-q"}, NULL, {.quiet = true}},
	{S, {"-i", "f", "-o", "o"}, NULL, {.input = "f", .output = "o"}},
	{S, {"--bind", "::1", "any"}, NULL, {.bind = "::1"}},
	{S, {"--bind=::1", "any"}, NULL, {.bind = "::1"}},
	{S, {"--buffer", "16K", "any"}, NULL, {.buffer = 16384}},
	{S, {"--buffer", "16384", "any"}, NULL, {.buffer = 16384}},
	{S, {"--buffer", "64MB", "any"}, NULL, {.buffer = 64000000}},
	{S, {"--buffer=4G", "any"}, NULL, {.buffer = 4294967296}},
	{S, {"--chunk", "1K", "any"}, NULL, {.chunk = 1024}},
	{S, {"--chunk", "2MiB", "any"}, NULL, {.chunk = 2097152}},
	{S, {"--buffer", "128M", "--chunk", "64M", "any"}, NULL,
		{.buffer = 134217728, .chunk = 67108864}},
	{S, {"--chunk", "64m", "any", "--buffer", "128m"}, NULL,
		{.buffer = 134217728, .chunk = 67108864}},
	{S, {"--chunk", "8k", "any"}, NULL, {.chunk = 8192}},
	{S, {"--count", "1", "any"}, NULL, {.count = 1}},
	{S, {"--count", "18446744073709551615", "any"}, NULL, {.count = UINT64_MAX}},
	{S, {"--depth", "1", "any"}, NULL, {.depth = 1}},
	{S, {"--depth", "1024", "any"}, NULL, {.depth = 1024}},
	{S, {"--dep=64", "any"}, NULL, {.depth = 64}},
	{S, {"--device", "rxe0", "any"}, NULL, {.device = "rxe0"}},
	{S, {"--dev", "rxe0", "any"}, NULL, {.device = "rxe0"}},
	{S, {"-d", "rxe0", "any"}, NULL, {.device = "rxe0"}},
	{S, {"-drxe0", "any"}, NULL, {.device = "rxe0"}},
	{S, {"-fo", "o", "any"}, NULL, {.force = true, .output = "o"}},
	{S, {"--f", "any", "--outp", "o"}, NULL, {.force = true, .output = "o"}},
	{S, {"--handshake-timeout", "0.5", "any"}, NULL, {.handshake_timeout = 500}},
	{S, {"--handshake-timeout", "20", "--timeout", "2", "any"}, NULL,
		{.timeout = 2000, .handshake_timeout = 20000}},
	{S, {"--input", "f", "any"}, NULL, {.input = "f"}},
	{S, {"--input", "-", "any"}, NULL, {.input = "-"}},
	{S, {"--in=-", "any"}, NULL, {.input = "-"}},
	{S, {"--input", "--json", "any"}, NULL, {.input = "--json"}},
	{S, {"--json", "any"}, NULL, {.json = true}},
	{S, {"--j", "any"}, NULL, {.json = true}},
	{S, {"--json", "--output", "o", "any"}, NULL, {.json = true, .output = "o"}},
	{S, {"--json", "--output", "./-", "any"}, NULL, {.json = true, .output = "./-"}},
	{S, {"--json", "--quiet", "any"}, NULL, {.json = true, .quiet = true}},
	{S, {"--max-clients", "1", "any"}, NULL, {.max_clients = 1}},
	{S, {"--max-clients", "1000000", "any"}, NULL, {.max_clients = 1000000}},
	{S, {"--max-clients-per-address", "3", "--max-clients=7", "any"}, NULL,
		{.max_clients = 7, .max_clients_per_address = 3}},
	{S, {"--max-size", "1", "any"}, NULL, {.max_size = 1}},
	{S, {"--memory", "4M", "any"}, NULL, {.memory = 4 << 20}},
	{S, {"--memory", "16G", "any"}, NULL, {.memory = UINT64_C(16) << 30}},
	{S, {"--max-size", "20G", "any"}, NULL, {.max_size = 21474836480}},
	{S, {"--max-size", "18446744073709551614", "any"}, NULL, {.max_size = UINT64_MAX - 1}},
	{S, {"--message", "hello", "any"}, NULL, {.message = "hello"}},
	{S, {"--message", "", "any"}, NULL, {.message = ""}},
	{S, {"--message=--quiet", "any"}, NULL, {.message = "--quiet"}},
	{S, {"--message", longest, "any"}, NULL, {.message = longest}},
	{S, {"--message", "m", "--output", "o", "any"}, NULL, {.message = "m", .output = "o"}},
	{S, {"--no-progress", "any"}, NULL, {.progress = PROGRESS_NEVER}},
	{S, {"--no-p", "any"}, NULL, {.progress = PROGRESS_NEVER}},
	{S, {"--output", "o", "any"}, NULL, {.output = "o"}},
	{S, {"--output", "folder/", "any"}, NULL, {.output = "folder/"}},
	{S, {"--output=-", "any"}, NULL, {.output = "-"}},
	{S, {"--input", "-", "--output", "-", "any"}, NULL, {.input = "-", .output = "-"}},
	{S, {"--port", "0", "any"}, NULL, {.port = ANY_PORT}},
	{S, {"--port", "1", "any"}, NULL, {.port = 1}},
	{S, {"-p", "65535", "any"}, NULL, {.port = 65535}},
	{S, {"-p", "007471", "any"}, NULL, {.port = 7471}},
	{S, {"--port-file", "/tmp/p", "any"}, NULL, {.port_file = "/tmp/p"}},
	{S, {"--progress", "any"}, NULL, {.progress = PROGRESS_ALWAYS}},
	{S, {"--pr", "any"}, NULL, {.progress = PROGRESS_ALWAYS}},
	{S, {"--progress", "--no-progress", "any"}, NULL, {.progress = PROGRESS_NEVER}},
	{S, {"--no-progress", "any", "--progress"}, NULL, {.progress = PROGRESS_ALWAYS}},
	{S, {"--quiet", "any"}, NULL, {.quiet = true}},
	{S, {"--secret-file", "s", "any"}, NULL, {.secret_file = "s"}},
	{C, {"diagnose", "--secret-file=s"}, NULL, {D, .secret_file = "s"}},
	{S, {"--timeout", "0.001", "any"}, NULL, {.timeout = 1}},
	{S, {"--timeout", "1.5", "any"}, NULL, {.timeout = 1500}},
	{S, {"--timeout", ".25", "any"}, NULL, {.timeout = 250}},
	{S, {"--timeout", "3.", "any"}, NULL, {.timeout = 3000}},
	{S, {"--timeout", "86400", "any"}, NULL, {.timeout = 86400000}},
	{S, {"--relaxed-ordering", "auto", "any"}, NULL, {0}},
	{C, {"--relaxed-ordering=on", "read", "h", "7"}, "read", {H, .ordering = ORDERING_RELAXED}},
	{S, {"--relaxed-ordering", "off"}, NULL, {.ordering = ORDERING_STRICT}},
	{S, {"--tos", "0", "any"}, NULL, {.dscp = DSCP_0}},
	{C, {"--tos", "63", "write", "h", "7"}, "write", {H, .dscp = 63}},
	{C, {"diagnose", "h", "7", "--tos=AF31"}, NULL, {H, D, .dscp = 26}},
	{S, {"--verbose", "any"}, NULL, {.verbose = true}},
	{S, {"-v", "any"}, NULL, {.verbose = true}},
	{S, {"-vd", "rxe0", "-p1", "any"}, NULL, {.verbose = true, .device = "rxe0", .port = 1}},
	{S, {"any", "--quiet"}, NULL, {.quiet = true}},
	{S, {"--quiet", "--", "any"}, NULL, {.quiet = true}},
	{S, {"--verb", "any"}, NULL, {.verbose = true}},
	{S, {"-q", "--quiet", "any", "--max-size", "1T"}, NULL,
		{.quiet = true, .max_size = 1099511627776}},
	{C, {"write", "h", "7"}, "write", {H}},
	{C, {"read", "h", "7"}, "read", {H}},
	{C, {"write", "h"}, "write", {.host = "h"}},
	{C, {"write", "h:7"}, "write", {H}},
	{C, {"read", "[h]:7"}, "read", {H}},
	{C, {"write", "::1"}, "write", {.host = "::1"}},
	{C, {"write", "[::1]"}, "write", {.host = "::1"}},
	{C, {"write", "[fe80::1%eth0]:7"}, "write", {.host = "fe80::1%eth0", .port = 7}},
	{C, {"write", "[::1]", "7"}, "write", {.host = "::1", .port = 7}},
	{C, {"diagnose", "h:7"}, NULL, {D, H}},
	{C, {"write", "fe80::1%eth0", "65535"}, "write", {.host = "fe80::1%eth0", .port = 65535}},
	{C, {"--source", "10.0.0.1", "write", "h", "7"}, "write", {H, .source = "10.0.0.1"}},
	{C, {"-d", "rxe0", "write", "h", "7"}, "write", {H, .device = "rxe0"}},
	{C, {"write", "h", "7", "--message", "m"}, "write", {H, .message = "m"}},
	{C, {"-v", "write", "--quiet", "h", "7"}, "write", {H, .verbose = true, .quiet = true}},
	{C, {"--timeout", "2", "write", "h", "7"}, "write", {H, .timeout = 2000}},
	{C, {"write", "--input", "big.iso", "h", "7"}, "write", {H, .input = "big.iso"}},
	{C, {"read", "h", "7", "--output", "-"}, "read", {H, .output = "-"}},
	{C, {"--input=-", "--output=d/", "--force", "write", "h", "7"}, "write",
		{H, .input = "-", .output = "d/", .force = true}},
	{C, {"write", "-i", "a", "h", "--input=b", "7", "--input", "c"}, "write",
		{H, .input = "a", .inputs = FILES("a", "b", "c"), .input_count = 3}},
	{C, {"write", "-i", "/", "h", "7", "--exclude", "*.o", "--exclude=tmp/"}, "write",
		{H, .input = "/", .excluded = FILES("*.o", "tmp/"), .excluded_count = 2}},
	{C, {"write", "-n", "-i", "a", "h", "7"}, "write", {H, .input = "a", .dry_run = true}},
	{C, {"write", "-i", "a", "h", "7", "-X", "--owner", "--numeric-ids"}, "write",
		{H, .input = "a", .kept = KEPT_XATTRS | KEPT_OWNER, .numeric_ids = true}},
	{C, {"write", "-o", "a/", "h", "7", "--xattrs", "-A", "--group", "--owner"}, "write",
		{H, .output = "a/", .kept = KEPT_ALL}},
	/* Files before a HOST with a colon; without one, the words are HOST and PORT. */
	{C, {"write", "a.jpg", "h:"}, "write", {.host = "h", .input = "a.jpg"}},
	{C, {"write", "a.jpg", "h:7"}, "write", {H, .input = "a.jpg"}},
	{C, {"write", "a", "b", "dir/", "h:"}, "write",
		{.host = "h", .input = "a", .inputs = FILES("a", "b", "dir/"), .input_count = 3}},
	{C, {"write", "-", "h:7"}, "write", {H, .input = "-"}},
	{C, {"write", "a", "[::1]:7"}, "write", {.host = "::1", .port = 7, .input = "a"}},
	{C, {"write", "a", "[::1]:"}, "write", {.host = "::1", .input = "a"}},
	{C, {"write", "a", "[::1]"}, "write", {.host = "::1", .input = "a"}},
	{C, {"write", "a", "fe80::1%eth0"}, "write", {.host = "fe80::1%eth0", .input = "a"}},
	{C, {"write", "7471", "h:"}, "write", {.host = "h", .input = "7471"}},
	{C, {"write", "h", "7", "h:7"}, "write",
		{H, .input = "h", .inputs = FILES("h", "7"), .input_count = 2}},
	{C, {"write", "10.0.0.1:7", "h:7"}, "write", {H, .input = "10.0.0.1:7"}},
	{C, {"write", "a.jpg", "7471"}, "write", {.host = "a.jpg"}},
	{C, {"write", "--", "-a", "--json", "h:"}, "write",
		{.host = "h", .input = "-a", .inputs = FILES("-a", "--json"), .input_count = 2}},
	/* With a glob, the first file may be the value of --input, and the only one. */
	{C, {"write", "--input", "a", "b", "c", "h:1"}, "write",
		{.host = "h",
			.port = 1,
			.input = "a",
			.inputs = FILES("a", "b", "c"),
			.input_count = 3}},
	{C, {"write", "b", "h:", "-i", "a"}, "write",
		{.host = "h", .input = "a", .inputs = FILES("a", "b"), .input_count = 2}},
	{C, {"write", "--input", "a", "h:"}, "write", {.host = "h", .input = "a"}},
	{C, {"read", "--input", "a", "h:"}, "read", {.host = "h", .input = "a"}},
	{C, {"--buffer", "1M", "--chunk", "512K", "--depth", "2", "read", "h", "7"}, "read",
		{H, .buffer = 1048576, .chunk = 524288, .depth = 2}},
	{C, {"--json", "--progress", "write", "h", "7"}, "write",
		{H, .json = true, .progress = PROGRESS_ALWAYS}},
	{C, {"--no-progress", "write", "h", "7"}, "write", {H, .progress = PROGRESS_NEVER}},
	{C, {"write", "diagnose", "7"}, "write", {.host = "diagnose", .port = 7}},
	{C, {"diagnose"}, NULL, {D}},
	{C, {"diagnose", "h"}, NULL, {D, .host = "h"}},
	{C, {"diagnose", "h", "7"}, NULL, {D, H}},
	{C, {"diagnose", "diagnose", "65535"}, NULL, {D, .host = "diagnose", .port = 65535}},
	{C, {"diagnose", "fe80::1%eth0", "1"}, NULL, {D, .host = "fe80::1%eth0", .port = 1}},
	{C, {"--json", "diagnose", "h", "7"}, NULL, {D, H, .json = true}},
	{C, {"--source", "10.0.0.1", "diagnose", "h", "7"}, NULL, {D, H, .source = "10.0.0.1"}},
	{C, {"diagnose", "--json", "--quiet"}, NULL, {D, .json = true, .quiet = true}},
	{C, {"diagnose", "--metrics", "a.prom"}, NULL, {D, .metrics = "a.prom"}},
	{C, {"diagnose", "h", "--interval=2", "--metrics=a.prom"}, NULL,
		{D, .host = "h", .interval = 2000, .metrics = "a.prom"}},
	{C, {"diagnose", "--watch", "-d", "d"}, NULL, {D, .watch = true, .device = "d"}},
	{C, {"diagnose", "-v", "--interval", "1.5", "h"}, NULL,
		{D, .host = "h", .verbose = true, .interval = 1500}},
	{C, {"--color", "never", "diagnose"}, NULL, {D, .color = OUTPUT_COLOR_NEVER}},
	{S, {"--color=always", "any"}, NULL, {.color = OUTPUT_COLOR_ALWAYS}},
	{C, {"diagnose", "h", "--device", "rxe0"}, NULL, {D, .host = "h", .device = "rxe0"}},
	{C, {"-qd", "rxe0", "diagnose", "h", "7"}, NULL, {D, H, .quiet = true, .device = "rxe0"}},
	{C, {"-d", "write", "diagnose", "h", "--", "7"}, NULL, {D, H, .device = "write"}},
	{C, {"--quiet", "--", "diagnose", "h"}, NULL, {D, .host = "h", .quiet = true}},
};

static void accepts_every_option(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(right); i++) {
		struct options options, wanted = right[i].options;

		wanted.mode = right[i].mode ? mode_by_name(right[i].mode) : NULL;
		if (right[i].program == C && wanted.mode)
			wanted.command = CLI_EXCHANGE;
		if (parse(&options, right[i].program, right[i].words) != OPTIONS_RUN)
			fail_msg("%s %s: %s", right[i].words[0], right[i].words[1], options.error);
		assert_same(&options, &wanted);
		assert_string_equal(options.error, "");
		options_free(&options);
	}
}

#define FILES_FIRST  " to send files, end with HOST and a colon: FILE... "
#define FILES_ADVICE FILES_FIRST "HOST:"

/* Invalid command lines, and the argument that the error message must name. */
static const struct wrong {
	enum program program;
	const char *words[WORDS_MAX];
	const char *named;
} wrong[] = {
	{S, {""}, "''"},
	{S, {"-"}, "'-'"},
	{S, {"wrote"}, "'wrote'"},
	{S, {"WRITE"}, "'WRITE'"},
	{S, {"writer"}, "'writer'"},
	{S, {"write", "extra"}, "'extra'"},
	{S, {"--", "--quiet"}, "'--quiet'"},
	{C, {NULL}, "COMMAND is missing; for example: rdma-client write 192.0.2.1 7471"},
	{C, {"--json"}, "COMMAND is missing"},
	{C, {"bandwith", "write", "h", "1"},
		"unknown command 'bandwith'; did you mean 'bandwidth'?"},
	{C, {"wirte", "h", "1"}, "did you mean 'write'?"},
	{C, {"x", "h", "1"},
		"expected write, read, send, copy, bandwidth, latency, multicast, compare, diagnose, explain, mesh or mesh-agent"},
	{C, {"bandwith", "--help"}, "did you mean 'bandwidth'?"},
	{C, {"bandwidth"}, "the mode is missing; for example: rdma-client bandwidth write"},
	{C, {"bandwidth", "h", "7"},
		"unknown operation 'h'; expected write, read, send, write-imm, fetch-add or compare-swap"},
	{C, {"latency", "raed", "h", "7"}, "unknown operation 'raed'; did you mean 'read'?"},
	{C, {"latency", "read"}, "HOST is missing; for example: rdma-client latency write"},
	{C, {"compare"}, "FILE is missing; for example: rdma-client compare before.json"},
	{C, {"compare", "a"}, "FILE is missing; for example: rdma-client compare before.json"},
	{C, {"compare", "a", "b", "c"}, "unexpected argument 'c'"},
	{C, {"compare", "a", "b", "--quiet"}, "compare does not accept --quiet"},
	{C, {"write", "h:1", "2"}, "two ports: 1 in 'h:1', and '2'"},
	{C, {"write", "h:"}, "PORT must be a number from 1 to 65535, not ''"},
	{C, {"write", "h:0"}, "PORT must be a number from 1 to 65535, not '0'"},
	{C, {"write", ":1"}, "HOST must not be empty"},
	{C, {"write", "[]:1"}, "HOST must not be empty"},
	{C, {"write", "[::1"}, "invalid HOST '[::1'; for example: 192.0.2.1, host:7471"},
	{C, {"write", "[::1]1"}, "invalid HOST '[::1]1'"},
	{C, {"write", "10.77.0.1:7471:3"}, "invalid HOST '10.77.0.1:7471:3'; for example"},
	{C, {"diagnose", "h:1:2", "3"}, "invalid HOST 'h:1:2'"},
	{C, {"write", "[h:1]:2"}, "invalid HOST '[h:1]:2'"},
	{C, {"write", "fe80::1%eth0:7"}, "invalid HOST 'fe80::1%eth0:7'"},
	{C, {"write", "1:2:3:4:5:6:7:8:9"}, "invalid HOST '1:2:3:4:5:6:7:8:9'"},
	{C, {"write", "h", "--source", "10.0.0.1:7"},
		"--source must be an address or a host name without a port, not '10.0.0.1:7'"},
	{S, {"--bind", "10.0.0.1:7"}, "--bind must be an address or a host name without a port"},
	{C, {"write", "--input", "a", "b", "h"},
		"PORT must be a number from 1 to 65535, not 'h';" FILES_ADVICE},
	/* Files before HOST that is not recognized as such. */
	{C, {"write", "a.jpg", "h"}, "not 'h';" FILES_ADVICE},
	{C, {"write", "a.jpg", "10.0.0.1"}, "not '10.0.0.1';" FILES_ADVICE},
	{C, {"write", "a", "b", "h"}, "after files, HOST needs a colon: h:"},
	{C, {"write", "-i", "a", "b", "c", "h"}, "after files, HOST needs a colon: h:"},
	{C, {"write", "a", "h", "7"}, "after files, HOST needs a colon: h:7"},
	{C, {"write", "a", "b", "h:", "7"}, "after files, HOST needs a colon: h:7"},
	{C, {"write", "h:", "a"}, "unexpected argument 'a';" FILES_FIRST "h:"},
	{C, {"write", "h:7", "a"}, "unexpected argument 'a';" FILES_FIRST "h:7"},
	{C, {"write", "h:", "a", "b"}, "unexpected argument 'a';" FILES_FIRST "h:"},
	{C, {"write", "h:a", "."}, "unexpected argument '.';" FILES_FIRST "h:a"},
	{C, {"write", "h", "7", "a"}, "unexpected argument 'a';" FILES_ADVICE},
	{C, {"write", "a", "h:/tmp/"},
		"PORT must be a number from 1 to 65535, not '/tmp/'; the server stores files in its --output"},
	{C, {"write", "a", "h:0"}, "PORT must be a number from 1 to 65535, not '0'"},
	{C, {"write", "-i", "a", "h:dir"}, "not 'dir'; the server stores files in its --output"},
	{C, {"write", "a", "me@h:"}, "invalid HOST 'me@h'; omit the user: h"},
	{C, {"write", "a", "[::1"}, "invalid HOST '[::1'; for example"},
	{C, {"write", "a", ":"}, "HOST must not be empty"},
	{C, {"write", "", "h:"}, "FILE must not be empty"},
	{C, {"write", "-", "a", "h:"}, "--input - cannot be combined with other --input"},
	{C, {"write", "a", "h:", "--message", "m"}, "--message and --input are mutually exclusive"},
	{C, {"read", "a", "h:"},
		"'a' before HOST: only write and send take files there; with read, use --input"},
	{C, {"read", "h:a", "b:"}, "'h:a' before HOST: only write and send take files there"},
	{C, {"read", "a", "h"}, "PORT must be a number from 1 to 65535, not 'h'"},
	{C, {"bandwidth", "write", "a", "h:"}, "PORT must be a number from 1 to 65535, not 'h:'"},
	{C, {"read", "-i", "a", "b", "c", "h"},
		"unexpected argument 'h'; --input takes one value: repeat it for each"},
	{C, {"write", "h", "--input", "a", "b"},
		"PORT must be a number from 1 to 65535, not 'b';" FILES_ADVICE},
	{C, {"write", "h", "1", "--timeout", "5", "--timeout=5"}, "--timeout is given twice"},
	{S, {"-p", "1", "--port", "2"}, "--port is given twice"},
	{C, {"--bandwidth", "write", "h", "7"}, "bandwidth is a command: rdma-client bandwidth"},
	{C, {"--latency", "write", "h", "7"}, "latency is a command: rdma-client latency"},
	{C, {"bandwidth", "write", "h", "7", "--sizes", "1..2"}, "did you mean '--size'?"},
	{C, {"write", "h", "7", "--iput", "f"}, "unknown option '--iput'; did you mean '--input'?"},
	{C, {"--iput", "f", "write", "h", "7"}, "did you mean '--input'?"},
	{C, {"diagnose", "--sorce=a", "h"}, "unknown option '--sorce'; did you mean '--source'?"},
	{C, {"diagnose", "--depth", "4", "h", "1"},
		"diagnose does not accept --depth; write, read, send and bandwidth do"},
	{C, {"diagnose", "--d", "x"}, "unknown option '--d'; did you mean '--device'?"},
	{C, {"diagnose", "--timeout", "1"}, "diagnose does not accept --timeout"},
	{C, {"write", "--interval", "1", "h"}, "write does not accept --interval"},
	{C, {"diagnose", "--interval", "0"}, "--interval must be 0.001 to 86400 seconds"},
	{C, {"diagnose", "--watch", "--interval", "1"},
		"--watch cannot be combined with --interval"},
	{S, {"--color", "sometimes"}, "--color must be auto, always or never"},
	{C, {"diagnose", "--depth"}, "diagnose does not accept --depth"},
	{C, {"diagnose", "--depth", "0", "h", "1"}, "diagnose does not accept --depth"},
	{C, {"diagnose", "--verbose=1", "h"}, "--verbose does not take a value"},
	{C, {"diagnose", "--dpeth", "4", "h", "1"}, "did you mean '--depth'?"},
	{C, {"write", "--workers", "0", "h"}, "--workers must be a number from 1 to 64, not '0'"},
	{C, {"write", "--workers", "65", "h"}, "--workers must be a number from 1 to 64, not '65'"},
	{C, {"write", "--workers", "2", "-i", "-", "h"},
		"--workers cannot be combined with a pipe"},
	{S, {"--workers", "2", "--output", "-"}, "--workers cannot be combined with a pipe"},
	{C, {"write", "--exclude", "a", "-i", "/dev/null", "h"},
		"--exclude cannot be combined with a single file to send"},
	{S, {"--exclude", "a"}, "--exclude needs --input"},
	{S, {"-X", "--owner"}, "--xattrs needs --input or --output"},
	{C, {"write", "-A", "-i", "-", "h"}, "--acls cannot be combined with a pipe"},
	{C, {"write", "--numeric-ids", "-X", "-i", "/", "h"},
		"--numeric-ids needs --owner, --group or --acls"},
	{C, {"latency", "write", "--owner", "h"}, "latency does not accept --owner"},
	{C, {"write", "--exclude", "a[", "-i", "/", "h"},
		"--exclude must be a pattern with a ] for each [, not 'a['"},
	{C, {"write", "--exclude=", "-i", "/", "h"}, "--exclude must not be empty"},
	{C, {"bandwidth", "write", "--exclude", "a", "h"}, "bandwidth does not accept --exclude"},
	{C, {"write", "--direct", "h"}, "--direct needs --input or --output"},
	{C, {"write", "--direct", "-i", "-", "h"}, "--direct cannot be combined with a pipe"},
	{S, {"--direct", "--output", "/dev/stdout"}, "--direct cannot be combined with a pipe"},
	{S, {"--direct", "--output", "f", "--chunk", "5000"},
		"--direct cannot be combined with --chunk 5000: it needs a multiple of 4096 bytes"},
	{C, {"multicast", "g", "--size", "0"},
		"--size must be a size from 40 (the header) to 4096 (the largest MTU), not '0'"},
	{C, {"--size", "39", "multicast", "g"}, "from 40 (the header) to 4096"},
	{C, {"--rate", "1", "--size", "4097", "multicast", "g"}, "from 40 (the header) to 4096"},
	{C, {"multicast", "g", "--size", "64..128"}, "from 40 (the header) to 4096"},
	{C, {"--size", "0", "latency", "write", "h"}, "--size must be a size from 1 to 16M"},
	{C, {"--size", "64", "multicast", "g", "--size", "64"}, "--size is given twice"},
	{C, {"multicast", "g", "--size", "64", "--message", "m"},
		"--message and --size are mutually exclusive: a message is one datagram"},
	{C, {"multicast", "g", "--rate", "5"}, "--rate needs --count"},
	{C, {"copy", "--size", "64", "a", "h:"},
		"copy does not accept --size; bandwidth, latency, multicast and mesh do"},
	{C, {"--siz", "64..128", "multicast", "g"}, "from 40 (the header) to 4096"},
	{C, {"--siz", "0", "frobnicate"}, "--size must be a size from 1 to 16M"},
	{S, {"status", "--count", "1"}, "status does not accept --count; multicast does"},
	{C, {"diagnose", "--watch", "h"}, "--watch takes no HOST"},
	{C, {"diagnose", "--watch", "--json"}, "--watch cannot be combined with --json"},
	{C, {"diagnose", "-q", "--watch"}, "--watch cannot be combined with --quiet"},
	{C, {"diagnose", "--watch", "--source", "::1"}, "cannot be combined with --source"},
	{C, {"diagnose", "--tos", "26", "--watch"}, "--watch cannot be combined with --tos"},
	{C, {"diagnose", "--watch", "--secret-file", "s"}, "combined with --secret-file"},
	{C, {"write", "h", "1", "--port", "7471"},
		"unknown option '--port'; name the port with the host: HOST:PORT"},
	{C, {"write", "h", "--port=7471"}, "unknown option '--port'; name the port with the host"},
	{C, {"write", "h", "-p", "7471"}, "unknown option '-p'; name the port with the host"},
	{C, {"write", "h", "--bind", "::1"}, "unknown option '--bind'; use --source"},
	{S, {"--source", "::1"}, "unknown option '--source'; use --bind"},
	{S, {"--expect=90%"}, "unknown option '--expect'; rdma-client accepts it"},
	{C, {"latency", "read", "h", "1", "--buffer=1"}, "latency does not accept --buffer"},
	{C, {"write", "h", "1", "---input", "f"}, "unknown option '--"},
	{C, {"write", "h", "1", "--=x"}, "unknown option '--'"},
	{C, {"write", "h", "1", "--sorce", "a"}, "did you mean '--source'?"},
	{C, {"write", "h", "7", "--s", "x"},
		"option '--s' is ambiguous: secret-file, sl or source"},
	{C, {"any", "h", "7"}, "'any'"},
	{C, {"write"}, "HOST is missing; for example: rdma-client write 192.0.2.1 7471"},
	{C, {"write", "", "7"}, "HOST must not be empty"},
	{C, {"write", "h", "7", "extra"}, "'extra'"},
	{C, {"write", "h", "0"}, "'0'"},
	{C, {"write", "h", "65536"}, "'65536'"},
	{C, {"write", "h", "-1"}, "-1"},
	{C, {"write", "h", "1x"}, "'1x'"},
	{C, {"write", "h", ""}, "''"},
	{C, {"write", "h", " 7"}, "' 7'"},
	{C, {"write", "h", "+7"}, "'+7'"},
	{C, {"write", "h", "0x10"}, "'0x10'"},
	{C, {"write", "h", "18446744073709551623"}, "'18446744073709551623'"},
	{C, {"diagnose", "h", "7", "extra"}, "'extra'"},
	{C, {"diagnose", "h", "7", "extra", "more"}, "'extra'"},
	{C, {"diagnose", ""}, "HOST"},
	{C, {"diagnose", "", "7"}, "HOST"},
	{C, {"diagnose", "h", ""}, "''"},
	{C, {"diagnose", "h", "0"}, "'0'"},
	{C, {"diagnose", "h", "65536"}, "'65536'"},
	{C, {"diagnose", "h", "7x"}, "'7x'"},
	{C, {"diagnosis", "h", "7"}, "'diagnosis'"},
	{C, {"diagnosis", "h", "7"}, "diagnose"},
	{C, {"--input", "f", "diagnose", "h", "7"}, "--input"},
	{C, {"diagnose", "h", "7", "--output", "o"}, "--output"},
	{C, {"--message", "m", "diagnose"}, "--message"},
	{C, {"--message", "", "diagnose"}, "--message"},
	{C, {"--buffer", "1M", "diagnose", "h", "7"}, "--buffer"},
	{C, {"--chunk", "64K", "diagnose", "h", "7"}, "--chunk"},
	{C, {"diagnose", "h", "7", "--depth", "4"}, "--depth"},
	{C, {"--force", "diagnose"}, "--force"},
	{C, {"--progress", "diagnose", "h"}, "--progress"},
	{C, {"--no-progress", "diagnose", "h"}, "--no-progress"},
	{C, {"--json", "--timeout", "10", "diagnose", "h", "7"},
		"diagnose does not accept --timeout"},
	{C, {"--port", "7", "diagnose", "h"}, "--port"},
	{S, {"diagnose"}, "'diagnose'"},
	{S, {"--port", "65536", "any"}, "'65536'"},
	{S, {"--port", "-1", "any"}, "'-1'"},
	{S, {"--port", "1x", "any"}, "'1x'"},
	{S, {"--port", "1\n2", "any"}, "1"},
	{S, {"--port", "", "any"}, "--port must not be empty"},
	{S, {"-p", "1 ", "any"}, "'1 '"},
	{S, {"--count", "0", "any"}, "'0'"},
	{S, {"--count", "-1", "any"}, "'-1'"},
	{S, {"--count", "1.5", "any"}, "'1.5'"},
	{S, {"--count", "18446744073709551616", "any"}, "'18446744073709551616'"},
	{S, {"--count=", "any"}, "empty"},
	{S, {"--max-clients", "0", "any"}, "'0'"},
	{S, {"--max-clients", "1000001", "any"}, "'1000001'"},
	{S, {"--max-clients", "1K", "any"}, "--max-clients must"},
	{S, {"--max-clients-per-address", "0", "any"}, "--max-clients-per-address must"},
	{S, {"--max-clients-p=x", "any"}, "'x'"},
	{S, {"--max-size", "0", "any"}, "'0'"},
	{S, {"--memory", "0", "any"}, "--memory must be a size from 4M to 1024T, not '0'"},
	{S, {"--memory", "4194303", "any"},
		"--memory must be a size from 4M to 1024T, not '4194303'"},
	{S, {"--memory", "1025T", "any"}, "--memory must be a size from 4M to 1024T, not '1025T'"},
	{S, {"--memory", "50%", "any"}, "--memory must be a size from 4M to 1024T, not '50%'"},
	{C, {"--memory", "1G", "write", "h", "7"}, "--memory"},
	{S, {"--max-size", "18446744073709551615", "any"}, "'18446744073709551615'"},
	{S, {"--max-size", "1Mb", "any"}, "'1Mb'"},
	{S, {"--max", "1", "any"}, "--max"},
	{S, {"--handshake-timeout", "0", "any"}, "--handshake-timeout must"},
	{S, {"--handshake-timeout", "86401", "any"}, "'86401'"},
	{C, {"--max-size", "1", "write", "h", "7"}, "--max-size"},
	{S, {"--timeout", "0", "any"}, "'0'"},
	{S, {"--timeout", "0.0009", "any"}, "'0.0009'"},
	{S, {"--timeout", "1e9", "any"}, "'1e9'"},
	{S, {"--timeout", "nan", "any"}, "'nan'"},
	{S, {"--timeout", "inf", "any"}, "'inf'"},
	{S, {"--timeout", "-1", "any"}, "'-1'"},
	{S, {"--timeout", "0x10", "any"}, "'0x10'"},
	{S, {"--timeout", "86400.1", "any"}, "'86400.1'"},
	{S, {"--timeout", "", "any"}, "empty"},
	{S, {"--timeout", ".", "any"}, "'.'"},
	{S, {"--timeout", "1.2.3", "any"}, "'1.2.3'"},
	{S, {"--timeout", "1,5", "any"}, "'1,5'"},
	{S, {"--timeout", "1s", "any"}, "'1s'"},
	{S, {"--message", too_long, "any"}, "--message"},
	{S, {"--buffer", "16383", "any"}, "'16383'"},
	{S, {"--buffer", "16KB", "any"}, "'16KB'"},
	{S, {"--buffer", "5G", "any"}, "'5G'"},
	{S, {"--buffer", "18446744073709551616", "any"}, "'18446744073709551616'"},
	{S, {"--buffer", "4 M", "any"}, "'4 M'"},
	{S, {"--buffer", "-4M", "any"}, "'-4M'"},
	{S, {"--buffer", "4Mb", "any"}, "'4Mb'"},
	{S, {"--buffer=", "any"}, "empty"},
	{S, {"--chunk", "0", "any"}, "'0'"},
	{S, {"--chunk", "1023", "any"}, "'1023'"},
	{S, {"--chunk", "65M", "any"}, "'65M'"},
	{S, {"--chunk", "4G", "any"}, "'4G'"},
	{S, {"--depth", "0", "any"}, "'0'"},
	{S, {"--depth", "1025", "any"}, "'1025'"},
	{S, {"--depth", "1K", "any"}, "'1K'"},
	{S, {"--relaxed-ordering", "yes", "any"},
		"--relaxed-ordering must be auto, on or off, not 'yes'"},
	{S, {"--tos", "64", "any"},
		"--tos must be 0 to 63, CS0 to CS7, AF11 to AF43 or EF, not '64'"},
	{S, {"--tos", "AF14", "any"}, "'AF14'"},
	{S, {"--input", "", "any"}, "--input"},
	{S, {"--output=", "any"}, "--output"},
	{S, {"any", "--input"}, "--input"},
	{S, {"--json", "--stdio", "any"}, "--stdio cannot be combined with --json"},
	{C, {"mesh", "--hosts", "a,b", "--hosts-file", "f"},
		"--hosts and --hosts-file are mutually exclusive"},
	{C, {"mesh", "--hosts", "a,b", "--via", "rsh"},
		"--via must be ssh, srun, clush, pdsh, mpirun or none, not 'rsh'"},
	{C, {"mesh", "--hosts", "a,b", "--via", "none"}, "--via none needs --secret-file"},
	{C, {"mesh", "--secret-file", "s"}, "--secret-file needs --via none"},
	{C, {"mesh", "--via", "srun", "--rsh", "x"}, "--rsh needs --via ssh or pdsh"},
	{C, {"mesh", "--via", "none", "--secret-file", "s"}, "--via none needs --listen"},
	{C, {"mesh", "--size", "4K..8K"}, "mesh takes one --size, not a range"},
	{C, {"mesh", "--listen", "host"}, "--listen must be a port, or an address and a port"},
	{C, {"mesh", "--listen", "[::1]:0"}, "--listen must be a port, or an address and a port"},
	{C, {"mesh", "a"}, "unexpected argument 'a'"},
	{C, {"mesh-agent", "7472"}, "ADDRESS is missing"},
	{C, {"mesh-agent", "x", "192.0.2.1"}, "PORT must be a number from 1 to 65535, not 'x'"},
	{C, {"mesh-agent", "1", "h", "--quick"}, "mesh-agent does not accept --quick; mesh does"},
	{S, {"--stdio", "--output", "-"},
		"--stdio cannot be combined with standard input, output or a pipe"},
	{C, {"--stdio", "write", "h"}, "unknown option '--stdio'; rdma-server accepts it"},
	{S, {"--dry-run", "any"}, "unknown option '--dry-run'; rdma-client accepts it"},
	{C, {"--dry-run", "write", "h"}, "--dry-run needs --input"},
	{C, {"-n", "read", "h", "--output", "d/"}, "--dry-run needs --input"},
	{C, {"-n", "-i", "-", "write", "h"},
		"--dry-run cannot be combined with a pipe: it would be read"},
	{C, {"-n", "-i", "a", "--json", "write", "h"},
		"--dry-run and --json are mutually exclusive"},
	{S, {"--force=yes", "any"}, "--force does not take a value"},
	{S, {"--json=yes", "any"}, "--json does not take a value"},
	{S, {"--progress=yes", "any"}, "--progress does not take a value"},
	{S, {"--no-force", "any"}, "--no-force"},
	{S, {"--de", "1", "any"}, "--de"},
	{C, {"--force", "--pro=no", "write", "h", "7"}, "--pro does not take a value"},
	{S, {"--frobnicate", "any"}, "--frobnicate"},
	{S, {"--frobnicate=1", "any"}, "unknown option '--frobnicate'"},
	{S, {"-x", "any"}, "-x"},
	{S, {"-vx", "any"}, "-x"},
	{S, {"-xv", "any"}, "-x"},
	{S, {"--quiet", "-xv", "any"}, "-x"},
	{S, {"-\xc3\xa9", "any"}, "unknown option"},
	{S, {"-?", "any"}, "-?"},
	{S, {"-:", "any"}, "-:"},
	{S, {"any", "--port"}, "--port"},
	{S, {"any", "-p"}, "-p"},
	{S, {"any", "-vp"}, "p"},
	{S, {"--verbose=yes", "any"}, "--verbose does not take a value"},
	{S, {"--quiet=yes", "any"}, "--quiet does not take a value"},
	{S, {"--ver", "any"}, "--ver"},
	{S, {"--por=1", "any"}, "option '--por' is ambiguous: port or port-file"},
	{S, {"--source", "10.0.0.1", "any"}, "--source"},
	{C, {"--port", "7", "write", "h", "7"}, "--port"},
	{C, {"-p", "7", "write", "h", "7"}, "-p"},
	{C, {"--bind", "::", "write", "h", "7"}, "--bind"},
	{C, {"--count", "1", "write", "h", "7"}, "--count"},
	{C, {"--port-file", "f", "write", "h", "7"}, "--port-file"},
	/* The first mistake is reported, before any conflict between options. */
	{S, {"--count", "0", "--port", "x", "any"}, "--count"},
	{S, {"--port", "x", "--help", "any"}, "'x'"},
	{S, {"--json", "--output", "-", "--port", "x", "any"}, "'x'"},
};

static void errors_name_invalid_arguments(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct options options;
		const char *named = wrong[i].named;

		check_case(
			named, parse(&options, wrong[i].program, wrong[i].words) == OPTIONS_WRONG);
		if (!strstr(options.error, named))
			fail_msg("'%s' does not name %s", options.error, named);
		/* The program appends "; see rdma-server --help". */
		check_case(named, !strchr(options.error, '\n'));
		check_case(named, options.error[strlen(options.error) - 1] != '.');
		options_free(&options);
	}
}

/* Mutually exclusive options, in either order. The message names both. */
static void errors_name_conflicting_options(void **state)
{
	static const struct {
		const char *words[WORDS_MAX], *one, *other;
	} cases[] = {
		{{"--message", "m", "--input", "f", "any"}, "--message", "--input"},
		{{"--input", "-", "any", "--message", ""}, "--message", "--input"},
		{{"--json", "--output", "-", "any"}, "--json", "--output -"},
		{{"--output=-", "any", "--json"}, "--json", "--output -"},
		{{"--chunk", "3670017", "any"}, "--chunk", "--buffer"},
		{{"--chunk", "1M", "--buffer", "1M", "any"}, "--chunk", "--buffer"},
		{{"--buffer", "16K", "any", "--chunk", "8193"}, "--chunk", "--buffer"},
		{{"-f", "any"}, "--force", "--output"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct options options;

		assert_int_equal(parse(&options, PROGRAM_SERVER, cases[i].words), OPTIONS_WRONG);
		if (!strstr(options.error, cases[i].one) || !strstr(options.error, cases[i].other))
			fail_msg("'%s' does not name %s and %s", options.error, cases[i].one,
				cases[i].other);
		options_free(&options);
	}
}

/* The message about a very long argument is truncated and does not overrun its buffer. */
static void truncates_long_errors(void **state)
{
	const char *const words[WORDS_MAX] = {"--port", too_long, "any"};
	struct options options;

	(void)state;
	assert_int_equal(parse(&options, PROGRAM_SERVER, words), OPTIONS_WRONG);
	assert_int_equal(strlen(options.error), OPTIONS_ERROR_MAX - 1);
	options_free(&options);
}

static void help_and_version_need_no_other_argument(void **state)
{
	static const struct {
		const char *words[WORDS_MAX];
		enum options_result result;
	} cases[] = {
		{{"--help"}, OPTIONS_HELP},
		{{"-h"}, OPTIONS_HELP},
		{{"--version"}, OPTIONS_VERSION},
		{{"-V"}, OPTIONS_VERSION},
		{{"--help", "--frobnicate"}, OPTIONS_HELP},
		{{"-vh"}, OPTIONS_HELP},
		{{"--json", "--output", "-", "--help"}, OPTIONS_HELP},
		{{"write", "--help"}, OPTIONS_HELP},
	};
	struct options options;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		for (size_t j = 0; j < COUNT(programs); j++) {
			assert_int_equal(
				parse(&options, programs[j], cases[i].words), cases[i].result);
			options_free(&options);
		}
}

/* A message may look like options; only --help and --version are options of `explain`. */
static void explain_takes_any_message(void **state)
{
	static const struct {
		const char *words[WORDS_MAX];
		enum options_result result;
		const char *query;
	} cases[] = {
		{{"explain"}, OPTIONS_RUN, ""},
		{{"explain", "-"}, OPTIONS_RUN, "-"},
		{{"explain", "nothing", "is listening"}, OPTIONS_RUN, "nothing is listening"},
		{{"explain", "--force needs --output"}, OPTIONS_RUN, "--force needs --output"},
		{{"explain", "--force", "needs", "--help"}, OPTIONS_RUN, "--force needs --help"},
		{{"explain", "-x", "-h"}, OPTIONS_RUN, "-x -h"},
		{{"explain", "--", "--help"}, OPTIONS_RUN, "--help"},
		{{"explain", "--help"}, OPTIONS_HELP, ""},
		{{"explain", "-V"}, OPTIONS_VERSION, ""},
	};
	struct options options;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(parse(&options, PROGRAM_CLIENT, cases[i].words), cases[i].result);
		assert_string_equal(options.query, cases[i].query);
		options_free(&options);
	}
}

/* A glob may have any number of files, up to a limit. */
static void takes_many_files(void **state)
{
	static char file[] = "file", host[] = "h:", write[] = "write";
	static char *argv[OPTIONS_INPUTS_MAX + 5] = {file, write};
	struct options options;

	(void)state;
	for (int i = 0; i < OPTIONS_INPUTS_MAX + 1; i++)
		argv[i + 2] = file;
	argv[OPTIONS_INPUTS_MAX + 2] = host;
	assert_int_equal(
		parse_command_line(&options, C, OPTIONS_INPUTS_MAX + 3, argv), OPTIONS_RUN);
	assert_int_equal(options.input_count, OPTIONS_INPUTS_MAX);
	assert_string_equal(options.inputs[OPTIONS_INPUTS_MAX - 1], "file");
	options_free(&options);
	argv[OPTIONS_INPUTS_MAX + 2] = file;
	argv[OPTIONS_INPUTS_MAX + 3] = host;
	assert_int_equal(
		parse_command_line(&options, C, OPTIONS_INPUTS_MAX + 4, argv), OPTIONS_WRONG);
	assert_string_equal(
		options.error, "at most 16384 files can be named; name their directory instead");
	options_free(&options);
}

/* The parser looks for other rows of an option next to one of them. */
static void rows_of_an_option_adjoin(void **state)
{
	(void)state;
	for (unsigned int i = 1; i < option_row_count; i++)
		for (unsigned int j = 0; j < i; j++)
			if (strcmp(option_rows[j].name, option_rows[i].name) == 0)
				assert_string_equal(option_rows[i - 1].name, option_rows[i].name);
}

static int fill(void **state)
{
	(void)state;
	memset(longest, 'm', sizeof(longest) - 1);
	memset(too_long, 'm', sizeof(too_long) - 1);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepts_every_option),
		cmocka_unit_test(errors_name_invalid_arguments),
		cmocka_unit_test(errors_name_conflicting_options),
		cmocka_unit_test(truncates_long_errors),
		cmocka_unit_test(help_and_version_need_no_other_argument),
		cmocka_unit_test(explain_takes_any_message),
		cmocka_unit_test(takes_many_files),
		cmocka_unit_test(rows_of_an_option_adjoin),
	};

	return cmocka_run_group_tests_name("parse", tests, fill, NULL);
}
