/*
 * The search for the largest datagram that gets through, in simulated networks and between two
 * network namespaces.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "diagnose/path-mtu.h"
#include "tests/unit/common/network-fixture.h"
#include "tests/unit/unit.h"

#define MINUTE  60000
#define CONTROL 576

/* The first seed of the search's random numbers; each run uses another. */
static unsigned int seed;

/*
 * A simulated network between the local host and another one, which may limit the rate of its
 * replies as Linux does: it has a number of replies in stock, at most six, and gets another one at
 * intervals.
 */
struct network {
	unsigned int mtu;      /* of the smallest link */
	unsigned int told;     /* next-hop MTU in ICMP errors; 0: the router sends none */
	bool silent;           /* the host does not reply */
	unsigned int lost;     /* number of datagrams lost at the start */
	unsigned int proven;   /* expected result */
	unsigned int interval; /* milliseconds between replies; 0: no limit */
	unsigned int stock;    /* replies in stock at the start */
	enum reach_verdict verdict;
};

#define STOCK_MAX 6

/* Simulates the fate of a datagram at this time in milliseconds. */
static void simulate(const struct network *network, struct path_search *search, unsigned int size,
	unsigned int time, unsigned int *next, unsigned int *stock)
{
	for (; network->interval && time >= *next; *next += network->interval)
		*stock += *stock < STOCK_MAX;
	if (size > network->mtu && network->told)
		path_search_too_big(search, size, network->told);
	if (size > network->mtu || network->silent || (network->interval && *stock == 0))
		return;
	*stock -= network->interval != 0;
	path_search_arrived(search, size);
}

/* Runs the search on a simulated network, and counts the datagrams. */
static struct path_mtu search_network(
	const struct network *network, unsigned int top, unsigned int *sent)
{
	unsigned int size, time = 0, next = network->interval, stock = network->stock;
	struct path_mtu path = {0};

	*sent = 0;
	path_search_init(&path.found, top, CONTROL, ++seed);
	while ((size = path_search_next(&path.found))) {
		assert_true(size <= top);
		assert_true(size >= CONTROL);
		if ((*sent)++ >= network->lost)
			simulate(network, &path.found, size, time, &next, &stock);
		time += path.found.wait;
	}
	assert_true(time < MINUTE);
	path_mtu_assess(&path);
	return path;
}

static void finds_the_largest_datagram(void **state)
{
	static const struct network networks[] = {
		{.mtu = 9000, .proven = 9000, .verdict = REACH_GOOD},
		{.mtu = 9000, .lost = 1, .proven = 9000, .verdict = REACH_GOOD},
		{.mtu = 9000, .lost = 30, .proven = 9000, .verdict = REACH_GOOD},
		{.mtu = 9000, .lost = 120, .proven = 0, .verdict = REACH_UNKNOWN},
		{.mtu = 9000, .silent = true, .proven = 0, .verdict = REACH_UNKNOWN},
		{.mtu = 1500, .proven = 1500, .verdict = REACH_BAD},
		{.mtu = 1500, .told = 1500, .proven = 1500, .verdict = REACH_BAD},
		{.mtu = 1500, .told = 1500, .silent = true, .proven = 0, .verdict = REACH_BAD},
		{.mtu = 1450, .proven = 1400, .verdict = REACH_BAD},
		{.mtu = 1450, .told = 1450, .proven = 1450, .verdict = REACH_BAD},
		{.mtu = 1450, .told = 1450, .lost = 2, .proven = 1450, .verdict = REACH_BAD},
		/*
		 * Routers that report a wrong MTU, or first that of a link which is not the
		 * smallest.
		 */
		{.mtu = 1450, .told = 65000, .proven = 1400, .verdict = REACH_BAD},
		{.mtu = 1450, .told = 1, .proven = 1400, .verdict = REACH_BAD},
		{.mtu = 1450, .told = 8000, .proven = 1400, .verdict = REACH_BAD},
		{.mtu = 5000, .proven = 4200, .verdict = REACH_BAD},
		{.mtu = 20, .proven = 0, .verdict = REACH_UNKNOWN},
		/* Large datagrams are lost, and the host limits its replies. */
		{.mtu = 1500, .interval = 1000, .stock = 6, .proven = 1500, .verdict = REACH_BAD},
		{.mtu = 1500, .interval = 1000, .proven = 576, .verdict = REACH_BAD},
		{.mtu = 1500, .interval = 10000, .proven = 0, .verdict = REACH_UNKNOWN},
	};
	unsigned int sent;

	(void)state;
	for (size_t i = 0; i < COUNT(networks); i++) {
		struct path_mtu path = search_network(&networks[i], 9000, &sent);

		if (path.found.proven != networks[i].proven || path.verdict != networks[i].verdict)
			fail_msg("network %zu: proved %u: %s", i, path.found.proven, path.evidence);
	}
}

/*
 * Limits of the rate of replies, from none in stock to all, never make a healthy path look bad. A
 * comparison with as many small datagrams as large ones fails here.
 */
static void a_limit_of_replies_is_no_loss(void **state)
{
	static const unsigned int intervals[] = {250, 500, 1000, 1300, 3000, 10000};
	unsigned int sent, good = 0;

	(void)state;
	for (unsigned int i = 0; i < 20000; i++) {
		struct network network = {
			.mtu = 9000,
			.interval = intervals[i % COUNT(intervals)],
			.stock = i % 7 > 1 ? 0 : i % 7,
			.lost = i % 5,
		};
		struct path_mtu path = search_network(&network, 9000, &sent);

		assert_int_not_equal(path.verdict, REACH_BAD);
		good += path.verdict == REACH_GOOD;
	}
	/* At an interval of 3 s and more, there may be no reply in time. */
	assert_true(good > 20000 * 3 / 5);
}

/* One datagram suffices if it arrives; a silent host is given up after 2.3 s. */
static void sends_no_more_than_needed(void **state)
{
	static const struct network well = {.mtu = 1500}, silent = {.mtu = 1500, .silent = true};
	unsigned int sent;

	(void)state;
	search_network(&well, 1500, &sent);
	assert_int_equal(sent, 1);
	search_network(&silent, 1500, &sent);
	assert_int_equal(sent, 101);
}

/* The search terminates whatever the network does. */
static void always_terminates(void **state)
{
	static const unsigned int tops[] = {0, 1, 67, 68, 69, 576, 1500, 4200, 9000, 65535};
	unsigned int random = 1;

	(void)state;
	for (unsigned int round = 0; round < 20000; round++) {
		struct path_mtu path = {0};
		unsigned int size, sent = 0;

		path_search_init(&path.found, tops[round % COUNT(tops)], CONTROL, round);
		while ((size = path_search_next(&path.found))) {
			assert_true(++sent < 1000);
			assert_true(size <= path.found.top);
			random = random * 1103515245 + 12345;
			if (random >> 16 & 1)
				path_search_too_big(&path.found, size, random >> 20);
			else if (random >> 17 & 1)
				path_search_arrived(&path.found, size);
		}
		path_mtu_assess(&path);
		assert_int_equal(path.verdict == REACH_GOOD,
			path.found.proven && path.found.proven == path.found.top);
		assert_true(*path.evidence);
	}
}

static void prints_its_conclusion(void **state)
{
	static const struct {
		struct path_mtu path;
		enum reach_verdict verdict;
		const char *evidence;
	} cases[] = {
		{{.found = {.top = 1500, .proven = 1500}}, REACH_GOOD,
			"datagrams of 1500 bytes arrive"},
		{{.found = {.top = 9000, .proven = 1500, .answered = 4}}, REACH_BAD,
			"datagrams of 1500 bytes arrive, those of 9000 are lost"},
		{{.found = {.top = 9000, .proven = 576, .answered = 3}}, REACH_UNKNOWN,
			"datagrams of 576 bytes arrive; too few replies to judge those of 9000"},
		{{.found = {.top = 9000, .proven = 1400, .too_big = 9000, .hint = 1400}}, REACH_BAD,
			"datagrams of 1400 bytes arrive, those of 9000 are rejected on the path"},
		{{.found = {.top = 9000, .too_big = 9000, .hint = 1400}}, REACH_BAD,
			"the path MTU is 1400, the interface MTU 9000; the host does not reply"},
		{{.found = {.top = 1500}}, REACH_UNKNOWN,
			"the host does not reply to probes (many do not)"},
		{{.found = {.top = 1500}, .error = EPERM}, REACH_UNKNOWN,
			"Operation not permitted"},
		{{.found = {.top = 1500}, .other = EHOSTUNREACH}, REACH_UNKNOWN,
			"this host reports: No route to host"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct path_mtu path = cases[i].path;

		path_mtu_assess(&path);
		assert_string_equal(path.evidence, cases[i].evidence);
		assert_int_equal(path.verdict, cases[i].verdict);
	}
}

static struct path_mtu probe(const char *host, int milliseconds)
{
	struct sockaddr_storage address = net_address(host);
	struct reach_route route;
	struct path_mtu path;

	reach_find_route((struct sockaddr *)&address, NULL, &route);
	assert_int_equal(route.verdict, REACH_GOOD);
	path_mtu_find(&route, deadline_in(milliseconds), &path);
	return path;
}

static void probes_paths_without_loss(void **state)
{
	static const struct {
		const char *host;
		unsigned int size;
	} cases[] = {{FAR, 9000}, {"fd09::2", 9000}, {NEAR, 65535}, {"fd09::1", 65535}};

	(void)state;
	net_make();
	net_near("link set near0 mtu 9000");
	net_far("link set far0 mtu 9000");
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct path_mtu path = probe(cases[i].host, MINUTE);

		check_case(cases[i].host, path.verdict == REACH_GOOD);
		assert_int_equal(path.found.proven, cases[i].size);
	}
}

/* Like a switch, the link silently drops frames that are too large. */
static void probes_paths_that_lose_large_datagrams(void **state)
{
	static const char *const hosts[] = {FAR, "fd09::2"};

	(void)state;
	net_make();
	net_near("link set near0 mtu 9000");
	net_far("link set far0 mtu 4200");
	for (size_t i = 0; i < COUNT(hosts); i++) {
		struct path_mtu path = probe(hosts[i], MINUTE);

		assert_string_equal(
			path.evidence, "datagrams of 4200 bytes arrive, those of 9000 are lost");
		assert_int_equal(path.verdict, REACH_BAD);
		assert_true(path.inferred);
	}
}

/* The kernel of the far host replies at most six times at once, and then once per second. */
static void limited_replies_prove_nothing(void **state)
{
	(void)state;
	net_make();
	net_near("link set near0 mtu 9000");
	net_far("link set far0 mtu 9000");
	for (int i = 0; i < 12; i++) {
		struct path_mtu path = probe(FAR, MINUTE);

		if (path.verdict != REACH_GOOD)
			fail_msg("search %d: %s", i, path.evidence);
	}
}

static void probes_paths_with_a_router_that_reports_its_mtu(void **state)
{
	struct path_mtu path;

	(void)state;
	net_make();
	net_far_forwards();
	net_near("route add 10.88.0.0/24 via 10.9.0.2");
	net_far("route add 10.88.0.0/24 via 10.9.0.99 mtu 1300");
	path = probe("10.88.0.1", MINUTE);
	assert_int_equal(path.verdict, REACH_BAD);
	assert_int_equal(path.found.hint, 1300);
	assert_int_equal(path.found.too_big, 1500);
	assert_int_equal(path.found.proven, 0);
}

static void lost_replies_prove_nothing(void **state)
{
	struct path_mtu path;

	(void)state;
	net_make();
	/* The far interface drops frames for another MAC address. */
	net_near("neighbour add 10.9.0.9 lladdr 02:00:00:00:00:09 nud permanent dev near0");
	path = probe("10.9.0.9", MINUTE);
	assert_int_equal(path.verdict, REACH_UNKNOWN);
	assert_string_equal(path.evidence, "the host does not reply to probes (many do not)");
	path = probe("10.9.0.9", 0);
	assert_int_equal(path.verdict, REACH_UNKNOWN);
	/* An absent neighbour does not reply either; an earlier check reports it. */
	path = probe("10.9.0.7", MINUTE);
	assert_int_equal(path.verdict, REACH_UNKNOWN);
	assert_string_equal(path.evidence, "10.9.0.1 reports: No route to host");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_largest_datagram),
		cmocka_unit_test(a_limit_of_replies_is_no_loss),
		cmocka_unit_test(sends_no_more_than_needed),
		cmocka_unit_test(always_terminates),
		cmocka_unit_test(prints_its_conclusion),
		cmocka_unit_test(probes_paths_without_loss),
		cmocka_unit_test(probes_paths_that_lose_large_datagrams),
		cmocka_unit_test(limited_replies_prove_nothing),
		cmocka_unit_test(probes_paths_with_a_router_that_reports_its_mtu),
		cmocka_unit_test(lost_replies_prove_nothing),
	};

	return cmocka_run_group_tests_name("path-mtu", tests, NULL, NULL);
}
