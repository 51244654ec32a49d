/*
 * Test data in which every byte depends on a seed and on its position, so that stale, misplaced and
 * missing bytes are detected. Any thread.
 */
#ifndef PROTOCOL_TEST_PATTERN_H
#define PROTOCOL_TEST_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* Fills size bytes with the pattern of this seed. */
void pattern_fill(void *data, size_t size, uint64_t seed);

/* Returns the offset of the first byte that differs from the pattern, or size. */
size_t pattern_check(const void *data, size_t size, uint64_t seed);

#endif
