/*
 * Memory for a device, mapped between two inaccessible pages: an overrun at either end faults
 * instead of corrupting other data. Any thread may call these functions.
 */
#ifndef BASE_GUARD_PAGES_H
#define BASE_GUARD_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the size rounded up to whole pages, without the guard pages. */
size_t guard_pages_round(size_t size);

/* Size of a huge page on most processors, in bytes. */
#define GUARD_PAGES_HUGE ((size_t)2 << 20)

/*
 * True if a mapping of this size begins at a huge page and asks for huge pages, so that the device
 * and the CPU need fewer translations. madvise(2), MADV_HUGEPAGE.
 */
bool guard_pages_are_huge(size_t size);

/* Maps this many zeroed bytes. Returns NULL and sets errno if out of memory. mmap(2). */
void *guard_pages_map(size_t size);

/* Unmaps a mapping of this size; start may be NULL. */
void guard_pages_unmap(void *start, size_t size);

#endif
