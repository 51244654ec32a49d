/* Follows the definition literally; the data is complete. */
#include <sodium.h>

#include "tests/unit/common/digest-fixture.h"

#define BLOCK ((size_t)65536)

struct keys {
	uint8_t hash[32], digest[32];
};

static struct keys derive(const uint8_t key[DIGEST_KEY_SIZE])
{
	static const char label[] = "rdmapair 2 digest keys";
	struct keys keys;

	crypto_generichash((uint8_t *)&keys, sizeof(keys), (const uint8_t *)label, sizeof(label),
		key, DIGEST_KEY_SIZE);
	return keys;
}

void reference_block_hash(const uint8_t key[DIGEST_KEY_SIZE], const void *block, size_t size,
	uint8_t hash[DIGEST_SIZE])
{
	const struct keys keys = derive(key);

	crypto_onetimeauth(hash, block, size, keys.hash);
}

struct digest reference_digest(
	const uint8_t key[DIGEST_KEY_SIZE], const void *data, size_t size, enum digest_use use)
{
	const struct keys keys = derive(key);
	const uint8_t *bytes = data, last = (uint8_t)use;
	crypto_generichash_state hashes;
	struct digest digest;

	crypto_generichash_init(&hashes, keys.digest, sizeof(keys.digest), DIGEST_SIZE);
	for (size_t at = 0; at <= size; at += BLOCK) {
		uint8_t hash[DIGEST_SIZE];

		reference_block_hash(key, bytes + at, size - at < BLOCK ? size - at : BLOCK, hash);
		crypto_generichash_update(&hashes, hash, sizeof(hash));
	}
	crypto_generichash_update(&hashes, &last, sizeof(last));
	crypto_generichash_final(&hashes, digest.bytes, DIGEST_SIZE);
	return digest;
}
