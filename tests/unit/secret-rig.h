/* Secrets for tests, out of files that are gone already. */
#ifndef SECRET_RIG_H
#define SECRET_RIG_H

#include "lib/secret.h"

/* A secret for each letter. The caller frees it. */
struct secret *make_secret(char letter);

#endif
