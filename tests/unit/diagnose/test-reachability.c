/*
 * The checks below RDMA: verdicts for synthetic facts, and probes between two network namespaces.
 */
#include <net/if.h>

#include <errno.h>
#include <linux/if.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "diagnose/reachability.h"
#include "tests/unit/common/network-fixture.h"
#include "tests/unit/unit.h"

#define MINUTE 60000

static void evidence_is_short_and_printable(void **state)
{
	char evidence[REACH_EVIDENCE_SIZE];

	(void)state;
	reach_evidence(evidence, "%s", "a\033[2J\xc2\x9b\n");
	assert_string_equal(evidence, "a?[2J???");
	reach_evidence(evidence, "%300s", "x");
	assert_int_equal(strlen(evidence), sizeof(evidence) - 1);
}

static void finds_names(void **state)
{
	struct reach_names names;

	(void)state;
	reach_find_names("10.9.0.2", MINUTE, &names);
	assert_int_equal(names.verdict, REACH_GOOD);
	assert_int_equal(names.count, 1);
	assert_string_equal(names.evidence, "10.9.0.2");
	reach_find_names("localhost", MINUTE, &names);
	assert_int_equal(names.verdict, REACH_GOOD);
	assert_true(names.count >= 1);
	reach_find_names("no-such-host.invalid", MINUTE, &names);
	assert_int_equal(names.verdict, REACH_BAD);
	assert_int_equal(names.count, 0);
	assert_true(names.error != 0);
	assert_non_null(strstr(names.evidence, gai_strerror(names.error)));
}

/* Builds a list from the texts in the caller's entries and addresses. */
static const struct addrinfo *make_list(const char *const *texts, size_t count,
	struct addrinfo *entries, struct sockaddr_storage *addresses)
{
	for (size_t i = 0; i < count; i++) {
		addresses[i] = net_address(texts[i]);
		address_set_port(&addresses[i], (uint16_t)i);
		entries[i] = (struct addrinfo){
			.ai_addr = (struct sockaddr *)&addresses[i],
			.ai_next = i + 1 < count ? &entries[i + 1] : NULL,
		};
	}
	return count ? entries : NULL;
}

static void lists_each_address_once(void **state)
{
	static const char *const texts[] = {
		"fd09::2", "10.9.0.2", "fd09::2", "10.9.0.3", "10.9.0.2"};
	struct sockaddr_storage addresses[COUNT(texts)], other = {.ss_family = AF_APPLETALK};
	struct addrinfo entries[COUNT(texts)], alone = {.ai_addr = (struct sockaddr *)&other};
	struct reach_names names = {0};

	(void)state;
	reach_assess_names(&names, make_list(texts, COUNT(texts), entries, addresses));
	assert_int_equal(names.verdict, REACH_GOOD);
	assert_int_equal(names.count, 3);
	assert_false(names.more);
	assert_string_equal(names.evidence, "fd09::2, 10.9.0.2, 10.9.0.3");
	assert_int_equal(((struct sockaddr_in6 *)&names.addresses[0])->sin6_port, 0);
	reach_assess_names(&names, &alone);
	assert_int_equal(names.verdict, REACH_BAD);
	assert_string_equal(names.evidence, "no IPv4 or IPv6 address");
}

static void lists_no_more_addresses_than_fit(void **state)
{
	enum { MANY = REACH_ADDRESSES_MAX + 3 };
	struct sockaddr_storage addresses[MANY];
	struct addrinfo entries[MANY];
	struct reach_names names = {0};
	const char *texts[MANY];
	char room[MANY][64];

	(void)state;
	for (int i = 0; i < MANY; i++) {
		snprintf(room[i], sizeof(room[i]), "fd09:1111:2222:3333:4444:5555:6666:%x", i + 1);
		texts[i] = room[i];
	}
	for (int count = 1; count <= MANY; count++) {
		reach_assess_names(&names, make_list(texts, (size_t)count, entries, addresses));
		assert_int_equal(
			names.count, count < REACH_ADDRESSES_MAX ? count : REACH_ADDRESSES_MAX);
		assert_int_equal(names.more, count > REACH_ADDRESSES_MAX);
		assert_true(strlen(names.evidence) < sizeof(names.evidence));
	}
}

/* Returns a route of that type through a working interface. */
static struct reach_route made_up_route(uint8_t type, int error)
{
	struct reach_route route = {
		.error = error,
		.address = net_address(FAR),
		.route = {.type = type, .interface = 3},
		.link = {.name = "eth0", .flags = IFF_UP | IFF_LOWER_UP, .mtu = 1500},
	};

	return route;
}

static void judges_routes_by_type_and_error(void **state)
{
	static const struct {
		uint8_t type;
		int error;
		enum reach_verdict verdict;
		const char *evidence;
	} cases[] = {
		{RTN_UNICAST, 0, REACH_GOOD, "through eth0, MTU 1500"},
		{RTN_LOCAL, 0, REACH_GOOD, "this host, through eth0"},
		{RTN_BROADCAST, 0, REACH_BAD, "a broadcast, multicast or anycast address"},
		{RTN_MULTICAST, 0, REACH_BAD, "a broadcast, multicast or anycast address"},
		{RTN_NAT, 0, REACH_UNKNOWN, "unexpected route type 10"},
		{RTN_BLACKHOLE, 0, REACH_BAD, "a blackhole route discards packets to this address"},
		{RTN_PROHIBIT, 0, REACH_BAD, "a prohibit route rejects this address"},
		{RTN_UNREACHABLE, 0, REACH_BAD, "an unreachable route rejects this address"},
		{0, EINVAL, REACH_BAD, "a blackhole route discards packets to this address"},
		{0, EACCES, REACH_BAD, "a prohibit route rejects this address"},
		{0, EHOSTUNREACH, REACH_BAD, "an unreachable route rejects this address"},
		{0, ENETUNREACH, REACH_BAD, "no route to this address"},
		{0, ETIMEDOUT, REACH_UNKNOWN, "Connection timed out"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct reach_route route = made_up_route(cases[i].type, cases[i].error);

		reach_assess_route(&route);
		check_case(cases[i].evidence, route.verdict == cases[i].verdict);
		assert_string_equal(route.evidence, cases[i].evidence);
	}
}

static void judges_interfaces(void **state)
{
	static const struct {
		unsigned int flags;
		uint8_t state;
		enum reach_verdict verdict;
		const char *evidence;
	} cases[] = {
		{IFF_UP | IFF_LOWER_UP, IF_OPER_UNKNOWN, REACH_GOOD, "through eth0, MTU 1500"},
		{IFF_UP, IF_OPER_LOWERLAYERDOWN, REACH_BAD, "through eth0, which has no carrier"},
		{0, IF_OPER_DOWN, REACH_BAD, "through eth0, which is down"},
		{IFF_UP | IFF_LOWER_UP, IF_OPER_DORMANT, REACH_BAD,
			"through eth0, which is not yet authorized on its network (802.1X)"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct reach_route route = made_up_route(RTN_UNICAST, 0);

		route.link.flags = cases[i].flags;
		route.link.state = cases[i].state;
		reach_assess_route(&route);
		check_case(cases[i].evidence, route.verdict == cases[i].verdict);
		assert_string_equal(route.evidence, cases[i].evidence);
	}
}

static void judges_neighbours(void **state)
{
	static const struct {
		uint16_t state;
		bool confirmed;
		int error;
		const char *hardware;
		enum reach_verdict verdict;
		const char *evidence;
	} cases[] = {
		{NUD_REACHABLE, false, 0, "52:54", REACH_GOOD, "10.9.0.2 is 52:54 (7 ms)"},
		{NUD_PERMANENT, false, 0, "52:54", REACH_GOOD, "10.9.0.2 is 52:54 (7 ms)"},
		{NUD_NOARP, false, 0, "", REACH_GOOD, "10.9.0.2 is reachable (7 ms)"},
		{NUD_DELAY, true, 0, "52:54", REACH_GOOD, "10.9.0.2 is 52:54 (7 ms)"},
		{NUD_DELAY, false, 0, "52:54", REACH_UNKNOWN,
			"10.9.0.2 was last at 52:54; not confirmed after 7 ms"},
		{NUD_PROBE, false, 0, "52:54", REACH_UNKNOWN,
			"10.9.0.2 was last at 52:54; not confirmed after 7 ms"},
		{NUD_FAILED, false, 0, "", REACH_BAD, "10.9.0.2 does not answer ARP"},
		{NUD_FAILED, false, 0, "52:54", REACH_BAD, "10.9.0.2 does not answer ARP"},
		{NUD_INCOMPLETE, false, 0, "", REACH_UNKNOWN,
			"10.9.0.2 did not answer ARP within 7 ms"},
		{0, false, 0, "", REACH_UNKNOWN, "10.9.0.2 did not answer ARP within 7 ms"},
		{0, false, EPERM, "", REACH_UNKNOWN, "10.9.0.2: Operation not permitted"},
	};
	struct reach_route route = made_up_route(RTN_UNICAST, 0);

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct reach_neighbour neighbour = {
			.error = cases[i].error,
			.milliseconds = 7,
			.confirmed = cases[i].confirmed,
			.address = route.address,
			.entry = {.state = cases[i].state},
		};

		snprintf(neighbour.entry.hardware, sizeof(neighbour.entry.hardware), "%s",
			cases[i].hardware);
		reach_assess_neighbour(&neighbour, &route);
		check_case(cases[i].evidence, neighbour.verdict == cases[i].verdict);
		assert_string_equal(neighbour.evidence, cases[i].evidence);
	}
}

/* An address of another host on a dummy interface is a wrong address, not one that is blocked. */
static void a_dummy_leads_nowhere(void **state)
{
	struct reach_route route = made_up_route(RTN_UNICAST, 0);
	struct reach_neighbour neighbour = {.needless = true, .address = route.address};

	(void)state;
	snprintf(route.link.name, sizeof(route.link.name), "dm0");
	snprintf(route.link.kind, sizeof(route.link.kind), "dummy");
	reach_assess_neighbour(&neighbour, &route);
	assert_int_equal(neighbour.verdict, REACH_BAD);
	assert_true(neighbour.nowhere);
	assert_string_equal(neighbour.evidence, "through dm0 (dummy)");
	/* This host answers itself. */
	route.route.type = RTN_LOCAL;
	reach_assess_neighbour(&neighbour, &route);
	assert_int_equal(neighbour.verdict, REACH_GOOD);
	assert_false(neighbour.nowhere);
	assert_string_equal(neighbour.evidence, "this host");
}

/* Queries the kernel's route to the address. */
static struct reach_route find_route(const char *text)
{
	struct sockaddr_storage address = net_address(text);
	struct reach_route route;

	reach_find_route((struct sockaddr *)&address, NULL, &route);
	return route;
}

static void assert_route(const char *address, enum reach_verdict verdict, const char *evidence)
{
	struct reach_route route = find_route(address);

	assert_string_equal(route.evidence, evidence);
	assert_int_equal(route.verdict, verdict);
}

static void finds_routes(void **state)
{
	(void)state;
	net_make();
	net_near("route add 10.88.0.0/24 via 10.9.0.254 mtu 1400");
	net_near("-6 route add fd88::/64 via fd09::fe mtu 1400");
	net_near("route add 10.89.0.0/24 via inet6 fd09::fe");
	assert_route(FAR, REACH_GOOD, "through near0, from 10.9.0.1, MTU 1500");
	assert_route("fd09::2", REACH_GOOD, "through near0, from fd09::1, MTU 1500");
	assert_route("fe80::7%near0", REACH_GOOD, find_route("fe80::7%near0").evidence);
	assert_route("10.88.0.1", REACH_GOOD,
		"through near0, from 10.9.0.1, gateway 10.9.0.254, MTU 1400");
	assert_route(
		"fd88::1", REACH_GOOD, "through near0, from fd09::1, gateway fd09::fe, MTU 1400");
	assert_route("10.89.0.1", REACH_GOOD,
		"through near0, from 10.9.0.1, gateway fd09::fe, MTU 1500");
	assert_route(NEAR, REACH_GOOD, "this host, through lo");
	assert_route("fd09::1", REACH_GOOD, "this host, through lo");
	assert_route("::1", REACH_GOOD, "this host, through lo");
	assert_route("10.9.0.255", REACH_BAD, "a broadcast, multicast or anycast address");
	net_near("link set lo down");
	assert_route("127.0.0.1", REACH_BAD, find_route("127.0.0.1").evidence);
}

static void finds_missing_routes(void **state)
{
	static const char *const types[] = {"blackhole", "prohibit", "unreachable"};
	static const char *const evidence[] = {
		"a blackhole route discards packets to this address",
		"a prohibit route rejects this address",
		"an unreachable route rejects this address",
	};
	char command[64];

	(void)state;
	net_make();
	assert_route("10.77.0.1", REACH_BAD, "no route to this address");
	assert_route("fd77::1", REACH_BAD, "no route to this address");
	for (size_t i = 0; i < COUNT(types); i++) {
		snprintf(command, sizeof(command), "route replace %s 10.77.0.0/16", types[i]);
		net_near(command);
		assert_route("10.77.0.1", REACH_BAD, evidence[i]);
		snprintf(command, sizeof(command), "-6 route add %s fd%zu::/64", types[i], 77 + i);
		net_near(command);
		snprintf(command, sizeof(command), "fd%zu::1", 77 + i);
		assert_route(command, REACH_BAD, evidence[i]);
	}
}

static void finds_interfaces_that_are_down(void **state)
{
	(void)state;
	net_make();
	net_far("link set far0 down");
	assert_route(FAR, REACH_BAD, "through near0, which has no carrier");
	net_near("link set near0 down");
	assert_route(FAR, REACH_BAD,
		"no route to this address: interface near0 on the same network is down");
	assert_route("10.9.1.1", REACH_BAD, "no route to this address");
	net_near("link add other0 type veth peer name other1");
	net_near("link set other1 up");
	net_near("link set other0 up");
	net_near("address add 10.10.0.1/24 dev other0");
	net_near("route add default via 10.10.0.2");
	assert_route(FAR, REACH_GOOD,
		"through other0, from 10.10.0.1, gateway 10.10.0.2, MTU 1500; "
		"but interface near0 on the same network is down");
}

static struct reach_neighbour find_neighbour(const char *text, int milliseconds)
{
	struct reach_route route = find_route(text);
	struct reach_neighbour neighbour;

	reach_find_neighbour(&route, deadline_in(milliseconds), &neighbour);
	return neighbour;
}

static void finds_present_neighbours(void **state)
{
	static const char *const hosts[] = {FAR, "fd09::2", "10.88.0.1", "10.89.0.1", "fd88::1"};
	struct reach_neighbour neighbour;
	char command[256];

	(void)state;
	net_make();
	net_near("route add 10.88.0.0/24 via 10.9.0.2");
	net_near("route add 10.89.0.0/24 via inet6 fd09::2");
	net_near("-6 route add fd88::/64 via fd09::2");
	for (size_t i = 0; i < COUNT(hosts); i++) {
		neighbour = find_neighbour(hosts[i], MINUTE);
		check_case(hosts[i], neighbour.verdict == REACH_GOOD);
		check_case(hosts[i], strlen(neighbour.entry.hardware) == 17);
		check_case(hosts[i], neighbour.gateway == (i > 1));
		check_case(hosts[i], strstr(neighbour.evidence, neighbour.entry.hardware));
	}
	/* A stale entry is confirmed by a reply from the host. */
	snprintf(command, sizeof(command),
		"neighbour replace " FAR " lladdr %s nud stale dev near0",
		neighbour.entry.hardware);
	net_near(command);
	neighbour = find_neighbour(FAR, MINUTE);
	assert_int_equal(neighbour.verdict, REACH_GOOD);
	assert_true(neighbour.confirmed);
}

static void finds_absent_neighbours(void **state)
{
	static const struct {
		const char *host, *evidence;
	} cases[] = {
		{"10.9.0.7", "10.9.0.7 does not answer ARP"},
		{"fd09::7", "fd09::7 does not answer neighbour discovery"},
		{"10.88.0.1", "the gateway 10.9.0.254 does not answer ARP"},
	};
	struct reach_neighbour neighbour;

	(void)state;
	net_make();
	net_near("route add 10.88.0.0/24 via 10.9.0.254");
	for (size_t i = 0; i < COUNT(cases); i++) {
		neighbour = find_neighbour(cases[i].host, MINUTE);
		assert_string_equal(neighbour.evidence, cases[i].evidence);
		assert_int_equal(neighbour.verdict, REACH_BAD);
	}
}

/* A stale entry whose host does not reply is neither trusted nor given up before the deadline. */
static void does_not_trust_stale_neighbour_entries(void **state)
{
	struct reach_neighbour neighbour;

	(void)state;
	net_make();
	net_near("neighbour add 10.9.0.8 lladdr 02:00:00:00:00:08 nud stale dev near0");
	neighbour = find_neighbour("10.9.0.8", 100);
	assert_int_equal(neighbour.verdict, REACH_UNKNOWN);
	assert_string_equal(neighbour.entry.hardware, "02:00:00:00:00:08");
	assert_true(neighbour.milliseconds >= 100);
	net_near("neighbour add 10.9.0.9 lladdr 02:00:00:00:00:09 nud permanent dev near0");
	neighbour = find_neighbour("10.9.0.9", MINUTE);
	assert_int_equal(neighbour.verdict, REACH_GOOD);
	assert_false(neighbour.confirmed);
}

static void returns_by_the_deadline(void **state)
{
	struct reach_neighbour neighbour;

	(void)state;
	net_make();
	net_near("ntable change name arp_cache dev near0 retrans 1000");
	neighbour = find_neighbour("10.9.0.7", 0);
	assert_int_equal(neighbour.verdict, REACH_UNKNOWN);
	neighbour = find_neighbour("10.9.0.7", 50);
	assert_int_equal(neighbour.verdict, REACH_UNKNOWN);
	assert_true(neighbour.entry.state & NUD_INCOMPLETE);
}

static void needs_no_neighbour_on_loopback(void **state)
{
	static const char *const hosts[] = {NEAR, "fd09::1", "127.0.0.1", "::1"};

	(void)state;
	net_make();
	for (size_t i = 0; i < COUNT(hosts); i++) {
		struct reach_neighbour neighbour = find_neighbour(hosts[i], MINUTE);

		assert_int_equal(neighbour.verdict, REACH_GOOD);
		assert_string_equal(neighbour.evidence, "this host");
	}
	net_near("link set near0 arp off");
	assert_string_equal(
		find_neighbour(FAR, MINUTE).evidence, "near0 needs no address resolution");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(evidence_is_short_and_printable),
		cmocka_unit_test(finds_names),
		cmocka_unit_test(lists_each_address_once),
		cmocka_unit_test(lists_no_more_addresses_than_fit),
		cmocka_unit_test(judges_routes_by_type_and_error),
		cmocka_unit_test(judges_interfaces),
		cmocka_unit_test(judges_neighbours),
		cmocka_unit_test(a_dummy_leads_nowhere),
		cmocka_unit_test(finds_routes),
		cmocka_unit_test(finds_missing_routes),
		cmocka_unit_test(finds_interfaces_that_are_down),
		cmocka_unit_test(finds_present_neighbours),
		cmocka_unit_test(finds_absent_neighbours),
		cmocka_unit_test(does_not_trust_stale_neighbour_entries),
		cmocka_unit_test(returns_by_the_deadline),
		cmocka_unit_test(needs_no_neighbour_on_loopback),
	};

	return cmocka_run_group_tests_name("reachability", tests, NULL, NULL);
}
