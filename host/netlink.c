/*
 * Queries the kernel for routes, interfaces and neighbours. libnl-3 sends each request and receives
 * the reply, libnl-route-3 parses it, and this file copies the required fields from the parsed
 * object. Each request uses its own socket, which is closed before the call returns; no state is
 * kept, so any thread may call these functions.
 */
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <netlink/route/link/vxlan.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "host/netlink.h"

/* The kernel replies before sendmsg(2) returns. This limits the wait if it does not. */
#define REPLY_SECONDS 1

struct reply {
	uint16_t type;            /* expected: RTM_NEWROUTE, ... */
	int error;                /* -errno of a request that the kernel rejects, or 0 */
	struct nl_object *object; /* holds a reference; NULL: none */
};

static void keep_object(struct nl_object *object, void *context)
{
	struct reply *reply = context;

	if (reply->object)
		return;
	nl_object_get(object);
	reply->object = object;
}

static int take_message(struct nl_msg *message, void *context)
{
	const struct reply *reply = context;

	if (nlmsg_hdr(message)->nlmsg_type == reply->type)
		nl_msg_parse(message, keep_object, context);
	return NL_OK;
}

/* libnl's error codes do not distinguish -ENETUNREACH from -EHOSTUNREACH. */
static int take_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *context)
{
	struct reply *reply = context;

	(void)from;
	reply->error = error->error;
	return NL_STOP;
}

static int exchange_messages(struct nl_sock *socket, struct nl_msg *request)
{
	const struct timeval limit = {.tv_sec = REPLY_SECONDS};

	nl_socket_disable_auto_ack(socket);
	if (nl_connect(socket, NETLINK_ROUTE) ||
		setsockopt(
			nl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
		nl_send_auto(socket, request) < 0)
		return -1;
	return nl_recvmsgs_default(socket);
}

/* The -errno of an exchange that brought no reply. errno is 0 if only other messages arrived. */
static int exchange_error(void)
{
	if (errno == EAGAIN)
		return -ETIMEDOUT;
	return errno ? -errno : -EBADMSG;
}

/*
 * Sends the request and receives the reply of this type. Frees the request, which may be NULL if
 * out of memory. Returns 0 and an object that the caller releases with nl_object_put(), or -errno.
 */
static int request_reply(struct nl_msg *request, uint16_t type, struct nl_object **object)
{
	struct nl_sock *socket = nl_socket_alloc();
	struct reply reply = {.type = type};

	errno = ENOMEM;
	if (socket && request) {
		/* Remains 0 if a message arrives that is not a reply. */
		errno = 0;
		nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, take_message, &reply);
		nl_socket_modify_err_cb(socket, NL_CB_CUSTOM, take_error, &reply);
		exchange_messages(socket, request);
	}
	if (!reply.error && !reply.object)
		reply.error = exchange_error();
	nl_socket_free(socket);
	nlmsg_free(request);
	*object = reply.object;
	return reply.error;
}

/* Returns a request with its header, or NULL if out of memory. */
static struct nl_msg *make_request(int type, void *header, size_t size)
{
	struct nl_msg *request = nlmsg_alloc_simple(type, 0);

	/* A message is one page long, more than any of these requests needs. */
	if (request)
		nlmsg_append(request, header, size, NLMSG_ALIGNTO);
	return request;
}

/* Returns 0 for families other than IPv4 and IPv6. */
static unsigned char address_bits(const struct sockaddr *address)
{
	switch (address->sa_family) {
	case AF_INET:
		return 8 * sizeof(struct in_addr);
	case AF_INET6:
		return 8 * sizeof(struct in6_addr);
	default:
		return 0;
	}
}

static void put_address(struct nl_msg *request, int type, const struct sockaddr *address)
{
	const void *bytes = address->sa_family == AF_INET
				    ? (const void *)&((const struct sockaddr_in *)address)->sin_addr
				    : &((const struct sockaddr_in6 *)address)->sin6_addr;

	if (request)
		nla_put(request, type, address_bits(address) / 8, bytes);
}

/* Copies an address, which may be NULL. A link-local address is valid only on its interface. */
static void copy_address(
	struct sockaddr_storage *to, const struct nl_addr *from, unsigned int interface)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;
	socklen_t size = sizeof(*to);

	if (!from || nl_addr_fill_sockaddr(from, (struct sockaddr *)to, &size))
		return;
	if (to->ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
		v6->sin6_scope_id = interface;
}

static void copy_route(struct netlink_route *route, struct rtnl_route *from)
{
	struct rtnl_nexthop *next = rtnl_route_nexthop_n(from, 0);

	route->type = rtnl_route_get_type(from);
	if (rtnl_route_get_metric(from, RTAX_MTU, &route->mtu))
		route->mtu = 0;
	if (next) {
		/* RFC 5549: the gateway of an IPv4 route may have an IPv6 address. */
		struct nl_addr *gateway = rtnl_route_nh_get_gateway(next);

		route->interface = (unsigned int)rtnl_route_nh_get_ifindex(next);
		copy_address(&route->gateway, gateway ? gateway : rtnl_route_nh_get_via(next),
			route->interface);
	}
	copy_address(&route->source, rtnl_route_get_pref_src(from), route->interface);
}

/* The flags are those of rtnetlink(7). */
static int find_route(unsigned int flags, unsigned int interface, const struct sockaddr *address,
	const struct sockaddr *source, struct netlink_route *route)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	struct rtmsg header = {.rtm_family = (unsigned char)address->sa_family, .rtm_flags = flags};
	struct nl_object *object;
	struct nl_msg *request;
	int error;

	memset(route, 0, sizeof(*route));
	header.rtm_dst_len = address_bits(address);
	if (header.rtm_dst_len == 0)
		return -EAFNOSUPPORT;
	header.rtm_src_len = source ? address_bits(source) : 0;
	request = make_request(RTM_GETROUTE, &header, sizeof(header));
	put_address(request, RTA_DST, address);
	if (source)
		put_address(request, RTA_SRC, source);
	if (address->sa_family == AF_INET6 && v6->sin6_scope_id)
		interface = v6->sin6_scope_id;
	if (request && interface)
		nla_put_u32(request, RTA_OIF, interface);
	error = request_reply(request, RTM_NEWROUTE, &object);
	if (!error)
		copy_route(route, (struct rtnl_route *)object);
	nl_object_put(object);
	return error;
}

int netlink_find_route(
	const struct sockaddr *address, const struct sockaddr *source, struct netlink_route *route)
{
	return find_route(0, 0, address, source, route);
}

bool netlink_is_local(const struct sockaddr *address)
{
	struct netlink_route route;

	return netlink_find_route(address, NULL, &route) == 0 && route.type == RTN_LOCAL;
}

int netlink_find_route_through(unsigned int interface, const struct sockaddr *address,
	const struct sockaddr *source, struct netlink_route *route)
{
	return find_route(0, interface, address, source, route);
}

int netlink_match_route(unsigned int interface, const struct sockaddr *address,
	const struct sockaddr *source, struct netlink_route *route)
{
	return find_route(RTM_F_FIB_MATCH, interface, address, source, route);
}

static void copy_link(struct netlink_link *link, struct rtnl_link *found)
{
	const struct nl_addr *hardware = rtnl_link_get_addr(found);
	const char *kind = rtnl_link_get_type(found);
	int32_t namespace;

	snprintf(link->name, sizeof(link->name), "%s", rtnl_link_get_name(found));
	/*
	 * A name may contain any byte except '/', ':' and white space: make it safe for a terminal.
	 */
	text_printable(link->name);
	link->flags = rtnl_link_get_flags(found);
	link->mtu = rtnl_link_get_mtu(found);
	link->state = rtnl_link_get_operstate(found);
	link->index = (unsigned int)rtnl_link_get_ifindex(found);
	link->master = (unsigned int)rtnl_link_get_master(found);
	link->lower = (unsigned int)rtnl_link_get_link(found);
	/* The kernel numbers the namespace of the interface below only if it is another. */
	link->lower_elsewhere = rtnl_link_get_link_netnsid(found, &namespace) == 0;
	snprintf(link->kind, sizeof(link->kind), "%s", kind ? kind : "");
	/* Of a VXLAN, only its own attributes contain the interface below. */
	if (strcmp(link->kind, "vxlan") == 0)
		rtnl_link_vxlan_get_link(found, &link->lower);
	if (hardware && nl_addr_get_len(hardware) > 0)
		nl_addr2str(hardware, link->hardware, sizeof(link->hardware));
}

int netlink_find_link(unsigned int interface, struct netlink_link *link)
{
	struct ifinfomsg header = {.ifi_index = (int)interface};
	struct nl_object *object;
	int error;

	memset(link, 0, sizeof(*link));
	if (interface == 0)
		return -ENODEV;
	error = request_reply(
		make_request(RTM_GETLINK, &header, sizeof(header)), RTM_NEWLINK, &object);
	if (!error)
		copy_link(link, (struct rtnl_link *)object);
	nl_object_put(object);
	return error;
}

/* The links that a dump has returned so far. */
struct link_list {
	struct netlink_link *links;
	int count;
	bool failed; /* out of memory */
};

static void add_link(struct nl_object *object, void *context)
{
	struct link_list *list = context;
	struct netlink_link *larger;

	larger = reallocarray(list->links, (size_t)list->count + 1, sizeof(*list->links));
	if (!larger) {
		list->failed = true;
		return;
	}
	list->links = larger;
	larger += list->count++;
	memset(larger, 0, sizeof(*larger));
	copy_link(larger, (struct rtnl_link *)object);
}

static int take_link(struct nl_msg *message, void *context)
{
	if (nlmsg_hdr(message)->nlmsg_type == RTM_NEWLINK)
		nl_msg_parse(message, add_link, context);
	return NL_OK;
}

/*
 * A dump has several messages, which a socket reports one after another until NLMSG_DONE, so it has
 * callbacks of its own.
 */
int netlink_list_links(struct netlink_link **links)
{
	struct ifinfomsg header = {0};
	struct nl_msg *request = make_request(RTM_GETLINK, &header, sizeof(header));
	struct nl_sock *socket = nl_socket_alloc();
	struct link_list list = {0};
	int error = -ENOMEM;

	if (socket && request) {
		nlmsg_hdr(request)->nlmsg_flags |= NLM_F_DUMP;
		nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, take_link, &list);
		errno = 0;
		error = exchange_messages(socket, request) < 0 ? exchange_error() : 0;
	}
	nl_socket_free(socket);
	nlmsg_free(request);
	if (error || list.failed) {
		free(list.links);
		*links = NULL;
		return error ? error : -ENOMEM;
	}
	*links = list.links;
	return list.count;
}

int netlink_find_neighbour(
	unsigned int interface, const struct sockaddr *address, struct netlink_neighbour *neighbour)
{
	struct ndmsg header = {
		.ndm_family = (unsigned char)address->sa_family,
		.ndm_ifindex = (int)interface,
	};
	const struct nl_addr *hardware;
	struct nl_object *object;
	struct nl_msg *request;
	int error;

	memset(neighbour, 0, sizeof(*neighbour));
	if (address_bits(address) == 0)
		return -EAFNOSUPPORT;
	request = make_request(RTM_GETNEIGH, &header, sizeof(header));
	put_address(request, NDA_DST, address);
	error = request_reply(request, RTM_NEWNEIGH, &object);
	if (!error) {
		neighbour->state = (uint16_t)rtnl_neigh_get_state((struct rtnl_neigh *)object);
		hardware = rtnl_neigh_get_lladdr((struct rtnl_neigh *)object);
		if (hardware && nl_addr_get_len(hardware) > 0)
			nl_addr2str(hardware, neighbour->hardware, sizeof(neighbour->hardware));
	}
	nl_object_put(object);
	return error;
}
