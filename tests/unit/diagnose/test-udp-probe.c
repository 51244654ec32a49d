/*
 * The conclusions drawn from replies to a UDP probe: synthetic errors, and real errors on the
 * loopback interface.
 */
#include <time.h>

#include <errno.h>
#include <linux/errqueue.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "diagnose/udp-probe.h"
#include "tests/unit/common/network-fixture.h"
#include "tests/unit/unit.h"

#define MINUTE 60000

/*
 * Skips the test if errors that datagrams cause cannot be read, as with qemu-user, where recvmsg(2)
 * returns none of their control data: ip(7), IP_RECVERR.
 */
static void needs_error_queue(void)
{
	struct sockaddr_storage closed = net_address("127.0.0.1");
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;
	char control[512];
	struct msghdr message = {.msg_control = control, .msg_controllen = sizeof(control)};
	struct pollfd ready = {.fd = fd};
	bool works;

	address_set_port(&closed, 1);
	assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&closed, sizeof(struct sockaddr_in)), 0);
	assert_int_equal(send(fd, "", 1, 0), 1);
	assert_int_equal(poll(&ready, 1, 10000), 1);
	works = recvmsg(fd, &message, MSG_ERRQUEUE) >= 0 && (message.msg_flags & MSG_ERRQUEUE) &&
		CMSG_FIRSTHDR(&message) != NULL;
	close(fd);
	if (!works) {
		print_message("skipped: the error queue of sockets cannot be read here\n");
		skip();
	}
}

static void judges_replies(void **state)
{
	static const struct {
		const char *name;
		uint32_t error;
		uint8_t origin, type, code;
		const char *from;
		const char *host;
		enum udp_probe_result result;
	} cases[] = {
		{"port, of the host", ECONNREFUSED, 2, 3, 3, FAR, FAR, UDP_PROBE_ARRIVED},
		{"port, of a firewall", ECONNREFUSED, 2, 3, 3, "10.1.1.1", FAR, UDP_PROBE_OTHER},
		{"port, IPv6", ECONNREFUSED, 3, 1, 4, "fd09::2", "fd09::2", UDP_PROBE_ARRIVED},
		{"port, IPv6, another", ECONNREFUSED, 3, 1, 4, "fd09::3", "fd09::2",
			UDP_PROBE_OTHER},
		{"host unreachable", EHOSTUNREACH, 2, 3, 1, FAR, FAR, UDP_PROBE_OTHER},
		{"prohibited", EHOSTUNREACH, 2, 3, 13, FAR, FAR, UDP_PROBE_OTHER},
		{"fragmentation needed", EMSGSIZE, 2, 3, 4, "10.1.1.1", FAR, UDP_PROBE_TOO_BIG},
		{"packet too big", EMSGSIZE, 3, 2, 0, "fd01::1", "fd09::2", UDP_PROBE_TOO_BIG},
		{"own interface", EMSGSIZE, 1, 0, 0, FAR, FAR, UDP_PROBE_TOO_BIG},
		{"local", ECONNREFUSED, 1, 3, 3, FAR, FAR, UDP_PROBE_OTHER},
		{"of the other protocol", ECONNREFUSED, 3, 3, 3, FAR, FAR, UDP_PROBE_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct sockaddr_storage from = net_address(cases[i].from);
		struct sockaddr_storage host = net_address(cases[i].host);
		struct sock_extended_err error = {
			.ee_errno = cases[i].error,
			.ee_origin = cases[i].origin,
			.ee_type = cases[i].type,
			.ee_code = cases[i].code,
		};

		address_set_port(&host, UDP_PROBE_PORT);
		check_case(cases[i].name, udp_probe_classify(&error, (struct sockaddr *)&from,
						  (struct sockaddr *)&host) == cases[i].result);
	}
}

static void accepts_the_smallest_datagrams(void **state)
{
	(void)state;
	assert_int_equal(udp_probe_size_min(AF_INET), 28);
	assert_int_equal(udp_probe_size_min(AF_INET6), 48);
}

/* Opens a probe, sends a datagram of that size and returns the result. */
static enum udp_probe_result send_and_wait(
	struct udp_probe *probe, const char *host, unsigned int size)
{
	struct sockaddr_storage address = net_address(host);
	struct pollfd waiting = {.events = POLLIN};

	assert_int_equal(udp_probe_open(probe, (struct sockaddr *)&address, NULL), 0);
	assert_int_equal(udp_probe_read(probe), UDP_PROBE_NO_REPLY);
	assert_int_equal(udp_probe_send(probe, size), 0);
	waiting.fd = probe->fd;
	assert_int_equal(poll(&waiting, 1, MINUTE), 1);
	return udp_probe_read(probe);
}

static void arrives_at_a_closed_port(void **state)
{
	static const unsigned int sizes[] = {0, 28, 29, 1500, 65535};
	struct udp_probe probe;

	(void)state;
	needs_error_queue();
	for (size_t i = 0; i < COUNT(sizes); i++) {
		assert_int_equal(send_and_wait(&probe, "127.0.0.1", sizes[i]), UDP_PROBE_ARRIVED);
		assert_true(udp_probe_path_mtu(&probe) > 1500);
		udp_probe_close(&probe);
		udp_probe_close(&probe);
	}
}

static void arrives_at_an_open_port(void **state)
{
	struct sockaddr_storage address = net_address("127.0.0.2"), from;
	socklen_t length = sizeof(from);
	struct udp_probe probe;
	int listener;
	char byte;

	(void)state;
	needs_error_queue();
	net_make();
	listener = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	address_set_port(&address, UDP_PROBE_PORT);
	assert_int_equal(
		bind(listener, (struct sockaddr *)&address, address_length((void *)&address)), 0);
	assert_int_equal(udp_probe_open(&probe, (struct sockaddr *)&address, NULL), 0);
	assert_int_equal(udp_probe_send(&probe, 100), 0);
	assert_int_equal(
		recvfrom(listener, &byte, 1, MSG_TRUNC, (struct sockaddr *)&from, &length), 72);
	assert_int_equal(udp_probe_read(&probe), UDP_PROBE_NO_REPLY);
	assert_int_equal(sendto(listener, "", 0, 0, (struct sockaddr *)&from, length), 0);
	assert_int_equal(udp_probe_read(&probe), UDP_PROBE_ARRIVED);
	udp_probe_close(&probe);
	close(listener);
}

static void is_refused_by_its_own_interface(void **state)
{
	struct sockaddr_storage address = net_address(FAR);
	struct udp_probe probe;

	(void)state;
	needs_error_queue();
	net_make();
	assert_int_equal(udp_probe_open(&probe, (struct sockaddr *)&address, NULL), 0);
	assert_int_equal(udp_probe_send(&probe, 1501), -EMSGSIZE);
	assert_int_equal(udp_probe_read(&probe), UDP_PROBE_TOO_BIG);
	assert_int_equal(probe.mtu, 1500);
	assert_int_equal(udp_probe_path_mtu(&probe), 1500);
	udp_probe_close(&probe);
	assert_int_equal(send_and_wait(&probe, "fd09::2", 1500), UDP_PROBE_ARRIVED);
	assert_int_equal(udp_probe_send(&probe, 1501), -EMSGSIZE);
	udp_probe_close(&probe);
	address = net_address("10.77.0.1");
	assert_int_equal(udp_probe_open(&probe, (struct sockaddr *)&address, NULL), -ENETUNREACH);
	udp_probe_close(&probe);
}

static void reports_other_errors(void **state)
{
	struct udp_probe probe;

	(void)state;
	needs_error_queue();
	net_make();
	/* The local host itself reports that the neighbour is absent. */
	assert_int_equal(send_and_wait(&probe, "10.9.0.7", 100), UDP_PROBE_OTHER);
	assert_int_equal(probe.error, EHOSTUNREACH);
	udp_probe_close(&probe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(judges_replies),
		cmocka_unit_test(accepts_the_smallest_datagrams),
		cmocka_unit_test(arrives_at_a_closed_port),
		cmocka_unit_test(arrives_at_an_open_port),
		cmocka_unit_test(is_refused_by_its_own_interface),
		cmocka_unit_test(reports_other_errors),
	};

	return cmocka_run_group_tests_name("udp-probe", tests, NULL, NULL);
}
