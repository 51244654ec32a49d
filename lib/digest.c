#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "digest.h"

_Static_assert(sizeof(XXH128_canonical_t) == DIGEST_SIZE, "XXH3 has 128 bits");

struct digest digest_of(const void *data, size_t size)
{
	XXH128_canonical_t canonical;
	struct digest digest;

	XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, size));
	memcpy(digest.bytes, canonical.digest, DIGEST_SIZE);
	return digest;
}

bool digest_equal(const struct digest *a, const struct digest *b)
{
	return memcmp(a->bytes, b->bytes, DIGEST_SIZE) == 0;
}

void digest_text(char *text, const struct digest *digest)
{
	for (size_t i = 0; i < DIGEST_SIZE; i++)
		snprintf(text + 2 * i, 3, "%02x", digest->bytes[i]);
}
