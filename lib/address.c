#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>

#include "address.h"

int address_find(const char *host, uint16_t port, int family, struct addrinfo **list)
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
	return getaddrinfo(host, service, &hints, list);
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
