/*
 * Maps RDMA devices to addresses, and addresses to interfaces according to the kernel's routes.
 * Each call takes its own inventory and frees it.
 */
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/text.h"
#include "host/device-address.h"
#include "host/interface-stack.h"
#include "host/inventory.h"
#include "host/readiness.h"

/*
 * Returns the preference of an address: IPv4, then IPv6, then link-local IPv6; 0 for another
 * family.
 */
static int preference(const struct inventory_address *address, int family)
{
	if (family != AF_UNSPEC && address->address.ss_family != family)
		return 0;
	if (address->address.ss_family == AF_INET)
		return 3;
	return address->link_local ? 1 : 2;
}

/* Updates *address and *best if the interface has a more preferred address. */
static void prefer(const struct inventory_interface *interface, int family, int *best,
	struct sockaddr_storage *address)
{
	for (size_t i = 0; i < interface->address_count; i++) {
		int wanted = preference(&interface->addresses[i], family);

		if (wanted > *best) {
			*best = wanted;
			*address = interface->addresses[i].address;
		}
	}
}

enum readiness device_address_find(
	const char *root, const char *device, int family, struct sockaddr_storage *address)
{
	const struct inventory_device *found;
	struct inventory inventory;
	enum readiness result;
	int best = 0;

	memset(address, 0, sizeof(*address));
	if (inventory_take(root, device, &inventory))
		return HOST_NO_DEVICE_ADDRESS;
	found = inventory_device(&inventory, device);
	for (size_t i = 0; found && i < found->port_count; i++)
		for (size_t j = 0; j < found->ports[i].interface_count; j++)
			prefer(&found->ports[i].interfaces[j], family, &best, address);
	result = best ? HOST_READY : found ? HOST_NO_DEVICE_ADDRESS : HOST_NO_SUCH_DEVICE;
	inventory_free(&inventory);
	return result;
}

enum readiness device_address_explain(
	const char *root, const char *device, enum readiness lacking, char *evidence, size_t size)
{
	enum readiness reason = readiness_of_support(root, device, evidence, size);

	if (reason != HOST_READY)
		return reason;
	snprintf(evidence, size, "--device %s", device);
	return lacking;
}

/* Finds the source address that the kernel would use. Returns false if there is no route. */
static bool choose_source(const struct sockaddr *address, struct sockaddr_storage *source)
{
	int probe = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t length = sizeof(*source);
	/* Connecting a UDP socket only consults the routing table; no packet is sent. */
	bool found = probe >= 0 && connect(probe, address, address_length(address)) == 0 &&
		     getsockname(probe, (struct sockaddr *)source, &length) == 0;

	if (probe >= 0)
		close(probe);
	return found;
}

void device_address_interface(
	const struct sockaddr *address, const struct sockaddr *source, char *name, size_t size)
{
	struct sockaddr_storage chosen = {0};
	struct ifaddrs *addresses;

	*name = '\0';
	if (!source && choose_source(address, &chosen))
		source = (struct sockaddr *)&chosen;
	if (!source || getifaddrs(&addresses))
		return;
	for (const struct ifaddrs *a = addresses; a && *name == '\0'; a = a->ifa_next)
		if (a->ifa_addr && address_equal(a->ifa_addr, source))
			snprintf(name, size, "%s", a->ifa_name);
	freeifaddrs(addresses);
}

/* Appends the interface's addresses, except link-local ones. */
static void list_interface(const struct inventory_device *device,
	const struct inventory_interface *interface, char *list, size_t size)
{
	for (size_t i = 0; i < interface->address_count; i++)
		if (!interface->addresses[i].link_local)
			text_append(list, size, "%s%s (%s, %s)", *list ? ", " : "",
				interface->addresses[i].text, device->name, interface->name);
}

/* An interface may belong to several ports of a device. */
static bool is_listed(
	const struct inventory_device *device, const struct inventory_port *port, const char *name)
{
	for (const struct inventory_port *other = device->ports; other < port; other++)
		if (inventory_interface(other, name))
			return true;
	return false;
}

static void list_device(const struct inventory_device *device, char *list, size_t size)
{
	for (size_t i = 0; i < device->port_count; i++) {
		const struct inventory_port *port = &device->ports[i];

		for (size_t j = 0; j < port->interface_count; j++)
			if (!is_listed(device, port, port->interfaces[j].name))
				list_interface(device, &port->interfaces[j], list, size);
	}
}

void device_address_list_of(
	const struct inventory *inventory, const char *device, char *list, size_t size)
{
	*list = '\0';
	for (size_t i = 0; i < inventory->device_count; i++)
		if (!device || strcmp(inventory->devices[i].name, device) == 0)
			list_device(&inventory->devices[i], list, size);
}

void device_address_list(const char *root, char *list, size_t size)
{
	struct inventory inventory;

	*list = '\0';
	if (inventory_take(root, NULL, &inventory) == 0) {
		device_address_list_of(&inventory, NULL, list, size);
		inventory_free(&inventory);
	}
	if (*list == '\0')
		text_append(list, size, "none");
}

/* Writes "eth0", or "br0 (bridge) over eth0": the kinds often tell why it has no RDMA device. */
static void describe_interface(const char *name, char *text, size_t size)
{
	struct netlink_link *links;
	struct interface_stack stack;
	int count = netlink_list_links(&links);

	interface_stack_find(links, count > 0 ? (size_t)count : 0, name, "", &stack);
	free(links);
	if (stack.count > 0)
		interface_stack_describe(&stack, text, size);
	else
		snprintf(text, size, "%s", *name ? name : "no interface");
}

void device_address_evidence(const char *root, const char *source, const struct sockaddr *address,
	char *text, size_t size)
{
	char interface[IF_NAMESIZE], described[256];
	size_t used;

	if (source) {
		snprintf(text, size, "--source %s", source);
	} else {
		device_address_interface(address, NULL, interface, sizeof(interface));
		describe_interface(interface, described, sizeof(described));
		snprintf(text, size, "the route uses %s", described);
	}
	text_append(text, size, "; RDMA addresses of this host: ");
	used = strlen(text);
	device_address_list(root, text + used, size - used);
}
