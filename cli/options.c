#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/option-table.h"
#include "stream/output-file.h"

#define TIMEOUT_DEFAULT   10000
#define BUFFER_DEFAULT    (7 * MIB)
#define DEPTH_MAX         1024
#define HANDSHAKE_DEFAULT 8000
#define CLIENTS_DEFAULT   2048
#define CLIENTS_MAX       1000000
#define KIB               UINT64_C(1024)
#define MIB               (1024 * KIB)
#define GIB               (1024 * MIB)

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

bool options_number(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *number)
{
	char *end;

	/* strtoull() would take blanks and signs. */
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && *number >= minimum && *number <= maximum;
}

bool options_seconds(const char *text, int64_t *milliseconds)
{
	double seconds;
	char *end;

	/* strtod() would take names, signs and hexadecimal. */
	if (strspn(text, "0123456789.") != strlen(text))
		return false;
	seconds = strtod(text, &end);
	if (end == text || *end != '\0' || seconds < 0.001 || seconds > OPTIONS_SECONDS_MAX)
		return false;
	*milliseconds = (int64_t)(seconds * 1000 + 0.5);
	return true;
}

static bool parse_port(struct options *options, const char *text, uint16_t minimum)
{
	uint64_t number;

	if (!options_number(text, minimum, UINT16_MAX, &number)) {
		options_wrong(options, "the port must be a number from %u to 65535, not '%s'",
			minimum, text);
		return false;
	}
	options->port = (uint16_t)number;
	return true;
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

/* The server's bounds of what clients may take of it. */
static enum options_result take_limit(struct options *options, int option, const char *value)
{
	bool per_address = option == OPTION_MAX_CLIENTS_PER_ADDRESS;
	uint64_t number = 0;

	switch (option) {
	case OPTION_HANDSHAKE_TIMEOUT:
		if (!options_seconds(value, &options->handshake_timeout))
			return options_wrong(options,
				"--handshake-timeout must be 0.001 to %d seconds, not '%s'",
				OPTIONS_SECONDS_MAX, value);
		break;
	case OPTION_MAX_CLIENTS:
	case OPTION_MAX_CLIENTS_PER_ADDRESS:
		if (!options_number(value, 1, CLIENTS_MAX, &number))
			return options_wrong(options,
				"--%s must be a number from 1 to %d, not '%s'",
				option_row_of(option)->name, CLIENTS_MAX, value);
		*(per_address ? &options->max_clients_per_address : &options->max_clients) =
			(unsigned int)number;
		break;
	case OPTION_MAX_SIZE:
		if (units_parse(value, 1, UINT64_MAX - 1, &options->max_size))
			return options_wrong(
				options, "--max-size must be a size from 1 up, not '%s'", value);
		break;
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
		if (units_parse(value, 16 * KIB, 4 * GIB, &options->buffer))
			return options_wrong(
				options, "--buffer must be 16K to 4G, not '%s'", value);
		break;
	case OPTION_CHUNK:
		if (units_parse(value, KIB, 64 * MIB, &number))
			return options_wrong(options, "--chunk must be 1K to 64M, not '%s'", value);
		options->chunk = (uint32_t)number;
		break;
	case OPTION_COUNT:
		if (!options_number(value, 1, UINT64_MAX, &options->count))
			return options_wrong(
				options, "--count must be a number from 1 up, not '%s'", value);
		break;
	case OPTION_DEPTH:
		if (!options_number(value, 1, DEPTH_MAX, &number))
			return options_wrong(options,
				"--depth must be a number from 1 to %d, not '%s'", DEPTH_MAX,
				value);
		options->depth = (uint32_t)number;
		break;
	case 'p':
		return parse_port(options, value, 0) ? OPTIONS_RUN : OPTIONS_WRONG;
	case OPTION_TIMEOUT:
		if (!options_seconds(value, &options->timeout))
			return options_wrong(options,
				"--timeout must be 0.001 to %d seconds, not '%s'",
				OPTIONS_SECONDS_MAX, value);
		break;
	default:
		return take_limit(options, option, value);
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
			return options_wrong(options,
				"--message has %zu bytes; at most %d are possible", strlen(value),
				OPTIONS_MESSAGE_MAX);
		options->message = value;
		break;
	case OPTION_OUTPUT:
		options->output = value;
		break;
	case OPTION_PORT_FILE:
		options->port_file = value;
		break;
	case OPTION_SECRET_FILE:
		options->secret_file = value;
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
	const struct option_row *row = option_row_of(option);

	options->given |= UINT64_C(1) << (row - option_rows);
	if (row->argument && *value == '\0' && option != OPTION_MESSAGE)
		return options_wrong(options, "--%s must not be ''", row->name);
	if (row->uses == USE_MEASUREMENT)
		return options_take_measure(options, option, value);
	if (!row->argument)
		return take_flag(options, option);
	return take_text(options, option, value);
}

/* Looks for options that are right alone and wrong together, in whatever order they came. */
static enum options_result check_together(struct options *options)
{
	if (options->message && options->input)
		return options_wrong(
			options, "--message and --input are both given; one can be sent");
	if (options->json && options->output && output_file_is_standard_output(options->output))
		return options_wrong(options, "--json and --output - both want standard output");
	if (options->chunk > options->buffer / 2)
		return options_wrong(options,
			"--chunk may be half of --buffer, %" PRIu64 " bytes, but not %" PRIu32,
			options->buffer / 2, options->chunk);
	return OPTIONS_RUN;
}

/* Takes what may follow the client's `diagnose`: a host, and a port. */
static enum options_result take_diagnosis(struct options *options, int count, char *words[])
{
	options->diagnose = true;
	if (count > 2)
		return options_wrong(options, "'%s' is one word too many", words[2]);
	if (count == 0)
		return OPTIONS_RUN;
	options->host = words[0];
	if (*options->host == '\0')
		return options_wrong(options, "the server's host must not be empty");
	return count == 1 || parse_port(options, words[1], 1) ? OPTIONS_RUN : OPTIONS_WRONG;
}

/* Takes the words that are no options: the mode and, for the client, host and port. */
static enum options_result take_words(
	struct options *options, enum program program, int count, char *words[])
{
	bool server = program == PROGRAM_SERVER;
	const char *modes = server ? "write, read or any" : "write, read or diagnose";

	if (count < 1)
		return options_wrong(options, "the mode is missing: %s", modes);
	if (!server && strcmp(words[0], "diagnose") == 0)
		return take_diagnosis(options, count - 1, words + 1);
	options->mode = mode_by_name(words[0]);
	if (!options->mode && !(server && strcmp(words[0], "any") == 0))
		return options_wrong(options, "the mode must be %s, not '%s'", modes, words[0]);
	if (server)
		return count == 1 ? OPTIONS_RUN
				  : options_wrong(options, "'%s' is one word too many", words[1]);
	if (count < 3)
		return options_wrong(
			options, "the server's %s is missing", count < 2 ? "host" : "port");
	if (count > 3)
		return options_wrong(options, "'%s' is one word too many", words[3]);
	options->host = words[1];
	if (*options->host == '\0')
		return options_wrong(options, "the server's host must not be empty");
	return parse_port(options, words[2], 1) ? OPTIONS_RUN : OPTIONS_WRONG;
}

/* Looks whether all options have a meaning for what the client is to do. */
static enum options_result check_use(struct options *options)
{
	bool measures = options->measure.bandwidth || options->measure.latency;
	enum use use = options->diagnose ? USE_DIAGNOSIS
		       : measures        ? USE_MEASUREMENT
					 : USE_EXCHANGE;

	for (unsigned int i = 0; i < option_row_count; i++)
		if (options->given >> i & 1 && !(option_rows[i].uses & use))
			return options_wrong(options, "--%s does not go with %s",
				option_rows[i].name,
				use == USE_DIAGNOSIS
					? "diagnose, which moves data of its own in its own time"
				: use == USE_EXCHANGE
					? "an exchange: --bandwidth or --latency is missing"
					: "a measurement, which moves data of its own");
	return use == USE_MEASUREMENT ? options_check_measure(options) : OPTIONS_RUN;
}

/* Makes getopt's tables of the program's rows. A leading ':' lets it tell what is wrong. */
static void getopt_tables(enum program program, struct option table[], char letters[])
{
	*letters++ = ':';
	for (unsigned int i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (!(row->programs & program))
			continue;
		*table++ = (struct option){
			row->name,
			row->argument ? required_argument : no_argument,
			NULL,
			row->value,
		};
		if (row->value >= 256)
			continue;
		*letters++ = (char)row->value;
		if (row->argument)
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
		return options_wrong(options, "%s needs a value", word);
	if (optopt == 0)
		return options_wrong(options, "there is no option %s, or it is ambiguous", word);
	/* A known option is refused only for a value that it does not take. */
	if (optopt >= OPTION_BIND || (optopt > 0 && strchr(letters, optopt)))
		return options_wrong(options, "%s takes no value", word);
	return options_wrong(options, "there is no option -%c", optopt);
}

enum options_result options_parse(
	struct options *options, enum program program, int argc, char *argv[])
{
	struct option table[OPTION_ROWS_MAX + 1];
	char letters[2 * OPTION_ROWS_MAX + 2];
	enum options_result result = OPTIONS_RUN;
	int option;

	*options = (struct options){
		.timeout = TIMEOUT_DEFAULT,
		.buffer = BUFFER_DEFAULT,
		.max_clients = CLIENTS_DEFAULT,
		.measure.warm_up = -1,
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
	if (!options->handshake_timeout)
		options->handshake_timeout =
			options->timeout < HANDSHAKE_DEFAULT ? options->timeout : HANDSHAKE_DEFAULT;
	if (result == OPTIONS_RUN)
		result = check_together(options);
	if (result == OPTIONS_RUN)
		result = take_words(options, program, argc - optind, argv + optind);
	return result == OPTIONS_RUN && program == PROGRAM_CLIENT ? check_use(options) : result;
}
