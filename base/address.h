/* Converts socket addresses to and from text. */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* Size of "[IPv6 address%interface]:port" with its terminator. */
#define ADDRESS_TEXT_SIZE 80

/*
 * Finds the addresses of a host name or numeric address. Waits for the name service for at most
 * `milliseconds`. Returns 0 and a list that the caller frees with freeaddrinfo(), or an EAI_ code.
 * After a timeout (EAI_AGAIN), host must stay valid until the process exits. Main thread.
 * getaddrinfo(3).
 */
int address_find(
	const char *host, uint16_t port, int family, int milliseconds, struct addrinfo **list);

/* Writes "10.0.0.1" or "fd00::1". Any thread. */
void address_text(const struct sockaddr *address, char text[ADDRESS_TEXT_SIZE]);

/* Writes "10.0.0.1:7471" or "[fd00::1]:7471". Any thread. */
void address_port_text(const struct sockaddr *address, char text[ADDRESS_TEXT_SIZE]);

/* Sets the port of an IPv4 or IPv6 address. */
void address_set_port(struct sockaddr_storage *address, uint16_t port);

/* True if both are the same IPv4 or IPv6 address with the same scope; ignores ports. Any thread. */
bool address_equal(const struct sockaddr *one, const struct sockaddr *other);

/* Makes an IPv4 address out of an IPv6 address that stands for one (::ffff:0:0/96). Any thread. */
void address_unmap(struct sockaddr_storage *address);

/* True for 127.0.0.0/8 and ::1. Any thread. */
bool address_is_loopback(const struct sockaddr *address);

/* Returns the address, or NULL if its family is AF_UNSPEC, which means none. */
const struct sockaddr *address_or_none(const struct sockaddr_storage *address);

/* Returns the size of an address of this family, in bytes. */
socklen_t address_length(const struct sockaddr *address);

#endif
