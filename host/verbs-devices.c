/*
 * Opens each device, reads its attributes and closes it. The lists belong to the inventory as soon
 * as they are allocated.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/gid-table.h"
#include "host/verbs-devices.h"

static const char *const states[] = {
	[IBV_PORT_NOP] = "",
	[IBV_PORT_DOWN] = "DOWN",
	[IBV_PORT_INIT] = "INIT",
	[IBV_PORT_ARMED] = "ARMED",
	[IBV_PORT_ACTIVE] = "ACTIVE",
	[IBV_PORT_ACTIVE_DEFER] = "ACTIVE_DEFER",
};

/* Returns the type as sysfs names it. */
static const char *type_of(const struct ibv_device *device)
{
	if (device->transport_type == IBV_TRANSPORT_IWARP)
		return "RNIC";
	switch (device->node_type) {
	case IBV_NODE_USNIC:
		return "usNIC";
	case IBV_NODE_USNIC_UDP:
		return "usNIC UDP";
	case IBV_NODE_UNSPECIFIED:
		return "unspecified";
	default:
		return "CA";
	}
}

static void read_attributes(struct ibv_context *context, struct inventory_port *port)
{
	struct ibv_port_attr attributes = {0};
	size_t state;

	ibv_query_port(context, (uint8_t)port->number, &attributes);
	state = (size_t)attributes.state;
	if (state < sizeof(states) / sizeof(states[0]))
		snprintf(port->state, sizeof(port->state), "%s", states[state]);
	if (attributes.link_layer != IBV_LINK_LAYER_UNSPECIFIED)
		snprintf(port->link_layer, sizeof(port->link_layer), "%s",
			attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet"
									 : "InfiniBand");
	port->lid = attributes.lid;
	port->sm_lid = attributes.sm_lid;
}

/* The name of the interface that was asked for last. */
struct interface {
	unsigned int index;
	char name[IF_NAMESIZE];
};

static void copy_gid(struct inventory_gid *gid, const struct ibv_gid_entry *entry, bool iwarp,
	struct interface *interface)
{
	const struct in6_addr *address = (const struct in6_addr *)entry->gid.raw;

	gid->index = entry->gid_index;
	gid->link_local = IN6_IS_ADDR_LINKLOCAL(address);
	inet_ntop(AF_INET6, address, gid->text, sizeof(gid->text));
	snprintf(gid->type, sizeof(gid->type), "%s",
		iwarp                                     ? "iWARP"
		: entry->gid_type == IBV_GID_TYPE_ROCE_V2 ? "RoCE v2"
							  : "IB/RoCE v1");
	if (interface->index != entry->ndev_ifindex) {
		interface->index = entry->ndev_ifindex;
		if (!if_indextoname(interface->index, interface->name))
			interface->name[0] = '\0';
	}
	snprintf(gid->interface, sizeof(gid->interface), "%s", interface->name);
}

/* Reads the GIDs of all ports. If the kernel does not list them, they remain unknown. */
static int read_gids(struct ibv_context *context, struct inventory_device *device)
{
	struct interface interface = {0};
	struct ibv_gid_entry *entries;
	ssize_t valid = gid_table_entries(context, &entries);
	size_t size = valid < 0 ? 0 : (size_t)valid;
	int error = valid == -ENOMEM ? -ENOMEM : 0;

	for (size_t i = 0; i < device->port_count && !error; i++) {
		struct inventory_port *port = &device->ports[i];

		port->gids = calloc(size + 1, sizeof(*port->gids));
		error = port->gids ? 0 : -ENOMEM;
		for (ssize_t j = 0; j < valid && !error; j++)
			if (entries[j].port_num == port->number)
				copy_gid(&port->gids[port->gid_count++], &entries[j],
					strcmp(device->type, "RNIC") == 0, &interface);
	}
	free(entries);
	return error;
}

static int read_ports(struct ibv_context *context, struct inventory_device *device)
{
	struct ibv_device_attr attributes = {0};

	ibv_query_device(context, &attributes);
	snprintf(device->firmware, sizeof(device->firmware), "%.47s", attributes.fw_ver);
	device->ports = calloc((size_t)attributes.phys_port_cnt + 1, sizeof(*device->ports));
	if (!device->ports)
		return -ENOMEM;
	for (unsigned int number = 1; number <= attributes.phys_port_cnt; number++) {
		device->ports[device->port_count].number = number;
		read_attributes(context, &device->ports[device->port_count++]);
	}
	return read_gids(context, device);
}

static void read_names(const struct ibv_device *from, struct inventory_device *device)
{
	snprintf(device->name, sizeof(device->name), "%s",
		ibv_get_device_name((struct ibv_device *)from));
	snprintf(device->uverbs, sizeof(device->uverbs), "%.31s", from->dev_name);
	snprintf(device->type, sizeof(device->type), "%s", type_of(from));
}

static int read_device(struct ibv_device *from, struct inventory_device *device)
{
	struct ibv_context *context;
	int error;

	read_names(from, device);
	device->access = sysfs_access("", "/dev/infiniband/%s", device->uverbs);
	context = ibv_open_device(from);
	if (!context)
		return 0;
	error = read_ports(context, device);
	ibv_close_device(context);
	return error;
}

int verbs_devices_read_open(
	struct ibv_context *const contexts[], size_t count, struct inventory *inventory)
{
	int error = 0;

	inventory->devices = calloc(count + 1, sizeof(*inventory->devices));
	if (!inventory->devices)
		return -ENOMEM;
	for (size_t i = 0; i < count && !error; i++) {
		struct inventory_device *device = &inventory->devices[inventory->device_count++];

		read_names(contexts[i]->device, device);
		error = read_ports(contexts[i], device);
	}
	return error;
}

int verbs_devices_read(const char *device, struct inventory *inventory)
{
	int count = 0, error = 0;
	struct ibv_device **devices = ibv_get_device_list(&count);

	inventory->devices = calloc((size_t)count + 1, sizeof(*inventory->devices));
	if (!inventory->devices)
		error = -ENOMEM;
	for (int i = 0; devices && i < count && !error; i++)
		if (!device || strcmp(ibv_get_device_name(devices[i]), device) == 0)
			error = read_device(
				devices[i], &inventory->devices[inventory->device_count++]);
	if (devices)
		ibv_free_device_list(devices);
	return error;
}
