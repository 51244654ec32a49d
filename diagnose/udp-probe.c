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

unsigned int datagram_size_min(int family)
{
	size_t ip = family == AF_INET6 ? sizeof(struct ip6_hdr) : sizeof(struct ip);

	return (unsigned int)(ip + sizeof(struct udphdr));
}

/* Whatever the kernel takes for the path's MTU, it shall try, and report what comes back. */
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

/* Sends zeros: a probe has nothing to say. */
static int send_zeros(int fd, size_t length)
{
	void *zeros = calloc(1, length + 1);
	int error = 0;

	if (!zeros)
		return -ENOMEM;
	/* ENOBUFS says that an interface has dropped it, which is a loss like those on the way. */
	if (send(fd, zeros, length, MSG_DONTWAIT) < 0 && errno != ENOBUFS)
		error = -errno;
	free(zeros);
	return error;
}

int datagram_open(
	struct datagram *datagram, const struct sockaddr *host, const struct sockaddr *source)
{
	int error;

	memset(datagram, 0, sizeof(*datagram));
	memcpy(&datagram->host, host, address_length(host));
	address_set_port(&datagram->host, DATAGRAM_PORT);
	datagram->fd = socket(host->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (datagram->fd < 0)
		return -errno;
	error = set_options(datagram->fd, host->sa_family);
	if (!error && source && bind(datagram->fd, source, address_length(source)))
		error = -errno;
	if (!error &&
		connect(datagram->fd, (struct sockaddr *)&datagram->host, address_length(host)))
		error = -errno;
	return error;
}

int datagram_send(struct datagram *datagram, unsigned int size)
{
	unsigned int headers = datagram_size_min(datagram->host.ss_family);

	datagram->size = size;
	return send_zeros(datagram->fd, size > headers ? size - headers : 0);
}

enum datagram_answer datagram_judge(const struct sock_extended_err *error,
	const struct sockaddr *from, const struct sockaddr *host)
{
	bool nobody_listens = false;

	if (error->ee_errno == EMSGSIZE)
		return DATAGRAM_TOO_BIG;
	if (error->ee_origin == SO_EE_ORIGIN_ICMP)
		nobody_listens =
			error->ee_type == ICMP_DEST_UNREACH && error->ee_code == ICMP_PORT_UNREACH;
	else if (error->ee_origin == SO_EE_ORIGIN_ICMP6)
		nobody_listens = error->ee_type == ICMPV6_DEST_UNREACH &&
				 error->ee_code == ICMPV6_PORT_UNREACH;
	/* A firewall on the way may say the same of a host that it protects. */
	return nobody_listens && address_equal(from, host) ? DATAGRAM_ARRIVED : DATAGRAM_OTHER;
}

/* Notes an error of the queue, unless a better answer is there. */
static void take_error(struct datagram *datagram, const struct sock_extended_err *error)
{
	const struct sockaddr *from = SO_EE_OFFENDER(error);
	enum datagram_answer reply =
		datagram_judge(error, from, (struct sockaddr *)&datagram->host);

	if (datagram->reply == DATAGRAM_ARRIVED || datagram->reply == DATAGRAM_TOO_BIG)
		return;
	datagram->reply = reply;
	datagram->mtu = reply == DATAGRAM_TOO_BIG ? error->ee_info : 0;
	datagram->error = (int)error->ee_errno;
	if (from->sa_family == AF_INET || from->sa_family == AF_INET6)
		memcpy(&datagram->from, from, address_length(from));
}

/* Reads one message of the error queue. Returns false when it is empty. */
static bool read_error(struct datagram *datagram)
{
	_Alignas(struct cmsghdr) char control[512];
	struct msghdr message = {
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};

	if (recvmsg(datagram->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
		if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
			(c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR))
			take_error(datagram, (const struct sock_extended_err *)CMSG_DATA(c));
	return true;
}

enum datagram_answer datagram_read(struct datagram *datagram)
{
	char byte;

	if (datagram->fd < 0)
		return datagram->reply;
	while (read_error(datagram))
		;
	/* Reading also takes the error that the queue has told already. */
	if (recv(datagram->fd, &byte, sizeof(byte), MSG_DONTWAIT) >= 0)
		datagram->reply = DATAGRAM_ARRIVED;
	return datagram->reply;
}

unsigned int datagram_path_mtu(const struct datagram *datagram)
{
	socklen_t length = sizeof(int);
	int mtu = 0;

	if (datagram->host.ss_family == AF_INET6)
		(void)getsockopt(datagram->fd, IPPROTO_IPV6, IPV6_MTU, &mtu, &length);
	else
		(void)getsockopt(datagram->fd, IPPROTO_IP, IP_MTU, &mtu, &length);
	return mtu > 0 ? (unsigned int)mtu : 0;
}

void datagram_close(struct datagram *datagram)
{
	if (datagram->fd >= 0)
		close(datagram->fd);
	datagram->fd = -1;
}
