/*
 * Sends a UDP datagram to a closed port and reads the resulting errors: udp(7), ip(7). The caller
 * owns the probe, which owns its socket.
 */

/* linux/errqueue.h uses struct timespec. */
#include <time.h>

#include <errno.h>
#include <linux/errqueue.h>
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "diagnose/udp-probe.h"

unsigned int udp_probe_size_min(int family)
{
	size_t ip = family == AF_INET6 ? sizeof(struct ip6_hdr) : sizeof(struct ip);

	return (unsigned int)(ip + sizeof(struct udphdr));
}

/*
 * Sends unfragmented datagrams regardless of the path MTU that the kernel has learned, and enables
 * error reports.
 */
static int set_options(int fd, int family)
{
	static const struct {
		int family, level, name, value;
	} options[] = {
		{AF_INET, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE},
		{AF_INET, IPPROTO_IP, IP_RECVERR, 1},
		{AF_INET6, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE},
		{AF_INET6, IPPROTO_IPV6, IPV6_RECVERR, 1},
		{AF_INET6, IPPROTO_IPV6, IPV6_DONTFRAG, 1},
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (options[i].family == family &&
			setsockopt(fd, options[i].level, options[i].name, &options[i].value,
				sizeof(options[i].value)))
			return -errno;
	return 0;
}

int udp_probe_open(
	struct udp_probe *probe, const struct sockaddr *host, const struct sockaddr *source)
{
	int error;

	memset(probe, 0, sizeof(*probe));
	memcpy(&probe->host, host, address_length(host));
	address_set_port(&probe->host, UDP_PROBE_PORT);
	probe->fd = socket(host->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (probe->fd < 0)
		return -errno;
	error = set_options(probe->fd, host->sa_family);
	if (!error && source && bind(probe->fd, source, address_length(source)))
		error = -errno;
	if (!error && connect(probe->fd, (struct sockaddr *)&probe->host, address_length(host)))
		error = -errno;
	return error;
}

int udp_probe_send(struct udp_probe *probe, unsigned int size)
{
	unsigned int headers = udp_probe_size_min(probe->host.ss_family);
	size_t length = size > headers ? size - headers : 0;
	void *zeros = calloc(1, length + 1);
	int error = 0;

	if (!zeros)
		return -ENOMEM;
	probe->size = size;
	/* A pending error of an earlier datagram would be reported instead of sending. */
	(void)udp_probe_read(probe);
	/* ENOBUFS: an interface dropped the datagram; treat it like any other loss. */
	if (send(probe->fd, zeros, length, MSG_DONTWAIT) < 0 && errno != ENOBUFS)
		error = -errno;
	free(zeros);
	/* An error that arrived in the meantime; the next try sends. */
	return error == -ECONNREFUSED ? 0 : error;
}

enum udp_probe_result udp_probe_classify(const struct sock_extended_err *error,
	const struct sockaddr *from, const struct sockaddr *host)
{
	bool port_closed = false;

	if (error->ee_errno == EMSGSIZE)
		return UDP_PROBE_TOO_BIG;
	if (error->ee_origin == SO_EE_ORIGIN_ICMP)
		port_closed =
			error->ee_type == ICMP_DEST_UNREACH && error->ee_code == ICMP_PORT_UNREACH;
	else if (error->ee_origin == SO_EE_ORIGIN_ICMP6)
		port_closed = error->ee_type == ICMPV6_DEST_UNREACH &&
			      error->ee_code == ICMPV6_PORT_UNREACH;
	/* A firewall may send the same error on behalf of a host that it protects. */
	return port_closed && address_equal(from, host) ? UDP_PROBE_ARRIVED : UDP_PROBE_OTHER;
}

/* Records an error from the queue, unless an earlier error was conclusive. */
static void take_error(struct udp_probe *probe, const struct sock_extended_err *error)
{
	const struct sockaddr *from = SO_EE_OFFENDER(error);
	enum udp_probe_result result =
		udp_probe_classify(error, from, (struct sockaddr *)&probe->host);

	probe->answers += result == UDP_PROBE_ARRIVED;
	if (probe->result == UDP_PROBE_ARRIVED || probe->result == UDP_PROBE_TOO_BIG)
		return;
	probe->result = result;
	probe->mtu = result == UDP_PROBE_TOO_BIG ? error->ee_info : 0;
	probe->error = (int)error->ee_errno;
	if (from->sa_family == AF_INET || from->sa_family == AF_INET6)
		memcpy(&probe->from, from, address_length(from));
}

/* Reads one message from the error queue. Returns false if it is empty. */
static bool read_error(struct udp_probe *probe)
{
	_Alignas(struct cmsghdr) char control[512];
	struct msghdr message = {
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};

	if (recvmsg(probe->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
		if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
			(c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR))
			take_error(probe, (const struct sock_extended_err *)CMSG_DATA(c));
	return true;
}

enum udp_probe_result udp_probe_read(struct udp_probe *probe)
{
	char byte;

	if (probe->fd < 0)
		return probe->result;
	while (read_error(probe))
		;
	/* recv() also clears the pending error, which the error queue has already delivered. */
	if (recv(probe->fd, &byte, sizeof(byte), MSG_DONTWAIT) >= 0) {
		probe->result = UDP_PROBE_ARRIVED;
		probe->answers++;
	}
	return probe->result;
}

unsigned int udp_probe_path_mtu(const struct udp_probe *probe)
{
	socklen_t length = sizeof(int);
	int mtu = 0;

	if (probe->host.ss_family == AF_INET6)
		(void)getsockopt(probe->fd, IPPROTO_IPV6, IPV6_MTU, &mtu, &length);
	else
		(void)getsockopt(probe->fd, IPPROTO_IP, IP_MTU, &mtu, &length);
	return mtu > 0 ? (unsigned int)mtu : 0;
}

void udp_probe_close(struct udp_probe *probe)
{
	if (probe->fd >= 0)
		close(probe->fd);
	probe->fd = -1;
}
