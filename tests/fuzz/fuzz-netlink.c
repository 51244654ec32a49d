/*
 * What the kernel, or who pretends to be it, answers about routes, interfaces and neighbours. The
 * first byte says what is asked; the rest is the answer as it comes out of the socket, which the
 * linker replaces (ld(1), --wrap).
 */
#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <poll.h>

#include "host/netlink.h"
#include "tests/fuzz/fuzz.h"

#define QUESTIONS 3

/* What the socket gives, once. */
static struct fuzz_input reply;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
struct mnl_socket *__wrap_mnl_socket_open2(int bus, int flags);
int __wrap_mnl_socket_bind(struct mnl_socket *socket, unsigned int groups, pid_t pid);
ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *socket, const void *bytes, size_t size);
ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *socket, void *bytes, size_t size);
int __wrap_mnl_socket_get_fd(const struct mnl_socket *socket);
int __wrap_mnl_socket_close(struct mnl_socket *socket);
int __wrap_poll(struct pollfd *waiting, nfds_t count, int milliseconds);

struct mnl_socket *__wrap_mnl_socket_open2(int bus, int flags)
{
	(void)bus;
	(void)flags;
	return (struct mnl_socket *)&reply;
}

int __wrap_mnl_socket_bind(struct mnl_socket *socket, unsigned int groups, pid_t pid)
{
	(void)socket;
	(void)groups;
	(void)pid;
	return 0;
}

ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *socket, const void *bytes, size_t size)
{
	(void)socket;
	fuzz_check(mnl_nlmsg_ok(bytes, (int)size));
	return (ssize_t)size;
}

ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *socket, void *bytes, size_t size)
{
	(void)socket;
	return (ssize_t)fuzz_bytes(&reply, bytes, size);
}

int __wrap_mnl_socket_get_fd(const struct mnl_socket *socket)
{
	(void)socket;
	return 0;
}

int __wrap_mnl_socket_close(struct mnl_socket *socket)
{
	(void)socket;
	return 0;
}

int __wrap_poll(struct pollfd *waiting, nfds_t count, int milliseconds)
{
	(void)milliseconds;
	waiting->revents = POLLIN;
	return (int)count;
}
/* NOLINTEND(bugprone-reserved-identifier) */

static void check_address(const struct sockaddr_storage *address)
{
	fuzz_check(address->ss_family == AF_UNSPEC || address->ss_family == AF_INET ||
		   address->ss_family == AF_INET6);
}

static int control_client_route(const struct sockaddr_in *address)
{
	struct netlink_route route;
	int error = netlink_find_route(
		(const struct sockaddr *)address, NULL, deadline_in(1000), &route);

	check_address(&route.source);
	check_address(&route.gateway);
	return error;
}

static int control_client_link(void)
{
	struct netlink_link link;
	int error = netlink_find_link(1, deadline_in(1000), &link);

	fuzz_check(memchr(link.name, '\0', sizeof(link.name)));
	fuzz_check(fuzz_is_printable(link.name));
	return error;
}

static int control_client_neighbour(const struct sockaddr_in *address)
{
	struct netlink_neighbour neighbour;
	int error = netlink_find_neighbour(
		1, (const struct sockaddr *)address, deadline_in(1000), &neighbour);
	size_t length = strnlen(neighbour.hardware, sizeof(neighbour.hardware));

	fuzz_check(length < sizeof(neighbour.hardware) && (length == 0 || length % 3 == 2));
	for (size_t i = 0; i < length; i++)
		fuzz_check(i % 3 == 2 ? neighbour.hardware[i] == ':'
				      : strchr("0123456789abcdef", neighbour.hardware[i]) != NULL);
	return error;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int error;

	reply = (struct fuzz_input){data, size};
	switch (fuzz_byte(&reply) % QUESTIONS) {
	case 0:
		error = control_client_route(&address);
		break;
	case 1:
		error = control_client_link();
		break;
	default:
		error = control_client_neighbour(&address);
	}
	fuzz_check(error <= 0);
	fuzz_check(error < 0 || size > sizeof(struct nlmsghdr));
	return 0;
}
