/* Asynchronous events of the fake device. The state lasts as long as the process, so the tests
 * build on each other. */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "tests/unit/unit.h"
#include "tests/unit/verbs/fake-verbs.h"
#include "verbs/device-events.h"
#include "verbs/device.h"
#include "verbs/shared-receives.h"

#define OTHER_PORT 2
#define THIRD_PORT 3

/* Returns the counter of this name, 0 if there is none. */
static uint64_t counted(unsigned int port, const char *name)
{
	struct counters counters = {0};

	device_events_count("fake0", port, &counters);
	for (size_t i = 0; i < counters.count; i++)
		if (strcmp(counters.list[i].name, name) == 0)
			return counters.list[i].value;
	return 0;
}

static void watch(void)
{
	fake_start(IBV_TRANSPORT_IB);
	fake_open_events();
	assert_int_equal(device_events_watch(fake_context()), 0);
	assert_int_equal(device_events_watch(fake_context()), 0);
}

/* Waits until this counter of the port has this value. */
static void wait_count_of(unsigned int port, const char *name, uint64_t value)
{
	for (int tries = 0; counted(port, name) < value; tries++) {
		assert_true(tries < 5000);
		poll(NULL, 0, 1);
	}
	assert_int_equal(counted(port, name), value);
}

static void wait_count(const char *name, uint64_t value)
{
	wait_count_of(1, name, value);
}

static void wait_acknowledged(void)
{
	for (int tries = 0; fake_unacknowledged_events() > 0; tries++) {
		assert_true(tries < 5000);
		poll(NULL, 0, 1);
	}
}

/* Raises an event of the port and waits until it has been counted. */
static void raise_of(unsigned int port, enum ibv_event_type type, const char *name)
{
	uint64_t before = counted(port, name);

	fake_raise(type, port);
	wait_count_of(port, name, before + 1);
}

static void raise_port(enum ibv_event_type type, const char *name)
{
	raise_of(1, type, name);
}

/* The access violations so far. */
static uint64_t violations;

/* Raises an access violation of this queue pair and waits until it has been counted. */
static void raise_violation(uint32_t queue_pair)
{
	struct ibv_qp qp = {.context = fake_context(), .qp_num = queue_pair};

	fake_raise_for(IBV_EVENT_QP_ACCESS_ERR, &qp);
	wait_count("event_access_violation", ++violations);
}

static void events_are_read_acknowledged_and_counted(void **state)
{
	(void)state;
	watch();
	assert_int_equal(counted(1, "event_port_error"), 0);
	fake_raise(IBV_EVENT_COMM_EST, 0); /* normal operation: not counted */
	raise_port(IBV_EVENT_PORT_ERR, "event_port_error");
	raise_violation(77);
	assert_int_equal(counted(1, "event_port_error"), 1);
	assert_int_equal(counted(OTHER_PORT, "event_port_error"), 0);
	fake_raise(IBV_EVENT_DEVICE_FATAL, 0);
	wait_count("event_device_fatal", 1);
	assert_int_equal(counted(OTHER_PORT, "event_device_fatal"), 1);
	wait_acknowledged();
}

/* The port of a queue is unknown. */
static void events_of_queues_are_counted_once(void **state)
{
	struct counters counters = {0};

	(void)state;
	watch();
	raise_violation(77);
	fake_raise(IBV_EVENT_CQ_ERR, 0);
	wait_count("event_completion_queue_error", 1);
	device_events_count("fake0", OTHER_PORT, &counters);
	for (size_t i = 0; i < counters.count; i++) {
		assert_string_not_equal(counters.list[i].name, "event_access_violation");
		assert_string_not_equal(counters.list[i].name, "event_completion_queue_error");
	}
}

static void events_are_decoded(void **state)
{
	struct ibv_qp qp = {.qp_num = 77};
	struct ibv_async_event read = {.event_type = IBV_EVENT_PORT_ERR, .element.port_num = 1};
	struct device_event event;

	(void)state;
	watch();
	assert_true(device_event_decode(fake_context(), &read, &event));
	assert_int_equal(event.type, IBV_EVENT_PORT_ERR);
	assert_int_equal(event.port, 1);
	assert_int_equal(event.queue_pair, 0);
	assert_string_equal(event.device, "fake0");
	assert_string_equal(device_event_name(event.type), "port error");
	read = (struct ibv_async_event){.event_type = IBV_EVENT_QP_ACCESS_ERR, .element.qp = &qp};
	assert_true(device_event_decode(fake_context(), &read, &event));
	assert_int_equal(event.port, 0);
	assert_int_equal(event.queue_pair, 77);
	read.event_type = IBV_EVENT_COMM_EST;
	assert_false(device_event_decode(fake_context(), &read, &event));
}

static void the_latest_event_is_described(void **state)
{
	struct ibv_device device = {.name = "fake1"};
	struct ibv_context another = {.device = &device};
	char text[64];

	(void)state;
	watch();
	raise_of(THIRD_PORT, IBV_EVENT_GID_CHANGE, "event_gid_change");
	raise_of(THIRD_PORT, IBV_EVENT_PORT_ACTIVE, "event_port_active"); /* explains nothing */
	assert_true(device_events_describe(
		fake_context(), THIRD_PORT, deadline_now() - 1000, text, sizeof(text)));
	assert_string_equal(text, "address change 0.0 s ago");
	assert_false(device_events_describe(
		fake_context(), THIRD_PORT, deadline_now() + 1, text, sizeof(text)));
	assert_string_equal(text, "");
	assert_false(device_events_describe(
		&another, THIRD_PORT, deadline_now() - 1000, text, sizeof(text)));
}

/* `ip link set down` removes addresses after the port error. */
static void a_port_error_is_described_rather_than_later_address_changes(void **state)
{
	char text[64];

	(void)state;
	watch();
	raise_of(THIRD_PORT, IBV_EVENT_PORT_ERR, "event_port_error");
	raise_of(THIRD_PORT, IBV_EVENT_GID_CHANGE, "event_gid_change");
	assert_true(device_events_describe(
		fake_context(), THIRD_PORT, deadline_now() - 1000, text, sizeof(text)));
	assert_string_equal(text, "port error 0.0 s ago");
}

/* A hostile peer can cause any number of events of its own queue pair. */
static void a_queue_pair_does_not_displace_the_events_of_a_port(void **state)
{
	char text[64];

	(void)state;
	watch();
	raise_port(IBV_EVENT_PORT_ERR, "event_port_error");
	for (unsigned int i = 0; i < DEVICE_EVENTS_KEPT + 1; i++)
		raise_violation(77);
	assert_true(device_events_describe(
		fake_context(), 1, deadline_now() - 5000, text, sizeof(text)));
	assert_memory_equal(text, "port error ", strlen("port error "));
}

/* A connection that fails in this way. */
static struct failure blamed(enum failure_kind kind, uint32_t queue_pair)
{
	struct ibv_qp qp = {.context = fake_context(), .qp_num = queue_pair};
	struct rdma_cm_id id = {.verbs = fake_context(), .port_num = 1, .qp = &qp};
	struct failure failure = {0};

	failure_set(&failure, kind, PHASE_EXCHANGE, 0, "call", "waited");
	device_blame(&id, &failure);
	return failure;
}

/* The evidence of a failure that a port may have caused names its event. */
static void an_event_explains_a_failure(void **state)
{
	struct failure failure;

	(void)state;
	watch();
	raise_port(IBV_EVENT_PORT_ERR, "event_port_error");
	failure = blamed(FAILURE_DEADLINE, 5);
	assert_string_equal(failure.evidence, "waited; fake0 port 1: port error 0.0 s ago");
	failure = blamed(FAILURE_GONE, 5);
	assert_string_equal(failure.evidence, "waited");
	fake_context()->device->transport_type = IBV_TRANSPORT_IWARP;
	failure = blamed(FAILURE_GONE, 5);
	assert_string_equal(failure.evidence, "waited; fake0 port 1: port error 0.0 s ago");
}

/* The connection may not have a device yet. */
static void a_failure_before_the_exchange_is_not_explained(void **state)
{
	struct rdma_cm_id id = {0};
	struct failure failure = {0};

	(void)state;
	failure_set(&failure, FAILURE_GONE, PHASE_CONNECT, 0, "call", "waited");
	device_blame(&id, &failure);
	assert_string_equal(failure.evidence, "waited");
}

/* One client's failure must not be explained by what another client did. */
static void an_event_of_a_queue_pair_explains_only_its_failure(void **state)
{
	static const char own[] = "waited; fake0 queue pair 78: access violation 0.0 s ago";
	struct ibv_qp next = {.context = fake_context(), .qp_num = 78};
	struct failure failure;

	(void)state;
	watch();
	raise_violation(78);
	failure = blamed(FAILURE_GONE, 78);
	assert_string_equal(failure.evidence, own);
	failure = blamed(FAILURE_DEADLINE, 78);
	assert_memory_equal(failure.evidence, own, strlen(own));
	failure = blamed(FAILURE_DEADLINE, 79);
	assert_null(strstr(failure.evidence, "access violation"));
	/* The next queue pair of this number is another client's. */
	device_events_forget(&next);
	failure = blamed(FAILURE_GONE, 78);
	assert_string_equal(failure.evidence, "waited");
}

/*
 * The program cannot destroy a queue whose events are unacknowledged. Events of shared receive
 * queues are only counted, because several queue pairs use one.
 */
static void failures_of_queues_are_counted_and_acknowledged(void **state)
{
	struct ibv_qp qp = {.context = fake_context(), .qp_num = 90};
	struct shared_receives shared = {0};
	struct ibv_srq srq = {.srq_context = &shared};
	struct failure failure;

	(void)state;
	watch();
	fake_raise_for(IBV_EVENT_QP_FATAL, &qp);
	wait_count("event_queue_pair_fatal", 1);
	fake_raise(IBV_EVENT_SRQ_ERR, 0);
	wait_count("event_shared_receive_queue_error", 1);
	fake_raise_limit(&srq);
	wait_count("event_shared_receive_queue_limit", 1);
	wait_acknowledged();
	assert_true(shared.reached);
	failure = blamed(FAILURE_GONE, 90);
	assert_string_equal(
		failure.evidence, "waited; fake0 queue pair 90: queue pair failure 0.0 s ago");
	failure = blamed(FAILURE_GONE, 91);
	assert_string_equal(failure.evidence, "waited");
}

/* The processor time of this process so far, in milliseconds. */
static int64_t processor_time(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

/*
 * Otherwise the thread would run without a pause. During the pause, a failure is still explained by
 * an event that the thread has not read.
 */
static void a_failing_poll_is_not_repeated_at_once(void **state)
{
	static const char own[] = "waited; fake0 queue pair 80: access violation 0.0 s ago";
	struct ibv_qp qp = {.context = fake_context(), .qp_num = 80};
	struct rlimit before, none;
	struct failure failure;
	int64_t used;

	(void)state;
	watch();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	raise_port(IBV_EVENT_PORT_ERR, "event_port_error"); /* ends the current poll(2) */
	used = processor_time();
	poll(NULL, 0, 200);
	used = processor_time() - used;
	fake_raise_for(IBV_EVENT_QP_ACCESS_ERR, &qp);
	failure = blamed(FAILURE_GONE, 80);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(used < 100);
	assert_string_equal(failure.evidence, own);
	raise_port(IBV_EVENT_PORT_ERR, "event_port_error");
}

/* Waits until the thread has read all events that it reads at once. */
static void wait_until_read(void)
{
	char text[64];

	device_events_describe(fake_context(), 1, deadline_now(), text, sizeof(text));
}

/*
 * The kernel keeps a removed device open, and librdmacm may close it at any time. The next device
 * may have the same address.
 */
static void a_removed_device_is_no_longer_read(void **state)
{
	uint64_t errors, removals;
	char text[64];

	(void)state;
	watch();
	raise_port(IBV_EVENT_PORT_ERR, "event_port_error");
	errors = counted(1, "event_port_error");
	removals = counted(1, "event_device_fatal");
	fake_raise(IBV_EVENT_DEVICE_FATAL, 0);
	wait_count("event_device_fatal", removals + 1);
	wait_until_read();
	assert_true(device_events_describe(
		fake_context(), 1, deadline_now() - 1000, text, sizeof(text)));
	assert_memory_equal(
		text, "device failure or removal ", strlen("device failure or removal "));
	assert_int_equal(fcntl(fake_context()->async_fd, F_SETFL, 0), 0);
	fake_raise(IBV_EVENT_PORT_ERR, 1);
	wait_until_read();
	poll(NULL, 0, 20);
	assert_int_equal(counted(1, "event_port_error"), errors);
	watch();
	wait_count("event_port_error", errors + 1);
	wait_until_read();
}

static void a_device_that_may_be_closed_is_no_longer_read(void **state)
{
	uint64_t errors;

	(void)state;
	watch();
	errors = counted(1, "event_port_error");
	device_events_unwatch(fake_context());
	device_events_unwatch(fake_context());
	fake_raise(IBV_EVENT_PORT_ERR, 1);
	wait_until_read();
	poll(NULL, 0, 20);
	assert_int_equal(counted(1, "event_port_error"), errors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* Before any test raises a port error or a device failure. */
		cmocka_unit_test(the_latest_event_is_described),
		cmocka_unit_test(events_are_read_acknowledged_and_counted),
		cmocka_unit_test(events_of_queues_are_counted_once),
		cmocka_unit_test(events_are_decoded),
		cmocka_unit_test(a_port_error_is_described_rather_than_later_address_changes),
		cmocka_unit_test(a_queue_pair_does_not_displace_the_events_of_a_port),
		cmocka_unit_test(an_event_explains_a_failure),
		cmocka_unit_test(a_failure_before_the_exchange_is_not_explained),
		cmocka_unit_test(an_event_of_a_queue_pair_explains_only_its_failure),
		cmocka_unit_test(failures_of_queues_are_counted_and_acknowledged),
		cmocka_unit_test(a_failing_poll_is_not_repeated_at_once),
		cmocka_unit_test(a_removed_device_is_no_longer_read),
		cmocka_unit_test(a_device_that_may_be_closed_is_no_longer_read),
	};

	return cmocka_run_group_tests_name("device-events", tests, NULL, NULL);
}
