#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "digest.h"

_Static_assert(sizeof(XXH128_canonical_t) == DIGEST_SIZE, "XXH3 has 128 bits");

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

bool digest_equal(const struct digest *a, const struct digest *b)
{
	return memcmp(a->bytes, b->bytes, DIGEST_SIZE) == 0;
}

/* The library's state, which it aligns itself, under a name of ours. */
struct digester *digester_new(void)
{
	XXH3_state_t *state = XXH3_createState();

	if (state)
		XXH3_128bits_reset(state);
	return (struct digester *)state;
}

void digester_free(struct digester *digester)
{
	XXH3_freeState((XXH3_state_t *)digester);
}

void digester_add(struct digester *digester, const void *data, size_t size)
{
	XXH3_128bits_update((XXH3_state_t *)digester, data, size);
}

struct digest digester_result(const struct digester *digester)
{
	return canonical(XXH3_128bits_digest((const XXH3_state_t *)digester));
}

void digest_text(char *text, const struct digest *digest)
{
	for (size_t i = 0; i < DIGEST_SIZE; i++)
		snprintf(text + 2 * i, 3, "%02x", digest->bytes[i]);
}
