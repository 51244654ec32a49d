/*
 * Addresses that a client can use to reach its server: the server's addresses, tried in order, and
 * the local addresses that --source and --device allow. Main thread.
 */
#ifndef VERBS_SERVER_ADDRESSES_H
#define VERBS_SERVER_ADDRESSES_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>

#include "base/address.h"
#include "base/deadline.h"
#include "base/failure.h"

struct server_addresses {
	/* Set by the caller; the strings outlive the struct. */
	const char *source; /* --source: local address; NULL: any */
	const char *device; /* --device: RDMA device; NULL: any */

	struct addrinfo *addresses;     /* of the server */
	struct addrinfo *sources;       /* of --source */
	const struct addrinfo *address; /* being tried */
	unsigned int rounds;            /* passes through all addresses without a reply */
};

/*
 * Finds the addresses of the server and of --source. Returns 0, or -1 with the failure recorded.
 * getaddrinfo(3).
 */
int server_addresses_find(struct server_addresses *server, const char *host, uint16_t port,
	deadline_t deadline, struct failure *failure);

/*
 * Finds only the addresses of --source; the server's addresses are already known. Returns 0, or -1
 * with the failure recorded.
 */
int server_addresses_find_source(
	struct server_addresses *server, deadline_t deadline, struct failure *failure);

/*
 * Moves on to the server's next address. If no address replied (silent), starts over after the last
 * address, for at most four rounds, because replies may only have been late. Returns false if no
 * address is left.
 */
bool server_addresses_next(struct server_addresses *server, bool silent);

/*
 * Chooses the local address of this family to connect from; sets AF_UNSPEC if any will do. Returns
 * 0, or -1 with the failure recorded.
 */
int server_addresses_source(const struct server_addresses *server, int family,
	struct sockaddr_storage *source, struct failure *failure);

/* Checks that id is bound to the device of --device. Returns 0, or -1 with the failure recorded. */
int server_addresses_check_device(const struct server_addresses *server,
	const struct rdma_cm_id *id, struct failure *failure);

/*
 * Returns why an address cannot be that of a host, or ADDRESS_FINE. Asks the kernel for the route
 * of an IPv4 address.
 */
enum address_fault server_addresses_fault(const struct sockaddr *address);

/* Describes the errno of a failed call that used this server address. */
void server_addresses_evidence(const struct server_addresses *server,
	const struct sockaddr *address, int error, char *evidence, size_t size);

/* Frees the addresses; the struct may be all zero. */
void server_addresses_free(struct server_addresses *server);

#endif
