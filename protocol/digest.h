/*
 * The digest that verifies transferred data: 128 bits of XXH3 (libxxhash) in canonical, big-endian
 * form. XXH3 detects accidental corruption, not attacks. With a key, the digest is 128 bits of
 * keyed BLAKE2b (libsodium): without the key, an attacker who changes the data cannot compute its
 * digest.
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

/* Size of a key in bytes. */
#define DIGEST_KEY_SIZE 32

/* Computes the keyed digest. Any thread. */
struct digest digest_of_keyed(const uint8_t key[DIGEST_KEY_SIZE], const void *data, size_t size);

/* Returns "XXH3" or "BLAKE2b keyed". */
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

/* Returns the digest of all data added so far. */
struct digest digester_result(const struct digester *digester);

/* Size of a digest as text in bytes: two hex digits per byte, and the terminator. */
#define DIGEST_TEXT_SIZE (2 * DIGEST_SIZE + 1)

/* Writes the digest as `xxhsum -H2` prints it. text holds DIGEST_TEXT_SIZE bytes. Any thread. */
void digest_text(char *text, const struct digest *digest);

#endif
