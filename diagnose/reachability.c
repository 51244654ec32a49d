/* Before linux/if.h, which defines what this one has not. */
#include <net/if.h>

#include <errno.h>
#include <ifaddrs.h>
#include <linux/if.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "base/text.h"
#include "diagnose/reachability.h"
#include "diagnose/udp-probe.h"

/* How often the neighbour table is looked at while nothing comes back, in milliseconds. */
#define NEIGHBOUR_LOOK_MS 20

/* States in which an entry needs no confirmation. */
#define NEIGHBOUR_SURE (NUD_REACHABLE | NUD_PERMANENT | NUD_NOARP)

void reach_say(char evidence[REACH_EVIDENCE_SIZE], const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(evidence, REACH_EVIDENCE_SIZE, format, arguments);
	va_end(arguments);
	text_printable(evidence);
}

static bool is_listed(const struct reach_names *names, const struct sockaddr *address)
{
	for (unsigned int i = 0; i < names->count; i++)
		if (address_equal((const struct sockaddr *)&names->addresses[i], address))
			return true;
	return false;
}

static void list_address(struct reach_names *names, const struct sockaddr *address)
{
	if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
		return;
	if (is_listed(names, address))
		return;
	if (names->count == REACH_ADDRESSES_MAX) {
		names->more = true;
		return;
	}
	memcpy(&names->addresses[names->count], address, address_length(address));
	address_set_port(&names->addresses[names->count++], 0);
}

static void say_addresses(struct reach_names *names)
{
	char list[REACH_EVIDENCE_SIZE] = "", address[ADDRESS_TEXT_SIZE];
	size_t used = 0;

	for (unsigned int i = 0; i < names->count && used < sizeof(list); i++) {
		address_text((struct sockaddr *)&names->addresses[i], address);
		used += (size_t)snprintf(
			list + used, sizeof(list) - used, "%s%s", i ? ", " : "", address);
	}
	reach_say(names->evidence, "%s%s", list, names->more ? " and more" : "");
}

void reach_judge_names(struct reach_names *names, const struct addrinfo *list)
{
	names->count = 0;
	names->more = false;
	for (const struct addrinfo *entry = list; entry; entry = entry->ai_next)
		list_address(names, entry->ai_addr);
	names->verdict = names->count ? REACH_GOOD : REACH_BAD;
	if (names->error)
		reach_say(names->evidence, "%s, after %d ms", gai_strerror(names->error),
			names->milliseconds);
	else if (names->count == 0)
		reach_say(names->evidence, "no IPv4 or IPv6 address");
	else
		say_addresses(names);
}

void reach_find_names(const char *host, int milliseconds, struct reach_names *names)
{
	deadline_t start = deadline_now();
	struct addrinfo *list = NULL;

	memset(names, 0, sizeof(*names));
	names->error = address_find(host, 0, AF_UNSPEC, milliseconds, &list);
	names->milliseconds = (int)(deadline_now() - start);
	reach_judge_names(names, names->error ? NULL : list);
	if (!names->error)
		freeaddrinfo(list);
}

/* Why there is no way: what the kernel answers for each type of route, and without one. */
static const char *no_way(int error)
{
	switch (error) {
	case ENETUNREACH:
		return "no route leads there";
	case EINVAL:
		return "a route of type blackhole drops what goes there";
	case EACCES:
		return "a route of type prohibit forbids it";
	case EHOSTUNREACH:
		return "a route of type unreachable refuses it";
	default:
		return NULL;
	}
}

/* What is wrong with the interface, NULL if nothing is. */
static const char *link_fault(const struct netlink_link *link)
{
	if (!(link->flags & IFF_UP))
		return "is down";
	if (!(link->flags & IFF_LOWER_UP))
		return "has no carrier";
	if (link->state == IF_OPER_DORMANT)
		return "is not admitted to its network yet (802.1X)";
	return NULL;
}

/* Says the way that a good route takes. */
static void say_way(struct reach_route *found)
{
	const struct netlink_route *route = &found->route;
	char source[ADDRESS_TEXT_SIZE] = "", gateway[ADDRESS_TEXT_SIZE] = "";
	unsigned int mtu = route->mtu ? route->mtu : found->link.mtu;

	if (route->source.ss_family != AF_UNSPEC)
		address_text((const struct sockaddr *)&route->source, source);
	if (route->gateway.ss_family != AF_UNSPEC)
		address_text((const struct sockaddr *)&route->gateway, gateway);
	reach_say(found->evidence, "through %s%s%s%s%s, MTU %u%s%s%s", found->link.name,
		*source ? ", from " : "", source, *gateway ? ", gateway " : "", gateway, mtu,
		*found->down ? "; but " : "", found->down,
		*found->down ? ", in whose network it is, is down" : "");
}

/* There is no route; an interface that is down explains it better than the kernel does. */
static void judge_no_way(struct reach_route *found)
{
	const char *cause = no_way(found->error);

	found->verdict = cause ? REACH_BAD : REACH_UNKNOWN;
	if (*found->down)
		reach_say(found->evidence, "%s: %s, in whose network it is, is down",
			cause ? cause : strerror(found->error), found->down);
	else
		reach_say(found->evidence, "%s", cause ? cause : strerror(found->error));
}

static void judge_way(struct reach_route *found)
{
	const char *fault = link_fault(&found->link);

	switch (found->route.type) {
	case RTN_LOCAL:
		found->verdict = fault ? REACH_BAD : REACH_GOOD;
		reach_say(found->evidence, "this host, through %s%s%s", found->link.name,
			fault ? ", which " : "", fault ? fault : "");
		break;
	case RTN_UNICAST:
		found->verdict = fault ? REACH_BAD : REACH_GOOD;
		if (fault)
			reach_say(found->evidence, "through %s, which %s", found->link.name, fault);
		else
			say_way(found);
		break;
	case RTN_BROADCAST:
	case RTN_MULTICAST:
	case RTN_ANYCAST:
		found->verdict = REACH_BAD;
		found->error = EINVAL;
		reach_say(found->evidence,
			"an address of many hosts: broadcast, multicast or anycast");
		break;
	default:
		found->verdict = REACH_UNKNOWN;
		reach_say(found->evidence, "a route of type %u", found->route.type);
	}
}

/* Older kernels answer with the type of a route that leads nowhere instead of an error. */
static int error_of_type(uint8_t type)
{
	switch (type) {
	case RTN_BLACKHOLE:
		return EINVAL;
	case RTN_PROHIBIT:
		return EACCES;
	case RTN_UNREACHABLE:
		return EHOSTUNREACH;
	default:
		return 0;
	}
}

void reach_judge_route(struct reach_route *route)
{
	if (!route->error)
		route->error = error_of_type(route->route.type);
	if (route->error)
		judge_no_way(route);
	else
		judge_way(route);
}

/* True if both addresses, of the same family, are in the network that the mask makes. */
static bool in_network(
	const struct sockaddr *address, const struct sockaddr *own, const struct sockaddr *mask)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in *own4 = (const struct sockaddr_in *)own;
	const struct sockaddr_in *mask4 = (const struct sockaddr_in *)mask;
	const uint8_t *one = ((const struct sockaddr_in6 *)address)->sin6_addr.s6_addr;
	const uint8_t *other = ((const struct sockaddr_in6 *)own)->sin6_addr.s6_addr;
	const uint8_t *bits = ((const struct sockaddr_in6 *)mask)->sin6_addr.s6_addr;

	if (address->sa_family == AF_INET)
		return ((v4->sin_addr.s_addr ^ own4->sin_addr.s_addr) & mask4->sin_addr.s_addr) ==
		       0;
	for (size_t i = 0; i < sizeof(struct in6_addr); i++)
		if ((one[i] ^ other[i]) & bits[i])
			return false;
	return true;
}

/* Finds an interface that is down and in whose network the address is. */
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
	memset(route, 0, sizeof(*route));
	memcpy(&route->address, address, address_length(address));
	if (source)
		memcpy(&route->source, source, address_length(source));
	route->error = -netlink_find_route(address, source, &route->route);
	if (!route->error && route->route.interface)
		route->error = -netlink_find_link(route->route.interface, &route->link);
	if (route->route.type != RTN_LOCAL)
		find_down(address, route->down);
	reach_judge_route(route);
}

/* Says what is known of a neighbour that is not confirmed. */
static void say_unconfirmed(struct reach_neighbour *neighbour, const char *name, const char *asked)
{
	const char *hardware = neighbour->entry.hardware;

	if (neighbour->error)
		reach_say(neighbour->evidence, "%s: %s", name, strerror(neighbour->error));
	else if (neighbour->entry.state & NUD_FAILED)
		reach_say(neighbour->evidence, "%s does not answer %s", name, asked);
	else if (*hardware)
		reach_say(neighbour->evidence,
			"%s was %s some time ago, which is not confirmed after %d ms", name,
			hardware, neighbour->milliseconds);
	else
		reach_say(neighbour->evidence, "%s has not answered %s after %d ms", name, asked,
			neighbour->milliseconds);
}

void reach_judge_neighbour(struct reach_neighbour *neighbour, const struct reach_route *route)
{
	const char *hardware = neighbour->entry.hardware;
	char address[ADDRESS_TEXT_SIZE], name[ADDRESS_TEXT_SIZE + 16];

	address_text((struct sockaddr *)&neighbour->address, address);
	snprintf(name, sizeof(name), "%s%s", neighbour->gateway ? "the gateway " : "", address);
	if (neighbour->needless) {
		neighbour->verdict = REACH_GOOD;
		if (route->route.type == RTN_LOCAL)
			reach_say(neighbour->evidence, "this host");
		else
			reach_say(neighbour->evidence, "%s has no neighbours to ask for",
				route->link.name);
	} else if (neighbour->confirmed || (neighbour->entry.state & NEIGHBOUR_SURE)) {
		neighbour->verdict = REACH_GOOD;
		reach_say(neighbour->evidence, "%s is %s (%d ms)", name,
			*hardware ? hardware : "there", neighbour->milliseconds);
	} else {
		bool failed = !neighbour->error && (neighbour->entry.state & NUD_FAILED);

		neighbour->verdict = failed ? REACH_BAD : REACH_UNKNOWN;
		say_unconfirmed(neighbour, name,
			neighbour->address.ss_family == AF_INET6 ? "neighbour discovery" : "ARP");
	}
}

/* Looks at the table; returns true if nothing more is to be expected. */
static bool look_at_table(struct reach_neighbour *neighbour, unsigned int interface)
{
	int error = netlink_find_neighbour(
		interface, (struct sockaddr *)&neighbour->address, &neighbour->entry);

	/* The entry is made when the datagram goes out, and may be dropped when it has failed. */
	neighbour->error = error == -ENOENT || error == -ETIMEDOUT ? 0 : -error;
	return neighbour->error || neighbour->confirmed ||
	       (neighbour->entry.state & (NEIGHBOUR_SURE | NUD_FAILED));
}

/* Waits until the table says it, the host beyond answers, or the time is over. */
static void watch_neighbour(struct reach_neighbour *neighbour, unsigned int interface,
	struct datagram *datagram, deadline_t deadline)
{
	while (!look_at_table(neighbour, interface)) {
		struct pollfd waiting = {.fd = datagram->fd, .events = POLLIN};
		int left = deadline_left(deadline);

		if (left == 0)
			return;
		(void)poll(&waiting, 1, left < NEIGHBOUR_LOOK_MS ? left : NEIGHBOUR_LOOK_MS);
		if (datagram_read(datagram) == DATAGRAM_ARRIVED)
			neighbour->confirmed = true;
	}
}

void reach_find_neighbour(
	const struct reach_route *route, deadline_t deadline, struct reach_neighbour *neighbour)
{
	const struct sockaddr *address = (const struct sockaddr *)&route->address;
	deadline_t start = deadline_now();
	struct datagram datagram;

	memset(neighbour, 0, sizeof(*neighbour));
	neighbour->gateway = route->route.gateway.ss_family != AF_UNSPEC;
	neighbour->address = neighbour->gateway ? route->route.gateway : route->address;
	neighbour->needless = route->route.type == RTN_LOCAL ||
			      (route->link.flags & (IFF_NOARP | IFF_LOOPBACK | IFF_POINTOPOINT));
	if (!neighbour->needless) {
		neighbour->error = -datagram_open(&datagram, address, reach_source(route));
		if (!neighbour->error)
			neighbour->error = -datagram_send(
				&datagram, datagram_size_min(address->sa_family) + 1);
		if (!neighbour->error)
			watch_neighbour(neighbour, route->route.interface, &datagram, deadline);
		datagram_close(&datagram);
	}
	neighbour->milliseconds = (int)(deadline_now() - start);
	reach_judge_neighbour(neighbour, route);
}
