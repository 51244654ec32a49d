#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "host/inventory.h"

#define DEVICES "/sys/class/infiniband"
#define VERBS   "/sys/class/infiniband_verbs"

/* Enough of /proc/self/status, in which CapEff stands in the first two KiB. */
#define STATUS_SIZE 8192

/* What all that read have in common. */
struct reader {
	const char *root;
	const struct ifaddrs *addresses;
	const char *device; /* that is being read */
};

/* The list with room for one more, which is all zero. NULL: no memory, and the list is as it was. */
static void *enlarge(void *list, size_t count, size_t size)
{
	char *larger = reallocarray(list, count + 1, size);

	if (larger)
		memset(larger + count * size, 0, size);
	return larger;
}

/* Copies the text if there is room for it. Returns false if there is none. */
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
	address_text(address, larger->text);
	larger->link_local =
		address->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
	return 0;
}

/* True if the addresses of this name belong to the interface: "eth0", or its label "eth0:1". */
static bool is_of_interface(const char *name, const char *interface)
{
	size_t length = strlen(interface);

	return strncmp(name, interface, length) == 0 &&
	       (name[length] == '\0' || name[length] == ':');
}

static int read_addresses(const struct reader *reader, struct inventory_interface *interface)
{
	int error = 0;

	for (const struct ifaddrs *a = reader->addresses; a && !error; a = a->ifa_next)
		if (a->ifa_addr && is_of_interface(a->ifa_name, interface->name) &&
			(a->ifa_addr->sa_family == AF_INET || a->ifa_addr->sa_family == AF_INET6))
			error = add_address(interface, a->ifa_addr);
	return error;
}

/* Adds a network interface to the port, unless it is there or its name can be none. */
static int add_interface(const struct reader *reader, struct inventory_port *port, const char *name)
{
	struct inventory_interface *larger;
	char checked[IF_NAMESIZE] = "";
	uint64_t mtu;

	if (!sysfs_is_name(name) || !copy(checked, sizeof(checked), name))
		return 0;
	for (size_t i = 0; i < port->interface_count; i++)
		if (strcmp(port->interfaces[i].name, name) == 0)
			return 0;
	larger = enlarge(port->interfaces, port->interface_count, sizeof(*port->interfaces));
	if (!larger)
		return -ENOMEM;
	port->interfaces = larger;
	larger += port->interface_count++;
	memcpy(larger->name, checked, sizeof(checked));
	sysfs_line(reader->root, larger->state, sizeof(larger->state),
		"/sys/class/net/%s/operstate", name);
	if (sysfs_number(reader->root, &mtu, "/sys/class/net/%s/mtu", name) == 0 &&
		mtu <= UINT32_MAX)
		larger->mtu = (unsigned int)mtu;
	return read_addresses(reader, larger);
}

/* Reads one entry of the GID table, and adds it and its network interface if it is not empty. */
static int read_gid(const struct reader *reader, struct inventory_port *port, unsigned int index)
{
	struct inventory_gid *larger;
	struct in6_addr gid;
	char text[64];

	if (sysfs_line(reader->root, text, sizeof(text), DEVICES "/%s/ports/%u/gids/%u",
		    reader->device, port->number, index) ||
		inet_pton(AF_INET6, text, &gid) != 1 || IN6_IS_ADDR_UNSPECIFIED(&gid))
		return 0;
	larger = enlarge(port->gids, port->gid_count, sizeof(*port->gids));
	if (!larger)
		return -ENOMEM;
	port->gids = larger;
	larger += port->gid_count++;
	larger->index = index;
	larger->link_local = IN6_IS_ADDR_LINKLOCAL(&gid);
	inet_ntop(AF_INET6, &gid, larger->text, sizeof(larger->text));
	sysfs_line(reader->root, larger->type, sizeof(larger->type),
		DEVICES "/%s/ports/%u/gid_attrs/types/%u", reader->device, port->number, index);
	sysfs_line(reader->root, larger->interface, sizeof(larger->interface),
		DEVICES "/%s/ports/%u/gid_attrs/ndevs/%u", reader->device, port->number, index);
	return add_interface(reader, port, larger->interface);
}

/* A number from a name, as of a port or a GID. Returns false if it is none, or too large. */
static bool name_number(const char *name, unsigned int *number)
{
	uint64_t value;

	if (!sysfs_decimal(name, strlen(name), &value) || value > UINT32_MAX)
		return false;
	*number = (unsigned int)value;
	return true;
}

static int read_gids(const struct reader *reader, struct inventory_port *port)
{
	struct dirent **entries;
	int error = 0, count = sysfs_list(reader->root, &entries, DEVICES "/%s/ports/%u/gids",
			       reader->device, port->number);

	for (int i = 0; i < count && !error; i++) {
		unsigned int index;

		if (name_number(entries[i]->d_name, &index))
			error = read_gid(reader, port, index);
	}
	sysfs_free(entries, count);
	return error;
}

/*
 * Adds the network interfaces that stand on the same adapter: those of InfiniBand and iWARP, which no
 * GID names. Where the device has several ports, dev_port says whose an interface is.
 */
static int read_siblings(const struct reader *reader, struct inventory_port *port, bool several)
{
	struct dirent **entries;
	int error = 0,
	    count = sysfs_list(reader->root, &entries, DEVICES "/%s/device/net", reader->device);

	for (int i = 0; i < count && !error; i++) {
		const char *name = entries[i]->d_name;
		uint64_t dev_port;

		if (!several || (sysfs_number(reader->root, &dev_port, "/sys/class/net/%s/dev_port",
					 name) == 0 &&
					dev_port + 1 == port->number))
			error = add_interface(reader, port, name);
	}
	sysfs_free(entries, count);
	return error;
}

/* The name in "4: ACTIVE": sysfs puts the number of a state before it. */
static void drop_number(char *text)
{
	size_t digits = strspn(text, "0123456789");

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

/* One of the port's files; "" if it cannot be read. */
static void read_field(const struct reader *reader, const struct inventory_port *port,
	const char *file, char *text, size_t size)
{
	sysfs_line(reader->root, text, size, DEVICES "/%s/ports/%u/%s", reader->device,
		port->number, file);
}

static unsigned int read_lid(
	const struct reader *reader, const struct inventory_port *port, const char *file)
{
	uint64_t lid;

	if (sysfs_number(reader->root, &lid, DEVICES "/%s/ports/%u/%s", reader->device,
		    port->number, file) ||
		lid > UINT32_MAX)
		return 0;
	return (unsigned int)lid;
}

static int read_port(const struct reader *reader, const struct inventory_device *device,
	struct inventory_port *port, bool several)
{
	int error;

	read_field(reader, port, "state", port->state, sizeof(port->state));
	drop_number(port->state);
	read_field(reader, port, "phys_state", port->physical_state, sizeof(port->physical_state));
	drop_number(port->physical_state);
	read_field(reader, port, "link_layer", port->link_layer, sizeof(port->link_layer));
	read_field(reader, port, "rate", port->rate, sizeof(port->rate));
	port->megabits = inventory_megabits(port->rate);
	port->lid = read_lid(reader, port, "lid");
	port->sm_lid = read_lid(reader, port, "sm_lid");
	error = read_gids(reader, port);
	if (!error)
		error = add_interface(reader, port, device->parent);
	if (!error)
		error = read_siblings(reader, port, several);
	return error;
}

static int read_ports(const struct reader *reader, struct inventory_device *device)
{
	struct dirent **entries;
	int error = 0,
	    count = sysfs_list(reader->root, &entries, DEVICES "/%s/ports", reader->device);

	for (int i = 0; i < count && !error; i++) {
		struct inventory_port *larger;
		unsigned int number;

		if (!name_number(entries[i]->d_name, &number))
			continue;
		larger = enlarge(device->ports, device->port_count, sizeof(*device->ports));
		if (!larger) {
			error = -ENOMEM;
			break;
		}
		device->ports = larger;
		larger += device->port_count++;
		larger->number = number;
		error = read_port(reader, device, larger, count > 1);
	}
	sysfs_free(entries, count);
	return error;
}

/* Finds the file through which programs reach the device. */
static void read_uverbs(const struct reader *reader, struct inventory_device *device)
{
	struct dirent **entries;
	int count = sysfs_list(reader->root, &entries, VERBS);

	for (int i = 0; i < count; i++) {
		char name[sizeof(device->name)];

		if (sysfs_line(reader->root, name, sizeof(name), VERBS "/%s/ibdev",
			    entries[i]->d_name) ||
			strcmp(name, device->name) != 0 ||
			!copy(device->uverbs, sizeof(device->uverbs), entries[i]->d_name))
			continue;
		device->access = sysfs_access(reader->root, "/dev/infiniband/%s", device->uverbs);
		break;
	}
	sysfs_free(entries, count);
}

static int read_device(const struct reader *reader, struct inventory_device *device)
{
	const char *root = reader->root, *name = device->name;

	sysfs_line(root, device->type, sizeof(device->type), DEVICES "/%s/node_type", name);
	drop_number(device->type);
	sysfs_line(root, device->description, sizeof(device->description), DEVICES "/%s/node_desc",
		name);
	sysfs_line(root, device->firmware, sizeof(device->firmware), DEVICES "/%s/fw_ver", name);
	sysfs_line(root, device->parent, sizeof(device->parent), DEVICES "/%s/parent", name);
	/* Only soft-RoCE names its parent, whose driver is another one. */
	if (device->parent[0])
		strcpy(device->driver, "rdma_rxe");
	else
		sysfs_link(root, device->driver, sizeof(device->driver),
			DEVICES "/%s/device/driver", name);
	read_uverbs(reader, device);
	return read_ports(reader, device);
}

static int read_devices(struct reader *reader, struct inventory *inventory)
{
	struct dirent **entries;
	int error = 0, count = sysfs_list(reader->root, &entries, DEVICES);

	for (int i = 0; i < count && !error; i++) {
		struct inventory_device *larger;
		char name[sizeof(larger->name)] = "";

		/* The kernel gives no longer names: IB_DEVICE_NAME_MAX. */
		if (!copy(name, sizeof(name), entries[i]->d_name))
			continue;
		larger = enlarge(
			inventory->devices, inventory->device_count, sizeof(*inventory->devices));
		if (!larger) {
			error = -ENOMEM;
			break;
		}
		inventory->devices = larger;
		larger += inventory->device_count++;
		memcpy(larger->name, name, sizeof(name));
		reader->device = larger->name;
		error = read_device(reader, larger);
	}
	sysfs_free(entries, count);
	return error;
}

/* True if the folder is there. */
static bool has_folder(const char *root, const char *path)
{
	struct dirent **entries;
	int count = sysfs_list(root, &entries, "%s", path);

	sysfs_free(entries, count);
	return count >= 0;
}

/* CapEff of the process, in hexadecimal: proc(5), capabilities(7). */
static bool has_ipc_lock(const char *root)
{
	static const char field[] = "\nCapEff:\t";
	char status[STATUS_SIZE];
	const char *found;

	if (sysfs_text(root, status, sizeof(status), "/proc/self/status"))
		return false;
	found = strstr(status, field);
	return found && (strtoull(found + strlen(field), NULL, 16) >> CAP_IPC_LOCK & 1);
}

static void read_host(const char *root, struct inventory *inventory)
{
	struct rlimit limit;
	char mode[8];

	inventory->host =
		host_rdma(root, inventory->host_evidence, sizeof(inventory->host_evidence));
	inventory->rdma_cm = sysfs_access(root, "/dev/infiniband/rdma_cm");
	inventory->ib_core = has_folder(root, "/sys/module/ib_core");
	inventory->rdma_ucm = has_folder(root, "/sys/module/rdma_ucm");
	sysfs_line(root, mode, sizeof(mode), "/sys/module/ib_core/parameters/netns_mode");
	if (strcmp(mode, "Y") == 0)
		inventory->netns = INVENTORY_NETNS_SHARED;
	if (strcmp(mode, "N") == 0)
		inventory->netns = INVENTORY_NETNS_EXCLUSIVE;
	inventory->locked_max = UINT64_MAX;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		inventory->locked_max = limit.rlim_cur;
	inventory->ipc_lock = has_ipc_lock(root);
}

int inventory_take_with(
	const char *root, const struct ifaddrs *addresses, struct inventory *inventory)
{
	struct reader reader = {.root = root, .addresses = addresses};
	int error;

	memset(inventory, 0, sizeof(*inventory));
	read_host(root, inventory);
	error = read_devices(&reader, inventory);
	if (error)
		inventory_free(inventory);
	return error;
}

int inventory_take(const char *root, struct inventory *inventory)
{
	struct ifaddrs *addresses;
	int error;

	if (getifaddrs(&addresses)) {
		memset(inventory, 0, sizeof(*inventory));
		return -errno;
	}
	error = inventory_take_with(root, addresses, inventory);
	freeifaddrs(addresses);
	return error;
}

static void free_port(struct inventory_port *port)
{
	for (size_t i = 0; i < port->interface_count; i++)
		free(port->interfaces[i].addresses);
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

const struct inventory_port *inventory_find(
	const struct inventory *inventory, const char *device, unsigned int port)
{
	const struct inventory_device *found = inventory_device(inventory, device);

	for (size_t i = 0; found && i < found->port_count; i++)
		if (found->ports[i].number == port)
			return &found->ports[i];
	return NULL;
}
