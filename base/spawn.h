/* Starts another program. Any thread. */
#ifndef BASE_SPAWN_H
#define BASE_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Starts the program words[0], found in PATH, with these words, which end with NULL, these
 * descriptors as standard input and output, and standard error as it is or, unless errors is true,
 * /dev/null. Returns 0 and the child, or an errno. posix_spawnp(3).
 */
int spawn_program(pid_t *child, char *const words[], int input, int output, bool errors);

#endif
