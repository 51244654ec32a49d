/* Maps, registers and revokes memory. The caller owns each region. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/guard-pages.h"
#include "verbs/memory.h"

int region_map(
	struct region *region, size_t size, int access, uint64_t *locked, struct failure *failure)
{
	void *start = guard_pages_map(size);

	if (!start)
		return failure_errno(failure, PHASE_MEMORY, "mmap", errno);
	*region = (struct region){
		.start = start,
		.size = size,
		.mapped = guard_pages_round(size),
		.access = access,
		.locked = locked,
	};
	if (locked)
		*locked += region->mapped;
	return 0;
}

int region_register(struct region *region, struct ibv_pd *pd, struct failure *failure)
{
	struct rlimit limit = {0};
	int error;

	region->mr = ibv_reg_mr(pd, region->start, region->size, (unsigned int)region->access);
	if (region->mr)
		return 0;
	error = errno;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	return failure_set(failure, FAILURE_ERRNO, PHASE_MEMORY, error, "ibv_reg_mr",
		"%s; needed %zu KiB more, the limit is %llu KiB", strerror(error),
		region->mapped / 1024, (unsigned long long)limit.rlim_cur / 1024);
}

int region_create(struct region *region, struct ibv_pd *pd, size_t size, int access,
	uint64_t *locked, struct failure *failure)
{
	if (region_map(region, size, access, locked, failure) == 0 &&
		region_register(region, pd, failure) == 0)
		return 0;
	region_free(region);
	return -1;
}

int region_revoke(struct region *region)
{
	int error = region->mr ? ibv_dereg_mr(region->mr) : 0;

	if (!error)
		region->mr = NULL;
	return -error;
}

void region_free(struct region *region)
{
	if (region->mapped > 0) {
		region_revoke(region);
		if (region->locked)
			*region->locked -= region->mapped;
		guard_pages_unmap(region->start, region->size);
	}
	*region = (struct region){0};
}
