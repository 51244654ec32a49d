#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/explain.h"
#include "lib/guarded.h"
#include "rdma-probe.h"

/* Where the messages lie: one that we send, then those that we receive. */
#define SLOT(index) ((size_t)(index)*ORDER_MAX)

/* How long the device may take to give back what is posted. */
#define DISARM_MS 1000

/* How long a connection may outlive the memory of a program that ends, in milliseconds. */
#define GOODBYE_MS 2000

void probe_init(struct probe *probe, struct rdma_event_channel *events, struct rdma_cm_id *id,
	const struct sockaddr *peer, const struct secret *secret, enum secret_role role)
{
	*probe = (struct probe){.events = events, .id = id, .stop_fd = -1};
	handshake_init(&probe->handshake, secret, role);
	address_port_text(peer, probe->peer);
}

/* A call failed with this errno. */
static int call_failed(struct probe *probe, enum phase phase, const char *call, int error)
{
	return failure_set(
		&probe->failure, FAILURE_ERRNO, phase, error, call, "%s", strerror(error));
}

/* An event that was not wanted has come in this phase. */
static void take_failure(struct probe *probe, const struct rdma_cm_event *event, enum phase phase)
{
	if (failure_is_set(&probe->failure))
		return;
	failure_from_event(&probe->failure, event, phase, probe->peer);
	if (probe->failure.kind == FAILURE_GONE)
		probe->failure.code = CODE_DIAGNOSIS;
}

static int map_memory(struct probe *probe, struct probe_memory *memory, size_t size)
{
	memory->size = size;
	memory->start = guarded_map(size);
	return memory->start ? 0 : call_failed(probe, PHASE_MEMORY, "mmap", errno);
}

static int register_memory(struct probe *probe, struct probe_memory *memory, int access)
{
	memory->mr =
		memory_register(probe->pd, memory->start, memory->size, access, &probe->failure);
	return memory->mr ? 0 : -1;
}

static int make_memory(struct probe *probe, struct probe_memory *memory, size_t size, int access)
{
	return map_memory(probe, memory, size) || register_memory(probe, memory, access) ? -1 : 0;
}

int probe_open(struct probe *probe)
{
	return register_memory(probe, &probe->offered,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
}

void probe_prove(const struct probe *probe, struct order *order, uint8_t text[SECRET_PROOF_SIZE])
{
	handshake_prove(&probe->handshake, text);
	order->text = (const char *)text;
	order->text_size = SECRET_PROOF_SIZE;
}

bool probe_is_proved(const struct probe *probe, const struct order *order)
{
	return order->type == ORDER_PROOF && order->text_size == SECRET_PROOF_SIZE &&
	       handshake_is_proved(&probe->handshake, (const uint8_t *)order->text);
}

static void free_memory(struct probe_memory *memory)
{
	if (memory->mr)
		ibv_dereg_mr(memory->mr);
	guarded_unmap(memory->start, memory->size);
}

static int post_receive(struct probe *probe, unsigned int slot)
{
	struct ibv_sge piece = {
		.addr = (uintptr_t)probe->messages.start + SLOT(slot),
		.length = ORDER_MAX,
		.lkey = probe->messages.mr->lkey,
	};
	struct ibv_recv_wr *bad, request = {.wr_id = slot, .sg_list = &piece, .num_sge = 1};
	int error = ibv_post_recv(probe->id->qp, &request, &bad);

	return error ? call_failed(probe, PHASE_MEMORY, "ibv_post_recv", error) : 0;
}

static int make_queue_pair(struct probe *probe)
{
	struct ibv_qp_init_attr attributes = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = PROBE_DEPTH,
			.max_recv_wr = PROBE_RECEIVES,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};
	int flags;

	probe->pd = ibv_alloc_pd(probe->id->verbs);
	if (!probe->pd)
		return call_failed(probe, PHASE_QUEUE_PAIR, "ibv_alloc_pd", errno);
	probe->channel = ibv_create_comp_channel(probe->id->verbs);
	if (!probe->channel)
		return call_failed(probe, PHASE_QUEUE_PAIR, "ibv_create_comp_channel", errno);
	flags = fcntl(probe->channel->fd, F_GETFL);
	fcntl(probe->channel->fd, F_SETFL, flags | O_NONBLOCK);
	probe->sends.cq =
		ibv_create_cq(probe->id->verbs, PROBE_DEPTH, &probe->sends, probe->channel, 0);
	probe->receives.cq = ibv_create_cq(
		probe->id->verbs, PROBE_RECEIVES, &probe->receives, probe->channel, 0);
	if (!probe->sends.cq || !probe->receives.cq)
		return call_failed(probe, PHASE_QUEUE_PAIR, "ibv_create_cq", errno);
	attributes.send_cq = probe->sends.cq;
	attributes.recv_cq = probe->receives.cq;
	if (rdma_create_qp(probe->id, probe->pd, &attributes))
		return call_failed(probe, PHASE_QUEUE_PAIR, "rdma_create_qp", errno);
	return 0;
}

int probe_prepare(struct probe *probe)
{
	bool iwarp = probe->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	uint8_t timeout = TRANSPORT_ACK_TIMEOUT;

	rdma_set_option(
		probe->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof(timeout));
	/* On iWARP the target of a READ needs the right of a remote WRITE. Its key goes to nobody. */
	if (make_queue_pair(probe) || map_memory(probe, &probe->offered, ORDER_REGION_MAX) ||
		(!probe->handshake.secret && probe_open(probe)) ||
		make_memory(probe, &probe->private, ORDER_REGION_MAX,
			IBV_ACCESS_LOCAL_WRITE | (iwarp ? IBV_ACCESS_REMOTE_WRITE : 0)) ||
		make_memory(
			probe, &probe->messages, SLOT(1 + PROBE_RECEIVES), IBV_ACCESS_LOCAL_WRITE))
		return -1;
	for (unsigned int slot = 1; slot <= PROBE_RECEIVES; slot++)
		if (post_receive(probe, slot))
			return -1;
	return 0;
}

/* Takes rdmacm events that nobody awaits. Returns 0, or -1 if one of them ends the connection. */
static int take_events(struct probe *probe)
{
	struct rdma_cm_event *event;
	int error;

	while ((event = channel_event(probe->events, &error))) {
		if (event->event == RDMA_CM_EVENT_DISCONNECTED)
			probe->disconnected = true;
		if (event->event != RDMA_CM_EVENT_TIMEWAIT_EXIT &&
			event->event != RDMA_CM_EVENT_ADDR_CHANGE &&
			event->event != RDMA_CM_EVENT_ESTABLISHED)
			take_failure(probe, event, PHASE_EXCHANGE);
		rdma_ack_cm_event(event);
	}
	if (error)
		call_failed(probe, PHASE_EXCHANGE, "rdma_get_cm_event", -error);
	return failure_is_set(&probe->failure) ? -1 : 0;
}

/* Waits for something to happen. Returns 0, or -1 if nothing did, or it is time to stop. */
static int await(struct probe *probe, enum phase phase, deadline_t deadline)
{
	struct pollfd waiting[] = {
		{.fd = probe->events->fd, .events = POLLIN},
		{.fd = probe->stop_fd, .events = POLLIN},
		{.fd = probe->channel ? probe->channel->fd : -1, .events = POLLIN},
	};

	if (poll(waiting, 3, deadline_left(deadline)) == 0)
		return failure_set(
			&probe->failure, FAILURE_DEADLINE, phase, CODE_DIAGNOSIS, "poll", "");
	if (waiting[1].revents)
		return failure_set(
			&probe->failure, FAILURE_INTERRUPTED, phase, ECANCELED, "stop", "");
	return 0;
}

int probe_await_event(struct probe *probe, enum rdma_cm_event_type wanted, enum phase phase,
	deadline_t deadline, struct event_copy *copy)
{
	struct rdma_cm_event *event;
	bool here = false;
	int error;

	while (!here) {
		event = channel_event(probe->events, &error);
		if (error)
			return call_failed(probe, phase, "rdma_get_cm_event", -error);
		if (!event && await(probe, phase, deadline))
			return -1;
		if (!event)
			continue;
		here = event->event == wanted;
		if (here && copy)
			channel_copy(copy, event);
		else if (!here)
			take_failure(probe, event, phase);
		rdma_ack_cm_event(event);
		if (!here)
			return -1;
	}
	return 0;
}

/* Takes the completion events that wait. ibv_get_cq_event(3). */
static void take_cq_events(struct probe *probe)
{
	struct ibv_cq *cq;
	void *context;

	while (ibv_get_cq_event(probe->channel, &cq, &context) == 0) {
		((struct probe_queue *)context)->armed = false;
		ibv_ack_cq_events(cq, 1);
	}
}

static int arm(struct probe *probe, struct probe_queue *queue)
{
	queue->armed = ibv_req_notify_cq(queue->cq, 0) == 0;
	return queue->armed ? 0 : call_failed(probe, PHASE_EXCHANGE, "ibv_req_notify_cq", EIO);
}

/*
 * The other side's device has refused something. When a program ends, its memory goes before its
 * connection: a disconnect that follows at once is the cause. Returns -1 if there was one.
 */
static int await_goodbye(struct probe *probe, enum ibv_wc_status refusal)
{
	struct pollfd waiting = {.fd = probe->events->fd, .events = POLLIN};
	deadline_t deadline = deadline_in(GOODBYE_MS);
	struct failure *failure = &probe->failure;
	size_t used;

	while (!failure_is_set(failure) && poll(&waiting, 1, deadline_left(deadline)) > 0)
		take_events(probe);
	if (!failure_is_set(failure))
		return 0;
	used = strlen(failure->evidence);
	snprintf(failure->evidence + used, sizeof(failure->evidence) - used, " after %s",
		explain_name(FAILURE_COMPLETION, (int)refusal));
	return -1;
}

static bool is_refusal(enum ibv_wc_status status)
{
	return status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR ||
	       status == IBV_WC_REM_OP_ERR;
}

/* Waits for one completion of that queue, and returns only one that succeeded. */
static int await_completion(struct probe *probe, struct probe_queue *queue,
	struct ibv_wc *completion, deadline_t deadline)
{
	int count;

	while ((count = ibv_poll_cq(queue->cq, 1, completion)) == 0) {
		/* What came before the arming raises no event: so it is polled once more. */
		if (!queue->armed) {
			if (arm(probe, queue))
				return -1;
			continue;
		}
		if (await(probe, PHASE_EXCHANGE, deadline) || take_events(probe))
			return -1;
		take_cq_events(probe);
	}
	if (count < 0)
		return call_failed(probe, PHASE_EXCHANGE, "ibv_poll_cq", EIO);
	if (completion->status == IBV_WC_SUCCESS)
		return 0;
	/* Soft-RoCE's word for a message that is longer than the receive, which others call a length. */
	if (queue == &probe->receives && completion->status == IBV_WC_LOC_QP_OP_ERR)
		completion->status = IBV_WC_LOC_LEN_ERR;
	/* A flush is an effect: rdmacm may know more. */
	if (completion->status == IBV_WC_WR_FLUSH_ERR && take_events(probe))
		return -1;
	if (is_refusal(completion->status) && await_goodbye(probe, completion->status))
		return -1;
	return failure_set(&probe->failure, FAILURE_COMPLETION, PHASE_EXCHANGE,
		(int)completion->status, "ibv_poll_cq", "");
}

/* Posts a send or an RDMA operation on so many bytes of our memory. */
static int post(struct probe *probe, enum ibv_wr_opcode opcode, const struct probe_memory *memory,
	uint32_t size)
{
	struct ibv_sge piece = {
		.addr = (uintptr_t)memory->start, .length = size, .lkey = memory->mr->lkey};
	struct ibv_send_wr *bad, request = {
					 .sg_list = &piece,
					 .num_sge = 1,
					 .opcode = opcode,
					 .send_flags = IBV_SEND_SIGNALED,
					 .wr.rdma = {probe->peer_address, probe->peer_rkey},
				 };
	int error = failure_is_set(&probe->failure) ? ECANCELED
						    : ibv_post_send(probe->id->qp, &request, &bad);

	return error ? call_failed(probe, PHASE_EXCHANGE, "ibv_post_send", error) : 0;
}

int probe_send(struct probe *probe, const struct order *message, deadline_t deadline)
{
	struct ibv_wc completion;
	size_t size = order_encode(message, probe->messages.start);

	return post(probe, IBV_WR_SEND, &probe->messages, (uint32_t)size) ||
			       await_completion(probe, &probe->sends, &completion, deadline)
		       ? -1
		       : 0;
}

/* The message before is done with: its slot takes the next. */
static int release_slot(struct probe *probe)
{
	unsigned int slot = probe->slot;

	probe->slot = 0;
	return slot ? post_receive(probe, slot) : 0;
}

int probe_receive(struct probe *probe, struct order *message, deadline_t deadline)
{
	struct ibv_wc completion;
	int error;

	if (failure_is_set(&probe->failure) || release_slot(probe) ||
		await_completion(probe, &probe->receives, &completion, deadline))
		return -1;
	probe->slot = (unsigned int)completion.wr_id;
	/* Its length is that of a WRITE, and nothing new lies in the slot. */
	if (completion.opcode != IBV_WC_RECV)
		return failure_set(&probe->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO,
			"ibv_poll_cq", "it sent immediate data, which means nothing here");
	error = order_decode(
		message, probe->messages.start + SLOT(probe->slot), completion.byte_len);
	if (error)
		return failure_set(&probe->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, error,
			"order_decode", "it sent a message of %u bytes that makes no sense",
			completion.byte_len);
	return 0;
}

int probe_move(struct probe *probe, enum ibv_wr_opcode opcode, uint32_t size, deadline_t deadline)
{
	struct ibv_wc completion;

	return post(probe, opcode, &probe->private, size) ||
			       await_completion(probe, &probe->sends, &completion, deadline)
		       ? -1
		       : 0;
}

void probe_meet(struct probe *probe, const struct order *region)
{
	probe->peer_address = region->address;
	probe->peer_length = region->length;
	probe->peer_rkey = region->rkey;
}

void probe_tell_region(const struct probe *probe, struct order *region)
{
	region->address = (uintptr_t)probe->offered.start;
	region->length = (uint32_t)probe->offered.size;
	region->rkey = probe->offered.mr->rkey;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int probe_run(struct probe *probe, uint32_t size, uint32_t milliseconds, deadline_t deadline,
	uint64_t *bytes, uint64_t *nanoseconds)
{
	deadline_t end = deadline_in(milliseconds);
	uint64_t start = now_ns();
	unsigned int under_way = 0;
	struct ibv_wc completion;
	bool more = true;

	*bytes = 0;
	while (more || under_way > 0) {
		for (; more && under_way < PROBE_DEPTH; under_way++)
			if (post(probe, IBV_WR_RDMA_WRITE, &probe->private, size))
				return -1;
		if (await_completion(probe, &probe->sends, &completion, deadline))
			return -1;
		*bytes += size;
		under_way--;
		more = deadline_left(end) > 0;
	}
	*nanoseconds = now_ns() - start;
	return 0;
}

/*
 * A queue must not be armed when it is destroyed: soft-RoCE raises the event without looking whether
 * the queue is still there (rdma-common.c). So the queue pair fails, and its receives and one send more
 * come back, each with the event.
 */
static void disarm(struct probe *probe)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};
	struct ibv_send_wr *bad, marker = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct pollfd waiting = {.fd = probe->channel->fd, .events = POLLIN};
	deadline_t deadline = deadline_in(DISARM_MS);

	ibv_modify_qp(probe->id->qp, &attributes, IBV_QP_STATE);
	if (probe->sends.armed)
		ibv_post_send(probe->id->qp, &marker, &bad);
	while ((probe->sends.armed || probe->receives.armed) &&
		poll(&waiting, 1, deadline_left(deadline)) > 0)
		take_cq_events(probe);
}

void probe_close(struct probe *probe)
{
	if (probe->connected && !probe->disconnected)
		rdma_disconnect(probe->id);
	if (probe->id->qp) {
		disarm(probe);
		rdma_destroy_qp(probe->id);
	}
	if (probe->sends.cq)
		ibv_destroy_cq(probe->sends.cq);
	if (probe->receives.cq)
		ibv_destroy_cq(probe->receives.cq);
	if (probe->channel)
		ibv_destroy_comp_channel(probe->channel);
	free_memory(&probe->offered);
	free_memory(&probe->private);
	free_memory(&probe->messages);
	if (probe->pd)
		ibv_dealloc_pd(probe->pd);
	rdma_destroy_id(probe->id);
	rdma_destroy_event_channel(probe->events);
}
