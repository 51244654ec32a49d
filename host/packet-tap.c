/*
 * Reads the headers of RoCE v2 packets from a packet socket: packet(7). A socket filter selects
 * them, so that other traffic of a busy host costs little.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "host/packet-tap.h"

#define ROCE_PORT 4791

/* From the destination port, 6 bytes to the end of the UDP header and 4 more. */
#define QUEUE_PAIR_AFTER_PORT 10

#define MANAGERS_QUEUE_PAIR 1

/* More packets prove nothing more. */
#define COUNT_MAX 1000

/* Where the filter finds the fields of a packet, counted from its network header. */
struct layout {
	uint16_t ethertype;
	uint32_t protocol;            /* 1 byte */
	uint32_t source, destination; /* the last 4 bytes of the addresses */
	uint32_t port; /* destination port: after the IP header, which may have options */
	bool options;
};

static const struct layout layout4 = {ETH_P_IP, 9, 12, 16, 2, true};
static const struct layout layout6 = {ETH_P_IPV6, 6, 20, 36, 42, false};

/* The last 4 bytes of an address in host order. */
static uint32_t address_tail(const struct sockaddr *address)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
	uint32_t tail;

	if (address->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr);
	memcpy(&tail, &six->sin6_addr.s6_addr[12], sizeof(tail));
	return ntohl(tail);
}

/*
 * Accepts the first bytes of UDP packets between the two addresses that have the port 4791 and, in
 * their base transport header (InfiniBand specification, 9.2), the number of the queue pair that
 * all messages of connection managers are sent to: bpf(4).
 */
static int set_filter(int fd, const struct sockaddr *own, const struct sockaddr *peer)
{
	const struct layout *at = peer->sa_family == AF_INET ? &layout4 : &layout6;
	uint32_t here = address_tail(own), there = address_tail(peer);
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PROTOCOL)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, at->ethertype, 0, 16),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, at->protocol),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 14),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at->source),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, there, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at->destination),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, here, 3, 10),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, here, 0, 9),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at->destination),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, there, 0, 7),
		at->options ? (struct sock_filter)BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0)
			    : (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, 0),
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, at->port),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ROCE_PORT, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_IND, at->port + QUEUE_PAIR_AFTER_PORT),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffffff),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MANAGERS_QUEUE_PAIR, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 64),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

int packet_tap_open(struct packet_tap *tap, const struct sockaddr *own, const struct sockaddr *peer)
{
	const struct sockaddr_ll all = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
	};
	int error;

	/* With protocol 0, nothing arrives before the filter is in place. */
	*tap = (struct packet_tap){
		.fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
	if (tap->fd < 0)
		return -errno;
	error = set_filter(tap->fd, own, peer);
	if (!error && bind(tap->fd, (const struct sockaddr *)&all, sizeof(all)))
		error = -errno;
	if (error)
		packet_tap_close(tap);
	return error;
}

void packet_tap_read(struct packet_tap *tap)
{
	struct sockaddr_ll from = {0};
	socklen_t size = sizeof(from);
	char header[64];

	while (tap->fd >= 0 && tap->left + tap->arrived < COUNT_MAX &&
		recvfrom(tap->fd, header, sizeof(header), 0, (struct sockaddr *)&from, &size) >=
			0) {
		size = sizeof(from);
		if (from.sll_pkttype == PACKET_OUTGOING)
			tap->left++;
		if (from.sll_pkttype != PACKET_HOST)
			continue;
		tap->arrived++;
		if (if_indextoname((unsigned int)from.sll_ifindex, tap->interface))
			text_printable(tap->interface);
	}
}

void packet_tap_close(struct packet_tap *tap)
{
	if (tap->fd >= 0)
		close(tap->fd);
	tap->fd = -1;
}
