/* Maps, registers and revokes memory. The caller owns each region. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

#include "base/guard-pages.h"
#include "host/locked-memory.h"
#include "host/memory-budget.h"
#include "host/sysfs.h"
#include "verbs/memory.h"
#include "verbs/resource-limit.h"

/* Total size of all regions. The kernel counts locked memory for the process. */
static _Atomic uint64_t total;

/* Returns the locked-memory limit, in bytes, or RLIM_INFINITY if none applies. */
static rlim_t locked_memory_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || locked_memory_is_exempt(""))
		return RLIM_INFINITY;
	return limit.rlim_cur;
}

uint64_t memory_lockable(void)
{
	uint64_t locked = atomic_load(&total), left = memory_budget_left(), lockable;
	rlim_t limit = locked_memory_limit();

	if (limit == RLIM_INFINITY)
		return left;
	lockable = limit > locked ? limit - locked : 0;
	return lockable < left ? lockable : left;
}

bool memory_is_ample(void)
{
	uint64_t lockable = memory_lockable();

	/* What is used is at most a fifteenth of what is left. */
	return lockable == UINT64_MAX || atomic_load(&total) <= lockable / 15;
}

/* True unless the administrator has disabled transparent huge pages. */
static bool has_huge_pages(void)
{
	char enabled[64];

	return sysfs_line("", enabled, sizeof(enabled),
		       "/sys/kernel/mm/transparent_hugepage/enabled") == 0 &&
	       !strstr(enabled, "[never]");
}

int region_map(struct region *region, const struct device *device, size_t size, int access,
	struct failure *failure)
{
	size_t mapped = guard_pages_round(size);
	void *start;

	if (memory_budget_take(mapped, failure))
		return -1;
	start = guard_pages_map(size);
	if (!start) {
		memory_budget_return(mapped, 0);
		return failure_errno(failure, PHASE_ALLOCATION, "mmap", errno);
	}
	/* Pages are allocated at registration, or when a file's data arrives before that. */
	locality_place(&device->locality, start, mapped);
	*region = (struct region){
		.start = start,
		.size = size,
		.mapped = mapped,
		.huge = guard_pages_are_huge(size) && has_huge_pages(),
		.access = access,
	};
	atomic_fetch_add(&total, region->mapped);
	return 0;
}

int region_register(struct region *region, struct ibv_pd *pd, struct failure *failure)
{
	size_t needed = ((region->mapped ? region->mapped : region->size) + 1023) / 1024;
	rlim_t limit;
	int error;

	region->mr = ibv_reg_mr(pd, region->start, region->size, (unsigned int)region->access);
	if (region->mr) {
		if (!region->filled)
			memory_budget_filled(region->mapped);
		region->filled = true;
		return 0;
	}
	error = errno;
	if (resource_limit_is_reached(NULL, PHASE_MEMORY, "ibv_reg_mr", error, failure))
		return -1;
	limit = locked_memory_limit();
	if (limit == RLIM_INFINITY)
		return failure_set(failure, FAILURE_ERRNO, PHASE_MEMORY,
			error == ENOMEM ? CODE_NO_MEMORY : error, "ibv_reg_mr",
			"%s; needed %zu KiB more", strerror(error), needed);
	return failure_set(failure, FAILURE_ERRNO, PHASE_MEMORY, error, "ibv_reg_mr",
		"%s; needed %zu KiB more, the limit is %llu KiB", strerror(error), needed,
		(unsigned long long)limit / 1024);
}

int region_create(struct region *region, const struct device *device, struct ibv_pd *pd,
	size_t size, int access, struct failure *failure)
{
	if (region_map(region, device, size, access, failure) == 0 &&
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
		atomic_fetch_sub(&total, region->mapped);
		guard_pages_unmap(region->start, region->size);
		memory_budget_return(region->mapped, region->filled ? region->mapped : 0);
	}
	*region = (struct region){0};
}
