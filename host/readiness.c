#include <dirent.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "host/readiness.h"
#include "host/sysfs.h"

/* A GID table has holes; after this many empty entries in a row nothing more is expected. */
#define GID_HOLES_MAX 64

/* Called for every pair of RDMA device and network interface; stops the walk by returning true. */
typedef bool visit_interface(const char *device, const char *interface, void *context);

/* Opens root/format...; NULL if it is not there. */
static DIR *open_folder(const char *root, const char *path)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", root, path);
	return opendir(full);
}

/* The next entry that is not hidden, NULL at the end. */
static const char *next_entry(DIR *folder)
{
	struct dirent *entry;

	do {
		entry = readdir(folder);
	} while (entry && entry->d_name[0] == '.');
	return entry ? entry->d_name : NULL;
}

/* Reads the interface of one entry of a port's GID table. Returns false if the entry is empty. */
static bool gid_interface(const char *root, const char *device, const char *port,
	unsigned int index, char interface[IF_NAMESIZE])
{
	return sysfs_line(root, interface, IF_NAMESIZE,
		       "/sys/class/infiniband/%s/ports/%s/gid_attrs/ndevs/%u", device, port,
		       index) == 0 &&
	       *interface;
}

/* RoCE: the interfaces that a port's GIDs belong to. */
static bool visit_port(const char *root, const char *device, const char *port,
	visit_interface *visit, void *context)
{
	char interface[IF_NAMESIZE], last[IF_NAMESIZE] = "";
	unsigned int holes = 0;

	for (unsigned int i = 0; holes < GID_HOLES_MAX; i++) {
		if (!gid_interface(root, device, port, i, interface)) {
			holes++;
			continue;
		}
		holes = 0;
		if (strcmp(interface, last) != 0 && visit(device, interface, context))
			return true;
		memcpy(last, interface, sizeof(last));
	}
	return false;
}

/* Visits each entry of a folder below the device: its ports, or (InfiniBand, iWARP) its net/. */
static bool visit_device(
	const char *root, const char *device, visit_interface *visit, void *context)
{
	char path[PATH_MAX];
	bool stopped = false;
	const char *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports", device);
	folder = open_folder(root, path);
	while (folder && !stopped && (entry = next_entry(folder)))
		stopped = visit_port(root, device, entry, visit, context);
	if (folder)
		closedir(folder);

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/net", device);
	folder = stopped ? NULL : open_folder(root, path);
	while (folder && !stopped && (entry = next_entry(folder)))
		stopped = visit(device, entry, context);
	if (folder)
		closedir(folder);
	return stopped;
}

/* Visits the interfaces of one RDMA device, or of all if device is NULL. */
static void visit_interfaces(
	const char *root, const char *device, visit_interface *visit, void *context)
{
	DIR *folder = open_folder(root, "/sys/class/infiniband");
	bool stopped = false;
	const char *entry;

	while (folder && !stopped && (entry = next_entry(folder)))
		if (!device || strcmp(device, entry) == 0)
			stopped = visit_device(root, entry, visit, context);
	if (folder)
		closedir(folder);
}

/* Writes the devices of this host into names, separated by spaces. Returns how many. */
static unsigned int list_devices(const char *root, char *names, size_t size)
{
	DIR *folder = open_folder(root, "/sys/class/infiniband");
	unsigned int count = 0;
	const char *entry;
	size_t used = 0;

	*names = '\0';
	while (folder && (entry = next_entry(folder))) {
		if (used < size)
			used += (size_t)snprintf(
				names + used, size - used, "%s%s", count ? " " : "", entry);
		count++;
	}
	if (folder)
		closedir(folder);
	return count;
}

/* There is none, or each belongs to a network namespace and none to this one. rdma-system(8). */
static enum readiness no_device(const char *root, char *evidence, size_t size)
{
	char mode[8];
	bool hidden = sysfs_line(root, mode, sizeof(mode),
			      "/sys/module/ib_core/parameters/netns_mode") == 0 &&
		      strcmp(mode, "N") == 0;

	snprintf(evidence, size, "/sys/class/infiniband holds none%s",
		hidden ? "; netns_mode of ib_core is exclusive" : "");
	return hidden ? HOST_DEVICES_HIDDEN : HOST_NO_DEVICE;
}

enum readiness host_rdma(const char *root, char *evidence, size_t size)
{
	char names[128];

	if (list_devices(root, names, sizeof(names)) == 0)
		return no_device(root, evidence, size);
	switch (sysfs_access(root, "/dev/infiniband/rdma_cm")) {
	case SYSFS_GRANTED:
		return HOST_READY;
	case SYSFS_DENIED:
		snprintf(evidence, size, "no right to read and write /dev/infiniband/rdma_cm");
		return HOST_NO_ACCESS;
	default:
		snprintf(evidence, size, "device %s is there, /dev/infiniband/rdma_cm is not",
			names);
		return HOST_NO_RDMA_CM;
	}
}

struct address_search {
	const struct ifaddrs *addresses;
	int family;
	struct sockaddr_storage *found;
	int rank; /* of what was found: 0 nothing, then the better the higher */
};

/* How much an address is wanted: IPv4 before IPv6 before IPv6 link-local. */
static int address_rank(const struct sockaddr *address, int family)
{
	if (!address || (family != AF_UNSPEC && address->sa_family != family))
		return 0;
	if (address->sa_family == AF_INET)
		return 3;
	if (address->sa_family != AF_INET6)
		return 0;
	return IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)address)->sin6_addr) ? 1 : 2;
}

static bool search_interface(const char *device, const char *interface, void *context)
{
	struct address_search *search = context;

	(void)device;
	for (const struct ifaddrs *a = search->addresses; a; a = a->ifa_next) {
		int rank = address_rank(a->ifa_addr, search->family);

		if (strcmp(a->ifa_name, interface) != 0 || rank <= search->rank)
			continue;
		search->rank = rank;
		memcpy(search->found, a->ifa_addr, address_length(a->ifa_addr));
	}
	return false;
}

bool host_has_device(const char *root, const char *device)
{
	char path[PATH_MAX];

	if (!sysfs_is_name(device))
		return false;
	snprintf(path, sizeof(path), "%s/sys/class/infiniband/%s", root, device);
	return access(path, F_OK) == 0;
}

enum readiness host_device_address(
	const char *root, const char *device, int family, struct sockaddr_storage *address)
{
	struct address_search search = {.family = family, .found = address};
	struct ifaddrs *addresses = NULL;

	if (!host_has_device(root, device))
		return HOST_NO_SUCH_DEVICE;
	memset(address, 0, sizeof(*address));
	if (getifaddrs(&addresses) == 0) {
		search.addresses = addresses;
		visit_interfaces(root, device, search_interface, &search);
		freeifaddrs(addresses);
	}
	return search.rank ? HOST_READY : HOST_NO_DEVICE_ADDRESS;
}

struct address_list {
	const struct ifaddrs *addresses;
	char *text;
	size_t size, used;
};

static bool list_interface(const char *device, const char *interface, void *context)
{
	struct address_list *list = context;
	char address[ADDRESS_TEXT_SIZE], entry[ADDRESS_TEXT_SIZE + 128];

	for (const struct ifaddrs *a = list->addresses; a && list->used < list->size;
		a = a->ifa_next) {
		if (strcmp(a->ifa_name, interface) != 0 || address_rank(a->ifa_addr, AF_UNSPEC) < 2)
			continue;
		address_text(a->ifa_addr, address);
		snprintf(entry, sizeof(entry), "%s (%s, %s)", address, device, interface);
		/* Several GIDs can belong to one interface, and net/ can name it again. */
		if (strstr(list->text, entry))
			continue;
		list->used += (size_t)snprintf(list->text + list->used, list->size - list->used,
			"%s%s", list->used ? ", " : "", entry);
	}
	return false;
}

void host_rdma_addresses(const char *root, char *text, size_t size)
{
	struct address_list list = {.text = text, .size = size};
	struct ifaddrs *addresses = NULL;

	*text = '\0';
	if (getifaddrs(&addresses) == 0) {
		list.addresses = addresses;
		visit_interfaces(root, NULL, list_interface, &list);
		freeifaddrs(addresses);
	}
	if (list.used == 0)
		snprintf(text, size, "none");
}

void host_route_interface(const struct sockaddr *address, char *name, size_t size)
{
	int probe = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage source = {0};
	socklen_t length = sizeof(source);
	struct ifaddrs *addresses = NULL;
	char wanted[ADDRESS_TEXT_SIZE], have[ADDRESS_TEXT_SIZE];

	*name = '\0';
	/* Connecting a UDP socket only asks the routing table; no packet leaves. */
	if (probe < 0)
		return;
	if (connect(probe, address, address_length(address)) == 0 &&
		getsockname(probe, (struct sockaddr *)&source, &length) == 0 &&
		getifaddrs(&addresses) == 0) {
		address_text((struct sockaddr *)&source, wanted);
		for (const struct ifaddrs *a = addresses; a && *name == '\0'; a = a->ifa_next) {
			if (!address_rank(a->ifa_addr, source.ss_family))
				continue;
			address_text(a->ifa_addr, have);
			if (strcmp(have, wanted) == 0)
				snprintf(name, size, "%s", a->ifa_name);
		}
		freeifaddrs(addresses);
	}
	close(probe);
}

void host_route_evidence(const char *root, const char *source, const struct sockaddr *address,
	char *text, size_t size)
{
	char interface[32] = "";
	size_t used;

	if (source) {
		snprintf(text, size, "--source %s", source);
	} else {
		host_route_interface(address, interface, sizeof(interface));
		snprintf(text, size, "the route leaves through %s",
			*interface ? interface : "no interface");
	}
	used = strlen(text);
	snprintf(text + used, size - used, "; RDMA addresses of this host: ");
	used = strlen(text);
	host_rdma_addresses(root, text + used, size - used);
}
