/*
 * Several interfaces that answer for one address: what this host and the network show, and the
 * failures that it explains. By itself, none of this is a fault: proxies and some kinds of bonds
 * answer in the same way, and the kernel may choose the right answer. Main thread.
 */
#ifndef DIAGNOSE_ADDRESS_CONFLICTS_H
#define DIAGNOSE_ADDRESS_CONFLICTS_H

#include "diagnose/diagnosis.h"

/* Examines the interfaces of this host. */
void address_conflicts_find(struct diagnosis *diagnosis);

/* Writes the warning about this host, and returns true if there is one. */
bool address_conflicts_warning(const struct diagnosis *diagnosis, char *text, size_t size);

/* Asks who answers for a neighbour that was found, and records that this check passed. */
void address_conflicts_ask(struct diagnosis *diagnosis, const struct reach_neighbour *neighbour);

/*
 * Replaces the failure of a connection request that got no reply if several MAC addresses answer
 * for the next hop, the kernel's choice changed, or this host's interfaces answer for each other.
 */
void address_conflicts_blame(struct diagnosis *diagnosis, struct failure *failure);

#endif
