/*
 * Tests the facts about the local end of a control connection: the path MTU in bytes, and the
 * events among the counters.
 */
#include <json-c/json.h>
#include <poll.h>

#include "control/control.h"
#include "tests/unit/unit.h"
#include "tests/unit/verbs/fake-verbs.h"
#include "verbs/device-events.h"

static void converts_the_mtu_to_bytes(void **state)
{
	(void)state;
	assert_int_equal(device_mtu_bytes(IBV_MTU_256), 256);
	assert_int_equal(device_mtu_bytes(IBV_MTU_512), 512);
	assert_int_equal(device_mtu_bytes(IBV_MTU_1024), 1024);
	assert_int_equal(device_mtu_bytes(IBV_MTU_2048), 2048);
	assert_int_equal(device_mtu_bytes(IBV_MTU_4096), 4096);
}

static void returns_0_for_an_unknown_mtu(void **state)
{
	(void)state;
	assert_int_equal(device_mtu_bytes((enum ibv_mtu)0), 0);
	assert_int_equal(device_mtu_bytes((enum ibv_mtu)(IBV_MTU_4096 + 1)), 0);
}

/* Returns this counter of the connection as a number in JSON, -1 if it is missing. */
static int64_t in_json(const struct control *control, const char *name)
{
	struct json_object *object, *all, *value;
	struct counters counters;
	int64_t result = -1;

	control_counters(control, &counters);
	object = counters_json(&counters);
	assert_non_null(object);
	assert_true(json_object_object_get_ex(object, "all", &all));
	if (json_object_object_get_ex(all, name, &value))
		result = json_object_get_int64(value);
	json_object_put(object);
	return result;
}

/* They are sent to the peer and compared like the other counters. */
static void events_of_the_device_are_counters(void **state)
{
	struct rdma_cm_id id = {.port_num = 1};
	struct control control = {.id = &id};

	(void)state;
	fake_start(IBV_TRANSPORT_IB);
	fake_open_events();
	id.verbs = fake_context();
	assert_int_equal(device_events_watch(id.verbs), 0);
	assert_int_equal(in_json(&control, "event_port_error"), 0);
	fake_raise(IBV_EVENT_PORT_ERR, 1);
	for (int tries = 0; in_json(&control, "event_port_error") < 1; tries++) {
		assert_true(tries < 5000);
		poll(NULL, 0, 1);
	}
	assert_int_equal(in_json(&control, "event_port_active"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(converts_the_mtu_to_bytes),
		cmocka_unit_test(returns_0_for_an_unknown_mtu),
		cmocka_unit_test(events_of_the_device_are_counters),
	};

	return cmocka_run_group_tests_name("self-facts", tests, NULL, NULL);
}
