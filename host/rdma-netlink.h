/*
 * Queries the kernel's RDMA subsystem, as rdma-link(8) does: NETLINK_RDMA, through libnl. Sends
 * nothing to the network and returns within a second. Any thread.
 */
#ifndef HOST_RDMA_NETLINK_H
#define HOST_RDMA_NETLINK_H

#include <net/if.h>
#include <stdbool.h>

/*
 * Finds the network interface of a device's port. Needed for software iWARP, for which sysfs of
 * Linux 6.1 shows none; that of 6.12 does. Returns 0, or -errno and an empty name: -ENODEV if there
 * is no such device or port, -ENOENT if the port has no interface in this network namespace,
 * -ETIMEDOUT if the kernel does not reply, -ENOMEM, or the errno of socket(2).
 */
int rdma_netlink_interface(const char *device, unsigned int port, char name[IF_NAMESIZE]);

/*
 * Finds out whether each RDMA device belongs to one network namespace, which alone shows it:
 * rdma-system(8). Needed where sysfs does not show the parameter of ib_core, as in a container.
 * Returns 0, or -errno as above and false; -ENODATA if the kernel does not say.
 */
int rdma_netlink_exclusive(bool *exclusive);

#endif
