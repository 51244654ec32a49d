/*
 * Fixture with two hosts in separate network namespaces, connected by a veth(4) link; the test runs
 * on the near one. See network_namespaces(7).
 *
 *     near0 10.9.0.1/24 fd09::1/64 ---- far0 10.9.0.2/24 fd09::2/64
 */
#ifndef TESTS_UNIT_COMMON_NETWORK_FIXTURE_H
#define TESTS_UNIT_COMMON_NETWORK_FIXTURE_H

#include <sys/socket.h>

#define NEAR "10.9.0.1"
#define FAR  "10.9.0.2"

/*
 * Creates both namespaces and enters the near one. Skips the test and prints the reason where this
 * is not permitted. The namespaces exist until the process exits or another test creates its own.
 */
void net_make(void);

/* Runs an ip(8) command on that host; the test fails if the command fails. */
void net_near(const char *command);
void net_far(const char *command);

/* Enables IPv4 forwarding on the far host; skips the test where this is not permitted. */
void net_far_forwards(void);

/* Parses an IPv4 or IPv6 address without port; "%" and an interface may follow. */
struct sockaddr_storage net_address(const char *text);

#endif
