/* Copies data from one ring to another, in place of an adapter. For tests and benchmarks. */
#ifndef TESTS_RING_COPY_H
#define TESTS_RING_COPY_H

#include <stdbool.h>
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

/*
 * Copies all of a stream, at most `most` bytes at a time, until it ends or may_move() returns
 * false for the position at which the next piece ends. await() waits until the rings have
 * changed. Returns the bytes that were copied.
 */
static inline uint64_t ring_copy_all(struct ring *from, struct ring *to, size_t most,
	bool (*may_move)(uint64_t end), void (*await)(void))
{
	uint64_t position = 0;

	for (;;) {
		struct ring_level out = ring_level(from);
		size_t size = ring_copyable(from, to, position, most);

		if (!may_move(position + size))
			return position;
		if (size > 0) {
			ring_copy(from, to, position, size);
			position += size;
		} else if (out.ended && position == out.filled) {
			return position;
		} else {
			await();
		}
	}
}

#endif
