/*
 * The keyed digest of data that arrives in parts: 128 bits that an attacker without the key cannot
 * compute. It is a universal hash followed by a pseudorandom function, both of libsodium: Poly1305
 * hashes each block of 64 KiB, and keyed BLAKE2b hashes the results. See docs/protocol.md, "Keyed
 * digest".
 *
 * A key may digest any number of messages, although a key of Poly1305 alone must not: the results
 * of Poly1305 never leave this module. Used by one thread at a time.
 */
#ifndef PROTOCOL_KEYED_DIGEST_H
#define PROTOCOL_KEYED_DIGEST_H

#include <sodium.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/digest-part.h"

#define KEYED_DIGEST_SIZE     16
#define KEYED_DIGEST_KEY_SIZE 32

/* A copy continues independently. Allocate it with the alignment of its type. */
struct keyed_digester {
	crypto_generichash_state hashes; /* of all complete blocks */
	crypto_onetimeauth_state block;  /* the incomplete block */
	size_t used;                     /* its bytes, always less than a block */
	uint8_t hash_key[crypto_onetimeauth_KEYBYTES];
};

/* Copies the key. The caller wipes the digester with keyed_digester_wipe(). */
void keyed_digester_init(struct keyed_digester *digester, const uint8_t key[KEYED_DIGEST_KEY_SIZE]);
void keyed_digester_wipe(struct keyed_digester *digester);

void keyed_digester_add(struct keyed_digester *digester, const void *data, size_t size);

/*
 * The same in two steps, of which the first takes nearly all of the time: hashes the whole blocks
 * of data before which there are `position` bytes, while other threads may use the digester; then,
 * when these bytes have been added, adds the data. The caller wipes the part.
 */
void keyed_digester_hash(const struct keyed_digester *digester, uint64_t position, const void *data,
	size_t size, struct digest_part *part);
void keyed_digester_add_part(struct keyed_digester *digester, const void *data, size_t size,
	const struct digest_part *part);

/*
 * Computes the digest of all data added so far; more data may follow. Digests for different uses
 * are independent of each other.
 */
void keyed_digester_result(
	const struct keyed_digester *digester, uint8_t use, uint8_t digest[KEYED_DIGEST_SIZE]);

#endif
