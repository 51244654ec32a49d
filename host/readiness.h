/*
 * Checks an inventory for everything that RDMA needs on this host. Each check returns HOST_READY
 * with the evidence "", or the first missing item with its evidence, truncated to size. Any thread.
 */
#ifndef HOST_READINESS_H
#define HOST_READINESS_H

#include "base/failure.h"
#include "host/inventory.h"

/* Minimum locked memory in bytes for a queue pair and its buffers. */
#define READINESS_LOCKED_MIN UINT64_C(65536)

/*
 * Checks the host, then all its devices or only the named device, then the limit on locked memory.
 * One usable port suffices; if there is none, reports the most usable one.
 */
enum readiness readiness_check(
	const struct inventory *inventory, const char *device, char *evidence, size_t size);

/*
 * True if only rdmacm lacks it: its device file, an address of the device's interface or the
 * support of the connection manager. Connections over TCP do without.
 */
bool readiness_is_of_rdmacm(enum readiness lacking);

/* Checks only whether this process may open the device's file. */
enum readiness readiness_of_access(
	const struct inventory_device *device, char *evidence, size_t size);

/*
 * Takes an inventory and checks only whether the connection manager can use a port of this device
 * (NULL: of any device). Returns HOST_NO_MANAGER or HOST_NO_INTERFACE if not; otherwise HOST_READY,
 * also if there is no device. root: see host/sysfs.h.
 */
enum readiness readiness_of_support(
	const char *root, const char *device, char *evidence, size_t size);

/*
 * Takes an inventory and checks only this device. Returns HOST_READY if the device cannot
 * be seen there. root: see host/sysfs.h.
 */
enum readiness readiness_of_device(
	const char *root, const char *device, char *evidence, size_t size);

/*
 * Takes an inventory and checks only what a program needs to start: at least one device that the
 * connection manager supports, the connection manager's device file, and access to both. Returns
 * HOST_READY if the inventory cannot be taken. root: see host/sysfs.h.
 */
enum readiness readiness_of_host(const char *root, char *evidence, size_t size);

#endif
