/* Tests the facts about the local end of a control connection: the path MTU in bytes. */
#include "control/control.h"
#include "tests/unit/unit.h"

static void converts_the_mtu_to_bytes(void **state)
{
	(void)state;
	assert_int_equal(control_mtu_bytes(IBV_MTU_256), 256);
	assert_int_equal(control_mtu_bytes(IBV_MTU_512), 512);
	assert_int_equal(control_mtu_bytes(IBV_MTU_1024), 1024);
	assert_int_equal(control_mtu_bytes(IBV_MTU_2048), 2048);
	assert_int_equal(control_mtu_bytes(IBV_MTU_4096), 4096);
}

static void returns_0_for_an_unknown_mtu(void **state)
{
	(void)state;
	assert_int_equal(control_mtu_bytes((enum ibv_mtu)0), 0);
	assert_int_equal(control_mtu_bytes((enum ibv_mtu)(IBV_MTU_4096 + 1)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(converts_the_mtu_to_bytes),
		cmocka_unit_test(returns_0_for_an_unknown_mtu),
	};

	return cmocka_run_group_tests_name("self-facts", tests, NULL, NULL);
}
