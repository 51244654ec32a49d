#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bench-rig.h"

#define QUEUE_PAIRS_MAX (2 * PLAN_QUEUE_PAIRS_MAX)
#define REQUESTS        2048
#define COMPLETIONS     16384
#define PATIENCE        10000
#define SHORT_PATIENCE  50

struct rig_cq {
	struct ibv_cq cq;
	struct ibv_wc queue[COMPLETIONS];
	unsigned int added, polled, events; /* raised and not got */
	bool armed;
};

/* A channel, and the queues of its end: sends, receives. */
struct rig_channel {
	struct ibv_comp_channel channel;
	struct rig_cq queues[2];
};

struct rig_send {
	struct ibv_send_wr request;
	struct ibv_sge piece;
	uint8_t bytes[ORDER_MAX]; /* of a SEND, and of what is inline */
};

struct rig_qp {
	struct ibv_qp qp;
	struct rig_qp *peer;
	uint32_t wanted_peer; /* its number */
	struct ibv_recv_wr receives[PROBE_RECEIVES];
	struct ibv_sge pieces[PROBE_RECEIVES];
	unsigned int receives_posted, received;
	struct rig_send *sends; /* of REQUESTS places */
	unsigned int posted, done, most;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rig_qp *queue_pairs[QUEUE_PAIRS_MAX];
static unsigned int queue_pair_count, regions, seed, operations, inlined, mishap_after;
static enum mishap mishap;
static struct ibv_context context;
static struct ibv_device device;
static struct ibv_pd pds[2];

static unsigned int dice(unsigned int sides)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16 & 0x7fff) % sides;
}

static void complete(struct ibv_cq *cq, const struct ibv_wc *completion)
{
	struct rig_cq *queue = (struct rig_cq *)cq;

	assert_true(queue->added - queue->polled < COMPLETIONS);
	queue->queue[queue->added++ % COMPLETIONS] = *completion;
	if (!queue->armed)
		return;
	queue->armed = false;
	queue->events++;
	eventfd_write(cq->channel->fd, 1);
}

static void *at(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

static bool has_mishap(enum mishap which)
{
	return mishap == which && mishap_after == 0;
}

/* The last byte comes last: who spins sees it before what is behind it. */
static void copy(uint8_t *to, const uint8_t *from, uint32_t length)
{
	uint8_t last = from[length - 1];

	if (has_mishap(MISPLACED)) {
		memcpy(to + 1, from, length - 1);
		to[0] = last;
		return;
	}
	if (has_mishap(LOST))
		return;
	memcpy(to, from, length - 1);
	if (has_mishap(DAMAGED))
		to[length / 2] ^= 0x10;
	__atomic_store_n(to + length - 1, (uint8_t)(last ^ (has_mishap(DAMAGED) && length == 1)),
		__ATOMIC_RELEASE);
}

/* True if the message, or the immediate data, found a receive. */
static bool deliver(struct rig_qp *qp, const struct rig_send *send, bool immediate)
{
	unsigned int slot = qp->received % PROBE_RECEIVES;
	struct ibv_wc completion = {
		.status = IBV_WC_SUCCESS,
		.opcode = immediate ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
		.byte_len = send->piece.length,
	};

	if (qp->received == qp->receives_posted)
		return false;
	completion.wr_id = qp->receives[slot].wr_id;
	if (!immediate) {
		assert_true(send->piece.length <= qp->pieces[slot].length);
		memcpy(at(qp->pieces[slot].addr), send->bytes, send->piece.length);
	}
	qp->received++;
	complete(qp->qp.recv_cq, &completion);
	return true;
}

/* Carries out the oldest work request. Returns false if it has to wait. */
static bool execute(struct rig_qp *qp)
{
	struct rig_send *send = &qp->sends[qp->done % REQUESTS];
	const struct ibv_send_wr *request = &send->request;
	uint8_t *remote = at(request->wr.rdma.remote_addr), *ours = at(send->piece.addr);
	struct ibv_wc completion = {.wr_id = request->wr_id, .status = IBV_WC_SUCCESS};
	bool immediate = request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

	if (request->opcode == IBV_WR_SEND && !deliver(qp->peer, send, false))
		return false;
	if (immediate && qp->peer->received == qp->peer->receives_posted)
		return false;
	if (request->opcode != IBV_WR_SEND) {
		if (request->send_flags & IBV_SEND_INLINE)
			ours = send->bytes;
		if (has_mishap(REFUSED))
			completion.status = IBV_WC_REM_ACCESS_ERR;
		else if (request->opcode == IBV_WR_RDMA_READ)
			copy(ours, remote, send->piece.length);
		else
			copy(remote, ours, send->piece.length);
		mishap_after--;
	}
	if (immediate)
		deliver(qp->peer, send, true);
	qp->done++;
	if (request->send_flags & IBV_SEND_SIGNALED || completion.status != IBV_WC_SUCCESS)
		complete(qp->qp.send_cq, &completion);
	return true;
}

/* Lets some of what is posted happen: all of it, if nobody may poll again. */
static void advance(bool all)
{
	bool moved = true;

	for (unsigned int turn = 0; moved && (all || turn < 2); turn++) {
		moved = false;
		for (unsigned int i = 0; i < queue_pair_count; i++) {
			struct rig_qp *qp = queue_pairs[i];

			while (qp->done < qp->posted && (all || dice(4) > 0) && execute(qp))
				moved = true;
		}
	}
}

static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *completions)
{
	struct rig_cq *queue = (struct rig_cq *)cq;
	int taken = 0;

	pthread_mutex_lock(&lock);
	advance(false);
	while (taken < count && queue->polled < queue->added)
		completions[taken++] = queue->queue[queue->polled++ % COMPLETIONS];
	pthread_mutex_unlock(&lock);
	return taken;
}

/* Who asks for an event may sleep: what it has posted has to happen without it. */
static int request_event(struct ibv_cq *cq, int solicited_only)
{
	(void)solicited_only;
	pthread_mutex_lock(&lock);
	((struct rig_cq *)cq)->armed = true;
	advance(true);
	pthread_mutex_unlock(&lock);
	return 0;
}

static bool is_armed(const struct ibv_cq *cq)
{
	return ((const struct rig_cq *)cq)->armed;
}

static int post_send(struct ibv_qp *ibv_qp, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
	struct rig_qp *qp = (struct rig_qp *)ibv_qp;

	(void)bad;
	pthread_mutex_lock(&lock);
	for (; request; request = request->next) {
		struct rig_send *send = &qp->sends[qp->posted % REQUESTS];
		bool keeps =
			request->opcode == IBV_WR_SEND || request->send_flags & IBV_SEND_INLINE;

		/* As the queue is in the program's eyes: unsignaled ones are in it, too. */
		assert_true(qp->posted - qp->done < qp->most);
		send->request = *request;
		send->piece = request->num_sge ? *request->sg_list : (struct ibv_sge){0};
		operations += request->opcode != IBV_WR_SEND;
		inlined += (request->send_flags & IBV_SEND_INLINE) != 0;
		if (keeps && send->piece.length > 0) {
			assert_true(send->piece.length <= sizeof(send->bytes));
			memcpy(send->bytes, at(send->piece.addr), send->piece.length);
		}
		qp->posted++;
	}
	advance(is_armed(ibv_qp->send_cq) || is_armed(qp->peer->qp.recv_cq));
	pthread_mutex_unlock(&lock);
	return 0;
}

static int post_receive(
	struct ibv_qp *ibv_qp, struct ibv_recv_wr *request, struct ibv_recv_wr **bad)
{
	struct rig_qp *qp = (struct rig_qp *)ibv_qp;
	unsigned int slot = qp->receives_posted % PROBE_RECEIVES;

	(void)bad;
	pthread_mutex_lock(&lock);
	assert_true(qp->receives_posted - qp->received < PROBE_RECEIVES);
	qp->receives[slot] = *request;
	qp->pieces[slot] = *request->sg_list;
	qp->receives_posted++;
	advance(true);
	pthread_mutex_unlock(&lock);
	return 0;
}

/* libibverbs and librdmacm, as far as they are called. */

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attributes)
{
	struct rig_qp *qp = calloc(1, sizeof(*qp));

	assert_non_null(qp);
	qp->sends = calloc(REQUESTS, sizeof(*qp->sends));
	assert_true(qp->sends && attributes->cap.max_send_wr <= REQUESTS);
	qp->most = attributes->cap.max_send_wr;
	qp->qp.context = pd->context;
	qp->qp.pd = pd;
	qp->qp.send_cq = attributes->send_cq;
	qp->qp.recv_cq = attributes->recv_cq;
	pthread_mutex_lock(&lock);
	assert_true(queue_pair_count < QUEUE_PAIRS_MAX);
	qp->qp.qp_num = 100 + queue_pair_count;
	queue_pairs[queue_pair_count++] = qp;
	pthread_mutex_unlock(&lock);
	return &qp->qp;
}

int ibv_destroy_qp(struct ibv_qp *ibv_qp)
{
	struct rig_qp *qp = (struct rig_qp *)ibv_qp;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < queue_pair_count; i++)
		if (queue_pairs[i] == qp)
			queue_pairs[i--] = queue_pairs[--queue_pair_count];
	pthread_mutex_unlock(&lock);
	free(qp->sends);
	free(qp);
	return 0;
}

/* cppcheck-suppress constParameter ; it is the library's */
int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask,
	struct ibv_qp_init_attr *initial)
{
	(void)qp;
	(void)mask;
	(void)initial;
	*attributes = (struct ibv_qp_attr){.port_num = 1};
	return 0;
}

/* To be ready to receive is to know the peer. */
int ibv_modify_qp(struct ibv_qp *ibv_qp, struct ibv_qp_attr *attributes, int mask)
{
	if (mask & IBV_QP_DEST_QPN)
		((struct rig_qp *)ibv_qp)->wanted_peer = attributes->dest_qp_num;
	return 0;
}

struct ibv_mr *ibv_reg_mr_iova2(
	struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned int access)
{
	struct ibv_mr *mr = calloc(1, sizeof(*mr));

	(void)access;
	assert_true(mr && iova == (uintptr_t)address);
	*mr = (struct ibv_mr){.context = pd->context, .pd = pd, .addr = address, .length = length};
	mr->lkey = mr->rkey = ++regions;
	return mr;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, address, length, (uintptr_t)address, (unsigned int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	free(mr);
	regions--;
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	struct rig_cq *queues = ((struct rig_channel *)channel)->queues;
	eventfd_t one;

	if (eventfd_read(channel->fd, &one))
		return -1;
	pthread_mutex_lock(&lock);
	if (queues->events == 0)
		queues++;
	queues->events--;
	pthread_mutex_unlock(&lock);
	*cq = &queues->cq;
	*cq_context = queues->cq.cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
	(void)cq;
	(void)count;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	(void)channel;
	(void)event;
	errno = EAGAIN;
	return -1;
}

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
	queue->cq.context = &context;
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
	channel->channel.context = &context;
	channel->channel.fd = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE);
	*probe = (struct probe){.pd = &pds[server], .channel = &channel->channel, .inline_max = 32};
	probe->stop_fd = eventfd(0, EFD_NONBLOCK);
	make_queue(channel, &channel->queues[0], &probe->sends);
	make_queue(channel, &channel->queues[1], &probe->receives);
	probe->events = calloc(1, sizeof(*probe->events));
	probe->id = calloc(1, sizeof(*probe->id));
	assert_true(probe->events && probe->id);
	probe->events->fd = eventfd(0, EFD_NONBLOCK);
	probe->id->verbs = &context;
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
	context.ops.poll_cq = poll_cq;
	context.ops.req_notify_cq = request_event;
	context.ops.post_send = post_send;
	context.ops.post_recv = post_receive;
	context.device = &device;
	pds[0].context = pds[1].context = &context;
	seed = 1;
	operations = inlined = 0;
	bench_rig_mishap(0, NO_MISHAP);
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
	mishap_after = after;
	mishap = which;
}

unsigned int bench_rig_operations(void)
{
	return operations;
}

unsigned int bench_rig_inline(void)
{
	return inlined;
}

/* The server's thread: its half, and the order that ends it. */
static void *serve(void *argument)
{
	struct bench_end *server = argument;
	struct order order;

	server->result = bench_run(&server->bench, &server->tally, NULL);
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

	if (bench_run(&client->bench, &client->tally, latency) ||
		probe_send(&client->probe, &order, deadline_in(PATIENCE)) ||
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
	end->result = bench_run(&end->bench, &end->tally, latency);
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
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < queue_pair_count; i++)
		queue_pairs[i]->done = queue_pairs[i]->posted;
	pthread_mutex_unlock(&lock);
	stop_end(&rig->client);
	stop_end(&rig->server);
	assert_int_equal(queue_pair_count, 0);
	assert_int_equal(regions, 0);
}
