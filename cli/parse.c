/*
 * The parser of the command line: getopt_long(3) finds the options, cli/option-table.c reads their
 * values, and what remains is checked here. Main thread; it owns nothing.
 */
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#include "base/output.h"
#include "cli/option-table.h"
#include "cli/parse.h"
#include "protocol/command.h"
#include "protocol/test-parameters.h"

#define TIMEOUT_DEFAULT   10000
#define BUFFER_DEFAULT    7340032
#define HANDSHAKE_DEFAULT 8000
#define CLIENTS_DEFAULT   2048
#define DURATION_DEFAULT  2000
#define WARM_UP_DEFAULT   200
#define BANDWIDTH_SIZE    65536
#define LATENCY_SIZE      8

/* What getopt_long() returns for the row at an index, if it has no letter. */
#define LONG_OPTION 256

/* The bits of a program's commands. */
static unsigned int commands_of(enum program program)
{
	unsigned int bits = 0;

	for (unsigned int id = 0; id < CLI_COMMANDS; id++)
		if (cli_commands[id].program == program)
			bits |= 1U << id;
	return bits;
}

/* Makes getopt's tables of the program's rows. A leading ':' lets it report a missing value. */
static void getopt_tables(enum program program, struct option table[], char letters[])
{
	*letters++ = ':';
	for (unsigned int i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (!(row->commands & commands_of(program)))
			continue;
		*table++ = (struct option){
			row->name,
			row->argument ? required_argument : no_argument,
			NULL,
			row->letter ? row->letter : LONG_OPTION + (int)i,
		};
		if (!row->letter)
			continue;
		*letters++ = row->letter;
		if (row->argument)
			*letters++ = ':';
	}
	*table = (struct option){0};
	*letters = '\0';
}

/* The index of the row that getopt_long() means. */
static unsigned int row_of(int option)
{
	unsigned int i = 0;

	if (option >= LONG_OPTION)
		return (unsigned int)(option - LONG_OPTION);
	while (option_rows[i].letter != option)
		i++;
	return i;
}

/* Explains what getopt refuses: a missing value (':'), or what optopt and the word show. */
static enum options_result refuse(
	struct options *options, int option, const char *letters, const char *word)
{
	if (option == ':')
		return options_wrong(options, "%s needs a value", word);
	if (optopt == 0)
		return options_wrong(options, "there is no option %s, or it is ambiguous", word);
	/* A known option is refused only for a value that it does not take. */
	if (optopt >= LONG_OPTION || (optopt > 0 && strchr(letters, optopt)))
		return options_wrong(options, "%s takes no value", word);
	return options_wrong(options, "there is no option -%c", optopt);
}

/* Takes all options, in their order; sets a bit of given for the row of each. */
static enum options_result take_options(
	struct options *options, enum program program, int argc, char *argv[], uint64_t *given)
{
	struct option table[OPTION_ROWS_MAX + 1];
	char letters[2 * OPTION_ROWS_MAX + 2];
	enum options_result result = OPTIONS_RUN;
	int option;

	getopt_tables(program, table, letters);
	opterr = 0;
	optind = 0;
	while (result == OPTIONS_RUN &&
		(option = getopt_long(argc, argv, letters, table, NULL)) != -1) {
		if (option == ':' || option == '?')
			return refuse(options, option, letters, argv[optind - 1]);
		*given |= UINT64_C(1) << row_of(option);
		result = options_take(options, &option_rows[row_of(option)], optarg);
	}
	return result;
}

/* Looks for options that are right alone and wrong together, in whatever order they came. */
static enum options_result check_together(struct options *options)
{
	if (options->message && options->input)
		return options_wrong(
			options, "--message and --input are both given; one can be sent");
	if (options->json && options->output && output_is_standard(options->output))
		return options_wrong(options, "--json and --output - both want standard output");
	if (options->chunk > options->buffer / 2)
		return options_wrong(options,
			"--chunk may be half of --buffer, %" PRIu64 " bytes, but not %" PRIu32,
			options->buffer / 2, options->chunk);
	return OPTIONS_RUN;
}

/* Takes the command: a word of its own, or a mode with options that say what to do in it. */
static enum options_result take_command(
	struct options *options, enum program program, const char *word)
{
	bool server = program == PROGRAM_SERVER;
	const char *modes = server ? "write, read or any" : "write, read or diagnose";

	if (!word)
		return options_wrong(options, "the mode is missing: %s", modes);
	if (!server && strcmp(word, "diagnose") == 0) {
		options->command = CLI_DIAGNOSE;
		return OPTIONS_RUN;
	}
	options->command = server                       ? CLI_SERVE
			   : options->measure.bandwidth ? CLI_BANDWIDTH
			   : options->measure.latency   ? CLI_LATENCY
							: CLI_EXCHANGE;
	options->mode = mode_by_name(word);
	if (options->mode || (server && strcmp(word, "any") == 0))
		return OPTIONS_RUN;
	return options_wrong(options, "the mode must be %s, not '%s'", modes, word);
}

/* Takes the words that follow the command: a host, and a port. */
static enum options_result take_server(struct options *options, int count, char *words[])
{
	const struct cli_command *command = &cli_commands[options->command];

	if (count < command->words_min)
		return options_wrong(
			options, "the server's %s is missing", count < 2 ? "host" : "port");
	if (count > command->words_max)
		return options_wrong(
			options, "'%s' is one word too many", words[command->words_max]);
	if (count < 2)
		return OPTIONS_RUN;
	options->host = words[1];
	if (*options->host == '\0')
		return options_wrong(options, "the server's host must not be empty");
	return count < 3 || options_take_port(options, words[2], 1) ? OPTIONS_RUN : OPTIONS_WRONG;
}

/* Refuses options that the command does not have. */
static enum options_result check_given(struct options *options, uint64_t given)
{
	for (unsigned int i = 0; i < option_row_count; i++)
		if (given >> i & 1 && !(option_rows[i].commands >> options->command & 1))
			return options_wrong(options, "--%s does not go with %s",
				option_rows[i].name, cli_commands[options->command].refusal);
	return OPTIONS_RUN;
}

/*
 * An option of bandwidth that is given with latency, or the other way round; NULL if there is none.
 */
static const char *conflicting_option(const struct options *options)
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

/* Looks for what is wrong together in a measurement, and fills in its defaults. */
static enum options_result check_measurement(struct options *options)
{
	struct options_measure *measure = &options->measure;

	if (measure->bandwidth && measure->latency)
		return options_wrong(
			options, "--bandwidth and --latency are both given; one can be measured");
	if (conflicting_option(options))
		return options_wrong(options, "%s does not go with %s", conflicting_option(options),
			measure->bandwidth ? "--bandwidth" : "--latency");
	if (measure->iterations && measure->duration)
		return options_wrong(
			options, "--iterations and --duration are both given; one can end it");
	/* The thread that finishes first would leave the link to the others. */
	if (measure->iterations && measure->threads > 1)
		return options_wrong(options,
			"--threads does not go with --iterations, as all threads end together");
	if (measure->duration == 0)
		measure->duration = DURATION_DEFAULT;
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

enum options_result parse_command_line(
	struct options *options, enum program program, int argc, char *argv[])
{
	enum options_result result;
	uint64_t given = 0;

	*options = (struct options){
		.timeout = TIMEOUT_DEFAULT,
		.buffer = BUFFER_DEFAULT,
		.max_clients = CLIENTS_DEFAULT,
		.measure = {.warm_up = WARM_UP_DEFAULT, .queue_pairs = 1, .threads = 1},
	};
	result = take_options(options, program, argc, argv, &given);
	if (!options->handshake_timeout)
		options->handshake_timeout =
			options->timeout < HANDSHAKE_DEFAULT ? options->timeout : HANDSHAKE_DEFAULT;
	if (result == OPTIONS_RUN)
		result = check_together(options);
	if (result == OPTIONS_RUN)
		result = take_command(options, program, argv[optind]);
	if (result == OPTIONS_RUN)
		result = take_server(options, argc - optind, argv + optind);
	if (result == OPTIONS_RUN)
		result = check_given(options, given);
	if (result == OPTIONS_RUN &&
		(options->command == CLI_BANDWIDTH || options->command == CLI_LATENCY))
		result = check_measurement(options);
	return result;
}
