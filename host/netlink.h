/*
 * What the kernel knows of routes, interfaces and neighbours: rtnetlink(7), by libmnl. Reading the
 * answers is apart from asking, so that it can be tried with made-up messages.
 */
#ifndef HOST_NETLINK_H
#define HOST_NETLINK_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/deadline.h"

struct nlmsghdr;

/* Room for a link-layer address of MAX_ADDR_LEN bytes, as "52:54:00:12:34:56". */
#define NETLINK_HARDWARE_SIZE (3 * 32)

/* The way to an address: RTM_NEWROUTE. */
struct netlink_route {
	uint8_t type;           /* RTN_UNICAST, RTN_LOCAL, RTN_BLACKHOLE, ...: rtnetlink(7) */
	unsigned int interface; /* its index, 0 if there is none */
	unsigned int mtu;       /* of the route, 0 if it is that of the interface */
	struct sockaddr_storage source, gateway; /* AF_UNSPEC: none; port 0 */
};

/* A network interface: RTM_NEWLINK. */
struct netlink_link {
	char name[IF_NAMESIZE];
	unsigned int flags; /* IFF_UP, IFF_NOARP, ...: netdevice(7) */
	unsigned int mtu;   /* bytes of an IP datagram */
	uint8_t state;      /* IF_OPER_UP, IF_OPER_DOWN, ...: linux/if.h, RFC 2863 */
};

/* Who has an address on a link: RTM_NEWNEIGH. */
struct netlink_neighbour {
	uint16_t state;                       /* NUD_REACHABLE, NUD_FAILED, ...: rtnetlink(7) */
	char hardware[NETLINK_HARDWARE_SIZE]; /* its link-layer address, "" if unknown */
};

/*
 * Read a message whose length fits its memory. Return 0; -EBADMSG if it is of another type or too
 * short. Attributes of unexpected length are ignored. Any thread.
 */
int netlink_read_route(const struct nlmsghdr *message, struct netlink_route *route);
int netlink_read_link(const struct nlmsghdr *message, struct netlink_link *link);
int netlink_read_neighbour(const struct nlmsghdr *message, struct netlink_neighbour *neighbour);

/*
 * Asks for the route to an IPv4 or IPv6 address, from this one or, NULL, from any. Returns 0 or
 * -errno: -ENETUNREACH without a route, -EINVAL for one of type blackhole, -EACCES for prohibit,
 * -EHOSTUNREACH for unreachable, -ETIMEDOUT, what socket(2) says. Sends nothing to the network. Any
 * thread.
 */
int netlink_find_route(const struct sockaddr *address, const struct sockaddr *source,
	deadline_t deadline, struct netlink_route *route);

/* Asks for an interface by its index. Returns 0 or -errno: -ENODEV, -ETIMEDOUT. Any thread. */
int netlink_find_link(unsigned int interface, deadline_t deadline, struct netlink_link *link);

/*
 * Asks for a neighbour on an interface. Returns 0 or -errno: -ENOENT when the kernel knows none,
 * -ETIMEDOUT; -EOPNOTSUPP before Linux 5.0. Sends nothing to the network. Any thread.
 */
int netlink_find_neighbour(unsigned int interface, const struct sockaddr *address,
	deadline_t deadline, struct netlink_neighbour *neighbour);

#endif
