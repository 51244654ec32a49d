/*
 * Collects the facts of this end of a control connection: program, device, port, limits and
 * counters. The lists belong to the caller; no state is kept between calls.
 */
#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/text.h"
#include "base/version.h"
#include "control/control.h"
#include "host/counters.h"
#include "host/inventory.h"
#include "host/sysfs.h"
#include "protocol/test-parameters.h"
#include "verbs/device-events.h"

/*
 * Finds the connection's GID in the inventory; returns NULL if it is not listed. RoCE has one GID
 * per version for each address, distinguished only by index. The packets of InfiniBand within a
 * subnet contain no GID, and its GIDs have only one type.
 */
static const struct inventory_gid *gid_in_use(
	const struct inventory_port *port, const struct control *control)
{
	struct ibv_global_route route;
	char text[INET6_ADDRSTRLEN];
	bool known;

	/* The ids of iWARP have no GID, and its ports have one each. */
	if (port->gid_count == 1)
		return port->gids;
	known = endpoint_global_route(&control->endpoint, &route);
	inet_ntop(AF_INET6, control->id->route.addr.addr.ibaddr.sgid.raw, text, sizeof(text));
	for (size_t i = 0; i < port->gid_count; i++)
		if (known ? port->gids[i].index == route.sgid_index
			  : strcmp(port->gids[i].text, text) == 0)
			return &port->gids[i];
	return NULL;
}

static void add_port(
	struct facts *facts, const struct inventory_port *port, const struct control *control)
{
	const struct inventory_gid *gid = gid_in_use(port, control);
	const struct inventory_interface *interface =
		gid ? inventory_interface(port, gid->interface) : NULL;

	/* The GIDs of InfiniBand, and of iWARP in Linux 6.1, name no interface. */
	if (!interface && port->interface_count == 1)
		interface = port->interfaces;

	facts_add(facts, "state", "%s", port->state);
	facts_add(facts, "link layer", "%s", port->link_layer);
	facts_add(facts, "rate", "%s", port->rate);
	if (gid) {
		facts_add(facts, "gid", "%s", gid->text);
		facts_add(facts, "gid type", "%s", gid->type);
	}
	if (interface) {
		facts_add(facts, "interface", "%s", interface->name);
		facts_add(facts, "interface mtu", "%u", interface->mtu);
	}
}

/*
 * Adds the current speed and width of the adapter's PCIe link: a slow or narrow link is a common
 * cause of low bandwidth. Soft-RoCE has no such link.
 */
static void add_bus(struct facts *facts, const char *device)
{
	char speed[32], width[16];

	if (sysfs_line("", speed, sizeof(speed),
		    "/sys/class/infiniband/%s/device/current_link_speed", device) == 0 &&
		sysfs_line("", width, sizeof(width),
			"/sys/class/infiniband/%s/device/current_link_width", device) == 0)
		facts_add(facts, "bus", "%s x%s", speed, width);
}

/* Adds the NUMA nodes: a device or thread accesses another node's memory more slowly. */
static void add_nodes(struct facts *facts, const char *device)
{
	char node[16];
	unsigned int thread;

	if (sysfs_line("", node, sizeof(node), "/sys/class/infiniband/%s/device/numa_node",
		    device) == 0 &&
		*node != '-')
		facts_add(facts, "numa node", "%s", node);
	if (getcpu(NULL, &thread) == 0)
		facts_add(facts, "thread numa node", "%u", thread);
}

static const char *on_or_off(bool on)
{
	return on ? "on" : "off";
}

/* Adds how the connection uses the hardware. */
static void add_tuning(struct facts *facts, const struct control *control)
{
	const struct region *region = &control->private;
	char processors[FACT_VALUE_SIZE];
	int dscp = endpoint_dscp(&control->endpoint);

	if (dscp >= 0)
		facts_add(facts, "dscp", "%d", dscp);
	facts_add(facts, "relaxed ordering", "%s",
		on_or_off(region->access & IBV_ACCESS_RELAXED_ORDERING));
	facts_add(facts, "huge pages", "%s", on_or_off(region->huge));
	locality_text(&control->device.locality, processors, sizeof(processors));
	if (*processors)
		facts_add(facts, "processors", "%s", processors);
	facts_add(facts, "completion vector", "%d", control->endpoint.vector);
}

/* Adds the operations that a measurement may ask for. */
static void add_operations(struct facts *facts, const struct device *device)
{
	char names[FACT_VALUE_SIZE] = "";

	for (unsigned int i = 0; i < TEST_OPERATIONS; i++) {
		const struct test_operation *operation = &test_operations[i];

		if ((!operation->atomic || device_has_atomics(device)) &&
			(!operation->immediate || device->traits->immediate))
			text_append(
				names, sizeof(names), "%s%s", *names ? " " : "", operation->name);
	}
	facts_add(facts, "operations", "%s", names);
}

/* Adds the limits of a measurement's options, as pairs of a word and a number. */
static void add_test_limits(struct facts *facts, const struct control *control)
{
	const struct ibv_device_attr *device = &control->device.attributes;
	bool in_order = !control->device.traits->completes_out_of_order;

	facts_add(facts, "test limits",
		"inline %u sge %d sge-rd %d signal-every %d srq %d mtu %u "
		"shared-counter 1",
		control->endpoint.pairs->size.inline_max, device->max_sge, device->max_sge_rd,
		in_order ? TEST_DEPTH_MAX : 1, device->max_srq,
		control->device.traits->own_queue_pairs
			? device_mtu(&control->device, control->id->port_num)
			: 0);
}

static void add_limits(struct facts *facts, const struct inventory *inventory,
	const struct ibv_device_attr *device)
{
	facts_add(facts, "reads answered", "%d", device->max_qp_rd_atom);
	facts_add(facts, "reads asked", "%d", device->max_qp_init_rd_atom);
	if (inventory->ipc_lock || inventory->locked_max == UINT64_MAX)
		facts_add(facts, "locked memory", "unlimited");
	else
		facts_add(facts, "locked memory", "%llu KiB",
			(unsigned long long)inventory->locked_max / 1024);
}

void control_facts(const struct control *control, struct facts *facts)
{
	const struct rdma_cm_id *id = control->id;
	const char *name = ibv_get_device_name(id->verbs->device);
	const struct inventory_device *device;
	const struct inventory_port *port;
	struct ibv_port_attr attributes = {0};
	struct inventory inventory;
	struct utsname system;

	*facts = (struct facts){0};
	facts_add(facts, "version", "%s", PROJECT_VERSION);
	if (uname(&system) == 0)
		facts_add(facts, "kernel", "%s", system.release);
	facts_add(facts, "device", "%s", name);
	facts_add(facts, "port", "%u", id->port_num);
	ibv_query_port(id->verbs, id->port_num, &attributes);
	facts_add(facts, "rdma mtu", "%u", device_mtu_bytes(attributes.active_mtu));
	add_operations(facts, &control->device);
	add_test_limits(facts, control);
	if (inventory_take("", name, &inventory))
		return;
	device = inventory_device(&inventory, name);
	port = inventory_port(&inventory, name, id->port_num);
	if (device)
		facts_add(facts, "driver", "%s", device->driver);
	if (device && *device->firmware)
		facts_add(facts, "firmware", "%s", device->firmware);
	if (port)
		add_port(facts, port, control);
	add_bus(facts, name);
	add_nodes(facts, name);
	add_tuning(facts, control);
	add_limits(facts, &inventory, &control->device.attributes);
	inventory_free(&inventory);
}

void control_counters(const struct control *control, struct counters *counters)
{
	const struct rdma_cm_id *id = control->id;

	if (counters_read("", ibv_get_device_name(id->verbs->device), id->port_num, counters))
		*counters = (struct counters){0};
	device_events_count(ibv_get_device_name(id->verbs->device), id->port_num, counters);
}
