/*
 * Whether IP datagrams of the interface's MTU reach the other host. RDMA over Ethernet sizes its
 * packets by the interface's MTU and does not learn of a link with a smaller one: large packets are
 * lost there, small ones pass.
 */
#ifndef DIAGNOSE_PATH_MTU_H
#define DIAGNOSE_PATH_MTU_H

#include <stdbool.h>

#include "base/deadline.h"
#include "diagnose/reachability.h"

#define PATH_TRIES_MAX 24

/*
 * The search for the largest datagram that arrives, without any sending: gives the next size to
 * try, and takes the results. Sizes are bytes with the IP header. The caller serialises.
 */
struct path_search {
	unsigned int top;     /* of the interface */
	unsigned int floor;   /* small enough for every link */
	unsigned int proven;  /* the largest that arrived, 0 if none did */
	unsigned int too_big; /* the smallest that a router refused, 0 if none did */
	unsigned int hint;    /* the MTU that the router reported, 0 if unknown */
	unsigned int count;   /* of tries */
	unsigned int tries[PATH_TRIES_MAX];
};

void path_search_init(struct path_search *search, unsigned int top, unsigned int floor);

/* The next size to try, and counts the try; 0 at the end of the search. */
unsigned int path_search_next(struct path_search *search);

/* A datagram of that size has arrived. */
void path_search_arrived(struct path_search *search, unsigned int size);

/* A router, or this host, has refused that size; mtu is what it takes, 0 if unknown. */
void path_search_too_big(struct path_search *search, unsigned int size, unsigned int mtu);

struct path_mtu {
	enum reach_verdict verdict;
	int error;                    /* errno of sending, 0 for none */
	struct path_search found;     /* proven: the largest that arrived */
	int other;                    /* errno of another error that came back, 0 for none */
	struct sockaddr_storage from; /* its sender; AF_UNSPEC: this host */
	char evidence[REACH_EVIDENCE_SIZE];
};

/*
 * Sends datagrams along a good route: good if one as large as its interface's MTU arrives, bad if
 * only smaller ones do or a router refuses that size. Unknown if the host does not reply, as
 * firewalls often forbid, or at the deadline. Takes 0.3 s for each datagram that is lost, at most 8
 * s. Any thread.
 */
void path_mtu_find(const struct reach_route *route, deadline_t deadline, struct path_mtu *path);

/* Sets verdict and evidence from the other members, which path_mtu_find() fills. Any thread. */
void path_mtu_assess(struct path_mtu *path);

#endif
