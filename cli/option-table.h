/*
 * The table of options of both programs: the commands that accept an option, its line in --help,
 * and how its value is read. The parser (cli/parse.c) and the help (cli/help.c) mention no specific
 * options. The table is constant; its functions run on the main thread.
 *
 * Commands that describe an option in different words, or read its value differently, have rows of
 * their own for it, next to each other.
 *
 * To add an option:
 *   - add a field to struct options (cli/options.h), its default and its conflicts to cli/parse.c;
 *   - add a row to cli/option-table.c;
 *   - if exchanges use it, set it in settings_init() (rdma-common.c);
 *   - document it in the manual page and offer it in the completions.
 */
#ifndef CLI_OPTION_TABLE_H
#define CLI_OPTION_TABLE_H

#include "cli/options.h"

struct option_row {
	unsigned int commands; /* that accept it: one bit for each enum cli_command_id */
	char letter;           /* '\0': none */
	const char *name;
	const char *argument; /* as shown by --help; NULL: the option has no value */
	const char *help;

	/*
	 * Stores the value, NULL if the option has none, in the field. Returns false if the value
	 * is invalid, possibly after recording the reason. NULL for --help and --version.
	 */
	bool (*take)(struct options *options, const struct option_row *row, const char *value);
	size_t field, width; /* a member of struct options */
	uint64_t minimum, maximum;
	const char
		*expected; /* completes "--NAME must be"; NULL: a number from minimum to maximum */
	bool repeats;      /* it may be given more than once */
};

extern const struct option_row option_rows[];
extern const unsigned int option_row_count;

/* The maximum number of rows. */
#define OPTION_ROWS_MAX 112

/* Records the error in options->error and returns OPTIONS_WRONG. */
enum options_result options_wrong(struct options *options, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Does the same for an error that already includes advice. */
enum options_result options_advise(struct options *options, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Stores the value of an option, NULL if it has none. Returns OPTIONS_RUN to continue. */
enum options_result options_take(
	struct options *options, const struct option_row *row, const char *value);

/* Adds a file to send. Returns OPTIONS_RUN, or OPTIONS_WRONG if there are too many. */
enum options_result options_add_input(struct options *options, const char *path);

/*
 * True if the text can be a host name or an address. Of these, only IPv6 addresses contain colons,
 * before a zone if there is one.
 */
bool options_is_host(const char *text);

/* Reads PORT, 1 to 65535. Returns false for any other text. */
bool options_take_port(struct options *options, const char *text);

#endif
