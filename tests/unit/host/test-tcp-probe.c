/* Questions to TCP, on the loopback interface. */
#include <arpa/inet.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host/tcp-probe.h"
#include "tests/unit/unit.h"

static const struct sockaddr_in any_port = {
	.sin_family = AF_INET, .sin_addr.s_addr = 0x0100007f /* 127.0.0.1 */};

/* Listens at any port, which is stored in *address. */
static int listening(struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(*address);

	*address = any_port;
	assert_int_equal(bind(fd, (struct sockaddr *)address, size), 0);
	assert_int_equal(listen(fd, 0), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)address, &size), 0);
	return fd;
}

static int ask(const struct sockaddr_in *address, int milliseconds, int stop_fd)
{
	return tcp_probe((const struct sockaddr *)&any_port, (const struct sockaddr *)address,
		deadline_in(milliseconds), stop_fd);
}

static void a_listener_answers_and_a_closed_port_refuses(void **state)
{
	struct sockaddr_in address;
	int fd = listening(&address);

	(void)state;
	assert_int_equal(ask(&address, 60000, -1), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(ask(&address, 60000, -1), -ECONNREFUSED);
}

/* A listener whose queue is full drops packets, as a firewall does. */
static void silence_ends_at_the_deadline_or_by_a_signal(void **state)
{
	struct sockaddr_in address;
	int fd = listening(&address), held[8], stop = eventfd(1, EFD_CLOEXEC);
	deadline_t start;

	(void)state;
	for (size_t i = 0; i < COUNT(held); i++) {
		held[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)!connect(held[i], (struct sockaddr *)&address, sizeof(address));
	}
	start = deadline_now();
	assert_int_equal(ask(&address, 100, -1), -ETIMEDOUT);
	assert_true(deadline_now() - start >= 100);
	assert_int_equal(ask(&address, 600000, stop), -EINTR);
	for (size_t i = 0; i < COUNT(held); i++)
		close(held[i]);
	close(stop);
	close(fd);
}

static void an_address_that_this_host_does_not_have(void **state)
{
	const struct sockaddr_in foreign = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc0000201) /* 192.0.2.1 */};

	(void)state;
	assert_int_equal(tcp_probe((const struct sockaddr *)&foreign,
				 (const struct sockaddr *)&any_port, deadline_in(60000), -1),
		-EADDRNOTAVAIL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listener_answers_and_a_closed_port_refuses),
		cmocka_unit_test(silence_ends_at_the_deadline_or_by_a_signal),
		cmocka_unit_test(an_address_that_this_host_does_not_have),
	};

	return cmocka_run_group_tests_name("tcp-probe", tests, NULL, NULL);
}
