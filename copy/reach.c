/* See copy/reach.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "copy/reach.h"
#include "host/device-address.h"
#include "host/inventory.h"
#include "host/netlink.h"

/* Addresses that are looked at. */
#define ADDRESSES_MAX 256

/* What separates them. */
#define BLANKS " \r\n"

/* True if an RDMA device, of this name unless it is NULL, has the interface. */
static bool has_interface(
	const struct inventory *inventory, const char *device, const char *interface)
{
	for (size_t i = 0; *interface && i < inventory->device_count; i++) {
		const struct inventory_device *candidate = &inventory->devices[i];

		if (device && strcmp(candidate->name, device) != 0)
			continue;
		for (size_t j = 0; j < candidate->port_count; j++)
			if (inventory_interface(&candidate->ports[j], interface) ||
				strcmp(candidate->ports[j].unserved.name, interface) == 0)
				return true;
	}
	return false;
}

/* Reads an address. Names are not looked up. */
static bool read_address(const char *text, struct sockaddr_storage *address)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
	struct sockaddr_in *v4 = (struct sockaddr_in *)address;

	*address = (struct sockaddr_storage){.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET};
	return inet_pton(address->ss_family, text,
		       address->ss_family == AF_INET6 ? (void *)&v6->sin6_addr
						      : (void *)&v4->sin_addr) == 1;
}

static enum reach reach_of(const struct inventory *inventory, const char *device, const char *text)
{
	struct sockaddr_storage address;
	char interface[IF_NAMESIZE];
	struct netlink_route route;

	if (!read_address(text, &address))
		return REACH_INVALID;
	device_address_interface((struct sockaddr *)&address, NULL, interface, sizeof(interface));
	if (!has_interface(inventory, device, interface) ||
		netlink_find_route((struct sockaddr *)&address, NULL, &route))
		return REACH_NOT;
	return route.gateway.ss_family == AF_UNSPEC ? REACH_DIRECT : REACH_ROUTED;
}

/* Moves the next of the addresses to *address; returns false after the last one. */
static bool take_next(const char **addresses, char address[OPTIONS_HOST_SIZE])
{
	size_t length;

	*addresses += strspn(*addresses, BLANKS);
	length = strcspn(*addresses, BLANKS);
	snprintf(address, OPTIONS_HOST_SIZE, "%.*s", (int)length, *addresses);
	*addresses += length;
	return length > 0;
}

enum reach reach_choose(const char *addresses, const char *device, char chosen[OPTIONS_HOST_SIZE])
{
	enum reach best = REACH_INVALID;
	struct inventory inventory = {0};
	char address[OPTIONS_HOST_SIZE];

	inventory_take("", NULL, &inventory);
	for (int i = 0; i < ADDRESSES_MAX && take_next(&addresses, address); i++) {
		enum reach reach = reach_of(&inventory, device, address);

		if (reach > best) {
			best = reach;
			memcpy(chosen, address, sizeof(address));
		}
	}
	inventory_free(&inventory);
	return best;
}

void reach_list(const char *addresses, const char *device, char *there, char *here, size_t size)
{
	struct inventory inventory = {0};
	char address[OPTIONS_HOST_SIZE];

	*there = '\0';
	for (int i = 0; i < ADDRESSES_MAX && take_next(&addresses, address); i++)
		if (read_address(address, &(struct sockaddr_storage){0}))
			text_append(there, size, "%s%s", *there ? ", " : "", address);
	inventory_take("", NULL, &inventory);
	device_address_list_of(&inventory, device, here, size);
	inventory_free(&inventory);
}
