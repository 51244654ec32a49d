#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "host/inventory.h"

/* What one judgement found. */
struct finding {
	enum readiness lacks;
	char evidence[320];
};

/* From what is missing first to what is missing last: the port that lacks the last lacks least. */
static const enum readiness order[] = {HOST_NO_DEVICE, HOST_NO_UVERBS, HOST_NO_ACCESS,
	HOST_PORT_DOWN, HOST_NO_SUBNET, HOST_NO_DEVICE_ADDRESS, HOST_LINK_LOCAL, HOST_READY};

static size_t rank(enum readiness lacks)
{
	size_t place = 0;

	while (order[place] != lacks && order[place] != HOST_READY)
		place++;
	return place;
}

static void find(struct finding *finding, enum readiness lacks, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void find(struct finding *finding, enum readiness lacks, const char *format, ...)
{
	va_list arguments;

	finding->lacks = lacks;
	va_start(arguments, format);
	vsnprintf(finding->evidence, sizeof(finding->evidence), format, arguments);
	va_end(arguments);
}

static void judge_access(const struct inventory_device *device, struct finding *finding)
{
	if (!device->uverbs[0])
		find(finding, HOST_NO_UVERBS, "/sys/class/infiniband_verbs does not name %s",
			device->name);
	else if (device->access == SYSFS_MISSING)
		find(finding, HOST_NO_UVERBS, "%s is there, /dev/infiniband/%s is not",
			device->name, device->uverbs);
	else if (device->access == SYSFS_DENIED)
		find(finding, HOST_NO_ACCESS, "no right to read and write /dev/infiniband/%s",
			device->uverbs);
}

static bool is_infiniband(const struct inventory_port *port)
{
	return strcmp(port->link_layer, "InfiniBand") == 0;
}

static void judge_state(const struct inventory_device *device, const struct inventory_port *port,
	struct finding *finding)
{
	const struct inventory_interface *first = port->interfaces;
	char interface[64] = "";

	if (strncmp(port->state, "ACTIVE", 6) == 0)
		return;
	/* Its link is up, and waits for somebody who gives it an address. */
	if (is_infiniband(port) && strcmp(port->state, "INIT") == 0) {
		find(finding, HOST_NO_SUBNET, "port %s/%u is INIT, its subnet manager's LID is %u",
			device->name, port->number, port->sm_lid);
		return;
	}
	if (port->interface_count)
		snprintf(interface, sizeof(interface), ", network interface %s is %s", first->name,
			first->state[0] ? first->state : "unknown");
	find(finding, HOST_PORT_DOWN, "port %s/%u is %s%s%s%s%s", device->name, port->number,
		port->state[0] ? port->state : "in no known state",
		port->physical_state[0] ? " (" : "", port->physical_state,
		port->physical_state[0] ? ")" : "", interface);
}

/* The first address of the port that is link-local, or that is not; NULL if there is none. */
static const char *find_address(const struct inventory_port *port, bool link_local)
{
	for (size_t i = 0; i < port->interface_count; i++) {
		const struct inventory_interface *interface = &port->interfaces[i];

		for (size_t j = 0; j < interface->address_count; j++)
			if (interface->addresses[j].link_local == link_local)
				return interface->addresses[j].text;
	}
	return NULL;
}

/* RoCE reaches its peers by GIDs that are made of IP addresses. */
static bool has_gid(const struct inventory_port *port)
{
	for (size_t i = 0; i < port->gid_count; i++)
		if (!port->gids[i].link_local)
			return true;
	return false;
}

static void judge_address(const struct inventory_device *device, const struct inventory_port *port,
	struct finding *finding)
{
	bool iwarp = strcmp(device->type, "RNIC") == 0;
	const char *address = find_address(port, false), *local = find_address(port, true);

	/* Older kernels do not say which interface an iWARP device belongs to. */
	if (iwarp && port->interface_count == 0)
		return;
	if (address && !iwarp && !is_infiniband(port) && !has_gid(port))
		find(finding, HOST_NO_DEVICE_ADDRESS, "port %s/%u has no GID of its address %s",
			device->name, port->number, address);
	else if (address)
		return;
	else if (local)
		find(finding, HOST_LINK_LOCAL, "port %s/%u has only %s", device->name, port->number,
			local);
	else if (port->interface_count)
		find(finding, HOST_NO_DEVICE_ADDRESS,
			"port %s/%u: network interface %s has no address", device->name,
			port->number, port->interfaces[0].name);
	else
		find(finding, HOST_NO_DEVICE_ADDRESS, "port %s/%u has no network interface",
			device->name, port->number);
}

static void judge_port(const struct inventory_device *device, const struct inventory_port *port,
	struct finding *finding)
{
	*finding = (struct finding){.lacks = HOST_READY};
	judge_access(device, finding);
	if (finding->lacks == HOST_READY)
		judge_state(device, port, finding);
	if (finding->lacks == HOST_READY)
		judge_address(device, port, finding);
}

/* Keeps what the device's best port lacks, if that is less than what is kept already. */
static void judge_device(const struct inventory_device *device, struct finding *kept)
{
	struct finding finding = {.lacks = HOST_READY};

	judge_access(device, &finding);
	if (finding.lacks == HOST_READY)
		find(&finding, HOST_PORT_DOWN, "device %s has no port", device->name);
	if (device->port_count == 0 && rank(finding.lacks) > rank(kept->lacks))
		*kept = finding;
	for (size_t i = 0; i < device->port_count; i++) {
		judge_port(device, &device->ports[i], &finding);
		if (rank(finding.lacks) > rank(kept->lacks))
			*kept = finding;
	}
}

static void judge_host(const struct inventory *inventory, struct finding *finding)
{
	char size[UNITS_TEXT];

	if (inventory->host != HOST_READY) {
		find(finding, inventory->host, "%s", inventory->host_evidence);
		return;
	}
	find(finding, HOST_NO_DEVICE, "no device has a name that it can have");
	for (size_t i = 0; i < inventory->device_count; i++)
		judge_device(&inventory->devices[i], finding);
	if (finding->lacks == HOST_READY && !inventory->ipc_lock &&
		inventory->locked_max < INVENTORY_LOCKED_MIN)
		find(finding, HOST_LOCKED_MEMORY, "the limit is %s",
			units_format(size, inventory->locked_max));
}

enum readiness inventory_judge(const struct inventory *inventory, char *evidence, size_t size)
{
	struct finding finding = {.lacks = HOST_READY};

	judge_host(inventory, &finding);
	snprintf(evidence, size, "%s", finding.evidence);
	return finding.lacks;
}

enum readiness inventory_judge_port(const struct inventory_device *device,
	const struct inventory_port *port, char *evidence, size_t size)
{
	struct finding finding;

	judge_port(device, port, &finding);
	snprintf(evidence, size, "%s", finding.evidence);
	return finding.lacks;
}
