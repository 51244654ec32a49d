/*
 * The digest that tells whether data arrived as it was sent: XXH3, 128 bits, from libxxhash, in its
 * canonical (big-endian) form. It finds accidents, not attackers. With a key it is BLAKE2b, keyed, from
 * libsodium, of as many bits: whoever changes data cannot find the digest for it without the key.
 */
#ifndef PROTOCOL_DIGEST_H
#define PROTOCOL_DIGEST_H

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

/* The bytes of a key. */
#define DIGEST_KEY_SIZE 32

/* The digest with a key. Any thread. */
struct digest digest_of_keyed(const uint8_t key[DIGEST_KEY_SIZE], const void *data, size_t size);

/* "XXH3", or "BLAKE2b keyed". */
const char *digest_name(bool keyed);

/*
 * The digest of data that comes in pieces. One thread at a time. The first one decides for the
 * process which code for it is the fastest on this processor.
 */
struct digester;

/* NULL if there is no memory for it. The caller owns it; digester_free() takes NULL too. */
struct digester *digester_new(void);
void digester_free(struct digester *digester);

/* Makes it a digest with that key, of which it keeps a copy until it is freed. Before all data. */
void digester_set_key(struct digester *digester, const uint8_t key[DIGEST_KEY_SIZE]);
void digester_add(struct digester *digester, const void *data, size_t size);
struct digest digester_result(const struct digester *digester);

/* The room that digest_text() needs: two hex digits for each byte, and the terminator. */
#define DIGEST_TEXT_SIZE (2 * DIGEST_SIZE + 1)

/* Writes the digest as `xxhsum -H2` prints it. text has room for DIGEST_TEXT_SIZE. Any thread. */
void digest_text(char *text, const struct digest *digest);

#endif
