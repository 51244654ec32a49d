/*
 * The RDMA resources of this host: devices, ports, GIDs, network interfaces, and the permissions
 * and limits of this process. Read once from sysfs, /proc, /dev and the network interfaces; no file
 * stays open. Strings are stored as the kernel reports them, truncated if too long, and "" if
 * missing. host/readiness.h checks the inventory for missing items.
 */
#ifndef HOST_INVENTORY_H
#define HOST_INVENTORY_H

#include <ifaddrs.h>
#include <stdbool.h>
#include <stdint.h>

#include "host/inventory-records.h"

/*
 * Reads the inventory of all devices or, unless device is NULL, of the named device. Skips files
 * that cannot be read. root: see host/sysfs.h. Returns 0 and an inventory that the caller frees, or
 * -errno, for example -ENOMEM, with nothing to free. Any thread.
 */
int inventory_take(const char *root, const char *device, struct inventory *inventory);

/* Does the same with a list of interface addresses instead of getifaddrs(3), for tests. */
int inventory_take_with(const char *root, const char *device, const struct ifaddrs *addresses,
	struct inventory *inventory);

/*
 * True if the name that getifaddrs(3) returns is the interface's, "eth0", or the label of one of
 * its addresses, "eth0:1".
 */
bool inventory_names_interface(const char *name, const char *interface);

/* Converts a rate such as "2.5 Gb/sec (1X SDR)" to Mb/s. Returns 0 for other text or NULL. */
uint64_t inventory_megabits(const char *rate);

/* Frees the contents and clears the inventory, which may be empty. */
void inventory_free(struct inventory *inventory);

/* Returns the named device, owned by the inventory, or NULL. */
const struct inventory_device *inventory_device(
	const struct inventory *inventory, const char *name);

/* True if the device uses iWARP. */
bool inventory_is_iwarp(const struct inventory_device *device);

/*
 * True if an interface above the port's own, port->unserved, has addresses for which the connection
 * manager does not use this iWARP device. Linux 6.1 does, if the interface has the MAC address of
 * the port's own; Linux 6.12 does so for a VLAN only.
 */
bool inventory_has_unserved(const struct inventory_port *port);

/* Returns the port of the named device, owned by the inventory, or NULL. */
const struct inventory_port *inventory_port(
	const struct inventory *inventory, const char *device, unsigned int port);

/* Returns the named network interface of the port, owned by the inventory, or NULL. */
const struct inventory_interface *inventory_interface(
	const struct inventory_port *port, const char *name);

/*
 * Returns the interface's first address that is, or is not, link-local, owned by the inventory;
 * NULL if there is none.
 */
const char *inventory_address(const struct inventory_interface *interface, bool link_local);

#endif
