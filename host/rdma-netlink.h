/*
 * Queries the kernel's RDMA subsystem, as rdma-link(8) does: NETLINK_RDMA, through libnl. Sends
 * nothing to the network and returns within a second. Any thread.
 */
#ifndef HOST_RDMA_NETLINK_H
#define HOST_RDMA_NETLINK_H

#include <net/if.h>

/*
 * Finds the network interface of a device's port. Needed for software iWARP, for which sysfs of
 * Linux 6.1 shows none; that of 6.12 does. Returns 0, or -errno and an empty name: -ENODEV if there
 * is no such device or port, -ENOENT if the port has no interface in this network namespace,
 * -ETIMEDOUT if the kernel does not reply, -ENOMEM, or the errno of socket(2).
 */
int rdma_netlink_interface(const char *device, unsigned int port, char name[IF_NAMESIZE]);

#endif
