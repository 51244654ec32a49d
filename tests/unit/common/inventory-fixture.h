/* A synthetic inventory that needs no freeing. */
#ifndef TESTS_UNIT_COMMON_INVENTORY_FIXTURE_H
#define TESTS_UNIT_COMMON_INVENTORY_FIXTURE_H

#include "host/inventory.h"

/* Two devices: mlx5_0 has the first two ports, rxe0 the third. */
struct host {
	struct inventory inventory;
	struct inventory_device devices[2];
	struct inventory_port ports[3];
	struct inventory_interface interfaces[3];
	struct inventory_address addresses[3];
	struct inventory_gid gids[3];
};

/* Creates a host that is ready for RDMA. */
void make_host(struct host *host);

/* The same host with rxe0 only. */
void make_small_host(struct host *host);

#endif
