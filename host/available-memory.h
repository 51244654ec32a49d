/*
 * How much memory this process can still get: the smallest of what the host has available and what
 * each control group above the process leaves. Pinned memory cannot be swapped, so swap does not
 * count. proc(5), cgroups(7); Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst of
 * Linux.
 */
#ifndef HOST_AVAILABLE_MEMORY_H
#define HOST_AVAILABLE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "host/control-group.h"

#define AVAILABLE_MEMORY_SOURCE 640

struct available_memory {
	uint64_t bytes; /* UINT64_MAX: the kernel does not say */
	bool unread;    /* a control group's files could not be read and were left out */
	/* What limits it: "this host", "control group PATH". */
	char source[AVAILABLE_MEMORY_SOURCE];
};

/*
 * Reads what is available now, with the group that control_group_find() found for "memory". Paths
 * are relative to `root`: "" for this host, another directory in tests. Any thread.
 */
void available_memory_read(
	const char *root, const struct control_group *group, struct available_memory *available);

#endif
