/* Papers, sources and tests of the tree as texts. Runs from the top of the tree, as `make check` does. */
#ifndef PAPER_RIG_H
#define PAPER_RIG_H

#include <glob.h>

/* Reads a file. The caller frees it. */
char *paper_read(const char *path);

/* The tests over soft-RoCE and between hosts. The caller frees them with globfree(3). */
void paper_tests(glob_t *files);

#endif
