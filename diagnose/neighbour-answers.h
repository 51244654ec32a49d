/*
 * Who answers for an IPv4 address on the local network: sends several ARP requests and collects all
 * answers, as arping(8) does. The kernel keeps only one of them. More than one MAC address means
 * ARP flux (two interfaces of a host in one subnet answer for each other's addresses), a duplicate
 * address, or a host that is set up that way, so it is no fault in itself.
 */
#ifndef DIAGNOSE_NEIGHBOUR_ANSWERS_H
#define DIAGNOSE_NEIGHBOUR_ANSWERS_H

#include <net/ethernet.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "host/netlink.h"

#define NEIGHBOUR_ANSWERS_MAX 4

struct neighbour_answers {
	int error;  /* errno: EPERM without CAP_NET_RAW, EAFNOSUPPORT unless IPv4 over Ethernet */
	bool asked; /* the requests were sent */
	bool more;  /* more answers than fit */
	unsigned int count;
	char hardware[NEIGHBOUR_ANSWERS_MAX][NETLINK_HARDWARE_SIZE]; /* as in netlink_neighbour */
};

/*
 * Sends the requests through the interface, with this source address (any if NULL), and waits for
 * answers: about half a second. Sends nothing without CAP_NET_RAW. Any thread.
 */
void neighbour_answers_find(unsigned int interface, const struct sockaddr *address,
	const struct sockaddr *source, struct neighbour_answers *answers);

/* Adds the sender of an ARP message if it is an answer for the IPv4 address. Any thread. */
void neighbour_answers_add(struct neighbour_answers *answers, const struct sockaddr *address,
	const void *message, size_t size);

/* Writes "A, B and more". Any thread. */
void neighbour_answers_list(const struct neighbour_answers *answers, char *text, size_t size);

#endif
