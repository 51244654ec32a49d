/* The limits of this process's control group on RDMA resources: rdma.max. Any thread. */
#ifndef HOST_CONTROL_GROUP_H
#define HOST_CONTROL_GROUP_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True if the control group of this process, or one above it, limits the handles or objects of the
 * device, or of any device if that is NULL. Writes the innermost such limit, truncated to size, or
 * "": "control group /pod, rdma.max: rxe0 hca_handle=max hca_object=3". False if the control groups
 * cannot be seen. root: see host/sysfs.h.
 */
bool control_group_limits(const char *root, const char *device, char *text, size_t size);

#endif
