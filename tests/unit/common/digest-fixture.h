/* The keyed digest of docs/protocol.md, computed in one go. */
#ifndef TESTS_UNIT_COMMON_DIGEST_FIXTURE_H
#define TESTS_UNIT_COMMON_DIGEST_FIXTURE_H

#include "protocol/digest.h"

struct digest reference_digest(
	const uint8_t key[DIGEST_KEY_SIZE], const void *data, size_t size, enum digest_use use);

/* The Poly1305 hash of one block of at most 64 KiB, which must remain secret. */
void reference_block_hash(const uint8_t key[DIGEST_KEY_SIZE], const void *block, size_t size,
	uint8_t hash[DIGEST_SIZE]);

#endif
