/* VRFs, sockets of soft-RoCE, and IPv6 duplicates, in fake /proc trees. */
#include <stdio.h>
#include <string.h>

#include "host/routing-domains.h"
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
		with_tree(lists_duplicate_addresses),
	};

	return cmocka_run_group_tests_name("routing-domains", tests, NULL, NULL);
}
