/*
 * Unfragmented UDP datagrams, sent to a port that is probably closed: a resulting ICMP error shows
 * that one arrived. Silence shows nothing: hosts limit the rate of these errors, and firewalls drop
 * them. Needs no privileges. udp(7), ip(7): IP_RECVERR, IP_MTU_DISCOVER.
 */
#ifndef DIAGNOSE_UDP_PROBE_H
#define DIAGNOSE_UDP_PROBE_H

#include <stdint.h>
#include <sys/socket.h>

struct sock_extended_err;

/* The first port used by traceroute(8): fewer firewalls silently drop it than other ports. */
#define UDP_PROBE_PORT 33434

enum udp_probe_result {
	UDP_PROBE_NO_REPLY = 0, /* no reply so far, which proves nothing */
	UDP_PROBE_ARRIVED,      /* the host reports a closed port, or a program on it replied */
	UDP_PROBE_TOO_BIG,      /* a router or this host reports the smaller MTU of its link */
	UDP_PROBE_OTHER,        /* another error: see error and from */
};

struct udp_probe {
	int fd;            /* -1: none */
	unsigned int size; /* of the IP datagram in bytes */
	struct sockaddr_storage host;
	enum udp_probe_result result;
	unsigned int answers;         /* replies that show that a datagram arrived */
	unsigned int mtu;             /* UDP_PROBE_TOO_BIG: the reported MTU, 0: none */
	int error;                    /* UDP_PROBE_OTHER: errno */
	struct sockaddr_storage from; /* UDP_PROBE_OTHER: the sender; AF_UNSPEC: this host */
};

/* Returns the size of a probe's smallest IP datagram in this address family. Any thread. */
unsigned int udp_probe_size_min(int family);

/*
 * Opens a probe to the host from a source address, or from any address if source is NULL. Ignores
 * the port in the host's address. Returns 0, or -errno of socket(2), bind(2) or connect(2), for
 * example -ENETUNREACH. The caller closes the probe in either case. Only one thread may use a
 * probe.
 */
int udp_probe_open(
	struct udp_probe *probe, const struct sockaddr *host, const struct sockaddr *source);

/*
 * Sends an IP datagram of this size in bytes, headers included; it may be called again. Returns 0,
 * or -errno of send(2): -EMSGSIZE if it exceeds the MTU of the outgoing interface.
 */
int udp_probe_send(struct udp_probe *probe, unsigned int size);

/* Reads pending replies without blocking and returns the result; poll(2) the fd for POLLIN. */
enum udp_probe_result udp_probe_read(struct udp_probe *probe);

/* Returns the path MTU that the kernel assumes, 0 if unknown. IP_MTU, IPV6_MTU. */
unsigned int udp_probe_path_mtu(const struct udp_probe *probe);

void udp_probe_close(struct udp_probe *probe);

/*
 * Classifies an error for a probe to this host by the error's sender: only the host itself can
 * prove that the probe arrived. Any thread.
 */
enum udp_probe_result udp_probe_classify(const struct sock_extended_err *error,
	const struct sockaddr *from, const struct sockaddr *host);

#endif
