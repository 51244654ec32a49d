#include "protocol/digest-plain.h"

/* All data goes through this, so it gets the optimiser's best, whatever the rest gets. */
#ifndef __clang__
#pragma GCC optimize("O3")
#endif

/* Everything becomes static here, so nothing of it meets the library. */
#define XXH_INLINE_ALL
#define XXH_VECTOR 0 /* XXH_SCALAR, which the header defines only below */
#include <xxhash.h>

void digest_plain_update(void *state, const void *data, size_t size)
{
	XXH3_128bits_update(state, data, size);
}
