/* Parses the command line of either program. */
#ifndef CLI_PARSE_H
#define CLI_PARSE_H

#include "cli/commands.h"

/*
 * Parses the command line of a program into options, whose strings point into argv. With
 * OPTIONS_HELP, options->command is the command whose help is requested, or CLI_COMMANDS. Uses the
 * global state of getopt_long(3): main thread only.
 */
enum options_result parse_command_line(
	struct options *options, enum program program, int argc, char *argv[]);

#endif
