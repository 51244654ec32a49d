/*
 * The table of commands. Which options a command has is stated in cli/option-table.h, by the bits
 * of the commands. Constant; any thread.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/options.h"

enum program {
	PROGRAM_SERVER = 1 << 0,
	PROGRAM_CLIENT = 1 << 1,
};

struct cli_command {
	enum program program;
	const char *usage; /* its line of the usage, NULL if it shares that of the command before */
	const char *about; /* its part of the program's --help, likewise */
	int words_min, words_max; /* words of its command line that are no options */
	const char *refusal; /* completes "--OPTION does not go with" for other commands' options */
};

/* Indexed by enum cli_command_id. */
extern const struct cli_command cli_commands[CLI_COMMANDS];

#endif
