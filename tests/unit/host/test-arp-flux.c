/* ARP flux: fake /proc trees and a fake inventory. */
#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "host/arp-flux.h"
#include "host/inventory.h"
#include "tests/unit/common/inventory-fixture.h"
#include "tests/unit/host/sysfs-tree-fixture.h"
#include "tests/unit/unit.h"

static struct sockaddr_in v4(const char *text)
{
	struct sockaddr_in address = {.sin_family = AF_INET};

	inet_pton(AF_INET, text, &address.sin_addr);
	return address;
}

/* Two interfaces, each with the device and the address of its own. */
static void check_flux(
	const struct tree *root, const struct inventory *inventory, const char *second, bool found)
{
	struct sockaddr_in addresses[] = {v4("10.0.0.1"), v4(second)}, mask = v4("255.255.255.0");
	char eth0[] = "eth0", eth1[] = "eth1", text[256];
	struct ifaddrs list[] = {
		{.ifa_next = &list[1], .ifa_name = eth0, .ifa_flags = IFF_UP},
		{.ifa_name = eth1, .ifa_flags = IFF_UP},
	};

	for (size_t i = 0; i < COUNT(list); i++) {
		list[i].ifa_addr = (struct sockaddr *)&addresses[i];
		list[i].ifa_netmask = (struct sockaddr *)&mask;
	}
	arp_flux_find(root->path, inventory, list, text, sizeof(text));
	check_case(second, (text[0] != '\0') == found);
	if (found)
		assert_string_equal(text, "eth0 (mlx5_0, 10.0.0.1) and eth1 (rxe0, 10.0.0.2) are "
					  "in one subnet, and arp_ignore is 0 and 0");
}

static void finds_interfaces_that_answer_for_each_other(void **state)
{
	const struct tree *root = *state;
	struct host host;

	make_host(&host);
	strcpy(host.interfaces[2].name, "eth1");
	check_flux(root, &host.inventory, "10.0.0.2", false);
	put(root, "/proc/sys/net/ipv4/conf/eth0/arp_ignore", "0\n");
	put(root, "/proc/sys/net/ipv4/conf/eth1/arp_ignore", "0\n");
	check_flux(root, &host.inventory, "10.0.0.2", true);
	check_flux(root, &host.inventory, "10.0.1.2", false);
	strcpy(host.interfaces[2].vrf, "blue");
	check_flux(root, &host.inventory, "10.0.0.2", false);
	host.interfaces[2].vrf[0] = '\0';
	put(root, "/proc/sys/net/ipv4/conf/all/arp_ignore", "1\n");
	check_flux(root, &host.inventory, "10.0.0.2", false);
	put(root, "/proc/sys/net/ipv4/conf/all/arp_ignore", "0\n");
	put(root, "/proc/sys/net/ipv4/conf/all/arp_filter", "1\n");
	check_flux(root, &host.inventory, "10.0.0.2", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(finds_interfaces_that_answer_for_each_other),
	};

	return cmocka_run_group_tests_name("arp-flux", tests, NULL, NULL);
}
