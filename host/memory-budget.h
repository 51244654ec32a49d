/*
 * The memory budget: how much memory this process pins and allocates for all its connections
 * together. Hosts with RDMA usually have no limit of locked memory, and pinned memory cannot be
 * swapped, so without a budget, peers could make the kernel kill the process, or others.
 *
 * Its size is half of what the host and the control groups of the process have available at the
 * start, or what --memory says. Other programs take memory, too: at any moment, this process has at
 * most half of what would be available without it, or, with --memory, seven eighths.
 *
 * Memory is taken before it is allocated, in one step, so that two connections cannot take the same
 * memory. Any thread may call these functions, except memory_budget_start().
 */
#ifndef HOST_MEMORY_BUDGET_H
#define HOST_MEMORY_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"
#include "base/units.h"
#include "host/available-memory.h"

struct memory_budget {
	uint64_t size;                     /* in bytes; UINT64_MAX: unknown, so unlimited */
	bool chosen;                       /* it was given by --memory */
	uint64_t used;                     /* of it, at this moment */
	struct available_memory available; /* at the start */
};

/*
 * Determines the budget, before any connection exists: `wanted` bytes, or half of what is available
 * if it is 0. Without this call, there is no limit. Main thread.
 */
void memory_budget_start(uint64_t wanted);

/* Copies the budget. */
void memory_budget_read(struct memory_budget *budget);

/*
 * Formats the size and where it comes from: "4.1 GB, half of what this host has available". Neither
 * changes after the start.
 */
#define MEMORY_BUDGET_TEXT (AVAILABLE_MEMORY_SOURCE + 128)
void memory_budget_text(const struct memory_budget *budget, char text[MEMORY_BUDGET_TEXT]);

/* The share of what was available at the start that this process could take then, in bytes. */
uint64_t memory_budget_share(const struct memory_budget *budget);

/* What to print if available.unread is set. */
#define MEMORY_BUDGET_UNREAD \
	"files of this process's control groups cannot be read, so a memory limit may be unknown"

/* Formats what is used: "29.9 MB of 33.3 MB". */
#define MEMORY_BUDGET_USED (2 * UNITS_TEXT + 8)
const char *memory_budget_used(char text[MEMORY_BUDGET_USED]);

/* Bytes that a connection may take now; UINT64_MAX: no limit. */
uint64_t memory_budget_left(void);

/*
 * Takes this many bytes. If fewer are left, takes nothing and returns -1 with the failure recorded,
 * LIMIT_MEMORY; otherwise returns 0.
 */
int memory_budget_take(uint64_t bytes, struct failure *failure);

/* The system has allocated these bytes, which were taken: they are no longer available. */
void memory_budget_filled(uint64_t bytes);

/* Returns bytes that were taken; `filled` of them had been allocated. */
void memory_budget_return(uint64_t bytes, uint64_t filled);

#endif
