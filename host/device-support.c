/*
 * The table of unsupported devices. The kernel's rdma_cm serves only ports with a connection
 * manager of InfiniBand or iWARP: cma_supported(). It finds them by the addresses of network
 * interfaces. To add a device, add a row.
 */
#include <string.h>

#include "host/device-support.h"

#define NODE_TYPE "cma_supported(), node type"

static const struct unsupported rows[] = {
	{"efa", NULL, false, false, HOST_NO_MANAGER,
		"an Elastic Fabric Adapter, which libfabric's efa provider uses: fi_pingpong -p efa",
		"efa_ib_device_add(): RDMA_NODE_UNSPECIFIED, without a connection manager"},
	{NULL, "usNIC", false, false, HOST_NO_MANAGER,
		"a Cisco usNIC, which libfabric's usnic provider uses: fi_pingpong -p usnic",
		NODE_TYPE},
	{NULL, "usNIC UDP", false, false, HOST_NO_MANAGER,
		"a Cisco usNIC, which libfabric's usnic provider uses: fi_pingpong -p usnic",
		NODE_TYPE},
	{NULL, "unspecified", false, false, HOST_NO_MANAGER,
		"neither InfiniBand, RoCE nor iWARP: only its vendor's software uses it",
		NODE_TYPE},
	{"mana", NULL, true, false, HOST_NO_MANAGER,
		"an Azure adapter without RoCE, which DPDK's mana driver uses",
		"mana_ib_get_port_immutable(): only raw packets"},
	{NULL, NULL, false, true, HOST_NO_INTERFACE, "", "rdma_bind_addr(3)"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const struct unsupported *device_support_row(size_t index)
{
	return index < COUNT(rows) ? &rows[index] : NULL;
}

/*
 * True if the port has no network interface. If the port's own is not in this network namespace,
 * GIDs show that there is one in another. Older kernels do not report that of an iWARP device.
 */
static bool lacks_interface(
	const struct inventory_device *device, const struct inventory_port *port)
{
	return port->interface_count == 0 && !inventory_is_iwarp(device) &&
	       (!port->own_elsewhere || port->gid_count == 0);
}

static bool applies(const struct unsupported *row, const struct inventory_device *device,
	const struct inventory_port *port)
{
	return (!row->driver || strcmp(row->driver, device->driver) == 0) &&
	       (!row->type || strcmp(row->type, device->type) == 0) &&
	       (!row->no_gid || port->gid_count == 0) &&
	       (!row->no_interface || lacks_interface(device, port));
}

const struct unsupported *device_support_find(
	const struct inventory_device *device, const struct inventory_port *port)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		if (applies(&rows[i], device, port))
			return &rows[i];
	return NULL;
}
