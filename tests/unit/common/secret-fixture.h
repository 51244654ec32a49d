/* Secrets for tests, out of files that are gone already. */
#ifndef TESTS_UNIT_COMMON_SECRET_FIXTURE_H
#define TESTS_UNIT_COMMON_SECRET_FIXTURE_H

#include "protocol/secret.h"

/* A secret for each letter. The caller frees it. */
struct secret *make_secret(char letter);

#endif
