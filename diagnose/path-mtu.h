/*
 * Checks whether IP datagrams of the interface's MTU reach the other host. RDMA over Ethernet
 * derives its packet size from the interface MTU and does not detect a link with a smaller MTU,
 * which drops only large packets.
 */
#ifndef DIAGNOSE_PATH_MTU_H
#define DIAGNOSE_PATH_MTU_H

#include <stdbool.h>

#include "base/deadline.h"
#include "diagnose/reachability.h"

#define PATH_TRIES_MAX 24

/*
 * The search for the largest datagram that arrives. It sends nothing: it returns the next size to
 * try and accepts the results. Sizes are in bytes including the IP header. The caller serialises.
 */
struct path_search {
	unsigned int top;     /* MTU of the interface */
	unsigned int floor;   /* small enough for every link */
	unsigned int proven;  /* largest size that arrived, 0: none */
	unsigned int too_big; /* smallest size that a router refused, 0: none */
	unsigned int hint;    /* MTU that the router reported, 0: unknown */
	unsigned int count;   /* number of tries */
	unsigned int tries[PATH_TRIES_MAX];
};

void path_search_init(struct path_search *search, unsigned int top, unsigned int floor);

/* Returns the next size to try and counts the try; 0 at the end of the search. */
unsigned int path_search_next(struct path_search *search);

/* Records that a datagram of this size arrived. */
void path_search_arrived(struct path_search *search, unsigned int size);

/*
 * Records that a router, or this host, refused this size; mtu is the size it supports, 0 if
 * unknown.
 */
void path_search_too_big(struct path_search *search, unsigned int size, unsigned int mtu);

struct path_mtu {
	enum reach_verdict verdict;
	int error;                    /* errno from sending, 0: none */
	struct path_search found;     /* proven: the largest size that arrived */
	int other;                    /* errno of another error received, 0: none */
	struct sockaddr_storage from; /* sender of that error; AF_UNSPEC: this host */
	char evidence[REACH_EVIDENCE_SIZE];
};

/*
 * Sends datagrams along a good route. The verdict is good if a datagram of the interface's MTU
 * arrives, bad if only smaller ones arrive or a router refuses that size, and unknown at the
 * deadline or if the host does not reply, often because of a firewall. Takes 0.3 s per lost
 * datagram, at most 8 s. Any thread.
 */
void path_mtu_find(const struct reach_route *route, deadline_t deadline, struct path_mtu *path);

/* Sets verdict and evidence from the other members, which path_mtu_find() fills in. Any thread. */
void path_mtu_assess(struct path_mtu *path);

#endif
