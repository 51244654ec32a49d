/* See tests/unit/control/operations-device.h. Replaces libibverbs and the control connection. */
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control/client.h"
#include "tests/unit/control/operations-device.h"
#include "verbs/channel.h"
#include "verbs/cm.h"

#define QUEUE     64
#define PAIRS     32
#define REGIONS   16
#define HEADER    40
#define INTRUDER  0xabcdef
#define FIRST_KEY 0x1000

struct operations_device operations_device;

struct fake_receives {
	struct ibv_recv_wr requests[QUEUE];
	struct ibv_sge pieces[QUEUE][2];
	unsigned int posted, taken;
};

struct fake_qp {
	struct ibv_qp qp;
	enum ibv_qp_state state;
	uint32_t peer, qkey, expected, sequence; /* packet sequence numbers: the peer's and ours */
	unsigned int access;
	uint32_t inline_max;
	enum ibv_mig_state path;
	struct fake_receives receives;
	uint8_t *fetching; /* where the data of a READ will be; NULL: there is none */
	uint8_t fetched[256];
	uint32_t fetched_length;
};

struct fake_srq {
	struct ibv_srq srq;
	struct fake_receives receives;
};

struct fake_cq {
	struct ibv_cq cq;
	struct ibv_wc completions[8 * QUEUE];
	unsigned int added, polled;
};

struct fake_mr {
	struct ibv_mr mr;
	unsigned int access;
};

struct fake_mw {
	struct ibv_mw mw;
	uint32_t key; /* 0: not bound */
	struct ibv_mw_bind_info part;
};

static struct ibv_device device = {.name = "made-up"};
static struct ibv_context context = {.device = &device};
static struct fake_qp *pairs[PAIRS];
static struct fake_mr *regions[REGIONS];
static struct fake_mw *window;
static uint32_t numbers, keys;
static struct rdma_cm_id ids[2];
static struct control controls[2];

static bool fails(enum operations_call call)
{
	if (operations_device.failing != call)
		return false;
	errno = ENOMEM;
	return true;
}

/* True if this fault concerns the operation of a request. */
static bool has_fault(uint64_t wr_id, enum operations_fault fault)
{
	return operations_device.fault == fault && operations_device.faulty == (wr_id & 0xff);
}

static void complete(struct ibv_cq *cq, struct ibv_wc wc)
{
	struct fake_cq *queue = (struct fake_cq *)cq;

	assert_true(queue->added - queue->polled < COUNT(queue->completions));
	queue->completions[queue->added++ % COUNT(queue->completions)] = wc;
}

static struct fake_qp *find(uint32_t number)
{
	for (size_t i = 0; i < PAIRS; i++)
		if (pairs[i] && pairs[i]->qp.qp_num == number)
			return pairs[i];
	return NULL;
}

static struct fake_mr *region_of(uint32_t key)
{
	for (size_t i = 0; i < REGIONS; i++)
		if (regions[i] && regions[i]->mr.lkey == key)
			return regions[i];
	return NULL;
}

static bool is_within(const struct ibv_mr *mr, uint64_t address, uint64_t length)
{
	return address >= (uintptr_t)mr->addr &&
	       address + length <= (uintptr_t)mr->addr + mr->length;
}

/* Local memory must be registered, in the protection domain of the queue pair. */
static uint8_t *local(const struct ibv_qp *qp, const struct ibv_sge *piece, bool writes)
{
	const struct fake_mr *region = region_of(piece->lkey);

	assert_non_null(region);
	assert_true(is_within(&region->mr, piece->addr, piece->length));
	assert_true(!writes || (region->access & IBV_ACCESS_LOCAL_WRITE));
	assert_true(!qp || region->mr.pd == qp->pd);
	return (uint8_t *)(uintptr_t)piece->addr;
}

/* Returns remote memory, or NULL if it may not be accessed like this. */
static uint8_t *remote(const struct fake_qp *to, uint64_t address, uint32_t key, uint32_t length,
	unsigned int right)
{
	const struct fake_mr *region = region_of(key);
	uint8_t *memory = (uint8_t *)(uintptr_t)address;

	if (!(to->access & right))
		return NULL;
	if (window && window->key && key == window->key)
		return (window->part.mw_access_flags & right) && address >= window->part.addr &&
				       address + length <= window->part.addr + window->part.length
			       ? memory
			       : NULL;
	return region && region->mr.pd == to->qp.pd && (region->access & right) &&
			       is_within(&region->mr, address, length)
		       ? memory
		       : NULL;
}

static void break_pair(struct fake_qp *qp)
{
	qp->state = IBV_QPS_ERR;
}

static struct fake_receives *receives_of(struct fake_qp *qp)
{
	return qp->qp.srq ? &((struct fake_srq *)qp->qp.srq)->receives : &qp->receives;
}

/* Delivers a message. Returns false if there is no receive for it. */
static bool deliver(struct fake_qp *to, uint32_t from, const struct ibv_send_wr *request,
	const uint8_t *data, uint32_t length)
{
	struct fake_receives *receives = receives_of(to);
	unsigned int slot = receives->taken % QUEUE;
	const bool datagram = to->qp.qp_type == IBV_QPT_UD;
	const bool header = datagram && !has_fault(request->wr_id, HAS_NO_HEADER);
	struct ibv_wc wc = {
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV,
		.src_qp = from,
		.byte_len = length + (datagram ? HEADER : 0),
		.wc_flags = header ? IBV_WC_GRH : 0,
	};
	uint32_t at = datagram ? HEADER : 0, piece = 0, used = 0;
	const uint32_t written = request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? length : 0;

	if (receives->taken == receives->posted)
		return false;
	receives->taken++;
	wc.wr_id = receives->requests[slot].wr_id;
	if (request->opcode == IBV_WR_SEND_WITH_IMM ||
		request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		wc.wc_flags |= IBV_WC_WITH_IMM;
		wc.imm_data = request->imm_data;
		if (has_fault(request->wr_id, CHANGES_IMMEDIATE))
			wc.imm_data ^= htobe32(1);
	}
	if (request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	for (uint32_t i = written; i < length; i++) {
		while (at >= receives->pieces[slot][piece].length) {
			at -= receives->pieces[slot][piece++].length;
			used++;
			assert_true((int)used < receives->requests[slot].num_sge);
		}
		local(NULL, &receives->pieces[slot][piece], true)[at++] = data[i];
	}
	if (request->opcode == IBV_WR_SEND_WITH_INV) {
		if (!window || window->key != request->invalidate_rkey)
			return false;
		wc.wc_flags |= IBV_WC_WITH_INV;
		wc.invalidated_rkey = window->key;
		if (!has_fault(request->wr_id, STAYS_OPEN))
			window->key = 0;
	}
	complete(to->qp.recv_cq, wc);
	return true;
}

/* Gathers the data of a request. */
static uint32_t gather(const struct fake_qp *qp, const struct ibv_send_wr *request, uint8_t data[])
{
	uint32_t length = 0;

	for (int i = 0; i < request->num_sge; i++) {
		const struct ibv_sge *piece = &request->sg_list[i];
		const uint8_t *from = request->send_flags & IBV_SEND_INLINE
					      ? (const uint8_t *)(uintptr_t)piece->addr
					      : local(&qp->qp, piece, false);

		memcpy(data + length, from, piece->length);
		length += piece->length;
	}
	if (request->send_flags & IBV_SEND_INLINE)
		assert_true(length <= qp->inline_max);
	if (length > 0 && has_fault(request->wr_id, DAMAGES))
		data[length / 2] ^= 4;
	return length > 0 && has_fault(request->wr_id, SHORTENS) ? length - 1 : length;
}

/*
 * The data of a READ arrives late: before its completion, but after requests that were posted
 * behind it without a fence.
 */
static void arrive(struct fake_qp *qp)
{
	if (qp->fetching)
		memcpy(qp->fetching, qp->fetched, qp->fetched_length);
	qp->fetching = NULL;
}

static void change(const struct ibv_send_wr *request, uint8_t *memory, uint8_t *fetched)
{
	uint64_t value;

	memcpy(&value, memory, sizeof(value));
	memcpy(fetched, &value, sizeof(value));
	if (has_fault(request->wr_id, RETURNS_OTHER))
		fetched[0] ^= 1;
	if (request->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		value += request->wr.atomic.compare_add;
	else if (value == request->wr.atomic.compare_add)
		value = request->wr.atomic.swap;
	if (!has_fault(request->wr_id, LEAVES_OTHER))
		memcpy(memory, &value, sizeof(value));
}

/* Executes a request on the other end. */
static enum ibv_wc_status execute(struct fake_qp *qp, const struct ibv_send_wr *request)
{
	const bool datagram = qp->qp.qp_type == IBV_QPT_UD;
	struct fake_qp *to = find(datagram ? request->wr.ud.remote_qpn : qp->peer);
	uint8_t data[256], *memory;
	uint32_t length;

	if (!to || to->qp.qp_type != qp->qp.qp_type || to->state < IBV_QPS_RTR ||
		to->state > IBV_QPS_RTS || (!datagram && to->expected != qp->sequence) ||
		(datagram && request->wr.ud.remote_qkey != to->qkey))
		return qp->qp.qp_type == IBV_QPT_RC ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS;
	if (has_fault(request->wr_id, LOSES))
		return IBV_WC_SUCCESS;
	switch (request->opcode) {
	case IBV_WR_RDMA_READ:
		if (request->sg_list->length == 0)
			return IBV_WC_SUCCESS;
		memory = remote(to, request->wr.rdma.remote_addr, request->wr.rdma.rkey,
			request->sg_list->length, IBV_ACCESS_REMOTE_READ);
		if (!memory)
			return IBV_WC_REM_ACCESS_ERR;
		arrive(qp);
		qp->fetching = local(&qp->qp, request->sg_list, true);
		qp->fetched_length = request->sg_list->length;
		memcpy(qp->fetched, memory, qp->fetched_length);
		return IBV_WC_SUCCESS;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		memory = remote(to, request->wr.atomic.remote_addr, request->wr.atomic.rkey,
			sizeof(uint64_t), IBV_ACCESS_REMOTE_ATOMIC);
		if (!memory)
			return IBV_WC_REM_ACCESS_ERR;
		assert_int_equal(request->sg_list->length, sizeof(uint64_t));
		assert_int_equal(request->wr.atomic.remote_addr % sizeof(uint64_t), 0);
		change(request, memory, local(&qp->qp, request->sg_list, true));
		return IBV_WC_SUCCESS;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		length = gather(qp, request, data);
		if (length > 0) {
			memory = remote(to, request->wr.rdma.remote_addr, request->wr.rdma.rkey,
				length, IBV_ACCESS_REMOTE_WRITE);
			if (!memory)
				return IBV_WC_REM_ACCESS_ERR;
			memcpy(memory, data, length);
		}
		if (request->opcode == IBV_WR_RDMA_WRITE)
			return IBV_WC_SUCCESS;
		break;
	default:
		length = gather(qp, request, data);
	}
	if (deliver(to, qp->qp.qp_num, request, data, length) || qp->qp.qp_type != IBV_QPT_RC)
		return IBV_WC_SUCCESS;
	return IBV_WC_RNR_RETRY_EXC_ERR;
}

static void bind_part(struct fake_mw *mw, uint32_t key, const struct ibv_mw_bind_info *part)
{
	const struct fake_mr *region = (const struct fake_mr *)part->mr;

	assert_true(region->access & IBV_ACCESS_MW_BIND);
	assert_true(is_within(part->mr, part->addr, part->length));
	mw->key = key;
	mw->part = *part;
}

static bool is_possible(const struct fake_qp *qp, enum ibv_wr_opcode opcode)
{
	if (operations_device.personality->transport != IBV_TRANSPORT_IWARP)
		return true;
	return qp->qp.qp_type == IBV_QPT_RC && opcode != IBV_WR_SEND_WITH_IMM &&
	       opcode != IBV_WR_RDMA_WRITE_WITH_IMM && opcode != IBV_WR_ATOMIC_FETCH_AND_ADD &&
	       opcode != IBV_WR_ATOMIC_CMP_AND_SWP;
}

static int post_send(struct ibv_qp *ibv_qp, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
	struct fake_qp *qp = (struct fake_qp *)ibv_qp;
	struct ibv_wc wc = {.wr_id = request->wr_id, .opcode = IBV_WC_SEND};

	assert_null(request->next);
	assert_int_equal(qp->state == IBV_QPS_ERR ? IBV_QPS_RTS : qp->state, IBV_QPS_RTS);
	*bad = request;
	if (has_fault(request->wr_id, POST_FAILS) || !is_possible(qp, request->opcode))
		return ENOMEM;
	if (qp->state == IBV_QPS_ERR) {
		wc.status = IBV_WC_WR_FLUSH_ERR;
	} else if (request->opcode == IBV_WR_BIND_MW) {
		if (has_fault(request->wr_id, CANNOT_BIND))
			wc.status = IBV_WC_MW_BIND_ERR;
		else
			bind_part((struct fake_mw *)request->bind_mw.mw, request->bind_mw.rkey,
				&request->bind_mw.bind_info);
	} else if (has_fault(request->wr_id, NEVER_COMPLETES)) {
		return 0;
	} else if (has_fault(request->wr_id, COMPLETION_FAILS)) {
		wc.status = IBV_WC_REM_OP_ERR;
	} else {
		if (request->send_flags & IBV_SEND_FENCE)
			arrive(qp);
		wc.status = execute(qp, request);
	}
	if (wc.status != IBV_WC_SUCCESS)
		break_pair(qp);
	complete(ibv_qp->send_cq, wc);
	return 0;
}

static int add_receive(struct fake_receives *receives, const struct ibv_recv_wr *request)
{
	unsigned int slot = receives->posted % QUEUE;

	if (has_fault(request->wr_id, RECEIVE_FAILS))
		return ENOMEM;
	assert_true(receives->posted - receives->taken < QUEUE && request->num_sge <= 2);
	receives->requests[slot] = *request;
	memcpy(receives->pieces[slot], request->sg_list,
		(size_t)request->num_sge * sizeof(struct ibv_sge));
	receives->posted++;
	return 0;
}

static int post_receive(
	struct ibv_qp *ibv_qp, struct ibv_recv_wr *request, struct ibv_recv_wr **bad)
{
	*bad = request;
	assert_null(ibv_qp->srq);
	return add_receive(&((struct fake_qp *)ibv_qp)->receives, request);
}

static int post_shared_receive(
	struct ibv_srq *srq, struct ibv_recv_wr *request, struct ibv_recv_wr **bad)
{
	*bad = request;
	return add_receive(&((struct fake_srq *)srq)->receives, request);
}

static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wcs)
{
	struct fake_cq *queue = (struct fake_cq *)cq;
	int taken = 0;

	for (size_t i = 0; i < PAIRS; i++)
		if (pairs[i])
			arrive(pairs[i]);
	while (taken < count && queue->polled < queue->added)
		wcs[taken++] = queue->completions[queue->polled++ % COUNT(queue->completions)];
	return taken;
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	if (fails(ALLOC_MW))
		return NULL;
	window = calloc(1, sizeof(*window));
	assert_non_null(window);
	window->mw = (struct ibv_mw){
		.context = &context, .pd = pd, .rkey = FIRST_KEY + ++keys * 256, .type = type};
	operations_device.resources++;
	return &window->mw;
}

static int dealloc_mw(struct ibv_mw *mw)
{
	window = NULL;
	free(mw);
	operations_device.resources--;
	return 0;
}

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	assert_int_equal(mw->type, IBV_MW_TYPE_1);
	mw->rkey = FIRST_KEY + ++keys * 256;
	bind_part((struct fake_mw *)mw, mw->rkey, &bind->bind_info);
	complete(qp->send_cq, (struct ibv_wc){.wr_id = bind->wr_id});
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *its_context)
{
	struct ibv_pd *pd = fails(ALLOC_PD) ? NULL : calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->context = its_context;
	operations_device.resources++;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	operations_device.resources--;
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *its_context, int size, void *cq_context,
	struct ibv_comp_channel *channel, int vector)
{
	struct fake_cq *queue = fails(CREATE_CQ) ? NULL : calloc(1, sizeof(*queue));

	(void)size, (void)cq_context, (void)channel, (void)vector;
	if (!queue)
		return NULL;
	queue->cq.context = its_context;
	operations_device.resources++;
	return &queue->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	free(cq);
	operations_device.resources--;
	return 0;
}

struct ibv_mr *ibv_reg_mr_iova2(
	struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned int access)
{
	struct fake_mr *region = fails(REG_MR) ? NULL : calloc(1, sizeof(*region));

	(void)iova;
	if (!region)
		return NULL;
	region->mr = (struct ibv_mr){
		.context = pd->context, .pd = pd, .addr = address, .length = length};
	region->mr.lkey = region->mr.rkey = FIRST_KEY + ++keys * 256;
	region->access = access;
	for (size_t i = 0; i < REGIONS; i++)
		if (!regions[i]) {
			regions[i] = region;
			operations_device.resources++;
			return &region->mr;
		}
	fail();
	return NULL;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, address, length, (uintptr_t)address, (unsigned int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	/* Hardware refuses while a window is bound to it. */
	assert_true(!window || !window->key || window->part.mr != mr);
	for (size_t i = 0; i < REGIONS; i++)
		if (regions[i] && &regions[i]->mr == mr)
			regions[i] = NULL;
	free(mr);
	operations_device.resources--;
	return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attributes)
{
	struct fake_srq *srq = fails(CREATE_SRQ) ? NULL : calloc(1, sizeof(*srq));

	assert_true(operations_device.personality->shared_receives);
	assert_true(attributes->attr.max_wr > 0);
	if (!srq)
		return NULL;
	srq->srq = (struct ibv_srq){.context = pd->context, .pd = pd};
	operations_device.resources++;
	return &srq->srq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	free(srq);
	operations_device.resources--;
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attributes)
{
	const struct personality *personality = operations_device.personality;
	struct fake_qp *qp;

	if ((attributes->qp_type == IBV_QPT_UC && !personality->unreliable) ||
		(attributes->qp_type == IBV_QPT_UD && personality->no_datagrams)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (attributes->cap.max_inline_data > 0 && operations_device.no_inline) {
		errno = EINVAL;
		return NULL;
	}
	assert_true((int)attributes->cap.max_send_sge <= personality->pieces);
	qp = fails(CREATE_QP) ? NULL : calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	qp->qp = (struct ibv_qp){.context = pd->context,
		.pd = pd,
		.send_cq = attributes->send_cq,
		.recv_cq = attributes->recv_cq,
		.srq = attributes->srq,
		.qp_type = attributes->qp_type,
		.qp_num = ++numbers};
	qp->inline_max = attributes->cap.max_inline_data;
	for (size_t i = 0; i < PAIRS; i++)
		if (!pairs[i]) {
			pairs[i] = qp;
			operations_device.resources++;
			return &qp->qp;
		}
	fail();
	return NULL;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	/* Soft-RoCE's would wait for the window. */
	assert_true(!window || !window->key || window->mw.pd != qp->pd);
	for (size_t i = 0; i < PAIRS; i++)
		if (pairs[i] && &pairs[i]->qp == qp)
			pairs[i] = NULL;
	free(qp);
	operations_device.resources--;
	return 0;
}

/* The attributes that each state needs and allows. InfiniBand specification, volume 1, 11.2.5.2. */
static int required(enum ibv_qp_type type, enum ibv_qp_state to)
{
	const int rc = IBV_QPT_RC, uc = IBV_QPT_UC;

	if (to == IBV_QPS_INIT)
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		       (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	if (to == IBV_QPS_RTR)
		return IBV_QP_STATE |
		       ((int)type == rc || (int)type == uc ? IBV_QP_AV | IBV_QP_PATH_MTU |
								     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN
							   : 0) |
		       ((int)type == rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
	return IBV_QP_STATE | IBV_QP_SQ_PSN |
	       ((int)type == rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					  IBV_QP_MAX_QP_RD_ATOMIC
				: 0);
}

int ibv_modify_qp(struct ibv_qp *ibv_qp, struct ibv_qp_attr *attributes, int mask)
{
	struct fake_qp *qp = (struct fake_qp *)ibv_qp;

	if (fails(MODIFY_QP))
		return ENOMEM;
	if (mask & IBV_QP_PATH_MIG_STATE) {
		/* As _ib_modify_qp() of Linux does. */
		if (!operations_device.infiniband || qp->state != IBV_QPS_RTS)
			return EINVAL;
		qp->path = attributes->path_mig_state;
		if (qp->path == IBV_MIG_REARM) {
			assert_true(mask & IBV_QP_ALT_PATH);
			assert_int_equal(attributes->alt_port_num, 1);
			qp->path = IBV_MIG_ARMED;
		}
		return 0;
	}
	assert_int_equal(mask, required(ibv_qp->qp_type, attributes->qp_state));
	qp->state = attributes->qp_state;
	if (mask & IBV_QP_DEST_QPN)
		qp->peer = attributes->dest_qp_num;
	if (mask & IBV_QP_RQ_PSN)
		qp->expected = attributes->rq_psn;
	if (mask & IBV_QP_SQ_PSN)
		qp->sequence = attributes->sq_psn;
	if (mask & IBV_QP_QKEY)
		qp->qkey = attributes->qkey;
	if (mask & IBV_QP_ACCESS_FLAGS)
		qp->access = attributes->qp_access_flags;
	return 0;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask,
	struct ibv_qp_init_attr *initial)
{
	(void)mask, (void)initial;
	attributes->path_mig_state = ((struct fake_qp *)qp)->path;
	return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attributes)
{
	struct ibv_ah *ah = fails(CREATE_AH) ? NULL : calloc(1, sizeof(*ah));

	assert_true(attributes->is_global);
	if (!ah)
		return NULL;
	ah->pd = pd;
	operations_device.resources++;
	return ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	free(ah);
	operations_device.resources--;
	return 0;
}

#undef ibv_query_port
int ibv_query_port(
	struct ibv_context *its_context, uint8_t port, struct _compat_ibv_port_attr *attributes)
{
	(void)its_context;
	assert_int_equal(port, 1);
	((struct ibv_port_attr *)attributes)->link_layer =
		operations_device.infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
	return 0;
}

/* What the kernel's connection manager knows. On InfiniBand within a subnet, no global route. */
int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attributes, int *mask)
{
	const enum ibv_qp_state to = attributes->qp_state;

	*mask = required(IBV_QPT_RC, to);
	*attributes = (struct ibv_qp_attr){.qp_state = to,
		.port_num = id->port_num,
		.ah_attr = {.port_num = id->port_num, .is_global = !operations_device.infiniband}};
	return 0;
}

/* Time passes only while someone waits. */
int nanosleep(const struct timespec *duration, struct timespec *left)
{
	(void)left;
	operations_device.nanoseconds += duration->tv_sec * 1000000000 + duration->tv_nsec;
	return 0;
}

deadline_t deadline_now(void)
{
	return 1000 + operations_device.nanoseconds / 1000000;
}

deadline_t deadline_in(int64_t milliseconds)
{
	return deadline_now() + milliseconds;
}

int deadline_left(deadline_t deadline)
{
	return deadline > deadline_now() ? (int)(deadline - deadline_now()) : 0;
}

/* rdmacm, for connections over iWARP: an event is pending as soon as its cause has happened. */

#define LINK_PORT 4711

struct fake_channel {
	struct cm_channel channel;
	struct rdma_event_channel rdmacm;
	struct event_copy events[QUEUE];
	unsigned int added, taken;
};

struct fake_id {
	struct rdma_cm_id id;
	struct fake_id *peer;
};

static struct fake_id *listener;

static void add_event(struct rdma_cm_id *id, enum rdma_cm_event_type type, const void *data)
{
	struct fake_channel *channel =
		(struct fake_channel *)((char *)id->channel -
					offsetof(struct fake_channel, rdmacm));
	struct event_copy *copy = &channel->events[channel->added++ % QUEUE];

	*copy = (struct event_copy){.event = {.id = id, .event = type}};
	if (!data)
		return;
	memcpy(copy->private_data, data, 8);
	copy->event.param.conn.private_data_len = 8;
}

int channel_create(unsigned int kinds, struct cm_channel **channel)
{
	struct fake_channel *fake = calloc(1, sizeof(*fake));

	assert_int_equal(kinds, CHANNEL_RDMACM);
	if (!fake)
		return -ENOMEM;
	fake->channel.rdmacm = &fake->rdmacm;
	*channel = &fake->channel;
	operations_device.resources++;
	return 0;
}

int channel_take(struct cm_channel *channel, struct event_copy *copy)
{
	struct fake_channel *fake = (struct fake_channel *)channel;

	if (fake->taken == fake->added)
		return 0;
	*copy = fake->events[fake->taken++ % QUEUE];
	if (copy->event.param.conn.private_data_len > 0)
		copy->event.param.conn.private_data = copy->private_data;
	return 1;
}

void channel_destroy(struct cm_channel *channel)
{
	free(channel);
	operations_device.resources--;
}

int poll(struct pollfd *fds, nfds_t count, int milliseconds)
{
	(void)fds, (void)count;
	operations_device.nanoseconds += (int64_t)milliseconds * 1000000;
	return 0;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *user,
	enum rdma_port_space space)
{
	struct fake_id *fake = calloc(1, sizeof(*fake));

	(void)user;
	assert_int_equal(space, RDMA_PS_TCP);
	if (!fake)
		return -1;
	fake->id.channel = channel;
	fake->id.verbs = &context;
	*id = &fake->id;
	operations_device.resources++;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	struct fake_id *fake = (struct fake_id *)id;

	assert_null(id->qp);
	if (fake == listener)
		listener = NULL;
	if (fake->peer)
		fake->peer->peer = NULL;
	free(fake);
	operations_device.resources--;
	return 0;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
	(void)id;
	assert_int_equal(address->sa_family, AF_INET);
	assert_int_equal(((struct sockaddr_in *)address)->sin_port, 0);
	return 0;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	assert_true(backlog > 0);
	errno = EADDRNOTAVAIL;
	if (operations_device.link_fault == CANNOT_LISTEN)
		return -1;
	listener = (struct fake_id *)id;
	return 0;
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	(void)id;
	return htons(LINK_PORT);
}

int rdma_resolve_addr(
	struct rdma_cm_id *id, struct sockaddr *source, struct sockaddr *address, int milliseconds)
{
	assert_int_equal(((struct sockaddr_in *)source)->sin_port, 0);
	assert_int_equal(((struct sockaddr_in *)address)->sin_port, htons(LINK_PORT));
	assert_true(milliseconds > 0);
	add_event(id, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *id, int milliseconds)
{
	assert_true(milliseconds > 0);
	add_event(id,
		operations_device.link_fault == NO_ROUTE ? RDMA_CM_EVENT_ROUTE_ERROR
							 : RDMA_CM_EVENT_ROUTE_RESOLVED,
		NULL);
	return 0;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attributes)
{
	assert_int_equal(attributes->qp_type, IBV_QPT_RC);
	id->qp = ibv_create_qp(pd, attributes);
	return id->qp ? 0 : -1;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	ibv_destroy_qp(id->qp);
	id->qp = NULL;
}

/* A request with this private data arrives at the listener. */
static void request_arrives(struct fake_id *from, const uint8_t data[8])
{
	struct rdma_cm_id *id = NULL;

	assert_int_equal(rdma_create_id(listener->id.channel, &id, NULL, RDMA_PS_TCP), 0);
	((struct fake_id *)id)->peer = from;
	if (from)
		from->peer = (struct fake_id *)id;
	add_event(id, RDMA_CM_EVENT_CONNECT_REQUEST, data);
}

/* With another number, for another queue pair, and for none that exists. */
static void strangers_arrive(const uint8_t right[8])
{
	uint8_t wrong[8];

	for (size_t i = 0; i < sizeof(wrong); i++) {
		memcpy(wrong, right, sizeof(wrong));
		wrong[i] ^= 0x81;
		request_arrives(NULL, wrong);
	}
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters)
{
	assert_int_equal(parameters->private_data_len, 8);
	assert_int_equal(parameters->responder_resources, 1);
	assert_non_null(id->qp);
	errno = ECONNREFUSED;
	if (operations_device.link_fault == CANNOT_CONNECT)
		return -1;
	if (operations_device.link_fault == REQUEST_LOST)
		return 0;
	if (operations_device.link_fault == STRANGERS)
		strangers_arrive(parameters->private_data);
	if (operations_device.link_fault == LINK_REJECTED)
		add_event(id, RDMA_CM_EVENT_REJECTED, NULL);
	else
		request_arrives((struct fake_id *)id, parameters->private_data);
	return 0;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *parameters)
{
	struct fake_id *peer = ((struct fake_id *)id)->peer;
	struct fake_qp *ours = (struct fake_qp *)id->qp, *theirs;

	assert_int_equal(parameters->initiator_depth, 1);
	errno = ENOMEM;
	if (operations_device.link_fault == CANNOT_ACCEPT)
		return -1;
	theirs = (struct fake_qp *)peer->id.qp;
	ours->state = theirs->state = IBV_QPS_RTS;
	ours->peer = theirs->qp.qp_num;
	theirs->peer = ours->qp.qp_num;
	ours->access = theirs->access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	add_event(id, RDMA_CM_EVENT_ESTABLISHED, NULL);
	if (operations_device.link_fault != REPLY_LOST)
		add_event(&peer->id, RDMA_CM_EVENT_ESTABLISHED, NULL);
	return 0;
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t length)
{
	(void)id, (void)data, (void)length;
	operations_device.rejected++;
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	assert_non_null(id->qp);
	return 0;
}

/* The control connection. */

int control_check(struct control *control)
{
	(void)control;
	return operations_device.gone ? -1 : 0;
}

/* The server as a client that lies about its queue pairs finds it. */
static void lie(const struct command *command, uint8_t text[OPERATIONS_OFFER_SIZE])
{
	struct operations_offer offer;

	assert_int_equal(operations_offer_decode(&offer, command->text, command->text_size), 0);
	for (size_t i = 0; i < OPERATION_QUEUES; i++)
		if (offer.queues[i].number)
			offer.queues[i].number += operations_device.wrong_numbers;
	operations_offer_encode(&offer, text);
}

int control_client_command(struct control *control, struct command *command, struct command *reply,
	deadline_t deadline)
{
	static uint8_t text[COMMAND_TEXT_MAX], changed[OPERATIONS_OFFER_SIZE];
	struct operation_end *server = &operations_device.server;

	assert_ptr_equal(control, &controls[0]);
	assert_true(deadline_left(deadline) > 0);
	operations_device.commands++;
	*reply = (struct command){.type = command->type, .reply = true, .text = (const char *)text};
	if (command->type == COMMAND_OPERATIONS) {
		operations_device.rounds++;
		lie(command, changed);
		assert_int_equal(operations_begin(server, &controls[1], (const char *)changed,
					 sizeof(changed), text),
			0);
		reply->text_size = OPERATIONS_OFFER_SIZE;
	} else if (command->type == COMMAND_OPERATIONS_LINK) {
		assert_int_equal(
			operations_link(server, command->text, command->text_size, text), 0);
		reply->text_size = OPERATIONS_OFFER_SIZE;
	} else {
		assert_int_equal(command->type, COMMAND_OPERATIONS_END);
		assert_int_equal(
			operations_end(server, command->text, command->text_size, text), 0);
		reply->text_size = OPERATIONS_RESULTS_SIZE;
	}
	if (operations_device.malformed)
		reply->text_size--;
	return 0;
}

static void make_control(bool passive)
{
	static struct device_traits infiniband = {.immediate = true, .own_queue_pairs = true};
	static struct device_traits iwarp = {.read_needs_remote_write = true};
	const struct personality *personality = operations_device.personality;

	ids[passive] = (struct rdma_cm_id){.verbs = &context, .port_num = 1};
	ids[passive].route.addr.src_addr.sa_family = AF_INET;
	ids[passive].route.addr.dst_addr.sa_family = AF_INET;
	controls[passive] = (struct control){
		.id = &ids[passive],
		.device = {.verbs = &context,
			.traits = personality->transport == IBV_TRANSPORT_IWARP ? &iwarp
										: &infiniband,
			.attributes = {.device_cap_flags = personality->capabilities,
				.max_sge = personality->pieces,
				.max_srq = personality->shared_receives ? 64 : 0,
				.atomic_cap = personality->no_atomics ? IBV_ATOMIC_NONE
								      : IBV_ATOMIC_HCA}},
	};
}

struct control *operations_device_control(bool passive)
{
	return &controls[passive];
}

void operations_device_start(const struct personality *personality)
{
	operations_device = (struct operations_device){
		.personality = personality, .infiniband = personality->infiniband};
	context.ops = (struct ibv_context_ops){.post_send = post_send,
		.post_recv = post_receive,
		.post_srq_recv = post_shared_receive,
		.poll_cq = poll_cq,
		.alloc_mw = personality->no_windows ? NULL : alloc_mw,
		.dealloc_mw = dealloc_mw,
		.bind_mw = bind_mw};
	make_control(false);
	make_control(true);
}

void operations_device_fault(enum operation operation, enum operations_fault fault)
{
	operations_device.faulty = operation;
	operations_device.fault = fault;
}

int operations_device_try(struct operation_result results[OPERATIONS])
{
	int error = operations_try(&controls[0], deadline_in(60000), results);

	operation_end_close(&operations_device.server);
	assert_int_equal(operations_device.resources, 0);
	return error;
}

void operations_device_intrude(void)
{
	static const uint8_t data[] = "a datagram from a stranger";
	const struct ibv_send_wr request = {.opcode = IBV_WR_SEND, .wr_id = OPERATIONS};

	for (size_t i = 0; i < PAIRS; i++)
		if (pairs[i] && pairs[i]->qp.qp_type == IBV_QPT_UD)
			deliver(pairs[i], INTRUDER, &request, data, OPERATION_BYTES);
}
