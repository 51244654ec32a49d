/* The addresses of a server, which a client tries one after another. Main thread. */
#ifndef VERBS_SERVER_ADDRESSES_H
#define VERBS_SERVER_ADDRESSES_H

#include "base/address.h"
#include "base/deadline.h"
#include "base/failure.h"
#include "cli/options.h"

struct server_addresses {
	struct addrinfo *addresses;     /* of the server, all */
	struct addrinfo *sources;       /* what --source names */
	const struct addrinfo *address; /* the one being tried */
	unsigned int rounds;            /* through all addresses, without an answer */
};

/* Finds the addresses that HOST and --source name. Returns 0, or -1 with the failure recorded. */
int server_addresses_find(struct server_addresses *server, const struct options *options,
	deadline_t deadline, struct failure *failure);

/*
 * Goes on to the server's next address, or once more to the first if nobody answered (silent): there
 * may only have been too little time. Returns false if there is none left.
 */
bool server_addresses_next(struct server_addresses *server, bool silent);

/* What is known of an errno that a call gave on this way. */
void server_addresses_evidence(const struct server_addresses *server, const struct options *options,
	int error, char *evidence, size_t size);

/* Frees what was found; way may be all zero. */
void server_addresses_free(struct server_addresses *server);

#endif
