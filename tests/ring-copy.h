/* Copies data from one ring to another, in place of an adapter. For tests and benchmarks. */
#ifndef TESTS_RING_COPY_H
#define TESTS_RING_COPY_H

#include <string.h>

#include "stream/ring.h"

/*
 * Returns how many bytes can be copied at once from this position of the stream, at most `most`: as
 * many as have been filled, fit into the other ring, and lie side by side.
 */
static inline size_t ring_copyable(
	struct ring *from, struct ring *to, uint64_t position, size_t most)
{
	struct ring_level out = ring_level(from), in = ring_level(to);
	uint64_t size = ring_contiguous(from, position);

	if (size > most)
		size = most;
	if (size > to->size - (in.filled - in.freed))
		size = to->size - (in.filled - in.freed);
	return (size_t)(size > out.filled - position ? out.filled - position : size);
}

/* Copies that many, frees them in one ring, and fills the other with them. */
static inline void ring_copy(struct ring *from, struct ring *to, uint64_t position, size_t size)
{
	memcpy(ring_at(to, position), ring_at(from, position), size);
	ring_free_to(from, position + size);
	ring_fill(to, size);
}

#endif
