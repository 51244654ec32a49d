/* The line in which a server tells where it listens. */
#include <string.h>

#include "protocol/ready-line.h"
#include "tests/unit/unit.h"

static void reads_port_and_addresses(void **state)
{
	static const struct {
		const char *line;
		uint16_t port;
		const char *addresses;
	} cases[] = {
		{"rdma-server listens: 7471 10.0.0.1 fd00::1\n", 7471, "10.0.0.1 fd00::1\n"},
		{"rdma-server listens: 65535\n", 65535, "\n"},
		{"rdma-server listens: 1", 1, ""},
		{"\033]0;title\007rdma-server listens: 7 ::1\r\n", 7, "::1\r\n"},
		{"rdma-server listens: 7\r\n", 7, "\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint16_t port = 0;
		const char *addresses = ready_line_read(cases[i].line, &port);

		assert_non_null(addresses);
		assert_string_equal(addresses, cases[i].addresses);
		assert_int_equal(port, cases[i].port);
	}
}

static void ignores_other_lines(void **state)
{
	static const char *const lines[] = {"", "\n", "Welcome to host\n",
		"rdma-server listens:", "rdma-server listens: \n",
		"rdma-server listens: 0 10.0.0.1", "rdma-server listens: 65536 10.0.0.1",
		"rdma-server listens: 123456 10.0.0.1", "rdma-server listens: 7471x 10.0.0.1",
		"rdma-server listens: -1", "rdma-server listens:7471 10.0.0.1"};
	uint16_t port;

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++)
		check_case(lines[i], !ready_line_read(lines[i], &port));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_port_and_addresses),
		cmocka_unit_test(ignores_other_lines),
	};

	return cmocka_run_group_tests_name("ready line", tests, NULL, NULL);
}
