/* Maps memory between two inaccessible pages with mmap(2); the caller owns the mapping. */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/guard-pages.h"

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

size_t guard_pages_round(size_t size)
{
	size_t page = page_size();

	return (size + page - 1) / page * page;
}

bool guard_pages_are_huge(size_t size)
{
	return size >= 2 * GUARD_PAGES_HUGE;
}

/*
 * Reserves this many inaccessible bytes so that the address after the first page is a multiple of
 * the alignment, which is at least a page. Returns MAP_FAILED if out of memory.
 */
static uint8_t *reserve(size_t size, size_t alignment)
{
	size_t page = page_size(), more = alignment - page, before;
	uint8_t *all = mmap(NULL, size + more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *start;

	if (all == MAP_FAILED)
		return all;
	before = (alignment - ((uintptr_t)all + page) % alignment) % alignment;
	start = all + before;
	if (before > 0)
		munmap(all, before);
	if (more > before)
		munmap(start + size, more - before);
	return start;
}

void *guard_pages_map(size_t size)
{
	size_t page = page_size(), mapped = guard_pages_round(size);
	bool huge = guard_pages_are_huge(size);
	uint8_t *start = reserve(page + mapped + page, huge ? GUARD_PAGES_HUGE : page);
	int error;

	if (start == MAP_FAILED)
		return NULL;
	if (mprotect(start + page, mapped, PROT_READ | PROT_WRITE) == 0) {
		/* Without huge pages, the memory is only slower. */
		if (huge)
			madvise(start + page, mapped, MADV_HUGEPAGE);
		return start + page;
	}
	error = errno;
	munmap(start, page + mapped + page);
	errno = error;
	return NULL;
}

void guard_pages_unmap(void *start, size_t size)
{
	size_t page = page_size();

	if (start)
		munmap((uint8_t *)start - page, page + guard_pages_round(size) + page);
}
