/*
 * Two hosts in network namespaces of their own, with a link between them (veth(4)): the test itself
 * is the near one. network_namespaces(7).
 *
 *     near0 10.9.0.1/24 fd09::1/64 ---- far0 10.9.0.2/24 fd09::2/64
 */
#ifndef TESTS_UNIT_COMMON_NETWORK_FIXTURE_H
#define TESTS_UNIT_COMMON_NETWORK_FIXTURE_H

#include <sys/socket.h>

#define NEAR "10.9.0.1"
#define FAR  "10.9.0.2"

/*
 * Makes both and becomes the near one; skips the test, with the reason, where that is not allowed.
 * They end with the process, or when the next test makes its own.
 */
void net_make(void);

/* Runs a command of ip(8) at one of them; the test fails if it does. */
void net_near(const char *command);
void net_far(const char *command);

/* The far one forwards what is for others; skips the test where that cannot be set. */
void net_far_forwards(void);

/* The IPv4 or IPv6 address, "%" and interface allowed, without port. */
struct sockaddr_storage net_address(const char *text);

#endif
