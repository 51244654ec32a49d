/*
 * The RDMA devices as libibverbs sees them: for a process without /sys, as in a chroot or sandbox.
 * Sends nothing. Any thread.
 */
#ifndef HOST_VERBS_DEVICES_H
#define HOST_VERBS_DEVICES_H

#include <infiniband/verbs.h>

#include "host/inventory-records.h"

/*
 * Adds the devices, or only the named one unless device is NULL, to an inventory that has none:
 * with their ports and GIDs, and the names of the GIDs' network interfaces. What only sysfs knows,
 * such as the driver, stays "". Returns 0, or -ENOMEM; inventory_free() frees what was added.
 */
int verbs_devices_read(const char *device, struct inventory *inventory);

/* The same for devices that are open: without their access. ibv_query_gid_table(3). */
int verbs_devices_read_open(
	struct ibv_context *const contexts[], size_t count, struct inventory *inventory);

#endif
