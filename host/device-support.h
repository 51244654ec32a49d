/*
 * Which RDMA devices and ports the connection manager, rdmacm, cannot use, and what can: a table,
 * which docs/hardware.md also shows. Any thread.
 */
#ifndef HOST_DEVICE_SUPPORT_H
#define HOST_DEVICE_SUPPORT_H

#include "base/failure.h"
#include "host/inventory.h"

/* A kind of device or port that the connection manager cannot use. */
struct unsupported {
	const char *driver;  /* as in struct inventory_device; NULL: any */
	const char *type;    /* likewise; NULL: any */
	bool no_gid;         /* only a port without GIDs */
	bool no_interface;   /* only a port without a network interface */
	enum readiness code; /* HOST_NO_MANAGER or HOST_NO_INTERFACE */
	const char *reason;  /* what it is, and what uses it */
	const char *basis;   /* how it is known */
};

/* Returns the row at this index, NULL past the end of the table. For tests. */
const struct unsupported *device_support_row(size_t index);

/* Returns the first row for this port of the device, NULL if nothing is known against it. */
const struct unsupported *device_support_find(
	const struct inventory_device *device, const struct inventory_port *port);

#endif
