/* See host/own-addresses.h. */
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "host/own-addresses.h"

static bool is_usable(const struct ifaddrs *one, sa_family_t family)
{
	const struct sockaddr *address = one->ifa_addr;

	return address && address->sa_family == family && one->ifa_flags & IFF_UP &&
	       !address_is_loopback(address) &&
	       !(family == AF_INET6 &&
		       IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)address)->sin6_addr));
}

unsigned int own_addresses(struct own_address addresses[], unsigned int most)
{
	static const sa_family_t families[] = {AF_INET, AF_INET6};
	struct ifaddrs *all;
	unsigned int count = 0;

	if (getifaddrs(&all))
		return 0;
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		for (const struct ifaddrs *one = all; one && count < most; one = one->ifa_next) {
			struct own_address *own = &addresses[count];

			if (!is_usable(one, families[i]))
				continue;
			*own = (struct own_address){0};
			memcpy(&own->address, one->ifa_addr, address_length(one->ifa_addr));
			snprintf(own->interface, sizeof(own->interface), "%s", one->ifa_name);
			count++;
		}
	freeifaddrs(all);
	return count;
}
