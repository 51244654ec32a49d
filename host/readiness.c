/*
 * Finds what prevents this host from using RDMA: checks the host first, then each device and port,
 * then the process. The result depends on the inventory alone; no state is kept between calls.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "host/device-support.h"
#include "host/readiness.h"
#include "host/stack-table.h"

/* The result of one check. */
struct finding {
	enum readiness code;
	char evidence[320];
};

static const struct finding ready = {.code = HOST_READY};

/* Codes in order from the least usable to the most usable port. */
static const enum readiness order[] = {HOST_NO_SUCH_DEVICE, HOST_NO_MANAGER, HOST_NO_UVERBS,
	HOST_NO_ACCESS, HOST_PORT_DOWN, HOST_NO_SUBNET, HOST_NO_INTERFACE, HOST_NO_DEVICE_ADDRESS,
	HOST_LINK_LOCAL, HOST_INTERFACE_ELSEWHERE, HOST_VRF, HOST_NAMESPACE, HOST_STACK,
	HOST_READY};

static size_t rank(const struct finding *finding)
{
	size_t place = 0;

	while (order[place] != finding->code && order[place] != HOST_READY)
		place++;
	return place;
}

static struct finding lacks(enum readiness code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static struct finding lacks(enum readiness code, const char *format, ...)
{
	struct finding finding = {.code = code};
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(finding.evidence, sizeof(finding.evidence), format, arguments);
	va_end(arguments);
	return finding;
}

/* Writes the names of all devices, separated by spaces. */
static void list_devices(const struct inventory *inventory, char *names, size_t size)
{
	*names = '\0';
	for (size_t i = 0; i < inventory->device_count; i++)
		text_append(names, size, "%s%s", i ? " " : "", inventory->devices[i].name);
}

static struct finding check_host(const struct inventory *inventory)
{
	bool exclusive = inventory->netns == INVENTORY_NETNS_EXCLUSIVE;
	char names[128];

	if (inventory->device_count == 0)
		return lacks(exclusive ? HOST_DEVICES_HIDDEN : HOST_NO_DEVICE, "%s%s",
			inventory->sysfs_absent ? "/sys is not mounted, and libibverbs finds none"
						: "no entries in /sys/class/infiniband",
			exclusive ? "; ib_core netns_mode is exclusive" : "");
	if (inventory->rdma_cm == SYSFS_DENIED)
		return lacks(HOST_NO_ACCESS, "no read/write permission on /dev/infiniband/rdma_cm");
	if (inventory->rdma_cm == SYSFS_GRANTED)
		return ready;
	list_devices(inventory, names, sizeof(names));
	return lacks(HOST_NO_RDMA_CM, "found %s, but /dev/infiniband/rdma_cm is missing", names);
}

static struct finding check_access(const struct inventory_device *device)
{
	if (!device->uverbs[0])
		return lacks(HOST_NO_UVERBS, "no entry for %s in /sys/class/infiniband_verbs",
			device->name);
	if (device->access == SYSFS_MISSING)
		return lacks(HOST_NO_UVERBS, "found %s, but /dev/infiniband/%s is missing",
			device->name, device->uverbs);
	if (device->access == SYSFS_DENIED)
		return lacks(HOST_NO_ACCESS, "no read/write permission on /dev/infiniband/%s",
			device->uverbs);
	return ready;
}

static bool is_infiniband(const struct inventory_port *port)
{
	return strcmp(port->link_layer, "InfiniBand") == 0;
}

static struct finding check_state(
	const struct inventory_device *device, const struct inventory_port *port)
{
	const struct inventory_interface *first = port->interfaces;
	char interface[96] = "";

	/* An adapter whose port can be of either type stays down in a network of the other one. */
	if (is_infiniband(port))
		snprintf(interface, sizeof(interface), ", link type InfiniBand");
	if (strncmp(port->state, "ACTIVE", 6) == 0)
		return ready;
	/* The link is up and waiting for a subnet manager to assign an address. */
	if (is_infiniband(port) && strcmp(port->state, "INIT") == 0)
		return lacks(HOST_NO_SUBNET, "port %s/%u is INIT, subnet manager LID %u",
			device->name, port->number, port->sm_lid);
	if (port->interface_count)
		text_append(interface, sizeof(interface), ", network interface %s is %s",
			first->name, first->state[0] ? first->state : "in an unknown state");
	return lacks(HOST_PORT_DOWN, "port %s/%u is %s%s%s%s%s", device->name, port->number,
		port->state[0] ? port->state : "in an unknown state",
		port->physical_state[0] ? " (" : "", port->physical_state,
		port->physical_state[0] ? ")" : "", interface);
}

/* Checks that the connection manager supports the device. */
static struct finding check_manager(
	const struct inventory_device *device, const struct inventory_port *port)
{
	const struct unsupported *row = device_support_find(device, port);

	return row && row->code == HOST_NO_MANAGER
		       ? lacks(HOST_NO_MANAGER, "%s is %s", device->name, row->reason)
		       : ready;
}

/* Checks that the connection manager finds an interface of the port. */
static struct finding check_interface(
	const struct inventory_device *device, const struct inventory_port *port)
{
	const struct unsupported *row = device_support_find(device, port);

	return row ? lacks(row->code, "port %s/%u%s%s has none in this network namespace",
			     device->name, port->number,
			     port->link_layer[0] ? " of link type " : "", port->link_layer)
		   : ready;
}

/* Returns the port's first address that is, or is not, link-local; NULL if there is none. */
static const char *find_address(const struct inventory_port *port, bool link_local)
{
	const char *found = NULL;

	for (size_t i = 0; i < port->interface_count && !found; i++)
		found = inventory_address(&port->interfaces[i], link_local);
	return found;
}

/* RoCE addresses peers by GIDs that are derived from IP addresses. */
static bool has_gid(const struct inventory_port *port)
{
	for (size_t i = 0; i < port->gid_count; i++)
		if (!port->gids[i].link_local)
			return true;
	return false;
}

/* True if all interfaces of the port are in other network namespaces. */
static bool is_elsewhere(const struct inventory_port *port)
{
	for (size_t i = 0; i < port->interface_count; i++)
		if (!port->interfaces[i].elsewhere)
			return false;
	return port->interface_count > 0;
}

/* The device is below an interface whose addresses it does not serve. */
static struct finding below_address(
	const struct inventory_device *device, const struct inventory_interface *interface)
{
	struct finding finding = {.code = HOST_STACK};

	stack_table_describe(inventory_address(interface, false), interface, device->name,
		finding.evidence, sizeof(finding.evidence));
	return finding;
}

static struct finding check_addresses(
	const struct inventory_device *device, const struct inventory_port *port)
{
	bool iwarp = inventory_is_iwarp(device);
	const char *address = find_address(port, false), *local = find_address(port, true);

	if (address && !iwarp && !is_infiniband(port) && !has_gid(port))
		return lacks(HOST_NO_DEVICE_ADDRESS, "port %s/%u has no GID for its address %s",
			device->name, port->number, address);
	if (port->own_elsewhere && port->interface_count == 0)
		return lacks(HOST_INTERFACE_ELSEWHERE,
			"port %s/%u belongs to a network interface of another network namespace",
			device->name, port->number);
	/* Older kernels do not report the interface of an iWARP device. */
	if (address || (iwarp && port->interface_count == 0))
		return ready;
	if (inventory_has_unserved(port))
		return below_address(device, &port->unserved);
	if (local)
		return lacks(HOST_LINK_LOCAL, "port %s/%u has only link-local address %s",
			device->name, port->number, local);
	if (is_elsewhere(port))
		return lacks(HOST_INTERFACE_ELSEWHERE,
			"port %s/%u belongs to network interface %s of another network namespace",
			device->name, port->number, port->interfaces[0].name);
	return lacks(HOST_NO_DEVICE_ADDRESS, "port %s/%u: network interface %s has no address",
		device->name, port->number, port->interfaces[0].name);
}

/*
 * Soft-RoCE receives through a UDP socket of the kernel. Up to Linux 6.12 at least, that socket
 * exists only in the first network namespace; and packets that arrive in a VRF are delivered as if
 * they came from the VRF's own interface, which has no device.
 */
static struct finding check_domain(const struct inventory *inventory,
	const struct inventory_device *device, const struct inventory_port *port)
{
	const struct inventory_interface *own = inventory_interface(port, device->parent);

	if (strcmp(device->driver, "rdma_rxe") != 0)
		return ready;
	if (inventory->roce_absent)
		return lacks(HOST_NAMESPACE,
			"device %s; no UDP socket has port 4791 in this namespace", device->name);
	if (own && own->vrf[0])
		return lacks(HOST_VRF, "device %s, network interface %s, VRF %s", device->name,
			own->name, own->vrf);
	return ready;
}

/* Checks that the device receives the packets for at least one of the port's addresses. */
static struct finding check_stack(
	const struct inventory_device *device, const struct inventory_port *port)
{
	struct finding worst = ready;

	for (size_t i = 0; i < port->interface_count; i++) {
		const struct inventory_interface *interface = &port->interfaces[i];

		if (!inventory_address(interface, false))
			continue;
		if (stack_table_verdict(device->driver, &interface->stack) != STACK_LOSES)
			return ready;
		worst = below_address(device, interface);
	}
	return worst;
}

static struct finding check_port(const struct inventory *inventory,
	const struct inventory_device *device, const struct inventory_port *port)
{
	struct finding finding = check_manager(device, port);

	if (finding.code == HOST_READY)
		finding = check_access(device);
	if (finding.code == HOST_READY)
		finding = check_state(device, port);
	if (finding.code == HOST_READY)
		finding = check_interface(device, port);
	if (finding.code == HOST_READY)
		finding = check_addresses(device, port);
	if (finding.code == HOST_READY)
		finding = check_domain(inventory, device, port);
	return finding.code == HOST_READY ? check_stack(device, port) : finding;
}

/* Returns the result for the device's most usable port. */
static struct finding check_device(
	const struct inventory *inventory, const struct inventory_device *device)
{
	struct finding best;

	if (device->port_count == 0) {
		best = check_access(device);
		return best.code == HOST_READY
			       ? lacks(HOST_PORT_DOWN, "device %s has no ports", device->name)
			       : best;
	}
	best = check_port(inventory, device, &device->ports[0]);
	for (size_t i = 1; i < device->port_count; i++) {
		struct finding finding = check_port(inventory, device, &device->ports[i]);

		if (rank(&finding) > rank(&best))
			best = finding;
	}
	return best;
}

/* Returns the result for the named device or, if name is NULL, for the most usable device. */
static struct finding check_devices(const struct inventory *inventory, const char *name)
{
	struct finding best = lacks(HOST_NO_SUCH_DEVICE, "--device %s", name ? name : "");

	for (size_t i = 0; i < inventory->device_count; i++) {
		const struct inventory_device *device = &inventory->devices[i];

		if (!name || strcmp(device->name, name) == 0) {
			struct finding finding = check_device(inventory, device);

			if (rank(&finding) > rank(&best))
				best = finding;
		}
	}
	return best;
}

static struct finding check_memory(const struct inventory *inventory)
{
	char size[UNITS_TEXT];

	if (inventory->ipc_lock || inventory->locked_max >= READINESS_LOCKED_MIN)
		return ready;
	return lacks(
		HOST_LOCKED_MEMORY, "the limit is %s", units_format(size, inventory->locked_max));
}

static enum readiness report(const struct finding *finding, char *evidence, size_t size)
{
	snprintf(evidence, size, "%s", finding->evidence);
	return finding->code;
}

enum readiness readiness_of_access(
	const struct inventory_device *device, char *evidence, size_t size)
{
	struct finding finding = check_access(device);

	return report(&finding, evidence, size);
}

bool readiness_is_of_rdmacm(enum readiness lacking)
{
	switch (lacking) {
	case HOST_NO_RDMA_CM:
	case HOST_NO_DEVICE_ADDRESS:
	case HOST_LINK_LOCAL:
	case HOST_NO_MANAGER:
	case HOST_NO_INTERFACE:
		return true;
	default:
		return false;
	}
}

enum readiness readiness_of_support(
	const char *root, const char *device, char *evidence, size_t size)
{
	struct finding finding = ready;
	struct inventory inventory;

	if (inventory_take(root, device, &inventory) == 0) {
		finding = check_devices(&inventory, device);
		if (finding.code != HOST_NO_MANAGER && finding.code != HOST_NO_INTERFACE)
			finding = ready;
		inventory_free(&inventory);
	}
	return report(&finding, evidence, size);
}

enum readiness readiness_of_device(
	const char *root, const char *device, char *evidence, size_t size)
{
	struct finding finding = ready;
	struct inventory inventory;

	if (inventory_take(root, device, &inventory) == 0) {
		if (inventory_device(&inventory, device))
			finding = check_devices(&inventory, device);
		inventory_free(&inventory);
	}
	return report(&finding, evidence, size);
}

enum readiness readiness_of_host(const char *root, char *evidence, size_t size)
{
	struct finding finding = ready;
	struct inventory inventory;

	if (inventory_take(root, NULL, &inventory) == 0) {
		finding = check_host(&inventory);
		if (finding.code == HOST_READY) {
			finding = check_devices(&inventory, NULL);
			/* The state of the ports matters later. */
			if (finding.code != HOST_NO_UVERBS && finding.code != HOST_NO_ACCESS &&
				finding.code != HOST_NO_MANAGER)
				finding = ready;
		}
		inventory_free(&inventory);
	}
	return report(&finding, evidence, size);
}

enum readiness readiness_check(
	const struct inventory *inventory, const char *device, char *evidence, size_t size)
{
	struct finding finding = check_host(inventory);

	if (finding.code == HOST_READY)
		finding = check_devices(inventory, device);
	if (finding.code == HOST_READY)
		finding = check_memory(inventory);
	return report(&finding, evidence, size);
}
