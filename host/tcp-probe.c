/* See host/tcp-probe.h. */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/address.h"
#include "host/tcp-probe.h"

/* Waits until a connection has been made, or not. */
static int await(int fd, deadline_t deadline, int stop_fd)
{
	struct pollfd waiting[] = {
		{.fd = fd, .events = POLLOUT}, {.fd = stop_fd, .events = POLLIN}};
	socklen_t size = sizeof(int);
	int error = 0;

	for (;;) {
		if (waiting[1].revents)
			return -EINTR;
		if (waiting[0].revents)
			return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) ? -errno
										   : -error;
		if (deadline_left(deadline) == 0)
			return -ETIMEDOUT;
		poll(waiting, 2, deadline_left(deadline));
	}
}

int tcp_probe(const struct sockaddr *source, const struct sockaddr *address, deadline_t deadline,
	int stop_fd)
{
	static const struct linger reset = {.l_onoff = 1};
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error = 0;

	if (fd < 0)
		return -errno;
	if (bind(fd, source, address_length(source)))
		error = -errno;
	else if (connect(fd, address, address_length(address)))
		error = errno == EINPROGRESS ? await(fd, deadline, stop_fd) : -errno;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
	return error;
}
