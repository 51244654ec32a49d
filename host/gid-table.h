/*
 * Reads the GID tables of a device through the device: ibv_query_gid_table(3). Sends nothing
 * to the network. Any thread.
 */
#ifndef HOST_GID_TABLE_H
#define HOST_GID_TABLE_H

#include <infiniband/verbs.h>
#include <stdint.h>

/*
 * Lists the valid GIDs of all ports of an open device. The caller frees *entries, which is NULL
 * after a failure. Returns their number, -ENOMEM, or -EIO if the device does not answer.
 */
ssize_t gid_table_entries(struct ibv_context *context, struct ibv_gid_entry **entries);

/*
 * Lists the indices of the port's valid GIDs in ascending order. The caller frees *indices, which
 * is NULL after a failure. Returns their number, or -1 if the device does not exist, cannot be
 * opened or does not answer, or if out of memory.
 *
 * A table may have a thousand entries, most of them empty; sysfs has a file for each.
 */
int gid_table_indices(const char *device, unsigned int port, uint32_t **indices);

#endif
