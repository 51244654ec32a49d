/*
 * JSON documents compared with their schemas, by a validator that is not ours:
 * tests/validate-report. Where what it needs is missing, these skip the test. Runs from the top of
 * the tree.
 */
#ifndef TESTS_UNIT_COMMON_SCHEMA_FIXTURE_H
#define TESTS_UNIT_COMMON_SCHEMA_FIXTURE_H

#include <stddef.h>

/* Which schema, as the validator's command line. */
#define SCHEMA_REPORT      ""
#define SCHEMA_DIAGNOSIS   "--diagnosis"
#define SCHEMA_MEASUREMENT "--measurement"

/* Puts wrong in the place of right, the first in the document. */
struct schema_case {
	const char *right, *wrong;
};

/* The documents, one on each line, are as the schema says. */
void schema_check(const char *schema, const char *documents);

/* This one is, and each way to make it wrong is refused. */
void schema_check_refuses(
	const char *schema, const char *document, const struct schema_case cases[], size_t count);

#endif
