#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/guard-pages.h"
#include "control/wait.h"
#include "verbs/memory.h"

/* Where the messages lie: one that we send, then those that we receive. */
#define SLOT(index) ((size_t)(index)*COMMAND_MAX)

/* Bytes that are asked for to go inline. */
#define INLINE_MAX 256

/* How long the device may take to give back what is posted. */
#define DISARM_MS 1000

void probe_init(struct probe *probe, struct rdma_event_channel *events, struct rdma_cm_id *id,
	const struct sockaddr *peer, const struct secret *secret, enum secret_role role)
{
	*probe = (struct probe){.events = events, .id = id, .stop_fd = -1};
	handshake_init(&probe->handshake, secret, role);
	address_port_text(peer, probe->peer);
}

static int map_memory(struct probe *probe, struct probe_memory *memory, size_t size)
{
	memory->size = size;
	memory->start = guard_pages_map(size);
	return memory->start ? 0 : probe_call_failed(probe, PHASE_MEMORY, "mmap", errno);
}

static int register_memory(struct probe *probe, struct probe_memory *memory, int access)
{
	struct region region = {.start = memory->start,
		.size = memory->size,
		.mapped = guard_pages_round(memory->size),
		.access = access};

	if (region_register(&region, probe->pd, &probe->failure))
		return -1;
	memory->mr = region.mr;
	return 0;
}

int probe_make_memory(struct probe *probe, struct probe_memory *memory, size_t size, int access)
{
	return map_memory(probe, memory, size) || register_memory(probe, memory, access) ? -1 : 0;
}

int probe_open(struct probe *probe)
{
	return register_memory(probe, &probe->offered,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
}

void probe_prove(
	const struct probe *probe, struct command *command, uint8_t text[SECRET_PROOF_SIZE])
{
	handshake_prove(&probe->handshake, text);
	command->text = (const char *)text;
	command->text_size = SECRET_PROOF_SIZE;
}

bool probe_is_proved(const struct probe *probe, const struct command *command)
{
	return command->type == COMMAND_PROOF && command->text_size == SECRET_PROOF_SIZE &&
	       handshake_is_proved(&probe->handshake, (const uint8_t *)command->text);
}

static int post_receive(struct probe *probe, unsigned int slot)
{
	struct ibv_sge piece = {
		.addr = (uintptr_t)probe->messages.start + SLOT(slot),
		.length = COMMAND_MAX,
		.lkey = probe->messages.mr->lkey,
	};
	struct ibv_recv_wr *bad, request = {.wr_id = slot, .sg_list = &piece, .num_sge = 1};
	int error = ibv_post_recv(probe->id->qp, &request, &bad);

	return error ? probe_call_failed(probe, PHASE_MEMORY, "ibv_post_recv", error) : 0;
}

struct ibv_qp_init_attr probe_queue_pair(
	const struct probe *probe, uint32_t depth, uint32_t inline_bytes)
{
	return (struct ibv_qp_init_attr){
		.qp_type = IBV_QPT_RC,
		.send_cq = probe->sends.cq,
		.recv_cq = probe->receives.cq,
		.cap = {.max_send_wr = depth + PROBE_MESSAGES,
			.max_recv_wr = PROBE_RECEIVES,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = inline_bytes},
	};
}

/* Devices differ in how much they take inline, and refuse more: so less is asked for until one agrees. */
static int create_queue_pair(struct probe *probe, uint32_t depth)
{
	struct ibv_qp_init_attr attributes;

	for (uint32_t bytes = INLINE_MAX;; bytes /= 2) {
		attributes = probe_queue_pair(probe, depth, bytes);
		if (rdma_create_qp(probe->id, probe->pd, &attributes) == 0)
			break;
		if (bytes == 0)
			return probe_call_failed(probe, PHASE_QUEUE_PAIR, "rdma_create_qp", errno);
	}
	probe->inline_max = attributes.cap.max_inline_data;
	return 0;
}

static int make_queue_pair(struct probe *probe, uint32_t queue_pairs, uint32_t depth)
{
	int sends = (int)(queue_pairs * (depth + PROBE_MESSAGES));
	int receives = (int)(queue_pairs * PROBE_RECEIVES);
	int flags;

	probe->pd = ibv_alloc_pd(probe->id->verbs);
	if (!probe->pd)
		return probe_call_failed(probe, PHASE_QUEUE_PAIR, "ibv_alloc_pd", errno);
	probe->channel = ibv_create_comp_channel(probe->id->verbs);
	if (!probe->channel)
		return probe_call_failed(probe, PHASE_QUEUE_PAIR, "ibv_create_comp_channel", errno);
	flags = fcntl(probe->channel->fd, F_GETFL);
	fcntl(probe->channel->fd, F_SETFL, flags | O_NONBLOCK);
	probe->sends.cq = ibv_create_cq(probe->id->verbs, sends, &probe->sends, probe->channel, 0);
	probe->receives.cq =
		ibv_create_cq(probe->id->verbs, receives, &probe->receives, probe->channel, 0);
	if (!probe->sends.cq || !probe->receives.cq)
		return probe_call_failed(probe, PHASE_QUEUE_PAIR, "ibv_create_cq", errno);
	return create_queue_pair(probe, depth);
}

/* On iWARP the target of a READ needs the right of a remote WRITE. Its key goes to nobody. */
static int private_access(const struct probe *probe)
{
	bool iwarp = probe->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;

	return IBV_ACCESS_LOCAL_WRITE | (iwarp ? IBV_ACCESS_REMOTE_WRITE : 0);
}

int probe_prepare(struct probe *probe, uint32_t queue_pairs, uint32_t depth)
{
	uint8_t timeout = TRANSPORT_ACK_TIMEOUT;

	rdma_set_option(
		probe->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof(timeout));
	if (make_queue_pair(probe, queue_pairs, depth) ||
		map_memory(probe, &probe->offered, COMMAND_REGION_MIN) ||
		(!probe->handshake.secret && probe_open(probe)) ||
		probe_make_memory(
			probe, &probe->private, COMMAND_REGION_MIN, private_access(probe)) ||
		probe_make_memory(
			probe, &probe->messages, SLOT(1 + PROBE_RECEIVES), IBV_ACCESS_LOCAL_WRITE))
		return -1;
	for (unsigned int slot = 1; slot <= PROBE_RECEIVES; slot++)
		if (post_receive(probe, slot))
			return -1;
	return 0;
}

void probe_free_memory(struct probe_memory *memory)
{
	if (memory->mr)
		ibv_dereg_mr(memory->mr);
	guard_pages_unmap(memory->start, memory->size);
	*memory = (struct probe_memory){0};
}

int probe_enlarge(struct probe *probe, size_t size)
{
	if (size <= probe->private.size)
		return 0;
	probe_free_memory(&probe->offered);
	probe_free_memory(&probe->private);
	return map_memory(probe, &probe->offered, size) || probe_open(probe) ||
			       probe_make_memory(
				       probe, &probe->private, size, private_access(probe))
		       ? -1
		       : 0;
}

int probe_send(struct probe *probe, const struct command *message, deadline_t deadline)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)probe->messages.start,
		.length = (uint32_t)command_encode(message, probe->messages.start),
		.lkey = probe->messages.mr->lkey,
	};
	struct ibv_send_wr *bad, request = {
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_SEND,
					 .send_flags = IBV_SEND_SIGNALED,
				 };
	int error = failure_is_set(&probe->failure) ? ECANCELED
						    : ibv_post_send(probe->id->qp, &request, &bad);
	struct ibv_wc completion;

	if (error)
		return probe_call_failed(probe, PHASE_EXCHANGE, "ibv_post_send", error);
	return probe_await_completion(probe, &probe->sends, &completion, deadline);
}

/* The message before is done with: its slot takes the next. */
static int release_slot(struct probe *probe)
{
	unsigned int slot = probe->slot;

	probe->slot = 0;
	return slot ? post_receive(probe, slot) : 0;
}

const void *probe_message(const struct probe *probe, const struct ibv_wc *completion)
{
	return probe->messages.start + SLOT(completion->wr_id);
}

int probe_release(struct probe *probe, const struct ibv_wc *completion)
{
	return post_receive(probe, (unsigned int)completion->wr_id);
}

/* The completion of the next message, which may have come during a run. */
static int next_message(struct probe *probe, struct ibv_wc *completion, deadline_t deadline)
{
	if (!probe->has_kept)
		return probe_await_completion(probe, &probe->receives, completion, deadline);
	probe->has_kept = false;
	*completion = probe->kept;
	return 0;
}

int probe_receive(struct probe *probe, struct command *message, deadline_t deadline)
{
	struct ibv_wc completion;
	int error;

	if (failure_is_set(&probe->failure) || release_slot(probe) ||
		next_message(probe, &completion, deadline))
		return -1;
	/* Of immediate data the length is that of a WRITE, and nothing new lies in the slot. */
	if (completion.opcode != IBV_WC_RECV)
		return failure_set(&probe->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO,
			"ibv_poll_cq", "it sent immediate data, which means nothing here");
	/* The other queue pairs of a measurement take notices, during a run. */
	if (completion.wr_id > PROBE_RECEIVES)
		return failure_set(&probe->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO,
			"ibv_poll_cq", "it sent a message where none may be");
	probe->slot = (unsigned int)completion.wr_id;
	if (completion.byte_len == 0)
		return 1;
	error = command_decode(
		message, probe->messages.start + SLOT(probe->slot), completion.byte_len);
	if (error)
		return failure_set(&probe->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, error,
			"order_decode", "it sent a message of %u bytes that makes no sense",
			completion.byte_len);
	return 0;
}

void probe_meet(struct probe *probe, const struct command *region)
{
	probe->peer_address = region->address;
	probe->peer_length = region->length;
	probe->peer_rkey = region->rkey;
}

void probe_tell_region(const struct probe *probe, struct command *region)
{
	region->address = (uintptr_t)probe->offered.start;
	region->length = (uint32_t)probe->offered.size;
	region->rkey = probe->offered.mr->rkey;
}

uint64_t probe_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * A queue must not be armed when it is destroyed: soft-RoCE raises the event without looking whether
 * the queue is still there (rdma-common.c). So the queue pair fails, and its receives and one send more
 * come back, each with the event.
 */
static void disarm(struct probe *probe)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};
	struct ibv_send_wr *bad, drain = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct pollfd waiting = {.fd = probe->channel->fd, .events = POLLIN};
	deadline_t deadline = deadline_in(DISARM_MS);

	ibv_modify_qp(probe->id->qp, &attributes, IBV_QP_STATE);
	if (probe->sends.armed)
		ibv_post_send(probe->id->qp, &drain, &bad);
	while ((probe->sends.armed || probe->receives.armed) &&
		poll(&waiting, 1, deadline_left(deadline)) > 0)
		probe_take_cq_events(probe);
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
	probe_free_memory(&probe->offered);
	probe_free_memory(&probe->private);
	probe_free_memory(&probe->messages);
	if (probe->pd)
		ibv_dealloc_pd(probe->pd);
	rdma_destroy_id(probe->id);
	rdma_destroy_event_channel(probe->events);
}
