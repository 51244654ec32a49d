/* Parses the command line of either program. */
#ifndef CLI_PARSE_H
#define CLI_PARSE_H

#include "cli/commands.h"

/*
 * Reads the command line of that program into options; its texts point into argv. Uses
 * getopt_long(3) and so its global state: main thread, once per process (tests: one after another).
 */
enum options_result parse_command_line(
	struct options *options, enum program program, int argc, char *argv[]);

#endif
