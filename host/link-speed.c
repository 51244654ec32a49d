#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/inventory.h"
#include "host/link-speed.h"

/* What is far too slow: half of what was promised. */
#define PROMISE_DIVISOR 2

/* Software RDMA is as fast as the processors; its port's rate is made up. */
static bool is_software(const struct facts *facts)
{
	const char *driver = facts_value(facts, "driver");

	return driver && (strcmp(driver, "rdma_rxe") == 0 || strcmp(driver, "siw") == 0);
}

/* MB/s of the slower port, 0 if one is not known. */
static double promised(const struct facts *ours, const struct facts *theirs)
{
	double here = (double)inventory_megabits(facts_value(ours, "rate")) / 8;
	double there = (double)inventory_megabits(facts_value(theirs, "rate")) / 8;

	return here < there ? here : there;
}

double speed_of_bus(const char *bus)
{
	double transfers;
	unsigned int queue_pairs;

	/* current_link_speed, which named PCIe later, and current_link_width. sysfs-bus-pci. */
	if (!bus || (sscanf(bus, "%lf GT/s PCIe x%u", &transfers, &queue_pairs) != 2 &&
			    sscanf(bus, "%lf GT/s x%u", &transfers, &queue_pairs) != 2))
		return 0;
	/* PCI Express sends 10 bits for 8 up to 5 GT/s, and 130 for 128 above. */
	return transfers * 1000 / 8 * queue_pairs * (transfers > 5 ? 128.0 / 130 : 8.0 / 10);
}

/*
 * Bytes around the data of a packet. RoCE v2: preamble, gap, header and check of Ethernet (38), IPv4 (20),
 * UDP (8), BTH (12), ICRC (4). InfiniBand: LRH (8), BTH (12), ICRC (4), VCRC (2), and a delimiter at each
 * end. InfiniBand specification, volume 1, chapters 5 and 9; its annex A17.
 */
#define AROUND_ETHERNET   82
#define AROUND_INFINIBAND 28

static double mtu_of(const struct facts *facts)
{
	const char *mtu = facts_value(facts, "rdma mtu");

	return mtu ? strtod(mtu, NULL) : 0;
}

/* InfiniBand's first three rates are those of the wire, where ten bits carry eight. */
static bool is_coded(const struct facts *facts)
{
	const char *rate = facts_value(facts, "rate");

	return rate && (strstr(rate, "SDR") || strstr(rate, "DDR") || strstr(rate, "QDR"));
}

double speed_of_link(const struct facts *ours, const struct facts *theirs)
{
	const char *layer = facts_value(ours, "link layer");
	bool infiniband = layer && strcmp(layer, "InfiniBand") == 0;
	double data = mtu_of(ours) < mtu_of(theirs) ? mtu_of(ours) : mtu_of(theirs);
	double around = infiniband ? AROUND_INFINIBAND : AROUND_ETHERNET;
	double coded = infiniband && (is_coded(ours) || is_coded(theirs)) ? 0.8 : 1;

	if (is_software(ours) || is_software(theirs) || data == 0)
		return 0;
	return promised(ours, theirs) * 1e6 * coded * data / (data + around);
}

/* True if that end's bus is known, and carries less than the link. */
static bool bus_is_slow(const struct facts *facts, double promise)
{
	double carried = speed_of_bus(facts_value(facts, "bus"));

	return carried > 0 && carried < promise;
}

static const char *bus(const struct facts *facts)
{
	const char *value = facts_value(facts, "bus");

	return value ? value : "unknown";
}

bool speed_is_good(const struct facts *ours, const struct facts *theirs, double there, double back,
	enum impairment *why, char *text, size_t size)
{
	double promise = promised(ours, theirs), least = there < back ? there : back;
	char rates[80];

	snprintf(rates, sizeof(rates), "%.1f MB/s there, %.1f MB/s back", there, back);
	if (is_software(ours) || is_software(theirs)) {
		snprintf(text, size,
			"%s (RDMA in software: the processors set the speed, not the link)", rates);
		return true;
	}
	if (promise == 0) {
		snprintf(text, size, "%s (what the link promises is not known)", rates);
		return true;
	}
	if (least >= promise / PROMISE_DIVISOR) {
		snprintf(text, size, "%s of %.0f MB/s that the link promises", rates, promise);
		return true;
	}
	*why = bus_is_slow(ours, promise) || bus_is_slow(theirs, promise) ? IMPAIRED_BUS
									  : IMPAIRED_SPEED;
	snprintf(text, size, "%s; the link promises %.0f MB/s; the bus is %s here, %s there", rates,
		promise, bus(ours), bus(theirs));
	return false;
}
