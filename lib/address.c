#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "address.h"

/* What the resolver's thread reads and writes, so it must outlive a lookup that takes too long. */
struct lookup {
	struct gaicb request;
	struct addrinfo hints;
	char service[8];
};

/* Asks the name service for so long. */
static int look_up(const char *host, const struct addrinfo *hints, const char *service,
	int milliseconds, struct addrinfo **list)
{
	const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
	struct lookup *lookup = calloc(1, sizeof(*lookup));
	struct gaicb *requests[1];
	int error;

	if (!lookup)
		return EAI_MEMORY;
	lookup->hints = *hints;
	snprintf(lookup->service, sizeof(lookup->service), "%s", service);
	lookup->request = (struct gaicb){
		.ar_name = host,
		.ar_service = lookup->service,
		.ar_request = &lookup->hints,
	};
	requests[0] = &lookup->request;
	error = getaddrinfo_a(GAI_NOWAIT, requests, 1, NULL);
	if (!error) {
		gai_suspend((const struct gaicb *const *)requests, 1, &time);
		error = gai_error(&lookup->request);
	}
	if (error == EAI_INPROGRESS)
		return EAI_AGAIN; /* the lookup is left to the resolver's thread */
	*list = lookup->request.ar_result;
	free(lookup);
	return error;
}

int address_find(
	const char *host, uint16_t port, int family, int milliseconds, struct addrinfo **list)
{
	struct addrinfo hints = {
		.ai_family = family,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
	};
	char service[8];
	int error;

	/* A numeric address needs no name service, and most are numeric. */
	snprintf(service, sizeof(service), "%u", port);
	error = getaddrinfo(host, service, &hints, list);
	if (error != EAI_NONAME)
		return error;
	hints.ai_flags &= ~AI_NUMERICHOST;
	return look_up(host, &hints, service, milliseconds, list);
}

void address_set_port(struct sockaddr_storage *address, uint16_t port)
{
	if (address->ss_family == AF_INET6)
		((struct sockaddr_in6 *)address)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)address)->sin_port = htons(port);
}

socklen_t address_length(const struct sockaddr *address)
{
	return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					      : sizeof(struct sockaddr_in);
}

void address_text(const struct sockaddr *address, char text[ADDRESS_TEXT_SIZE])
{
	if (getnameinfo(address, address_length(address), text, ADDRESS_TEXT_SIZE, NULL, 0,
		    NI_NUMERICHOST))
		snprintf(text, ADDRESS_TEXT_SIZE, "(unknown address)");
}

void address_port_text(const struct sockaddr *address, char text[ADDRESS_TEXT_SIZE])
{
	bool v6 = address->sa_family == AF_INET6;
	char host[ADDRESS_TEXT_SIZE], port[8];

	if (getnameinfo(address, address_length(address), host, sizeof(host), port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(text, ADDRESS_TEXT_SIZE, "(unknown address)");
	else
		snprintf(text, ADDRESS_TEXT_SIZE, "%s%.64s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "",
			port);
}
