/*
 * Registered memory: a separate, zeroed mapping between guard pages, which a device may access with
 * the registered rights. A region belongs to the owner of the struct. Two threads must not use the
 * same region at the same time.
 */
#ifndef VERBS_MEMORY_H
#define VERBS_MEMORY_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"
#include "verbs/device.h"

struct region {
	uint8_t *start;    /* NULL: none */
	size_t size;       /* bytes in use */
	size_t mapped;     /* bytes in whole pages; 0: part of another region */
	bool filled;       /* it was registered, so that all its pages are allocated */
	bool huge;         /* it asked for huge pages, and the system has them */
	int access;        /* access rights, enum ibv_access_flags */
	struct ibv_mr *mr; /* NULL: not registered */
};

/*
 * Bytes that this process may still lock, besides all its regions: what is left of the memory
 * budget (host/memory-budget.h) and of RLIMIT_MEMLOCK, unless CAP_IPC_LOCK lifts that limit
 * (host/locked-memory.h). UINT64_MAX: neither exists. Any thread. getrlimit(2).
 */
uint64_t memory_lockable(void);

/*
 * True if all regions together use at most a sixteenth of what this process may lock. Any thread.
 */
bool memory_is_ample(void);

/*
 * Takes size bytes of the memory budget, and maps them on the NUMA node of this device. Returns 0,
 * or -1 with the failure recorded and nothing kept. mmap(2).
 */
int region_map(struct region *region, const struct device *device, size_t size, int access,
	struct failure *failure);

/* Registers the mapping. Returns 0, or -1 with the failure recorded. ibv_reg_mr(3). */
int region_register(struct region *region, struct ibv_pd *pd, struct failure *failure);

/* Maps and registers. Returns 0, or -1 with the failure recorded and nothing kept. */
int region_create(struct region *region, const struct device *device, struct ibv_pd *pd,
	size_t size, int access, struct failure *failure);

/*
 * Deregisters the region; the mapping remains. Once it returns 0, the peer can neither read nor
 * modify the memory. Returns 0 or -errno. ibv_dereg_mr(3).
 */
int region_revoke(struct region *region);

/*
 * Deregisters and unmaps the region, which may be all zero. No outstanding work request may use it.
 */
void region_free(struct region *region);

#endif
