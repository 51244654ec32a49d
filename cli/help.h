/* Prints --help from the tables of commands and options. Main thread. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "cli/commands.h"

/* Prints the client's commands, examples and exit statuses: at most 24 lines. */
void help_print_client(FILE *stream);

/* Prints the usage and the options of one command; at most 24 lines for a client command. */
void help_print_command(FILE *stream, const struct cli_command *command);

/* Prints the line of the help for each option that the text names, as in "--force". */
void help_print_named_options(FILE *stream, const char *text);

#endif
