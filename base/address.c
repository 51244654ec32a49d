/*
 * Address lookup and formatting. Each host name is looked up on its own thread. If the lookup times
 * out, the thread is detached; it then owns struct lookup, which is never freed.
 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/address.h"

/* Owned by the caller until the timeout, then by the lookup thread, which never frees it. */
struct lookup {
	const char *host;
	char service[8];
	struct addrinfo hints;
	struct addrinfo *list;
	int error;
	sem_t done;
};

static void *look_up(void *argument)
{
	struct lookup *lookup = argument;

	lookup->error = getaddrinfo(lookup->host, lookup->service, &lookup->hints, &lookup->list);
	sem_post(&lookup->done);
	return NULL;
}

/* Waits for the semaphore. Returns false on timeout. */
static bool wait_for(sem_t *semaphore, int milliseconds)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += milliseconds / 1000;
	end.tv_nsec += milliseconds % 1000 * 1000000L;
	if (end.tv_nsec >= 1000000000L) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000L;
	}
	while (sem_clockwait(semaphore, CLOCK_MONOTONIC, &end))
		if (errno != EINTR)
			return false;
	return true;
}

/* Calls getaddrinfo(3), which cannot be interrupted, on a thread that can be abandoned. */
static int look_up_host(const char *host, const struct addrinfo *hints, const char *service,
	int milliseconds, struct addrinfo **list)
{
	struct lookup *lookup = calloc(1, sizeof(*lookup));
	pthread_t thread;
	int error;

	if (!lookup)
		return EAI_MEMORY;
	snprintf(lookup->service, sizeof(lookup->service), "%s", service);
	lookup->host = host;
	lookup->hints = *hints;
	sem_init(&lookup->done, 0, 0);
	if (pthread_create(&thread, NULL, look_up, lookup)) {
		free(lookup);
		return EAI_MEMORY;
	}
	if (!wait_for(&lookup->done, milliseconds)) {
		pthread_detach(thread);
		return EAI_AGAIN;
	}
	pthread_join(thread, NULL);
	*list = lookup->list;
	error = lookup->error;
	sem_destroy(&lookup->done);
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

	/* Most addresses are numeric and need no name service. */
	snprintf(service, sizeof(service), "%u", port);
	error = getaddrinfo(host, service, &hints, list);
	if (error != EAI_NONAME)
		return error;
	hints.ai_flags &= ~AI_NUMERICHOST;
	return look_up_host(host, &hints, service, milliseconds, list);
}

void address_set_port(struct sockaddr_storage *address, uint16_t port)
{
	if (address->ss_family == AF_INET6)
		((struct sockaddr_in6 *)address)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)address)->sin_port = htons(port);
}

void address_unmap(struct sockaddr_storage *address)
{
	struct sockaddr_in6 v6 = *(struct sockaddr_in6 *)address;
	struct sockaddr_in v4 = {.sin_family = AF_INET};

	if (v6.sin6_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
		return;
	memcpy(&v4.sin_addr, &v6.sin6_addr.s6_addr[12], sizeof(v4.sin_addr));
	memset(address, 0, sizeof(*address));
	memcpy(address, &v4, sizeof(v4));
}

bool address_equal(const struct sockaddr *one, const struct sockaddr *other)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)one;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)one;
	const struct sockaddr_in *other4 = (const struct sockaddr_in *)other;
	const struct sockaddr_in6 *other6 = (const struct sockaddr_in6 *)other;

	if (one->sa_family != other->sa_family)
		return false;
	if (one->sa_family == AF_INET)
		return v4->sin_addr.s_addr == other4->sin_addr.s_addr;
	return one->sa_family == AF_INET6 && v6->sin6_scope_id == other6->sin6_scope_id &&
	       IN6_ARE_ADDR_EQUAL(&v6->sin6_addr, &other6->sin6_addr);
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
		snprintf(text, ADDRESS_TEXT_SIZE, "%s%.64s%s:%s", v6 ? "[" : "", host,
			v6 ? "]" : "", port);
}

bool address_is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;

	return address->sa_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr)
					      : ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

const struct sockaddr *address_or_none(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_UNSPEC ? NULL : (const struct sockaddr *)address;
}
