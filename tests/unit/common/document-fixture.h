/*
 * Fixture that reads documents, sources and tests of the source tree. Must run at the top of the
 * tree, as `make check` does.
 */
#ifndef TESTS_UNIT_COMMON_DOCUMENT_FIXTURE_H
#define TESTS_UNIT_COMMON_DOCUMENT_FIXTURE_H

#include <glob.h>

/* Reads a file as a string. The caller frees it. */
char *document_read(const char *path);

/* Lists the soft-RoCE and two-host tests. The caller frees the list with globfree(3). */
void document_tests(glob_t *files);

#endif
