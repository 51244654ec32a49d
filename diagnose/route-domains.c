/*
 * Explains why the kernel finds no route although one of its tables contains it. The answers are
 * the kernel's own, for the same destination with another interface or source address.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "diagnose/route-domains.h"

/* An address of an RDMA device's interface. */
struct owner {
	const struct inventory_device *device;
	const struct inventory_port *port;
	const struct inventory_interface *interface;
	const struct inventory_address *address;
};

/*
 * Finds the next address of the inventory for which `wanted` returns true. Returns false if there
 * is none.
 */
static bool find_owner(const struct inventory *inventory,
	bool (*wanted)(const struct owner *owner, const struct sockaddr *address),
	const struct sockaddr *address, struct owner *owner)
{
	for (size_t i = 0; i < inventory->device_count; i++) {
		owner->device = &inventory->devices[i];
		for (size_t j = 0; j < owner->device->port_count; j++) {
			owner->port = &owner->device->ports[j];
			for (size_t k = 0; k < owner->port->interface_count; k++) {
				owner->interface = &owner->port->interfaces[k];
				for (size_t l = 0; l < owner->interface->address_count; l++) {
					owner->address = &owner->interface->addresses[l];
					if (wanted(owner, address))
						return true;
				}
			}
		}
	}
	return false;
}

static bool is_in_vrf(const struct owner *owner, const struct sockaddr *address)
{
	return owner->interface->vrf[0] &&
	       address_equal((const struct sockaddr *)&owner->address->address, address);
}

/* True if the kernel routes packets from this address through its interface. */
static bool has_route(const struct owner *owner, const struct sockaddr *address)
{
	const struct sockaddr *source = (const struct sockaddr *)&owner->address->address;
	unsigned int interface = if_nametoindex(owner->interface->name);
	struct netlink_route route;

	return source->sa_family == address->sa_family && !owner->address->link_local &&
	       interface &&
	       netlink_find_route_through(
		       owner->interface->vrf[0] ? interface : 0, address, source, &route) == 0 &&
	       (route.type == RTN_LOCAL || route.interface == interface);
}

static bool has_driver(const struct owner *owner, const char *name)
{
	return strcmp(owner->device->driver, name) == 0;
}

/* True if this program was started by `ip vrf exec VRF`, which binds each of its sockets to it. */
static bool runs_in(const char *vrf)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char bound[IF_NAMESIZE] = "";
	socklen_t size = sizeof(bound);

	if (fd < 0)
		return false;
	if (getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, bound, &size))
		*bound = '\0';
	close(fd);
	return strcmp(bound, vrf) == 0;
}

/* Records that the only route, or that from the source address, is in a VRF. */
static int fail_in_vrf(struct diagnosis *diagnosis, const struct owner *owner)
{
	if (has_driver(owner, "rdma_rxe"))
		return check_failed(diagnosis, CHECK_ROUTE, FAILURE_HOST, PHASE_ADDRESS, HOST_VRF,
			"device %s, network interface %s, VRF %s", owner->device->name,
			owner->interface->name, owner->interface->vrf);
	return check_failed(diagnosis, CHECK_ROUTE, FAILURE_ADDRESS, PHASE_ADDRESS, ADDRESS_IN_VRF,
		"address %s, device %s, network interface %s, VRF %s", owner->address->text,
		owner->device->name, owner->interface->name, owner->interface->vrf);
}

/* Checks the route from the address of the owner, which is in a VRF. */
static int check_route_in_vrf(struct diagnosis *diagnosis, const struct owner *owner,
	const struct sockaddr *address, const struct sockaddr *source)
{
	struct reach_route *route = &diagnosis->route;

	if (has_driver(owner, "rdma_rxe") ||
		(has_driver(owner, "siw") && !runs_in(owner->interface->vrf)))
		return fail_in_vrf(diagnosis, owner);
	reach_find_route_through(if_nametoindex(owner->interface->name), address, source, route);
	if (route->verdict == REACH_BAD)
		return check_failed(diagnosis, CHECK_ROUTE, FAILURE_ERRNO, PHASE_ADDRESS,
			route->error ? route->error : ENETDOWN, "VRF %s: %s", owner->interface->vrf,
			route->evidence);
	diagnosis->device = owner->device;
	diagnosis->port = owner->port;
	check_list_ok(&diagnosis->list, CHECK_ROUTE, "%s, VRF %s; RDMA device %s", route->evidence,
		owner->interface->vrf, owner->device->name);
	return 0;
}

bool route_domains_use_vrf(struct diagnosis *diagnosis, const struct sockaddr *address,
	const struct sockaddr *source, int *result)
{
	struct owner owner;

	if (!find_owner(&diagnosis->inventory, is_in_vrf, source, &owner))
		return false;
	*result = check_route_in_vrf(diagnosis, &owner, address, source);
	return true;
}

bool route_domains_explain(struct diagnosis *diagnosis, const struct sockaddr *address)
{
	struct owner owner;

	if (!find_owner(&diagnosis->inventory, has_route, address, &owner))
		return false;
	if (owner.interface->vrf[0])
		fail_in_vrf(diagnosis, &owner);
	else
		check_failed(diagnosis, CHECK_ROUTE, FAILURE_ADDRESS, PHASE_ADDRESS,
			ADDRESS_NEEDS_SOURCE, "there is a route from %s (%s, %s)",
			owner.address->text, owner.device->name, owner.interface->name);
	return true;
}
