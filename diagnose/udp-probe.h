/*
 * One UDP datagram that may not be fragmented, sent to a port where probably nobody listens: what
 * comes back shows whether it arrived. An ordinary user may do that. udp(7), ip(7): IP_RECVERR,
 * IP_MTU_DISCOVER.
 */
#ifndef DIAGNOSE_UDP_PROBE_H
#define DIAGNOSE_UDP_PROBE_H

#include <stdint.h>
#include <sys/socket.h>

struct sock_extended_err;

/* Where traceroute(8) begins, so that fewer firewalls are silent about it than about others. */
#define DATAGRAM_PORT 33434

/* What came of it. */
enum datagram_answer {
	DATAGRAM_SILENCE = 0, /* nothing yet, which proves nothing */
	DATAGRAM_ARRIVED, /* the host says that nobody listens, or somebody there has answered */
	DATAGRAM_TOO_BIG, /* a router, or this host, says that it is larger than the next link */
	DATAGRAM_OTHER,   /* something else came back: see error and from */
};

struct datagram {
	int fd; /* -1: none */
	unsigned int size;
	struct sockaddr_storage host;
	enum datagram_answer reply;
	unsigned int mtu; /* of DATAGRAM_TOO_BIG: what would fit, 0 if it was not said */
	int error;        /* of DATAGRAM_OTHER: errno */
	struct sockaddr_storage from; /* of DATAGRAM_OTHER: who says so; AF_UNSPEC: this host */
};

/* The smallest IP datagram that a probe to an address of that family can be. Any thread. */
unsigned int datagram_size_min(int family);

/*
 * Makes a probe to the host, whatever port its address has, from that address or, NULL, from any.
 * Returns 0, or -errno of socket(2), bind(2) or connect(2), such as -ENETUNREACH. The caller closes it
 * in either case. One thread.
 */
int datagram_open(
	struct datagram *datagram, const struct sockaddr *host, const struct sockaddr *source);

/*
 * Sends it, as an IP datagram of that many bytes, headers included. Returns 0, or -errno of send(2):
 * -EMSGSIZE if this host's interface cannot take it.
 */
int datagram_send(struct datagram *datagram, unsigned int size);

/* Takes what has come back, without waiting; its fd is readable then: poll(2). Returns answer. */
enum datagram_answer datagram_read(struct datagram *datagram);

/* What the kernel takes for the path's MTU, 0 if it does not say. IP_MTU, IPV6_MTU. */
unsigned int datagram_path_mtu(const struct datagram *datagram);

void datagram_close(struct datagram *datagram);

/*
 * Judges an error that came back for a probe to that host, and from whom. An answer of another host
 * that only pretends is none of it. Any thread.
 */
enum datagram_answer datagram_judge(const struct sock_extended_err *error,
	const struct sockaddr *from, const struct sockaddr *host);

#endif
