/* Asynchronous events of the fake device. The state lasts as long as the process, so the tests
 * build on each other. */
#include <poll.h>
#include <string.h>

#include "tests/unit/unit.h"
#include "tests/unit/verbs/fake-verbs.h"
#include "verbs/device-events.h"
#include "verbs/device.h"

#define OTHER_PORT 2

/* The position after the events of earlier tests. */
static uint64_t position;

/* Waits for the next event. */
static struct device_event next_event(void)
{
	struct device_event event;

	for (int tries = 0; !device_events_next(&position, &event); tries++) {
		assert_true(tries < 5000);
		poll(NULL, 0, 1);
	}
	return event;
}

/* Returns the counter of this name, or fails. */
static uint64_t counted(unsigned int port, const char *name)
{
	struct counters counters = {0};

	device_events_count("fake0", port, &counters);
	for (size_t i = 0; i < counters.count; i++)
		if (strcmp(counters.list[i].name, name) == 0)
			return counters.list[i].value;
	fail_msg("no counter %s", name);
	return 0;
}

static void watch(void)
{
	fake_start(IBV_TRANSPORT_IB);
	fake_open_events();
	assert_int_equal(device_events_watch(fake_context()), 0);
	assert_int_equal(device_events_watch(fake_context()), 0);
}

static void events_are_read_acknowledged_and_counted(void **state)
{
	struct device_event event;

	(void)state;
	watch();
	assert_false(device_events_next(&position, &event));
	assert_int_equal(counted(1, "event_port_error"), 0);
	fake_raise(IBV_EVENT_COMM_EST, 0); /* normal operation: not kept */
	fake_raise(IBV_EVENT_PORT_ERR, 1);
	event = next_event();
	assert_int_equal(event.type, IBV_EVENT_PORT_ERR);
	assert_int_equal(event.port, 1);
	assert_string_equal(event.device, "fake0");
	assert_string_equal(device_event_name(event.type), "port error");
	fake_raise(IBV_EVENT_QP_ACCESS_ERR, 77); /* the number is not a port */
	event = next_event();
	assert_int_equal(event.port, 0);
	assert_int_equal(counted(1, "event_port_error"), 1);
	assert_int_equal(counted(1, "event_access_violation"), 1);
	assert_int_equal(counted(OTHER_PORT, "event_port_error"), 0);
	assert_int_equal(fake_unacknowledged_events(), 0);
}

static void the_latest_event_is_described(void **state)
{
	char text[64];

	(void)state;
	watch();
	fake_raise(IBV_EVENT_GID_CHANGE, 1);
	next_event();
	fake_raise(IBV_EVENT_PORT_ACTIVE, 1); /* explains nothing */
	next_event();
	assert_true(device_events_describe("fake0", 1, deadline_now() - 1000, text, sizeof(text)));
	assert_string_equal(text, "address change 0.0 s ago");
	assert_false(device_events_describe("fake0", 1, deadline_now() + 1, text, sizeof(text)));
	assert_string_equal(text, "");
	assert_false(device_events_describe("fake1", 1, deadline_now() - 1000, text, sizeof(text)));
}

/* A reader that falls behind continues with the oldest event that is kept. */
static void old_events_are_skipped(void **state)
{
	uint64_t reader, before;
	struct device_event event;
	unsigned int count = 0;

	(void)state;
	watch();
	reader = position;
	before = counted(1, "event_port_error");
	for (unsigned int i = 0; i < DEVICE_EVENTS_KEPT + 10; i++) {
		fake_raise(IBV_EVENT_PORT_ERR, 1);
		next_event();
	}
	while (device_events_next(&reader, &event))
		count++;
	assert_int_equal(count, DEVICE_EVENTS_KEPT);
	assert_int_equal(counted(1, "event_port_error"), before + DEVICE_EVENTS_KEPT + 10);
}

/* The evidence of a failure that a port may have caused names its latest event. */
static void an_event_explains_a_failure(void **state)
{
	struct failure failure = {0};

	(void)state;
	watch();
	fake_raise(IBV_EVENT_GID_CHANGE, 1);
	next_event();
	failure_set(&failure, FAILURE_DEADLINE, PHASE_EXCHANGE, ETIMEDOUT, "--timeout", "waited");
	device_blame_port(fake_context(), 1, &failure);
	assert_non_null(strstr(failure.evidence, "waited; fake0 port 1: address change 0.0 s ago"));
}

/* Otherwise the thread would run without a pause. */
static void a_removed_device_is_no_longer_read(void **state)
{
	struct device_event event;

	(void)state;
	watch();
	fake_remove();
	fake_raise(IBV_EVENT_PORT_ERR, 1);
	poll(NULL, 0, 20);
	assert_false(device_events_next(&position, &event));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_read_acknowledged_and_counted),
		cmocka_unit_test(the_latest_event_is_described),
		cmocka_unit_test(old_events_are_skipped),
		cmocka_unit_test(an_event_explains_a_failure),
		cmocka_unit_test(a_removed_device_is_no_longer_read),
	};

	return cmocka_run_group_tests_name("device-events", tests, NULL, NULL);
}
