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
			reach_choose(cases[i].addresses, cases[i].device, chosen));
		assert_string_equal(chosen, cases[i].chosen);
	}
}

static void there_may_be_none(void **state)
{
	char chosen[OPTIONS_HOST_SIZE];

	(void)state;
	assert_false(reach_choose("", NULL, chosen));
	assert_false(reach_choose("\n", NULL, chosen));
	assert_false(reach_choose("host.example 1.2.3.4.5 :::", NULL, chosen));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_address_is_the_last_resort),
		cmocka_unit_test(there_may_be_none),
	};

	return cmocka_run_group_tests_name("reach", tests, NULL, NULL);
}
