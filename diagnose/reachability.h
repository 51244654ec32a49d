/*
 * The first rungs of the ladder from this host to another one, below RDMA: its name, the route, the
 * neighbour that is next on it. Each is climbed as an ordinary user, ends by its deadline, and says
 * what it saw in printable ASCII. The rung above these is in path.h.
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

/* The verdict on a rung. */
enum reach {
	REACH_UNKNOWN = 0, /* it cannot be said */
	REACH_GOOD,
	REACH_BAD,
};

/* The addresses of a host name, without port, in the order of getaddrinfo(3). */
struct reach_names {
	enum reach verdict;
	int error;        /* EAI_..., 0 for none */
	int milliseconds; /* that it took */
	unsigned int count;
	bool more; /* than there is room for */
	struct sockaddr_storage addresses[REACH_ADDRESSES_MAX];
	char evidence[REACH_EVIDENCE_SIZE];
};

/* How the kernel would send to an address. */
struct reach_route {
	enum reach verdict;
	int error;                               /* errno; 0 if there is a route */
	struct sockaddr_storage address, source; /* from there; AF_UNSPEC: from any */
	struct netlink_route route;
	struct netlink_link link; /* that it leaves through */
	/*
	 * An interface that is down although the address is in its network, so that the kernel sends
	 * elsewhere or not at all; usually "".
	 */
	char down[IF_NAMESIZE];
	char evidence[REACH_EVIDENCE_SIZE];
};

/* Whether the next host on the way, a gateway or the host itself, is on its link. */
struct reach_neighbour {
	enum reach verdict;
	int error;        /* errno of sending to it or asking for it, 0 for none */
	int milliseconds; /* that it took */
	bool gateway;     /* it is not the host itself */
	bool needless; /* there is none to ask: this host, or a link without link-layer addresses */
	bool confirmed; /* something came from there just now */
	struct sockaddr_storage address;
	struct netlink_neighbour entry; /* the kernel's; state 0 if it has none */
	char evidence[REACH_EVIDENCE_SIZE];
};

/*
 * Looks the name up for at most that many milliseconds, after which host must stay valid until the
 * process ends: address_find(). Good if there is at least one address. Main thread.
 */
void reach_find_names(const char *host, int milliseconds, struct reach_names *names);

/*
 * Asks for the route, from that address or, NULL, from any. Good if it leads to a host through an
 * interface that is up with a carrier. Sends nothing. Any thread.
 */
void reach_find_route(
	const struct sockaddr *address, const struct sockaddr *source, struct reach_route *route);

/* The address that is sent from, NULL for any. */
const struct sockaddr *reach_source(const struct reach_route *route);

/*
 * Sends a datagram along a route that is good, and watches what the kernel learns of the neighbour.
 * Good if it is confirmed to be there, bad if the kernel has given up: after 3 s, or 8 s where it
 * was known before (arp(7), by default). Unknown if the deadline comes first. Any thread.
 */
void reach_find_neighbour(
	const struct reach_route *route, deadline_t deadline, struct reach_neighbour *neighbour);

/*
 * What the functions above conclude from what they have found; they look at nothing else. names:
 * error, milliseconds and a list, NULL if there is none; route: all but the verdict; neighbour: all
 * but the verdict. Any thread.
 */
void reach_judge_names(struct reach_names *names, const struct addrinfo *list);
void reach_judge_route(struct reach_route *route);
void reach_judge_neighbour(struct reach_neighbour *neighbour, const struct reach_route *route);

/* Writes evidence: what does not fit is cut, what is not printable becomes '?'. Any thread. */
void reach_say(char evidence[REACH_EVIDENCE_SIZE], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
