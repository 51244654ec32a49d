#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/device-address.h"
#include "rdma-session.h"
#include "verbs/server-addresses.h"

/* An absent host is given up after as many attempts as ARP makes, and one more. */
#define ROUNDS 4

int server_addresses_find(struct server_addresses *server, const struct options *options,
	deadline_t deadline, struct failure *failure)
{
	int error = address_find(options->host, options->port, AF_UNSPEC, deadline_left(deadline),
		&server->addresses);

	if (error)
		return failure_set(failure, FAILURE_NAME, PHASE_NAME, error, "getaddrinfo", "%s",
			gai_strerror(error));
	server->address = server->addresses;
	return server_addresses_find_source(options, deadline, &server->sources, failure);
}

bool server_addresses_next(struct server_addresses *server, bool silent)
{
	server->address = server->address->ai_next;
	if (!server->address && silent && ++server->rounds < ROUNDS)
		server->address = server->addresses;
	return server->address != NULL;
}

void server_addresses_evidence(const struct server_addresses *server, const struct options *options,
	int error, char *evidence, size_t size)
{
	if (server->address && (options->source || error == ENODEV))
		device_address_evidence(
			"", options->source, server->address->ai_addr, evidence, size);
	else
		snprintf(evidence, size, "%s", strerror(error));
}

void server_addresses_free(struct server_addresses *server)
{
	if (server->addresses)
		freeaddrinfo(server->addresses);
	if (server->sources)
		freeaddrinfo(server->sources);
}
