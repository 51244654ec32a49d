/*
 * The addresses that a client can use to reach its server: the server's, which are tried one after
 * another, and those of this host that --source and --device allow. Main thread.
 */
#ifndef VERBS_SERVER_ADDRESSES_H
#define VERBS_SERVER_ADDRESSES_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>

#include "base/address.h"
#include "base/deadline.h"
#include "base/failure.h"

struct server_addresses {
	/* Set by the caller, whose texts outlive the struct. */
	const char *source; /* --source: the address to connect from, NULL: any */
	const char *device; /* --device: the RDMA device to connect through, NULL: any */

	struct addrinfo *addresses;     /* of the server */
	struct addrinfo *sources;       /* of --source */
	const struct addrinfo *address; /* the one being tried */
	unsigned int rounds;            /* through all addresses, without an answer */
};

/*
 * Finds the addresses of the server and of --source. Returns 0, or -1 with the failure recorded.
 * getaddrinfo(3).
 */
int server_addresses_find(struct server_addresses *server, const char *host, uint16_t port,
	deadline_t deadline, struct failure *failure);

/* Finds the addresses of --source only, for a caller that knows the server's. Returns likewise. */
int server_addresses_find_source(
	struct server_addresses *server, deadline_t deadline, struct failure *failure);

/*
 * Goes on to the server's next address. After the last one it starts again with the first if none
 * of them answered (silent), because that may only have taken too long; four rounds at most.
 * Returns false if no address is left.
 */
bool server_addresses_next(struct server_addresses *server, bool silent);

/*
 * Chooses the local address to connect from, of that family: AF_UNSPEC if any will do. Returns 0,
 * or -1 with the failure recorded.
 */
int server_addresses_source(const struct server_addresses *server, int family,
	struct sockaddr_storage *source, struct failure *failure);

/*
 * Checks that id is bound to the device named by --device. Returns 0, or -1 with the
 * failure recorded.
 */
int server_addresses_check_device(const struct server_addresses *server,
	const struct rdma_cm_id *id, struct failure *failure);

/* Describes this errno of a call that used that address of the server. */
void server_addresses_evidence(const struct server_addresses *server,
	const struct sockaddr *address, int error, char *evidence, size_t size);

/* Frees what was found; the struct may be all zero. */
void server_addresses_free(struct server_addresses *server);

#endif
