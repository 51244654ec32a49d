/*
 * The table of commands: their words on the command line and their help text. The options of each
 * command are in cli/option-table.c. Constant; any thread.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/options.h"

enum program {
	PROGRAM_SERVER = 1 << 0,
	PROGRAM_CLIENT = 1 << 1,
};

/* The name of a program. */
const char *program_name(enum program program);

struct cli_command {
	enum program program;
	const char *names;        /* choices for its first word; NULL: the command without a name */
	const char *words;        /* all its words, for the usage line */
	const char *also;         /* the words of its other form, NULL: none */
	const char *summary;      /* one line in the client's --help */
	const char *about;        /* the start of its own --help, before the options */
	const char *example;      /* an example of its words, for error messages */
	int mode;                 /* position of the mode among its words, -1 if none */
	int host;                 /* position of HOST, followed by PORT; -1 if none */
	int words_min, words_max; /* without the words of the other form */
};

/* Indexed by enum cli_command_id. */
extern const struct cli_command cli_commands[CLI_COMMANDS];

/* Returns the program's command that starts with this word, or the one without a name, or NULL. */
const struct cli_command *command_find(enum program program, const char *word);

/* Returns its index in the table. */
enum cli_command_id command_id(const struct cli_command *command);

#endif
