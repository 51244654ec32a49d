/*
 * Computes the maximum speed of a link from the facts of both ends, and checks a measured bandwidth
 * against it. Any thread.
 */
#ifndef HOST_LINK_SPEED_H
#define HOST_LINK_SPEED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"
#include "host/facts.h"

/*
 * Returns true if the rates of both directions, in MB/s, are at least half the rate of the slower
 * port, if that rate is unknown, or if either end uses software RDMA. Describes the rates in text;
 * if they are too low, sets *why.
 */
bool link_speed_is_good(const struct facts *ours, const struct facts *theirs, double there,
	double back, enum impairment *why, char *text, size_t size);

/* True for rdma_rxe and siw, which the processor limits: their ports' rates are fictitious. */
bool link_speed_is_software(const struct facts *facts);

/*
 * Returns the payload bytes per second that the link can carry: the rate of the slower port
 * ("rate") minus packet headers ("rdma mtu", "link layer"); 0 if unknown, as with software RDMA.
 */
double link_speed_of_data(const struct facts *ours, const struct facts *theirs);

/*
 * Returns the speed in MB/s of a bus such as "16.0 GT/s PCIe x8", excluding packet headers; 0 for
 * other text or NULL.
 */
double link_speed_of_bus(const char *bus);

#endif
