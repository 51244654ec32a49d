#include <errno.h>
#include <string.h>

#include "lib/host.h"
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
	if (options->source)
		error = address_find(
			options->source, 0, AF_UNSPEC, deadline_left(deadline), &way->sources);
	if (error)
		return failure_set(failure, FAILURE_NAME, PHASE_ADDRESS, error, "getaddrinfo",
			"--source %s: %s", options->source, gai_strerror(error));
	way->address = way->addresses;
	return 0;
}

int way_source(const struct way *way, const struct options *options,
	struct sockaddr_storage *storage, struct sockaddr **source, struct failure *failure)
{
	const struct addrinfo *address = way->sources;
	int family = way->address->ai_family;
	enum host_rdma lacking;

	*source = NULL;
	if (options->source) {
		while (address && address->ai_family != family)
			address = address->ai_next;
		if (!address)
			return failure_set(failure, FAILURE_ERRNO, PHASE_ADDRESS, EINVAL,
				"--source", "--source %s", options->source);
		memcpy(storage, address->ai_addr, address->ai_addrlen);
	} else if (options->device) {
		lacking = host_device_address("", options->device, family, storage);
		if (lacking != HOST_READY)
			return failure_set(failure, FAILURE_HOST, PHASE_ADDRESS, (int)lacking,
				"--device", "--device %s", options->device);
	} else {
		return 0;
	}
	*source = (struct sockaddr *)storage;
	return 0;
}

bool way_next(struct way *way, bool silent)
{
	way->address = way->address->ai_next;
	if (!way->address && silent && ++way->rounds < ROUNDS)
		way->address = way->addresses;
	return way->address != NULL;
}

void way_free(struct way *way)
{
	if (way->addresses)
		freeaddrinfo(way->addresses);
	if (way->sources)
		freeaddrinfo(way->sources);
}
