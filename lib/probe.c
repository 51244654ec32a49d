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

#include "address.h"
#include "probe.h"

unsigned int probe_size_min(int family)
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

int probe_open(struct probe *probe, const struct sockaddr *host)
{
	int error;

	memset(probe, 0, sizeof(*probe));
	memcpy(&probe->host, host, address_length(host));
	address_set_port(&probe->host, PROBE_PORT);
	probe->fd = socket(host->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (probe->fd < 0)
		return -errno;
	error = set_options(probe->fd, host->sa_family);
	if (!error && connect(probe->fd, (struct sockaddr *)&probe->host, address_length(host)))
		error = -errno;
	return error;
}

int probe_send(struct probe *probe, unsigned int size)
{
	unsigned int headers = probe_size_min(probe->host.ss_family);

	probe->size = size;
	return send_zeros(probe->fd, size > headers ? size - headers : 0);
}

enum probe_answer probe_judge(const struct sock_extended_err *error, const struct sockaddr *from,
	const struct sockaddr *host)
{
	bool nobody_listens = false;

	if (error->ee_errno == EMSGSIZE)
		return PROBE_TOO_BIG;
	if (error->ee_origin == SO_EE_ORIGIN_ICMP)
		nobody_listens =
			error->ee_type == ICMP_DEST_UNREACH && error->ee_code == ICMP_PORT_UNREACH;
	else if (error->ee_origin == SO_EE_ORIGIN_ICMP6)
		nobody_listens = error->ee_type == ICMPV6_DEST_UNREACH &&
				 error->ee_code == ICMPV6_PORT_UNREACH;
	/* A firewall on the way may say the same of a host that it protects. */
	return nobody_listens && address_equal(from, host) ? PROBE_ARRIVED : PROBE_OTHER;
}

/* Notes an error of the queue, unless a better answer is there. */
static void take_error(struct probe *probe, const struct sock_extended_err *error)
{
	const struct sockaddr *from = SO_EE_OFFENDER(error);
	enum probe_answer answer = probe_judge(error, from, (struct sockaddr *)&probe->host);

	if (probe->answer == PROBE_ARRIVED || probe->answer == PROBE_TOO_BIG)
		return;
	probe->answer = answer;
	probe->mtu = answer == PROBE_TOO_BIG ? error->ee_info : 0;
	probe->error = (int)error->ee_errno;
	if (from->sa_family == AF_INET || from->sa_family == AF_INET6)
		memcpy(&probe->from, from, address_length(from));
}

/* Reads one message of the error queue. Returns false when it is empty. */
static bool read_error(struct probe *probe)
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

enum probe_answer probe_read(struct probe *probe)
{
	char byte;

	if (probe->fd < 0)
		return probe->answer;
	while (read_error(probe))
		;
	/* Reading also takes the error that the queue has told already. */
	if (recv(probe->fd, &byte, sizeof(byte), MSG_DONTWAIT) >= 0)
		probe->answer = PROBE_ARRIVED;
	return probe->answer;
}

unsigned int probe_path_mtu(const struct probe *probe)
{
	socklen_t length = sizeof(int);
	int mtu = 0;

	if (probe->host.ss_family == AF_INET6)
		(void)getsockopt(probe->fd, IPPROTO_IPV6, IPV6_MTU, &mtu, &length);
	else
		(void)getsockopt(probe->fd, IPPROTO_IP, IP_MTU, &mtu, &length);
	return mtu > 0 ? (unsigned int)mtu : 0;
}

void probe_close(struct probe *probe)
{
	if (probe->fd >= 0)
		close(probe->fd);
	probe->fd = -1;
}
