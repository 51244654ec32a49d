#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bench-device.h"

#define PATIENCE       10000
#define SHORT_PATIENCE 50

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
	struct rig_channel *channel, struct rig_cq *queue, struct probe_queue *probe_queue)
{
	queue->cq.context = &bench_device.context;
	queue->cq.channel = &channel->channel;
	queue->cq.cq_context = probe_queue;
	probe_queue->cq = &queue->cq;
}

static void start_end(struct bench_end *end, bool server, uint32_t depth, size_t size)
{
	struct rig_channel *channel = calloc(1, sizeof(*channel));
	struct probe *probe = &end->probe;
	struct ibv_qp_init_attr attributes = {.cap.max_send_wr = depth + PROBE_MESSAGES};

	assert_non_null(channel);
	channel->channel.context = &bench_device.context;
	channel->channel.fd = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE);
	*probe = (struct probe){
		.pd = &bench_device.pds[server], .channel = &channel->channel, .inline_max = 32};
	probe->stop_fd = eventfd(0, EFD_NONBLOCK);
	make_queue(channel, &channel->queues[0], &probe->sends);
	make_queue(channel, &channel->queues[1], &probe->receives);
	probe->events = calloc(1, sizeof(*probe->events));
	probe->id = calloc(1, sizeof(*probe->id));
	assert_true(probe->events && probe->id);
	probe->events->fd = eventfd(0, EFD_NONBLOCK);
	probe->id->verbs = &bench_device.context;
	attributes.send_cq = probe->sends.cq;
	attributes.recv_cq = probe->receives.cq;
	probe->id->qp = ibv_create_qp(probe->pd, &attributes);
	make_memory(&probe->offered, probe->pd, size);
	make_memory(&probe->private, probe->pd, size);
	make_memory(&probe->messages, probe->pd, (size_t)ORDER_MAX * (1 + PROBE_RECEIVES));
	bench_init(&end->bench, probe, depth, server);
}

static void meet(struct bench_end *end, const struct bench_end *other)
{
	struct order region;
	uint8_t numbers[4 * PLAN_QUEUE_PAIRS_MAX];

	probe_tell_region(&other->probe, &region);
	probe_meet(&end->probe, &region);
	assert_int_equal(
		bench_lanes_meet(&end->bench, numbers, bench_lanes_tell(&other->bench, numbers)),
		0);
	for (uint32_t i = 0; i < end->bench.lane_count; i++) {
		struct rig_qp *ours = (struct rig_qp *)end->bench.lanes[i].qp;

		ours->peer = (struct rig_qp *)other->bench.lanes[i].qp;
		/* All but the first have been told whom they meet. */
		assert_true(i == 0 || ours->wanted_peer == ours->peer->qp.qp_num);
	}
	for (uint64_t slot = 1; slot <= PROBE_RECEIVES; slot++)
		assert_int_equal(probe_release(&end->probe, &(struct ibv_wc){.wr_id = slot}), 0);
}

void bench_rig_start(struct bench_rig *rig, uint32_t count, uint32_t depth, size_t memory)
{
	bench_device_start();
	*rig = (struct bench_rig){0};
	start_end(&rig->client, false, depth, memory);
	start_end(&rig->server, true, depth, memory);
	assert_int_equal(bench_make_lanes(&rig->client.bench, count), 0);
	assert_int_equal(bench_make_lanes(&rig->server.bench, count), 0);
	meet(&rig->client, &rig->server);
	meet(&rig->server, &rig->client);
}

void bench_rig_mishap(unsigned int after, enum mishap which)
{
	bench_device.mishap_after = after;
	bench_device.mishap = which;
}

void bench_rig_answer(uint8_t *place)
{
	bench_device.answer = place;
}

unsigned int bench_rig_operations(void)
{
	return bench_device.operations;
}

unsigned int bench_rig_inline(void)
{
	return bench_device.inlined;
}

unsigned int bench_rig_lists(void)
{
	return bench_device.lists;
}

unsigned int bench_rig_signaled(void)
{
	return bench_device.signaled;
}

unsigned int bench_rig_polls(void)
{
	return bench_device.polls;
}

static int run(struct bench_end *end, struct latency *latency)
{
	struct course course;

	course_init(&course, probe_now());
	course.broken = end->others_failed;
	return bench_run(&end->bench, &course, &end->tally, latency);
}

/* The server's thread: its half, and the order that ends it. */
static void *serve(void *argument)
{
	struct bench_end *server = argument;
	struct order order = {0};

	server->result = run(server, NULL);
	if (server->result)
		return NULL;
	/* What is left of a run are signs of life. */
	do
		server->result = probe_receive(&server->probe, &order, deadline_in(PATIENCE));
	while (server->result > 0);
	if (server->result == 0 && order.type != ORDER_END)
		server->result = -1;
	order = (struct order){.type = ORDER_END, .answer = true, .number = 1};
	if (server->result == 0)
		server->result = probe_send(&server->probe, &order, deadline_in(PATIENCE));
	return NULL;
}

/* The client's half, and the order that ends the server's. */
static int ask(struct bench_end *client, struct latency *latency)
{
	struct order order = {.type = ORDER_END, .number = 1}, answer;

	if (run(client, latency) || probe_send(&client->probe, &order, deadline_in(PATIENCE)) ||
		probe_receive(&client->probe, &answer, deadline_in(PATIENCE)))
		return -1;
	return answer.answer && answer.type == ORDER_END ? 0 : -1;
}

int bench_rig_run(struct bench_rig *rig, const struct plan *plan, struct latency *latency)
{
	pthread_t thread;

	assert_true(bench_can(&rig->client.bench, plan) && bench_can(&rig->server.bench, plan));
	bench_begin(&rig->client.bench, plan, PATIENCE);
	bench_begin(&rig->server.bench, plan, PATIENCE);
	assert_int_equal(pthread_create(&thread, NULL, serve, &rig->server), 0);
	rig->client.result = ask(&rig->client, latency);
	/* Nobody tells it that the client has failed. */
	if (rig->client.result)
		eventfd_write(rig->server.probe.stop_fd, 1);
	pthread_join(thread, NULL);
	return rig->client.result;
}

int bench_rig_run_alone(struct bench_end *end, const struct plan *plan, struct latency *latency)
{
	bench_begin(&end->bench, plan, SHORT_PATIENCE);
	end->result = run(end, latency);
	return end->result;
}

static void stop_end(struct bench_end *end)
{
	struct probe *probe = &end->probe;

	bench_free(&end->bench);
	assert_int_equal(end->bench.lane_count, 1);
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

void bench_rig_stop(struct bench_rig *rig)
{
	/* Nothing happens any more. */
	pthread_mutex_lock(&bench_device.lock);
	for (unsigned int i = 0; i < bench_device.queue_pair_count; i++)
		bench_device.queue_pairs[i]->done = bench_device.queue_pairs[i]->posted;
	pthread_mutex_unlock(&bench_device.lock);
	stop_end(&rig->client);
	stop_end(&rig->server);
	assert_int_equal(bench_device.queue_pair_count, 0);
	assert_int_equal(bench_device.regions, 0);
}
