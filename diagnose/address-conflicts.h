/*
 * Several interfaces that answer ARP for one address: what this host and the network show, and the
 * failures that this explains. By itself it is no fault: proxies and some kinds of bonds answer in
 * the same way, and the kernel may choose the right answer. Any thread; the caller serialises.
 */
#ifndef DIAGNOSE_ADDRESS_CONFLICTS_H
#define DIAGNOSE_ADDRESS_CONFLICTS_H

#include "diagnose/check-list.h"
#include "diagnose/neighbour-answers.h"
#include "diagnose/reachability.h"

struct inventory;

/* Who answers for the next hop. */
struct address_conflicts {
	struct neighbour_answers answers;
	char hardware[NETLINK_HARDWARE_SIZE]; /* the kernel's choice; "": unknown */
};

/*
 * Examines the interfaces of this host, and adds a warning to the check of this host if peers may
 * reach the wrong one.
 */
void address_conflicts_examine(const struct inventory *inventory, struct check_list *list);

/*
 * Asks who answers for the next hop, which was found, and adds a warning to the check of the
 * neighbour if there are several answers. Takes half a second.
 */
void address_conflicts_ask(struct address_conflicts *conflicts, const struct reach_route *route,
	const struct reach_neighbour *neighbour, struct check_list *list);

/*
 * Replaces the failure if the peer did not respond, although it may be up, and the kernel's choice
 * has changed since address_conflicts_ask(). A connection request without a reply is enough if
 * several MAC addresses answer for the next hop; once connected, packets reached the peer.
 */
void address_conflicts_blame(const struct address_conflicts *conflicts,
	const struct reach_route *route, struct failure *failure);

#endif
