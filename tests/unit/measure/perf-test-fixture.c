/*
 * Runs both ends of a test, the server on its own thread. The fixture owns both ends and their
 * memory.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "measure/receives.h"
#include "tests/unit/measure/perf-test-device.h"

#define TIMEOUT_MS       10000
#define SHORT_TIMEOUT_MS 50

/* Prepares one end up to the point where it connects. */
static void start_end(struct perf_test_end *end, bool server, uint32_t count, uint32_t depth,
	bool shares, enum test_transport transport)
{
	static const struct sockaddr_in peer = {.sin_family = AF_INET};
	struct cm_channel *events = perf_test_manager_channel();
	struct rdma_cm_id *id = perf_test_manager_id(events);

	control_init(&end->control, events, id, (const struct sockaddr *)&peer, NULL,
		server ? SECRET_SERVER : SECRET_CLIENT);
	end->control.stop_fd = eventfd(0, EFD_NONBLOCK);
	end->control.receives = receives_count(depth);
	end->control.shares = shares;
	end->control.gathers = MAX_SGE + 1; /* more than the device has */
	assert_int_equal(control_prepare(&end->control, count + (transport != TEST_RC), depth), 0);
	end->control.transport = transport;
	perf_test_init(&end->test, &end->control, depth, server);
	assert_int_equal(perf_test_make_queue_pairs(&end->test, count), 0);
}

/* Passes the other end's memory region and queue pair numbers to this end. */
static void connect_end(struct perf_test_end *end, const struct perf_test_end *other)
{
	struct command region;
	uint8_t numbers[4 * TEST_QUEUE_PAIRS_MAX];

	control_describe_region(&other->control, &region);
	control_set_peer_region(&end->control, &region);
	assert_int_equal(perf_test_connect_queue_pairs(&end->test, numbers,
				 perf_test_encode_numbers(&other->test, numbers)),
		0);
	for (uint32_t i = 0; i < end->control.endpoint.pair_count; i++) {
		struct fixture_qp *ours = (struct fixture_qp *)end->control.endpoint.pairs[i].qp;
		struct fixture_qp *theirs =
			(struct fixture_qp *)other->control.endpoint.pairs[i].qp;

		/* rdmacm connects the first queue pair. */
		if (i == 0)
			ours->peer = theirs;
		if (ours->qp.qp_type == IBV_QPT_UD)
			continue;
		assert_ptr_equal(ours->peer, theirs);
		assert_true(i == 0 || ours->traffic_class == TRAFFIC_CLASS);
	}
}

static void start(struct perf_test_fixture *fixture, uint32_t count, uint32_t depth, bool shares,
	enum test_transport transport)
{
	perf_test_device_start(personality_at(0));
	*fixture = (struct perf_test_fixture){0};
	start_end(&fixture->client, false, count, depth, shares, transport);
	start_end(&fixture->server, true, count, depth, shares, transport);
	connect_end(&fixture->client, &fixture->server);
	connect_end(&fixture->server, &fixture->client);
}

void perf_test_fixture_start(struct perf_test_fixture *fixture, uint32_t count, uint32_t depth)
{
	start(fixture, count, depth, false, TEST_RC);
}

void perf_test_fixture_start_shared(
	struct perf_test_fixture *fixture, uint32_t count, uint32_t depth)
{
	start(fixture, count, depth, true, TEST_RC);
}

void perf_test_fixture_start_lossy(struct perf_test_fixture *fixture, uint32_t count,
	uint32_t depth, enum test_transport transport)
{
	start(fixture, count, depth, false, transport);
	/* Servers that know these tests answer keepalives. */
	fixture->client.control.answers = fixture->server.control.answers = true;
}

void perf_test_fixture_fault(unsigned int after, enum fault which)
{
	perf_test_device.fault_after = after;
	perf_test_device.fault = which;
}

void perf_test_fixture_reply(uint8_t *place)
{
	perf_test_device.reply = place;
}

unsigned int perf_test_fixture_operations(void)
{
	return perf_test_device.operations;
}

unsigned int perf_test_fixture_inline(void)
{
	return perf_test_device.inlined;
}

unsigned int perf_test_fixture_lists(void)
{
	return perf_test_device.lists;
}

unsigned int perf_test_fixture_signaled(void)
{
	return perf_test_device.signaled;
}

unsigned int perf_test_fixture_polls(void)
{
	return perf_test_device.polls;
}

static int run(struct perf_test_end *end, struct histogram *latency)
{
	struct test_shared shared;

	test_shared_init(&shared, test_now());
	shared.broken = end->others_failed;
	return test_run(&end->test, &shared, &end->result, latency);
}

/* The server's thread: runs the test, then receives and answers COMMAND_END. */
static void *serve(void *argument)
{
	struct perf_test_end *server = argument;
	struct command command = {0};

	server->status = run(server, NULL);
	if (server->status)
		return NULL;
	/* Keepalives may be left over from the test. */
	do
		server->status = control_receive_message(
			&server->control, &command, deadline_in(TIMEOUT_MS));
	while (server->status > 0);
	if (server->status == 0 && command.type != COMMAND_END)
		server->status = -1;
	command = (struct command){.type = COMMAND_END, .reply = true, .number = 1};
	if (server->status == 0)
		server->status =
			control_send_message(&server->control, &command, deadline_in(TIMEOUT_MS));
	return NULL;
}

/* Runs the test on the client, then sends COMMAND_END and awaits the reply. */
static int client(struct perf_test_end *client, struct histogram *latency)
{
	struct command command = {.type = COMMAND_END, .number = 1}, reply;

	if (run(client, latency) ||
		control_send_message(&client->control, &command, deadline_in(TIMEOUT_MS)) ||
		control_receive_message(&client->control, &reply, deadline_in(TIMEOUT_MS)))
		return -1;
	return reply.reply && reply.type == COMMAND_END ? 0 : -1;
}

int perf_test_fixture_run(struct perf_test_fixture *fixture,
	const struct test_parameters *parameters, struct histogram *latency)
{
	pthread_t thread;

	assert_true(test_run_can(&fixture->client.test, parameters) &&
		    test_run_can(&fixture->server.test, parameters));
	perf_test_device.send_size =
		parameters->operation->number == TEST_SEND ? parameters->size : 0;
	test_run_begin(&fixture->client.test, parameters, TIMEOUT_MS);
	test_run_begin(&fixture->server.test, parameters, TIMEOUT_MS);
	assert_int_equal(pthread_create(&thread, NULL, serve, &fixture->server), 0);
	fixture->client.status = client(&fixture->client, latency);
	/* The server does not notice that the client failed: stop it. */
	if (fixture->client.status)
		eventfd_write(fixture->server.control.stop_fd, 1);
	pthread_join(thread, NULL);
	return fixture->client.status;
}

int perf_test_fixture_run_alone(struct perf_test_end *end, const struct test_parameters *parameters,
	struct histogram *latency)
{
	test_run_begin(&end->test, parameters, SHORT_TIMEOUT_MS);
	end->status = run(end, latency);
	return end->status;
}

int perf_test_fixture_run_to_end(struct perf_test_end *end,
	const struct test_parameters *parameters, struct histogram *latency)
{
	test_run_begin(&end->test, parameters, TIMEOUT_MS);
	end->status = run(end, latency);
	return end->status;
}

static void stop_end(struct perf_test_end *end)
{
	close(end->control.stop_fd);
	control_close(&end->control);
}

void perf_test_fixture_stop(struct perf_test_fixture *fixture)
{
	stop_end(&fixture->client);
	stop_end(&fixture->server);
	assert_int_equal(perf_test_device.queue_pair_count, 0);
	assert_int_equal(perf_test_device.resources, 0);
}
