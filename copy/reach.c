/* See copy/reach.h. */
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "copy/reach.h"
#include "host/device-address.h"
#include "host/inventory.h"
#include "host/netlink.h"

/* How well this host reaches an address: the higher, the better. */
enum reach { REACH_INVALID, REACH_NOT, REACH_ROUTED, REACH_DIRECT };

/* True if an RDMA device, of this name unless it is NULL, has the interface. */
static bool has_interface(
	const struct inventory *inventory, const char *device, const char *interface)
{
	for (size_t i = 0; i < inventory->device_count; i++) {
		const struct inventory_device *candidate = &inventory->devices[i];

		if (device && strcmp(candidate->name, device) != 0)
			continue;
		for (size_t j = 0; j < candidate->port_count; j++)
			if (inventory_interface(&candidate->ports[j], interface))
				return true;
	}
	return false;
}

static enum reach reach_of(const struct inventory *inventory, const char *device, const char *text)
{
	struct addrinfo *found;
	char interface[IF_NAMESIZE];
	struct netlink_route route;
	enum reach reach = REACH_NOT;

	if (address_find(text, 0, AF_UNSPEC, 0, &found))
		return REACH_INVALID;
	device_address_interface(found->ai_addr, NULL, interface, sizeof(interface));
	if (has_interface(inventory, device, interface) &&
		netlink_find_route(found->ai_addr, NULL, &route) == 0)
		reach = route.gateway.ss_family == AF_UNSPEC ? REACH_DIRECT : REACH_ROUTED;
	freeaddrinfo(found);
	return reach;
}

bool reach_choose(const char *addresses, const char *device, char chosen[OPTIONS_HOST_SIZE])
{
	enum reach best = REACH_INVALID;
	struct inventory inventory = {0};

	inventory_take("", NULL, &inventory);
	while (*(addresses += strspn(addresses, " \r\n"))) {
		char address[OPTIONS_HOST_SIZE];
		size_t length = strcspn(addresses, " \r\n");
		enum reach reach;

		snprintf(address, sizeof(address), "%.*s", (int)length, addresses);
		addresses += length;
		/* Nothing but an address is looked up. */
		if (strspn(address, "0123456789abcdefABCDEF:.") < strlen(address))
			continue;
		reach = reach_of(&inventory, device, address);
		if (reach > best) {
			best = reach;
			memcpy(chosen, address, sizeof(address));
		}
	}
	inventory_free(&inventory);
	return best > REACH_INVALID;
}
