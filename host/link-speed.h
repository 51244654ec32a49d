/*
 * Whether data moved as fast as the link between two ends promises and, if not, why. Pure.
 */
#ifndef HOST_LINK_SPEED_H
#define HOST_LINK_SPEED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"
#include "host/facts.h"

/*
 * Judges the rates of both directions, in MB/s, by what the ends say of themselves ("driver", "rate",
 * "bus"). Good is half of what the slower port promises; where nothing is promised, as with RDMA in
 * software, everything is. Writes what was measured and seen into text, and where it is not good the
 * reason into *why. Any thread.
 */
bool speed_is_good(const struct facts *ours, const struct facts *theirs, double there, double back,
	enum impairment *why, char *text, size_t size);

/*
 * Bytes in a second that the link between the ends can carry as data, by the rate of the slower port
 * and what the headers of each packet leave ("rdma mtu", "link layer"); 0 if that is not known, as with
 * RDMA in software.
 */
double speed_of_link(const struct facts *ours, const struct facts *theirs);

/* MB/s that a bus like "16.0 GT/s PCIe x8" carries, without its headers; 0 if the text is none, or NULL. */
double speed_of_bus(const char *bus);

#endif
