/* A hash table of the states' digests with open addressing. */
#include <string.h>

#include "protocol/digest.h"
#include "tests/unit/exchange/seen-states.h"
#include "tests/unit/unit.h"

#define SEEN_MAX (1 << 19)

static struct digest seen[SEEN_MAX];
static size_t count;

void seen_clear(void)
{
	memset(seen, 0, sizeof(seen));
	count = 0;
}

bool seen_add(const void *state, size_t size)
{
	static const struct digest none;
	const struct digest digest = digest_of(state, size);
	size_t position;

	memcpy(&position, digest.bytes, sizeof(position));
	for (;; position++) {
		struct digest *slot = &seen[position % SEEN_MAX];

		if (digest_equal(slot, &digest))
			return false;
		if (!digest_equal(slot, &none))
			continue;
		*slot = digest;
		assert_true(++count < SEEN_MAX / 2);
		return true;
	}
}

size_t seen_count(void)
{
	return count;
}
