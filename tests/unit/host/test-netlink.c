/* Netlink lookups of routes, interfaces and neighbours, on loopback and in network namespaces. */
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/address.h"
#include "host/netlink.h"
#include "tests/unit/common/network-fixture.h"
#include "tests/unit/unit.h"

static int find_route(const char *to, const char *from, struct netlink_route *route)
{
	struct sockaddr_storage address = net_address(to), source = {0};

	if (from)
		source = net_address(from);
	return netlink_find_route(
		(struct sockaddr *)&address, from ? (struct sockaddr *)&source : NULL, route);
}

static int find_neighbour(
	unsigned int interface, const char *text, struct netlink_neighbour *neighbour)
{
	struct sockaddr_storage address = net_address(text);

	return netlink_find_neighbour(interface, (struct sockaddr *)&address, neighbour);
}

static void assert_address(const struct sockaddr_storage *address, const char *wanted)
{
	char text[ADDRESS_TEXT_SIZE] = "";

	if (address->ss_family != AF_UNSPEC)
		address_text((const struct sockaddr *)address, text);
	assert_string_equal(text, wanted);
}

static void finds_the_loopback(void **state)
{
	struct netlink_route route;
	struct netlink_link link;

	(void)state;
	assert_int_equal(find_route("127.0.0.1", NULL, &route), 0);
	assert_int_equal(route.type, RTN_LOCAL);
	assert_address(&route.source, "127.0.0.1");
	assert_address(&route.gateway, "");
	assert_int_equal(netlink_find_link(route.interface, &link), 0);
	assert_string_equal(link.name, "lo");
	assert_true(link.flags & IFF_LOOPBACK);
	assert_true(link.mtu > 0);
}

static void the_loopback_has_no_neighbours(void **state)
{
	struct netlink_neighbour neighbour;
	int error = find_neighbour(1, "127.66.66.66", &neighbour);

	(void)state;
	if (error == -EOPNOTSUPP && getenv("EMULATOR")) {
		print_message("skipped: qemu-user cannot ask the kernel for a neighbour\n");
		skip();
	}
	assert_int_equal(error, -ENOENT);
}

static void reports_unknown_routes_and_interfaces(void **state)
{
	struct sockaddr other = {.sa_family = AF_APPLETALK};
	struct netlink_neighbour neighbour;
	struct netlink_route route;
	struct netlink_link link = {.mtu = 1};

	(void)state;
	assert_int_equal(netlink_find_link(0x7ffffff0, &link), -ENODEV);
	assert_int_equal(link.mtu, 0);
	assert_int_equal(netlink_find_link(0, &link), -ENODEV);
	assert_int_equal(netlink_find_route(&other, NULL, &route), -EAFNOSUPPORT);
	assert_int_equal(netlink_find_neighbour(1, &other, &neighbour), -EAFNOSUPPORT);
}

static void reports_a_failed_socket(void **state)
{
	struct rlimit limit, none;
	struct netlink_link link;
	int error;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	error = netlink_find_link(1, &link);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(error, -EMFILE);
}

static void finds_routes(void **state)
{
	static const struct {
		const char *add, *to, *from, *source, *gateway;
		unsigned int mtu;
	} cases[] = {
		{"route add 10.88.0.0/24 via 10.9.0.254 mtu 1400", "10.88.0.1", NULL, "10.9.0.1",
			"10.9.0.254", 1400},
		{"route add 10.89.0.0/24 via inet6 fd09::fe", "10.89.0.1", NULL, "10.9.0.1",
			"fd09::fe", 0},
		{"-6 route add fd88::/64 via fe80::2 dev near0 mtu 1300", "fd88::1", NULL,
			"fd09::1", "fe80::2%near0", 1300},
		{"address add 10.9.0.3/24 dev near0", FAR, "10.9.0.3", "10.9.0.3", "", 0},
	};
	struct netlink_route route;

	(void)state;
	net_make();
	for (size_t i = 0; i < COUNT(cases); i++) {
		net_near(cases[i].add);
		assert_int_equal(find_route(cases[i].to, cases[i].from, &route), 0);
		assert_int_equal(route.type, RTN_UNICAST);
		assert_int_equal(route.interface, if_nametoindex("near0"));
		assert_int_equal(route.mtu, cases[i].mtu);
		assert_address(&route.gateway, cases[i].gateway);
		/* The kernel omits the source from the reply if the request specifies it. */
		assert_address(&route.source, cases[i].from ? "" : cases[i].source);
	}
}

static void finds_interfaces(void **state)
{
	struct netlink_link link;

	(void)state;
	net_make();
	assert_int_equal(netlink_find_link(if_nametoindex("near0"), &link), 0);
	assert_string_equal(link.name, "near0");
	assert_int_equal(link.mtu, 1500);
	assert_true(link.flags & IFF_UP);
	/* An interface name may contain terminal escape sequences. */
	net_near("link set near0 down");
	net_near("link set near0 name \"$(printf 'a\\033[2Jb\\377')\"");
	assert_int_equal(netlink_find_link(if_nametoindex("a\033[2Jb\377"), &link), 0);
	assert_string_equal(link.name, "a?[2Jb?");
	assert_false(link.flags & IFF_UP);
}

static void lists_interfaces(void **state)
{
	struct netlink_link *links;
	bool bridge = false, port = false, peer = false, vxlan = false;
	int count;

	(void)state;
	net_make();
	net_near("link add br0 type bridge");
	net_near("link set near0 master br0");
	net_near("link add vx0 type vxlan id 5 dev br0 dstport 4789");
	count = netlink_list_links(&links);
	assert_true(count >= 3);
	for (int i = 0; i < count; i++) {
		const struct netlink_link *link = &links[i];

		assert_int_equal(link->index, if_nametoindex(link->name));
		bridge = bridge || strcmp(link->kind, "bridge") == 0;
		if (strcmp(link->name, "vx0") == 0)
			vxlan = link->lower == if_nametoindex("br0");
		if (strcmp(link->name, "lo") == 0)
			assert_string_equal(link->hardware, "00:00:00:00:00:00");
		if (strcmp(link->name, "near0") != 0)
			continue;
		port = link->master == if_nametoindex("br0");
		peer = link->lower != 0 && link->lower_elsewhere;
	}
	free(links);
	assert_true(bridge && port && peer && vxlan);
}

static void finds_neighbours(void **state)
{
	struct netlink_neighbour neighbour;
	unsigned int near;

	(void)state;
	net_make();
	near = if_nametoindex("near0");
	net_near("neighbour add 10.9.0.8 lladdr 02:00:00:00:00:08 nud stale dev near0");
	net_near("neighbour add fd09::8 lladdr 02:00:00:00:00:09 nud permanent dev near0");
	assert_int_equal(find_neighbour(near, "10.9.0.8", &neighbour), 0);
	assert_string_equal(neighbour.hardware, "02:00:00:00:00:08");
	assert_int_equal(neighbour.state, NUD_STALE);
	assert_int_equal(find_neighbour(near, "fd09::8", &neighbour), 0);
	assert_string_equal(neighbour.hardware, "02:00:00:00:00:09");
	assert_int_equal(neighbour.state, NUD_PERMANENT);
	assert_int_equal(find_neighbour(near, "10.9.0.9", &neighbour), -ENOENT);
	assert_string_equal(neighbour.hardware, "");
	net_near("neighbour add 10.9.0.9 nud failed dev near0");
	assert_int_equal(find_neighbour(near, "10.9.0.9", &neighbour), 0);
	assert_string_equal(neighbour.hardware, "");
	assert_int_equal(neighbour.state, NUD_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_loopback),
		cmocka_unit_test(the_loopback_has_no_neighbours),
		cmocka_unit_test(reports_unknown_routes_and_interfaces),
		cmocka_unit_test(reports_a_failed_socket),
		cmocka_unit_test(finds_routes),
		cmocka_unit_test(finds_interfaces),
		cmocka_unit_test(lists_interfaces),
		cmocka_unit_test(finds_neighbours),
	};

	return cmocka_run_group_tests_name("netlink", tests, NULL, NULL);
}
