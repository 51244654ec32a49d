/* Checks measured bandwidth against the link and bus rates that both ends report. */
#include <string.h>

#include "host/link-speed.h"
#include "tests/unit/unit.h"

static void parses_bus_speed(void **state)
{
	static const struct {
		const char *bus;
		int megabytes;
	} cases[] = {
		{"16.0 GT/s PCIe x8", 15754},
		{"8.0 GT/s PCIe x16", 15754},
		{"8 GT/s x4", 3938},
		{"5.0 GT/s PCIe x8", 4000},
		{"2.5 GT/s PCIe x1", 250},
		{"Unknown x0", 0},
		{"16.0 GT/s PCIe", 0},
		{"", 0},
		{NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal((int)(link_speed_of_bus(cases[i].bus) + 0.5), cases[i].megabytes);
}

/* Facts reported by one end; NULL: not reported. */
struct end {
	const char *driver, *rate, *bus;
};

static struct facts facts_of(const struct end *end)
{
	struct facts facts = {0};

	if (end->driver)
		facts_add(&facts, "driver", "%s", end->driver);
	if (end->rate)
		facts_add(&facts, "rate", "%s", end->rate);
	if (end->bus)
		facts_add(&facts, "bus", "%s", end->bus);
	return facts;
}

#define FAST  "100 Gb/sec (4X EDR)"
#define SLOW  "10 Gb/sec (4X SDR)"
#define WIDE  "8.0 GT/s PCIe x16"
#define SMALL "8.0 GT/s PCIe x4"
#define GOOD  (-1)

static void slower_end_sets_expected_bandwidth(void **state)
{
	static const struct {
		struct end ours, theirs;
		double there, back;
		int why; /* enum impairment, or GOOD */
		const char *text;
	} cases[] = {
		{{"mlx5_core", FAST, WIDE}, {"mlx5_core", FAST, WIDE}, 11000, 6250, GOOD,
			"11000.0 MB/s to the server, 6250.0 MB/s from it; link rate 12500 MB/s"},
		{{"mlx5_core", FAST, WIDE}, {"mlx5_core", FAST, WIDE}, 11000, 6249, IMPAIRED_SPEED,
			"11000.0 MB/s to the server, 6249.0 MB/s from it; link rate 12500 MB/s; "
			"bus: " WIDE " on this host, " WIDE " on the other host"},
		{{"mlx5_core", FAST, SMALL}, {"mlx5_core", FAST, WIDE}, 3500, 3500, IMPAIRED_BUS,
			NULL},
		{{"mlx5_core", FAST, WIDE}, {"mlx5_core", FAST, SMALL}, 3500, 3500, IMPAIRED_BUS,
			NULL},
		{{"mlx5_core", FAST, NULL}, {"mlx5_core", FAST, NULL}, 3500, 12000, IMPAIRED_SPEED,
			"3500.0 MB/s to the server, 12000.0 MB/s from it; link rate 12500 MB/s; "
			"bus: unknown on this host, unknown on the other host"},
		/*
		 * The slower port sets the expected rate, and its bus is fast enough for that rate.
		 */
		{{"mlx5_core", FAST, WIDE}, {"mlx4_core", SLOW, SMALL}, 1100, 1100, GOOD, NULL},
		{{"mlx5_core", FAST, WIDE}, {"mlx4_core", SLOW, SMALL}, 600, 600, IMPAIRED_SPEED,
			NULL},
		{{"rdma_rxe", "2.5 Gb/sec (1X)", NULL}, {"mlx5_core", FAST, WIDE}, 1, 1, GOOD,
			"1.0 MB/s to the server, 1.0 MB/s from it (software RDMA: limited by the "
			"CPU, not the link)"},
		{{"mlx5_core", FAST, WIDE}, {"siw", FAST, WIDE}, 1, 1, GOOD, NULL},
		{{"mlx5_core", FAST, WIDE}, {"mlx5_core", NULL, NULL}, 1, 1, GOOD,
			"1.0 MB/s to the server, 1.0 MB/s from it (link rate unknown)"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct facts ours = facts_of(&cases[i].ours), theirs = facts_of(&cases[i].theirs);
		enum impairment why = IMPAIRED_MTU;
		char text[240];
		bool good = link_speed_is_good(
			&ours, &theirs, cases[i].there, cases[i].back, &why, text, sizeof(text));

		assert_int_equal(good ? GOOD : (int)why, cases[i].why);
		if (cases[i].text)
			assert_string_equal(text, cases[i].text);
	}
}

/* Link facts that one end reports; NULL: not reported. */
struct link {
	const char *driver, *rate, *mtu, *layer;
};

static struct facts facts_of_link(const struct link *link)
{
	const struct end end = {link->driver, link->rate, NULL};
	struct facts facts = facts_of(&end);

	if (link->mtu)
		facts_add(&facts, "rdma mtu", "%s", link->mtu);
	if (link->layer)
		facts_add(&facts, "link layer", "%s", link->layer);
	return facts;
}

#define CODED      "40 Gb/sec (4X QDR)"
#define ETHERNET   "Ethernet"
#define INFINIBAND "InfiniBand"

static void link_speed_excludes_headers(void **state)
{
	static const struct {
		struct link ours, theirs;
		uint64_t bytes; /* per second; 0: unknown */
	} cases[] = {
		/* 12500 MB/s; each packet of 4178 bytes carries 4096 bytes of data. */
		{{"mlx5_core", FAST, "4096", ETHERNET}, {"mlx5_core", FAST, "4096", ETHERNET},
			12254667305},
		{{"mlx5_core", FAST, "1024", ETHERNET}, {"mlx5_core", FAST, "1024", ETHERNET},
			11573236890},
		/* Packets of 4124 bytes carry 4096 bytes of data. */
		{{"mlx5_core", FAST, "4096", INFINIBAND}, {"mlx5_core", FAST, "4096", INFINIBAND},
			12415130941},
		/*
		 * InfiniBand up to QDR uses 8b/10b encoding: 80 % of the rate is data. Ethernet
		 * rates exclude the line encoding.
		 */
		{{"mlx4_core", CODED, "4096", INFINIBAND}, {"mlx4_core", CODED, "4096", INFINIBAND},
			3972841901},
		{{"mlx5_core", FAST, "4096", INFINIBAND}, {"mlx4_core", CODED, "4096", INFINIBAND},
			3972841901},
		{{"mlx4_core", CODED, "4096", ETHERNET}, {"mlx4_core", CODED, "4096", ETHERNET},
			4901866922},
		/* The slower port, local or remote, is the limit. */
		{{"mlx5_core", FAST, "1024", ETHERNET}, {"mlx5_core", SLOW, "1024", ETHERNET},
			1157323689},
		{{"mlx5_core", SLOW, "1024", ETHERNET}, {"mlx5_core", FAST, "1024", ETHERNET},
			1157323689},
		/* If the link layer is unknown, the larger headers are assumed. */
		{{"mlx5_core", SLOW, "1024", NULL}, {"mlx5_core", SLOW, "1024", NULL}, 1157323689},
		{{"rdma_rxe", FAST, "1024", ETHERNET}, {"mlx5_core", FAST, "1024", ETHERNET}, 0},
		{{"mlx5_core", FAST, "1024", ETHERNET}, {"siw", FAST, "1024", ETHERNET}, 0},
		{{"mlx5_core", NULL, "1024", ETHERNET}, {"mlx5_core", FAST, "1024", ETHERNET}, 0},
		{{"mlx5_core", FAST, "1024", ETHERNET}, {"mlx5_core", NULL, "1024", ETHERNET}, 0},
		{{"mlx5_core", FAST, NULL, ETHERNET}, {"mlx5_core", FAST, "1024", ETHERNET}, 0},
		{{"mlx5_core", FAST, "none", ETHERNET}, {"mlx5_core", FAST, "1024", ETHERNET}, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct facts ours = facts_of_link(&cases[i].ours);
		struct facts theirs = facts_of_link(&cases[i].theirs);

		assert_int_equal(
			(uint64_t)(link_speed_of_data(&ours, &theirs) + 0.5), cases[i].bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_bus_speed),
		cmocka_unit_test(slower_end_sets_expected_bandwidth),
		cmocka_unit_test(link_speed_excludes_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
