/*
 * The command line parser: getopt_long(3) finds the options and the words, cli/option-table.c reads
 * the values, and this file performs the remaining checks. Main thread. The words and the files to
 * send share one list, which the options own.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/output.h"
#include "cli/choice.h"
#include "cli/option-table.h"
#include "cli/parse.h"
#include "cli/places.h"
#include "host/device-list.h"
#include "protocol/attributes.h"
#include "protocol/command.h"
#include "protocol/test-parameters.h"

/* Option defaults, repeated in --help and the manual pages. */
#define TIMEOUT_DEFAULT   10000                       /* milliseconds, like all times here */
#define DIRECT_BLOCK      4096                        /* bytes, of stream/direct.h */
#define BUFFER_DEFAULT    (UINT64_C(7) * 1024 * 1024) /* bytes, for both rings together */
#define HANDSHAKE_DEFAULT 8000
#define CLIENTS_DEFAULT   2048
#define DURATION_DEFAULT  2000
#define WARM_UP_DEFAULT   200
#define START_DEFAULT     60000
#define BANDWIDTH_SIZE    65536 /* bytes */
#define LATENCY_SIZE      8
#define DATAGRAM_SIZE     1024 /* the RDMA MTU of an Ethernet of 1,500 bytes */

/* Datagrams per second. */
#define MULTICAST_RATE 1000

/* For a row without a letter, getopt_long() returns this number plus the row's index. */
#define LONG_OPTION 256

/* For a word that is not an option, it returns this number. */
#define WORD 1

/* Size of a list of a command's options. */
#define CHOICES_SIZE 512

/* A command line being parsed. */
struct line {
	enum program program;
	const char **words; /* arguments that are neither options nor values */
	int word_count;
	bool given[OPTION_ROWS_MAX]; /* for each row of the option table */
	const char *unknown;         /* the first unknown or ambiguous option */
};

/* The bits of all commands of the program. */
static unsigned int commands_of(enum program program)
{
	unsigned int bits = 0;

	for (unsigned int id = 0; id < CLI_COMMANDS; id++)
		if (cli_commands[id].program == program)
			bits |= 1U << id;
	return bits;
}

/*
 * True if this row describes its option for the command, or for the whole program if the command is
 * NULL or does not accept the option: then the first of its rows does.
 */
static bool is_chosen(
	enum program program, const struct cli_command *command, const struct option_row *row)
{
	const unsigned int bit = command ? 1U << command_id(command) : 0;
	const struct option_row *const end = option_rows + option_row_count;
	const struct option_row *other = row, *chosen = NULL;

	while (other > option_rows && strcmp(other[-1].name, row->name) == 0)
		other--;
	for (; other < end && strcmp(other->name, row->name) == 0; other++)
		if (other->commands & commands_of(program) &&
			(!chosen || (other->commands & bit && !(chosen->commands & bit))))
			chosen = other;
	return chosen == row;
}

/*
 * Builds getopt's tables from the program's rows for the command. '-' makes getopt return words,
 * wherever they are, as options with code 1; ':' makes it report a missing value.
 */
static void getopt_tables(enum program program, const struct cli_command *command,
	struct option table[], char letters[])
{
	*letters++ = '-';
	*letters++ = ':';
	for (unsigned int i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (!is_chosen(program, command, row))
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

/* The index of the row for a code returned by getopt_long(), whose tables are for the command. */
static unsigned int row_of(enum program program, const struct cli_command *command, int option)
{
	unsigned int i = 0;

	if (option >= LONG_OPTION)
		return (unsigned int)(option - LONG_OPTION);
	while (option_rows[i].letter != option || !is_chosen(program, command, &option_rows[i]))
		i++;
	return i;
}

/* True if getopt's code, which may be any letter, belongs to a row of the table. */
static bool is_known(int option, const char *letters)
{
	return option >= LONG_OPTION ||
	       (option > 0 && option != ':' && strchr(letters + 2, option));
}

static void add_word(struct line *line, const char *word)
{
	line->words[line->word_count++] = word;
}

/* True if the line has already named a command that does not accept the option. */
static bool is_foreign(const struct line *line, unsigned int row)
{
	const struct cli_command *command =
		line->word_count ? command_find(line->program, line->words[0]) : NULL;

	return command && !(option_rows[row].commands >> command_id(command) & 1);
}

/*
 * True if the arguments after the words so far are the text of a message, which may look like
 * options: `explain` accepts nothing else but --help and --version.
 */
static bool takes_text(const struct line *line, const char *next)
{
	static const char *const options[] = {"--help", "-h", "--version", "-V", "--"};
	const struct cli_command *command = command_find(line->program, line->words[0]);

	if (!command || command_id(command) != CLI_EXPLAIN)
		return false;
	for (size_t i = 0; next && i < sizeof(options) / sizeof(options[0]); i++)
		if (strcmp(next, options[i]) == 0)
			return false;
	return true;
}

/* What this program uses in place of an option of the other one, by the option's name. */
static const struct {
	enum program program;
	const char *name, *instead;
} equivalents[] = {
	{PROGRAM_CLIENT, "port", "name the port with the host: HOST:PORT"},
	{PROGRAM_CLIENT, "bind", "use --source"},
	{PROGRAM_SERVER, "source", "use --bind"},
};

/* Reports an option, as given, that only the other program accepts, without its value. */
static enum options_result report_other_program(struct options *options, enum program program,
	const struct option_row *row, const char *given)
{
	int size = (int)strcspn(given, "=");

	for (size_t i = 0; i < sizeof(equivalents) / sizeof(equivalents[0]); i++)
		if (equivalents[i].program == program &&
			strcmp(equivalents[i].name, row->name) == 0)
			return options_advise(options, "unknown option '%.*s'; %s", size, given,
				equivalents[i].instead);
	return options_advise(options, "unknown option '%.*s'; %s accepts it", size, given,
		program_name(program == PROGRAM_CLIENT ? PROGRAM_SERVER : PROGRAM_CLIENT));
}

/* Reports an argument rejected by getopt. Keeps an unknown option until the command is known. */
static enum options_result refuse(struct options *options, struct line *line, int option,
	const char *letters, const char *word)
{
	if (option == ':')
		return options_wrong(options, "%s needs a value", word);
	if (optopt == 0) {
		line->unknown = word;
		return OPTIONS_WRONG;
	}
	/* getopt rejects a known option only if it takes no value but was given one. */
	if (is_known(optopt, letters))
		return options_wrong(
			options, "%.*s does not take a value", (int)strcspn(word, "="), word);
	for (unsigned int i = 0; i < option_row_count; i++)
		if (option_rows[i].letter == optopt)
			return report_other_program(options, line->program, &option_rows[i],
				(char[]){'-', (char)optopt, '\0'});
	return options_wrong(options, "unknown option '-%c'", optopt);
}

/* Returns the command of the first word, which may follow options; NULL: there is none. */
static const struct cli_command *find_first(enum program program, int argc, char *argv[])
{
	struct option table[OPTION_ROWS_MAX + 1];
	char letters[2 * OPTION_ROWS_MAX + 3];
	int option;

	getopt_tables(program, NULL, table, letters);
	opterr = 0;
	optind = 0;
	while ((option = getopt_long(argc, argv, letters, table, NULL)) != -1)
		if (option == WORD)
			return command_find(program, optarg);
	return command_find(program, optind < argc ? argv[optind] : NULL);
}

/* Reads all options and words. The first error, --help or --version determines the result. */
static enum options_result take_line(
	struct options *options, struct line *line, int argc, char *argv[])
{
	const struct cli_command *command = find_first(line->program, argc, argv);
	struct option table[OPTION_ROWS_MAX + 1];
	char letters[2 * OPTION_ROWS_MAX + 3];
	enum options_result result = OPTIONS_RUN;
	unsigned int row = 0;
	int option;

	getopt_tables(line->program, command, table, letters);
	opterr = 0;
	optind = 0;
	while ((option = getopt_long(argc, argv, letters, table, NULL)) != -1) {
		if (option == WORD) {
			add_word(line, optarg);
			if (takes_text(line, argv[optind]))
				break;
			continue;
		}
		if (result != OPTIONS_RUN)
			continue;
		if (is_known(option == ':' || option == '?' ? optopt : option, letters)) {
			row = row_of(line->program, command,
				option == ':' || option == '?' ? optopt : option);
			if (line->given[row] && option_rows[row].argument &&
				!option_rows[row].repeats) {
				result = options_wrong(
					options, "--%s is given twice", option_rows[row].name);
				continue;
			}
			line->given[row] = true;
			/* check_given() reports it; whether its value is valid does not matter. */
			if (is_foreign(line, row))
				continue;
		}
		if (option == ':' || option == '?')
			result = refuse(options, line, option, letters, argv[optind - 1]);
		else
			result = options_take(options, &option_rows[row], optarg);
	}
	while (optind < argc) /* after "--", or a text */
		add_word(line, argv[optind++]);
	return result;
}

/* Appends a choice, truncated to fit, unless it is the last one already. */
static void add_choice(char choices[CHOICES_SIZE], const char *choice)
{
	const char *last = strrchr(choices, '|') ? strrchr(choices, '|') + 1 : choices;
	size_t used = strlen(choices);

	if (strcmp(last, choice) == 0)
		return;
	snprintf(choices + used, CHOICES_SIZE - used, "%s%s", used ? "|" : "", choice);
}

/* Reports an unknown option and suggests similar options. */
static enum options_result report_unknown(struct options *options, const struct line *line)
{
	unsigned int commands = options->command == CLI_COMMANDS ? commands_of(line->program)
								 : 1U << options->command;
	const char *name = line->unknown + strlen("--");
	char all[CHOICES_SIZE] = "", abbreviated[CHOICES_SIZE] = "", others[CHOICES_SIZE] = "";
	char text[CHOICE_SIZE], list[CHOICES_SIZE], nearest[CHOICE_SIZE];

	snprintf(text, sizeof(text), "%.*s", (int)strcspn(name, "="), name);
	for (unsigned int i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (strcmp(row->name, text) == 0)
			return report_other_program(options, line->program, row, line->unknown);
		if (row->commands & commands)
			add_choice(all, row->name);
		else if (row->commands & commands_of(line->program))
			add_choice(others, row->name);
		if ((row->commands & commands) && *text &&
			strncmp(row->name, text, strlen(text)) == 0)
			add_choice(abbreviated, row->name);
	}
	if (strchr(abbreviated, '|')) {
		choice_list(abbreviated, "or", list, sizeof(list));
		return options_advise(options, "option '--%s' is ambiguous: %s", text, list);
	}
	/* Some commands were options in version 0.1. */
	if (command_find(line->program, text) && line->program == PROGRAM_CLIENT)
		return options_advise(options,
			"unknown option '--%s'; %s is a command: rdma-client %s", text, text,
			command_find(line->program, text)->words);
	if (*abbreviated)
		snprintf(nearest, sizeof(nearest), "%s", abbreviated);
	else
		choice_nearest(all, text, nearest);
	/* A misspelled option of another command. */
	if (!*nearest)
		choice_nearest(others, text, nearest);
	if (*nearest)
		return options_advise(
			options, "unknown option '--%s'; did you mean '--%s'?", text, nearest);
	return options_wrong(options, "unknown option '--%s'", text);
}

/* Reports a command or a mode that is not one of the choices. */
static enum options_result report_word(
	struct options *options, const char *what, const char *word, const char *choices)
{
	char nearest[CHOICE_SIZE], list[CHOICES_SIZE];

	choice_nearest(choices, word, nearest);
	if (*nearest)
		return options_advise(
			options, "unknown %s '%s'; did you mean '%s'?", what, word, nearest);
	choice_list(choices, "or", list, sizeof(list));
	return options_wrong(options, "unknown %s '%s'; expected %s", what, word, list);
}

/* Finds the command named by the first word. Returns false if there is none. */
static bool find_command(struct options *options, const struct line *line)
{
	const char *word = line->word_count ? line->words[0] : NULL;
	const struct cli_command *command = command_find(line->program, word);

	if (!command)
		return false;
	options->command = command_id(command);
	return true;
}

static enum options_result report_command(struct options *options, const struct line *line)
{
	char choices[CHOICES_SIZE] = "";

	if (line->word_count == 0)
		return options_advise(options, "COMMAND is missing; for example: rdma-client %s",
			cli_commands[CLI_EXCHANGE].example);
	for (unsigned int id = 0; id < CLI_COMMANDS; id++)
		if (cli_commands[id].program == line->program && cli_commands[id].names)
			add_choice(choices, cli_commands[id].names);
	return report_word(options, "command", line->words[0], choices);
}

/*
 * Splits "HOST:PORT" and "[ADDRESS]:PORT" into options->host_text and *port, which is NULL without
 * a port. An IPv6 address without brackets has more than one colon, so it has no port. Returns
 * false if the host is too long, a bracket is misplaced, or a host with colons is no IPv6 address.
 */
static bool split_server(struct options *options, const char *word, const char **port)
{
	const char *start = word, *end = strchr(word, ':'), *after;

	if (*word == '[') {
		start = word + 1;
		end = strchr(start, ']');
		after = end ? end + 1 : "?";
	} else {
		if (!end || strchr(end + 1, ':'))
			end = word + strlen(word);
		after = end;
	}
	*port = *after == ':' ? after + 1 : NULL;
	if (!end || (*after && !*port) || (size_t)(end - start) >= sizeof(options->host_text))
		return false;
	snprintf(options->host_text, sizeof(options->host_text), "%.*s", (int)(end - start), start);
	return options_is_host(options->host_text);
}

/* Returns the given option that takes one value, but may be repeated, or NULL. */
static const struct option_row *repeatable_option(const struct line *line)
{
	for (unsigned int i = 0; i < option_row_count; i++)
		if (line->given[i] && option_rows[i].repeats)
			return &option_rows[i];
	return NULL;
}

/* Reports a word too many, which may have been meant as a further value of an option. */
static enum options_result report_extra(
	struct options *options, const struct line *line, const char *what, const char *word)
{
	const struct option_row *row = repeatable_option(line);

	if (!row)
		return options_wrong(options, "%s '%s'", what, word);
	return options_advise(options, "%s '%s'; --%s takes one value: repeat it for each", what,
		word, row->name);
}

/* True if words before HOST can be files: not for `read`, which could mean the opposite. */
static bool command_takes_files(const struct options *options)
{
	return options->command == CLI_EXCHANGE && options->mode->takes_files;
}

static bool is_port(const char *text)
{
	struct options ignored;

	return options_take_port(&ignored, text);
}

/* Reports a PORT that is none. */
static enum options_result report_port(
	struct options *options, const struct line *line, const char *port, bool after_files)
{
	bool number = *port == '\0' || (strspn(port, "0123456789") > 0 && !strchr(port, '.'));

	/* As with scp, but a server stores files where its operator says. */
	if (after_files && !number)
		return options_advise(options,
			"PORT must be a number from 1 to 65535, not '%s'; the server stores files in "
			"its --output",
			port);
	if (command_takes_files(options) && !number)
		return options_advise(options,
			"PORT must be a number from 1 to 65535, not '%s'; to send files, end with "
			"HOST and a colon: FILE... HOST:",
			port);
	return report_extra(options, line, "PORT must be a number from 1 to 65535, not", port);
}

/* Takes HOST, HOST:PORT or [ADDRESS]:PORT, and the word after it, NULL if there is none. */
static enum options_result take_server(
	struct options *options, const struct line *line, const char *word, const char *next)
{
	const char *port;
	bool sends = options->command == CLI_EXCHANGE && options->input;

	if (!split_server(options, word, &port))
		return options_advise(options,
			"invalid HOST '%s'; for example: 192.0.2.1, host:7471 or [2001:db8::1]:7471",
			word);
	options->host = options->host_text;
	if (*options->host == '\0')
		return options_wrong(options, "HOST must not be empty");
	if (strchr(options->host, '@'))
		return options_advise(options, "invalid HOST '%s'; omit the user: %s",
			options->host, strchr(options->host, '@') + 1);
	if (port && next)
		return options_wrong(options, "two ports: %s in '%s', and '%s'", port, word, next);
	port = port ? port : next;
	/* "HOST:" is complete if it follows what is sent. */
	if (port && *port == '\0' && !next && sends)
		port = NULL;
	options->port_given = port != NULL;
	if (!port || options_take_port(options, port))
		return OPTIONS_RUN;
	return report_port(options, line, port, sends && !next);
}

/* Reports words of an exchange that are neither HOST and PORT nor files and "HOST:". */
static enum options_result report_files(struct options *options, const struct line *line)
{
	const char *const *words = line->words;
	const char *last = words[line->word_count - 1], *before = words[line->word_count - 2];

	if (is_port(words[2]))
		return options_advise(options,
			"unexpected argument '%s'; to send files, end with HOST and a colon: "
			"FILE... HOST:",
			words[3]);
	if (is_port(last))
		return options_advise(options, "after files, HOST needs a colon: %.*s:%s",
			(int)strcspn(before, ":"), before, last);
	for (int i = 1; i < line->word_count - 1; i++)
		if (strchr(words[i], ':'))
			return options_advise(options,
				"unexpected argument '%s'; to send files, end with HOST and a colon: "
				"FILE... %s",
				words[i + 1], words[i]);
	return options_advise(options, "after files, HOST needs a colon: %s:", last);
}

/*
 * Takes FILE... and the server in the last word, if that has a colon; otherwise the words are HOST
 * and PORT, so that no file is mistaken for a HOST. Returns OPTIONS_RUN if they were taken or are
 * HOST and PORT.
 */
static enum options_result take_files(
	struct options *options, const struct line *line, const char **server)
{
	int last = line->word_count - 1;
	bool wrong;

	if (last < 2)
		return OPTIONS_RUN;
	if (!strchr(line->words[last], ':')) {
		wrong = last > 2 || (!is_port(line->words[2]) && !options_is_host(line->words[1]));
		return wrong && command_takes_files(options) ? report_files(options, line)
							     : OPTIONS_RUN;
	}
	if (!command_takes_files(options))
		return options_advise(options,
			"'%s' before HOST: only write and send take files there; with read, use "
			"--input",
			line->words[1]);
	*server = line->words[last];
	for (int i = 1; i < last; i++) {
		if (*line->words[i] == '\0')
			return options_wrong(options, "FILE must not be empty");
		if (options_add_input(options, line->words[i]) != OPTIONS_RUN)
			return OPTIONS_WRONG;
	}
	return OPTIONS_RUN;
}

/* Joins the words that `explain` looks for. */
static void take_query(struct options *options, const struct line *line)
{
	size_t used = 0;

	for (int i = 1; i < line->word_count && used < sizeof(options->query); i++)
		used += (size_t)snprintf(options->query + used, sizeof(options->query) - used,
			"%s%s", i > 1 ? " " : "", line->words[i]);
}

/* Reads the mode of an exchange or a server, or the operation that is measured. */
static enum options_result take_mode(
	struct options *options, const struct line *line, const struct cli_command *command)
{
	const char *word = line->words[command->mode];
	bool server = line->program == PROGRAM_SERVER;

	if (!server && options->command != CLI_EXCHANGE) {
		options->operation = test_operation_by_name(word);
		return options->operation
			       ? OPTIONS_RUN
			       : report_word(options, "operation", word,
					 "write|read|send|write-imm|fetch-add|compare-swap");
	}
	options->mode = mode_by_name(word);
	if (options->mode || (server && strcmp(word, "any") == 0))
		return OPTIONS_RUN;
	return report_word(
		options, "mode", word, server ? "write|read|send|any" : "write|read|send");
}

/* Takes the port and the addresses of a coordinator. */
static enum options_result take_coordinator(struct options *options, const struct line *line)
{
	if (!options_take_port(options, line->words[1]))
		return options_wrong(
			options, "PORT must be a number from 1 to 65535, not '%s'", line->words[1]);
	options->mesh.addresses = line->words + 2;
	options->mesh.address_count = (unsigned int)line->word_count - 2;
	return OPTIONS_RUN;
}

/* Reads the words of the command: mode, host and port, or what to explain. */
static enum options_result take_words(struct options *options, const struct line *line)
{
	const struct cli_command *command = &cli_commands[options->command];
	const char *files_server = NULL;

	if (command->mode >= 0 && command->mode < line->word_count &&
		take_mode(options, line, command) != OPTIONS_RUN)
		return OPTIONS_WRONG;
	if (line->word_count < command->words_min)
		return options_advise(options, "%s is missing; for example: %s %s",
			line->word_count == command->mode    ? "the mode"
			: options->command == CLI_COPY       ? "SOURCE"
			: options->command == CLI_MESH_AGENT ? "ADDRESS"
			: options->command == CLI_RECEIVE_GROUP ||
					options->command == CLI_SEND_GROUP
				? "GROUP"
			: command->host < 0 ? "FILE"
					    : "HOST",
			program_name(line->program), command->example);
	if (options->command == CLI_EXCHANGE) {
		enum options_result result = take_files(options, line, &files_server);

		if (result != OPTIONS_RUN)
			return result;
		if (files_server)
			return take_server(options, line, files_server, NULL);
	}
	if (line->word_count > command->words_max)
		return report_extra(
			options, line, "unexpected argument", line->words[command->words_max]);
	if (options->command == CLI_COPY)
		return places_take(options, line->words + 1, line->word_count - 1);
	if (options->command == CLI_EXPLAIN)
		take_query(options, line);
	if (options->command == CLI_MESH_AGENT)
		return take_coordinator(options, line);
	if (options->command == CLI_STATUS) {
		options->port = 0;
		if (line->word_count > 1 && !options_take_port(options, line->words[1]))
			return options_wrong(options,
				"PORT must be a number from 1 to 65535, not '%s'", line->words[1]);
	}
	for (unsigned int i = 0; options->command == CLI_COMPARE && i < 2; i++)
		options->files[i] = line->words[1 + i];
	if (command->host < 0 || command->host >= line->word_count)
		return OPTIONS_RUN;
	if (options->command == CLI_RECEIVE_GROUP || options->command == CLI_SEND_GROUP) {
		options->host = line->words[command->host];
		return *options->host ? OPTIONS_RUN
				      : options_wrong(options, "GROUP must not be empty");
	}
	return take_server(options, line, line->words[command->host],
		command->host + 1 < line->word_count ? line->words[command->host + 1] : NULL);
}

/* True if the command accepts the option, by any of its rows. */
static bool accepts(enum cli_command_id id, const char *name)
{
	for (unsigned int i = 0; i < option_row_count; i++)
		if (strcmp(option_rows[i].name, name) == 0 && option_rows[i].commands >> id & 1)
			return true;
	return false;
}

/* Reports an option that the command does not accept, and lists the commands that do. */
static enum options_result report_foreign(
	struct options *options, const char *command, const struct option_row *row)
{
	char choices[CHOICES_SIZE] = "", list[CHOICES_SIZE];

	for (unsigned int id = 0; id < CLI_COMMANDS; id++)
		if (accepts(id, row->name) && cli_commands[id].names &&
			cli_commands[id].program == cli_commands[options->command].program)
			add_choice(choices, cli_commands[id].names);
	if (!*choices)
		return options_wrong(options, "%s does not accept --%s", command, row->name);
	choice_list(choices, "and", list, sizeof(list));
	return options_advise(options, "%s does not accept --%s; %s %s", command, row->name, list,
		strchr(choices, '|') ? "do" : "does");
}

/* Rejects options that the command does not accept. */
static enum options_result check_given(struct options *options, const struct line *line)
{
	for (unsigned int i = 0; i < option_row_count; i++)
		if (line->given[i] && !(option_rows[i].commands >> options->command & 1))
			return report_foreign(options, line->words[0], &option_rows[i]);
	return OPTIONS_RUN;
}

/*
 * True if the path is that of a pipe, or stands for standard input or output: only one thread can
 * use it.
 */
static bool is_stream(const char *path)
{
	struct stat status;

	return path && (strcmp(path, "-") == 0 || output_is_standard(path) ||
			       (stat(path, &status) == 0 && S_ISFIFO(status.st_mode)));
}

bool options_send_tree(const struct options *options)
{
	struct stat status;

	if (options->input_count > 1)
		return true;
	/* The stream of a single file has no place for its attributes. */
	return options->input && stat(options->input, &status) == 0 &&
	       (S_ISDIR(status.st_mode) || (options->kept && S_ISREG(status.st_mode)));
}

/* Rejects options for attributes of files that have no effect. */
static enum options_result check_kept(struct options *options)
{
	char names[ATTRIBUTES_OPTIONS_SIZE];
	const unsigned int with_ids = KEPT_OWNER | KEPT_GROUP | KEPT_ACLS;

	if (options->numeric_ids && !(options->kept & with_ids))
		return options_wrong(options, "--numeric-ids needs --owner, --group or --acls");
	if (!options->kept)
		return OPTIONS_RUN;
	/* The first one, without the hyphens before it. */
	attributes_options(options->kept & -options->kept, names);
	if (!options->input && !options->output && !options->discard &&
		options->command != CLI_COPY)
		return options_wrong(options, "--%s needs --input or --output", names + 2);
	if (is_stream(options->input))
		return options_wrong(options,
			"--%s cannot be combined with a pipe: it has no attributes", names + 2);
	return OPTIONS_RUN;
}

/* Rejects exchange options that are valid alone but not together. */
static enum options_result check_exchange(struct options *options)
{
	enum options_result kept = check_kept(options);

	if (kept != OPTIONS_RUN)
		return kept;
	if (options->workers > 1 && (is_stream(options->input) || is_stream(options->output)))
		return options_wrong(options,
			"--workers cannot be combined with a pipe: it has one reader and one writer");
	if (options->direct && !options->input && !options->output)
		return options_wrong(options, "--direct needs --input or --output");
	if (options->direct && (is_stream(options->input) || is_stream(options->output)))
		return options_wrong(options,
			"--direct cannot be combined with a pipe: it has no page cache to bypass");
	if (options->direct && options->chunk % DIRECT_BLOCK)
		return options_wrong(options,
			"--direct cannot be combined with --chunk %" PRIu32
			": it needs a multiple of 4096 bytes",
			options->chunk);
	if (options->dry_run && !options->input)
		return options_wrong(options, "--dry-run needs --input");
	if (options->dry_run && is_stream(options->input))
		return options_wrong(
			options, "--dry-run cannot be combined with a pipe: it would be read");
	if (options->dry_run && options->json)
		return options_wrong(options, "--dry-run and --json are mutually exclusive");
	/* Of what another host sends to a copy, its server knows. */
	if (options->excluded_count > 0 && !options->copy.pulls && !options->input)
		return options_wrong(options, "--exclude needs --input");
	if (options->excluded_count > 0 && !options->copy.pulls && !options_send_tree(options))
		return options_wrong(
			options, "--exclude cannot be combined with a single file to send");
	if (options->message && options->input)
		return options_wrong(options, "--message and --input are mutually exclusive");
	for (unsigned int i = 0; i < options->input_count && options->input_count > 1; i++)
		if (strcmp(options->inputs[i], "-") == 0)
			return options_wrong(
				options, "--input - cannot be combined with other --input");
	if (options->json && options->output && output_is_standard(options->output))
		return options_wrong(options,
			"--json and --output - are mutually exclusive: both use standard output");
	if (options->force && !options->output)
		return options_wrong(options, "--force needs --output");
	if (options->update && !options->output && options->command != CLI_COPY)
		return options_wrong(options, "--update needs --output");
	if (options->checksum && !options->update && options->command != CLI_COPY &&
		!options_send_tree(options))
		return options_wrong(options, "--checksum needs --update, or a directory to send");
	if (options->discard && options->output)
		return options_wrong(options, "--discard and --output are mutually exclusive");
	if (options->chunk > options->buffer / 2)
		return options_wrong(options,
			"--chunk is %" PRIu32
			" bytes, but must be at most half of --buffer, %" PRIu64,
			options->chunk, options->buffer / 2);
	return OPTIONS_RUN;
}

/* The size of an operation without --size. */
static uint64_t default_size(const struct options *options)
{
	if (options->operation->atomic)
		return TEST_ATOMIC_SIZE;
	if (options->measure.bandwidth && options->measure.transport == TEST_UD)
		return DATAGRAM_SIZE;
	return options->measure.bandwidth ? BANDWIDTH_SIZE : LATENCY_SIZE;
}

/*
 * True if the queue pairs take tickets: measure/atomics.h. Each try needs the answer to the last.
 */
static bool takes_tickets(const struct options *options)
{
	return options->operation->number == TEST_COMPARE_SWAP && options->measure.bandwidth &&
	       options->measure.verify;
}

/* Rejects sizes that do not fit into receives that keep their data with these options. */
static enum options_result check_kept_size(struct options *options, const char *with, uint64_t most)
{
	const struct options_measure *measure = &options->measure;

	if (!measure->verify || measure->largest <= most)
		return OPTIONS_RUN;
	if (measure->latency)
		return options_wrong(options,
			"--size must be at most %" PRIu64 " with %s and --verify, not '%" PRIu64
			"'",
			most, with, measure->largest);
	return options_wrong(options,
		"--size must be at most %" PRIu64 " with %s, --verify and --qps %" PRIu32
		", not '%" PRIu64 "'",
		most, with, measure->queue_pairs, measure->largest);
}

/* Rejects options that unreliable queue pairs cannot have. */
static enum options_result check_transport(struct options *options)
{
	const struct options_measure *measure = &options->measure;
	const struct test_operation *operation = options->operation;
	const char *name = measure->transport == TEST_UC ? "uc" : "ud";

	if (measure->transport == TEST_RC)
		return OPTIONS_RUN;
	if (!operation->receives)
		return options_wrong(options, "--transport %s cannot be combined with %s: %s", name,
			operation->name,
			operation->fetches ? "only rc has it"
					   : "nothing would tell what has arrived");
	if (measure->transport == TEST_UD && operation->immediate)
		return options_wrong(options,
			"--transport ud cannot be combined with %s: datagrams are SENDs",
			operation->name);
	if (operation->immediate && measure->verify && measure->bandwidth)
		return options_wrong(options,
			"--verify cannot be combined with --transport uc and %s: the next WRITE "
			"may be faster",
			operation->name);
	if (measure->shares)
		return options_wrong(options, "--srq cannot be combined with --transport %s", name);
	if (measure->queue_pairs == TEST_QUEUE_PAIRS_MAX)
		return options_wrong(options,
			"--qps must be at most %d with --transport %s, not '%" PRIu32 "'",
			TEST_QUEUE_PAIRS_MAX - 1, name, measure->queue_pairs);
	return check_kept_size(options,
		measure->transport == TEST_UC ? "--transport uc" : "--transport ud",
		COMMAND_REGION_MAX / OPTIONS_LOSSY_RECEIVES(measure->queue_pairs) - TEST_GRH_SIZE);
}

/* Rejects options for work requests that the operation cannot have. */
static enum options_result check_requests(struct options *options)
{
	const struct options_measure *measure = &options->measure;

	if (options->operation->fetches && measure->inline_below)
		return options_wrong(options,
			"--inline cannot be combined with %s: only WRITEs and SENDs can be inline",
			options->operation->name);
	if (options->operation->atomic && measure->gathers)
		return options_wrong(options, "--sge cannot be combined with %s: it is one piece",
			options->operation->name);
	if (measure->shares && !options->operation->receives)
		return options_wrong(options,
			"--srq cannot be combined with %s: it uses up no receives",
			options->operation->name);
	if (measure->shares && !options->operation->immediate &&
		check_kept_size(options, "--srq",
			COMMAND_REGION_MAX / OPTIONS_SHARED_RECEIVES(measure->queue_pairs)))
		return OPTIONS_WRONG;
	if (measure->gathers > measure->smallest)
		return options_wrong(options,
			"--sge must be at most --size, %" PRIu64 ", not '%" PRIu32 "'",
			measure->smallest, measure->gathers);
	if (takes_tickets(options) && options->depth > 1)
		return options_wrong(options,
			"--depth must be 1 with %s and --verify, not '%" PRIu32
			"': each try needs the answer to the one before",
			options->operation->name, options->depth);
	if (takes_tickets(options))
		options->depth = 1;
	if (options->depth && measure->signal_every > options->depth)
		return options_wrong(options,
			"--signal-every must be at most --depth, %" PRIu32 ", not '%" PRIu32 "'",
			options->depth, measure->signal_every);
	return check_transport(options);
}

/* Rejects measurement options that are not valid together, and sets defaults. */
static enum options_result check_measurement(struct options *options)
{
	struct options_measure *measure = &options->measure;

	measure->bandwidth = options->command == CLI_BANDWIDTH;
	measure->latency = options->command == CLI_LATENCY;
	if (measure->csv && options->json)
		return options_wrong(options, "--csv and --json are mutually exclusive");
	if (measure->csv && measure->histogram)
		return options_wrong(options, "--csv and --histogram are mutually exclusive");
	if (measure->iterations && measure->duration)
		return options_wrong(options, "--iterations and --duration are mutually exclusive");
	/* The thread that finishes first would leave the link to the others. */
	if (measure->iterations && measure->threads > 1)
		return options_wrong(options,
			"--iterations and --threads are mutually exclusive: all threads stop together");
	if (measure->duration == 0)
		measure->duration = DURATION_DEFAULT;
	if (options->operation->atomic && measure->smallest > 0 &&
		(measure->smallest != TEST_ATOMIC_SIZE || measure->largest != TEST_ATOMIC_SIZE))
		return options_wrong(options, "%s always has %d bytes; --size must be %d",
			options->operation->name, TEST_ATOMIC_SIZE, TEST_ATOMIC_SIZE);
	if (measure->smallest == 0)
		measure->smallest = measure->largest = default_size(options);
	if (options_measure_memory(measure) > COMMAND_REGION_MAX)
		return options_wrong(options, "--size times --qps%s must be at most 16M",
			measure->verify ? ", doubled by --verify," : "");
	if (!test_shape_is_possible(measure->queue_pairs, options->depth ? options->depth : 1))
		return options_wrong(
			options, "--qps times --depth must be at most %d", TEST_REQUESTS_MAX);
	return check_requests(options);
}

/* Rejects everything that has no effect on --watch. */
static enum options_result check_watch(struct options *options, const struct line *line)
{
	if (options->host)
		return options_wrong(options, "--watch takes no HOST: it watches this host");
	for (unsigned int i = 0; i < option_row_count; i++) {
		const char *name = option_rows[i].name;

		if (line->given[i] && strcmp(name, "watch") != 0 && strcmp(name, "device") != 0)
			return options_wrong(options, "--watch cannot be combined with --%s", name);
	}
	return OPTIONS_RUN;
}

/* True if the path is that of something that exists, and is neither a file nor a directory. */
static bool is_special(const char *path)
{
	struct stat status;

	return is_stream(path) ||
	       (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode));
}

/* Rejects what cannot be copied. What concerns the files at the other host, its server checks. */
static enum options_result check_copy(struct options *options)
{
	if (!options->mode)
		options->mode = mode_by_name("write");
	for (unsigned int i = 0; i < options->input_count; i++)
		if (is_special(options->inputs[i]))
			return options_wrong(options,
				"SOURCE must be a file or a directory, not '%s'",
				options->inputs[i]);
	if (is_stream(options->output))
		return options_wrong(options, "DESTINATION must be a file or a directory, not '%s'",
			options->output);
	if (options->copy.pulls && options->dry_run)
		return options_wrong(options,
			"--dry-run lists what this host would send, and cannot be combined "
			"with a SOURCE at another host");
	options->force = options->copy.pulls;
	return check_exchange(options);
}

/* True if the option with this name is on the command line. */
static bool is_given(const struct line *line, const char *name)
{
	for (unsigned int i = 0; i < option_row_count; i++)
		if (strcmp(option_rows[i].name, name) == 0 && line->given[i])
			return true;
	return false;
}

/*
 * Rejects what a server with --stdio cannot do, and sets what it always does: it serves one client
 * unless --count is given, prints only errors, and needs no certain port.
 */
static enum options_result check_stdio(struct options *options, const struct line *line)
{
	static const char *const others[] = {"json", "secret-file", "verbose"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (is_given(line, others[i]))
			return options_wrong(
				options, "--stdio cannot be combined with --%s", others[i]);
	if (is_stream(options->input) || is_stream(options->output))
		return options_wrong(options,
			"--stdio cannot be combined with standard input, output or a pipe");
	if (!is_given(line, "port"))
		options->port = 0;
	if (options->count == 0)
		options->count = 1;
	options->quiet = true;
	return OPTIONS_RUN;
}

/* Rejects what only a connection without rdmacm needs, and completes its settings. */
static enum options_result check_path(struct options *options, const struct line *line)
{
	static const char *const names[] = {
		"gid-index", "ib-port", "mtu", "pkey-index", "sl", "traffic-class"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (options->bootstrap == BOOTSTRAP_RDMACM && is_given(line, names[i]))
			return options_wrong(options, "--%s needs --bootstrap tcp", names[i]);
	options->path.device = options->device;
	options->path.rdmacm = options->bootstrap == BOOTSTRAP_BOTH;
	options->path.discreet = options->secret_file;
	if (is_given(line, "tos") && is_given(line, "traffic-class"))
		return options_wrong(options,
			"--tos and --traffic-class are mutually exclusive: the DSCP is a part of it");
	if (options->dscp > 0)
		options->path.traffic_class = (uint32_t)options->dscp << 2;
	return OPTIONS_RUN;
}

/* Completes what `multicast` sends: without --count, one message. */
static enum options_result check_multicast(struct options *options)
{
	struct options_multicast *multicast = &options->multicast;
	const bool stream = multicast->count > 0 || multicast->size > 0;

	if (options->message && stream)
		return options_wrong(options,
			"--message and %s are mutually exclusive: a message is one datagram",
			multicast->count > 0 ? "--count" : "--size");
	if (multicast->rate > 0 && !stream)
		return options_wrong(options, "--rate needs --count");
	if (!options->message && !stream)
		options->message = "message from the sender of this group";
	if (multicast->count == 0)
		multicast->count = 1;
	if (multicast->rate == 0)
		multicast->rate = MULTICAST_RATE;
	return OPTIONS_RUN;
}

/* Reads --listen: PORT, ADDRESS:PORT or [ADDRESS]:PORT. */
static enum options_result take_listen(struct options *options)
{
	const char *text = options->mesh.listen, *port;

	if (options_take_port(options, text))
		return OPTIONS_RUN;
	if (!split_server(options, text, &port) || !port || !*options->host_text ||
		!options_take_port(options, port))
		return options_wrong(options,
			"--listen must be a port, or an address and a port, such as 192.0.2.1:7472, "
			"not '%s'",
			text);
	options->bind = options->host_text;
	return OPTIONS_RUN;
}

/* Completes the options of a mesh. */
static enum options_result check_mesh(struct options *options)
{
	struct options_mesh *mesh = &options->mesh;
	struct options_measure *measure = &options->measure;

	if (mesh->hosts && mesh->hosts_file)
		return options_wrong(options, "--hosts and --hosts-file are mutually exclusive");
	if (mesh->via == VIA_NONE && !options->secret_file)
		return options_wrong(options,
			"--via none needs --secret-file: the agents that you start need the same one");
	if (mesh->via == VIA_NONE && !mesh->listen)
		return options_wrong(options,
			"--via none needs --listen: the agents that you start need the port");
	if (mesh->via != VIA_NONE && options->secret_file)
		return options_wrong(options,
			"--secret-file needs --via none: mesh makes a token for agents that it starts");
	if (options->copy.rsh && mesh->via != VIA_AUTO && mesh->via != VIA_SSH &&
		mesh->via != VIA_PDSH)
		return options_wrong(options, "--rsh needs --via ssh or pdsh");
	if (mesh->cross_rail && device_list_single(options->device))
		return options_wrong(options, "--cross-rail needs several devices");
	if (measure->smallest != measure->largest)
		return options_wrong(options, "mesh takes one --size, not a range");
	if (measure->smallest == 0)
		measure->smallest = measure->largest = BANDWIDTH_SIZE;
	if (measure->duration == 0)
		measure->duration = DURATION_DEFAULT;
	if (mesh->start_timeout == 0)
		mesh->start_timeout = START_DEFAULT;
	options->port = 0;
	return mesh->listen ? take_listen(options) : OPTIONS_RUN;
}

/* Checks --device of a mesh or its agent. */
static enum options_result check_devices(struct options *options)
{
	if (device_list_is_valid(options->device, OPTIONS_DEVICES_MAX))
		return OPTIONS_RUN;
	return options_wrong(options,
		"--device must be all, or at most %d different names with commas between them, "
		"not '%s'",
		OPTIONS_DEVICES_MAX, options->device);
}

/* Checks the combination of options after each has been checked alone. */
static enum options_result check_together(struct options *options, const struct line *line)
{
	if (check_path(options, line) != OPTIONS_RUN)
		return OPTIONS_WRONG;
	options->buffer_grows = options->buffer == 0;
	if (options->buffer_grows)
		options->buffer = BUFFER_DEFAULT;
	switch (options->command) {
	case CLI_SERVE:
		if (options->stdio && check_stdio(options, line) != OPTIONS_RUN)
			return OPTIONS_WRONG;
		return check_exchange(options);
	case CLI_EXCHANGE:
		return check_exchange(options);
	case CLI_COPY:
		return check_copy(options);
	case CLI_BANDWIDTH:
	case CLI_LATENCY:
		return check_measurement(options);
	case CLI_DIAGNOSE:
		return options->watch ? check_watch(options, line) : OPTIONS_RUN;
	case CLI_SEND_GROUP:
		return check_multicast(options);
	case CLI_MESH:
		return check_devices(options) == OPTIONS_RUN ? check_mesh(options) : OPTIONS_WRONG;
	case CLI_MESH_AGENT:
		return check_devices(options);
	case CLI_STATUS:
	case CLI_RECEIVE_GROUP:
	case CLI_COMPARE:
	case CLI_EXPLAIN:
	case CLI_COMMANDS:
		break;
	}
	return OPTIONS_RUN;
}

/* Parses the command line into options that have their defaults. */
static enum options_result parse_line(
	struct options *options, struct line *line, int argc, char *argv[])
{
	enum options_result result = take_line(options, line, argc, argv);
	bool known = find_command(options, line);

	if (line->unknown)
		return report_unknown(options, line);
	if (result == OPTIONS_WRONG || result == OPTIONS_VERSION)
		return result;
	if (!known && (line->word_count || result == OPTIONS_RUN))
		return report_command(options, line);
	if (result == OPTIONS_HELP)
		return result;
	if (!options->handshake_timeout)
		options->handshake_timeout =
			options->timeout < HANDSHAKE_DEFAULT ? options->timeout : HANDSHAKE_DEFAULT;
	result = take_words(options, line);
	if (result == OPTIONS_RUN)
		result = check_given(options, line);
	if (result == OPTIONS_RUN)
		result = check_together(options, line);
	return result;
}

enum options_result parse_command_line(
	struct options *options, enum program program, int argc, char *argv[])
{
	struct line line = {.program = program};

	*options = (struct options){
		.command = CLI_COMMANDS,
		.port = OPTIONS_PORT,
		.timeout = TIMEOUT_DEFAULT,
		.dscp = -1,
		.path = {.gid_index = -1},
		.max_clients = CLIENTS_DEFAULT,
		.measure = {.warm_up = WARM_UP_DEFAULT, .queue_pairs = 1, .threads = 1},
	};
	/* Every argument may be a file, a word or a pattern. */
	options->inputs = calloc(3 * (size_t)argc + 1, sizeof(options->inputs[0]));
	if (!options->inputs)
		return options_wrong(options, "%s", strerror(ENOMEM));
	line.words = options->inputs + argc;
	options->excluded = line.words + argc;
	return parse_line(options, &line, argc, argv);
}

void options_free(struct options *options)
{
	free(options->inputs);
	options->inputs = options->excluded = NULL;
}
