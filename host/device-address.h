/* Maps addresses of this host to RDMA devices. `root`: see host/sysfs.h. Any thread. */
#ifndef HOST_DEVICE_ADDRESS_H
#define HOST_DEVICE_ADDRESS_H

#include <stddef.h>
#include <sys/socket.h>

#include "base/failure.h"
#include "host/inventory.h"

/*
 * Finds an address of the RDMA device's network interfaces: of family AF_INET or AF_INET6, or of
 * either for AF_UNSPEC (IPv4 first, link-local IPv6 last). Returns HOST_READY and the address with
 * port 0, or HOST_NO_SUCH_DEVICE or HOST_NO_DEVICE_ADDRESS.
 */
enum readiness device_address_find(
	const char *root, const char *device, int family, struct sockaddr_storage *address);

/*
 * Explains why device_address_find() found no address of this device: writes the evidence,
 * truncated to size, and returns the reason, which is `lacking`, its result, or that the connection
 * manager cannot use the device: readiness_of_support().
 */
enum readiness device_address_explain(
	const char *root, const char *device, enum readiness lacking, char *evidence, size_t size);

/*
 * Writes the name of the network interface that has the source address the kernel would use for
 * this destination, "" if there is none; or the one that has this source address, unless it is
 * NULL. Sends nothing.
 */
void device_address_interface(
	const struct sockaddr *address, const struct sockaddr *source, char *name, size_t size);

/*
 * Writes the addresses of this RDMA device or, if it is NULL, of all, except link-local ones,
 * truncated to size: "10.0.0.1 (mlx5_0, eth2), fd00::1 (rxe0, eth0)", or "".
 */
void device_address_list_of(
	const struct inventory *inventory, const char *device, char *list, size_t size);

/* Takes an inventory and writes the addresses of all devices, or "none". */
void device_address_list(const char *root, char *list, size_t size);

/*
 * Writes evidence for the error that no RDMA device has a route to the address, truncated to size:
 * --source or, if that is NULL, the interface of the route; and device_address_list().
 */
void device_address_evidence(const char *root, const char *source, const struct sockaddr *address,
	char *text, size_t size);

#endif
