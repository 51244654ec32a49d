/* The choice of a server's address. This test needs no RDMA device. */
#include <string.h>

#include "copy/reach.h"
#include "tests/unit/unit.h"

/* Without a device that reaches any, the first address is chosen. */
static void the_first_address_is_the_last_resort(void **state)
{
	static const struct {
		const char *addresses, *device, *chosen;
	} cases[] = {
		{"192.0.2.1 2001:db8::1\n", "no-such-device", "192.0.2.1"},
		{"2001:db8::1 192.0.2.1", "no-such-device", "2001:db8::1"},
		{"host.example 192.0.2.1", "no-such-device", "192.0.2.1"},
		{"-oProxyCommand=x;192.0.2.2 192.0.2.1\r\n", "no-such-device", "192.0.2.1"},
	};
	char chosen[OPTIONS_HOST_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		check_case(cases[i].addresses,
			reach_choose(cases[i].addresses, cases[i].device, chosen) == REACH_NOT);
		assert_string_equal(chosen, cases[i].chosen);
	}
}

static void there_may_be_none(void **state)
{
	char chosen[OPTIONS_HOST_SIZE];

	(void)state;
	assert_int_equal(reach_choose("", NULL, chosen), REACH_INVALID);
	assert_int_equal(reach_choose("\n", NULL, chosen), REACH_INVALID);
	assert_int_equal(reach_choose("host.example 1.2.3.4.5 :::", NULL, chosen), REACH_INVALID);
}

/* Only addresses get into a message. */
static void addresses_are_listed(void **state)
{
	char there[40], here[40];

	(void)state;
	reach_list("192.0.2.1 \033[2J x 2001:db8::1\r\n", "no-such-device", there, here,
		sizeof(there));
	assert_string_equal(there, "192.0.2.1, 2001:db8::1");
	assert_string_equal(here, "");
	reach_list("192.0.2.111 192.0.2.112 192.0.2.113 192.0.2.114", "no-such-device", there, here,
		sizeof(there));
	assert_int_equal(strlen(there), sizeof(there) - 1);
	reach_list("", "no-such-device", there, here, sizeof(there));
	assert_string_equal(there, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_address_is_the_last_resort),
		cmocka_unit_test(there_may_be_none),
		cmocka_unit_test(addresses_are_listed),
	};

	return cmocka_run_group_tests_name("reach", tests, NULL, NULL);
}
