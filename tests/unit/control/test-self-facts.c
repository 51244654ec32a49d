/* The facts about this end of a control connection: the MTU of the path in bytes. */
#include "control/control.h"
#include "tests/unit/unit.h"

static void an_mtu_is_in_bytes(void **state)
{
	(void)state;
	assert_int_equal(control_mtu_bytes(IBV_MTU_256), 256);
	assert_int_equal(control_mtu_bytes(IBV_MTU_512), 512);
	assert_int_equal(control_mtu_bytes(IBV_MTU_1024), 1024);
	assert_int_equal(control_mtu_bytes(IBV_MTU_2048), 2048);
	assert_int_equal(control_mtu_bytes(IBV_MTU_4096), 4096);
}

static void an_unknown_mtu_is_0(void **state)
{
	(void)state;
	assert_int_equal(control_mtu_bytes((enum ibv_mtu)0), 0);
	assert_int_equal(control_mtu_bytes((enum ibv_mtu)(IBV_MTU_4096 + 1)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_mtu_is_in_bytes),
		cmocka_unit_test(an_unknown_mtu_is_0),
	};

	return cmocka_run_group_tests_name("self-facts", tests, NULL, NULL);
}
