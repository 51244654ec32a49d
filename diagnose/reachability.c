/*
 * The checks below RDMA: name resolution, the route to an address, and the neighbour on that route.
 * Each reach_find_*() collects facts in the caller's struct; its reach_assess_*() derives the
 * verdict and the evidence from these facts alone. No state is kept between calls.
 */

/* Must precede linux/if.h, which extends it. */
#include <net/if.h>

#include <errno.h>
#include <ifaddrs.h>
#include <linux/if.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "base/text.h"
#include "diagnose/reachability.h"
#include "diagnose/udp-probe.h"

/* Interval between reads of the neighbour table while no reply arrives, in milliseconds. */
#define NEIGHBOUR_POLL_MS 20

/* Neighbour states that need no confirmation. */
#define NEIGHBOUR_SURE (NUD_REACHABLE | NUD_PERMANENT | NUD_NOARP)

void reach_evidence(char evidence[REACH_EVIDENCE_SIZE], const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(evidence, REACH_EVIDENCE_SIZE, format, arguments);
	va_end(arguments);
	text_printable(evidence);
}

/* Names. */

static void add_address(struct reach_names *names, const struct sockaddr *address)
{
	if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
		return;
	for (unsigned int i = 0; i < names->count; i++)
		if (address_equal((const struct sockaddr *)&names->addresses[i], address))
			return;
	if (names->count == REACH_ADDRESSES_MAX) {
		names->more = true;
		return;
	}
	memcpy(&names->addresses[names->count], address, address_length(address));
	address_set_port(&names->addresses[names->count++], 0);
}

void reach_assess_names(struct reach_names *names, const struct addrinfo *list)
{
	char text[REACH_EVIDENCE_SIZE] = "", address[ADDRESS_TEXT_SIZE];

	names->count = 0;
	names->more = false;
	for (const struct addrinfo *entry = list; entry; entry = entry->ai_next)
		add_address(names, entry->ai_addr);
	names->verdict = names->count ? REACH_GOOD : REACH_BAD;
	for (unsigned int i = 0; i < names->count; i++) {
		address_text((struct sockaddr *)&names->addresses[i], address);
		text_append(text, sizeof(text), "%s%s", i ? ", " : "", address);
	}
	if (names->error)
		reach_evidence(names->evidence, "%s", gai_strerror(names->error));
	else
		reach_evidence(names->evidence, "%s%s",
			names->count ? text : "no IPv4 or IPv6 address",
			names->more ? " and more" : "");
}

void reach_find_names(const char *host, int milliseconds, struct reach_names *names)
{
	deadline_t start = deadline_now();
	struct addrinfo *list = NULL;

	memset(names, 0, sizeof(*names));
	names->error = address_find(host, 0, AF_UNSPEC, milliseconds, &list);
	names->milliseconds = (int)(deadline_now() - start);
	reach_assess_names(names, names->error ? NULL : list);
	if (!names->error)
		freeaddrinfo(list);
}

/* Routes. */

/* The kernel reports these routes as errors; older kernels report the route type. */
static const struct {
	uint8_t type;
	int error;
	const char *cause;
} special_routes[] = {
	{RTN_THROW, ENETUNREACH, "no route to this address"},
	{RTN_BLACKHOLE, EINVAL, "a blackhole route discards packets to this address"},
	{RTN_PROHIBIT, EACCES, "a prohibit route rejects this address"},
	{RTN_UNREACHABLE, EHOSTUNREACH, "an unreachable route rejects this address"},
};

/* Returns a description of the interface's fault, or NULL if it has none. */
static const char *link_fault(const struct netlink_link *link)
{
	if (!(link->flags & IFF_UP))
		return "is down";
	if (!(link->flags & IFF_LOWER_UP))
		return "has no carrier";
	if (link->state == IF_OPER_DORMANT)
		return "is not yet authorized on its network (802.1X)";
	return NULL;
}

static void assess_link(struct reach_route *found, const char *before)
{
	const char *fault = link_fault(&found->link);

	found->verdict = fault ? REACH_BAD : REACH_GOOD;
	reach_evidence(found->evidence, "%sthrough %s%s%s", before, found->link.name,
		fault ? ", which " : "", fault ? fault : "");
}

/* Adds the details of a good route. */
static void describe_route(struct reach_route *found)
{
	const struct netlink_route *route = &found->route;
	char address[ADDRESS_TEXT_SIZE], *evidence = found->evidence;

	if (route->source.ss_family != AF_UNSPEC) {
		address_text((const struct sockaddr *)&route->source, address);
		text_append(evidence, REACH_EVIDENCE_SIZE, ", from %s", address);
	}
	if (route->gateway.ss_family != AF_UNSPEC) {
		address_text((const struct sockaddr *)&route->gateway, address);
		text_append(evidence, REACH_EVIDENCE_SIZE, ", gateway %s", address);
	}
	text_append(evidence, REACH_EVIDENCE_SIZE, ", MTU %u",
		route->mtu ? route->mtu : found->link.mtu);
	if (*found->down)
		text_append(evidence, REACH_EVIDENCE_SIZE,
			"; but interface %s on the same network is down", found->down);
	/* A link-local address includes the name of its interface, which may contain any byte. */
	text_printable(evidence);
}

/* An interface that is down explains a missing route better than the kernel's error. */
static void assess_special_route(struct reach_route *found, const char *cause)
{
	found->verdict = cause ? REACH_BAD : REACH_UNKNOWN;
	reach_evidence(found->evidence, "%s", cause ? cause : strerror(found->error));
	if (*found->down)
		text_append(found->evidence, REACH_EVIDENCE_SIZE,
			": interface %s on the same network is down", found->down);
}

void reach_assess_route(struct reach_route *route)
{
	for (size_t i = 0; i < sizeof(special_routes) / sizeof(special_routes[0]); i++)
		if (route->error ? route->error == special_routes[i].error
				 : route->route.type == special_routes[i].type) {
			route->error = special_routes[i].error;
			assess_special_route(route, special_routes[i].cause);
			return;
		}
	if (route->error) {
		assess_special_route(route, NULL);
		return;
	}
	switch (route->route.type) {
	case RTN_LOCAL:
		assess_link(route, "this host, ");
		break;
	case RTN_UNICAST:
		assess_link(route, "");
		if (route->verdict == REACH_GOOD)
			describe_route(route);
		break;
	case RTN_BROADCAST:
	case RTN_MULTICAST:
	case RTN_ANYCAST:
		route->verdict = REACH_BAD;
		route->error = EINVAL;
		reach_evidence(route->evidence, "a broadcast, multicast or anycast address");
		break;
	default:
		route->verdict = REACH_UNKNOWN;
		reach_evidence(route->evidence, "unexpected route type %u", route->route.type);
	}
}

/* Returns the bytes of an IPv4 or IPv6 address and their number. */
static const uint8_t *address_bytes(const struct sockaddr *address, size_t *length)
{
	*length = address->sa_family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
	return address->sa_family == AF_INET
		       ? (const uint8_t *)&((const struct sockaddr_in *)address)->sin_addr
		       : ((const struct sockaddr_in6 *)address)->sin6_addr.s6_addr;
}

/* True if both addresses, which have the same family, are in the same network under this mask. */
static bool in_network(
	const struct sockaddr *address, const struct sockaddr *own, const struct sockaddr *mask)
{
	size_t length;
	const uint8_t *one = address_bytes(address, &length);
	const uint8_t *other = address_bytes(own, &length), *bits = address_bytes(mask, &length);

	for (size_t i = 0; i < length; i++)
		if ((one[i] ^ other[i]) & bits[i])
			return false;
	return true;
}

/* Finds an interface that is down and whose network contains the address. */
static void find_down(const struct sockaddr *address, char name[IF_NAMESIZE])
{
	struct ifaddrs *addresses;

	if (getifaddrs(&addresses))
		return;
	for (const struct ifaddrs *a = addresses; a && *name == '\0'; a = a->ifa_next)
		if (a->ifa_addr && a->ifa_netmask && !(a->ifa_flags & IFF_UP) &&
			a->ifa_addr->sa_family == address->sa_family &&
			in_network(address, a->ifa_addr, a->ifa_netmask))
			snprintf(name, IF_NAMESIZE, "%s", a->ifa_name);
	freeifaddrs(addresses);
	text_printable(name);
}

const struct sockaddr *reach_source(const struct reach_route *route)
{
	return address_or_none(&route->source);
}

void reach_find_route(
	const struct sockaddr *address, const struct sockaddr *source, struct reach_route *route)
{
	reach_find_route_through(0, address, source, route);
}

void reach_find_route_through(unsigned int interface, const struct sockaddr *address,
	const struct sockaddr *source, struct reach_route *route)
{
	memset(route, 0, sizeof(*route));
	memcpy(&route->address, address, address_length(address));
	if (source)
		memcpy(&route->source, source, address_length(source));
	route->error = -netlink_find_route_through(interface, address, source, &route->route);
	if (!route->error && route->route.interface)
		route->error = -netlink_find_link(route->route.interface, &route->link);
	if (route->route.type != RTN_LOCAL)
		find_down(address, route->down);
	reach_assess_route(route);
}

/* Neighbours. */

/* Describes a neighbour that is not confirmed. */
static void describe_unconfirmed(struct reach_neighbour *neighbour, const char *name)
{
	const char *hardware = neighbour->entry.hardware;
	const char *protocol =
		neighbour->address.ss_family == AF_INET6 ? "neighbour discovery" : "ARP";

	if (neighbour->error)
		reach_evidence(neighbour->evidence, "%s: %s", name, strerror(neighbour->error));
	else if (neighbour->entry.state & NUD_FAILED)
		reach_evidence(neighbour->evidence, "%s does not answer %s", name, protocol);
	else if (*hardware)
		reach_evidence(neighbour->evidence, "%s was last at %s; not confirmed after %d ms",
			name, hardware, neighbour->milliseconds);
	else
		reach_evidence(neighbour->evidence, "%s did not answer %s within %d ms", name,
			protocol, neighbour->milliseconds);
}

void reach_assess_neighbour(struct reach_neighbour *neighbour, const struct reach_route *route)
{
	const char *hardware = neighbour->entry.hardware;
	char address[ADDRESS_TEXT_SIZE], name[ADDRESS_TEXT_SIZE + 16];

	address_text((struct sockaddr *)&neighbour->address, address);
	snprintf(name, sizeof(name), "%s%s", neighbour->gateway ? "the gateway " : "", address);
	/* Soft-RoCE loops packets to a dummy back, so that none is seen to leave this host. */
	neighbour->nowhere =
		route->route.type != RTN_LOCAL && strcmp(route->link.kind, "dummy") == 0;
	if (neighbour->nowhere) {
		neighbour->verdict = REACH_BAD;
		reach_evidence(
			neighbour->evidence, "through %s (%s)", route->link.name, route->link.kind);
	} else if (neighbour->needless) {
		neighbour->verdict = REACH_GOOD;
		if (route->route.type == RTN_LOCAL)
			reach_evidence(neighbour->evidence, "this host");
		else
			reach_evidence(neighbour->evidence, "%s needs no address resolution",
				route->link.name);
	} else if (neighbour->confirmed || (neighbour->entry.state & NEIGHBOUR_SURE)) {
		neighbour->verdict = REACH_GOOD;
		reach_evidence(neighbour->evidence, "%s is %s (%d ms)", name,
			*hardware ? hardware : "reachable", neighbour->milliseconds);
	} else {
		bool failed = !neighbour->error && (neighbour->entry.state & NUD_FAILED);

		neighbour->verdict = failed ? REACH_BAD : REACH_UNKNOWN;
		describe_unconfirmed(neighbour, name);
	}
}

/* Reads the kernel's neighbour entry. Returns true if it is final. */
static bool read_entry(struct reach_neighbour *neighbour, unsigned int interface)
{
	int error = netlink_find_neighbour(
		interface, (struct sockaddr *)&neighbour->address, &neighbour->entry);

	/* The kernel creates the entry when it sends the datagram, and may drop a failed entry. */
	neighbour->error = error == -ENOENT || error == -ETIMEDOUT ? 0 : -error;
	return neighbour->error || neighbour->confirmed ||
	       (neighbour->entry.state & (NEIGHBOUR_SURE | NUD_FAILED));
}

/* Waits for a final entry, a reply to the probe, or the deadline. */
static void await_neighbour(struct reach_neighbour *neighbour, unsigned int interface,
	struct udp_probe *probe, deadline_t deadline)
{
	while (!read_entry(neighbour, interface)) {
		struct pollfd waiting = {.fd = probe->fd, .events = POLLIN};
		int left = deadline_left(deadline);

		if (left == 0)
			return;
		(void)poll(&waiting, 1, left < NEIGHBOUR_POLL_MS ? left : NEIGHBOUR_POLL_MS);
		if (udp_probe_read(probe) == UDP_PROBE_ARRIVED)
			neighbour->confirmed = true;
	}
}

void reach_find_neighbour(
	const struct reach_route *route, deadline_t deadline, struct reach_neighbour *neighbour)
{
	const struct sockaddr *address = (const struct sockaddr *)&route->address;
	deadline_t start = deadline_now();
	struct udp_probe probe;

	memset(neighbour, 0, sizeof(*neighbour));
	neighbour->gateway = route->route.gateway.ss_family != AF_UNSPEC;
	neighbour->address = neighbour->gateway ? route->route.gateway : route->address;
	neighbour->needless = route->route.type == RTN_LOCAL ||
			      (route->link.flags & (IFF_NOARP | IFF_LOOPBACK | IFF_POINTOPOINT));
	if (!neighbour->needless) {
		neighbour->error = -udp_probe_open(&probe, address, reach_source(route));
		if (!neighbour->error)
			neighbour->error =
				-udp_probe_send(&probe, udp_probe_size_min(address->sa_family) + 1);
		if (!neighbour->error)
			await_neighbour(neighbour, route->route.interface, &probe, deadline);
		udp_probe_close(&probe);
	}
	neighbour->milliseconds = (int)(deadline_now() - start);
	reach_assess_neighbour(neighbour, route);
}
