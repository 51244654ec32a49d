#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "protocol/digest-plain.h"
#include "protocol/digest.h"

_Static_assert(sizeof(XXH128_canonical_t) == DIGEST_SIZE, "XXH3 has 128 bits");

struct digester {
	crypto_generichash_state keyed; /* with a key; it wants to be aligned */
	bool has_key;
	XXH3_state_t *plain; /* without; aligned by the library */
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
	struct digest digest;

	crypto_generichash(digest.bytes, DIGEST_SIZE, data, size, key, DIGEST_KEY_SIZE);
	return digest;
}

const char *digest_name(bool keyed)
{
	return keyed ? "BLAKE2b keyed" : "XXH3";
}

bool digest_equal(const struct digest *a, const struct digest *b)
{
	return memcmp(a->bytes, b->bytes, DIGEST_SIZE) == 0;
}

typedef void update(void *state, const void *data, size_t size);

static void library_update(void *state, const void *data, size_t size)
{
	XXH3_128bits_update(state, data, size);
}

/* The time that an update takes with this many bytes, in nanoseconds: the best of a few. */
static int64_t time_of(update *function, void *state, const void *data, size_t size)
{
	int64_t best = INT64_MAX;

	for (int i = 0; i < 3; i++) {
		struct timespec begin, end;
		int64_t time;

		clock_gettime(CLOCK_MONOTONIC, &begin);
		function(state, data, size);
		clock_gettime(CLOCK_MONOTONIC, &end);
		time = (end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec;
		if (time < best)
			best = time;
	}
	return best;
}

static pthread_once_t chosen = PTHREAD_ONCE_INIT;
static update *fastest = library_update;

/* Tries both on this processor: less than a millisecond, once, and their results are the same. */
static void choose(void)
{
	static const uint8_t data[32768];
	XXH3_state_t *state = XXH3_createState();

	if (!state)
		return;
	XXH3_128bits_reset(state);
	if (time_of(digest_plain_update, state, data, sizeof(data)) <
		time_of(library_update, state, data, sizeof(data)))
		fastest = digest_plain_update;
	XXH3_freeState(state);
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
	pthread_once(&chosen, choose);
	XXH3_128bits_reset(digester->plain);
	return digester;
}

void digester_free(struct digester *digester)
{
	if (!digester)
		return;
	if (digester->has_key)
		sodium_memzero(&digester->keyed, sizeof(digester->keyed));
	XXH3_freeState(digester->plain);
	free(digester);
}

void digester_set_key(struct digester *digester, const uint8_t key[DIGEST_KEY_SIZE])
{
	digester->has_key = true;
	crypto_generichash_init(&digester->keyed, key, DIGEST_KEY_SIZE, DIGEST_SIZE);
}

void digester_add(struct digester *digester, const void *data, size_t size)
{
	if (digester->has_key)
		crypto_generichash_update(&digester->keyed, data, size);
	else
		fastest(digester->plain, data, size);
}

struct digest digester_result(const struct digester *digester)
{
	crypto_generichash_state copy;
	struct digest digest;

	if (!digester->has_key)
		return canonical(XXH3_128bits_digest(digester->plain));
	/* More may be added: what the library ends is a copy. */
	copy = digester->keyed;
	crypto_generichash_final(&copy, digest.bytes, DIGEST_SIZE);
	sodium_memzero(&copy, sizeof(copy));
	return digest;
}

void digest_text(char *text, const struct digest *digest)
{
	for (size_t i = 0; i < DIGEST_SIZE; i++)
		snprintf(text + 2 * i, 3, "%02x", digest->bytes[i]);
}
