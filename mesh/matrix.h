/*
 * The rates of a mesh as a table for a terminal: a row for each host that sends, a column for each
 * that receives. Few hosts have numbers, more have one character each. Pure; any thread.
 */
#ifndef MESH_MATRIX_H
#define MESH_MATRIX_H

#include "mesh/verdict.h"

/* The longest line, with its terminator. */
#define MATRIX_LINE 512

/*
 * Calls `print` for each line of the table, which fit into this many columns. Prints what the
 * characters mean. For more hosts than there are columns, prints that and nothing else.
 */
void matrix_print(const struct mesh_results *results, const struct verdict *verdict,
	unsigned int columns, void (*print)(void *context, const char *line), void *context);

#endif
