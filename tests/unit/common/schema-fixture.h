/*
 * Fixture that validates JSON documents against their schemas with a third-party validator, through
 * tests/validate-report. The functions skip the test if its dependencies are missing. Must run at
 * the top of the source tree.
 */
#ifndef TESTS_UNIT_COMMON_SCHEMA_FIXTURE_H
#define TESTS_UNIT_COMMON_SCHEMA_FIXTURE_H

#include <stddef.h>

/* Replaces the first occurrence of right in the document by wrong. */
struct schema_case {
	const char *right, *wrong;
};

/* Fails the test unless all documents, one per line, are valid. */
void schema_check(const char *documents);

/* Fails the test unless the document is valid and each of the changes makes it invalid. */
void schema_check_refuses(const char *document, const struct schema_case cases[], size_t count);

#endif
