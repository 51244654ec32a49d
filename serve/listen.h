/* The addresses that a server listens on, and its listener. Main thread. */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include <rdma/rdma_cma.h>

#include "base/failure.h"
#include "cli/options.h"

/* Addresses of a --bind host name that are tried. */
#define LISTEN_ADDRESSES_MAX 16

/* The addresses that the options allow. Listening on one of them is enough. */
struct listen_addresses {
	struct sockaddr_storage all[LISTEN_ADDRESSES_MAX];
	unsigned int count;
};

/*
 * Finds --bind's addresses, or --device's, or the wildcard that takes IPv6 and IPv4. It may ask the
 * name service. Returns 0, or -1 with the failure recorded. getaddrinfo(3).
 */
int listen_find_addresses(
	const struct options *options, struct listen_addresses *addresses, struct failure *failure);

/*
 * Listens on the first of the addresses where that succeeds; if none does the first failure counts.
 * Events go to the channel. The caller destroys *listener. Returns likewise. rdma_listen(3).
 */
int listen_start(const struct options *options, const struct listen_addresses *addresses,
	struct rdma_event_channel *channel, struct rdma_cm_id **listener, struct failure *failure);

/* What the server listens on, for a sentence. */
const char *listen_name(const struct options *options);

#endif
