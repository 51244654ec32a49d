/* Prints --help, made of the tables of commands and options. Main thread. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "cli/commands.h"

/* Prints the commands of the client, examples and the exit statuses: at most 24 lines. */
void help_print_client(FILE *stream);

/* Prints the usage and the options of one command; of a client's, at most 24 lines. */
void help_print_command(FILE *stream, const struct cli_command *command);

#endif
