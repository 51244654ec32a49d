/*
 * Queries the kernel for routes, interfaces and neighbours: rtnetlink(7), through libnl-route-3.
 * The functions send nothing to the network and return within a second. Any thread.
 */
#ifndef HOST_NETLINK_H
#define HOST_NETLINK_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Space for a link-layer address of MAX_ADDR_LEN bytes, as "52:54:00:12:34:56". */
#define NETLINK_HARDWARE_SIZE (3 * 32)

/* A route to an address: RTM_NEWROUTE. */
struct netlink_route {
	uint8_t type;           /* RTN_UNICAST, RTN_LOCAL, RTN_BLACKHOLE, ...: rtnetlink(7) */
	unsigned int interface; /* interface index, 0: none */
	unsigned int mtu;       /* of the route, 0: use the MTU of the interface */
	struct sockaddr_storage source, gateway; /* AF_UNSPEC: none; port 0 */
};

/* A network interface: RTM_NEWLINK. */
struct netlink_link {
	char name[IF_NAMESIZE]; /* printable ASCII; other bytes are '?' */
	unsigned int flags;     /* IFF_UP, IFF_NOARP, ...: netdevice(7) */
	unsigned int mtu;       /* bytes of an IP datagram */
	unsigned int index;     /* of this interface */
	unsigned int master;    /* index of the bridge, bond or VRF to which it belongs, 0: none */
	unsigned int lower;   /* index of the interface below it or, of a veth, its peer; 0: none */
	bool lower_elsewhere; /* that interface is in another network namespace */
	char kind[16];        /* "vrf", "macvlan"; "" for a physical interface */
	char hardware[NETLINK_HARDWARE_SIZE]; /* its link-layer address, "" if it has none */
	uint8_t state; /* IF_OPER_UP, IF_OPER_DOWN, ...: linux/if.h, RFC 2863 */
};

/* An entry of the neighbour table: RTM_NEWNEIGH. */
struct netlink_neighbour {
	uint16_t state;                       /* NUD_REACHABLE, NUD_FAILED, ...: rtnetlink(7) */
	char hardware[NETLINK_HARDWARE_SIZE]; /* its link-layer address, "" if unknown */
};

/*
 * Each function returns 0, or -errno and a zeroed struct: -ETIMEDOUT if the kernel does not reply,
 * -EBADMSG if the reply is of another type, -ENOMEM, or the errno of socket(2).
 */

/*
 * Finds the route to an IPv4 or IPv6 address from a source address, or from any address if source
 * is NULL. Returns -ENETUNREACH if there is no route, -EINVAL for a blackhole route, -EACCES for a
 * prohibit route, -EHOSTUNREACH for an unreachable route, -EAFNOSUPPORT for other families.
 */
int netlink_find_route(
	const struct sockaddr *address, const struct sockaddr *source, struct netlink_route *route);

/* True if the address is one of this host. */
bool netlink_is_local(const struct sockaddr *address);

/*
 * Does the same as netlink_find_route() for packets through this interface, whose VRF selects the
 * routes; 0: any.
 */
int netlink_find_route_through(unsigned int interface, const struct sockaddr *address,
	const struct sockaddr *source, struct netlink_route *route);

/*
 * Does the same, but finds the entry of the routing tables. Without one, packets to IPv4 addresses
 * leave through the interface as if they were its neighbours: here, that is -EHOSTUNREACH.
 */
int netlink_match_route(unsigned int interface, const struct sockaddr *address,
	const struct sockaddr *source, struct netlink_route *route);

/* Finds an interface by index. Returns -ENODEV if there is none. */
int netlink_find_link(unsigned int interface, struct netlink_link *link);

/*
 * Lists all interfaces of this network namespace. The caller frees *links. Returns their number, or
 * -errno and NULL.
 */
int netlink_list_links(struct netlink_link **links);

/*
 * Finds a neighbour on an interface. Returns -ENOENT if the kernel has no entry, -EOPNOTSUPP before
 * Linux 5.0, -EAFNOSUPPORT for families other than IPv4 and IPv6.
 */
int netlink_find_neighbour(unsigned int interface, const struct sockaddr *address,
	struct netlink_neighbour *neighbour);

#endif
