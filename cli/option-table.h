/*
 * The table of options of both programs: which commands have an option, what --help prints about
 * it, and how its value is read. The parser (cli/parse.c) and the help (cli/help.c) know no single
 * option. The table is constant; its functions are the parser's.
 *
 * A new option needs
 *   - a field in cli/options.h, and its default and what it excludes in cli/parse.c;
 *   - a row in cli/option-table.c;
 *   - if exchanges use it, a line of settings_init() in rdma-common.c;
 *   - the manual page and the completions.
 */
#ifndef CLI_OPTION_TABLE_H
#define CLI_OPTION_TABLE_H

#include "cli/options.h"

struct option_row {
	unsigned int commands; /* that have it: a bit for each enum cli_command_id */
	char letter;           /* '\0': none */
	const char *name;
	const char *argument; /* as --help prints it; NULL: the option has no value */
	const char *help;

	/*
	 * Reads the value, NULL if the option has none, into the field. Returns false if it is
	 * wrong, and may then record why. NULL for --help and --version.
	 */
	bool (*take)(struct options *options, const struct option_row *row, const char *value);
	size_t field, width; /* a member of struct options */
	uint64_t minimum, maximum;
	const char
		*expected; /* completes "--NAME must be"; NULL: a number from minimum to maximum */
};

extern const struct option_row option_rows[];
extern const unsigned int option_row_count;

/* There are no more rows, so that a bit of 64 can stand for each. */
#define OPTION_ROWS_MAX 64

/* Options that only a measurement has are a table of their own in the help. */
#define MEASUREMENTS (1U << CLI_BANDWIDTH | 1U << CLI_LATENCY)

/* Records what is wrong in options->error, and returns OPTIONS_WRONG. */
enum options_result options_wrong(struct options *options, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Takes one option, with its value or NULL. Returns OPTIONS_RUN to continue. */
enum options_result options_take(
	struct options *options, const struct option_row *row, const char *value);

/* Reads a port from minimum to 65535. Returns false, with the error recorded, if it is none. */
bool options_take_port(struct options *options, const char *text, uint16_t minimum);

#endif
