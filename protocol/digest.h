/*
 * The digest that verifies transferred data: 128 bits of XXH3 (libxxhash) in canonical, big-endian
 * form. XXH3 detects accidental corruption, not attacks. With a key, it is the digest of
 * protocol/keyed-digest.h: without the key, an attacker who changes the data cannot compute its
 * digest.
 */
#ifndef PROTOCOL_DIGEST_H
#define PROTOCOL_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/digest-part.h"

#define DIGEST_SIZE 16

struct digest {
	uint8_t bytes[DIGEST_SIZE];
};

/* Any thread. */
struct digest digest_of(const void *data, size_t size);
bool digest_equal(const struct digest *a, const struct digest *b);

/* Size of a key in bytes. */
#define DIGEST_KEY_SIZE 32

/*
 * What a digest is for. A keyed digest for one use is not valid for another, so an attacker cannot
 * move it to another message.
 */
enum digest_use {
	DIGEST_STREAM = 0,   /* in MSG_DONE: a whole stream, including what the receiver has */
	DIGEST_EXISTING = 1, /* in MSG_HAVE: what the receiver has */
};

/* Computes the keyed digest of a whole stream. Any thread. */
struct digest digest_of_keyed(const uint8_t key[DIGEST_KEY_SIZE], const void *data, size_t size);

/* Returns "XXH3" or "Poly1305-BLAKE2b": at most DIGEST_NAME_SIZE bytes with the terminator. */
#define DIGEST_NAME_SIZE 20
const char *digest_name(bool keyed);

/* Computes the digest of data that arrives in parts. Used by one thread at a time. */
struct digester;

/* Returns NULL if out of memory. The caller frees it; digester_free() accepts NULL. */
struct digester *digester_new(void);
void digester_free(struct digester *digester);

/* Returns a copy with its key and data, or NULL if out of memory. The caller frees it. */
struct digester *digester_copy(const struct digester *digester);

/*
 * Switches to a keyed digest. The key is copied, and wiped when the digester is freed. Call it
 * before adding data.
 */
void digester_set_key(struct digester *digester, const uint8_t key[DIGEST_KEY_SIZE]);
void digester_add(struct digester *digester, const void *data, size_t size);

/*
 * The same in two steps, for several threads. The first, which they take side by side, digests what
 * it can of data before which there are `position` bytes; with a key, that is nearly everything.
 * The second, when these bytes have been added, adds the data. Then the part is wiped.
 */
void digester_prepare(const struct digester *digester, uint64_t position, const void *data,
	size_t size, struct digest_part *part);
void digester_add_prepared(
	struct digester *digester, const void *data, size_t size, struct digest_part *part);

/* Returns the digest of all data added so far. More data may follow. */
struct digest digester_result(const struct digester *digester, enum digest_use use);

/* Size of a digest as text in bytes: two hex digits per byte, and the terminator. */
#define DIGEST_TEXT_SIZE (2 * DIGEST_SIZE + 1)

/* Writes the digest as `xxhsum -H2` prints it. text holds DIGEST_TEXT_SIZE bytes. Any thread. */
void digest_text(char *text, const struct digest *digest);

#endif
