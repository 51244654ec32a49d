/*
 * Routes that exist only in a VRF, or only for certain source addresses (routing rules). Main
 * thread.
 */
#ifndef DIAGNOSE_ROUTE_DOMAINS_H
#define DIAGNOSE_ROUTE_DOMAINS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "diagnose/diagnosis.h"

/*
 * Checks the route from a source address that belongs to an RDMA device's interface in a VRF.
 * Soft-RoCE is known not to work in a VRF, and software iWARP to work only in a program that runs
 * in it. Returns false if the source address is no such address; otherwise *result is 0 if the
 * diagnosis can continue, or -1.
 */
bool route_domains_use_vrf(struct diagnosis *diagnosis, const struct sockaddr *address,
	const struct sockaddr *source, int *result);

/*
 * Called if the kernel has no route through an RDMA device to the address: looks for one in the VRF
 * of each RDMA device, and from each of its addresses. Records the failure of the route check and
 * returns true if there is one.
 */
bool route_domains_explain(struct diagnosis *diagnosis, const struct sockaddr *address);

#endif
