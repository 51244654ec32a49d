/*
 * Replies to a UDP probe: ICMP errors of routers and hosts, as the kernel queues them, with any
 * contents and in any order. The linker replaces the socket's reads (ld(1), --wrap).
 */
#include <time.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <netinet/in.h>

#include "base/address.h"
#include "diagnose/udp-probe.h"
#include "tests/fuzz/fuzz.h"

#define ERRORS_MAX 16

/* An error with the address of its sender, as in ip(7). */
struct queued {
	struct sock_extended_err error;
	struct sockaddr_storage from;
};

static struct queued queue[ERRORS_MAX];
static size_t queued, reported;
static bool answered;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
ssize_t __wrap_recvmsg(int socket, struct msghdr *message, int flags);
ssize_t __wrap_recv(int socket, void *bytes, size_t size, int flags);

ssize_t __wrap_recvmsg(int socket, struct msghdr *message, int flags)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(message);
	size_t size = sizeof(struct sock_extended_err) + sizeof(struct sockaddr_in6);
	const struct queued *next;
	bool six;

	(void)socket;
	(void)flags;
	if (reported == queued)
		return -1;
	next = &queue[reported++];
	six = next->from.ss_family == AF_INET6;
	fuzz_check(message->msg_controllen >= CMSG_SPACE(size));
	control->cmsg_level = six ? IPPROTO_IPV6 : IPPROTO_IP;
	control->cmsg_type = six ? IPV6_RECVERR : IP_RECVERR;
	control->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(control), &next->error, sizeof(next->error));
	memcpy(CMSG_DATA(control) + sizeof(next->error), &next->from, sizeof(struct sockaddr_in6));
	message->msg_controllen = CMSG_SPACE(size);
	return 0;
}

/* cppcheck-suppress constParameter; recv(2)'s prototype */
ssize_t __wrap_recv(int socket, void *bytes, size_t size, int flags)
{
	(void)socket;
	(void)flags;
	fuzz_check(bytes && size > 0);
	return answered ? 0 : -1;
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* Reads an address, often that of the probed host. */
static struct sockaddr_storage read_address(
	struct fuzz_input *input, uint8_t kind, const struct sockaddr_storage *host)
{
	struct sockaddr_storage address = {0};
	struct sockaddr_in *four = (struct sockaddr_in *)&address;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address;

	if (kind % 4 == 0 && host)
		return *host;
	if (kind % 4 == 1) {
		four->sin_family = AF_INET;
		fuzz_bytes(input, &four->sin_addr, sizeof(four->sin_addr));
	} else if (kind % 4 == 2) {
		six->sin6_family = AF_INET6;
		fuzz_bytes(input, &six->sin6_addr, sizeof(six->sin6_addr));
		six->sin6_scope_id = fuzz_byte(input);
	}
	return address;
}

static void read_queue(struct fuzz_input *input, const struct sockaddr_storage *host)
{
	static const uint32_t numbers[] = {EMSGSIZE, ECONNREFUSED, EHOSTUNREACH, ENETUNREACH};

	for (queued = reported = 0; queued < ERRORS_MAX && input->left > 0; queued++) {
		struct sock_extended_err *error = &queue[queued].error;
		uint8_t kind = fuzz_byte(input);

		*error = (struct sock_extended_err){
			.ee_errno = numbers[kind >> 2 & 3],
			.ee_origin = kind >> 4 & 3,
			.ee_type = fuzz_byte(input),
			.ee_code = fuzz_byte(input),
			.ee_info = (uint32_t)fuzz_number(input, 4),
		};
		queue[queued].from = read_address(input, kind, host);
	}
}

/* True if this error proves that the probe reached the host. */
static bool proves_arrival(const struct queued *queued_error, const struct sockaddr_storage *host)
{
	const struct sock_extended_err *error = &queued_error->error;
	bool four = error->ee_origin == SO_EE_ORIGIN_ICMP && error->ee_type == ICMP_DEST_UNREACH &&
		    error->ee_code == ICMP_PORT_UNREACH;
	bool six = error->ee_origin == SO_EE_ORIGIN_ICMP6 &&
		   error->ee_type == ICMPV6_DEST_UNREACH && error->ee_code == ICMPV6_PORT_UNREACH;

	return error->ee_errno != EMSGSIZE && (four || six) &&
	       address_equal(
		       (const struct sockaddr *)&queued_error->from, (const struct sockaddr *)host);
}

/* Returns the decisive error in the queue: the first conclusive error, otherwise the last. */
static const struct queued *telling(const struct sockaddr_storage *host)
{
	for (size_t i = 0; i < queued; i++)
		if (queue[i].error.ee_errno == EMSGSIZE || proves_arrival(&queue[i], host))
			return &queue[i];
	return queued ? &queue[queued - 1] : NULL;
}

static void check_answer(const struct udp_probe *probe, const struct queued *tells)
{
	switch (probe->result) {
	case UDP_PROBE_NO_REPLY:
		fuzz_check(!tells && !answered);
		break;
	case UDP_PROBE_ARRIVED:
		fuzz_check(answered || proves_arrival(tells, &probe->host));
		break;
	case UDP_PROBE_TOO_BIG:
		fuzz_check(tells && tells->error.ee_errno == EMSGSIZE);
		fuzz_check(probe->mtu == tells->error.ee_info);
		break;
	case UDP_PROBE_OTHER:
		fuzz_check(tells && probe->error == (int)tells->error.ee_errno);
		fuzz_check(probe->mtu == 0 && probe->error != EMSGSIZE);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	struct udp_probe probe = {.fd = 0};
	uint8_t kind = fuzz_byte(&input);

	probe.host = read_address(&input, kind & 4 ? 1 : 2, NULL);
	address_set_port(&probe.host, UDP_PROBE_PORT);
	answered = kind & 8;
	read_queue(&input, &probe.host);
	fuzz_check(udp_probe_read(&probe) == probe.result);
	fuzz_check(reported == queued);
	check_answer(&probe, telling(&probe.host));
	return 0;
}
