#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "size.h"
#include "target.h"
#include "text.h"

#define TIMEOUT_DEFAULT     10000
#define TIMEOUT_MAX_SECONDS 86400
#define BUFFER_DEFAULT      (7 * MIB)
#define DEPTH_MAX           1024
#define KIB                 UINT64_C(1024)
#define MIB                 (1024 * KIB)
#define GIB                 (1024 * MIB)
#define BOTH                (PROGRAM_SERVER | PROGRAM_CLIENT)

/* Options without a short letter are numbered from beyond the letters. */
enum {
	OPTION_BIND = 256,
	OPTION_BUFFER,
	OPTION_CHUNK,
	OPTION_COUNT,
	OPTION_DEPTH,
	OPTION_FORCE,
	OPTION_INPUT,
	OPTION_JSON,
	OPTION_MESSAGE,
	OPTION_NO_PROGRESS,
	OPTION_OUTPUT,
	OPTION_PORT_FILE,
	OPTION_PROGRESS,
	OPTION_QUIET,
	OPTION_SOURCE,
	OPTION_TIMEOUT,
};

/* Letters are those that perftest has for the same thing. */
static const struct row {
	unsigned int programs; /* enum program, or-ed */
	int value;
	const char *name, *argument, *help;
} rows[] = {
	{PROGRAM_SERVER, OPTION_BIND, "bind", "ADDRESS",
		"listen on this address or host name only"},
	{BOTH, OPTION_BUFFER, "buffer", "SIZE",
		"registered memory for the data of a connection; default 7M"},
	{BOTH, OPTION_CHUNK, "chunk", "SIZE",
		"bytes of one WRITE or READ; default: chosen for the device"},
	{PROGRAM_SERVER, OPTION_COUNT, "count", "N", "stop after N clients"},
	{BOTH, OPTION_DEPTH, "depth", "N",
		"chunks in flight; default: as many as the buffer holds"},
	{BOTH, 'd', "device", "NAME", "use this RDMA device only (see `rdma link`)"},
	{BOTH, OPTION_FORCE, "force", NULL, "replace output files that exist"},
	{BOTH, 'h', "help", NULL, "print this help and exit"},
	{BOTH, OPTION_INPUT, "input", "FILE|-",
		"send this file, or standard input (-), instead of a message"},
	{BOTH, OPTION_JSON, "json", NULL,
		"print a JSON document for each connection instead of lines"},
	{BOTH, OPTION_MESSAGE, "message", "TEXT", "the message to exchange, up to 1023 bytes"},
	{BOTH, OPTION_NO_PROGRESS, "no-progress", NULL, "show no progress"},
	{BOTH, OPTION_OUTPUT, "output", "FILE|DIRECTORY/|-",
		"write what arrives there, or to standard output (-)"},
	{PROGRAM_SERVER, 'p', "port", "N", "listen on this port; default: the system picks one"},
	{PROGRAM_SERVER, OPTION_PORT_FILE, "port-file", "FILE",
		"write the port into FILE when ready"},
	{BOTH, OPTION_PROGRESS, "progress", NULL,
		"show progress on standard error; default: if a terminal"},
	{BOTH, OPTION_QUIET, "quiet", NULL, "print no lines but errors"},
	{PROGRAM_CLIENT, OPTION_SOURCE, "source", "ADDRESS", "connect from this address"},
	{BOTH, OPTION_TIMEOUT, "timeout", "SECONDS",
		"give up when the peer is silent for this time; default 10"},
	{BOTH, 'v', "verbose", NULL, "tell details on standard error"},
	{BOTH, 'V', "version", NULL, "print the version and exit"},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static enum options_result __attribute__((format(printf, 2, 3)))
wrong(struct options *options, const char *format, ...)
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

/* Reads a whole decimal number between the limits. Returns false if it is anything else. */
static bool parse_number(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *number)
{
	char *end;

	/* strtoull() would take blanks and signs. */
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && *number >= minimum && *number <= maximum;
}

/* Reads seconds, with a fraction if wanted, as milliseconds from 1 up. */
static bool parse_seconds(const char *text, int64_t *milliseconds)
{
	double seconds;
	char *end;

	/* strtod() would take names, signs and hexadecimal. */
	if (strspn(text, "0123456789.") != strlen(text))
		return false;
	seconds = strtod(text, &end);
	if (end == text || *end != '\0' || seconds < 0.001 || seconds > TIMEOUT_MAX_SECONDS)
		return false;
	*milliseconds = (int64_t)(seconds * 1000 + 0.5);
	return true;
}

static bool parse_port(struct options *options, const char *text, uint16_t minimum)
{
	uint64_t number;

	if (!parse_number(text, minimum, UINT16_MAX, &number)) {
		wrong(options, "the port must be a number from %u to 65535, not '%s'", minimum,
			text);
		return false;
	}
	options->port = (uint16_t)number;
	return true;
}

static const struct row *row_of(int option)
{
	size_t i = 0;

	while (rows[i].value != option)
		i++;
	return &rows[i];
}

/* These take one option each, by its kind. They return OPTIONS_RUN to go on. */

static enum options_result take_flag(struct options *options, int option)
{
	switch (option) {
	case OPTION_FORCE:
		options->force = true;
		break;
	case 'h':
		return OPTIONS_HELP;
	case OPTION_JSON:
		options->json = true;
		break;
	case OPTION_NO_PROGRESS:
		options->progress = PROGRESS_NEVER;
		break;
	case OPTION_PROGRESS:
		options->progress = PROGRESS_ALWAYS;
		break;
	case OPTION_QUIET:
		options->quiet = true;
		break;
	case 'v':
		options->verbose = true;
		break;
	case 'V':
		return OPTIONS_VERSION;
	default:
		return OPTIONS_WRONG;
	}
	return OPTIONS_RUN;
}

static enum options_result take_number(struct options *options, int option, const char *value)
{
	uint64_t number = 0;

	switch (option) {
	case OPTION_BUFFER:
		if (size_parse(value, 16 * KIB, 4 * GIB, &options->buffer))
			return wrong(options, "--buffer must be 16K to 4G, not '%s'", value);
		break;
	case OPTION_CHUNK:
		if (size_parse(value, KIB, 64 * MIB, &number))
			return wrong(options, "--chunk must be 1K to 64M, not '%s'", value);
		options->chunk = (uint32_t)number;
		break;
	case OPTION_COUNT:
		if (!parse_number(value, 1, UINT64_MAX, &options->count))
			return wrong(
				options, "--count must be a number from 1 up, not '%s'", value);
		break;
	case OPTION_DEPTH:
		if (!parse_number(value, 1, DEPTH_MAX, &number))
			return wrong(options, "--depth must be a number from 1 to %d, not '%s'",
				DEPTH_MAX, value);
		options->depth = (uint32_t)number;
		break;
	case 'p':
		return parse_port(options, value, 0) ? OPTIONS_RUN : OPTIONS_WRONG;
	case OPTION_TIMEOUT:
		if (!parse_seconds(value, &options->timeout))
			return wrong(options, "--timeout must be 0.001 to %d seconds, not '%s'",
				TIMEOUT_MAX_SECONDS, value);
		break;
	default:
		return OPTIONS_WRONG;
	}
	return OPTIONS_RUN;
}

/* Texts are kept as they are; all other values are numbers. */
static enum options_result take_text(struct options *options, int option, const char *value)
{
	switch (option) {
	case OPTION_BIND:
		options->bind = value;
		break;
	case 'd':
		options->device = value;
		break;
	case OPTION_INPUT:
		options->input = value;
		break;
	case OPTION_MESSAGE:
		if (strlen(value) > OPTIONS_MESSAGE_MAX)
			return wrong(options, "--message has %zu bytes; at most %d are possible",
				strlen(value), OPTIONS_MESSAGE_MAX);
		options->message = value;
		break;
	case OPTION_OUTPUT:
		options->output = value;
		break;
	case OPTION_PORT_FILE:
		options->port_file = value;
		break;
	case OPTION_SOURCE:
		options->source = value;
		break;
	default:
		return take_number(options, option, value);
	}
	return OPTIONS_RUN;
}

static enum options_result take(struct options *options, int option, const char *value)
{
	const struct row *row = row_of(option);

	if (!row->argument)
		return take_flag(options, option);
	if (*value == '\0' && option != OPTION_MESSAGE)
		return wrong(options, "--%s must not be ''", row->name);
	return take_text(options, option, value);
}

/* Looks for options that are right alone and wrong together, in whatever order they came. */
static enum options_result check_together(struct options *options)
{
	if (options->message && options->input)
		return wrong(options, "--message and --input are both given; one can be sent");
	if (options->json && options->output && target_is_standard_output(options->output))
		return wrong(options, "--json and --output - both want standard output");
	if (options->chunk > options->buffer / 2)
		return wrong(options,
			"--chunk may be half of --buffer, %" PRIu64 " bytes, but not %" PRIu32,
			options->buffer / 2, options->chunk);
	return OPTIONS_RUN;
}

/* Takes what may follow the client's `diagnose`: a host, and a port. */
static enum options_result take_diagnosis(struct options *options, int count, char *words[])
{
	if (options->input || options->output || options->message)
		return wrong(options, "%s does not go with diagnose, which moves data of its own",
			options->input    ? "--input"
			: options->output ? "--output"
					  : "--message");
	options->diagnose = true;
	if (count > 2)
		return wrong(options, "'%s' is one word too many", words[2]);
	if (count == 0)
		return OPTIONS_RUN;
	options->host = words[0];
	if (*options->host == '\0')
		return wrong(options, "the server's host must not be empty");
	return count == 1 || parse_port(options, words[1], 1) ? OPTIONS_RUN : OPTIONS_WRONG;
}

/* Takes the words that are no options: the mode and, for the client, host and port. */
static enum options_result take_words(
	struct options *options, enum program program, int count, char *words[])
{
	bool server = program == PROGRAM_SERVER;
	const char *modes = server ? "write, read or any" : "write, read or diagnose";

	if (count < 1)
		return wrong(options, "the mode is missing: %s", modes);
	if (!server && strcmp(words[0], "diagnose") == 0)
		return take_diagnosis(options, count - 1, words + 1);
	options->mode = mode_by_name(words[0]);
	if (!options->mode && !(server && strcmp(words[0], "any") == 0))
		return wrong(options, "the mode must be %s, not '%s'", modes, words[0]);
	if (server)
		return count == 1 ? OPTIONS_RUN
				  : wrong(options, "'%s' is one word too many", words[1]);
	if (count < 3)
		return wrong(options, "the server's %s is missing", count < 2 ? "host" : "port");
	if (count > 3)
		return wrong(options, "'%s' is one word too many", words[3]);
	options->host = words[1];
	if (*options->host == '\0')
		return wrong(options, "the server's host must not be empty");
	return parse_port(options, words[2], 1) ? OPTIONS_RUN : OPTIONS_WRONG;
}

/* Makes getopt's tables of the program's rows. A leading ':' lets it tell what is wrong. */
static void getopt_tables(enum program program, struct option table[], char letters[])
{
	*letters++ = ':';
	for (size_t i = 0; i < ROWS; i++) {
		if (!(rows[i].programs & program))
			continue;
		*table++ = (struct option){
			rows[i].name,
			rows[i].argument ? required_argument : no_argument,
			NULL,
			rows[i].value,
		};
		if (rows[i].value >= 256)
			continue;
		*letters++ = (char)rows[i].value;
		if (rows[i].argument)
			*letters++ = ':';
	}
	*table = (struct option){0};
	*letters = '\0';
}

/* Says what getopt has found wrong: a missing value (':'), or what optopt and the word tell. */
static enum options_result refuse(
	struct options *options, int option, const char *letters, const char *word)
{
	if (option == ':')
		return wrong(options, "%s needs a value", word);
	if (optopt == 0)
		return wrong(options, "there is no option %s, or it is ambiguous", word);
	/* A known option is refused only for a value that it does not take. */
	if (optopt >= OPTION_BIND || (optopt > 0 && strchr(letters, optopt)))
		return wrong(options, "%s takes no value", word);
	return wrong(options, "there is no option -%c", optopt);
}

enum options_result options_parse(
	struct options *options, enum program program, int argc, char *argv[])
{
	struct option table[ROWS + 1];
	char letters[2 * ROWS + 2];
	enum options_result result = OPTIONS_RUN;
	int option;

	*options = (struct options){
		.timeout = TIMEOUT_DEFAULT,
		.buffer = BUFFER_DEFAULT,
	};
	getopt_tables(program, table, letters);
	opterr = 0;
	optind = 0;
	while (result == OPTIONS_RUN &&
		(option = getopt_long(argc, argv, letters, table, NULL)) != -1) {
		if (option == ':' || option == '?')
			return refuse(options, option, letters, argv[optind - 1]);
		result = take(options, option, optarg);
	}
	if (result == OPTIONS_RUN)
		result = check_together(options);
	if (result != OPTIONS_RUN)
		return result;
	return take_words(options, program, argc - optind, argv + optind);
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
	"HOST it goes as far as it can. Of the options it heeds --device, --json, --quiet\n"
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
#define LEFT_WIDTH ((int)sizeof("--output FILE|DIRECTORY/|-") - 1)

void options_help(FILE *stream, enum program program)
{
	fprintf(stream, "%s\nOptions:\n", program == PROGRAM_SERVER ? server_text : client_text);
	for (size_t i = 0; i < ROWS; i++) {
		const struct row *row = &rows[i];
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
