#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "digest-plain.h"
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

/* The library's state, which it aligns itself, under a name of ours. */
struct digester *digester_new(void)
{
	XXH3_state_t *state = XXH3_createState();

	pthread_once(&chosen, choose);
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
	fastest(digester, data, size);
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
