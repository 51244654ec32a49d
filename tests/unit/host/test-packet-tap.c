/* RoCE v2 packets between two network namespaces, seen at the interface of the near one. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "host/packet-tap.h"
#include "tests/unit/common/network-fixture.h"
#include "tests/unit/unit.h"

/* Sends a base transport header for this queue pair from an address to another and the port. */
static void send_packet(const char *from, const char *to, uint16_t port, uint8_t queue_pair)
{
	const uint8_t header[12] = {0x64, 0x40, 0xff, 0xff, 0, 0, 0, queue_pair};
	struct sockaddr_storage source = net_address(from), host = net_address(to);
	int fd = socket(host.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	address_set_port(&host, port);
	assert_true(fd >= 0);
	assert_int_equal(
		bind(fd, (struct sockaddr *)&source, address_length((struct sockaddr *)&source)),
		0);
	assert_int_equal(sendto(fd, header, sizeof(header), 0, (struct sockaddr *)&host,
				 address_length((struct sockaddr *)&host)),
		sizeof(header));
	close(fd);
}

static struct packet_tap open_tap(const char *own, const char *peer)
{
	struct sockaddr_storage here = net_address(own), there = net_address(peer);
	struct packet_tap tap;

	assert_int_equal(
		packet_tap_open(&tap, (struct sockaddr *)&here, (struct sockaddr *)&there), 0);
	return tap;
}

/* Waits until so many packets were counted. */
static void await_packets(struct packet_tap *tap, unsigned int count)
{
	struct pollfd waiting = {.fd = tap->fd, .events = POLLIN};

	while (packet_tap_read(tap), tap->left + tap->arrived < count)
		assert_int_equal(poll(&waiting, 1, 60000), 1);
}

/* Only packets to the peer, the port and the queue pair count. */
static void counts_packets_to_the_peer(void **state)
{
	static const struct {
		const char *near, *far, *other;
	} hosts[] = {{NEAR, FAR, "10.9.0.3"}, {"fd09::1", "fd09::2", "fd09::3"}};

	(void)state;
	net_make();
	net_near("neighbour add 10.9.0.3 lladdr 02:00:00:00:00:09 nud permanent dev near0");
	net_near("neighbour add fd09::3 lladdr 02:00:00:00:00:09 nud permanent dev near0");
	for (size_t i = 0; i < COUNT(hosts); i++) {
		struct packet_tap tap = open_tap(hosts[i].near, hosts[i].far);

		send_packet(hosts[i].near, hosts[i].far, 4790, 1);
		send_packet(hosts[i].near, hosts[i].far, 4791, 17);
		send_packet(hosts[i].near, hosts[i].other, 4791, 1);
		send_packet(hosts[i].near, hosts[i].far, 4791, 1);
		await_packets(&tap, 1);
		assert_int_equal(tap.left, 1);
		assert_int_equal(tap.arrived, 0);
		assert_string_equal(tap.interface, "");
		packet_tap_close(&tap);
		packet_tap_read(&tap);
		assert_int_equal(tap.left, 1);
	}
}

/*
 * The loopback interface shows each packet twice: when it leaves, and when it arrives. The peer's
 * packets to another address of this host do not count.
 */
static void counts_packets_from_the_peer(void **state)
{
	struct packet_tap tap;

	(void)state;
	net_make();
	net_near("link set lo up");
	tap = open_tap("127.0.0.1", "127.0.0.2");
	send_packet("127.0.0.2", "127.0.0.3", 4791, 1);
	send_packet("127.0.0.2", "127.0.0.1", 4791, 17);
	send_packet("127.0.0.2", "127.0.0.1", 4791, 1);
	await_packets(&tap, 2);
	assert_int_equal(tap.left, 1);
	assert_int_equal(tap.arrived, 1);
	assert_string_equal(tap.interface, "lo");
	packet_tap_close(&tap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_packets_to_the_peer),
		cmocka_unit_test(counts_packets_from_the_peer),
	};

	return cmocka_run_group_tests_name("packet-tap", tests, NULL, NULL);
}
