/* VRFs, sockets of soft-RoCE, ARP flux and IPv6 duplicates: fake /proc trees and a fake inventory. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "host/inventory.h"
#include "host/routing-domains.h"
#include "tests/unit/common/inventory-fixture.h"
#include "tests/unit/host/sysfs-tree-fixture.h"
#include "tests/unit/unit.h"

#define UDP_HEAD "   sl  local_address rem_address   st\n"

static void finds_the_socket_of_soft_roce(void **state)
{
	const struct tree *root = *state;

	assert_false(routing_domains_lack_roce(root->path));
	put(root, "/proc/net/udp", UDP_HEAD "  860: 00000000:14E9 00000000:12B7 07\n");
	assert_true(routing_domains_lack_roce(root->path));
	put(root, "/proc/net/udp6",
		UDP_HEAD "  860: 00000000000000000000000000000000:12B7 "
			 "00000000000000000000000000000000:0000 07\n");
	assert_false(routing_domains_lack_roce(root->path));
	put(root, "/proc/net/udp6", UDP_HEAD);
	put(root, "/proc/net/udp", UDP_HEAD "  860: 00000000:12B7 00000000:0000 07\n");
	assert_false(routing_domains_lack_roce(root->path));
}

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
	routing_domains_flux(root->path, inventory, list, text, sizeof(text));
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

static void lists_duplicate_addresses(void **state)
{
	const struct tree *root = *state;
	char text[128];

	routing_domains_duplicates(root->path, text, sizeof(text));
	assert_string_equal(text, "");
	put(root, "/proc/net/if_inet6",
		"fd770000000000000000000000000002 02 40 00 80     eth0\n"
		"fd770000000000000000000000000003 02 40 00 c8     eth1\n");
	routing_domains_duplicates(root->path, text, sizeof(text));
	assert_string_equal(text, "fd77::3 (eth1)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(finds_the_socket_of_soft_roce),
		with_tree(finds_interfaces_that_answer_for_each_other),
		with_tree(lists_duplicate_addresses),
	};

	return cmocka_run_group_tests_name("routing-domains", tests, NULL, NULL);
}
