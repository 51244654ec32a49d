/* The command line of the server at the other host, for its shell. Main thread. */
#ifndef COPY_FAR_COMMAND_H
#define COPY_FAR_COMMAND_H

#include "cli/options.h"

/*
 * Returns the command that serves what the options copy, which the caller frees; NULL without
 * memory. Each argument is quoted for a POSIX shell, except a tilde-prefix of a path.
 */
char *far_command_of(const struct options *options);

#endif
