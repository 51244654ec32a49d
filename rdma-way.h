/* The addresses of a server, which a client tries one after another. Main thread. */
#ifndef RDMA_WAY_H
#define RDMA_WAY_H

#include "lib/address.h"
#include "lib/deadline.h"
#include "lib/failure.h"
#include "lib/options.h"

struct way {
	struct addrinfo *addresses;     /* of the server, all */
	struct addrinfo *sources;       /* what --source names */
	const struct addrinfo *address; /* the one being tried */
	unsigned int rounds;            /* through all addresses, without an answer */
};

/* Finds the addresses that HOST and --source name. Returns 0, or -1 with the failure recorded. */
int way_find(struct way *way, const struct options *options, deadline_t deadline,
	struct failure *failure);

/*
 * Goes on to the server's next address, or once more to the first if nobody answered (silent): there
 * may only have been too little time. Returns false if there is none left.
 */
bool way_next(struct way *way, bool silent);

/* What is known of an errno that a call gave on this way. */
void way_evidence(const struct way *way, const struct options *options, int error, char *evidence,
	size_t size);

/* Frees what was found; way may be all zero. */
void way_free(struct way *way);

#endif
