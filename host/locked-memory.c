/* Reads the capabilities and the user namespace of the process from /proc. */
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/locked-memory.h"
#include "host/sysfs.h"

/* The CapEff line is within the first two KiB of /proc/self/status. */
#define STATUS_SIZE 8192

/* CapEff of the process, in hexadecimal: proc(5). */
static bool has_ipc_lock(const char *root)
{
	static const char field[] = "\nCapEff:\t";
	char status[STATUS_SIZE];
	const char *found;

	if (sysfs_text(root, status, sizeof(status), "/proc/self/status"))
		return false;
	found = strstr(status, field);
	return found && (strtoull(found + strlen(field), NULL, 16) >> CAP_IPC_LOCK & 1);
}

/* The initial user namespace maps all user IDs to themselves, in one line. */
static bool is_in_initial_namespace(const char *root)
{
	unsigned long inside, outside, count;
	char map[256], excess;

	return sysfs_text(root, map, sizeof(map), "/proc/self/uid_map") == 0 &&
	       sscanf(map, "%lu %lu %lu %c", &inside, &outside, &count, &excess) == 3 &&
	       inside == 0 && outside == 0 && count == UINT32_MAX;
}

bool locked_memory_is_exempt(const char *root)
{
	return has_ipc_lock(root) && is_in_initial_namespace(root);
}
