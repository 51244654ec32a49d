/*
 * The digest that tells whether data arrived as it was sent: XXH3, 128 bits, from libxxhash, in its
 * canonical (big-endian) form. It finds accidents, not attackers.
 */
#ifndef DIGEST_H
#define DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_SIZE 16

struct digest {
	uint8_t bytes[DIGEST_SIZE];
};

/* Any thread. */
struct digest digest_of(const void *data, size_t size);
bool digest_equal(const struct digest *a, const struct digest *b);

/*
 * The digest of data that comes in pieces. One thread at a time. The first one decides for the
 * process which code for it is the fastest on this processor.
 */
struct digester;

/* NULL if there is no memory for it. The caller owns it; digester_free() takes NULL too. */
struct digester *digester_new(void);
void digester_free(struct digester *digester);
void digester_add(struct digester *digester, const void *data, size_t size);
struct digest digester_result(const struct digester *digester);

/* The room that digest_text() needs: two hex digits for each byte, and the terminator. */
#define DIGEST_TEXT_SIZE (2 * DIGEST_SIZE + 1)

/* Writes the digest as `xxhsum -H2` prints it. text has room for DIGEST_TEXT_SIZE. Any thread. */
void digest_text(char *text, const struct digest *digest);

#endif
