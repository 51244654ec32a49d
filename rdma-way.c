#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/host.h"
#include "rdma-session.h"
#include "rdma-way.h"

/* An absent host is given up after as many attempts as ARP makes, and one more. */
#define ROUNDS 4

int way_find(struct way *way, const struct options *options, deadline_t deadline,
	struct failure *failure)
{
	int error = address_find(
		options->host, options->port, AF_UNSPEC, deadline_left(deadline), &way->addresses);

	if (error)
		return failure_set(failure, FAILURE_NAME, PHASE_NAME, error, "getaddrinfo", "%s",
			gai_strerror(error));
	way->address = way->addresses;
	return session_find_source(options, deadline, &way->sources, failure);
}

bool way_next(struct way *way, bool silent)
{
	way->address = way->address->ai_next;
	if (!way->address && silent && ++way->rounds < ROUNDS)
		way->address = way->addresses;
	return way->address != NULL;
}

void way_evidence(const struct way *way, const struct options *options, int error, char *evidence,
	size_t size)
{
	if (way->address && (options->source || error == ENODEV))
		host_way_evidence("", options->source, way->address->ai_addr, evidence, size);
	else
		snprintf(evidence, size, "%s", strerror(error));
}

void way_free(struct way *way)
{
	if (way->addresses)
		freeaddrinfo(way->addresses);
	if (way->sources)
		freeaddrinfo(way->sources);
}
