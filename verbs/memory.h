/*
 * Registered memory: a mapping of its own between guard pages, zeroed, that a device may use with
 * the rights it was registered with. A region belongs to whoever holds the struct; none of these
 * functions is safe for two threads on one region at a time.
 */
#ifndef VERBS_MEMORY_H
#define VERBS_MEMORY_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"

struct region {
	uint8_t *start;    /* NULL: none */
	size_t size;       /* bytes that are used */
	size_t mapped;     /* bytes in whole pages; 0: it lies within another region */
	int access;        /* rights, enum ibv_access_flags */
	struct ibv_mr *mr; /* NULL: not registered, or not any more */
	uint64_t *locked;  /* where its pages are counted; NULL: nowhere */
};

/*
 * Maps size bytes and counts them in *locked, which may be NULL. Returns 0, or -1 with the failure
 * recorded and nothing kept. mmap(2).
 */
int region_map(
	struct region *region, size_t size, int access, uint64_t *locked, struct failure *failure);

/* Registers what is mapped. Returns 0, or -1 with the failure recorded. ibv_reg_mr(3). */
int region_register(struct region *region, struct ibv_pd *pd, struct failure *failure);

/* Maps and registers. Returns 0, or -1 with the failure recorded and nothing kept. */
int region_create(struct region *region, struct ibv_pd *pd, size_t size, int access,
	uint64_t *locked, struct failure *failure);

/*
 * Deregisters the region; the mapping stays. When it returns 0, no access of a peer can read or
 * change the memory any more. Returns 0 or -errno. ibv_dereg_mr(3).
 */
int region_revoke(struct region *region);

/* Deregisters and unmaps what there is; an all-zero region is allowed. No work request uses it. */
void region_free(struct region *region);

#endif
