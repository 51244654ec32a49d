/*
 * The resources of one end of a diagnosis's operations: see control/operation-end.h. The end owns
 * all of them; the control connection, which it only follows, belongs to the caller.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "control/operation-end.h"
#include "verbs/bootstrap.h"
#include "verbs/endpoint.h"

/* Requests and receives of all operations on one queue pair, with room to spare. */
#define QUEUE_SIZE 32

/* Room for everything that all queue pairs can complete. */
#define COMPLETIONS (2 * QUEUE_SIZE * OPERATION_QUEUES)

/* Pieces of memory of one request, and of one receive. */
#define SEND_PIECES    3
#define RECEIVE_PIECES 2

#define INLINE_MAX OPERATION_BYTES

/* The pause between two looks at the completion queue, in nanoseconds. */
#define PAUSE_NS 50000

/* A request's number: the operation, its step, and whether it is a receive. */
#define WR_ID(operation, step, receive) \
	((uint64_t)(operation) | (uint64_t)(step) << 8 | (uint64_t)(receive) << 16)

static enum ibv_qp_type type_of(enum operation_queue queue)
{
	if (queue == OPERATION_QUEUE_UNRELIABLE)
		return IBV_QPT_UC;
	return queue == OPERATION_QUEUE_DATAGRAM ? IBV_QPT_UD : IBV_QPT_RC;
}

/* Calls should set errno, or return it; some set nothing. */
static int error_of(int error)
{
	return error > 0 ? -error : -EIO;
}

/*
 * The memory of the active side is only the source of its requests and the sink of its READs, which
 * on iWARP the peer writes like any other memory.
 */
static int access_of(const struct operation_end *end)
{
	const struct device *device = &end->control->device;
	int access = IBV_ACCESS_LOCAL_WRITE;

	if (!end->passive)
		return access |
		       (device->traits->read_needs_remote_write ? IBV_ACCESS_REMOTE_WRITE : 0);
	access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	if (device_has_atomics(device))
		access |= IBV_ACCESS_REMOTE_ATOMIC;
	return device_has_windows(device) ? access | IBV_ACCESS_MW_BIND : access;
}

static int add_shared_queue(struct operation_end *end)
{
	struct ibv_srq_init_attr wanted = {.attr = {.max_wr = QUEUE_SIZE, .max_sge = 1}};

	if (end->passive && !end->srq)
		end->srq = ibv_create_srq(end->pd, &wanted);
	return end->passive && !end->srq ? error_of(errno) : 0;
}

/* Moves a queue pair to this state, with the attributes that rdmacm uses for the connection. */
static int advance(struct operation_end *end, enum operation_queue queue, enum ibv_qp_state to,
	uint32_t sequence_of_peer)
{
	const enum ibv_qp_type type = type_of(queue);
	struct ibv_qp_attr attributes = {.qp_state = to};
	int error, mask;

	if (bootstrap_of(end->control->id)->attributes(end->control->id, &attributes, &mask))
		return error_of(errno);
	attributes.dest_qp_num = end->queues[queue].number_of_peer;
	attributes.rq_psn = sequence_of_peer;
	attributes.sq_psn = end->queues[queue].sequence;
	attributes.qkey = OPERATION_QKEY;
	attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	if (device_has_atomics(&end->control->device))
		attributes.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
	if (type == IBV_QPT_UC)
		mask &= ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_TIMEOUT |
			  IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	if (type == IBV_QPT_UD)
		mask = to == IBV_QPS_INIT
			       ? IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY
			       : IBV_QP_STATE | (to == IBV_QPS_RTS ? IBV_QP_SQ_PSN : 0);
	error = ibv_modify_qp(end->queues[queue].qp, &attributes, mask);
	return error ? error_of(error) : 0;
}

bool operation_end_links(const struct operation_end *end)
{
	return !end->control->device.traits->own_queue_pairs;
}

static struct ibv_qp *create_queue_pair(
	struct operation_end *end, struct rdma_cm_id *id, struct ibv_qp_init_attr *attributes)
{
	if (!id)
		return ibv_create_qp(end->pd, attributes);
	return rdma_create_qp(id, end->pd, attributes) ? NULL : id->qp;
}

/* With an id, its connection needs no more than the queue pair. */
static int add_queue(struct operation_end *end, enum operation_queue queue, struct rdma_cm_id *id)
{
	const int most = end->control->device.attributes.max_sge;
	struct ibv_qp_init_attr wanted = {
		.qp_type = type_of(queue),
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.cap = {.max_send_wr = QUEUE_SIZE,
			.max_recv_wr = QUEUE_SIZE,
			.max_send_sge = most < SEND_PIECES ? 1 : SEND_PIECES,
			.max_recv_sge = most < RECEIVE_PIECES ? 1 : RECEIVE_PIECES,
			.max_inline_data = INLINE_MAX},
	};
	struct ibv_qp_init_attr attributes;
	struct ibv_qp *qp;
	int error;

	if (end->queues[queue].qp)
		return 0;
	if (queue == OPERATION_QUEUE_SHARED) {
		error = add_shared_queue(end);
		if (error)
			return error;
		wanted.srq = end->srq;
	}
	attributes = wanted;
	qp = create_queue_pair(end, id, &attributes);
	/* A device may have no inline data at all. */
	if (!qp) {
		attributes = wanted;
		attributes.cap.max_inline_data = 0;
		qp = create_queue_pair(end, id, &attributes);
	}
	if (!qp)
		return error_of(errno);
	end->queues[queue].qp = qp;
	end->queues[queue].inline_max = attributes.cap.max_inline_data;
	if (id)
		return 0;
	/* Any number would do. InfiniBand specification, volume 1, 10.3.1. */
	end->queues[queue].sequence = ~qp->qp_num & 0xffffff;
	return advance(end, queue, IBV_QPS_INIT, 0);
}

static int add_linked(void *user, enum operation_queue queue, struct rdma_cm_id *id)
{
	return add_queue(user, queue, id);
}

int operation_end_open(struct operation_end *end, struct control *control, bool passive)
{
	struct device *device = &control->device;
	const size_t size = (size_t)OPERATIONS * OPERATION_PART;
	struct failure failure = {0};

	*end = (struct operation_end){.control = control,
		.passive = passive,
		.links = {.control = control, .create = add_linked, .user = end}};
	end->pd = ibv_alloc_pd(device->verbs);
	if (!end->pd)
		return error_of(errno);
	end->cq = ibv_create_cq(device->verbs, COMPLETIONS, NULL, NULL, 0);
	if (!end->cq)
		return error_of(errno);
	if (region_create(&end->memory, device, end->pd, size, access_of(end), &failure) ||
		region_create(
			&end->receives, device, end->pd, size, IBV_ACCESS_LOCAL_WRITE, &failure))
		return -ENOMEM;
	return 0;
}

int operation_end_add_queue(struct operation_end *end, enum operation_queue queue)
{
	return add_queue(end, queue, NULL);
}

/*
 * The address of the peer with its GID. On InfiniBand within a subnet, the connection's packets
 * have no global route, but a datagram may.
 */
static int make_address(struct operation_end *end)
{
	struct rdma_cm_id *id = end->control->id;
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTR};
	int mask;

	if (bootstrap_of(id)->attributes(id, &attributes, &mask))
		return error_of(errno);
	if (!attributes.ah_attr.is_global) {
		attributes.ah_attr.is_global = 1;
		attributes.ah_attr.grh.dgid = id->route.addr.addr.ibaddr.dgid;
		attributes.ah_attr.grh.hop_limit = 1;
	}
	end->address = ibv_create_ah(end->pd, &attributes.ah_attr);
	return end->address ? 0 : error_of(errno);
}

int operation_end_connect(
	struct operation_end *end, enum operation_queue queue, uint32_t number, uint32_t sequence)
{
	int error;

	end->queues[queue].number_of_peer = number;
	error = advance(end, queue, IBV_QPS_RTR, sequence);
	if (!error)
		error = advance(end, queue, IBV_QPS_RTS, sequence);
	if (!error && queue == OPERATION_QUEUE_DATAGRAM && !end->passive)
		error = make_address(end);
	return error;
}

uint8_t *operation_part(const struct operation_end *end, enum operation operation)
{
	return end->memory.start + (size_t)operation * OPERATION_PART;
}

uint8_t *operation_receive(const struct operation_end *end, enum operation operation)
{
	return end->receives.start + (size_t)operation * OPERATION_PART;
}

static uint8_t byte_of(enum operation operation, size_t index)
{
	return (uint8_t)(0x5a + 29 * operation + index);
}

void operation_fill(uint8_t *data, enum operation operation)
{
	for (size_t i = 0; i < OPERATION_BYTES; i++)
		data[i] = byte_of(operation, i);
}

bool operation_is_filled(const uint8_t *data, enum operation operation)
{
	for (size_t i = 0; i < OPERATION_BYTES; i++)
		if (data[i] != byte_of(operation, i))
			return false;
	return true;
}

int operation_post_receive(struct operation_end *end, enum operation operation,
	enum operation_queue queue, uint32_t offset, const uint32_t sizes[], int pieces)
{
	uint8_t *start = operation_receive(end, operation) + offset;
	struct ibv_sge list[RECEIVE_PIECES];
	struct ibv_recv_wr *bad, request = {
					 .wr_id = WR_ID(operation, 0, 1),
					 .sg_list = list,
					 .num_sge = pieces,
				 };

	for (int i = 0; i < pieces; start += sizes[i], i++) {
		list[i].addr = (uintptr_t)start;
		list[i].length = sizes[i];
		list[i].lkey = end->receives.mr->lkey;
	}
	if (queue == OPERATION_QUEUE_SHARED)
		return endpoint_post_result(ibv_post_srq_recv(end->srq, &request, &bad));
	return endpoint_post_result(ibv_post_recv(end->queues[queue].qp, &request, &bad));
}

int operation_post(struct operation_end *end, enum operation operation, enum operation_queue queue,
	struct ibv_send_wr *request)
{
	struct ibv_send_wr *bad;
	int error;

	request->wr_id = WR_ID(operation, end->counts[operation].posted, 0);
	request->send_flags |= IBV_SEND_SIGNALED;
	error = endpoint_post_result(ibv_post_send(end->queues[queue].qp, request, &bad));
	if (!error)
		end->counts[operation].posted++;
	return error;
}

/*
 * A datagram may come from anyone, and does not count then. A failed receive shows only that its
 * queue pair is broken.
 */
static void take_receive(struct operation_end *end, const struct ibv_wc *wc)
{
	enum operation operation = wc->wr_id & 0xff;

	if (wc->status != IBV_WC_SUCCESS)
		return;
	if (operation == OPERATION_DATAGRAM &&
		wc->src_qp != end->queues[OPERATION_QUEUE_DATAGRAM].number_of_peer)
		return;
	end->counts[operation].received++;
	end->counts[operation].last = *wc;
}

static void take_completion(struct operation_end *end, const struct ibv_wc *wc)
{
	enum operation operation = wc->wr_id & 0xff;

	if (wc->wr_id >> 16 & 1) {
		take_receive(end, wc);
		return;
	}
	end->counts[operation].completed++;
	if (wc->status == IBV_WC_SUCCESS || end->counts[operation].status != IBV_WC_SUCCESS)
		return;
	end->counts[operation].status = wc->status;
	end->counts[operation].failed_step = wc->wr_id >> 8 & 0xff;
}

int operation_end_collect(struct operation_end *end, deadline_t deadline,
	bool (*is_done)(const struct operation_end *end))
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct ibv_wc wcs[ENDPOINT_BATCH];
	int count;

	for (;;) {
		while ((count = ibv_poll_cq(end->cq, ENDPOINT_BATCH, wcs)) > 0)
			for (int i = 0; i < count; i++)
				take_completion(end, &wcs[i]);
		if (is_done(end) || deadline_left(deadline) <= 0)
			return 0;
		if (control_check(end->control))
			return -1;
		nanosleep(&pause, NULL);
	}
}

void operation_lacks(struct operation_end *end, enum operation operation, enum operation_lack lack)
{
	end->results[operation] =
		(struct operation_result){.state = OPERATION_UNSUPPORTED, .code = (uint8_t)lack};
}

void operation_fails(
	struct operation_end *end, enum operation operation, enum operation_fault fault, int detail)
{
	end->results[operation] = (struct operation_result){
		.state = OPERATION_FAILED, .code = (uint8_t)fault, .detail = (uint16_t)detail};
}

void operation_end_close(struct operation_end *end)
{
	if (end->address)
		ibv_destroy_ah(end->address);
	/* Soft-RoCE's queue pair would wait for a window that is bound to it. */
	if (end->window)
		ibv_dealloc_mw(end->window);
	for (size_t i = 0; i < OPERATION_QUEUES; i++)
		if (end->links.ids[i])
			end->queues[i].qp = NULL; /* freed with its connection */
	operation_links_close(&end->links);
	for (size_t i = 0; i < OPERATION_QUEUES; i++)
		if (end->queues[i].qp)
			ibv_destroy_qp(end->queues[i].qp);
	if (end->srq)
		ibv_destroy_srq(end->srq);
	if (end->cq)
		ibv_destroy_cq(end->cq);
	region_free(&end->memory);
	region_free(&end->receives);
	if (end->pd)
		ibv_dealloc_pd(end->pd);
	*end = (struct operation_end){0};
}
