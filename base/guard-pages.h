/*
 * Memory for a device: a mapping of its own, between two pages that may not be touched. What runs
 * over either end, of ours or of a library's, ends there and not in other data.
 */
#ifndef BASE_GUARD_PAGES_H
#define BASE_GUARD_PAGES_H

#include <stddef.h>

/* What that many bytes take, without the guards. Any thread, as all functions here. */
size_t guard_pages_round(size_t size);

/* Maps so many bytes, which are zero. NULL, and errno, if there is no memory. mmap(2). */
void *guard_pages_map(size_t size);

/* Unmaps what was mapped with that size; NULL is allowed. */
void guard_pages_unmap(void *start, size_t size);

#endif
