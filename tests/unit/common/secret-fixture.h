/* Secrets for tests; no file remains. */
#ifndef TESTS_UNIT_COMMON_SECRET_FIXTURE_H
#define TESTS_UNIT_COMMON_SECRET_FIXTURE_H

#include "protocol/secret.h"

/* Returns a secret that consists of this letter. The caller frees it. */
struct secret *make_secret(char letter);

#endif
