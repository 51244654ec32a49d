#include "cli/option-table.h"

#define BOTH (PROGRAM_SERVER | PROGRAM_CLIENT)

/* Letters are those that perftest has for the same thing. */
const struct option_row option_rows[] = {
	{PROGRAM_SERVER, USE_ANY, OPTION_BIND, "bind", "ADDRESS",
		"listen on this address or host name only"},
	{BOTH, USE_EXCHANGE, OPTION_BUFFER, "buffer", "SIZE",
		"registered memory for the data of a connection; default 7M"},
	{BOTH, USE_EXCHANGE, OPTION_CHUNK, "chunk", "SIZE",
		"bytes of one WRITE or READ; default: chosen for the device"},
	{PROGRAM_SERVER, USE_ANY, OPTION_COUNT, "count", "N", "stop after N clients"},
	{BOTH, USE_EXCHANGE | USE_MEASUREMENT, OPTION_DEPTH, "depth", "N",
		"chunks, or measured operations, in flight; default: as many as fit"},
	{BOTH, USE_ANY, 'd', "device", "NAME", "use this RDMA device only (see `rdma link`)"},
	{BOTH, USE_EXCHANGE, OPTION_FORCE, "force", NULL, "replace output files that exist"},
	{PROGRAM_SERVER, USE_ANY, OPTION_HANDSHAKE_TIMEOUT, "handshake-timeout", "SECONDS",
		"time for a client to connect and begin; default 8, or --timeout"},
	{BOTH, USE_ANY, 'h', "help", NULL, "print this help and exit"},
	{BOTH, USE_EXCHANGE, OPTION_INPUT, "input", "FILE|-",
		"send this file, or standard input (-), instead of a message"},
	{BOTH, USE_ANY, OPTION_JSON, "json", NULL,
		"print a JSON document for each connection instead of lines"},
	{PROGRAM_SERVER, USE_ANY, OPTION_MAX_CLIENTS, "max-clients", "N",
		"clients at a time; default 2048"},
	{PROGRAM_SERVER, USE_ANY, OPTION_MAX_CLIENTS_PER_ADDRESS, "max-clients-per-address", "N",
		"of them, from one address; default: all"},
	{PROGRAM_SERVER, USE_ANY, OPTION_MAX_SIZE, "max-size", "SIZE",
		"refuse clients that send more; default: no limit"},
	{BOTH, USE_EXCHANGE, OPTION_MESSAGE, "message", "TEXT",
		"the message to exchange, up to 1023 bytes"},
	{BOTH, USE_EXCHANGE, OPTION_NO_PROGRESS, "no-progress", NULL, "show no progress"},
	{BOTH, USE_EXCHANGE, OPTION_OUTPUT, "output", "FILE|DIRECTORY/|-",
		"write what arrives there, or to standard output (-)"},
	{PROGRAM_SERVER, USE_ANY, 'p', "port", "N",
		"listen on this port; default: the system picks one"},
	{PROGRAM_SERVER, USE_ANY, OPTION_PORT_FILE, "port-file", "FILE",
		"write the port into FILE when ready"},
	{BOTH, USE_EXCHANGE, OPTION_PROGRESS, "progress", NULL,
		"show progress on standard error; default: if a terminal"},
	{BOTH, USE_ANY, OPTION_QUIET, "quiet", NULL, "print no lines but errors"},
	{BOTH, USE_ANY, OPTION_SECRET_FILE, "secret-file", "FILE",
		"deal only with a peer that holds the same secret"},
	{PROGRAM_CLIENT, USE_ANY, OPTION_SOURCE, "source", "ADDRESS", "connect from this address"},
	{BOTH, USE_EXCHANGE | USE_MEASUREMENT, OPTION_TIMEOUT, "timeout", "SECONDS",
		"give up when the peer is silent for this time; default 10"},
	{BOTH, USE_ANY, 'v', "verbose", NULL, "tell details on standard error"},
	{BOTH, USE_ANY, 'V', "version", NULL, "print the version and exit"},
	{PROGRAM_CLIENT, USE_MEASUREMENT, OPTION_BANDWIDTH, "bandwidth", NULL,
		"measure how much goes through"},
	{PROGRAM_CLIENT, USE_MEASUREMENT, OPTION_BIDIRECTIONAL, "bidirectional", NULL,
		"the server does the same at the same time"},
	{PROGRAM_CLIENT, USE_MEASUREMENT, OPTION_DURATION, "duration", "SECONDS",
		"measure for so long, with each size; default 2"},
	{PROGRAM_CLIENT, USE_MEASUREMENT, OPTION_EXPECT, "expect", "RATE|PERCENT",
		"exit with 1 if it is less: 11GB/s, 90Gb/s, or 90% of the link's"},
	{PROGRAM_CLIENT, USE_MEASUREMENT, OPTION_HISTOGRAM, "histogram", NULL,
		"show how the latencies are distributed"},
	{PROGRAM_CLIENT, USE_MEASUREMENT, OPTION_ITERATIONS, "iterations", "N",
		"measure so many operations on each queue pair, instead of a time"},
	{PROGRAM_CLIENT, USE_MEASUREMENT, OPTION_LATENCY, "latency", NULL,
		"measure how long one operation takes"},
	{PROGRAM_CLIENT, USE_MEASUREMENT, OPTION_POLL, "poll", "auto|spin|event",
		"how to wait; default: whichever is faster in the warm-up"},
	{PROGRAM_CLIENT, USE_MEASUREMENT, OPTION_QPS, "qps", "N",
		"queue pairs of each thread; default 1"},
	{PROGRAM_CLIENT, USE_MEASUREMENT, OPTION_SIZE, "size", "SIZE",
		"bytes of an operation; default 64K, or 8 for the latency"},
	{PROGRAM_CLIENT, USE_MEASUREMENT, OPTION_SIZES, "sizes", "SIZE..SIZE",
		"all of these, each twice as large as the one before"},
	{PROGRAM_CLIENT, USE_MEASUREMENT, OPTION_THREADS, "threads", "N",
		"threads at a time, each with a connection of its own; default 1"},
	{PROGRAM_CLIENT, USE_MEASUREMENT, OPTION_UNIT, "unit", "MB/s|MiB/s|Gb/s",
		"unit of the bandwidth; default MB/s"},
	{PROGRAM_CLIENT, USE_MEASUREMENT, OPTION_VERIFY, "verify", NULL,
		"look at every byte of every operation, at both ends"},
	{PROGRAM_CLIENT, USE_MEASUREMENT, OPTION_WARM_UP, "warm-up", "SECONDS",
		"do the same before, unmeasured; default 0.2"},
};

const unsigned int option_row_count = sizeof(option_rows) / sizeof(option_rows[0]);

_Static_assert(
	sizeof(option_rows) / sizeof(option_rows[0]) <= OPTION_ROWS_MAX, "there is a bit for each");

const struct option_row *option_row_of(int option)
{
	const struct option_row *row = option_rows;

	while (row->value != option)
		row++;
	return row;
}

static const char *const server_text =
	"Usage: rdma-server [OPTION...] write|read|any\n"
	"Exchanges data with clients by one-sided RDMA, as many at once as come, until SIGINT or SIGTERM:\n"
	"short messages, or files and pipes of any size, every byte verified at both ends. `any` serves\n"
	"whichever mode a client asks for. `rdma-server --output incoming/ any` keeps what clients send.\n";

static const char *const client_text =
	"Usage: rdma-client [OPTION...] write|read HOST PORT\n"
	"       rdma-client [OPTION...] --bandwidth|--latency write|read HOST PORT\n"
	"       rdma-client [OPTION...] diagnose [HOST [PORT]]\n"
	"Exchanges data with rdma-server by one-sided RDMA: each side writes its own into the other's\n"
	"memory (write) or reads the other's out of it (read). The data is a short message or, of any\n"
	"size, a file or a pipe, and every byte is verified at both ends.\n"
	"`rdma-client write --input big.iso HOST PORT` sends a file.\n"
	"\nWith --bandwidth or --latency it measures WRITEs or READs from memory to memory instead; the\n"
	"server needs no option for that.\n"
	"\nWhere RDMA does not work, `rdma-client diagnose HOST PORT` says what is broken between this\n"
	"host and the rdma-server at HOST and PORT, on which side, and how to mend it. Without PORT or\n"
	"HOST it goes as far as it can. Of the options it heeds --device, --json, --quiet, --secret-file\n"
	"and --source.\n";

static const char *const size_text =
	"\nSIZE is in bytes, KiB, MiB or GiB (K, M or G for short), or kB, MB or GB: 65536, 64K, 1MB.\n";

static const char *const status_text =
	"\nExit status: 0 exchanged and verified; 1 failed; 2 wrong usage; 3 could not connect;\n"
	"4 the peer failed, vanished or broke the protocol; 5 data arrived damaged.\n";

static const char *const diagnosis_text =
	"diagnose: 0 nothing is broken; else, of what broke first: 1 or 3 this host or the way to the\n"
	"server, 4 the peer, packets or speed, 5 data.\n";

/* The widest of the left column. */
#define LEFT_WIDTH ((int)sizeof("--max-clients-per-address N") - 1)

static void print_row(FILE *stream, const struct option_row *row)
{
	char left[LEFT_WIDTH + 1];

	snprintf(left, sizeof(left), "--%s%s%s", row->name, row->argument ? " " : "",
		row->argument ? row->argument : "");
	if (row->value < 256)
		fprintf(stream, "  -%c, ", row->value);
	else
		fputs("      ", stream);
	fprintf(stream, "%-*s %s\n", LEFT_WIDTH, left, row->help);
}

/* Those for measurements apart from all others. */
static void print_rows(FILE *stream, enum program program, bool measurement)
{
	for (unsigned int i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if ((row->programs & program) && (row->uses == USE_MEASUREMENT) == measurement)
			print_row(stream, row);
	}
}

void options_help(FILE *stream, enum program program)
{
	fprintf(stream, "%s\nOptions:\n", program == PROGRAM_SERVER ? server_text : client_text);
	print_rows(stream, program, false);
	if (program == PROGRAM_CLIENT) {
		fputs("\nTo measure:\n", stream);
		print_rows(stream, program, true);
	}
	fputs(size_text, stream);
	fputs(status_text, stream);
	if (program == PROGRAM_CLIENT)
		fputs(diagnosis_text, stream);
}
