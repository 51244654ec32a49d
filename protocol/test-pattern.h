/*
 * Test data of which every byte is known: it depends on a seed and on its place, so that bytes that
 * are stale, misplaced or cut off are caught.
 */
#ifndef PROTOCOL_TEST_PATTERN_H
#define PROTOCOL_TEST_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* Fills size bytes with the pattern of that seed. Any thread. */
void pattern_fill(void *data, size_t size, uint64_t seed);

/* Returns the place of the first byte that is not the pattern's, or size. Any thread. */
size_t pattern_check(const void *data, size_t size, uint64_t seed);

#endif
