/*
 * Asks if TCP connects to an address. iWARP connections are TCP connections, and software iWARP's
 * rdma_connect(3) blocks until TCP has connected or given up, which takes minutes where a firewall
 * drops packets.
 */
#ifndef HOST_TCP_PROBE_H
#define HOST_TCP_PROBE_H

#include <sys/socket.h>

#include "base/deadline.h"

/*
 * Connects from source, whose port may be 0, to address, and resets the connection at once. An
 * iWARP listener ignores it. Returns 0; -ETIMEDOUT at the deadline; -EINTR if stop_fd (-1: none)
 * becomes readable first; or what connect(2) reports, as -errno. Any thread.
 */
int tcp_probe(const struct sockaddr *source, const struct sockaddr *address, deadline_t deadline,
	int stop_fd);

#endif
