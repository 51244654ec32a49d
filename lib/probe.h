/*
 * One UDP datagram that may not be fragmented, sent to a port where probably nobody listens: what
 * comes back shows whether it arrived. An ordinary user may do that. udp(7), ip(7): IP_RECVERR,
 * IP_MTU_DISCOVER.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stdint.h>
#include <sys/socket.h>

struct sock_extended_err;

/* Where traceroute(8) begins, so that fewer firewalls are silent about it than about others. */
#define PROBE_PORT 33434

/* What came of it. */
enum probe_answer {
	PROBE_SILENCE = 0, /* nothing yet, which proves nothing */
	PROBE_ARRIVED,     /* the host says that nobody listens, or somebody there has answered */
	PROBE_TOO_BIG,     /* a router, or this host, says that it is larger than the next link */
	PROBE_OTHER,       /* something else came back: see error and from */
};

struct probe {
	int fd; /* -1: none */
	unsigned int size;
	struct sockaddr_storage host;
	enum probe_answer answer;
	unsigned int mtu;             /* of PROBE_TOO_BIG: what would fit, 0 if it was not said */
	int error;                    /* of PROBE_OTHER: errno */
	struct sockaddr_storage from; /* of PROBE_OTHER: who says so; AF_UNSPEC: this host */
};

/* The smallest IP datagram that a probe to an address of that family can be. Any thread. */
unsigned int probe_size_min(int family);

/*
 * Makes a probe to the host, whatever port its address has. Returns 0, or -errno of socket(2) or
 * connect(2), such as -ENETUNREACH. The caller closes it in either case. One thread.
 */
int probe_open(struct probe *probe, const struct sockaddr *host);

/*
 * Sends it, as an IP datagram of that many bytes, headers included. Returns 0, or -errno of send(2):
 * -EMSGSIZE if this host's interface cannot take it.
 */
int probe_send(struct probe *probe, unsigned int size);

/* Takes what has come back, without waiting; its fd is readable then: poll(2). Returns answer. */
enum probe_answer probe_read(struct probe *probe);

/* What the kernel takes for the path's MTU, 0 if it does not say. IP_MTU, IPV6_MTU. */
unsigned int probe_path_mtu(const struct probe *probe);

void probe_close(struct probe *probe);

/*
 * Judges an error that came back for a probe to that host, and from whom. An answer of another host
 * that only pretends is none of it. Any thread.
 */
enum probe_answer probe_judge(const struct sock_extended_err *error, const struct sockaddr *from,
	const struct sockaddr *host);

#endif
