/*
 * Reads an inventory top down: the host, its devices, their ports, and for each port the GIDs and
 * the network interfaces with their addresses. Each list is allocated when its directory is read
 * and belongs to the enclosing struct; inventory_free() accepts a partially read inventory.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include "host/bound-device.h"
#include "host/gid-table.h"
#include "host/inventory.h"
#include "host/locked-memory.h"
#include "host/rdma-netlink.h"
#include "host/routing-domains.h"
#include "host/verbs-devices.h"

#define DEVICES "/sys/class/infiniband"
#define VERBS   "/sys/class/infiniband_verbs"

/* The source of an inventory. */
struct origin {
	const char *root;
	const char *device;               /* the only device to read; NULL: all */
	const struct ifaddrs *addresses;  /* of the network interfaces */
	bool running;                     /* the running system, which answers more than sysfs */
	const struct netlink_link *links; /* all interfaces of this network namespace */
	size_t link_count;
};

/*
 * Enlarges the list by one zeroed element. Returns NULL if out of memory and leaves the list
 * unchanged.
 */
static void *enlarge(void *list, size_t count, size_t size)
{
	char *larger = reallocarray(list, count + 1, size);

	if (larger)
		memset(larger + count * size, 0, size);
	return larger;
}

/* Copies the text if it fits. Returns false otherwise. */
static bool copy(char *to, size_t size, const char *text)
{
	size_t length = strlen(text);

	if (length >= size)
		return false;
	memcpy(to, text, length + 1);
	return true;
}

static int add_address(struct inventory_interface *interface, const struct sockaddr *address)
{
	struct inventory_address *larger = enlarge(
		interface->addresses, interface->address_count, sizeof(*interface->addresses));
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;

	if (!larger)
		return -ENOMEM;
	interface->addresses = larger;
	larger += interface->address_count++;
	memcpy(&larger->address, address, address_length(address));
	address_text(address, larger->text);
	larger->link_local =
		address->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
	return 0;
}

bool inventory_names_interface(const char *name, const char *interface)
{
	size_t length = strlen(interface);

	return strncmp(name, interface, length) == 0 &&
	       (name[length] == '\0' || name[length] == ':');
}

static int read_addresses(const struct origin *origin, struct inventory_interface *interface)
{
	int error = 0;

	for (const struct ifaddrs *a = origin->addresses; a && !error; a = a->ifa_next)
		if (a->ifa_addr && inventory_names_interface(a->ifa_name, interface->name) &&
			(a->ifa_addr->sa_family == AF_INET || a->ifa_addr->sa_family == AF_INET6))
			error = add_address(interface, a->ifa_addr);
	return error;
}

/* Returns a 32-bit number, 0 if it cannot be read. */
static unsigned int read_number(const char *folder, const char *file)
{
	uint64_t number;

	return sysfs_number(folder, &number, "/%s", file) || number > UINT32_MAX
		       ? 0
		       : (unsigned int)number;
}

static void free_interface(struct inventory_interface *interface)
{
	free(interface->addresses);
	*interface = (struct inventory_interface){0};
}

/* Reads the network interface of this name, which fits, into the zeroed record. */
static int read_interface(
	const struct origin *origin, const char *name, struct inventory_interface *interface)
{
	char folder[PATH_MAX];

	memcpy(interface->name, name, strlen(name) + 1);
	snprintf(folder, sizeof(folder), "%s/sys/class/net/%s", origin->root, name);
	sysfs_line(folder, interface->state, sizeof(interface->state), "/operstate");
	interface->mtu = read_number(folder, "mtu");
	if (origin->running) {
		interface->elsewhere = if_nametoindex(name) == 0;
		routing_domains_vrf(name, interface->vrf);
	}
	return read_addresses(origin, interface);
}

/* Adds a network interface to the port, unless it is already listed or its name is invalid. */
static int add_interface(const struct origin *origin, struct inventory_port *port, const char *name)
{
	struct inventory_interface *larger;

	if (!sysfs_is_name(name) || strlen(name) >= sizeof(larger->name) ||
		inventory_interface(port, name))
		return 0;
	larger = enlarge(port->interfaces, port->interface_count, sizeof(*port->interfaces));
	if (!larger)
		return -ENOMEM;
	port->interfaces = larger;
	larger += port->interface_count++;
	return read_interface(origin, name, larger);
}

/* Reads a GID table entry and its network interface. Skips empty entries. */
static int read_gid(const struct origin *origin, const char *folder, unsigned int index,
	struct inventory_port *port)
{
	struct inventory_gid *gid = &port->gids[port->gid_count];
	struct in6_addr address;
	char text[64];

	if (sysfs_line(folder, text, sizeof(text), "/gids/%u", index) ||
		inet_pton(AF_INET6, text, &address) != 1 || IN6_IS_ADDR_UNSPECIFIED(&address))
		return 0;
	port->gid_count++;
	gid->index = index;
	gid->link_local = IN6_IS_ADDR_LINKLOCAL(&address);
	inet_ntop(AF_INET6, &address, gid->text, sizeof(gid->text));
	sysfs_line(folder, gid->type, sizeof(gid->type), "/gid_attrs/types/%u", index);
	sysfs_line(folder, gid->interface, sizeof(gid->interface), "/gid_attrs/ndevs/%u", index);
	return add_interface(origin, port, gid->interface);
}

/*
 * Parses the number in the name of a port or GID entry. Returns false if the name is not a number.
 */
static bool name_number(const char *name, unsigned int *number)
{
	uint64_t value;

	if (!sysfs_decimal(name, strlen(name), &value) || value > UINT32_MAX)
		return false;
	*number = (unsigned int)value;
	return true;
}

/* Returns a zeroed list with one element per directory entry, or NULL if out of memory. */
static void *make_list(int entries, size_t size)
{
	return calloc(entries > 0 ? (size_t)entries : 1, size);
}

/* As gid_table_indices(), but for all entries that sysfs lists, most of which are empty. */
static int listed_indices(const char *folder, uint32_t **indices)
{
	struct dirent **entries;
	int listed = sysfs_list(folder, &entries, "/gids"), count = 0;

	*indices = make_list(listed, sizeof(**indices));
	for (int i = 0; *indices && i < listed; i++)
		if (name_number(entries[i]->d_name, &(*indices)[count]))
			count++;
	sysfs_free(entries, listed);
	return count;
}

/* Reads the valid entries only, if the device tells which, because soft-RoCE has 1,024. */
static int read_gids(const struct origin *origin, const char *device, const char *folder,
	struct inventory_port *port)
{
	uint32_t *indices;
	int count = origin->running ? gid_table_indices(device, port->number, &indices) : -1;
	int error = 0;

	if (count < 0)
		count = listed_indices(folder, &indices);
	port->gids = indices ? make_list(count, sizeof(*port->gids)) : NULL;
	if (!port->gids)
		error = -ENOMEM;
	for (int i = 0; i < count && !error; i++)
		error = read_gid(origin, folder, indices[i], port);
	free(indices);
	return error;
}

/*
 * Adds the network interfaces of the same adapter, needed for InfiniBand, and for iWARP of Linux
 * 6.1, whose GIDs do not name an interface. On a device with several ports, the interface's
 * dev_port, counted from 0, selects the port.
 */
static int read_siblings(
	const struct origin *origin, const char *device, bool several, struct inventory_port *port)
{
	struct dirent **entries;
	int count = sysfs_list(device, &entries, "/device/net");
	int error = 0;

	for (int i = 0; i < count && !error; i++) {
		const char *name = entries[i]->d_name;
		uint64_t dev_port;

		if (!several || (sysfs_number(origin->root, &dev_port, "/sys/class/net/%s/dev_port",
					 name) == 0 &&
					dev_port + 1 == port->number))
			error = add_interface(origin, port, name);
	}
	sysfs_free(entries, count);
	return error;
}

static bool is_ethernet(const struct inventory_port *port)
{
	return strcmp(port->link_layer, "Ethernet") == 0;
}

/*
 * Finds the port's own interface. The kernel names only one of this network namespace, while sysfs
 * shows the names of all. Adds it if sysfs shows none: siw of Linux 6.1. rdma-link(8).
 */
static int read_netlink(const struct origin *origin, const struct inventory_device *device,
	struct inventory_port *port)
{
	int error;

	memcpy(port->own, device->parent, sizeof(port->own));
	if (!origin->running)
		return 0;
	error = rdma_netlink_interface(device->name, port->number, port->own);
	if (error == -ENOENT && is_ethernet(port)) {
		port->own_elsewhere = true;
		memcpy(port->own, device->parent, sizeof(port->own));
	}
	return error || port->interface_count > 0 ? 0 : add_interface(origin, port, port->own);
}

/* True if the connection manager binds an address of this name to the device. */
static bool serves(const struct origin *origin, const char *device, const char *interface)
{
	for (const struct ifaddrs *a = origin->addresses; a; a = a->ifa_next)
		if (a->ifa_addr && inventory_names_interface(a->ifa_name, interface) &&
			(a->ifa_addr->sa_family == AF_INET || a->ifa_addr->sa_family == AF_INET6))
			return bound_device_is(device, a->ifa_addr);
	return false;
}

/* True if the iWARP device of this port, whose GID names no interface, may serve the link. */
static bool may_serve(const struct origin *origin, const struct inventory_port *port,
	const struct netlink_link *link)
{
	struct interface_stack stack;

	if (port->own_elsewhere)
		return !(link->flags & IFF_LOOPBACK);
	interface_stack_find(origin->links, origin->link_count, link->name, port->own, &stack);
	return stack.complete && stack.count > 1;
}

/* Reads the interface. One without an address that other hosts can route to does not count. */
static int read_unserved(
	const struct origin *origin, const char *name, struct inventory_interface *interface)
{
	int error = read_interface(origin, name, interface);

	if (!error && inventory_address(interface, false))
		return 0;
	free_interface(interface);
	return error;
}

/*
 * Adds the interfaces above the port's own that an iWARP device serves, too, and finds one that it
 * does not. Whether it does depends on the kernel's version and the interfaces' MAC addresses.
 */
static int read_above(const struct origin *origin, const struct inventory_device *device,
	struct inventory_port *port)
{
	int error = 0;

	if (!inventory_is_iwarp(device) || (!port->own_elsewhere && !port->own[0]))
		return 0;
	for (size_t i = 0; i < origin->link_count && !error; i++) {
		const char *name = origin->links[i].name;

		if (!may_serve(origin, port, &origin->links[i]))
			continue;
		if (serves(origin, device->name, name))
			error = add_interface(origin, port, name);
		else if (!port->own_elsewhere && !inventory_has_unserved(port))
			error = read_unserved(origin, name, &port->unserved);
	}
	return error;
}

/* True if the interface has the address of which the GID is made. */
static bool owns_gid(const struct inventory_interface *interface, const struct inventory_gid *gid)
{
	const char *mapped = "::ffff:", *text = gid->text;

	if (strncmp(text, mapped, strlen(mapped)) == 0 && strchr(text, '.'))
		text += strlen(mapped);
	for (size_t i = 0; i < interface->address_count; i++) {
		const char *own = interface->addresses[i].text;

		if (strlen(text) == strcspn(own, "%") && strncmp(text, own, strlen(text)) == 0)
			return true;
	}
	return false;
}

/*
 * If the port's own interface is in another network namespace, an interface of this one may have
 * the name of one there, as eth0 of a container has. It is one of the port's only if a GID is made
 * of its address.
 */
static void find_namesakes(struct inventory_port *port)
{
	for (size_t i = 0; port->own_elsewhere && i < port->interface_count; i++) {
		struct inventory_interface *interface = &port->interfaces[i];
		bool owner = false;

		for (size_t j = 0; j < port->gid_count && !owner; j++)
			owner = strcmp(port->gids[j].interface, interface->name) == 0 &&
				owns_gid(interface, &port->gids[j]);
		if (owner)
			continue;
		free(interface->addresses);
		interface->addresses = NULL;
		interface->address_count = 0;
		interface->state[0] = interface->vrf[0] = '\0';
		interface->mtu = 0;
		interface->elsewhere = true;
	}
}

/* Finds the way from each interface of the port to the port's own. */
static void find_stacks(const struct origin *origin, struct inventory_port *port)
{
	for (size_t i = 0; i < port->interface_count; i++)
		if (!port->interfaces[i].elsewhere)
			interface_stack_find(origin->links, origin->link_count,
				port->interfaces[i].name, port->own_elsewhere ? "" : port->own,
				&port->interfaces[i].stack);
	if (inventory_has_unserved(port))
		interface_stack_find(origin->links, origin->link_count, port->unserved.name,
			port->own, &port->unserved.stack);
}

bool inventory_is_iwarp(const struct inventory_device *device)
{
	return strcmp(device->type, "RNIC") == 0;
}

bool inventory_has_unserved(const struct inventory_port *port)
{
	return port->unserved.address_count > 0;
}

/* The GID of an iWARP port contains its MAC address; the kernel calls its type "IB/RoCE v1". */
static void name_iwarp_gids(struct inventory_port *port)
{
	for (size_t i = 0; i < port->gid_count; i++)
		snprintf(port->gids[i].type, sizeof(port->gids[i].type), "iWARP");
}

/* Reads the name from "4: ACTIVE": sysfs prefixes a state with its number. */
static void read_state(const char *folder, const char *file, char *text, size_t size)
{
	size_t digits;

	sysfs_line(folder, text, size, "/%s", file);
	digits = strspn(text, "0123456789");
	if (digits && strncmp(text + digits, ": ", 2) == 0)
		memmove(text, text + digits + 2, strlen(text + digits + 2) + 1);
}

uint64_t inventory_megabits(const char *text)
{
	size_t digits = text ? strspn(text, "0123456789") : 0;
	uint64_t whole, tenth = 0;

	if (digits == 0 || digits > 9 || !sysfs_decimal(text, digits, &whole))
		return 0;
	text += digits;
	if (text[0] == '.' && sysfs_decimal(text + 1, 1, &tenth))
		text += 2;
	return strncmp(text, " Gb/sec", 7) == 0 ? whole * 1000 + tenth * 100 : 0;
}

/* Finds the interfaces of a port whose GIDs are known. */
static int read_interfaces(const struct origin *origin, const struct inventory_device *device,
	struct inventory_port *port)
{
	int error = 0;

	for (size_t i = 0; i < port->gid_count && !error; i++)
		error = add_interface(origin, port, port->gids[i].interface);
	if (!error)
		error = read_netlink(origin, device, port);
	if (!error) {
		find_namesakes(port);
		error = read_above(origin, device, port);
	}
	if (!error)
		find_stacks(origin, port);
	return error;
}

/* Reads a port of the device, which has this directory. */
static int read_port(const struct origin *origin, const char *directory,
	const struct inventory_device *device, bool several, struct inventory_port *port)
{
	char folder[PATH_MAX + sizeof("/ports/4294967295")];
	int error;

	snprintf(folder, sizeof(folder), "%s/ports/%u", directory, port->number);
	read_state(folder, "state", port->state, sizeof(port->state));
	read_state(folder, "phys_state", port->physical_state, sizeof(port->physical_state));
	sysfs_line(folder, port->link_layer, sizeof(port->link_layer), "/link_layer");
	sysfs_line(folder, port->rate, sizeof(port->rate), "/rate");
	port->megabits = inventory_megabits(port->rate);
	port->lid = read_number(folder, "lid");
	port->sm_lid = read_number(folder, "sm_lid");
	error = read_gids(origin, device->name, folder, port);
	if (inventory_is_iwarp(device))
		name_iwarp_gids(port);
	if (!error)
		error = add_interface(origin, port, device->parent);
	if (!error)
		error = read_siblings(origin, directory, several, port);
	return error ? error : read_interfaces(origin, device, port);
}

static int read_ports(
	const struct origin *origin, const char *folder, struct inventory_device *device)
{
	struct dirent **entries;
	int count = sysfs_list(folder, &entries, "/ports");
	int error = 0;

	device->ports = make_list(count, sizeof(*device->ports));
	if (!device->ports)
		error = -ENOMEM;
	for (int i = 0; i < count && !error; i++) {
		struct inventory_port *port = &device->ports[device->port_count];

		if (name_number(entries[i]->d_name, &port->number)) {
			device->port_count++;
			error = read_port(origin, folder, device, count > 1, port);
		}
	}
	sysfs_free(entries, count);
	return error;
}

/* Finds the character device of the RDMA device. */
static void read_uverbs(const char *root, struct inventory_device *device)
{
	struct dirent **entries;
	int count = sysfs_list(root, &entries, VERBS);

	for (int i = 0; i < count && !device->uverbs[0]; i++) {
		const char *file = entries[i]->d_name;
		char name[sizeof(device->name)];

		if (sysfs_line(root, name, sizeof(name), VERBS "/%s/ibdev", file) == 0 &&
			strcmp(name, device->name) == 0 &&
			copy(device->uverbs, sizeof(device->uverbs), file))
			device->access = sysfs_access(root, "/dev/infiniband/%s", file);
	}
	sysfs_free(entries, count);
}

static int read_device(const struct origin *origin, struct inventory_device *device)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s" DEVICES "/%s", origin->root, device->name);
	read_state(folder, "node_type", device->type, sizeof(device->type));
	sysfs_line(folder, device->description, sizeof(device->description), "/node_desc");
	sysfs_line(folder, device->firmware, sizeof(device->firmware), "/fw_ver");
	sysfs_line(folder, device->parent, sizeof(device->parent), "/parent");
	/* Only soft-RoCE has a parent, whose driver is that of the network interface. */
	if (device->parent[0])
		strcpy(device->driver, "rdma_rxe");
	else
		sysfs_link(folder, device->driver, sizeof(device->driver), "/device/driver");
	/* An adapter always has a driver. */
	if (device->driver[0] == '\0' && inventory_is_iwarp(device))
		strcpy(device->driver, "siw");
	read_uverbs(origin->root, device);
	return read_ports(origin, folder, device);
}

/* Reads the devices without /sys. */
static int read_verbs(const struct origin *origin, struct inventory *inventory)
{
	int error = verbs_devices_read(origin->device, inventory);

	for (size_t i = 0; i < inventory->device_count; i++)
		for (size_t j = 0; j < inventory->devices[i].port_count && !error; j++)
			error = read_interfaces(
				origin, &inventory->devices[i], &inventory->devices[i].ports[j]);
	return error;
}

static int read_devices(const struct origin *origin, struct inventory *inventory)
{
	struct dirent **entries;
	int count = sysfs_list(origin->root, &entries, DEVICES);
	int error = 0;

	inventory->devices = make_list(count, sizeof(*inventory->devices));
	if (!inventory->devices)
		error = -ENOMEM;
	for (int i = 0; i < count && !error; i++) {
		struct inventory_device *device = &inventory->devices[inventory->device_count];

		if (origin->device && strcmp(origin->device, entries[i]->d_name) != 0)
			continue;
		/* The kernel does not allow longer names: IB_DEVICE_NAME_MAX. */
		if (copy(device->name, sizeof(device->name), entries[i]->d_name)) {
			inventory->device_count++;
			error = read_device(origin, device);
		}
	}
	sysfs_free(entries, count);
	return error;
}

/* True if the directory exists. */
static bool has_folder(const char *root, const char *path)
{
	struct dirent **entries;
	int count = sysfs_list(root, &entries, "%s", path);

	sysfs_free(entries, count);
	return count >= 0;
}

/* True if /sys is not mounted. Its directory may exist, and contain anything. */
static bool lacks_sysfs(void)
{
	struct statfs system;

	return statfs("/sys", &system) || system.f_type != SYSFS_MAGIC;
}

static void read_host(const char *root, struct inventory *inventory)
{
	struct rlimit limit;
	bool exclusive;
	char mode[8];

	inventory->rdma_cm = sysfs_access(root, "/dev/infiniband/rdma_cm");
	inventory->sysfs_absent = *root == '\0' && lacks_sysfs();
	inventory->ib_core = has_folder(root, "/sys/module/ib_core");
	inventory->rdma_ucm = has_folder(root, "/sys/module/rdma_ucm");
	sysfs_line(root, mode, sizeof(mode), "/sys/module/ib_core/parameters/netns_mode");
	if (strcmp(mode, "Y") == 0)
		inventory->netns = INVENTORY_NETNS_SHARED;
	if (strcmp(mode, "N") == 0)
		inventory->netns = INVENTORY_NETNS_EXCLUSIVE;
	if (*mode == '\0' && *root == '\0' && rdma_netlink_exclusive(&exclusive) == 0)
		inventory->netns = exclusive ? INVENTORY_NETNS_EXCLUSIVE : INVENTORY_NETNS_SHARED;
	inventory->roce_absent = routing_domains_lack_roce(root);
	inventory->locked_max = UINT64_MAX;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		inventory->locked_max = limit.rlim_cur;
	inventory->ipc_lock = locked_memory_is_exempt(root);
}

static int take(const struct origin *origin, struct inventory *inventory)
{
	int error;

	memset(inventory, 0, sizeof(*inventory));
	read_host(origin->root, inventory);
	error = origin->running && inventory->sysfs_absent ? read_verbs(origin, inventory)
							   : read_devices(origin, inventory);
	if (error)
		inventory_free(inventory);
	return error;
}

int inventory_take_with(const char *root, const char *device, const struct ifaddrs *addresses,
	struct inventory *inventory)
{
	const struct origin origin = {.root = root, .device = device, .addresses = addresses};

	return take(&origin, inventory);
}

int inventory_take(const char *root, const char *device, struct inventory *inventory)
{
	struct origin origin = {.root = root, .device = device, .running = *root == '\0'};
	struct netlink_link *links = NULL;
	struct ifaddrs *addresses;
	int error, count = 0;

	if (getifaddrs(&addresses)) {
		memset(inventory, 0, sizeof(*inventory));
		return -errno;
	}
	if (origin.running)
		count = netlink_list_links(&links);
	origin.addresses = addresses;
	origin.links = links;
	origin.link_count = count > 0 ? (size_t)count : 0;
	error = take(&origin, inventory);
	free(links);
	freeifaddrs(addresses);
	return error;
}

static void free_port(struct inventory_port *port)
{
	for (size_t i = 0; i < port->interface_count; i++)
		free_interface(&port->interfaces[i]);
	free_interface(&port->unserved);
	free(port->interfaces);
	free(port->gids);
}

void inventory_free(struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->device_count; i++) {
		struct inventory_device *device = &inventory->devices[i];

		for (size_t j = 0; j < device->port_count; j++)
			free_port(&device->ports[j]);
		free(device->ports);
	}
	free(inventory->devices);
	memset(inventory, 0, sizeof(*inventory));
}

const struct inventory_device *inventory_device(const struct inventory *inventory, const char *name)
{
	for (size_t i = 0; i < inventory->device_count; i++)
		if (strcmp(inventory->devices[i].name, name) == 0)
			return &inventory->devices[i];
	return NULL;
}

const struct inventory_port *inventory_port(
	const struct inventory *inventory, const char *device, unsigned int port)
{
	const struct inventory_device *found = inventory_device(inventory, device);

	for (size_t i = 0; found && i < found->port_count; i++)
		if (found->ports[i].number == port)
			return &found->ports[i];
	return NULL;
}

const struct inventory_interface *inventory_interface(
	const struct inventory_port *port, const char *name)
{
	for (size_t i = 0; i < port->interface_count; i++)
		if (strcmp(port->interfaces[i].name, name) == 0)
			return &port->interfaces[i];
	return NULL;
}

const char *inventory_address(const struct inventory_interface *interface, bool link_local)
{
	for (size_t i = 0; i < interface->address_count; i++)
		if (interface->addresses[i].link_local == link_local)
			return interface->addresses[i].text;
	return NULL;
}
