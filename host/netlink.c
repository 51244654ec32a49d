#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "base/text.h"
#include "host/netlink.h"

/* An answer is one message; that about an interface is the longest, at about 2 KiB. */
#define ANSWER_SIZE 16384

/* One question in one socket. */
#define SEQUENCE 1

/* A request with its attributes. */
#define REQUEST_SIZE 256

/* Reads one kind of answer. */
typedef int read_answer(const struct nlmsghdr *message, void *reply);

/* Reads an attribute of 32 bits, if it is one. */
static void read_u32(const struct nlattr *attribute, unsigned int *value)
{
	if (mnl_attr_get_payload_len(attribute) == sizeof(uint32_t))
		*value = mnl_attr_get_u32(attribute);
}

static void read_u8(const struct nlattr *attribute, uint8_t *value)
{
	if (mnl_attr_get_payload_len(attribute) == sizeof(uint8_t))
		*value = mnl_attr_get_u8(attribute);
}

/* The bytes of an address in its struct, and how many they are; 0 for unknown families. */
static size_t address_bytes(struct sockaddr_storage *address, int family, void **bytes)
{
	if (family == AF_INET) {
		*bytes = &((struct sockaddr_in *)address)->sin_addr;
		return sizeof(struct in_addr);
	}
	*bytes = &((struct sockaddr_in6 *)address)->sin6_addr;
	return family == AF_INET6 ? sizeof(struct in6_addr) : 0;
}

/* Makes an address of its bytes, if they are as many as the family has. */
static void read_address(
	struct sockaddr_storage *address, int family, const void *bytes, size_t length)
{
	void *place;

	if (address_bytes(address, family, &place) != length || length == 0)
		return;
	memcpy(place, bytes, length);
	address->ss_family = (sa_family_t)family;
}

/* The gateway of a route may be of the other family: RFC 5549. */
static void read_via(struct sockaddr_storage *address, const struct nlattr *attribute)
{
	const struct rtvia *via = mnl_attr_get_payload(attribute);
	size_t length = mnl_attr_get_payload_len(attribute);

	if (length > sizeof(*via))
		read_address(address, via->rtvia_family, via->rtvia_addr, length - sizeof(*via));
}

/* Link-local addresses have a meaning only on their link. */
static void set_scope(struct sockaddr_storage *address, unsigned int interface)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;

	if (address->ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
		v6->sin6_scope_id = interface;
}

/* True if the message is of the type and has the header that belongs to it. */
static bool is_answer(const struct nlmsghdr *message, uint16_t type, size_t header)
{
	return message->nlmsg_type == type && mnl_nlmsg_get_payload_len(message) >= header;
}

static int read_metric(const struct nlattr *attribute, void *context)
{
	struct netlink_route *route = context;

	if (mnl_attr_get_type(attribute) == RTAX_MTU)
		read_u32(attribute, &route->mtu);
	return MNL_CB_OK;
}

/* A route whose attributes are being read. */
struct route_reading {
	struct netlink_route *route;
	int family;
};

static int read_route_attribute(const struct nlattr *attribute, void *context)
{
	const struct route_reading *reading = context;
	struct netlink_route *route = reading->route;
	const void *bytes = mnl_attr_get_payload(attribute);
	size_t length = mnl_attr_get_payload_len(attribute);

	switch (mnl_attr_get_type(attribute)) {
	case RTA_OIF:
		read_u32(attribute, &route->interface);
		break;
	case RTA_PREFSRC:
		read_address(&route->source, reading->family, bytes, length);
		break;
	case RTA_GATEWAY:
		read_address(&route->gateway, reading->family, bytes, length);
		break;
	case RTA_VIA:
		read_via(&route->gateway, attribute);
		break;
	case RTA_METRICS:
		mnl_attr_parse_nested(attribute, read_metric, route);
		break;
	}
	return MNL_CB_OK;
}

int netlink_read_route(const struct nlmsghdr *message, struct netlink_route *route)
{
	const struct rtmsg *header = mnl_nlmsg_get_payload(message);
	struct route_reading reading = {.route = route};

	memset(route, 0, sizeof(*route));
	if (!is_answer(message, RTM_NEWROUTE, sizeof(*header)))
		return -EBADMSG;
	route->type = header->rtm_type;
	reading.family = header->rtm_family;
	mnl_attr_parse(message, sizeof(*header), read_route_attribute, &reading);
	set_scope(&route->source, route->interface);
	set_scope(&route->gateway, route->interface);
	return 0;
}

/* The kernel lets a name hold any byte but '/', ':' and white space; a terminal must not obey it. */
static void read_name(const struct nlattr *attribute, char name[IF_NAMESIZE])
{
	snprintf(name, IF_NAMESIZE, "%.*s", (int)mnl_attr_get_payload_len(attribute),
		(const char *)mnl_attr_get_payload(attribute));
	text_printable(name);
}

static int read_link_attribute(const struct nlattr *attribute, void *context)
{
	struct netlink_link *link = context;

	switch (mnl_attr_get_type(attribute)) {
	case IFLA_IFNAME:
		read_name(attribute, link->name);
		break;
	case IFLA_MTU:
		read_u32(attribute, &link->mtu);
		break;
	case IFLA_OPERSTATE:
		read_u8(attribute, &link->state);
		break;
	}
	return MNL_CB_OK;
}

int netlink_read_link(const struct nlmsghdr *message, struct netlink_link *link)
{
	const struct ifinfomsg *header = mnl_nlmsg_get_payload(message);

	memset(link, 0, sizeof(*link));
	if (!is_answer(message, RTM_NEWLINK, sizeof(*header)))
		return -EBADMSG;
	link->flags = header->ifi_flags;
	mnl_attr_parse(message, sizeof(*header), read_link_attribute, link);
	return 0;
}

static int read_neighbour_attribute(const struct nlattr *attribute, void *context)
{
	struct netlink_neighbour *neighbour = context;
	const uint8_t *bytes = mnl_attr_get_payload(attribute);
	size_t length = mnl_attr_get_payload_len(attribute);

	if (mnl_attr_get_type(attribute) != NDA_LLADDR || length > NETLINK_HARDWARE_SIZE / 3)
		return MNL_CB_OK;
	for (size_t i = 0; i < length; i++) {
		snprintf(neighbour->hardware + 3 * i, 3, "%02x", bytes[i]);
		if (i > 0)
			neighbour->hardware[3 * i - 1] = ':';
	}
	return MNL_CB_OK;
}

int netlink_read_neighbour(const struct nlmsghdr *message, struct netlink_neighbour *neighbour)
{
	const struct ndmsg *header = mnl_nlmsg_get_payload(message);

	memset(neighbour, 0, sizeof(*neighbour));
	if (!is_answer(message, RTM_NEWNEIGH, sizeof(*header)))
		return -EBADMSG;
	neighbour->state = header->ndm_state;
	mnl_attr_parse(message, sizeof(*header), read_neighbour_attribute, neighbour);
	return 0;
}

/* Takes the answer out of what has arrived. */
static int take_answer(const void *bytes, size_t length, read_answer *read, void *reply)
{
	const struct nlmsghdr *message = bytes;
	const struct nlmsgerr *error;

	/* libmnl takes a length of 2 GiB and more for a negative one, which fits anywhere. */
	if (length > ANSWER_SIZE || !mnl_nlmsg_ok(message, (int)length) ||
		message->nlmsg_len > length || !mnl_nlmsg_seq_ok(message, SEQUENCE))
		return -EBADMSG;
	if (message->nlmsg_type != NLMSG_ERROR)
		return read(message, reply);
	if (mnl_nlmsg_get_payload_len(message) < sizeof(*error))
		return -EBADMSG;
	error = mnl_nlmsg_get_payload(message);
	return error->error < 0 ? error->error : -EBADMSG;
}

static int exchange_messages(struct mnl_socket *socket, const struct nlmsghdr *request,
	deadline_t deadline, read_answer *read, void *reply)
{
	struct pollfd waiting = {.fd = mnl_socket_get_fd(socket), .events = POLLIN};
	_Alignas(struct nlmsghdr) char buffer[ANSWER_SIZE];
	ssize_t length;
	int ready;

	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) ||
		mnl_socket_sendto(socket, request, request->nlmsg_len) < 0)
		return -errno;
	do {
		ready = poll(&waiting, 1, deadline_left(deadline));
	} while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		return ready ? -errno : -ETIMEDOUT;
	length = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
	return length < 0 ? -errno : take_answer(buffer, (size_t)length, read, reply);
}

/* Asks the kernel one question, and reads its one answer. */
static int request_reply(
	const struct nlmsghdr *request, deadline_t deadline, read_answer *read, void *reply)
{
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	int result;

	if (!socket)
		return -errno;
	result = exchange_messages(socket, request, deadline, read, reply);
	mnl_socket_close(socket);
	return result;
}

/* Starts a request; its header and attributes follow. */
static struct nlmsghdr *start_request(char bytes[REQUEST_SIZE], uint16_t type)
{
	struct nlmsghdr *request;

	memset(bytes, 0, REQUEST_SIZE);
	request = mnl_nlmsg_put_header(bytes);
	request->nlmsg_type = type;
	request->nlmsg_flags = NLM_F_REQUEST;
	request->nlmsg_seq = SEQUENCE;
	return request;
}

/* Adds the address; returns how many bits it has, 0 if it is neither IPv4 nor IPv6. */
static uint8_t put_address(struct nlmsghdr *request, uint16_t type, const struct sockaddr *address)
{
	struct sockaddr_storage copy = {0};
	size_t length;
	void *bytes;

	memcpy(&copy, address, address_length(address));
	length = address_bytes(&copy, address->sa_family, &bytes);
	if (length)
		mnl_attr_put(request, type, length, bytes);
	return (uint8_t)(8 * length);
}

static int answer_route(const struct nlmsghdr *message, void *reply)
{
	return netlink_read_route(message, reply);
}

int netlink_find_route(const struct sockaddr *address, const struct sockaddr *source,
	deadline_t deadline, struct netlink_route *route)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	_Alignas(struct nlmsghdr) char bytes[REQUEST_SIZE];
	struct nlmsghdr *request = start_request(bytes, RTM_GETROUTE);
	struct rtmsg *header = mnl_nlmsg_put_extra_header(request, sizeof(*header));

	memset(route, 0, sizeof(*route));
	header->rtm_family = (uint8_t)address->sa_family;
	header->rtm_dst_len = put_address(request, RTA_DST, address);
	if (header->rtm_dst_len == 0)
		return -EAFNOSUPPORT;
	if (source)
		header->rtm_src_len = put_address(request, RTA_SRC, source);
	if (address->sa_family == AF_INET6 && v6->sin6_scope_id)
		mnl_attr_put_u32(request, RTA_OIF, v6->sin6_scope_id);
	return request_reply(request, deadline, answer_route, route);
}

static int answer_link(const struct nlmsghdr *message, void *reply)
{
	return netlink_read_link(message, reply);
}

int netlink_find_link(unsigned int interface, deadline_t deadline, struct netlink_link *link)
{
	_Alignas(struct nlmsghdr) char bytes[REQUEST_SIZE];
	struct nlmsghdr *request = start_request(bytes, RTM_GETLINK);
	struct ifinfomsg *header = mnl_nlmsg_put_extra_header(request, sizeof(*header));

	memset(link, 0, sizeof(*link));
	header->ifi_family = AF_UNSPEC;
	header->ifi_index = (int)interface;
	return interface ? request_reply(request, deadline, answer_link, link) : -ENODEV;
}

static int answer_neighbour(const struct nlmsghdr *message, void *reply)
{
	return netlink_read_neighbour(message, reply);
}

int netlink_find_neighbour(unsigned int interface, const struct sockaddr *address,
	deadline_t deadline, struct netlink_neighbour *neighbour)
{
	_Alignas(struct nlmsghdr) char bytes[REQUEST_SIZE];
	struct nlmsghdr *request = start_request(bytes, RTM_GETNEIGH);
	struct ndmsg *header = mnl_nlmsg_put_extra_header(request, sizeof(*header));

	memset(neighbour, 0, sizeof(*neighbour));
	header->ndm_family = (uint8_t)address->sa_family;
	header->ndm_ifindex = (int)interface;
	if (put_address(request, NDA_DST, address) == 0)
		return -EAFNOSUPPORT;
	return request_reply(request, deadline, answer_neighbour, neighbour);
}
