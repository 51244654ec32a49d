/* The addresses that a server listens on, and its listener. Main thread. */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include <rdma/rdma_cma.h>

#include "base/failure.h"
#include "base/output.h"
#include "cli/options.h"

/* Maximum number of addresses of a --bind host name. */
#define LISTEN_ADDRESSES_MAX 16

/* The candidate addresses. Listening on one of them is enough. */
struct listen_addresses {
	struct sockaddr_storage all[LISTEN_ADDRESSES_MAX];
	unsigned int count;
};

/*
 * Finds the addresses of --bind or of --device, or the wildcard for IPv6 and IPv4. May block in the
 * resolver. Returns 0, or -1 with the failure recorded. getaddrinfo(3).
 */
int listen_find_addresses(
	const struct options *options, struct listen_addresses *addresses, struct failure *failure);

/*
 * Listens on the first address that works; if none does, records the first failure. Events go to
 * the channel. The caller destroys *listener. Returns 0, or -1 with the failure recorded.
 * rdma_listen(3).
 */
int listen_start(const struct options *options, const struct listen_addresses *addresses,
	struct rdma_event_channel *channel, struct rdma_cm_id **listener, struct failure *failure);

/*
 * Checks whether this host can serve clients at all: access to a device, and enough locked memory.
 * Prints what may still change, such as a link that is down. Returns 0, or -1 with the failure
 * recorded.
 */
int listen_check_host(
	const struct options *options, const struct output *output, struct failure *failure);

/* The listening address, for messages. */
const char *listen_name(const struct options *options);

#endif
