/*
 * ARP flux: the addresses come from the caller, the settings from /proc. No state is kept between
 * calls.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "host/arp-flux.h"
#include "host/inventory.h"
#include "host/sysfs.h"

/* Returns a setting as the kernel applies it: the larger of the interface's and that for all. */
static uint64_t setting(const char *root, const char *interface, const char *name)
{
	uint64_t all = 0, own = 0;

	(void)sysfs_number(root, &all, "/proc/sys/net/ipv4/conf/all/%s", name);
	(void)sysfs_number(root, &own, "/proc/sys/net/ipv4/conf/%s/%s", interface, name);
	return all > own ? all : own;
}

/* True if the interface answers ARP for addresses of other interfaces of this host. */
static bool answers_for_others(const char *root, const char *interface)
{
	uint64_t known;

	return sysfs_number(root, &known, "/proc/sys/net/ipv4/conf/%s/arp_ignore", interface) ==
		       0 &&
	       setting(root, interface, "arp_ignore") == 0 &&
	       setting(root, interface, "arp_filter") == 0;
}

/*
 * Returns the first RDMA device whose own interface this is: the first interface of one of its
 * ports, since soft-RoCE also lists interfaces on top of its own. NULL: none.
 */
static const struct inventory_device *device_of(
	const struct inventory *inventory, const char *interface)
{
	for (size_t i = 0; i < inventory->device_count; i++) {
		const struct inventory_device *device = &inventory->devices[i];

		for (size_t j = 0; j < device->port_count; j++) {
			const struct inventory_port *port = &device->ports[j];
			const char *own = device->parent[0]       ? device->parent
					  : port->interface_count ? port->interfaces[0].name
								  : "";

			if (strcmp(own, interface) == 0)
				return device;
		}
	}
	return NULL;
}

/* Returns the VRF that the inventory found for the interface, "" if none. */
static const char *vrf_of(const struct inventory *inventory, const char *interface)
{
	for (size_t i = 0; i < inventory->device_count; i++)
		for (size_t j = 0; j < inventory->devices[i].port_count; j++) {
			const struct inventory_interface *found =
				inventory_interface(&inventory->devices[i].ports[j], interface);

			if (found)
				return found->vrf;
		}
	return "";
}

/* Returns the interface's name without the label of an address: "eth0" for "eth0:1". */
static void plain_name(const struct ifaddrs *address, char name[IF_NAMESIZE])
{
	snprintf(
		name, IF_NAMESIZE, "%.*s", (int)strcspn(address->ifa_name, ":"), address->ifa_name);
}

static bool is_usable(const struct ifaddrs *address)
{
	return address->ifa_addr && address->ifa_netmask && (address->ifa_flags & IFF_UP) &&
	       !(address->ifa_flags & (IFF_LOOPBACK | IFF_NOARP | IFF_POINTOPOINT)) &&
	       address->ifa_addr->sa_family == AF_INET;
}

static uint32_t bits(const struct sockaddr *address)
{
	return ((const struct sockaddr_in *)address)->sin_addr.s_addr;
}

/* True if each address is in the network of the other. */
static bool share_subnet(const struct ifaddrs *one, const struct ifaddrs *other)
{
	uint32_t differ = bits(one->ifa_addr) ^ bits(other->ifa_addr);

	return !(differ & bits(one->ifa_netmask)) && !(differ & bits(other->ifa_netmask));
}

/* Describes the pair if the interfaces answer for each other. */
static bool describe_pair(const char *root, const struct inventory *inventory,
	const struct ifaddrs *one, const struct ifaddrs *other, char *text, size_t size)
{
	const struct inventory_device *first, *second;
	char near[IF_NAMESIZE], far[IF_NAMESIZE];
	char here[INET_ADDRSTRLEN], there[INET_ADDRSTRLEN];

	plain_name(one, near);
	plain_name(other, far);
	first = device_of(inventory, near);
	second = device_of(inventory, far);
	if (strcmp(near, far) == 0 || !first || !second || !share_subnet(one, other) ||
		strcmp(vrf_of(inventory, near), vrf_of(inventory, far)) != 0 ||
		!(answers_for_others(root, near) || answers_for_others(root, far)))
		return false;
	inet_ntop(AF_INET, &((const struct sockaddr_in *)one->ifa_addr)->sin_addr, here,
		sizeof(here));
	inet_ntop(AF_INET, &((const struct sockaddr_in *)other->ifa_addr)->sin_addr, there,
		sizeof(there));
	snprintf(text, size,
		"%s (%s, %s) and %s (%s, %s) are in one subnet, and arp_ignore is %u and %u", near,
		first->name, here, far, second->name, there,
		(unsigned int)setting(root, near, "arp_ignore"),
		(unsigned int)setting(root, far, "arp_ignore"));
	text_printable(text);
	return true;
}

void arp_flux_find(const char *root, const struct inventory *inventory,
	const struct ifaddrs *addresses, char *text, size_t size)
{
	*text = '\0';
	for (const struct ifaddrs *one = addresses; one; one = one->ifa_next)
		for (const struct ifaddrs *other = one->ifa_next; other; other = other->ifa_next)
			if (is_usable(one) && is_usable(other) &&
				describe_pair(root, inventory, one, other, text, size))
				return;
}
