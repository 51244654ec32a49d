/* What the kernel's answers say, made-up ones among them, and what it answers of the loopback. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "host/netlink.h"
#include "tests/unit/common/network-fixture.h"
#include "tests/unit/unit.h"

#define SECOND 1000

/* A message that is being made up. */
union message {
	struct nlmsghdr header;
	char bytes[1024];
};

/* Starts a message; returns its header, all zero. */
static void *start(union message *message, uint16_t type, size_t header)
{
	memset(message, 0, sizeof(*message));
	mnl_nlmsg_put_header(message)->nlmsg_type = type;
	return mnl_nlmsg_put_extra_header(&message->header, header);
}

static void put(union message *message, uint16_t type, const char *bytes, size_t length)
{
	mnl_attr_put(&message->header, type, length, bytes);
}

static void start_route(union message *message, int family, unsigned char type)
{
	struct rtmsg *header = start(message, RTM_NEWROUTE, sizeof(*header));

	header->rtm_family = (unsigned char)family;
	header->rtm_type = type;
}

static void assert_address(const struct sockaddr_storage *address, const char *wanted)
{
	char text[ADDRESS_TEXT_SIZE] = "";

	if (address->ss_family != AF_UNSPEC)
		address_text((const struct sockaddr *)address, text);
	assert_string_equal(text, wanted);
}

static void reads_a_route(void **state)
{
	struct netlink_route route;
	union message message;
	struct nlattr *metrics;

	(void)state;
	start_route(&message, AF_INET, RTN_UNICAST);
	put(&message, RTA_DST, "\x0a\x01\x02\x03", 4);
	mnl_attr_put_u32(&message.header, RTA_OIF, 7);
	put(&message, RTA_PREFSRC, "\x0a\x09\x00\x01", 4);
	put(&message, RTA_GATEWAY, "\x0a\x09\x00\xfe", 4);
	metrics = mnl_attr_nest_start(&message.header, RTA_METRICS);
	mnl_attr_put_u32(&message.header, RTAX_HOPLIMIT, 3);
	mnl_attr_put_u32(&message.header, RTAX_MTU, 1400);
	mnl_attr_nest_end(&message.header, metrics);
	assert_int_equal(netlink_read_route(&message.header, &route), 0);
	assert_int_equal(route.type, RTN_UNICAST);
	assert_int_equal(route.interface, 7);
	assert_int_equal(route.mtu, 1400);
	assert_address(&route.source, "10.9.0.1");
	assert_address(&route.gateway, "10.9.0.254");
}

static void reads_gateways_of_ipv6(void **state)
{
	static const char local[16] = "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x01";
	const struct sockaddr_in6 *gateway;
	struct netlink_route route;
	union message message;
	char via[18];

	(void)state;
	gateway = (const struct sockaddr_in6 *)&route.gateway;
	start_route(&message, AF_INET6, RTN_UNICAST);
	put(&message, RTA_GATEWAY, local, sizeof(local));
	mnl_attr_put_u32(&message.header, RTA_OIF, 7);
	assert_int_equal(netlink_read_route(&message.header, &route), 0);
	assert_int_equal(route.gateway.ss_family, AF_INET6);
	assert_int_equal(gateway->sin6_scope_id, 7);
	assert_address(&route.source, "");

	/* IPv4 by way of a router that has only IPv6. */
	*(uint16_t *)via = AF_INET6;
	memcpy(via + 2, local, sizeof(local));
	start_route(&message, AF_INET, RTN_UNICAST);
	put(&message, RTA_VIA, via, sizeof(via));
	assert_int_equal(netlink_read_route(&message.header, &route), 0);
	assert_memory_equal(&gateway->sin6_addr, local, sizeof(local));
}

static void ignores_attributes_of_the_wrong_length(void **state)
{
	static const uint16_t types[] = {
		RTA_OIF, RTA_PREFSRC, RTA_GATEWAY, RTA_VIA, RTA_METRICS, RTA_DST};
	struct netlink_route route;
	union message message;

	(void)state;
	for (size_t i = 0; i < COUNT(types); i++)
		for (size_t length = 0; length < 40; length++) {
			start_route(&message, AF_INET, RTN_UNICAST);
			put(&message, types[i], "................................................",
				length == 4 ? 5 : length);
			assert_int_equal(netlink_read_route(&message.header, &route), 0);
			assert_int_equal(route.interface, 0);
			assert_int_equal(route.mtu, 0);
			assert_int_equal(route.source.ss_family, AF_UNSPEC);
			assert_int_equal(route.gateway.ss_family, AF_UNSPEC);
		}
}

static void reads_an_interface(void **state)
{
	struct ifinfomsg *header;
	struct netlink_link link;
	union message message;

	(void)state;
	header = start(&message, RTM_NEWLINK, sizeof(*header));
	header->ifi_flags = IFF_UP | IFF_NOARP;
	mnl_attr_put_strz(&message.header, IFLA_IFNAME, "mlx5_0");
	mnl_attr_put_u32(&message.header, IFLA_MTU, 9000);
	mnl_attr_put_u8(&message.header, IFLA_OPERSTATE, 2);
	assert_int_equal(netlink_read_link(&message.header, &link), 0);
	assert_string_equal(link.name, "mlx5_0");
	assert_int_equal(link.flags, IFF_UP | IFF_NOARP);
	assert_int_equal(link.mtu, 9000);
	assert_int_equal(link.state, 2);
}

static void makes_names_of_interfaces_harmless(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
		const char *name;
	} cases[] = {
		{"eth0", 4, "eth0"}, /* without its end */
		{"", 0, ""},
		{"a\033[2Jb\xff", 8, "a?[2Jb?"},
		{"0123456789abcdefghij", 20, "0123456789abcde"},
		{"et\0h0", 5, "et"},
	};
	struct netlink_link link;
	union message message;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		start(&message, RTM_NEWLINK, sizeof(struct ifinfomsg));
		put(&message, IFLA_IFNAME, cases[i].bytes, cases[i].length);
		assert_int_equal(netlink_read_link(&message.header, &link), 0);
		assert_string_equal(link.name, cases[i].name);
	}
}

static void reads_a_neighbour(void **state)
{
	static const char bytes[40] = "\x52\x54\x00\x12\x34\x56";
	static const struct {
		size_t length;
		const char *text;
	} cases[] = {{0, ""}, {1, "52"}, {6, "52:54:00:12:34:56"}, {33, ""}, {40, ""}};
	struct netlink_neighbour neighbour;
	union message message;
	struct ndmsg *header;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		header = start(&message, RTM_NEWNEIGH, sizeof(*header));
		header->ndm_state = NUD_STALE;
		put(&message, NDA_DST, "\x0a\x09\x00\x02", 4);
		put(&message, NDA_LLADDR, bytes, cases[i].length);
		assert_int_equal(netlink_read_neighbour(&message.header, &neighbour), 0);
		assert_int_equal(neighbour.state, NUD_STALE);
		assert_string_equal(neighbour.hardware, cases[i].text);
	}
	/* InfiniBand's are 20 bytes; the longest that the kernel has are 32. */
	start(&message, RTM_NEWNEIGH, sizeof(*header));
	put(&message, NDA_LLADDR, bytes, 32);
	assert_int_equal(netlink_read_neighbour(&message.header, &neighbour), 0);
	assert_int_equal(strlen(neighbour.hardware), 95);
}

static void refuses_other_and_short_messages(void **state)
{
	static const uint16_t types[] = {RTM_NEWROUTE, RTM_NEWLINK, RTM_NEWNEIGH, NLMSG_DONE, 0};
	struct netlink_neighbour neighbour;
	struct netlink_route route;
	struct netlink_link link;
	union message message;

	(void)state;
	for (size_t i = 0; i < COUNT(types); i++)
		for (size_t size = 0; size < 24; size++) {
			uint16_t type = types[i];
			bool whole = false;

			start(&message, type, size);
			message.header.nlmsg_len = (uint32_t)(sizeof(message.header) + size);
			whole = type == RTM_NEWROUTE && size >= sizeof(struct rtmsg);
			assert_int_equal(
				netlink_read_route(&message.header, &route), whole ? 0 : -EBADMSG);
			whole = type == RTM_NEWLINK && size >= sizeof(struct ifinfomsg);
			assert_int_equal(
				netlink_read_link(&message.header, &link), whole ? 0 : -EBADMSG);
			whole = type == RTM_NEWNEIGH && size >= sizeof(struct ndmsg);
			assert_int_equal(netlink_read_neighbour(&message.header, &neighbour),
				whole ? 0 : -EBADMSG);
		}
}

/* Cut anywhere, or with an attribute that claims to be longer, in memory of exactly that size. */
static void reads_only_what_is_there(void **state)
{
	struct netlink_route route = {0};
	union message message;
	size_t whole;

	(void)state;
	start_route(&message, AF_INET6, RTN_UNICAST);
	mnl_attr_put_u32(&message.header, RTA_OIF, 7);
	put(&message, RTA_VIA, "..................", 18);
	put(&message, RTA_METRICS, "\xff\xff\x02\x00....", 8);
	put(&message, RTA_GATEWAY, "................", 16);
	whole = message.header.nlmsg_len;
	for (size_t length = sizeof(message.header); length <= whole; length += NLMSG_ALIGNTO) {
		struct nlmsghdr *copy = malloc(length);

		assert_non_null(copy);
		memcpy(copy, &message, length);
		copy->nlmsg_len = (uint32_t)length;
		(void)netlink_read_route(copy, &route);
		free(copy);
	}
	assert_int_equal(route.interface, 7);
	assert_int_equal(route.gateway.ss_family, AF_INET6);
	assert_int_equal(route.mtu, 0);
}

/* What the socket gives instead of what the kernel says, if that is set. */
static const union message *made_up;

/* Takes the place of libmnl's. */
ssize_t mnl_socket_recvfrom(const struct mnl_socket *socket, void *bytes, size_t size)
{
	if (!made_up)
		return recv(mnl_socket_get_fd(socket), bytes, size, 0);
	memcpy(bytes, made_up, sizeof(*made_up));
	return sizeof(*made_up);
}

/* A message may say that it is longer than what came, or so long that the number seems negative. */
static void refuses_a_length_that_is_not_there(void **state)
{
	static const uint32_t lengths[] = {0, 15, 1025, 0x7fffffff, 0x80000000, 0xffffffff};
	deadline_t deadline = deadline_in(10 * SECOND);
	struct netlink_link link;
	union message message;

	(void)state;
	start(&message, RTM_NEWLINK, sizeof(struct ifinfomsg));
	message.header.nlmsg_seq = 1;
	made_up = &message;
	assert_int_equal(netlink_find_link(1, deadline, &link), 0);
	for (size_t i = 0; i < COUNT(lengths); i++) {
		message.header.nlmsg_len = lengths[i];
		assert_int_equal(netlink_find_link(1, deadline, &link), -EBADMSG);
	}
	made_up = NULL;
}

static void asks_the_kernel(void **state)
{
	struct sockaddr_storage address = net_address("127.0.0.1");
	struct netlink_neighbour neighbour;
	struct netlink_route route;
	struct netlink_link link;
	deadline_t deadline = deadline_in(10 * SECOND);

	(void)state;
	assert_int_equal(
		netlink_find_route((struct sockaddr *)&address, NULL, deadline, &route), 0);
	assert_int_equal(route.type, RTN_LOCAL);
	assert_int_equal(netlink_find_link(route.interface, deadline, &link), 0);
	assert_string_equal(link.name, "lo");
	assert_true(link.flags & IFF_LOOPBACK);
	assert_true(link.mtu > 0);
	assert_int_equal(netlink_find_link(0x7ffffff0, deadline, &link), -ENODEV);
	assert_int_equal(netlink_find_link(0, deadline, &link), -ENODEV);
	address = net_address("127.66.66.66");
	assert_int_equal(netlink_find_neighbour(route.interface, (struct sockaddr *)&address,
				 deadline, &neighbour),
		-ENOENT);
	address.ss_family = AF_APPLETALK;
	assert_int_equal(netlink_find_route((struct sockaddr *)&address, NULL, deadline, &route),
		-EAFNOSUPPORT);
	assert_int_equal(
		netlink_find_neighbour(1, (struct sockaddr *)&address, deadline, &neighbour),
		-EAFNOSUPPORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_route),
		cmocka_unit_test(reads_gateways_of_ipv6),
		cmocka_unit_test(ignores_attributes_of_the_wrong_length),
		cmocka_unit_test(reads_an_interface),
		cmocka_unit_test(makes_names_of_interfaces_harmless),
		cmocka_unit_test(reads_a_neighbour),
		cmocka_unit_test(refuses_other_and_short_messages),
		cmocka_unit_test(reads_only_what_is_there),
		cmocka_unit_test(refuses_a_length_that_is_not_there),
		cmocka_unit_test(asks_the_kernel),
	};

	return cmocka_run_group_tests_name("netlink", tests, NULL, NULL);
}
