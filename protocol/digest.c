/*
 * Digests: XXH3 (libxxhash) without a key, protocol/keyed-digest.h with a key. A digester belongs
 * to its creator; it wipes its copy of the key when it is freed.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "protocol/digest.h"
#include "protocol/keyed-digest.h"

_Static_assert(sizeof(XXH128_canonical_t) == DIGEST_SIZE, "XXH3 has 128 bits");
_Static_assert(KEYED_DIGEST_SIZE == DIGEST_SIZE, "a keyed digest has 128 bits");
_Static_assert(KEYED_DIGEST_KEY_SIZE == DIGEST_KEY_SIZE, "the header has the size of its key");

struct digester {
	struct keyed_digester keyed; /* with a key; over-aligned for malloc(3) */
	bool has_key;
	XXH3_state_t *plain; /* without a key */
};

static struct digest canonical(XXH128_hash_t hash)
{
	XXH128_canonical_t bytes;
	struct digest digest;

	XXH128_canonicalFromHash(&bytes, hash);
	memcpy(digest.bytes, bytes.digest, DIGEST_SIZE);
	return digest;
}

struct digest digest_of(const void *data, size_t size)
{
	return canonical(XXH3_128bits(data, size));
}

struct digest digest_of_keyed(const uint8_t key[DIGEST_KEY_SIZE], const void *data, size_t size)
{
	struct keyed_digester digester;
	struct digest digest = {0};

	keyed_digester_init(&digester, key);
	keyed_digester_add(&digester, data, size);
	keyed_digester_result(&digester, DIGEST_STREAM, digest.bytes);
	keyed_digester_wipe(&digester);
	return digest;
}

const char *digest_name(bool keyed)
{
	return keyed ? "Poly1305-BLAKE2b" : "XXH3";
}

bool digest_equal(const struct digest *a, const struct digest *b)
{
	return memcmp(a->bytes, b->bytes, DIGEST_SIZE) == 0;
}

struct digester *digester_new(void)
{
	struct digester *digester = aligned_alloc(_Alignof(struct digester), sizeof(*digester));

	if (!digester)
		return NULL;
	digester->has_key = false;
	digester->plain = XXH3_createState();
	if (!digester->plain) {
		free(digester);
		return NULL;
	}
	XXH3_128bits_reset(digester->plain);
	return digester;
}

void digester_free(struct digester *digester)
{
	if (!digester)
		return;
	if (digester->has_key)
		keyed_digester_wipe(&digester->keyed);
	XXH3_freeState(digester->plain);
	free(digester);
}

struct digester *digester_copy(const struct digester *digester)
{
	struct digester *copy = digester_new();

	if (!copy)
		return NULL;
	copy->has_key = digester->has_key;
	if (digester->has_key)
		copy->keyed = digester->keyed;
	XXH3_copyState(copy->plain, digester->plain);
	return copy;
}

void digester_set_key(struct digester *digester, const uint8_t key[DIGEST_KEY_SIZE])
{
	digester->has_key = true;
	keyed_digester_init(&digester->keyed, key);
}

void digester_add(struct digester *digester, const void *data, size_t size)
{
	if (digester->has_key)
		keyed_digester_add(&digester->keyed, data, size);
	else
		XXH3_128bits_update(digester->plain, data, size);
}

void digester_prepare(const struct digester *digester, uint64_t position, const void *data,
	size_t size, struct digest_part *part)
{
	part->count = 0;
	if (digester->has_key)
		keyed_digester_hash(&digester->keyed, position, data, size, part);
}

void digester_add_prepared(
	struct digester *digester, const void *data, size_t size, struct digest_part *part)
{
	if (part->count == 0) {
		digester_add(digester, data, size);
		return;
	}
	keyed_digester_add_part(&digester->keyed, data, size, part);
	sodium_memzero(part, sizeof(*part));
}

struct digest digester_result(const struct digester *digester, enum digest_use use)
{
	struct digest digest = {0};

	if (!digester->has_key)
		return canonical(XXH3_128bits_digest(digester->plain));
	keyed_digester_result(&digester->keyed, (uint8_t)use, digest.bytes);
	return digest;
}

void digest_text(char *text, const struct digest *digest)
{
	for (size_t i = 0; i < DIGEST_SIZE; i++)
		snprintf(text + 2 * i, 3, "%02x", digest->bytes[i]);
}
