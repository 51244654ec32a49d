/* Addresses of the server and of this host: see verbs/server-addresses.h. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "host/device-address.h"
#include "host/netlink.h"
#include "verbs/server-addresses.h"

/* ARP makes three attempts; after one more round, the host is considered absent. */
#define ROUNDS 4

int server_addresses_find_source(
	struct server_addresses *server, deadline_t deadline, struct failure *failure)
{
	int error = 0;

	if (server->source)
		error = address_find(
			server->source, 0, AF_UNSPEC, deadline_left(deadline), &server->sources);
	return error ? failure_set(failure, FAILURE_NAME, PHASE_ADDRESS, error, "getaddrinfo",
			       "--source %s: %s", server->source, gai_strerror(error))
		     : 0;
}

/* Returns the scope of an IPv6 address if it does not name an interface of this host, or NULL. */
static const char *find_unknown_scope(const char *host)
{
	const char *scope = strchr(host, '%');

	if (!scope || strspn(scope + 1, "0123456789") == strlen(scope + 1))
		return NULL;
	return if_nametoindex(scope + 1) ? NULL : scope + 1;
}

int server_addresses_find(struct server_addresses *server, const char *host, uint16_t port,
	deadline_t deadline, struct failure *failure)
{
	const char *scope = find_unknown_scope(host);
	int error =
		address_find(host, port, AF_UNSPEC, deadline_left(deadline), &server->addresses);

	if (error && scope)
		return failure_set(failure, FAILURE_ADDRESS, PHASE_NAME, ADDRESS_NO_INTERFACE,
			"if_nametoindex", "%s", scope);
	if (error)
		return failure_set(failure, FAILURE_NAME, PHASE_NAME, error, "getaddrinfo", "%s",
			gai_strerror(error));
	server->address = server->addresses;
	return server_addresses_find_source(server, deadline, failure);
}

bool server_addresses_next(struct server_addresses *server, bool silent)
{
	server->address = server->address->ai_next;
	if (!server->address && silent && ++server->rounds < ROUNDS)
		server->address = server->addresses;
	return server->address != NULL;
}

int server_addresses_source(const struct server_addresses *server, int family,
	struct sockaddr_storage *source, struct failure *failure)
{
	const struct addrinfo *candidate = server->sources;
	char evidence[sizeof(failure->evidence)];
	enum readiness lacking;

	source->ss_family = AF_UNSPEC;
	if (server->source) {
		while (candidate && candidate->ai_family != family)
			candidate = candidate->ai_next;
		if (!candidate)
			return failure_set(failure, FAILURE_ERRNO, PHASE_ADDRESS, EINVAL,
				"--source", "--source %s", server->source);
		memcpy(source, candidate->ai_addr, candidate->ai_addrlen);
	} else if (server->device) {
		lacking = device_address_find("", server->device, family, source);
		if (lacking != HOST_READY) {
			lacking = device_address_explain(
				"", server->device, lacking, evidence, sizeof(evidence));
			return failure_set(failure, FAILURE_HOST, PHASE_ADDRESS, (int)lacking,
				"--device", "%s", evidence);
		}
	}
	return 0;
}

int server_addresses_check_device(
	const struct server_addresses *server, const struct rdma_cm_id *id, struct failure *failure)
{
	const char *name = ibv_get_device_name(id->verbs->device);

	if (!server->device || strcmp(server->device, name) == 0)
		return 0;
	return failure_set(failure, FAILURE_HOST, PHASE_ADDRESS, HOST_OTHER_DEVICE, "--device",
		"the route uses %s", name);
}

enum address_fault server_addresses_fault(const struct sockaddr *address)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	struct netlink_route route;

	if (address->sa_family == AF_INET6) {
		if (IN6_IS_ADDR_MULTICAST(&v6->sin6_addr))
			return ADDRESS_MULTICAST;
		return IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) && v6->sin6_scope_id == 0
			       ? ADDRESS_NO_SCOPE
			       : ADDRESS_FINE;
	}
	if (IN_MULTICAST(ntohl(v4->sin_addr.s_addr)))
		return ADDRESS_MULTICAST;
	return netlink_find_route(address, NULL, &route) == 0 && route.type == RTN_BROADCAST
		       ? ADDRESS_BROADCAST
		       : ADDRESS_FINE;
}

void server_addresses_evidence(const struct server_addresses *server,
	const struct sockaddr *address, int error, char *evidence, size_t size)
{
	if (server->source || error == ENODEV)
		device_address_evidence("", server->source, address, evidence, size);
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
