/*
 * `rdma-client explain`: prints sections of docs/troubleshooting.md, which the program contains.
 * Main thread.
 */
#ifndef CLI_EXPLANATIONS_H
#define CLI_EXPLANATIONS_H

#include <stdio.h>

/* Maximum number of sections that are printed in full. */
#define EXPLANATIONS_MAX 3

/*
 * Prints the sections that match the query: those whose text contains it, and those whose cause is
 * part of it, so that a whole error line can be given. A section with exactly this title is printed
 * alone. If more than EXPLANATIONS_MAX sections match, or the query is empty, prints only their
 * titles. Returns the number of matching sections.
 */
unsigned int explanations_print(FILE *stream, const char *query);

#endif
