/*
 * The parts of this host's network that RDMA may not cross, VRFs and network namespaces, and its
 * addresses that other hosts use. Sends nothing. Any thread.
 */
#ifndef HOST_ROUTING_DOMAINS_H
#define HOST_ROUTING_DOMAINS_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Writes the name of the VRF to which the network interface belongs, "" if it belongs to none or if
 * this is unknown. The name is printable ASCII.
 */
void routing_domains_vrf(const char *interface, char vrf[IF_NAMESIZE]);

/*
 * True if no UDP socket in this process's network namespace has port 4791, so that soft-RoCE, which
 * receives through such a socket of the kernel, receives nothing here. False if unknown. root: see
 * host/sysfs.h.
 */
bool routing_domains_lack_roce(const char *root);

/*
 * Lists the IPv6 addresses that another host already uses, according to duplicate address
 * detection: "fd00::1 (eth0)", separated by commas; "" if there are none. root: see host/sysfs.h.
 */
void routing_domains_duplicates(const char *root, char *text, size_t size);

#endif
