/* The --help of either program. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "cli/commands.h"

/* Prints it to stream. Main thread. */
void help_print(FILE *stream, enum program program);

#endif
