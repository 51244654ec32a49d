/*
 * The speed that the link between two ends allows, from the facts of both, and whether data moved
 * as fast. Any thread.
 */
#ifndef HOST_LINK_SPEED_H
#define HOST_LINK_SPEED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"
#include "host/facts.h"

/*
 * True if the rates of both directions, in MB/s, are at least half the rate of the slower port, or
 * if that is unknown or RDMA is in software. Describes the rates in text; if they are too low, sets
 * *why.
 */
bool link_speed_is_good(const struct facts *ours, const struct facts *theirs, double there,
	double back, enum impairment *why, char *text, size_t size);

/*
 * Bytes of data per second that the link can carry: the rate of the slower port ("rate") without
 * the headers of each packet ("rdma mtu", "link layer"); 0 if unknown, as with RDMA in software.
 */
double link_speed_of_data(const struct facts *ours, const struct facts *theirs);

/* MB/s of a bus like "16.0 GT/s PCIe x8", without its headers; 0 if the text is none, or NULL. */
double link_speed_of_bus(const char *bus);

#endif
