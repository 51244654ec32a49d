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

void *guard_pages_map(size_t size)
{
	size_t page = page_size(), mapped = guard_pages_round(size);
	uint8_t *start =
		mmap(NULL, page + mapped + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error;

	if (start == MAP_FAILED)
		return NULL;
	if (mprotect(start + page, mapped, PROT_READ | PROT_WRITE) == 0)
		return start + page;
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
