/*
 * One UDP datagram that must not be fragmented, sent to a port that is probably closed: the ICMP
 * error that comes back shows whether it arrived. Needs no privileges. udp(7), ip(7): IP_RECVERR,
 * IP_MTU_DISCOVER.
 */
#ifndef DIAGNOSE_UDP_PROBE_H
#define DIAGNOSE_UDP_PROBE_H

#include <stdint.h>
#include <sys/socket.h>

struct sock_extended_err;

/* The first port of traceroute(8), to which fewer firewalls are silent than to others. */
#define UDP_PROBE_PORT 33434

enum udp_probe_result {
	UDP_PROBE_NO_REPLY = 0, /* yet, which proves nothing */
	UDP_PROBE_ARRIVED,      /* the host reports a closed port, or a program there has replied */
	UDP_PROBE_TOO_BIG,      /* a router or this host reports a smaller MTU of its link */
	UDP_PROBE_OTHER,        /* another error came back: see error and from */
};

struct udp_probe {
	int fd;            /* -1: none */
	unsigned int size; /* of the IP datagram in bytes */
	struct sockaddr_storage host;
	enum udp_probe_result result;
	unsigned int mtu;             /* of UDP_PROBE_TOO_BIG: that MTU, 0 if not reported */
	int error;                    /* of UDP_PROBE_OTHER: errno */
	struct sockaddr_storage from; /* of UDP_PROBE_OTHER: its sender; AF_UNSPEC: this host */
};

/* The smallest IP datagram that a probe to an address of that family can be. Any thread. */
unsigned int udp_probe_size_min(int family);

/*
 * Makes a probe to the host, whatever port its address has, from a source address or, NULL, from
 * any. Returns 0, or -errno of socket(2), bind(2) or connect(2), such as -ENETUNREACH. The caller
 * closes it in either case. One thread.
 */
int udp_probe_open(
	struct udp_probe *probe, const struct sockaddr *host, const struct sockaddr *source);

/*
 * Sends it as an IP datagram of that many bytes, headers included. Returns 0, or -errno of send(2):
 * -EMSGSIZE if it is larger than the MTU of this host's interface.
 */
int udp_probe_send(struct udp_probe *probe, unsigned int size);

/* Reads what has come back, without waiting, and returns the result; poll(2) its fd for POLLIN. */
enum udp_probe_result udp_probe_read(struct udp_probe *probe);

/* The path MTU that the kernel assumes, 0 if unknown. IP_MTU, IPV6_MTU. */
unsigned int udp_probe_path_mtu(const struct udp_probe *probe);

void udp_probe_close(struct udp_probe *probe);

/*
 * Classifies an error that came back for a probe to that host, by its sender: only the host itself
 * can prove that the probe has arrived. Any thread.
 */
enum udp_probe_result udp_probe_classify(const struct sock_extended_err *error,
	const struct sockaddr *from, const struct sockaddr *host);

#endif
