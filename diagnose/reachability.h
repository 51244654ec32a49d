/*
 * Checks of another host below RDMA: its name, the route to it and the next hop. Each check runs as
 * an ordinary user, returns by its deadline, and writes its evidence in printable ASCII. The check
 * after these is in path-mtu.h.
 */
#ifndef DIAGNOSE_REACHABILITY_H
#define DIAGNOSE_REACHABILITY_H

#include <netdb.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/deadline.h"
#include "host/netlink.h"

#define REACH_ADDRESSES_MAX 16
#define REACH_EVIDENCE_SIZE 256

enum reach_verdict {
	REACH_UNKNOWN = 0,
	REACH_GOOD,
	REACH_BAD,
};

/* The addresses of a host name, without port, in the order of getaddrinfo(3). */
struct reach_names {
	enum reach_verdict verdict;
	int error;        /* EAI_..., 0: none */
	int milliseconds; /* time taken */
	unsigned int count;
	bool more; /* there were more addresses than fit */
	struct sockaddr_storage addresses[REACH_ADDRESSES_MAX];
	char evidence[REACH_EVIDENCE_SIZE];
};

/* The route that the kernel would use for an address. */
struct reach_route {
	enum reach_verdict verdict;
	int error;                               /* errno; 0 if there is a route */
	struct sockaddr_storage address, source; /* source AF_UNSPEC: any */
	struct netlink_route route;
	struct netlink_link link; /* the interface of the route */
	/*
	 * An interface that is down although its network contains the address, so that the kernel
	 * uses another route or none; usually "".
	 */
	char down[IF_NAMESIZE];
	char evidence[REACH_EVIDENCE_SIZE];
};

/* The next hop on the route: a gateway or the destination itself. */
struct reach_neighbour {
	enum reach_verdict verdict;
	int error;        /* errno of the probe or of the neighbour table, 0: none */
	int milliseconds; /* time taken */
	bool gateway;     /* true if it is not the destination */
	bool needless;    /* not needed: this host, or a link without link-layer addresses */
	bool nowhere;     /* it is another host, but the interface leads to none: a dummy */
	bool confirmed;   /* the destination replied to the probe */
	struct sockaddr_storage address;
	struct netlink_neighbour entry; /* the kernel's entry; state 0 if it has none */
	char evidence[REACH_EVIDENCE_SIZE];
};

/*
 * Resolves the name within this many milliseconds. After a timeout, host must stay valid until the
 * process exits (see address_find()). The verdict is good if there is at least one address. Main
 * thread.
 */
void reach_find_names(const char *host, int milliseconds, struct reach_names *names);

/*
 * Finds the route from a source address, or from any address if source is NULL. The verdict is good
 * if the route leads to a host through an interface that is up and has a carrier. Sends nothing.
 * Any thread.
 */
void reach_find_route(
	const struct sockaddr *address, const struct sockaddr *source, struct reach_route *route);

/* Does the same for packets through this interface, whose VRF selects the routes; 0: any. */
void reach_find_route_through(unsigned int interface, const struct sockaddr *address,
	const struct sockaddr *source, struct reach_route *route);

/* Returns the source address for which the route was requested; NULL for any. */
const struct sockaddr *reach_source(const struct reach_route *route);

/*
 * Sends a UDP probe along a good route and polls the kernel's neighbour entry. The verdict is good
 * if the neighbour is confirmed, bad if the kernel has given up (by default after 3 s, or 8 s for a
 * known neighbour; arp(7)), and unknown at the deadline. Any thread.
 */
void reach_find_neighbour(
	const struct reach_route *route, deadline_t deadline, struct reach_neighbour *neighbour);

/*
 * Set verdict and evidence from the other members, which reach_find_*() fill in.
 * reach_assess_names() also copies the addresses from the list, which may be NULL. Any thread.
 */
void reach_assess_names(struct reach_names *names, const struct addrinfo *list);
void reach_assess_route(struct reach_route *route);
void reach_assess_neighbour(struct reach_neighbour *neighbour, const struct reach_route *route);

/* Formats the evidence, truncated to its size; non-printable bytes become '?'. Any thread. */
void reach_evidence(char evidence[REACH_EVIDENCE_SIZE], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
