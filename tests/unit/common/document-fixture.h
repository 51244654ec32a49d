/*
 * Documents, sources and tests of the tree as texts. Runs from the top of the tree, as `make check`
 * does.
 */
#ifndef TESTS_UNIT_COMMON_DOCUMENT_FIXTURE_H
#define TESTS_UNIT_COMMON_DOCUMENT_FIXTURE_H

#include <glob.h>

/* Reads a file. The caller frees it. */
char *document_read(const char *path);

/* The tests over soft-RoCE and between hosts. The caller frees them with globfree(3). */
void document_tests(glob_t *files);

#endif
