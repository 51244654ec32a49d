#include <assert.h>

#include "options-table.h"

#define BOTH (PROGRAM_SERVER | PROGRAM_CLIENT)
#define ALL  (BOTH | OF_DIAGNOSIS)

/* Letters are those that perftest has for the same thing. */
static const struct option_row rows[] = {
	{PROGRAM_SERVER, OPTION_BIND, "bind", "ADDRESS",
		"listen on this address or host name only"},
	{BOTH, OPTION_BUFFER, "buffer", "SIZE",
		"registered memory for the data of a connection; default 7M"},
	{BOTH, OPTION_CHUNK, "chunk", "SIZE",
		"bytes of one WRITE or READ; default: chosen for the device"},
	{PROGRAM_SERVER, OPTION_COUNT, "count", "N", "stop after N clients"},
	{BOTH, OPTION_DEPTH, "depth", "N",
		"chunks in flight; default: as many as the buffer holds"},
	{ALL, 'd', "device", "NAME", "use this RDMA device only (see `rdma link`)"},
	{BOTH, OPTION_FORCE, "force", NULL, "replace output files that exist"},
	{PROGRAM_SERVER, OPTION_HANDSHAKE_TIMEOUT, "handshake-timeout", "SECONDS",
		"time for a client to connect and begin; default 8, or --timeout"},
	{ALL, 'h', "help", NULL, "print this help and exit"},
	{BOTH, OPTION_INPUT, "input", "FILE|-",
		"send this file, or standard input (-), instead of a message"},
	{ALL, OPTION_JSON, "json", NULL,
		"print a JSON document for each connection instead of lines"},
	{PROGRAM_SERVER, OPTION_MAX_CLIENTS, "max-clients", "N", "clients at a time; default 2048"},
	{PROGRAM_SERVER, OPTION_MAX_CLIENTS_PER_ADDRESS, "max-clients-per-address", "N",
		"of them, from one address; default: all"},
	{PROGRAM_SERVER, OPTION_MAX_SIZE, "max-size", "SIZE",
		"refuse clients that send more; default: no limit"},
	{BOTH, OPTION_MESSAGE, "message", "TEXT", "the message to exchange, up to 1023 bytes"},
	{BOTH, OPTION_NO_PROGRESS, "no-progress", NULL, "show no progress"},
	{BOTH, OPTION_OUTPUT, "output", "FILE|DIRECTORY/|-",
		"write what arrives there, or to standard output (-)"},
	{PROGRAM_SERVER, 'p', "port", "N", "listen on this port; default: the system picks one"},
	{PROGRAM_SERVER, OPTION_PORT_FILE, "port-file", "FILE",
		"write the port into FILE when ready"},
	{BOTH, OPTION_PROGRESS, "progress", NULL,
		"show progress on standard error; default: if a terminal"},
	{ALL, OPTION_QUIET, "quiet", NULL, "print no lines but errors"},
	{ALL, OPTION_SECRET_FILE, "secret-file", "FILE",
		"deal only with a peer that holds the same secret"},
	{PROGRAM_CLIENT | OF_DIAGNOSIS, OPTION_SOURCE, "source", "ADDRESS",
		"connect from this address"},
	{BOTH, OPTION_TIMEOUT, "timeout", "SECONDS",
		"give up when the peer is silent for this time; default 10"},
	{ALL, 'v', "verbose", NULL, "tell details on standard error"},
	{ALL, 'V', "version", NULL, "print the version and exit"},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static_assert(ROWS <= OPTION_ROWS_MAX, "OPTION_ROWS_MAX is too small");

const struct option_row *option_row(size_t index)
{
	return index < ROWS ? &rows[index] : NULL;
}

const struct option_row *option_row_of(int value)
{
	size_t i = 0;

	while (rows[i].value != value)
		i++;
	return &rows[i];
}

static const char *const server_text =
	"Usage: rdma-server [OPTION...] write|read|any\n"
	"Exchanges data with clients by one-sided RDMA, as many at once as come, until SIGINT or SIGTERM:\n"
	"short messages, or files and pipes of any size, every byte verified at both ends. `any` serves\n"
	"whichever mode a client asks for. `rdma-server --output incoming/ any` keeps what clients send.\n";

static const char *const client_text =
	"Usage: rdma-client [OPTION...] write|read HOST PORT\n"
	"       rdma-client [OPTION...] diagnose [HOST [PORT]]\n"
	"Exchanges data with rdma-server by one-sided RDMA: each side writes its own into the other's\n"
	"memory (write) or reads the other's out of it (read). The data is a short message or, of any\n"
	"size, a file or a pipe, and every byte is verified at both ends.\n"
	"`rdma-client write --input big.iso HOST PORT` sends a file.\n"
	"\nWhere RDMA does not work, `rdma-client diagnose HOST PORT` says what is broken between this\n"
	"host and the rdma-server at HOST and PORT, on which side, and how to mend it. Without PORT or\n"
	"HOST it goes as far as it can. It takes the options --device, --json, --quiet, --secret-file and\n"
	"--source, but no others.\n";

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

void options_help(FILE *stream, enum program program)
{
	fprintf(stream, "%s\nOptions:\n", program == PROGRAM_SERVER ? server_text : client_text);
	for (size_t i = 0; i < ROWS; i++) {
		const struct option_row *row = &rows[i];
		char left[LEFT_WIDTH + 1];

		if (!(row->programs & program))
			continue;
		snprintf(left, sizeof(left), "--%s%s%s", row->name, row->argument ? " " : "",
			row->argument ? row->argument : "");
		if (row->value < 256)
			fprintf(stream, "  -%c, ", row->value);
		else
			fputs("      ", stream);
		fprintf(stream, "%-*s %s\n", LEFT_WIDTH, left, row->help);
	}
	fputs(size_text, stream);
	fputs(status_text, stream);
	if (program == PROGRAM_CLIENT)
		fputs(diagnosis_text, stream);
}
