/*
 * The control group of this process for one controller, in either version of the interface, and its
 * limits on RDMA resources. cgroups(7); Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/ of
 * Linux. Paths are relative to `root`: see host/sysfs.h. Any thread.
 */
#ifndef HOST_CONTROL_GROUP_H
#define HOST_CONTROL_GROUP_H

#include <stdbool.h>
#include <stddef.h>

struct control_group {
	char directory[512]; /* with its files; "": there is none, or it cannot be found */
	unsigned int top;    /* length of the path of the topmost group that can be seen */
	bool v1;
	bool unknown; /* the process has a group, but its files cannot be found */
};

/*
 * Finds the group of this process for a controller, "memory" or "rdma". It rarely changes, and the
 * list of mounts may be long, so a program that needs it often keeps it.
 */
void control_group_find(const char *root, const char *controller, struct control_group *group);

/* Moves on to the group above. Returns false at the topmost one. */
bool control_group_up(struct control_group *group);

/* Returns the name below the topmost group: "/pod", or "/" for that group itself. */
const char *control_group_name(const struct control_group *group);

/*
 * True if the control group of this process, or one above it, limits the handles or objects of the
 * device, or of any device if that is NULL: rdma.max. Writes the innermost such limit, truncated to
 * size, or "": "control group /pod, rdma.max: rxe0 hca_handle=max hca_object=3". False if the
 * control groups cannot be seen.
 */
bool control_group_limits(const char *root, const char *device, char *text, size_t size);

/*
 * True if this process may have such a limit that control_group_limits() cannot see: of all its
 * groups, or of those above a container's own.
 */
bool control_group_is_unseen(const char *root);

/*
 * True if the control group of this process, or one above it, has all the processes and threads
 * that it allows: pids.max. Writes the innermost such group, truncated to size, or "": "control
 * group /pod, pids.max: 10".
 */
bool control_group_is_full(const char *root, char *text, size_t size);

#endif
