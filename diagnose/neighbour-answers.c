/*
 * Collects the answers to ARP requests with a packet socket, packet(7), which sees every answer
 * before the kernel's neighbour table selects one. The socket is closed before the call returns.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if_arp.h>
#include <netinet/if_ether.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/text.h"
#include "diagnose/neighbour-answers.h"

/* Requests, and the time to wait for answers to each, in milliseconds: some hosts are slow. */
#define REQUESTS  3
#define ANSWER_MS 170

void neighbour_answers_add(struct neighbour_answers *answers, const struct sockaddr *address,
	const void *message, size_t size)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	char hardware[NETLINK_HARDWARE_SIZE];
	struct ether_arp arp;

	if (size < sizeof(arp))
		return;
	memcpy(&arp, message, sizeof(arp));
	if (arp.ea_hdr.ar_op != htons(ARPOP_REPLY) || arp.ea_hdr.ar_hln != ETH_ALEN ||
		arp.ea_hdr.ar_pln != sizeof(v4->sin_addr) ||
		memcmp(arp.arp_spa, &v4->sin_addr, sizeof(v4->sin_addr)) != 0)
		return;
	snprintf(hardware, sizeof(hardware), "%02x:%02x:%02x:%02x:%02x:%02x", arp.arp_sha[0],
		arp.arp_sha[1], arp.arp_sha[2], arp.arp_sha[3], arp.arp_sha[4], arp.arp_sha[5]);
	for (unsigned int i = 0; i < answers->count; i++)
		if (strcmp(answers->hardware[i], hardware) == 0)
			return;
	if (answers->count == NEIGHBOUR_ANSWERS_MAX)
		answers->more = true;
	else
		memcpy(answers->hardware[answers->count++], hardware, sizeof(hardware));
}

void neighbour_answers_list(const struct neighbour_answers *answers, char *text, size_t size)
{
	*text = '\0';
	for (unsigned int i = 0; i < answers->count; i++)
		text_append(text, size, "%s%s", i ? ", " : "", answers->hardware[i]);
	if (answers->more)
		text_append(text, size, " and more");
}

/* Returns a packet socket for ARP on the interface and its own address, or -errno. */
static int open_socket(unsigned int interface, struct sockaddr_ll *own)
{
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t length = sizeof(*own);
	int error = 0;

	if (fd < 0)
		return -errno;
	*own = (struct sockaddr_ll){
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ARP),
		.sll_ifindex = (int)interface,
	};
	if (bind(fd, (struct sockaddr *)own, sizeof(*own)) ||
		getsockname(fd, (struct sockaddr *)own, &length))
		error = -errno;
	else if (own->sll_hatype != ARPHRD_ETHER || own->sll_halen != ETH_ALEN)
		error = -EAFNOSUPPORT;
	if (!error)
		return fd;
	close(fd);
	return error;
}

/* Broadcasts one request. Returns 0 or -errno. */
static int send_request(int fd, const struct sockaddr_ll *own, const struct sockaddr *address,
	const struct sockaddr *source)
{
	struct sockaddr_ll everyone = *own;
	struct ether_arp arp = {
		.ea_hdr = {htons(ARPHRD_ETHER), htons(ETH_P_IP), ETH_ALEN, sizeof(struct in_addr),
			htons(ARPOP_REQUEST)},
	};

	memset(everyone.sll_addr, 0xff, ETH_ALEN);
	memcpy(arp.arp_sha, own->sll_addr, ETH_ALEN);
	memcpy(arp.arp_tpa, &((const struct sockaddr_in *)address)->sin_addr, sizeof(arp.arp_tpa));
	/* Without a source, the request is an address probe (RFC 5227), which is answered, too. */
	if (source)
		memcpy(arp.arp_spa, &((const struct sockaddr_in *)source)->sin_addr,
			sizeof(arp.arp_spa));
	return sendto(fd, &arp, sizeof(arp), 0, (struct sockaddr *)&everyone, sizeof(everyone)) < 0
		       ? -errno
		       : 0;
}

static void collect(int fd, const struct sockaddr *address, struct neighbour_answers *answers)
{
	deadline_t deadline = deadline_in(ANSWER_MS);
	struct pollfd waiting = {.fd = fd, .events = POLLIN};
	unsigned char message[256];
	ssize_t size;

	while (poll(&waiting, 1, deadline_left(deadline)) > 0) {
		size = recv(fd, message, sizeof(message), 0);
		if (size < 0)
			return;
		neighbour_answers_add(answers, address, message, (size_t)size);
	}
}

void neighbour_answers_find(unsigned int interface, const struct sockaddr *address,
	const struct sockaddr *source, struct neighbour_answers *answers)
{
	struct sockaddr_ll own;
	int fd, error = 0;

	memset(answers, 0, sizeof(*answers));
	fd = address->sa_family == AF_INET ? open_socket(interface, &own) : -EAFNOSUPPORT;
	if (source && source->sa_family != AF_INET)
		source = NULL;
	for (int i = 0; i < REQUESTS && fd >= 0 && !error; i++) {
		error = send_request(fd, &own, address, source);
		if (!error)
			collect(fd, address, answers);
	}
	answers->asked = fd >= 0 && !error;
	answers->error = fd < 0 ? -fd : -error;
	if (fd >= 0)
		close(fd);
}
