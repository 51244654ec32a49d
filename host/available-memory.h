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

/* The control group of a process for memory, in either version of the interface. */
struct memory_group {
	char directory
		[512];    /* of the group, below `top`; "": there is none, or it cannot be found */
	unsigned int top; /* length of the path of the topmost group that can be seen */
	bool v1;
	bool unknown; /* the process has a group, but its files cannot be found */
};

#define AVAILABLE_MEMORY_SOURCE 640

struct available_memory {
	uint64_t bytes; /* UINT64_MAX: the kernel does not say */
	char source
		[AVAILABLE_MEMORY_SOURCE]; /* what limits it: "this host", "control group PATH" */
	bool unread; /* a control group's files could not be read and were left out */
};

/*
 * Finds the group of this process. It rarely changes, and the list of mounts may be long, so find
 * it once. Paths are relative to `root`: "" for this host, another directory in tests. Any thread.
 */
void memory_group_find(const char *root, struct memory_group *group);

/* Reads what is available now. Any thread. */
void available_memory_read(
	const char *root, const struct memory_group *group, struct available_memory *available);

#endif
