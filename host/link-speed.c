/*
 * Computes the speed of a link from the facts of its two ends: rate, bus, link layer, MTU. Pure
 * functions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/inventory.h"
#include "host/link-speed.h"

/* A data rate below this fraction of the port's rate is too low. */
#define GOOD_PART 0.5

bool link_speed_is_software(const struct facts *facts)
{
	const char *driver = facts_value(facts, "driver");

	return driver && (strcmp(driver, "rdma_rxe") == 0 || strcmp(driver, "siw") == 0);
}

/* Returns the rate of the slower port in MB/s, 0 if either rate is unknown. */
static double port_rate(const struct facts *ours, const struct facts *theirs)
{
	double here = (double)inventory_megabits(facts_value(ours, "rate")) / 8;
	double there = (double)inventory_megabits(facts_value(theirs, "rate")) / 8;

	return here < there ? here : there;
}

double link_speed_of_bus(const char *bus)
{
	double transfers;
	unsigned int lanes;

	/*
	 * sysfs-bus-pci: current_link_speed, with "PCIe" on newer kernels, and current_link_width.
	 */
	if (!bus || (sscanf(bus, "%lf GT/s PCIe x%u", &transfers, &lanes) != 2 &&
			    sscanf(bus, "%lf GT/s x%u", &transfers, &lanes) != 2))
		return 0;
	/* PCI Express encodes 8 bits as 10 up to 5 GT/s, and 128 bits as 130 above. */
	return transfers * 1000 / 8 * lanes * (transfers > 5 ? 128.0 / 130 : 8.0 / 10);
}

/*
 * Header bytes per packet. RoCE v2: Ethernet preamble, gap, header and FCS (38), IPv4 (20), UDP
 * (8), BTH (12), ICRC (4). InfiniBand: LRH (8), BTH (12), ICRC (4), VCRC (2), and a delimiter at
 * each end. InfiniBand specification, volume 1, chapters 5 and 9; its annex A17.
 */
#define HEADERS_ETHERNET   82
#define HEADERS_INFINIBAND 28

static double mtu_of(const struct facts *facts)
{
	const char *mtu = facts_value(facts, "rdma mtu");

	return mtu ? strtod(mtu, NULL) : 0;
}

/* SDR, DDR and QDR report the signalling rate, with 8b/10b encoding. */
static bool is_encoded(const struct facts *facts)
{
	const char *rate = facts_value(facts, "rate");

	return rate && (strstr(rate, "SDR") || strstr(rate, "DDR") || strstr(rate, "QDR"));
}

double link_speed_of_data(const struct facts *ours, const struct facts *theirs)
{
	const char *layer = facts_value(ours, "link layer");
	bool infiniband = layer && strcmp(layer, "InfiniBand") == 0;
	double data = mtu_of(ours) < mtu_of(theirs) ? mtu_of(ours) : mtu_of(theirs);
	double headers = infiniband ? HEADERS_INFINIBAND : HEADERS_ETHERNET;
	double encoding = infiniband && (is_encoded(ours) || is_encoded(theirs)) ? 0.8 : 1;

	if (link_speed_is_software(ours) || link_speed_is_software(theirs) || data == 0)
		return 0;
	return port_rate(ours, theirs) * 1e6 * encoding * data / (data + headers);
}

/* True if the bus of this end is known to be slower than the link. */
static bool bus_is_slow(const struct facts *facts, double rate)
{
	double carried = link_speed_of_bus(facts_value(facts, "bus"));

	return carried > 0 && carried < rate;
}

bool link_speed_is_good(const struct facts *ours, const struct facts *theirs, double there,
	double back, enum impairment *why, char *text, size_t size)
{
	double rate = port_rate(ours, theirs), least = there < back ? there : back;
	char rates[80];

	snprintf(rates, sizeof(rates), "%.1f MB/s to the server, %.1f MB/s from it", there, back);
	if (link_speed_is_software(ours) || link_speed_is_software(theirs)) {
		snprintf(text, size, "%s (software RDMA: limited by the CPU, not the link)", rates);
		return true;
	}
	if (rate == 0) {
		snprintf(text, size, "%s (link rate unknown)", rates);
		return true;
	}
	if (least >= rate * GOOD_PART) {
		snprintf(text, size, "%s; link rate %.0f MB/s", rates, rate);
		return true;
	}
	*why = bus_is_slow(ours, rate) || bus_is_slow(theirs, rate) ? IMPAIRED_BUS : IMPAIRED_SPEED;
	snprintf(text, size, "%s; link rate %.0f MB/s; bus: %s on this host, %s on the other host",
		rates, rate, facts_shown(ours, "bus"), facts_shown(theirs, "bus"));
	return false;
}
