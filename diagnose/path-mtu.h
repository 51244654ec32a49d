/*
 * The rung above those of reach.h: whether IP datagrams as large as the interface takes get through
 * to the other host. RDMA over Ethernet chooses its packets by the interface's MTU and cannot learn
 * that some link on the way takes less; they are lost, while small ones pass.
 */
#ifndef DIAGNOSE_PATH_MTU_H
#define DIAGNOSE_PATH_MTU_H

#include <stdbool.h>

#include "base/deadline.h"
#include "diagnose/reachability.h"

#define PATH_TRIES_MAX 24

/*
 * The search for the largest datagram that arrives, as one that sends nothing: it says which size to
 * try next, and is told what came back. Sizes are bytes with the IP header. Serialised by the caller.
 */
struct path_search {
	unsigned int top;     /* of the interface */
	unsigned int floor;   /* small enough for every link */
	unsigned int proven;  /* the largest that arrived, 0 if none did */
	unsigned int too_big; /* the smallest that a router refused, 0 if none did */
	unsigned int hint;    /* what the router takes instead, 0 if unknown */
	unsigned int count;   /* of tries */
	unsigned int tries[PATH_TRIES_MAX];
};

void path_search_init(struct path_search *search, unsigned int top, unsigned int floor);

/* The next size to try, and counts the try; 0 if nothing more is to be learned. */
unsigned int path_search_next(struct path_search *search);

/* A datagram of that size has arrived. */
void path_search_arrived(struct path_search *search, unsigned int size);

/* A router, or this host, refused that size; mtu is what it takes, 0 if it did not say. */
void path_search_too_big(struct path_search *search, unsigned int size, unsigned int mtu);

/* What gets through to a host. */
struct path {
	enum reach verdict;
	int error;                /* errno of sending, 0 for none */
	struct path_search found; /* proven: the largest that arrived */
	unsigned int mtu;         /* of the path, as a router told or the kernel knows; 0 unknown */
	int other;                /* errno of what else came back, 0 for none */
	struct sockaddr_storage from; /* who sent that; AF_UNSPEC: this host */
	char evidence[REACH_EVIDENCE_SIZE];
};

/*
 * Sends datagrams along a route that is good: good if one as large as its interface's MTU arrives,
 * bad if only smaller ones do or a router refuses that size. Unknown if the host does not answer,
 * as many are told to be silent, or if the deadline comes first. Takes 0.3 s for each datagram that
 * is lost, at most 8 s. Any thread.
 */
void path_probe(const struct reach_route *route, deadline_t deadline, struct path *path);

/* What it concludes from all members but verdict and evidence. Any thread. */
void path_judge(struct path *path);

#endif
