/*
 * The service on a fake device, with an input that opens only when the test lets it: the main
 * thread never waits for the input.
 */
#include <errno.h>
#include <sched.h>

#include "serve/service.h"
#include "tests/unit/exchange/fixture.h"
#include "tests/unit/serve/slow-input.h"

#define HANDSHAKE_MS 8000

/* Refusals so far, in order. */
static struct {
	enum refusal all[8];
	unsigned int count;
} refused;

/* The functions of rdmacm that the service calls and the fake device lacks. */
int rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	struct hello hello;

	(void)id;
	assert_int_equal(hello_decode(&hello, private_data, private_data_len), 0);
	assert_true(refused.count < COUNT(refused.all));
	refused.all[refused.count++] = (enum refusal)hello.refusal;
	return 0;
}

static struct cm_channel channel = {.fd = -1};

int rdma_create_id(struct rdma_event_channel *events, struct rdma_cm_id **id, void *context,
	enum rdma_port_space ps)
{
	(void)events, (void)context, (void)ps;
	*id = fake_id();
	return 0;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
	(void)id, (void)address;
	return 0;
}

struct server {
	struct options options;
	struct output output;
	struct service service;
};

static void start(struct server *server)
{
	struct service *service = &server->service;

	fake_start(IBV_TRANSPORT_IB);
	refused.count = 0;
	*server = (struct server){
		.options = {.mode = mode_by_number(MODE_WRITE),
			.input = "/dev/null",
			.max_clients = 2,
			.handshake_timeout = HANDSHAKE_MS,
			.timeout = 10000,
			.buffer = 65536},
		.output = {.program = "service", .quiet = true},
	};
	service->options = &server->options;
	service->output = &server->output;
	service->channel = &channel;
	service_init(service);
	settings_init(&service->settings, &server->options, &server->output, &service->wakeups,
		"greeting");
	assert_int_equal(wakeup_queue_open(&service->wakeups), 0);
	service->listeners.all[service->listeners.count++] = fake_id();
}

/* A client that stores data requests a connection in this mode. */
static struct rdma_cm_id *request(struct server *server, enum mode_number mode)
{
	const struct hello theirs = {
		.version = HELLO_VERSION,
		.mode = (uint8_t)mode,
		.size = 8,
		.timeout = 10000,
		.flags = HELLO_PLANS | HELLO_TAKES_FILE | HELLO_WANTS_DATA,
	};
	uint8_t hello[HELLO_SIZE];
	struct rdma_cm_event event = {
		.id = fake_id(),
		.event = RDMA_CM_EVENT_CONNECT_REQUEST,
		.param.conn = {.private_data = hello,
			.private_data_len = sizeof(hello),
			.initiator_depth = 1,
			.responder_resources = 1},
	};

	hello_encode(&theirs, hello);
	fake_agree(event.id, 1);
	service_event(&server->service, &event);
	return event.id;
}

/* Handles everything that other threads report. */
static void turn(struct server *server)
{
	struct wakeup *wakeup;
	unsigned int events;

	fake_settle();
	while ((wakeup = wakeup_queue_take(&server->service.wakeups, &events)))
		service_wakeup(&server->service, wakeup, events);
}

static void stop(struct server *server)
{
	const struct failure interrupted = {.kind = FAILURE_INTERRUPTED, .phase = PHASE_EXCHANGE};
	struct service *service = &server->service;

	service_stop_listening(service);
	service_end_clients(service, &interrupted, true);
	while (!service_over(service))
		turn(server);
	service_free(service);
	wakeup_queue_close(&service->wakeups);
	assert_int_equal(fake_objects(), 0);
}

static void expect_refused(enum refusal refusal, unsigned int count)
{
	assert_int_equal(refused.count, count);
	assert_int_equal(refused.all[count - 1], refusal);
}

/* Meanwhile, other requests are answered. */
static void a_client_is_accepted_once_the_input_is_open(void **state)
{
	struct server server;
	struct rdma_cm_id *id;

	(void)state;
	start(&server);
	id = request(&server, MODE_WRITE);
	slow_input_await();
	turn(&server);
	assert_int_equal(server.service.admission.clients, 1);
	assert_null(id->qp);
	request(&server, MODE_READ);
	expect_refused(REFUSAL_MODE, 1);
	slow_input_release(0);
	turn(&server);
	assert_non_null(id->qp);
	assert_int_equal(fake_requests(id).connect.private_data_len, HELLO_SIZE);
	assert_int_equal(server.service.admitted, 1);
	assert_int_equal(refused.count, 1);
	stop(&server);
}

static void a_client_is_refused_if_the_input_cannot_be_opened(void **state)
{
	struct server server;

	(void)state;
	start(&server);
	request(&server, MODE_WRITE);
	slow_input_release(ENOENT);
	turn(&server);
	expect_refused(REFUSAL_INPUT, 1);
	assert_int_equal(server.service.admission.clients, 0);
	assert_int_equal(server.service.admission.slots.taken, 0);
	assert_int_equal(server.service.admitted, 0);
	stop(&server);
}

/* A sanitizer reports the source as leaked unless the opener has freed it. */
static void a_client_is_refused_if_its_connection_cannot_be_created(void **state)
{
	struct server server;

	(void)state;
	start(&server);
	request(&server, MODE_WRITE);
	fake_fail("rdma_create_qp", 0, ENOMEM);
	slow_input_release(0);
	turn(&server);
	expect_refused(REFUSAL_RESOURCES, 1);
	assert_int_equal(server.service.admission.clients, 0);
	stop(&server);
}

/* Waiting clients hold slots, and the handshake timeout applies to them. */
static void the_deadline_does_not_depend_on_the_input(void **state)
{
	struct server server;
	struct rdma_cm_id *id;

	(void)state;
	start(&server);
	request(&server, MODE_WRITE);
	slow_input_await();
	fake_pass(HANDSHAKE_MS / 2);
	request(&server, MODE_WRITE);
	request(&server, MODE_WRITE);
	expect_refused(REFUSAL_CLIENTS, 1);
	assert_int_equal(service_next_deadline(&server.service), HANDSHAKE_MS / 2);
	fake_pass(HANDSHAKE_MS / 2);
	service_deadlines(&server.service);
	expect_refused(REFUSAL_INPUT, 2);
	id = request(&server, MODE_WRITE);
	/* The file system responds again: first to the client that is no longer there. */
	slow_input_release(0);
	slow_input_release(0);
	slow_input_release(0);
	turn(&server);
	assert_non_null(id->qp);
	assert_int_equal(refused.count, 2);
	assert_int_equal(server.service.admitted, 2);
	/* What remains of the time is left for the handshake. */
	assert_int_equal(service_next_deadline(&server.service), HANDSHAKE_MS / 2);
	stop(&server);
}

/* The thread is still in its system call when the service has been freed. */
static void a_server_stops_while_the_input_is_being_opened(void **state)
{
	struct server server;

	(void)state;
	start(&server);
	request(&server, MODE_WRITE);
	slow_input_await();
	service_stop_listening(&server.service);
	expect_refused(REFUSAL_STOPPING, 1);
	assert_true(service_over(&server.service));
	stop(&server);
	assert_int_equal(slow_input_waiting(), 1);
	slow_input_release(0);
	while (slow_input_waiting() > 0)
		sched_yield();
}

static void a_client_is_refused_if_its_device_is_removed(void **state)
{
	struct server server;
	struct rdma_cm_event removal = {.event = RDMA_CM_EVENT_DEVICE_REMOVAL};

	(void)state;
	start(&server);
	request(&server, MODE_WRITE);
	slow_input_await();
	removal.id = SLIST_FIRST(&server.service.devices)->bound_id;
	service_event(&server.service, &removal);
	expect_refused(REFUSAL_RESOURCES, 1);
	assert_int_equal(server.service.admission.clients, 0);
	slow_input_release(0);
	stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_is_accepted_once_the_input_is_open),
		cmocka_unit_test(a_client_is_refused_if_the_input_cannot_be_opened),
		cmocka_unit_test(a_client_is_refused_if_its_connection_cannot_be_created),
		cmocka_unit_test(the_deadline_does_not_depend_on_the_input),
		cmocka_unit_test(a_server_stops_while_the_input_is_being_opened),
		cmocka_unit_test(a_client_is_refused_if_its_device_is_removed),
	};

	return cmocka_run_group_tests_name("service", tests, NULL, NULL);
}
