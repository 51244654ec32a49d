/* Prints --help from the tables of commands and options. Main thread. */
#include <ctype.h>
#include <string.h>

#include "cli/help.h"
#include "cli/option-table.h"

static const char client_text[] =
	"\n'rdma-client COMMAND --help' lists a command's options; --version, the version.\n"
	"Except for 'copy' and 'mesh', first start rdma-server on the other host: see\n"
	"'rdma-server --help'. 'write', 'read' and 'send' send --input, receive --output.\n"
	"\nExamples:\n"
	"  rdma-server --output ./                       (on host 192.0.2.1)\n"
	"  rdma-client write *.jpg 192.0.2.1:\n"
	"  rdma-client diagnose 192.0.2.1\n";

static const char status_text[] =
	"\nExit status: 0 success, 1 failure on this host, 2 wrong usage, 3 cannot connect\n"
	"(or no usable RDMA device), 4 failure of the peer or the path, 5 damaged data.\n";

static const char server_status_text[] =
	"\nExit status: 0 success, 1 failure, 2 wrong usage, 3 no usable RDMA device. With\n"
	"--count, the first client to fail: 3 cannot connect, 4 peer or path, 5 damaged.\n";

static const char server_text[] = "\nExamples:\n"
				  "  rdma-server\n"
				  "  rdma-server --output ./ --secret-file secret\n"
				  "  rdma-server --count 1 --output - write | tar -xf -\n";

static const char size_text[] =
	"SIZE is in bytes, or with a suffix: K, M, G, T (powers of 1024), kB, MB, GB, TB.\n";

/* Enough for options with long arguments, such as "SIZE[..SIZE]" or "FILE|DIRECTORY/|-". */
#define LEFT_MAX 40

/* Formats an option for the help. Returns its width. */
static int option_text(const struct option_row *row, char text[LEFT_MAX])
{
	char letter[8] = "    ";

	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	return snprintf(text, LEFT_MAX, "%s--%s%s%s", letter, row->name, row->argument ? " " : "",
		row->argument ? row->argument : "");
}

/* All options of the path of a connection without rdmacm. */
static const char path_text[] =
	"With tcp: --gid-index, --ib-port, --mtu, --pkey-index, --sl, --traffic-class N.\n";

static bool is_for_path(const struct option_row *row)
{
	return row->field >= offsetof(struct options, path) &&
	       row->field < offsetof(struct options, path) + sizeof(struct path_settings);
}

/* All options for attributes of files. */
static const char kept_text[] =
	"Attributes kept: -A, --acls; -X, --xattrs; --owner; --group; --numeric-ids.\n";

static bool is_for_kept(const struct option_row *row)
{
	return row->field == offsetof(struct options, kept) ||
	       row->field == offsetof(struct options, numeric_ids);
}

/* The options of a measurement for files. */
static const char files_text[] =
	"Results in files: --plot FILE.svg or FILE.png; --metrics FILE, for Prometheus.\n";

static bool is_for_files(const struct option_row *row)
{
	return row->field == offsetof(struct options, measure.plot) ||
	       row->field == offsetof(struct options, metrics);
}

static bool is_measurement(enum cli_command_id id)
{
	return id == CLI_BANDWIDTH || id == CLI_LATENCY;
}

/*
 * The help has one line for all options of a path, one for those of attributes, and one for the
 * files of a measurement. That for a client command has no room for --version, and only that of the
 * command that prints most has room for --color.
 */
static bool is_listed(const struct option_row *row, const struct cli_command *command)
{
	enum cli_command_id id = command_id(command);

	if (strcmp(row->name, "version") == 0)
		return id == CLI_SERVE;
	if (strcmp(row->name, "color") == 0)
		return id == CLI_COMPARE || id == CLI_DIAGNOSE;
	if (is_measurement(id) && is_for_files(row))
		return false;
	return !is_for_path(row) && !is_for_kept(row) && row->commands >> id & 1;
}

static void print_options(FILE *stream, const struct cli_command *command)
{
	char text[LEFT_MAX];
	int width = 0;

	for (unsigned int i = 0; i < option_row_count; i++)
		if (is_listed(&option_rows[i], command) &&
			option_text(&option_rows[i], text) > width)
			width = option_text(&option_rows[i], text);
	for (unsigned int i = 0; i < option_row_count; i++)
		if (is_listed(&option_rows[i], command)) {
			option_text(&option_rows[i], text);
			fprintf(stream, "  %-*s  %s\n", width, text, option_rows[i].help);
		}
}

/* True if the command accepts the options that share a line. */
static bool accepts(const struct cli_command *command, bool (*is_one)(const struct option_row *row))
{
	for (unsigned int i = 0; i < option_row_count; i++)
		if (is_one(&option_rows[i]))
			return option_rows[i].commands >> command_id(command) & 1;
	return false;
}

void help_print_command(FILE *stream, const struct cli_command *command)
{
	const char *program = program_name(command->program);

	fprintf(stream, "Usage: %s %s [OPTION...]\n", program, command->words);
	if (command->also)
		fprintf(stream, "       %s %s [OPTION...]\n", program, command->also);
	/* The help of the server itself is the only place that lists its commands. */
	for (unsigned int id = 0; !command->names && id < CLI_COMMANDS; id++)
		if (cli_commands[id].program == command->program && cli_commands[id].names)
			fprintf(stream, "       %s %s [OPTION...]\n", program,
				cli_commands[id].words);
	fprintf(stream, "%s\n", command->about);
	print_options(stream, command);
	if (accepts(command, is_for_kept))
		fputs(kept_text, stream);
	if (accepts(command, is_for_path))
		fputs(path_text, stream);
	if (is_measurement(command_id(command)))
		fputs(files_text, stream);
	switch (command_id(command)) {
	case CLI_SERVE:
		fprintf(stream, "%s%s%s", size_text, server_text, server_status_text);
		break;
	case CLI_EXCHANGE:
	case CLI_LATENCY:
		fputs(size_text, stream);
		break;
	case CLI_BANDWIDTH: /* has no room for it */
	case CLI_STATUS:
	case CLI_RECEIVE_GROUP:
	case CLI_SEND_GROUP:
	case CLI_COPY:
	case CLI_COMPARE:
	case CLI_DIAGNOSE:
	case CLI_EXPLAIN:
	case CLI_MESH:
	case CLI_MESH_AGENT:
	case CLI_COMMANDS:
		break;
	}
}

/* True if the text contains the option's name, not as the start of a longer one. */
static bool is_named(const struct option_row *row, const char *text)
{
	char name[LEFT_MAX];
	size_t length = (size_t)snprintf(name, sizeof(name), "--%s", row->name);

	for (; (text = strstr(text, name)); text += length)
		if (text[length] != '-' && !isalnum((unsigned char)text[length]))
			return true;
	return false;
}

void help_print_named_options(FILE *stream, const char *text)
{
	char option[LEFT_MAX];

	for (unsigned int i = 0; i < option_row_count; i++) {
		/* One of the rows of an option suffices. */
		if (!is_named(&option_rows[i], text) ||
			(i > 0 && strcmp(option_rows[i - 1].name, option_rows[i].name) == 0))
			continue;
		option_text(&option_rows[i], option);
		fprintf(stream, "  %s  %s\n", option, option_rows[i].help);
	}
}

void help_print_client(FILE *stream)
{
	int width = 0;

	fputs("Usage: rdma-client COMMAND [OPTION...]\n\nCommands:\n", stream);
	for (unsigned int id = 0; id < CLI_COMMANDS; id++)
		if (cli_commands[id].summary && (int)strlen(cli_commands[id].words) > width)
			width = (int)strlen(cli_commands[id].words);
	for (unsigned int id = 0; id < CLI_COMMANDS; id++)
		if (cli_commands[id].summary)
			fprintf(stream, "  %-*s  %s\n", width, cli_commands[id].words,
				cli_commands[id].summary);
	fprintf(stream, "%s%s", client_text, status_text);
}
