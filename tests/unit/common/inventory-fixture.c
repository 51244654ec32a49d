/* Fills a synthetic inventory; its strings are constants, so nothing needs to be freed. */
#include <string.h>

#include "host/readiness.h"
#include "tests/unit/common/inventory-fixture.h"

static void make_port(struct host *host, size_t i, unsigned int number)
{
	host->addresses[i] = (struct inventory_address){.text = "10.0.0.1"};
	host->interfaces[i] = (struct inventory_interface){
		.name = "eth0",
		.state = "up",
		.mtu = 1500,
		.address_count = 1,
		.addresses = &host->addresses[i],
	};
	host->gids[i] = (struct inventory_gid){
		.index = 1,
		.text = "::ffff:10.0.0.1",
		.type = "RoCE v2",
		.interface = "eth0",
	};
	host->ports[i] = (struct inventory_port){
		.number = number,
		.state = "ACTIVE",
		.physical_state = "LinkUp",
		.link_layer = "Ethernet",
		.rate = "2.5 Gb/sec (1X)",
		.megabits = 2500,
		.rdma_mtu = 1024,
		.gid_count = 1,
		.gids = &host->gids[i],
		.interface_count = 1,
		.interfaces = &host->interfaces[i],
	};
}

void make_host(struct host *host)
{
	memset(host, 0, sizeof(*host));
	make_port(host, 0, 1);
	make_port(host, 1, 2);
	make_port(host, 2, 1);
	host->devices[0] = (struct inventory_device){
		.name = "mlx5_0",
		.type = "CA",
		.firmware = "16.35",
		.driver = "mlx5_core",
		.uverbs = "uverbs0",
		.access = SYSFS_GRANTED,
		.port_count = 2,
		.ports = host->ports,
	};
	host->devices[1] = (struct inventory_device){
		.name = "rxe0",
		.type = "CA",
		.driver = "rdma_rxe",
		.uverbs = "uverbs1",
		.access = SYSFS_GRANTED,
		.port_count = 1,
		.ports = &host->ports[2],
	};
	host->inventory = (struct inventory){
		.rdma_cm = SYSFS_GRANTED,
		.ib_core = true,
		.rdma_ucm = true,
		.netns = INVENTORY_NETNS_SHARED,
		.locked_max = READINESS_LOCKED_MIN,
		.device_count = 2,
		.devices = host->devices,
	};
}

void make_small_host(struct host *host)
{
	make_host(host);
	host->inventory.devices = &host->devices[1];
	host->inventory.device_count = 1;
}
