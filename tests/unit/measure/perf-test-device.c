/*
 * The fake device: replaces the verbs and rdmacm functions that a test calls. One lock guards all
 * of its state.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/measure/perf-test-device.h"

struct perf_test_device perf_test_device = {.lock = PTHREAD_MUTEX_INITIALIZER};

static unsigned int dice(unsigned int sides)
{
	perf_test_device.seed = perf_test_device.seed * 1103515245 + 12345;
	return (perf_test_device.seed >> 16 & 0x7fff) % sides;
}

static void raise_event(struct ibv_cq *cq)
{
	struct fixture_cq *queue = (struct fixture_cq *)cq;

	if (!queue->armed)
		return;
	queue->armed = false;
	queue->events++;
	eventfd_write(cq->channel->fd, 1);
}

static void complete(struct ibv_cq *cq, const struct ibv_wc *completion)
{
	struct fixture_cq *queue = (struct fixture_cq *)cq;

	assert_true(queue->added - queue->polled < COMPLETIONS);
	queue->queue[queue->added++ % COMPLETIONS] = *completion;
	raise_event(cq);
}

static void *at(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

static bool has_fault(enum fault which)
{
	return perf_test_device.fault == which && perf_test_device.fault_after == 0;
}

/* Writes the last byte last, because a peer that spins on it reads the preceding bytes next. */
static void copy(uint8_t *to, const uint8_t *from, uint32_t length)
{
	uint8_t last;

	if (length == 0)
		return;
	last = from[length - 1];
	if (has_fault(MISPLACED)) {
		memcpy(to + 1, from, length - 1);
		to[0] = last;
		return;
	}
	if (has_fault(LOST))
		return;
	memcpy(to, from, length - 1);
	if (has_fault(DAMAGED))
		to[length / 2] ^= 0x10;
	__atomic_store_n(to + length - 1, (uint8_t)(last ^ (has_fault(DAMAGED) && length == 1)),
		__ATOMIC_RELEASE);
}

/* True if a work request is a measured operation, and not a message. */
static bool is_operation(const struct ibv_send_wr *request, uint32_t length)
{
	return request->opcode != IBV_WR_SEND ||
	       (perf_test_device.send_size && length == perf_test_device.send_size);
}

/*
 * Takes the oldest receive of a shared queue. The event follows once fewer than the limit are left:
 * Linux: get_srq_wqe() of rdma_rxe.
 */
static bool take_shared(
	struct fixture_srq *shared, struct ibv_recv_wr *receive, struct ibv_sge *piece)
{
	if (shared->taken == shared->posted)
		return false;
	*receive = shared->receives[shared->taken % SHARED_RECEIVES];
	*piece = shared->pieces[shared->taken++ % SHARED_RECEIVES];
	if (shared->limit && shared->posted - shared->taken < shared->limit) {
		shared->limit = 0;
		perf_test_device.limits++;
		shared_receives_limit_reached(&shared->srq);
	}
	return true;
}

static bool has_receive(const struct fixture_qp *qp)
{
	return qp->shared ? qp->shared->taken < qp->shared->posted
			  : qp->received < qp->receives_posted;
}

static bool take_own(struct fixture_qp *qp, struct ibv_recv_wr *receive, struct ibv_sge *piece)
{
	if (qp->received == qp->receives_posted)
		return false;
	*receive = qp->receives[qp->received % RECEIVES];
	*piece = qp->pieces[qp->received++ % RECEIVES];
	return true;
}

/* Completes the peer's oldest posted receive. Returns false if none is posted. */
static bool deliver(struct fixture_qp *qp, const struct fixture_send *send, bool immediate)
{
	struct ibv_recv_wr receive;
	struct ibv_sge piece;
	struct ibv_wc completion = {
		.status = IBV_WC_SUCCESS,
		.opcode = immediate ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
		.byte_len = send->piece.length,
		.qp_num = qp->qp.qp_num,
	};

	if (!(qp->shared ? take_shared(qp->shared, &receive, &piece)
			 : take_own(qp, &receive, &piece))) {
		perf_test_device.starved++;
		return false;
	}
	completion.wr_id = receive.wr_id;
	if (!immediate) {
		assert_true(send->piece.length <= piece.length);
		if (is_operation(&send->request, send->piece.length))
			copy(at(piece.addr), send->bytes, send->piece.length);
		else
			memcpy(at(piece.addr), send->bytes, send->piece.length);
	}
	complete(qp->qp.recv_cq, &completion);
	return true;
}

/* The queue pair with this number, or NULL. */
static struct fixture_qp *find(uint32_t number)
{
	for (unsigned int i = 0; i < perf_test_device.queue_pair_count; i++)
		if (perf_test_device.queue_pairs[i]->qp.qp_num == number)
			return perf_test_device.queue_pairs[i];
	return NULL;
}

/*
 * Delivers an operation of an unreliable queue pair, if there is a receive. A datagram comes with
 * the global route header in front of it.
 */
static bool arrive(const struct fixture_qp *qp, const struct fixture_send *send)
{
	const struct ibv_send_wr *request = &send->request;
	bool datagram = qp->qp.qp_type == IBV_QPT_UD;
	uint32_t header = datagram ? 40 : 0, length = send->piece.length;
	struct fixture_qp *to = datagram ? find(request->wr.ud.remote_qpn) : qp->peer;
	struct ibv_wc completion = {.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV,
		.wc_flags = IBV_WC_WITH_IMM | (datagram ? IBV_WC_GRH : 0),
		.imm_data = request->imm_data,
		.byte_len = length + header,
		.src_qp = qp->qp.qp_num};
	struct ibv_recv_wr receive;
	struct ibv_sge piece;

	if (!to || to->qp.qp_type != qp->qp.qp_type || to->broken ||
		!take_own(to, &receive, &piece))
		return false;
	completion.wr_id = receive.wr_id;
	completion.qp_num = to->qp.qp_num;
	if (request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		completion.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
		copy(at(request->wr.rdma.remote_addr),
			(request->send_flags & IBV_SEND_INLINE) ? send->bytes
								: at(send->piece.addr),
			length);
	} else {
		assert_true(length + header <= piece.length);
		memset(at(piece.addr), 0xee, header);
		copy((uint8_t *)at(piece.addr) + header, send->bytes, length);
	}
	perf_test_device.fault_after--;
	complete(to->qp.recv_cq, &completion);
	return true;
}

/* True once for each such number of operations. */
static bool is_due(unsigned int every)
{
	return every && perf_test_device.unreliable % every == 0;
}

/* Delivers an operation, unless it is lost; perhaps twice, or after the next one. */
static void deliver_unreliably(const struct fixture_qp *qp, const struct fixture_send *send)
{
	unsigned int from = perf_test_device.lose_from;
	struct fixture_send *held = perf_test_device.held;
	bool lost;

	if (qp->qp.qp_type == IBV_QPT_UD)
		assert_int_equal(send->request.wr.ud.remote_qkey, ENDPOINT_QKEY);
	perf_test_device.unreliable++;
	lost = is_due(perf_test_device.lose_every) || (from && perf_test_device.unreliable >= from);
	if (!lost && !held && is_due(perf_test_device.hold_every)) {
		perf_test_device.held = malloc(sizeof(*held));
		assert_non_null(perf_test_device.held);
		*perf_test_device.held = *send;
		perf_test_device.lost++;
		return;
	}
	if (lost || !arrive(qp, send))
		perf_test_device.lost++;
	else if (is_due(perf_test_device.repeat_every))
		arrive(qp, send);
	if (held && arrive(qp, held))
		perf_test_device.lost--;
	free(held);
	perf_test_device.held = NULL;
}

static bool is_unreliable(const struct fixture_qp *qp)
{
	return qp->qp.qp_type == IBV_QPT_UC || qp->qp.qp_type == IBV_QPT_UD;
}

/* Sends an operation of an unreliable queue pair, which completes when it has left. */
static bool execute_unreliable(struct fixture_qp *qp, struct fixture_send *send)
{
	deliver_unreliably(qp, send);
	qp->done++;
	if (send->request.send_flags & IBV_SEND_SIGNALED)
		complete(qp->qp.send_cq,
			&(struct ibv_wc){.wr_id = send->request.wr_id, .status = IBV_WC_SUCCESS});
	return true;
}

/* Flushes every outstanding work request of a queue pair in the error state. */
static void flush(struct fixture_qp *qp)
{
	for (; qp->done < qp->posted; qp->done++)
		if (!qp->sends[qp->done % REQUESTS].done)
			complete(qp->qp.send_cq,
				&(struct ibv_wc){.status = IBV_WC_WR_FLUSH_ERR,
					.wr_id = qp->sends[qp->done % REQUESTS].request.wr_id});
	for (; qp->received < qp->receives_posted; qp->received++)
		complete(qp->qp.recv_cq,
			&(struct ibv_wc){.status = IBV_WC_WR_FLUSH_ERR,
				.wr_id = qp->receives[qp->received % RECEIVES].wr_id});
}

void perf_test_device_break(struct fixture_qp *qp)
{
	bool first = !qp->broken;

	qp->broken = true;
	if (!perf_test_device.personality->flushes_in_poll)
		flush(qp);
	else if (first)
		raise_event(qp->qp.send_cq);
}

/* Completes what is posted on the broken queue pairs of this CQ, without an event. */
static void flush_in_poll(struct ibv_cq *cq)
{
	struct fixture_cq *queue = (struct fixture_cq *)cq;
	bool armed = queue->armed;

	queue->armed = false;
	for (unsigned int i = 0; i < perf_test_device.queue_pair_count; i++)
		if (perf_test_device.queue_pairs[i]->broken &&
			perf_test_device.queue_pairs[i]->qp.send_cq == cq)
			flush(perf_test_device.queue_pairs[i]);
	queue->armed = armed;
}

/*
 * Delivers a message. A peer that wakes late reads the first message of its client later, but the
 * message counts as sent.
 */
static bool send_message(struct fixture_qp *qp, const struct fixture_send *send)
{
	if (perf_test_device.personality->wakes_late && send == qp->sends && qp->posted == 1 &&
		qp->received == 0) {
		qp->unread = true;
		return true;
	}
	return deliver(qp->peer, send, false);
}

static bool is_atomic(const struct ibv_send_wr *request)
{
	return request->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
	       request->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
}

/* Changes the remote counter and fetches what it was. */
static void change(const struct ibv_send_wr *request, uint8_t *remote, uint8_t *ours)
{
	uint64_t before, after;

	memcpy(&before, remote, sizeof(before));
	after = before;
	if (request->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		after += request->wr.atomic.compare_add;
	else if (before == request->wr.atomic.compare_add)
		after = request->wr.atomic.swap;
	if (!has_fault(LOST))
		memcpy(remote, &after, sizeof(after));
	copy(ours, (const uint8_t *)&before, sizeof(before));
}

/* Executes a work request of the send queue. Returns false if it cannot proceed yet. */
static bool execute(struct fixture_qp *qp, struct fixture_send *send)
{
	const struct ibv_send_wr *request = &send->request;
	uint8_t *remote = at(request->wr.rdma.remote_addr), *ours = at(send->piece.addr);
	struct ibv_wc completion = {.wr_id = request->wr_id, .status = IBV_WC_SUCCESS};
	bool immediate = request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

	if (is_unreliable(qp))
		return execute_unreliable(qp, send);
	if (!qp->peer || qp->peer->broken)
		return false;
	if (qp->unread && !deliver(qp->peer, qp->sends, false))
		return false;
	qp->unread = false;
	if (request->opcode == IBV_WR_SEND && !send_message(qp, send)) {
		/* A message that finds no receive ends the connection. */
		assert_int_not_equal(perf_test_device.personality->transport, IBV_TRANSPORT_IWARP);
		return false;
	}
	perf_test_device.fault_after -=
		request->opcode == IBV_WR_SEND && is_operation(request, send->piece.length);
	if (immediate && !has_receive(qp->peer)) {
		perf_test_device.starved++;
		return false;
	}
	if (request->opcode != IBV_WR_SEND) {
		if (request->send_flags & IBV_SEND_INLINE)
			ours = send->bytes;
		if (has_fault(REFUSED))
			completion.status = IBV_WC_REM_ACCESS_ERR;
		else if (is_atomic(request))
			change(request, remote, ours);
		else if (request->opcode == IBV_WR_RDMA_READ)
			copy(ours, remote, send->piece.length);
		else
			copy(remote, ours, send->piece.length);
		perf_test_device.fault_after--;
	}
	if (immediate)
		deliver(qp->peer, send, true);
	send->done = true;
	while (qp->done < qp->posted && qp->sends[qp->done % REQUESTS].done)
		qp->done++;
	qp->reading -= request->opcode == IBV_WR_RDMA_READ;
	if (request->send_flags & IBV_SEND_SIGNALED || completion.status != IBV_WC_SUCCESS)
		complete(qp->qp.send_cq, &completion);
	return true;
}

/* Executes the oldest WRITE or SEND, before READs. Returns false if there is none. */
static bool overtake(struct fixture_qp *qp)
{
	for (unsigned int number = qp->done; number < qp->posted; number++) {
		struct fixture_send *send = &qp->sends[number % REQUESTS];

		if (!send->done && send->request.opcode != IBV_WR_RDMA_READ)
			return execute(qp, send);
	}
	return false;
}

/* Executes the next work request. Returns false if none can proceed yet. */
static bool execute_next(struct fixture_qp *qp)
{
	if (perf_test_device.personality->overtakes && dice(3) > 0 && overtake(qp))
		return true;
	return execute(qp, &qp->sends[qp->done % REQUESTS]);
}

/*
 * Executes some of the posted work requests, chosen at random, or all of them if the caller may not
 * poll again.
 */
static void advance(bool all)
{
	bool moved = true;

	for (unsigned int turn = 0; moved && (all || turn < 2); turn++) {
		moved = false;
		for (unsigned int i = 0; i < perf_test_device.queue_pair_count; i++) {
			struct fixture_qp *qp = perf_test_device.queue_pairs[i];

			while (qp->done < qp->posted && (all || dice(4) > 0) && execute_next(qp))
				moved = true;
		}
	}
}

/* Without a completion, the other end's thread may need this processor. */
static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *completions)
{
	struct fixture_cq *queue = (struct fixture_cq *)cq;
	int taken = 0;

	pthread_mutex_lock(&perf_test_device.lock);
	perf_test_device.polls++;
	advance(false);
	if (perf_test_device.personality->flushes_in_poll)
		flush_in_poll(cq);
	while (taken < count && queue->polled < queue->added)
		completions[taken++] = queue->queue[queue->polled++ % COMPLETIONS];
	pthread_mutex_unlock(&perf_test_device.lock);
	if (taken == 0)
		sched_yield();
	return taken;
}

/* A caller that arms the CQ may then sleep, so everything already posted must complete first. */
static int request_event(struct ibv_cq *cq, int solicited_only)
{
	(void)solicited_only;
	pthread_mutex_lock(&perf_test_device.lock);
	((struct fixture_cq *)cq)->armed = true;
	advance(true);
	pthread_mutex_unlock(&perf_test_device.lock);
	return 0;
}

static bool is_armed(const struct ibv_cq *cq)
{
	return ((const struct fixture_cq *)cq)->armed;
}

/*
 * Simulates a peer that sees the last byte of a WRITE immediately and answers with the next value.
 */
static void reply(const struct ibv_sge *piece)
{
	const uint8_t *bytes = at(piece->addr);

	*perf_test_device.reply = (uint8_t)(bytes[piece->length - 1] + 1);
}

/*
 * The rules of software iWARP. A completion does not account for earlier sends, and two ends with
 * READs above the limit wait for each other forever.
 */
static void check_like_siw(struct fixture_qp *qp, const struct ibv_send_wr *request)
{
	qp->reading += request->opcode == IBV_WR_RDMA_READ;
	if (!perf_test_device.personality->overtakes)
		return;
	assert_true(request->send_flags & IBV_SEND_SIGNALED);
	assert_false(request->send_flags & IBV_SEND_FENCE);
	assert_true(qp->reading <= (unsigned int)perf_test_device.personality->reads_asked);
}

/* The pieces of a request as one, which they are in the program's memory. */
static struct ibv_sge whole(const struct fixture_qp *qp, const struct ibv_send_wr *request)
{
	struct ibv_sge all = request->num_sge ? *request->sg_list : (struct ibv_sge){0};

	assert_true((unsigned int)request->num_sge <= qp->most_pieces);
	for (int i = 1; i < request->num_sge; i++) {
		const struct ibv_sge *piece = &request->sg_list[i];

		/* A length of 0 is 2 GiB to some devices: rdma-core: set_data_seg() of mlx5. */
		assert_true(all.length > 0 && piece->length > 0);
		assert_int_equal(piece->addr, all.addr + all.length);
		assert_int_equal(piece->lkey, all.lkey);
		all.length += piece->length;
	}
	return all;
}

static int post_send(struct ibv_qp *ibv_qp, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
	struct fixture_qp *qp = (struct fixture_qp *)ibv_qp;

	(void)bad;
	pthread_mutex_lock(&perf_test_device.lock);
	perf_test_device.lists += is_operation(request, whole(qp, request).length);
	for (; request; request = request->next) {
		struct fixture_send *send = &qp->sends[qp->posted % REQUESTS];
		bool keeps = request->opcode == IBV_WR_SEND ||
			     request->opcode == IBV_WR_SEND_WITH_IMM ||
			     request->send_flags & IBV_SEND_INLINE;

		/* Counts unsignaled work requests as well, as the program does. */
		assert_true(qp->posted - qp->done < qp->most);
		if (is_atomic(request)) {
			assert_int_equal(request->sg_list->length, 8);
			assert_int_equal(request->wr.atomic.remote_addr % 8, 0);
			assert_int_not_equal(
				perf_test_device.personality->transport, IBV_TRANSPORT_IWARP);
		}
		assert_true(request->opcode != IBV_WR_RDMA_WRITE_WITH_IMM ||
			    perf_test_device.personality->transport != IBV_TRANSPORT_IWARP);
		check_like_siw(qp, request);
		send->done = false;
		send->request = *request;
		send->piece = whole(qp, request);
		if (is_operation(request, send->piece.length))
			perf_test_device.pieces += (unsigned int)request->num_sge;
		perf_test_device.operations += is_operation(request, send->piece.length);
		perf_test_device.signaled += is_operation(request, send->piece.length) &&
					     request->send_flags & IBV_SEND_SIGNALED;
		perf_test_device.inlined += (request->send_flags & IBV_SEND_INLINE) != 0;
		if (keeps && send->piece.length > 0) {
			assert_true(send->piece.length <= sizeof(send->bytes));
			memcpy(send->bytes, at(send->piece.addr), send->piece.length);
		}
		if (perf_test_device.reply && request->opcode != IBV_WR_SEND)
			reply(&send->piece);
		qp->posted++;
	}
	if (qp->broken)
		perf_test_device_break(qp);
	advance(is_armed(ibv_qp->send_cq) || (qp->peer && is_armed(qp->peer->qp.recv_cq)));
	pthread_mutex_unlock(&perf_test_device.lock);
	return 0;
}

static int post_receive(
	struct ibv_qp *ibv_qp, struct ibv_recv_wr *request, struct ibv_recv_wr **bad)
{
	struct fixture_qp *qp = (struct fixture_qp *)ibv_qp;
	unsigned int slot = qp->receives_posted % RECEIVES;

	(void)bad;
	pthread_mutex_lock(&perf_test_device.lock);
	assert_true(qp->receives_posted - qp->received < qp->most_receives);
	qp->receives[slot] = *request;
	qp->pieces[slot] = *request->sg_list;
	qp->receives_posted++;
	advance(true);
	pthread_mutex_unlock(&perf_test_device.lock);
	return 0;
}

static int post_shared_receive(
	struct ibv_srq *srq, struct ibv_recv_wr *request, struct ibv_recv_wr **bad)
{
	struct fixture_srq *shared = (struct fixture_srq *)srq;

	(void)bad;
	pthread_mutex_lock(&perf_test_device.lock);
	assert_true(shared->posted - shared->taken < shared->most);
	shared->receives[shared->posted % SHARED_RECEIVES] = *request;
	shared->pieces[shared->posted++ % SHARED_RECEIVES] = *request->sg_list;
	advance(true);
	pthread_mutex_unlock(&perf_test_device.lock);
	return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attributes)
{
	struct fixture_srq *shared = calloc(1, sizeof(*shared));

	assert_true(shared && attributes->attr.max_wr <= SHARED_RECEIVES);
	shared->srq.context = pd->context;
	shared->srq.srq_context = attributes->srq_context;
	shared->most = attributes->attr.max_wr;
	perf_test_device.resources++;
	return &shared->srq;
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attributes, int mask)
{
	struct fixture_srq *shared = (struct fixture_srq *)srq;

	assert_int_equal(mask, IBV_SRQ_LIMIT);
	assert_in_range(attributes->srq_limit, 1, shared->most - 1);
	pthread_mutex_lock(&perf_test_device.lock);
	shared->limit = attributes->srq_limit;
	pthread_mutex_unlock(&perf_test_device.lock);
	return 0;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	perf_test_device.resources--;
	free(srq);
	return 0;
}

/* The libibverbs and librdmacm functions that the program calls. */

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attributes)
{
	struct fixture_qp *qp;

	if (perf_test_device.queue_pair_limit &&
		perf_test_device.queue_pair_count >= perf_test_device.queue_pair_limit) {
		errno = ENOMEM;
		return NULL;
	}
	if (attributes->qp_type == perf_test_device.no_type) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	qp = calloc(1, sizeof(*qp));
	assert_non_null(qp);
	qp->sends = calloc(REQUESTS, sizeof(*qp->sends));
	assert_true(qp->sends && attributes->cap.max_send_wr <= REQUESTS &&
		    attributes->cap.max_recv_wr <= RECEIVES);
	qp->most_receives = attributes->cap.max_recv_wr;
	qp->most = attributes->cap.max_send_wr;
	qp->most_pieces = attributes->cap.max_send_sge;
	qp->shared = (struct fixture_srq *)attributes->srq;
	qp->qp.qp_type = attributes->qp_type;
	qp->qp.context = pd->context;
	qp->qp.pd = pd;
	qp->qp.send_cq = attributes->send_cq;
	qp->qp.recv_cq = attributes->recv_cq;
	pthread_mutex_lock(&perf_test_device.lock);
	assert_true(perf_test_device.queue_pair_count < QUEUE_PAIRS_MAX);
	qp->qp.qp_num = 100 + perf_test_device.queue_pair_count;
	perf_test_device.queue_pairs[perf_test_device.queue_pair_count++] = qp;
	pthread_mutex_unlock(&perf_test_device.lock);
	return &qp->qp;
}

int ibv_destroy_qp(struct ibv_qp *ibv_qp)
{
	struct fixture_qp *qp = (struct fixture_qp *)ibv_qp;

	pthread_mutex_lock(&perf_test_device.lock);
	for (unsigned int i = 0; i < perf_test_device.queue_pair_count; i++)
		if (perf_test_device.queue_pairs[i] == qp)
			perf_test_device.queue_pairs[i--] =
				perf_test_device.queue_pairs[--perf_test_device.queue_pair_count];
	if (qp->peer)
		qp->peer->peer = NULL;
	pthread_mutex_unlock(&perf_test_device.lock);
	free(qp->sends);
	free(qp);
	return 0;
}

/* cppcheck-suppress constParameter ; the library defines the signature */
int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask,
	struct ibv_qp_init_attr *initial)
{
	(void)qp;
	(void)mask;
	(void)initial;
	*attributes = (struct ibv_qp_attr){.port_num = 1};
	if (perf_test_device.personality->queries_in_part)
		attributes->pkey_index = 0xffff; /* the default key: irdma_query_qp() */
	else
		attributes->ah_attr.port_num = 1;
	return 0;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attributes)
{
	id->qp = ibv_create_qp(pd, attributes);
	attributes->cap.max_inline_data = INLINE_MAX;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	ibv_destroy_qp(id->qp);
	id->qp = NULL;
}

/*
 * The transition to RTR names the peer's queue pair and, in the address vector, a valid port:
 * Linux: modify_qp() in uverbs_cmd.c.
 */
static int connect_to(struct fixture_qp *qp, const struct ibv_qp_attr *attributes, int mask)
{
	if (!(mask & IBV_QP_AV) || attributes->ah_attr.port_num != 1)
		return EINVAL;
	qp->peer = find(attributes->dest_qp_num);
	return qp->peer ? 0 : EINVAL;
}

/* Linux: modify_qp() in uverbs_cmd.c; the table of partition keys has one entry, as on RoCE. */
static int initialise(const struct fixture_qp *qp, const struct ibv_qp_attr *attributes, int mask)
{
	bool datagram = qp->qp.qp_type == IBV_QPT_UD;
	int needed =
		IBV_QP_PKEY_INDEX | IBV_QP_PORT | (datagram ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);

	return (mask & needed) == needed && attributes->pkey_index == 0 && attributes->port_num == 1
		       ? 0
		       : EINVAL;
}

int ibv_modify_qp(struct ibv_qp *ibv_qp, struct ibv_qp_attr *attributes, int mask)
{
	struct fixture_qp *qp = (struct fixture_qp *)ibv_qp;
	bool modifies = mask & IBV_QP_STATE && (attributes->qp_state == IBV_QPS_RTS ||
						       attributes->qp_state == IBV_QPS_ERR);
	int error = 0;

	pthread_mutex_lock(&perf_test_device.lock);
	perf_test_device.resets += modifies && perf_test_device.personality->modify_resets;
	if (mask & IBV_QP_STATE && attributes->qp_state == IBV_QPS_ERR)
		perf_test_device_break(qp);
	if (mask & IBV_QP_STATE && attributes->qp_state == IBV_QPS_INIT)
		error = initialise(qp, attributes, mask);
	if (mask & IBV_QP_DEST_QPN)
		error = connect_to(qp, attributes, mask);
	if (mask & IBV_QP_AV)
		qp->traffic_class = attributes->ah_attr.grh.traffic_class;
	pthread_mutex_unlock(&perf_test_device.lock);
	return error;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attributes)
{
	(void)context;
	*attributes = (struct ibv_device_attr){
		.vendor_id = perf_test_device.personality->vendor,
		.max_sge = MAX_SGE,
		.max_srq = 1,
		.max_qp_rd_atom = perf_test_device.personality->reads_answered,
		.max_qp_init_rd_atom = perf_test_device.personality->reads_asked,
		.atomic_cap = perf_test_device.personality->transport == IBV_TRANSPORT_IWARP
				      ? IBV_ATOMIC_NONE
				      : IBV_ATOMIC_HCA,
	};
	return 0;
}

#undef ibv_query_port
int ibv_query_port(
	struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attributes)
{
	(void)context;
	assert_int_equal(port, 1);
	((struct ibv_port_attr *)attributes)->state = IBV_PORT_ACTIVE;
	return 0;
}

void perf_test_device_raise(enum ibv_event_type type)
{
	pthread_mutex_lock(&perf_test_device.lock);
	perf_test_device.event =
		(struct ibv_async_event){.element.port_num = 1, .event_type = type};
	pthread_mutex_unlock(&perf_test_device.lock);
	eventfd_write(perf_test_device.context.async_fd, 1);
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	eventfd_t one;

	if (eventfd_read(context->async_fd, &one))
		return -1;
	pthread_mutex_lock(&perf_test_device.lock);
	*event = perf_test_device.event;
	pthread_mutex_unlock(&perf_test_device.lock);
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attributes)
{
	struct ibv_ah *address = calloc(1, sizeof(*address));

	(void)pd;
	assert_non_null(address);
	assert_true(attributes->is_global && attributes->port_num == 1);
	perf_test_device.resources++;
	return address;
}

int ibv_destroy_ah(struct ibv_ah *address)
{
	free(address);
	perf_test_device.resources--;
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	assert_non_null(pd);
	pd->context = context;
	perf_test_device.resources++;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	perf_test_device.resources--;
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct fixture_channel *channel = calloc(1, sizeof(*channel));

	assert_non_null(channel);
	channel->channel.context = context;
	channel->channel.fd = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE);
	perf_test_device.resources++;
	return &channel->channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	free(channel);
	perf_test_device.resources--;
	return 0;
}

/* Each channel has exactly one CQ. */
struct ibv_cq *ibv_create_cq(struct ibv_context *context, int size, void *cq_context,
	struct ibv_comp_channel *channel, int vector)
{
	struct fixture_cq *queue;

	/* Without a channel, it only takes up space, and is never destroyed. */
	if (!channel) {
		queue = calloc(1, sizeof(*queue));
		assert_non_null(queue);
		queue->cq.context = context;
		return &queue->cq;
	}
	queue = &((struct fixture_channel *)channel)->queue;
	assert_true(size <= COMPLETIONS && vector == 0 && !queue->cq.context);
	queue->cq.context = context;
	queue->cq.channel = channel;
	queue->cq.cq_context = cq_context;
	return &queue->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	assert_false(perf_test_device.personality->late_events && ((struct fixture_cq *)cq)->armed);
	return 0;
}

static void count_reachable(const struct fixture_mr *region, int change)
{
	if (region->access & (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE))
		perf_test_device.reachable += change;
}

struct ibv_mr *ibv_reg_mr_iova2(
	struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned int access)
{
	struct fixture_mr *region;
	struct ibv_mr *mr;

	if (perf_test_device.no_memory) {
		errno = ENOMEM;
		return NULL;
	}
	region = calloc(1, sizeof(*region));
	mr = &region->mr;
	assert_true(region && iova == (uintptr_t)address);
	perf_test_device.resources++;
	*mr = (struct ibv_mr){.context = pd->context, .pd = pd, .addr = address, .length = length};
	mr->lkey = mr->rkey = ++perf_test_device.keys;
	region->access = access;
	count_reachable(region, 1);
	return mr;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, address, length, (uintptr_t)address, (unsigned int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	count_reachable((struct fixture_mr *)mr, -1);
	free(mr);
	perf_test_device.resources--;
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	struct fixture_cq *queue = &((struct fixture_channel *)channel)->queue;
	eventfd_t one;

	if (eventfd_read(channel->fd, &one))
		return -1;
	pthread_mutex_lock(&perf_test_device.lock);
	queue->events--;
	pthread_mutex_unlock(&perf_test_device.lock);
	*cq = &queue->cq;
	*cq_context = queue->cq.cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
	(void)cq;
	(void)count;
}

/* Until the server replies, an iWARP client waits this long: control/control.c. */
#define FIRST_MESSAGE_MS 100

/* Counts the calls that end at their timeout. */
int poll(struct pollfd *waiting, nfds_t count, int milliseconds)
{
	const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
	int result = ppoll(waiting, count, milliseconds < 0 ? NULL : &time, NULL);

	if (result == 0 && milliseconds > 0)
		__atomic_fetch_add(milliseconds == FIRST_MESSAGE_MS ? &perf_test_device.reminders
								    : &perf_test_device.timeouts,
			1, __ATOMIC_RELAXED);
	return result;
}

void perf_test_device_start(const struct personality *personality)
{
	struct ibv_context *context = &perf_test_device.context;

	perf_test_device.personality = personality;
	perf_test_device.device.transport_type = personality->transport;
	if (context->async_fd <= 0)
		context->async_fd = eventfd(0, EFD_CLOEXEC);
	strcpy(perf_test_device.device.name, "fake0");
	context->ops.poll_cq = poll_cq;
	context->ops.req_notify_cq = request_event;
	context->ops.post_send = post_send;
	context->ops.post_recv = post_receive;
	context->ops.post_srq_recv = post_shared_receive;
	context->device = &perf_test_device.device;
	perf_test_device.seed = 1;
	perf_test_device.resets = perf_test_device.timeouts = perf_test_device.reminders = 0;
	perf_test_device.operations = perf_test_device.inlined = perf_test_device.pieces = 0;
	perf_test_device.limits = perf_test_device.unreliable = perf_test_device.lost = 0;
	perf_test_device.lose_every = perf_test_device.lose_from = 0;
	perf_test_device.repeat_every = perf_test_device.hold_every = 0;
	perf_test_device.send_size = perf_test_device.starved = 0;
	perf_test_device.lists = perf_test_device.polls = perf_test_device.signaled = 0;
	perf_test_device.queue_pair_limit = 0;
	perf_test_device.no_type = 0;
	perf_test_device.no_memory = false;
	perf_test_device.fault = NO_FAULT;
	perf_test_device.reply = NULL;
}
