/* The addresses of this host, of which not all belong to RDMA devices. Any thread. */
#ifndef HOST_OWN_ADDRESSES_H
#define HOST_OWN_ADDRESSES_H

#include <net/if.h>
#include <sys/socket.h>

struct own_address {
	struct sockaddr_storage address; /* with port 0 */
	char interface[IF_NAMESIZE];
};

/*
 * Copies the addresses of the interfaces that are up, IPv4 before IPv6, except loopback and
 * link-local ones. Returns their number, at most `most`; 0 if they cannot be read. getifaddrs(3).
 */
unsigned int own_addresses(struct own_address addresses[], unsigned int most);

#endif
