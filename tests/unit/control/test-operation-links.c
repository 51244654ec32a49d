/* Connections of operations over iWARP: numbers, deadlines. test-operations.c tries faults. */
#include "tests/unit/control/operations-device.h"

static void opens(struct operation_end *end, bool passive)
{
	assert_int_equal(operation_end_open(end, operations_device_control(passive), passive), 0);
	assert_true(operation_end_links(end));
}

static void each_queue_pair_has_a_number_of_its_own(void **state)
{
	struct operation_end end;

	(void)state;
	operations_device_start(personality_over(IBV_TRANSPORT_IWARP));
	opens(&end, true);
	assert_int_equal(operation_links_listen(&end.links), 0);
	assert_true(end.links.port > 0);
	for (size_t i = 0; i < OPERATION_QUEUES; i++) {
		assert_true(end.links.numbers[i] <= 0xffffff);
		for (size_t other = 0; other < i; other++)
			assert_int_not_equal(end.links.numbers[i], end.links.numbers[other]);
	}
	operation_end_close(&end);
	assert_int_equal(operations_device.resources, 0);
}

/* The server waits no longer than its deadline, nor for a control connection that has ended. */
static void waits_for_requests_until_the_deadline(void **state)
{
	struct operation_end end;

	(void)state;
	operations_device_start(personality_over(IBV_TRANSPORT_IWARP));
	opens(&end, true);
	assert_int_equal(operation_links_listen(&end.links), 0);
	assert_int_equal(operation_links_accept(&end.links, 1, deadline_in(500)), 0);
	assert_in_range(operations_device.nanoseconds, 500000000, 600000000);
	operations_device.gone = true;
	assert_int_equal(operation_links_accept(&end.links, 1, deadline_in(500)), 0);
	assert_in_range(operations_device.nanoseconds, 500000000, 600000000);
	operation_end_close(&end);
	assert_int_equal(operations_device.resources, 0);
}

/* Only the requests for queue pairs that the client wants are accepted, each once. */
static void accepts_each_request_once(void **state)
{
	struct operation_end server, client;
	uint32_t number;

	(void)state;
	operations_device_start(personality_over(IBV_TRANSPORT_IWARP));
	opens(&server, true);
	opens(&client, false);
	assert_int_equal(operation_links_listen(&server.links), 0);
	number = server.links.numbers[OPERATION_QUEUE_WINDOW];
	assert_int_equal(operation_links_request(&client.links, OPERATION_QUEUE_WINDOW,
				 server.links.port, number, deadline_in(500)),
		0);
	assert_int_equal(operation_links_request(&client.links, OPERATION_QUEUE_CONNECTED,
				 server.links.port, number ^ 1, deadline_in(500)),
		0);
	assert_int_equal(operation_links_accept(&server.links,
				 1 << OPERATION_QUEUE_CONNECTED | 1 << OPERATION_QUEUE_WINDOW,
				 deadline_in(500)),
		1 << OPERATION_QUEUE_WINDOW);
	assert_int_equal(operations_device.rejected, 1);
	assert_int_equal(operation_links_establish(&client.links, deadline_in(500)),
		1 << OPERATION_QUEUE_WINDOW);
	assert_non_null(server.queues[OPERATION_QUEUE_WINDOW].qp);
	operation_end_close(&client);
	operation_end_close(&server);
	assert_int_equal(operations_device.resources, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_queue_pair_has_a_number_of_its_own),
		cmocka_unit_test(waits_for_requests_until_the_deadline),
		cmocka_unit_test(accepts_each_request_once),
	};

	return cmocka_run_group_tests_name("operation-links", tests, NULL, NULL);
}
