/* What --help prints: every option of the program and no other, as a table. */
#include <stdio.h>
#include <string.h>

#include "cli/help.h"
#include "tests/unit/unit.h"

#define S PROGRAM_SERVER
#define C PROGRAM_CLIENT

static const struct {
	enum program program;
	const char *name;
} programs[] = {{PROGRAM_SERVER, "rdma-server"}, {PROGRAM_CLIENT, "rdma-client"}};

/* Which options each program has: what --help must list, and nothing else. */
static const struct listed {
	unsigned int programs;
	const char *option;
} listed[] = {
	{S, "--bind ADDRESS"},
	{S | C, "--buffer SIZE"},
	{S | C, "--chunk SIZE"},
	{S, "--count N"},
	{S | C, "--depth N"},
	{S | C, "-d, --device NAME"},
	{S | C, "--force "},
	{S, "--handshake-timeout SECONDS"},
	{S | C, "-h, --help"},
	{S | C, "--input FILE|- "},
	{S | C, "--json "},
	{S, "--max-clients N"},
	{S, "--max-clients-per-address N"},
	{S, "--max-size SIZE"},
	{S | C, "--message TEXT"},
	{S | C, "--no-progress "},
	{S | C, "--output FILE|DIRECTORY/|- "},
	{S, "-p, --port N"},
	{S, "--port-file FILE"},
	{S | C, "--progress "},
	{S | C, "--quiet"},
	{S | C, "--secret-file FILE"},
	{C, "--source ADDRESS"},
	{S | C, "--timeout SECONDS"},
	{S | C, "-v, --verbose"},
	{S | C, "-V, --version"},
	{C, "--bandwidth "},
	{C, "--bidirectional "},
	{C, "--duration SECONDS"},
	{C, "--expect RATE|PERCENT"},
	{C, "--histogram "},
	{C, "--iterations N"},
	{C, "--latency "},
	{C, "--poll auto|spin|event"},
	{C, "--qps N"},
	{C, "--threads N"},
	{C, "--size SIZE"},
	{C, "--sizes SIZE..SIZE"},
	{C, "--unit MB/s|MiB/s|Gb/s"},
	{C, "--verify "},
	{C, "--warm-up SECONDS"},
};

#define HELP_MAX 8192

static void read_help(enum program program, char help[HELP_MAX])
{
	FILE *stream = fmemopen(help, HELP_MAX, "w");

	assert_non_null(stream);
	help_print(stream, program);
	assert_int_equal(fclose(stream), 0);
}

static void help_lists_every_option(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(programs); i++) {
		unsigned int lines = 0, options = 0;
		char help[HELP_MAX], *table;

		read_help(programs[i].program, help);
		for (size_t j = 0; j < COUNT(listed); j++) {
			bool has = listed[j].programs & programs[i].program;

			options += has;
			check_case(listed[j].option, !strstr(help, listed[j].option) == !has);
		}
		/* The client's options for a measurement have a table of their own. */
		table = strstr(help, "\nOptions:\n");
		for (char *line = table; (line = strstr(line, "\n  ")); line++)
			lines += line[3] == '-' || strncmp(line, "\n      --", 9) == 0;
		assert_int_equal(lines, options);
		assert_non_null(strstr(help, programs[i].name));
		assert_int_equal(!strstr(help, "diagnose"), programs[i].program == S);
		for (int status = '0'; status <= '5'; status++)
			assert_non_null(strchr(strstr(help, "Exit status"), status));
	}
}

/* What the options do stands in one column, and no line is too long. */
static void help_is_a_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(programs); i++) {
		char help[HELP_MAX], *rest = help, *line;

		bool table = false;

		read_help(programs[i].program, help);
		while ((line = strsep(&rest, "\n"))) {
			check_case(line, strlen(line) <= 100);
			table |= strcmp(line, "Options:") == 0;
			if (table && strncmp(line, "  ", 2) == 0)
				check_case(line,
					strlen(line) > 34 && line[33] == ' ' && line[34] != ' ');
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(help_lists_every_option),
		cmocka_unit_test(help_is_a_table),
	};

	return cmocka_run_group_tests_name("help", tests, NULL, NULL);
}
