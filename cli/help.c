/* Prints --help from the tables of commands and options. Main thread. */
#include "cli/help.h"
#include "cli/option-table.h"

static const char size_text[] =
	"\nSIZE is in bytes, KiB, MiB or GiB (K, M or G for short), or kB, MB or GB: 65536, 64K, 1MB.\n";

static const char status_text[] =
	"\nExit status: 0 exchanged and verified; 1 failed; 2 wrong usage; 3 could not connect;\n"
	"4 the peer failed, vanished or broke the protocol; 5 data arrived damaged.\n";

static const char diagnosis_status_text[] =
	"diagnose: 0 nothing is broken; else, of what broke first: 1 or 3 this host or the way to the\n"
	"server, 4 the peer, packets or speed, 5 data.\n";

/* Columns of the widest option. */
#define LEFT_WIDTH ((int)sizeof("--max-clients-per-address N") - 1)

static void print_row(FILE *stream, const struct option_row *row)
{
	char left[LEFT_WIDTH + 1];

	snprintf(left, sizeof(left), "--%s%s%s", row->name, row->argument ? " " : "",
		row->argument ? row->argument : "");
	if (row->letter)
		fprintf(stream, "  -%c, ", row->letter);
	else
		fputs("      ", stream);
	fprintf(stream, "%-*s %s\n", LEFT_WIDTH, left, row->help);
}

/* Prints the options of these commands: those that only measurements have, or all others. */
static void print_rows(FILE *stream, unsigned int commands, bool measurements)
{
	for (unsigned int i = 0; i < option_row_count; i++)
		if ((option_rows[i].commands & commands) &&
			(option_rows[i].commands == MEASUREMENTS) == measurements)
			print_row(stream, &option_rows[i]);
}

void help_print(FILE *stream, enum program program)
{
	bool client = program == PROGRAM_CLIENT;
	const char *before = "Usage:";
	unsigned int commands = 0;

	for (unsigned int id = 0; id < CLI_COMMANDS; id++) {
		if (cli_commands[id].program != program)
			continue;
		commands |= 1U << id;
		if (!cli_commands[id].usage)
			continue;
		fprintf(stream, "%-6s %s [OPTION...] %s\n", before,
			client ? "rdma-client" : "rdma-server", cli_commands[id].usage);
		before = "";
	}
	for (unsigned int id = 0; id < CLI_COMMANDS; id++)
		if (cli_commands[id].program == program && cli_commands[id].about)
			fputs(cli_commands[id].about, stream);
	fputs("\nOptions:\n", stream);
	print_rows(stream, commands, false);
	if (client) {
		fputs("\nTo measure:\n", stream);
		print_rows(stream, commands, true);
	}
	fputs(size_text, stream);
	fputs(status_text, stream);
	if (client)
		fputs(diagnosis_status_text, stream);
}
