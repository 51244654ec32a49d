/*
 * Checks whether IP datagrams of the interface's MTU reach the other host. RDMA over Ethernet
 * derives its packet size from the interface MTU and does not detect a link with a smaller MTU,
 * which drops only large packets.
 *
 * The other host shows that a datagram arrived by an ICMP error, which it need not send: firewalls
 * drop such errors, and Linux limits their rate (icmp_ratelimit: six at once, then one per second).
 * Silence alone therefore proves nothing. Only if several small datagrams are answered while all of
 * the far more numerous large ones around them are not, do the large ones not arrive.
 */
#ifndef DIAGNOSE_PATH_MTU_H
#define DIAGNOSE_PATH_MTU_H

#include <stdbool.h>

#include "base/deadline.h"
#include "diagnose/reachability.h"

/*
 * The search for the largest datagram that arrives. It sends nothing: it returns the next size to
 * try and accepts the results. Sizes are in bytes including the IP header. The caller serialises.
 */
struct path_search {
	unsigned int top;      /* MTU of the interface */
	unsigned int control;  /* small enough for every link: see path_search_init() */
	unsigned int proven;   /* largest size that arrived, 0: none */
	unsigned int too_big;  /* smallest size that a router refused, 0: none */
	unsigned int hint;     /* MTU that the router reported, 0: unknown */
	unsigned int wait;     /* milliseconds to wait for a reply to the last try */
	unsigned int refused;  /* tries since a router refused a size */
	unsigned int compared; /* tries of the comparison of large and small datagrams */
	unsigned int answered; /* small datagrams of the comparison that were answered */
	unsigned int refined;  /* tries of other sizes */
	unsigned int random;   /* state of the random numbers */
	unsigned int place;    /* of the small datagram among those of a cycle */
	bool tried;            /* a datagram of size top was sent */
	bool unanswered;       /* the last small datagram is not answered yet */
};

/*
 * Starts a search. control is the size of the datagrams with which those of size top are compared.
 * At 576 bytes (IPv6: 1280) and above, replies have the same size for each size of datagram, so
 * that no limit on bytes prefers some. seed: any number.
 */
void path_search_init(
	struct path_search *search, unsigned int top, unsigned int control, unsigned int seed);

/* Returns the next size to try, and counts the try; 0 at the end of the search. */
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
	bool inferred;                /* bad because large datagrams were not answered */
	int error;                    /* errno from sending, 0: none */
	struct path_search found;     /* proven: the largest size that arrived */
	int other;                    /* errno of another error received, 0: none */
	struct sockaddr_storage from; /* sender of that error; AF_UNSPEC: this host */
	char evidence[REACH_EVIDENCE_SIZE];
};

/*
 * Sends datagrams along a good route. The verdict is good if a datagram of the interface's MTU
 * arrives, bad if a router refuses that size or if only smaller ones are answered again and again,
 * and unknown at the deadline or if the host does not reply. Takes one round trip if the first
 * datagram is answered, 2.5 s if none is, at most 8.5 s. Any thread.
 */
void path_mtu_find(const struct reach_route *route, deadline_t deadline, struct path_mtu *path);

/* Sets verdict and evidence from the other members, which path_mtu_find() fills in. Any thread. */
void path_mtu_assess(struct path_mtu *path);

#endif
