/*
 * The output of --help lists the client's commands and, for each command, exactly its options, in a
 * table that fits the screen.
 */
#include <stdio.h>
#include <string.h>

#include "cli/help.h"
#include "cli/option-table.h"
#include "tests/unit/unit.h"

#define SCREEN_LINES   26
#define SCREEN_COLUMNS 80
#define HELP_MAX       8192

/* The commands that list an option, one letter each. */
static const struct listed {
	const char *commands, *option;
} listed[] = {
	{"SR", "      --bind ADDRESS "},
	{"SX", "      --buffer SIZE "},
	{"SX", "      --chunk SIZE "},
	{"SRM", "      --count N "},
	{"BL", "      --csv "},
	{"SXB", "      --depth N "},
	{"CD", "      --color auto|always|never "},
	{"SXBLDPRM", "  -d, --device NAME "},
	{"FA", "  -d, --device all|NAME,... "},
	{"SXP", "      --direct "},
	{"SX", "      --discard "},
	{"SXP", "      --exclude PATTERN "},
	{"SXP", "      --update "},
	{"SXP", "      --checksum "},
	{"SXP", "      --workers N "},
	{"XP", "  -n, --dry-run "},
	{"SX", "  -f, --force "},
	{"S", "      --handshake-timeout SECONDS "},
	{"STXBLCDEPRMFA", "  -h, --help "},
	{"SX", "  -i, --input FILE|DIRECTORY|- "},
	{"STXBLDCPF", "      --json "},
	{"S", "      --max-clients N "},
	{"S", "      --max-clients-per-address N "},
	{"S", "      --max-size SIZE "},
	{"S", "      --memory SIZE "},
	{"SXM", "      --message TEXT "},
	{"SXPF", "      --no-progress "},
	{"SX", "  -o, --output FILE|DIRECTORY/|- "},
	{"S", "  -p, --port N "},
	{"S", "      --port-file FILE "},
	{"SXPF", "      --progress "},
	{"SXBLDPRMF", "  -q, --quiet "},
	{"SXB", "      --relaxed-ordering WHEN "},
	{"SXBLDFA", "      --secret-file FILE "},
	{"XBLDPM", "      --source ADDRESS "},
	{"SXBLPRMF", "      --timeout SECONDS "},
	{"SXBLDP", "      --tos DSCP "},
	{"SXBLDPRMF", "  -v, --verbose "},
	{"S", "      --stdio "},
	{"S", "      --timestamps "},
	{"S", "  -V, --version "},
	{"B", "      --bidirectional "},
	{"P", "      --mode write|read|send "},
	{"PF", "      --rsh COMMAND "},
	{"P", "      --server-path PROGRAM "},
	{"BLF", "      --duration SECONDS "},
	{"BF", "      --expect RATE|PERCENT "},
	{"L", "      --histogram "},
	{"BL", "      --iterations N "},
	{"BL", "      --poll auto|spin|event "},
	{"BL", "      --inline N "},
	{"BL", "      --sge N "},
	{"B", "      --srq "},
	{"B", "      --signal-every N "},
	{"B", "      --qps N "},
	{"B", "      --threads N "},
	{"BL", "      --transport rc|uc|ud "},
	{"BLF", "      --size SIZE[..SIZE] "},
	{"M", "      --size SIZE "},
	{"BC", "      --unit MB/s|MiB/s|Gb/s "},
	{"BL", "      --verify "},
	{"BL", "      --warm-up SECONDS "},
	{"S", "      --bootstrap rdmacm|tcp|both "},
	{"XBLD", "      --bootstrap rdmacm|tcp "},
	{"M", "      --rate N "},
	{"D", "      --interval SECONDS "},
	{"D", "      --watch "},
	{"F", "      --agent-path PROGRAM "},
	{"F", "      --concurrency N "},
	{"F", "      --cross-rail "},
	{"F", "      --together "},
	{"F", "      --hosts HOSTS "},
	{"F", "      --hosts-file FILE "},
	{"F", "      --html FILE "},
	{"F", "      --listen PORT "},
	{"DF", "      --metrics FILE "},
	{"F", "      --quick "},
	{"F", "      --start-timeout SECONDS "},
	{"F", "      --suggest-drain "},
	{"F", "      --topology FILE "},
	{"F", "      --via PROGRAM "},
	{"A", "      --name NAME "},
};

static const char letters[CLI_COMMANDS] = {
	[CLI_SERVE] = 'S',
	[CLI_STATUS] = 'T',
	[CLI_RECEIVE_GROUP] = 'R',
	[CLI_SEND_GROUP] = 'M',
	[CLI_EXCHANGE] = 'X',
	[CLI_BANDWIDTH] = 'B',
	[CLI_LATENCY] = 'L',
	[CLI_COPY] = 'P',
	[CLI_COMPARE] = 'C',
	[CLI_DIAGNOSE] = 'D',
	[CLI_EXPLAIN] = 'E',
	[CLI_MESH] = 'F',
	[CLI_MESH_AGENT] = 'A',
};

/* Formats the help of a command, or of the client itself if NULL. */
static void read_help(const struct cli_command *command, char help[HELP_MAX])
{
	FILE *stream = fmemopen(help, HELP_MAX, "w");

	assert_non_null(stream);
	if (command)
		help_print_command(stream, command);
	else
		help_print_client(stream);
	assert_int_equal(fclose(stream), 0);
}

static void each_command_lists_its_options(void **state)
{
	(void)state;
	for (unsigned int id = 0; id < CLI_COMMANDS; id++) {
		unsigned int lines = 0, options = 0;
		char help[HELP_MAX];

		read_help(&cli_commands[id], help);
		for (size_t i = 0; i < COUNT(listed); i++) {
			bool wanted = strchr(listed[i].commands, letters[id]);

			options += wanted;
			check_case(listed[i].option, !strstr(help, listed[i].option) == !wanted);
		}
		for (char *line = help; (line = strstr(line, "\n  ")); line++)
			lines += line[3] == '-' || strncmp(line, "\n      --", 9) == 0;
		assert_int_equal(lines, options);
		assert_non_null(strstr(help, cli_commands[id].words));
	}
}

/* No line is too long, and all descriptions of options start in the same column. */
static void check_layout(const char *help, unsigned int lines_max)
{
	unsigned int lines = 0;
	size_t column = 0;

	for (const char *line = help; *line; line += strcspn(line, "\n") + 1, lines++) {
		const char *text = line + strspn(line, " ");

		check_case(line, strcspn(line, "\n") <= SCREEN_COLUMNS);
		if (strncmp(line, "  -", 3) != 0 && strncmp(line, "      --", 8) != 0)
			continue;
		text = strstr(text, "  ");
		assert_non_null(text);
		text += strspn(text, " ");
		if (!column)
			column = (size_t)(text - line);
		check_case(line, (size_t)(text - line) == column);
	}
	check_case(help, lines <= lines_max);
}

/* They share a line. */
static void measurements_list_their_files(void **state)
{
	(void)state;
	for (unsigned int id = 0; id < CLI_COMMANDS; id++) {
		bool measures = id == CLI_BANDWIDTH || id == CLI_LATENCY;
		char help[HELP_MAX];

		read_help(&cli_commands[id], help);
		check_case(help,
			!strstr(help, "--plot FILE.svg or FILE.png; --metrics FILE,") == !measures);
	}
}

static void help_fits_one_screen(void **state)
{
	char help[HELP_MAX];

	(void)state;
	read_help(NULL, help);
	check_layout(help, SCREEN_LINES);
	for (unsigned int id = 0; id < CLI_COMMANDS; id++) {
		read_help(&cli_commands[id], help);
		/*
		 * The server's help includes examples and exit statuses; an exchange has options
		 * for its files, a measurement of bandwidth for its work requests, and a mesh for
		 * its hosts.
		 */
		check_layout(help, SCREEN_LINES + (id == CLI_SERVE              ? 29
							  : id == CLI_BANDWIDTH ? 7
							  : id == CLI_EXCHANGE  ? 8
							  : id == CLI_MESH      ? 5
							  : id == CLI_LATENCY   ? 1
										: 0));
	}
}

static void programs_list_commands_examples_and_statuses(void **state)
{
	char client[HELP_MAX], server[HELP_MAX], *const both[] = {client, server};

	(void)state;
	read_help(NULL, client);
	read_help(&cli_commands[CLI_SERVE], server);
	/* An agent of a mesh is started by the mesh. */
	for (unsigned int id = CLI_EXCHANGE; id < CLI_COMMANDS; id++)
		check_case(cli_commands[id].words,
			id == CLI_MESH_AGENT || strstr(client, cli_commands[id].words));
	for (size_t i = 0; i < COUNT(both); i++) {
		char *examples = strstr(both[i], "\nExamples:\n  ");
		char *statuses = strstr(both[i], "\nExit status:");

		assert_non_null(examples);
		assert_non_null(statuses);
		for (int status = '0'; status <= '5'; status++)
			assert_non_null(strchr(statuses, status));
	}
}

/* The server exits with 3 in two cases: it cannot start without a device, or a client failed. */
static void the_server_lists_its_statuses(void **state)
{
	char help[HELP_MAX], *statuses, *of_clients;

	(void)state;
	read_help(&cli_commands[CLI_SERVE], help);
	statuses = strstr(help, "\nExit status:");
	assert_non_null(statuses);
	of_clients = strstr(statuses, "--count");
	assert_non_null(of_clients);
	assert_non_null(strstr(of_clients, "3 cannot connect"));
	*of_clients = '\0';
	assert_non_null(strstr(statuses, "3 no usable RDMA device"));
}

/* Commands that describe an option in their own words. */
static void commands_have_words_of_their_own(void **state)
{
	static const struct {
		enum cli_command_id id;
		const char *line;
	} cases[] = {
		{CLI_SERVE, "\n       rdma-server status [PORT] [OPTION...]\n"},
		{CLI_SERVE, "\n       rdma-server multicast GROUP [OPTION...]\n"},
		{CLI_SERVE, "--count N                    exit after N clients\n"},
		{CLI_RECEIVE_GROUP,
			"--count N          exit after N streams; a message is one, too\n"},
		{CLI_RECEIVE_GROUP,
			"--bind ADDRESS     receive on the device that has this address\n"},
		{CLI_RECEIVE_GROUP,
			"--timeout SECONDS  end a stream after this silence; default 10\n"},
		{CLI_SEND_GROUP, "--source ADDRESS   send from the device that has this address\n"},
		{CLI_SEND_GROUP,
			"--size SIZE        send datagrams of this size; default: the MTU\n"},
		{CLI_SEND_GROUP, "--timeout SECONDS  limit the time to join; default 10\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char help[HELP_MAX];

		read_help(&cli_commands[cases[i].id], help);
		check_case(cases[i].line, strstr(help, cases[i].line));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_command_lists_its_options),
		cmocka_unit_test(measurements_list_their_files),
		cmocka_unit_test(help_fits_one_screen),
		cmocka_unit_test(programs_list_commands_examples_and_statuses),
		cmocka_unit_test(the_server_lists_its_statuses),
		cmocka_unit_test(commands_have_words_of_their_own),
	};

	return cmocka_run_group_tests_name("help", tests, NULL, NULL);
}
