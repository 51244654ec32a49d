/* Parses the command line of either program. */
#ifndef CLI_PARSE_H
#define CLI_PARSE_H

#include "cli/commands.h"

/*
 * Parses the command line of a program into options, whose strings point into argv. The caller
 * frees them with options_free(), whatever the result is. With OPTIONS_HELP, options->command is
 * the command whose help is requested, or CLI_COMMANDS. Uses the global state of getopt_long(3):
 * main thread only.
 */
enum options_result parse_command_line(
	struct options *options, enum program program, int argc, char *argv[]);

/* Frees what parse_command_line() has allocated; options must not be used afterwards. */
void options_free(struct options *options);

/* True if a directory or several files are sent. Looks at the input. Any thread. */
bool options_send_tree(const struct options *options);

#endif
