/* Several interfaces of this host in one subnet. Sends nothing. Any thread. */
#ifndef HOST_ARP_FLUX_H
#define HOST_ARP_FLUX_H

#include <ifaddrs.h>
#include <stddef.h>

struct inventory;

/*
 * Describes interfaces with RDMA devices that answer ARP for each other's addresses: two are in the
 * same IPv4 subnet, and the kernel's settings allow it (arp_ignore and arp_filter are 0). Writes
 * one sentence about the first such pair, "" if there is none. The addresses are those of
 * getifaddrs(3). root: see host/sysfs.h.
 */
void arp_flux_find(const char *root, const struct inventory *inventory,
	const struct ifaddrs *addresses, char *text, size_t size);

#endif
