/*
 * Queries the kernel's RDMA subsystem. Two requests: a dump of all devices, to convert the name to
 * an index, and the port. Both use one socket, which is closed before the call returns; no state
 * is kept.
 */
#include <errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "host/rdma-netlink.h"

/* The kernel replies before sendmsg(2) returns. This limits the wait if it does not. */
#define REPLY_SECONDS 1

/* A query in progress. */
struct query {
	const char *device;
	bool found;
	uint32_t index;  /* of the device; or the mode */
	char *interface; /* IF_NAMESIZE bytes */
	int error;       /* -errno of a request that the kernel rejects, or 0 */
};

static struct nlattr *attribute(struct nl_msg *message, int type)
{
	return nlmsg_find_attr(nlmsg_hdr(message), 0, type);
}

static int take_device(struct nl_msg *message, void *context)
{
	struct nlattr *name = attribute(message, RDMA_NLDEV_ATTR_DEV_NAME);
	struct nlattr *index = attribute(message, RDMA_NLDEV_ATTR_DEV_INDEX);
	struct query *query = context;

	if (name && index && nla_strcmp(name, query->device) == 0) {
		query->found = true;
		query->index = nla_get_u32(index);
	}
	return NL_OK;
}

static int take_port(struct nl_msg *message, void *context)
{
	struct nlattr *name = attribute(message, RDMA_NLDEV_ATTR_NDEV_NAME);
	struct query *query = context;

	if (name)
		nla_strlcpy(query->interface, name, IF_NAMESIZE);
	return NL_OK;
}

/* libnl's error codes do not distinguish all errors of the kernel. */
static int take_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *context)
{
	struct query *query = context;

	(void)from;
	query->error = error->error;
	return NL_STOP;
}

/* Sends a request and passes each reply to `take`. Returns 0 or -errno. */
static int request(struct nl_sock *socket, struct nl_msg *message, nl_recvmsg_msg_cb_t take,
	struct query *query)
{
	errno = 0;
	if (nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, take, query) == 0 &&
		nl_socket_modify_err_cb(socket, NL_CB_CUSTOM, take_error, query) == 0 &&
		nl_send_auto(socket, message) >= 0 && nl_recvmsgs_default(socket) >= 0)
		return 0;
	return query->error ? query->error : errno == EAGAIN ? -ETIMEDOUT : errno ? -errno : -EIO;
}

static int find_device(struct nl_sock *socket, struct query *query)
{
	const int type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET);
	struct nl_msg *message = nlmsg_alloc_simple(type, NLM_F_DUMP);
	int error = message ? request(socket, message, take_device, query) : -ENOMEM;

	nlmsg_free(message);
	return error || query->found ? error : -ENODEV;
}

static int find_interface(struct nl_sock *socket, unsigned int port, struct query *query)
{
	const int type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET);
	struct nl_msg *message = nlmsg_alloc_simple(type, 0);
	int error = -ENOMEM;

	if (message && nla_put_u32(message, RDMA_NLDEV_ATTR_DEV_INDEX, query->index) == 0 &&
		nla_put_u32(message, RDMA_NLDEV_ATTR_PORT_INDEX, port) == 0)
		error = request(socket, message, take_port, query);
	nlmsg_free(message);
	/* The kernel rejects a port that does not exist. */
	if (error == -EINVAL)
		return -ENODEV;
	return error || *query->interface ? error : -ENOENT;
}

static int take_mode(struct nl_msg *message, void *context)
{
	struct nlattr *mode = attribute(message, RDMA_NLDEV_SYS_ATTR_NETNS_MODE);
	struct query *query = context;

	if (mode) {
		query->found = true;
		query->index = nla_get_u8(mode);
	}
	return NL_OK;
}

/* Opens a socket for requests, which the caller frees in any case. Returns 0 or -errno. */
static int open_socket(struct nl_sock **socket)
{
	const struct timeval limit = {.tv_sec = REPLY_SECONDS};

	*socket = nl_socket_alloc();
	if (!*socket)
		return -ENOMEM;
	nl_socket_disable_auto_ack(*socket);
	errno = 0;
	if (nl_connect(*socket, NETLINK_RDMA) || setsockopt(nl_socket_get_fd(*socket), SOL_SOCKET,
							 SO_RCVTIMEO, &limit, sizeof(limit)))
		return errno ? -errno : -EIO;
	return 0;
}

int rdma_netlink_exclusive(bool *exclusive)
{
	const int type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET);
	struct nl_msg *message = nlmsg_alloc_simple(type, 0);
	struct query query = {0};
	struct nl_sock *socket;
	int error = open_socket(&socket);

	*exclusive = false;
	if (!error)
		error = message ? request(socket, message, take_mode, &query) : -ENOMEM;
	nlmsg_free(message);
	nl_socket_free(socket);
	if (!error && !query.found)
		error = -ENODATA;
	/* 1: all namespaces share the devices. */
	*exclusive = !error && query.index == 0;
	return error;
}

int rdma_netlink_interface(const char *device, unsigned int port, char name[IF_NAMESIZE])
{
	struct query query = {.device = device, .interface = name};
	struct nl_sock *socket;
	int error;

	memset(name, 0, IF_NAMESIZE);
	error = open_socket(&socket);
	if (!error)
		error = find_device(socket, &query);
	if (!error)
		error = find_interface(socket, port, &query);
	nl_socket_free(socket);
	return error;
}
