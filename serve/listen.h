/* The addresses that a server listens on, and its listeners. Main thread. */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>

#include "base/failure.h"
#include "base/output.h"
#include "cli/options.h"
#include "verbs/cm.h"

/* Maximum number of addresses of a --bind host name. */
#define LISTEN_ADDRESSES_MAX 16

/* The candidate addresses. Listening on one of them is enough. */
struct listen_addresses {
	struct sockaddr_storage all[LISTEN_ADDRESSES_MAX];
	unsigned int count;
};

/*
 * One listener, or two for the wildcard, one for each address family: on iWARP, a listener on [::]
 * does not accept IPv4 clients; and as many for clients without rdmacm, on the same port. None: the
 * server accepts no more clients.
 */
#define LISTENERS_MAX 4
struct listeners {
	struct rdma_cm_id *all[LISTENERS_MAX];
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
 * the channel. listeners_stop() ends it. Returns 0, or -1 with the failure recorded.
 * rdma_listen(3).
 */
int listen_start(const struct options *options, const struct output *output,
	const struct listen_addresses *addresses, struct cm_channel *channel,
	struct listeners *listeners, struct failure *failure);

/* Destroys the listeners. Connections that they accepted are not affected. rdma_destroy_id(3). */
void listeners_stop(struct listeners *listeners);

/* True if the id is one of the listeners. */
bool listeners_include(const struct listeners *listeners, const struct rdma_cm_id *id);

/* The port that they listen on, which is the same for all. At least one must exist. */
uint16_t listeners_port(const struct listeners *listeners);

/*
 * Checks whether this host can serve clients at all: access to a device, and enough locked memory.
 * Prints what may still change, such as a link that is down. Writes the addresses of its RDMA
 * devices, as device_address_list_of() does. Returns 0, or -1 with the failure recorded.
 */
#define LISTEN_LIST_SIZE 2048
int listen_check_host(const struct options *options, const struct output *output,
	char addresses[LISTEN_LIST_SIZE], struct failure *failure);

/* The address that the first of them listens on; it may be the wildcard. */
const struct sockaddr *listeners_address(const struct listeners *listeners);

/*
 * Prints a client's command that can be copied to another host, and before that, for a server that
 * listens on the wildcard address, the addresses of the list.
 */
void listen_show_addresses(const struct options *options, const struct output *output,
	const struct sockaddr *listening, const char *list, uint16_t port);

/* The listening address, for messages. */
const char *listen_name(const struct options *options);

#endif
