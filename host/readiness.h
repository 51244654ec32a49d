/*
 * What this host has for RDMA, read from sysfs, /dev and its network interfaces: evidence for the
 * explanations, and the addresses that belong to an RDMA device. `root` is put before the paths of
 * sysfs and /dev: "" for this host, a folder of its own in tests.
 */
#ifndef HOST_READINESS_H
#define HOST_READINESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/failure.h"

/*
 * Looks for the first thing that keeps this host from using RDMA, and says in evidence (may be cut
 * at size) what was seen. Returns HOST_READY if nothing is missing. Any thread.
 */
enum readiness host_rdma(const char *root, char *evidence, size_t size);

/* True if this host has an RDMA device of that name. Any thread. */
bool host_has_device(const char *root, const char *device);

/*
 * Finds an address of the RDMA device's network interfaces, of family AF_INET, AF_INET6 or, either,
 * AF_UNSPEC (IPv4 first; IPv6 link-local last). Returns HOST_READY and the address with port 0, or
 * what is missing. Any thread.
 */
enum readiness host_device_address(
	const char *root, const char *device, int family, struct sockaddr_storage *address);

/*
 * Lists the addresses of this host that belong to RDMA devices, as in "10.0.0.1 (mlx5_0, eth2),
 * fd00::1 (rxe0, eth0)", or says that there is none. Cuts at size. Any thread.
 */
void host_rdma_addresses(const char *root, char *text, size_t size);

/*
 * Writes the name of the network interface through which the kernel would send to the address, ""
 * if it knows none. Sends nothing. Any thread.
 */
void host_route_interface(const struct sockaddr *address, char *name, size_t size);

/*
 * Writes what may explain that no RDMA device leads to the address: the source that was asked for or,
 * if that is NULL, the interface of the route; and what host_rdma_addresses() says. Any thread.
 */
void host_route_evidence(const char *root, const char *source, const struct sockaddr *address,
	char *text, size_t size);

#endif
