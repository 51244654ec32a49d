/*
 * Which regions of a control connection may be written in relaxed order: only the data of bandwidth
 * tests, in which neither end polls memory.
 */
#include "control/client.h"
#include "tests/unit/common/personality.h"
#include "tests/unit/measure/perf-test-device.h"

/* Larger than the first regions. */
#define LARGE ((size_t)2 * COMMAND_REGION_MIN)

static unsigned int ordering_of(const struct region *region)
{
	return ((const struct fixture_mr *)region->mr)->access & IBV_ACCESS_RELAXED_ORDERING;
}

static void assert_ordering(const struct control *control, bool relaxed)
{
	unsigned int wanted = relaxed ? IBV_ACCESS_RELAXED_ORDERING : 0;

	assert_int_equal(ordering_of(&control->offered), wanted);
	assert_int_equal(ordering_of(&control->private), wanted);
	assert_int_equal(ordering_of(&control->messages), 0);
}

static void check(const struct control_request *request, bool relaxed)
{
	struct cm_channel *events = perf_test_manager_channel();
	struct rdma_cm_id *id = perf_test_manager_id(events);
	struct control control = {.request = request};
	struct rdma_conn_param parameters;
	struct failure failure = {0};
	struct hello hello;

	perf_test_device_start(personality_at(0));
	assert_int_equal(control_client_prepare(&control, events, id, &parameters, &failure), 0);
	assert_int_equal(
		hello_decode(&hello, parameters.private_data, parameters.private_data_len), 0);
	assert_int_equal(hello.flags & HELLO_BANDWIDTH, request->bandwidth ? HELLO_BANDWIDTH : 0);
	assert_ordering(&control, relaxed);
	assert_int_equal(control_enlarge(&control, LARGE), 0);
	assert_ordering(&control, relaxed);
	control_close(&control);
	assert_int_equal(perf_test_device.resources, 0);
}

static void only_data_of_bandwidth_tests_is_written_in_relaxed_order(void **state)
{
	struct control_request request = {
		.kind = HELLO_MEASUREMENT, .queue_pairs = 1, .depth = 16, .stop_fd = -1};

	(void)state;
	request.ordering = ORDERING_RELAXED;
	check(&request, false);
	request.bandwidth = true;
	check(&request, true);
	request.ordering = ORDERING_STRICT;
	check(&request, false);
	/* The device is soft-RoCE. */
	request.ordering = ORDERING_AUTO;
	check(&request, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_data_of_bandwidth_tests_is_written_in_relaxed_order),
	};

	return cmocka_run_group_tests_name("perf-test-ordering", tests, NULL, NULL);
}
