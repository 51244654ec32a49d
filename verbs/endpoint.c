/*
 * One end of a connection: its queues, posted work requests and completions. The endpoint owns the
 * protection domain, the completion queue and the queue pairs; the caller owns the rdma_cm_id, the
 * completion channel and all registered memory.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "host/memory-budget.h"
#include "verbs/bootstrap.h"
#include "verbs/cm.h"
#include "verbs/device-events.h"
#include "verbs/endpoint.h"
#include "verbs/resource-limit.h"

/* Encodes a wr_id: kind, queue pair index, and number or slot. */
#define WR_ID(kind, index, number) \
	((uint64_t)(kind) | (uint64_t)(index) << 8 | (uint64_t)(number) << 16)
#define WR_KIND(wr_id)   ((unsigned int)((wr_id)&0xff))
#define WR_INDEX(wr_id)  ((unsigned int)((wr_id) >> 8 & 0xff))
#define WR_NUMBER(wr_id) ((wr_id) >> 16)

/*
 * What the memory budget counts for a connection besides its regions, in bytes: its threads,
 * buffers and kernel objects, and what drivers and the kernel keep for each request in its queues.
 * Measured on Linux 6.1 with the 228 requests of an exchange of files: 180 KiB over soft-RoCE, 160
 * KiB over software iWARP; adapters need more for their queues.
 */
#define CONNECTION_MEMORY UINT64_C(196608)
#define REQUEST_MEMORY    UINT64_C(512)

/* The send queue is divided into this many parts, with one signaled work request in each. */
#define SIGNALED_PARTS 4

static int queue_pair_failed(struct failure *failure, const char *call, int error, const char *what)
{
	/* A thread that cannot be started is no RDMA resource. */
	if (strncmp(call, "ibv_", 4) == 0 &&
		resource_limit_is_reached(NULL, PHASE_QUEUE_PAIR, call, error, failure))
		return -1;
	return failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, error, call, "%s: %s", what,
		strerror(error));
}

/* The attributes shared by all queue pairs. */
static struct ibv_qp_init_attr queue_pair_attributes(
	const struct endpoint *endpoint, const struct queue_size *size)
{
	return (struct ibv_qp_init_attr){
		.qp_type = IBV_QPT_RC,
		.send_cq = endpoint->cq,
		.recv_cq = endpoint->cq,
		.cap = {.max_send_wr = size->sends,
			.max_recv_wr = size->receives,
			.max_send_sge = size->gathers ? size->gathers : 1,
			.max_recv_sge = 1,
			.max_inline_data = size->inline_max},
	};
}

static int create_failed(const struct endpoint *endpoint, const struct queue_size *size, int error,
	struct failure *failure)
{
	struct ibv_device_attr allowed = {0};

	if (resource_limit_is_reached(ibv_get_device_name(endpoint->id->verbs->device),
		    PHASE_QUEUE_PAIR, "rdma_create_qp", error, failure))
		return -1;
	ibv_query_device(endpoint->id->verbs, &allowed);
	if (error == EINVAL && allowed.max_qp_wr >= (int)size->sends)
		/* The size is allowed, so the request must have been abandoned. */
		return failure_set(failure, FAILURE_GONE, PHASE_CONNECT, error, "rdma_create_qp",
			"the client gave up before the server accepted the connection");
	return failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, error, "rdma_create_qp",
		"%s; requested %u+%u work requests, the device allows %d each and %d queue pairs",
		strerror(error), size->sends, size->receives, allowed.max_qp_wr, allowed.max_qp);
}

/* Makes room for completions that must wait for their turn. Returns 0 or -1. */
static int make_room_for_held(const struct endpoint *endpoint, struct queue_pair *pair)
{
	if (!endpoint->traits->completes_out_of_order)
		return 0;
	pair->held = calloc(pair->size.sends, sizeof(*pair->held));
	return pair->held ? 0 : -1;
}

/*
 * Creates the first queue pair with as much inline data as the device accepts, at most
 * size.inline_max. Returns 0, or -1 with errno set if the device rejects a queue pair without any.
 */
static int create_with_most(
	struct endpoint *endpoint, struct queue_pair *pair, struct ibv_qp_init_attr *attributes)
{
	uint32_t accepted = 0, rejected = pair->size.inline_max + 1;

	while (rejected - accepted > 1) {
		uint32_t middle = pair->size.inline_max;

		*attributes = queue_pair_attributes(endpoint, &pair->size);
		if (bootstrap_of(endpoint->id)
				->create_queue_pair(endpoint->id, endpoint->pd, attributes)) {
			rejected = middle;
		} else {
			accepted = middle;
			bootstrap_of(endpoint->id)->destroy_queue_pair(endpoint->id);
		}
		pair->size.inline_max = (accepted + rejected) / 2;
	}
	pair->size.inline_max = accepted;
	*attributes = queue_pair_attributes(endpoint, &pair->size);
	return bootstrap_of(endpoint->id)
		->create_queue_pair(endpoint->id, endpoint->pd, attributes);
}

/* Devices reject requests for too much inline data: halve the size until one is accepted. */
static int create_first(
	struct endpoint *endpoint, const struct queue_size *size, struct failure *failure)
{
	struct queue_pair *pair = &endpoint->pairs[0];
	struct ibv_qp_init_attr attributes;

	pair->size = *size;
	if (make_room_for_held(endpoint, pair))
		return queue_pair_failed(failure, "calloc", ENOMEM, "cannot create a queue pair");
	if (size->inline_exact && create_with_most(endpoint, pair, &attributes))
		return create_failed(endpoint, size, errno, failure);
	for (; !size->inline_exact; pair->size.inline_max /= 2) {
		attributes = queue_pair_attributes(endpoint, &pair->size);
		if (bootstrap_of(endpoint->id)
				->create_queue_pair(endpoint->id, endpoint->pd, &attributes) == 0)
			break;
		if (pair->size.inline_max == 0)
			return create_failed(endpoint, size, errno, failure);
	}
	/* The device may allow more inline data than requested. */
	if (pair->size.inline_max > 0)
		pair->size.inline_max = attributes.cap.max_inline_data;
	pair->qp = endpoint->id->qp;
	device_events_forget(pair->qp);
	return 0;
}

/* Takes what a connection with queues for this many requests needs besides its regions. */
static int take_memory(struct endpoint *endpoint, uint32_t requests, struct failure *failure)
{
	uint64_t bytes = CONNECTION_MEMORY + requests * REQUEST_MEMORY;

	if (memory_budget_take(bytes, failure))
		return -1;
	memory_budget_filled(bytes);
	endpoint->memory = bytes;
	return 0;
}

/* True if this kernel breaks a queue pair when it cannot send a packet. */
static bool flushes_unsent(const struct device_traits *traits)
{
	struct utsname system;

	return uname(&system) == 0 && linux_version(system.release) >= traits->flushes_unsent;
}

int endpoint_open(struct endpoint *endpoint, struct rdma_cm_id *id, struct device *device,
	const struct queue_size *size, unsigned int pairs, struct failure *failure)
{
	*endpoint = (struct endpoint){
		.id = id,
		.pair_count = 1,
		.traits = device->traits,
		.vector = device_next_vector(device),
	};
	if (endpoint->traits->flushes_unsent > 0)
		send_errors_begin(&endpoint->unsent, "", ibv_get_device_name(id->verbs->device),
			id->port_num, flushes_unsent(endpoint->traits));
	if (take_memory(endpoint, pairs * (size->sends + size->receives), failure))
		return -1;
	endpoint->pairs = calloc(pairs, sizeof(*endpoint->pairs));
	if (!endpoint->pairs)
		return failure_set(failure, FAILURE_ERRNO, PHASE_ALLOCATION, ENOMEM, "calloc", "");
	endpoint->pd = ibv_alloc_pd(id->verbs);
	if (!endpoint->pd)
		return queue_pair_failed(
			failure, "ibv_alloc_pd", errno, "cannot allocate a protection domain");
	endpoint->cq = ibv_create_cq(id->verbs, (int)(pairs * (size->sends + size->receives)),
		endpoint, device->channel, endpoint->vector);
	if (!endpoint->cq)
		return queue_pair_failed(
			failure, "ibv_create_cq", errno, "cannot create a completion queue");
	return create_first(endpoint, size, failure);
}

/* The attributes of these that a queue pair of this type has: ibv_modify_qp(3). */
static int mask_of(enum ibv_qp_type type, enum ibv_qp_state to, int mask)
{
	if (type == IBV_QPT_UC)
		return mask &
		       ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_TIMEOUT |
			       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	if (type != IBV_QPT_UD)
		return mask;
	if (to == IBV_QPS_INIT)
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	return IBV_QP_STATE | (to == IBV_QPS_RTS ? IBV_QP_SQ_PSN : 0);
}

/*
 * The address of the peer with its GID. On InfiniBand within a subnet, the connection's packets
 * have no global route, but a datagram may.
 */
static int make_address(
	const struct endpoint *endpoint, struct queue_pair *pair, struct failure *failure)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTR};
	int mask;

	if (bootstrap_of(endpoint->id)->attributes(endpoint->id, &attributes, &mask))
		return failure_errno(failure, PHASE_QUEUE_PAIR, "rdma_init_qp_attr", errno);
	if (!attributes.ah_attr.is_global) {
		attributes.ah_attr.is_global = 1;
		attributes.ah_attr.grh.dgid = endpoint->id->route.addr.addr.ibaddr.dgid;
		attributes.ah_attr.grh.hop_limit = 1;
	}
	pair->address = ibv_create_ah(endpoint->pd, &attributes.ah_attr);
	return pair->address ? 0 : failure_errno(failure, PHASE_QUEUE_PAIR, "ibv_create_ah", errno);
}

/*
 * Moves an added queue pair to this state with the attributes that rdmacm uses for the first one.
 * ibv_query_qp() would not do: irdma leaves out some of them, and returns the P_Key itself as its
 * index. To INIT, the peer's number has no effect.
 *
 * Each end uses its queue pair number as its initial packet sequence number; any value would do.
 * InfiniBand specification, volume 1, 10.3.1.
 */
static int advance_queue_pair(const struct endpoint *endpoint, struct queue_pair *pair,
	enum ibv_qp_state to, uint32_t number_of_peer, struct failure *failure)
{
	struct ibv_qp_attr attributes = {.qp_state = to};
	int error, mask;

	if (bootstrap_of(endpoint->id)->attributes(endpoint->id, &attributes, &mask))
		return failure_errno(failure, PHASE_QUEUE_PAIR, "rdma_init_qp_attr", errno);
	attributes.dest_qp_num = number_of_peer;
	attributes.rq_psn = number_of_peer & 0xffffff;
	attributes.sq_psn = pair->qp->qp_num & 0xffffff;
	attributes.qkey = ENDPOINT_QKEY;
	mask = mask_of(pair->qp->qp_type, to, mask);
	error = ibv_modify_qp(pair->qp, &attributes, mask);
	return error ? failure_errno(failure, PHASE_QUEUE_PAIR, "ibv_modify_qp", error) : 0;
}

/*
 * Records that another queue pair cannot be created. No attribute of a device tells which types it
 * has; the first queue pair, which differs in nothing else, has been created.
 */
static void add_failed(const struct endpoint *endpoint, int error, struct failure *failure)
{
	if (endpoint->added > IBV_QPT_RC && (error == EOPNOTSUPP || error == EINVAL))
		failure_set(failure, FAILURE_HOST, PHASE_MEASUREMENT, HOST_NO_OPTION,
			"ibv_create_qp", "--transport: %s of this host has no %s",
			ibv_get_device_name(endpoint->pd->context->device),
			endpoint->added == IBV_QPT_UC ? "IBV_QPT_UC" : "IBV_QPT_UD");
	else
		queue_pair_failed(
			failure, "ibv_create_qp", error, "cannot create another queue pair");
}

struct queue_pair *endpoint_add_queue_pair(struct endpoint *endpoint, struct failure *failure)
{
	struct queue_pair *first = &endpoint->pairs[0];
	struct queue_pair *pair = &endpoint->pairs[endpoint->pair_count];
	struct ibv_qp_init_attr wanted = queue_pair_attributes(endpoint, &first->size);

	if (endpoint->added)
		wanted.qp_type = endpoint->added;
	if (endpoint->shared) {
		wanted.srq = endpoint->shared->srq;
		wanted.cap.max_recv_wr = wanted.cap.max_recv_sge = 0;
	}
	pair->qp = ibv_create_qp(endpoint->pd, &wanted);
	if (!pair->qp) {
		add_failed(endpoint, errno, failure);
		return NULL;
	}
	pair->index = (uint8_t)endpoint->pair_count++;
	pair->size = first->size;
	if (make_room_for_held(endpoint, pair)) {
		queue_pair_failed(failure, "calloc", ENOMEM, "cannot create another queue pair");
		return NULL;
	}
	return advance_queue_pair(endpoint, pair, IBV_QPS_INIT, 0, failure) ? NULL : pair;
}

int endpoint_connect_queue_pair(struct endpoint *endpoint, struct queue_pair *pair,
	uint32_t number_of_peer, struct failure *failure)
{
	pair->number_of_peer = number_of_peer;
	return advance_queue_pair(endpoint, pair, IBV_QPS_RTR, number_of_peer, failure) ||
			       advance_queue_pair(
				       endpoint, pair, IBV_QPS_RTS, number_of_peer, failure) ||
			       (pair->qp->qp_type == IBV_QPT_UD &&
				       make_address(endpoint, pair, failure))
		       ? -1
		       : 0;
}

/* ibv_query_qp() would not do: irdma leaves out the address vector. */
bool endpoint_global_route(const struct endpoint *endpoint, struct ibv_global_route *route)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTR};
	int mask = 0;

	if (bootstrap_of(endpoint->id)->attributes(endpoint->id, &attributes, &mask) ||
		!(mask & IBV_QP_AV) || !attributes.ah_attr.is_global)
		return false;
	*route = attributes.ah_attr.grh;
	return true;
}

/* The upper six bits of the traffic class are the DSCP, the lower two are for congestion (ECN). */
int endpoint_dscp(const struct endpoint *endpoint)
{
	struct ibv_global_route route;

	return endpoint_global_route(endpoint, &route) ? route.traffic_class >> 2 : -1;
}

unsigned int endpoint_path_mtu(const struct endpoint *endpoint)
{
	struct ibv_qp_init_attr initial;
	struct ibv_qp_attr attributes = {0};

	return ibv_query_qp(endpoint->pairs[0].qp, &attributes, IBV_QP_PATH_MTU, &initial)
		       ? 0
		       : device_mtu_bytes(attributes.path_mtu);
}

void queue_pair_set_slots(struct queue_pair *pair, struct slot_area area)
{
	pair->slots = area;
}

void queue_pair_add_slots(struct queue_pair *pair, uint64_t from, struct slot_area area)
{
	pair->more = area;
	pair->more_from = from;
}

/* The buffer of this slot. */
static struct ibv_sge buffer_of(const struct queue_pair *pair, uint64_t slot)
{
	bool more = pair->more_from && slot >= pair->more_from;
	const struct slot_area *area = more ? &pair->more : &pair->slots;
	uint64_t number = area->shared ? 0 : slot - (more ? pair->more_from : 0);

	return (struct ibv_sge){
		.addr = (uintptr_t)area->start + number * area->slot_size,
		.length = area->slot_size,
		.lkey = area->key,
	};
}

int endpoint_post_result(int error)
{
	if (error == -1)
		error = errno ? errno : EIO;
	return error > 0 ? -error : error;
}

int queue_pair_post_receive(struct queue_pair *pair, uint64_t slot)
{
	struct ibv_sge sge = buffer_of(pair, slot);
	struct ibv_recv_wr *bad, request = {
					 .wr_id = WR_ID(ENDPOINT_RECEIVE, pair->index, slot),
					 .sg_list = &sge,
					 .num_sge = 1,
				 };
	int error = endpoint_post_result(ibv_post_recv(pair->qp, &request, &bad));

	if (!error)
		pair->receives_posted++;
	return error;
}

int queue_pair_post_receives(struct queue_pair *pair, uint64_t count)
{
	int error = 0;

	for (uint64_t slot = 0; !error && slot < count; slot++)
		error = queue_pair_post_receive(pair, slot);
	return error;
}

int queue_pair_post(struct queue_pair *pair, unsigned int kind, struct ibv_send_wr *first)
{
	uint64_t number = pair->sends_posted, signaled = pair->last_signaled;
	uint32_t within =
		pair->signal_within ? pair->signal_within : pair->size.sends / SIGNALED_PARTS;
	struct ibv_send_wr *bad = NULL;
	int error;

	for (struct ibv_send_wr *request = first; request; request = request->next) {
		request->wr_id = WR_ID(kind, pair->index, number);
		if (++number - signaled >= within || pair->held)
			request->send_flags |= IBV_SEND_SIGNALED;
		if (request->send_flags & IBV_SEND_SIGNALED)
			signaled = number;
	}
	error = endpoint_post_result(ibv_post_send(pair->qp, first, &bad));
	if (!error) {
		pair->sends_posted = number;
		pair->last_signaled = signaled;
		return 0;
	}
	/* The requests before `bad` have been posted. */
	for (; first && first != bad; first = first->next) {
		pair->sends_posted++;
		if (first->send_flags & IBV_SEND_SIGNALED)
			pair->last_signaled = pair->sends_posted;
	}
	return error;
}

uint64_t queue_pair_capacity(const struct queue_pair *pair, uint64_t reserved)
{
	uint64_t used = pair->sends_posted - pair->sends_completed + reserved;

	return used < pair->size.sends ? pair->size.sends - used : 0;
}

bool queue_pair_is_unacknowledged(const struct queue_pair *pair)
{
	return pair->last_signaled > pair->sends_completed;
}

bool completion_is_refusal(const struct completion *completion)
{
	enum ibv_wc_status status = completion->wc->status;

	return completion->kind != ENDPOINT_RECEIVE &&
	       (status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_OP_ERR);
}

int endpoint_poll(struct endpoint *endpoint, struct completion_batch *batch)
{
	int count = ibv_poll_cq(endpoint->cq, ENDPOINT_BATCH, batch->wcs);

	batch->count = count > 0 ? count : 0;
	batch->next = 0;
	batch->last = NULL;
	return count < 0 ? -EIO : count;
}

/* Returns the entry of the queue pair for the completion of a send. */
static struct held_completion *held_completion(struct queue_pair *pair, uint64_t number)
{
	return &pair->held[number % pair->size.sends];
}

/* True if this is the completion of a send, and an earlier send has not completed. */
static bool overtakes(const struct queue_pair *pair, const struct ibv_wc *wc)
{
	return pair->held && WR_KIND(wc->wr_id) != ENDPOINT_RECEIVE &&
	       WR_KIND(wc->wr_id) != ENDPOINT_SHARED &&
	       WR_NUMBER(wc->wr_id) != pair->sends_completed;
}

/* Returns the held completion that is next on the queue pair, or NULL. */
static struct ibv_wc *release_held(struct queue_pair *pair)
{
	struct held_completion *next = held_completion(pair, pair->sends_completed);

	if (!next->present)
		return NULL;
	next->present = false;
	return &next->wc;
}

/* The queue pair of a completion: only a shared receive does not name it. */
static struct queue_pair *pair_of(struct endpoint *endpoint, const struct ibv_wc *wc)
{
	if (WR_KIND(wc->wr_id) != ENDPOINT_SHARED)
		return &endpoint->pairs[WR_INDEX(wc->wr_id)];
	for (unsigned int i = 1; i < endpoint->pair_count; i++)
		if (endpoint->pairs[i].qp->qp_num == wc->qp_num)
			return &endpoint->pairs[i];
	return endpoint->pairs;
}

/* Returns the next completion, in posting order on each queue pair, or NULL after the last one. */
static struct ibv_wc *next_in_order(struct endpoint *endpoint, struct completion_batch *batch)
{
	struct ibv_wc *wc = batch->last && batch->last->held ? release_held(batch->last) : NULL;
	struct queue_pair *pair;

	if (wc)
		return wc;
	while (batch->next < batch->count) {
		wc = &batch->wcs[batch->next++];
		pair = pair_of(endpoint, wc);
		if (!overtakes(pair, wc))
			return wc;
		*held_completion(pair, WR_NUMBER(wc->wr_id)) = (struct held_completion){true, *wc};
	}
	return NULL;
}

bool endpoint_next_completion(
	struct endpoint *endpoint, struct completion_batch *batch, struct completion *completion)
{
	struct ibv_wc *wc = next_in_order(endpoint, batch);
	struct queue_pair *pair;

	if (!wc)
		return false;
	pair = pair_of(endpoint, wc);
	*completion = (struct completion){
		.wc = wc,
		.pair = pair,
		.kind = WR_KIND(wc->wr_id),
		.number = WR_NUMBER(wc->wr_id),
		.shared = WR_KIND(wc->wr_id) == ENDPOINT_SHARED,
	};
	if (completion->shared) {
		completion->kind = ENDPOINT_RECEIVE;
		shared_receives_take(endpoint->shared);
		completion->data = shared_receives_slot(endpoint->shared, completion->number);
		return true;
	}
	if (completion->kind == ENDPOINT_RECEIVE) {
		/* Soft-RoCE's status for a message longer than the receive buffer. */
		if (wc->status == IBV_WC_LOC_QP_OP_ERR)
			wc->status = IBV_WC_LOC_LEN_ERR;
		pair->receives_posted--;
		completion->data =
			(const uint8_t *)(uintptr_t)buffer_of(pair, completion->number).addr;
	} else {
		/* Software iWARP's status if the connection ends during the send. */
		if (endpoint->traits->flushes_as_local_error && wc->status == IBV_WC_LOC_QP_OP_ERR)
			wc->status = IBV_WC_WR_FLUSH_ERR;
		completion->sends = completion->number + 1 - pair->sends_completed;
		pair->sends_completed = completion->number + 1;
		batch->last = pair;
	}
	return true;
}

int endpoint_arm(struct endpoint *endpoint)
{
	endpoint->armed = ibv_req_notify_cq(endpoint->cq, 0) == 0;
	return endpoint->armed ? 0 : -EIO;
}

struct endpoint *endpoint_take_event(struct ibv_comp_channel *channel, int *error)
{
	struct endpoint *endpoint;
	struct ibv_cq *cq;
	void *context;

	*error = 0;
	if (ibv_get_cq_event(channel, &cq, &context)) {
		if (errno != EAGAIN && errno != EINTR)
			*error = -errno;
		return NULL;
	}
	endpoint = context;
	/* An abandoned endpoint may be freed as soon as its event is acknowledged. */
	if (endpoint->abandoned)
		endpoint = NULL;
	else
		endpoint->armed = false;
	ibv_ack_cq_events(cq, 1);
	return endpoint;
}

void endpoint_flush(struct endpoint *endpoint)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};

	for (unsigned int i = 0; endpoint->traits->drains && i < endpoint->pair_count; i++)
		if (endpoint->pairs[i].qp)
			ibv_modify_qp(endpoint->pairs[i].qp, &attributes, IBV_QP_STATE);
}

bool endpoint_is_outstanding(const struct endpoint *endpoint)
{
	const struct queue_pair *pair = &endpoint->pairs[0];

	return endpoint->traits->drains &&
	       (pair->receives_posted > 0 || pair->sends_posted > pair->sends_completed);
}

/* Posts the drain work request, which completes after all others. Returns 0 or -errno. */
static int post_drain(struct endpoint *endpoint)
{
	struct ibv_send_wr request = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	int error = queue_pair_post(&endpoint->pairs[0], ENDPOINT_DRAIN, &request);

	if (!error)
		endpoint->drain = endpoint->pairs[0].sends_posted;
	return error;
}

bool endpoint_is_drained(struct endpoint *endpoint)
{
	struct queue_pair *pair = &endpoint->pairs[0];
	bool sends = pair->sends_posted > pair->sends_completed;
	bool idle = !sends && pair->receives_posted == 0;

	if (!endpoint->traits->drains || (idle && !endpoint->armed))
		return true;
	if (endpoint->drain > pair->sends_completed)
		return false;
	if (idle || sends)
		return post_drain(endpoint) && idle;
	return false; /* the device flushes the receives */
}

void endpoint_drain(
	struct endpoint *endpoint, struct ibv_comp_channel *channel, deadline_t deadline)
{
	struct pollfd waiting = {.fd = channel->fd, .events = POLLIN};
	struct completion_batch batch;
	struct completion completion;
	int count = 0, ignored;

	endpoint_flush(endpoint);
	while (count >= 0 && !endpoint_is_drained(endpoint) && deadline_left(deadline) > 0) {
		while (endpoint_take_event(channel, &ignored))
			;
		count = endpoint_poll(endpoint, &batch);
		while (endpoint_next_completion(endpoint, &batch, &completion))
			;
		if (count == 0 && endpoint->armed)
			poll(&waiting, 1, deadline_left(deadline));
		else if (count == 0)
			count = endpoint_arm(endpoint);
	}
}

void endpoint_blame(const struct endpoint *endpoint, struct failure *failure)
{
	if (!endpoint->id)
		return;
	device_blame(endpoint->id, failure);
	send_errors_blame(&endpoint->unsent, "", failure);
}

void endpoint_close_queues(struct endpoint *endpoint)
{
	for (unsigned int i = 1; i < endpoint->pair_count; i++)
		if (endpoint->pairs[i].qp) {
			ibv_destroy_qp(endpoint->pairs[i].qp);
			if (endpoint->pairs[i].address)
				ibv_destroy_ah(endpoint->pairs[i].address);
		}
	if (endpoint->pairs && endpoint->pairs[0].qp)
		bootstrap_of(endpoint->id)->destroy_queue_pair(endpoint->id);
	for (unsigned int i = 0; endpoint->pairs && i < endpoint->pair_count; i++)
		free(endpoint->pairs[i].held);
	if (endpoint->cq)
		ibv_destroy_cq(endpoint->cq);
	free(endpoint->pairs);
	endpoint->pairs = NULL;
	endpoint->pair_count = 0;
	endpoint->cq = NULL;
}

void endpoint_close(struct endpoint *endpoint)
{
	endpoint_close_queues(endpoint);
	if (endpoint->pd)
		ibv_dealloc_pd(endpoint->pd);
	memory_budget_return(endpoint->memory, endpoint->memory);
	*endpoint = (struct endpoint){0};
}
