/*
 * What an agent reports of its host and its RDMA devices, as messages to the coordinator. The
 * functions return objects that the caller sends; NULL: out of memory. Main thread.
 */
#ifndef MESH_AGENT_FACTS_H
#define MESH_AGENT_FACTS_H

#include <stdbool.h>

#include "host/inventory.h"

struct json_object;

/*
 * The host: its release and kernel, why none of its devices in this list, as of --device, can be
 * used, and interfaces that answer ARP for each other. *usable: one of the devices can be used.
 */
struct json_object *agent_facts_host(
	const struct inventory *inventory, const char *devices, bool *usable);

/* One device: its port that is active, or its first one, and why it cannot be used. */
struct json_object *agent_facts_device(
	const struct inventory *inventory, const struct inventory_device *device);

/* Those of the server's addresses, which blanks separate, that are of this device. */
struct json_object *agent_facts_addresses(
	const struct inventory_device *device, const char *addresses);

#endif
