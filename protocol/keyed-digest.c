/* Keyed digests: see protocol/keyed-digest.h. All intermediate values are secret and wiped. */
#include <string.h>

#include "protocol/keyed-digest.h"

/*
 * Two different messages have the same hashes with a probability of at most 2^-91, which depends
 * only on the size of a block, not on the length of the messages. Larger blocks are not faster.
 */
#define BLOCK_SIZE ((size_t)64 << 10)

/* Separates this hash from those of protocol/handshake.c. */
static const char keys_label[] = "rdmapair 2 digest keys";

struct keys {
	uint8_t hash[crypto_onetimeauth_KEYBYTES];
	uint8_t digest[KEYED_DIGEST_KEY_SIZE];
};

void keyed_digester_init(struct keyed_digester *digester, const uint8_t key[KEYED_DIGEST_KEY_SIZE])
{
	struct keys keys;

	crypto_generichash((uint8_t *)&keys, sizeof(keys), (const uint8_t *)keys_label,
		sizeof(keys_label), key, KEYED_DIGEST_KEY_SIZE);
	memcpy(digester->hash_key, keys.hash, sizeof(keys.hash));
	crypto_generichash_init(
		&digester->hashes, keys.digest, sizeof(keys.digest), KEYED_DIGEST_SIZE);
	crypto_onetimeauth_init(&digester->block, keys.hash);
	digester->used = 0;
	sodium_memzero(&keys, sizeof(keys));
}

void keyed_digester_wipe(struct keyed_digester *digester)
{
	sodium_memzero(digester, sizeof(*digester));
}

/* Adds the hash of the block to the hashes. */
static void end_block(crypto_generichash_state *hashes, crypto_onetimeauth_state *block)
{
	uint8_t hash[crypto_onetimeauth_BYTES];

	crypto_onetimeauth_final(block, hash);
	crypto_generichash_update(hashes, hash, sizeof(hash));
	sodium_memzero(hash, sizeof(hash));
}

void keyed_digester_add(struct keyed_digester *digester, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	while (size > 0) {
		size_t space = BLOCK_SIZE - digester->used, part = size < space ? size : space;

		crypto_onetimeauth_update(&digester->block, bytes, part);
		digester->used += part;
		bytes += part;
		size -= part;
		if (digester->used == BLOCK_SIZE) {
			end_block(&digester->hashes, &digester->block);
			crypto_onetimeauth_init(&digester->block, digester->hash_key);
			digester->used = 0;
		}
	}
}

void keyed_digester_hash(const struct keyed_digester *digester, uint64_t position, const void *data,
	size_t size, struct digest_part *part)
{
	const uint8_t *bytes = data;

	part->before = (size_t)((BLOCK_SIZE - position % BLOCK_SIZE) % BLOCK_SIZE);
	part->count = 0;
	if (size < part->before)
		return;
	size -= part->before;
	bytes += part->before;
	while (size >= BLOCK_SIZE && part->count < DIGEST_PART_BLOCKS) {
		crypto_onetimeauth(
			part->hashes[part->count++], bytes, BLOCK_SIZE, digester->hash_key);
		bytes += BLOCK_SIZE;
		size -= BLOCK_SIZE;
	}
}

void keyed_digester_add_part(struct keyed_digester *digester, const void *data, size_t size,
	const struct digest_part *part)
{
	const uint8_t *bytes = data;
	size_t hashed = part->count * BLOCK_SIZE;

	if (part->count > 0) {
		keyed_digester_add(digester, bytes, part->before);
		crypto_generichash_update(
			&digester->hashes, part->hashes[0], part->count * sizeof(part->hashes[0]));
		bytes += part->before + hashed;
		size -= part->before + hashed;
	}
	keyed_digester_add(digester, bytes, size);
}

void keyed_digester_result(
	const struct keyed_digester *digester, uint8_t use, uint8_t digest[KEYED_DIGEST_SIZE])
{
	struct keyed_digester copy = *digester;

	/* Even an empty last block is hashed, so that the hashes determine the size of the data. */
	end_block(&copy.hashes, &copy.block);
	crypto_generichash_update(&copy.hashes, &use, sizeof(use));
	crypto_generichash_final(&copy.hashes, digest, KEYED_DIGEST_SIZE);
	keyed_digester_wipe(&copy);
}
