/* The resources of one end of the operations: rights of its memory, and what is left. */
#include "tests/unit/control/operations-device.h"

static const struct personality *at(size_t index)
{
	return personality_at(index);
}

static bool takes_control(const struct operation_end *end)
{
	(void)end;
	return false;
}

/* Only the server's memory can be accessed, and nothing else of its process. */
static void only_the_server_exposes_memory(void **state)
{
	static const int remote = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
	struct operation_end end;

	(void)state;
	operations_device_start(at(0));
	assert_int_equal(operation_end_open(&end, operations_device_control(false), false), 0);
	assert_int_equal(end.memory.access & remote, 0);
	assert_int_equal(end.receives.access & remote, 0);
	operation_end_close(&end);
	assert_int_equal(operation_end_open(&end, operations_device_control(true), true), 0);
	assert_int_equal(end.memory.access & remote, remote);
	assert_int_equal(end.receives.access & remote, 0);
	assert_int_equal(end.memory.size, OPERATIONS * OPERATION_PART);
	operation_end_close(&end);
	assert_int_equal(operations_device.resources, 0);
}

static void waits_until_the_deadline_only(void **state)
{
	struct operation_end end;

	(void)state;
	operations_device_start(at(0));
	assert_int_equal(operation_end_open(&end, operations_device_control(true), true), 0);
	assert_int_equal(operation_end_collect(&end, deadline_in(10), takes_control), 0);
	assert_in_range(operations_device.nanoseconds, 10000000, 11000000);
	operations_device.gone = true;
	assert_int_equal(operation_end_collect(&end, deadline_in(10), takes_control), -1);
	operation_end_close(&end);
}

static void data_differs_between_operations(void **state)
{
	uint8_t data[OPERATION_BYTES];

	(void)state;
	for (enum operation operation = 0; operation < OPERATIONS; operation++) {
		operation_fill(data, operation);
		for (enum operation other = 0; other < OPERATIONS; other++)
			assert_int_equal(operation_is_filled(data, other), other == operation);
	}
}

/* Closing twice, or what was never opened, has no effect. */
static void can_be_closed_at_any_time(void **state)
{
	struct operation_end end = {0};

	(void)state;
	operations_device_start(at(0));
	operation_end_close(&end);
	assert_int_equal(operation_end_open(&end, operations_device_control(true), true), 0);
	operation_end_close(&end);
	operation_end_close(&end);
	assert_int_equal(operations_device.resources, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_server_exposes_memory),
		cmocka_unit_test(waits_until_the_deadline_only),
		cmocka_unit_test(data_differs_between_operations),
		cmocka_unit_test(can_be_closed_at_any_time),
	};

	return cmocka_run_group_tests_name("operation-end", tests, NULL, NULL);
}
