#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/unit/measure/perf-test-device.h"

#define TIMEOUT_MS       10000
#define SHORT_TIMEOUT_MS 50

/* One end, as probe_prepare() and the orders before a run leave it. */

static void make_memory(struct probe_memory *memory, struct ibv_pd *pd, size_t size)
{
	memory->size = size;
	memory->start = calloc(1, size);
	assert_non_null(memory->start);
	memory->mr = ibv_reg_mr_iova2(pd, memory->start, size, (uintptr_t)memory->start, 0);
}

static void free_memory(struct probe_memory *memory)
{
	ibv_dereg_mr(memory->mr);
	free(memory->start);
}

static void make_queue(
	struct fixture_channel *channel, struct fixture_cq *queue, struct probe_queue *probe_queue)
{
	queue->cq.context = &perf_test_device.context;
	queue->cq.channel = &channel->channel;
	queue->cq.cq_context = probe_queue;
	probe_queue->cq = &queue->cq;
}

static void start_end(struct perf_test_end *end, bool server, uint32_t depth, size_t size)
{
	struct fixture_channel *channel = calloc(1, sizeof(*channel));
	struct probe *probe = &end->probe;
	struct ibv_qp_init_attr attributes = {.cap.max_send_wr = depth + PROBE_MESSAGES};

	assert_non_null(channel);
	channel->channel.context = &perf_test_device.context;
	channel->channel.fd = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE);
	*probe = (struct probe){.pd = &perf_test_device.pds[server],
		.channel = &channel->channel,
		.inline_max = 32};
	probe->stop_fd = eventfd(0, EFD_NONBLOCK);
	make_queue(channel, &channel->queues[0], &probe->sends);
	make_queue(channel, &channel->queues[1], &probe->receives);
	probe->events = calloc(1, sizeof(*probe->events));
	probe->id = calloc(1, sizeof(*probe->id));
	assert_true(probe->events && probe->id);
	probe->events->fd = eventfd(0, EFD_NONBLOCK);
	probe->id->verbs = &perf_test_device.context;
	attributes.send_cq = probe->sends.cq;
	attributes.recv_cq = probe->receives.cq;
	probe->id->qp = ibv_create_qp(probe->pd, &attributes);
	make_memory(&probe->offered, probe->pd, size);
	make_memory(&probe->private, probe->pd, size);
	make_memory(&probe->messages, probe->pd, (size_t)COMMAND_MAX * (1 + PROBE_RECEIVES));
	perf_test_init(&end->test, probe, depth, server);
}

static void meet(struct perf_test_end *end, const struct perf_test_end *other)
{
	struct command region;
	uint8_t numbers[4 * TEST_QUEUE_PAIRS_MAX];

	probe_tell_region(&other->probe, &region);
	probe_meet(&end->probe, &region);
	assert_int_equal(perf_test_connect_queue_pairs(&end->test, numbers,
				 perf_test_encode_numbers(&other->test, numbers)),
		0);
	for (uint32_t i = 0; i < end->test.queue_pair_count; i++) {
		struct fixture_qp *ours = (struct fixture_qp *)end->test.queue_pairs[i].qp;

		ours->peer = (struct fixture_qp *)other->test.queue_pairs[i].qp;
		/* All but the first have been told whom they meet. */
		assert_true(i == 0 || ours->wanted_peer == ours->peer->qp.qp_num);
	}
	for (uint64_t slot = 1; slot <= PROBE_RECEIVES; slot++)
		assert_int_equal(probe_release(&end->probe, &(struct ibv_wc){.wr_id = slot}), 0);
}

void perf_test_fixture_start(
	struct perf_test_fixture *fixture, uint32_t count, uint32_t depth, size_t memory)
{
	perf_test_device_start();
	*fixture = (struct perf_test_fixture){0};
	start_end(&fixture->client, false, depth, memory);
	start_end(&fixture->server, true, depth, memory);
	assert_int_equal(perf_test_make_queue_pairs(&fixture->client.test, count), 0);
	assert_int_equal(perf_test_make_queue_pairs(&fixture->server.test, count), 0);
	meet(&fixture->client, &fixture->server);
	meet(&fixture->server, &fixture->client);
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

	test_shared_init(&shared, probe_now());
	shared.broken = end->others_failed;
	return perf_test_run(&end->test, &shared, &end->result, latency);
}

/* The server's thread: its half, and the order that ends it. */
static void *serve(void *argument)
{
	struct perf_test_end *server = argument;
	struct command command = {0};

	server->status = run(server, NULL);
	if (server->status)
		return NULL;
	/* What is left of a run are signs of life. */
	do
		server->status = probe_receive(&server->probe, &command, deadline_in(TIMEOUT_MS));
	while (server->status > 0);
	if (server->status == 0 && command.type != COMMAND_END)
		server->status = -1;
	command = (struct command){.type = COMMAND_END, .reply = true, .number = 1};
	if (server->status == 0)
		server->status = probe_send(&server->probe, &command, deadline_in(TIMEOUT_MS));
	return NULL;
}

/* The client's half, and the order that ends the server's. */
static int client(struct perf_test_end *client, struct histogram *latency)
{
	struct command command = {.type = COMMAND_END, .number = 1}, reply;

	if (run(client, latency) || probe_send(&client->probe, &command, deadline_in(TIMEOUT_MS)) ||
		probe_receive(&client->probe, &reply, deadline_in(TIMEOUT_MS)))
		return -1;
	return reply.reply && reply.type == COMMAND_END ? 0 : -1;
}

int perf_test_fixture_run(struct perf_test_fixture *fixture,
	const struct test_parameters *parameters, struct histogram *latency)
{
	pthread_t thread;

	assert_true(perf_test_can(&fixture->client.test, parameters) &&
		    perf_test_can(&fixture->server.test, parameters));
	perf_test_begin(&fixture->client.test, parameters, TIMEOUT_MS);
	perf_test_begin(&fixture->server.test, parameters, TIMEOUT_MS);
	assert_int_equal(pthread_create(&thread, NULL, serve, &fixture->server), 0);
	fixture->client.status = client(&fixture->client, latency);
	/* Nobody tells it that the client has failed. */
	if (fixture->client.status)
		eventfd_write(fixture->server.probe.stop_fd, 1);
	pthread_join(thread, NULL);
	return fixture->client.status;
}

int perf_test_fixture_run_alone(struct perf_test_end *end, const struct test_parameters *parameters,
	struct histogram *latency)
{
	perf_test_begin(&end->test, parameters, SHORT_TIMEOUT_MS);
	end->status = run(end, latency);
	return end->status;
}

static void stop_end(struct perf_test_end *end)
{
	struct probe *probe = &end->probe;

	perf_test_free(&end->test);
	assert_int_equal(end->test.queue_pair_count, 1);
	ibv_destroy_qp(probe->id->qp);
	free_memory(&probe->offered);
	free_memory(&probe->private);
	free_memory(&probe->messages);
	close(probe->stop_fd);
	close(probe->events->fd);
	close(probe->channel->fd);
	free(probe->events);
	free(probe->id);
	free(probe->channel);
}

void perf_test_fixture_stop(struct perf_test_fixture *fixture)
{
	/* Nothing happens any more. */
	pthread_mutex_lock(&perf_test_device.lock);
	for (unsigned int i = 0; i < perf_test_device.queue_pair_count; i++)
		perf_test_device.queue_pairs[i]->done = perf_test_device.queue_pairs[i]->posted;
	pthread_mutex_unlock(&perf_test_device.lock);
	stop_end(&fixture->client);
	stop_end(&fixture->server);
	assert_int_equal(perf_test_device.queue_pair_count, 0);
	assert_int_equal(perf_test_device.regions, 0);
}
