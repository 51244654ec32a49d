/*
 * Counts the messages of connection managers over RoCE v2 (UDP port 4791) between an address of
 * this host and a peer that the network interfaces receive and send, before any firewall sees the
 * former and after it has seen the latter. Packets for another address, as of a virtual machine on
 * this host, or of an earlier connection, do not count. Only packets of soft-RoCE pass there; those
 * of an adapter bypass the kernel. Needs CAP_NET_RAW: packet(7). Any thread; the caller owns the
 * struct.
 */
#ifndef HOST_PACKET_TAP_H
#define HOST_PACKET_TAP_H

#include <net/if.h>
#include <sys/socket.h>

struct packet_tap {
	int fd;                      /* -1: closed */
	unsigned int left, arrived;  /* packets to the peer and from it, at most 1000 */
	char interface[IF_NAMESIZE]; /* where the last one arrived; "": none did */
};

/*
 * Starts counting. Returns 0 or -errno of socket(2), for example -EPERM; the tap is then closed and
 * counts nothing.
 */
int packet_tap_open(
	struct packet_tap *tap, const struct sockaddr *own, const struct sockaddr *peer);

/* Brings the counts up to date, without blocking. */
void packet_tap_read(struct packet_tap *tap);

/* Stops counting; the counts remain. Takes some milliseconds: the kernel waits for its readers. */
void packet_tap_close(struct packet_tap *tap);

#endif
