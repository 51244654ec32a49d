#include <errno.h>
#include <string.h>
#include <time.h>

#include "measure/perf-test.h"
#include "protocol/little-endian.h"

/* Bytes of a notice, and where those of a lane lie: sent ones, then received ones. */
#define NOTICE_SIZE        8
#define QUEUE_PAIR_NOTICES ((size_t)NOTICE_SIZE * (PERF_TEST_NOTICES + PROBE_RECEIVES))

/* A queue pair number on the wire. */
#define NUMBER_SIZE 4

/* wr_id: the lane in the highest byte, what it is for in the next. */
#define QUEUE_PAIR_SHIFT 56
#define WORK_SHIFT       48
#define NUMBER_MASK      ((UINT64_C(1) << WORK_SHIFT) - 1)

/* How often who is busy looks after everything else, and who measures alone tells that it lives. */
#define GLANCE_NS    UINT64_C(100000000)
#define KEEPALIVE_NS UINT64_C(1000000000)

uint64_t perf_test_wr_id(const struct perf_test *test, const struct test_queue_pair *queue_pair,
	enum perf_test_work work, uint64_t number)
{
	return (uint64_t)(queue_pair - test->queue_pairs) << QUEUE_PAIR_SHIFT |
	       (uint64_t)work << WORK_SHIFT | (number & NUMBER_MASK);
}

struct test_queue_pair *perf_test_queue_pair_of(struct perf_test *test, uint64_t wr_id)
{
	return &test->queue_pairs[wr_id >> QUEUE_PAIR_SHIFT];
}

enum perf_test_work perf_test_work_of(uint64_t wr_id)
{
	return (enum perf_test_work)(wr_id >> WORK_SHIFT & 0xff);
}

uint64_t perf_test_number_of(uint64_t wr_id)
{
	return wr_id & NUMBER_MASK;
}

static int call_failed(struct perf_test *test, const char *call, int error)
{
	return failure_set(&test->probe->failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, error, call,
		"%s", strerror(error));
}

void perf_test_init(struct perf_test *test, struct probe *probe, uint32_t depth, bool server)
{
	*test = (struct perf_test){
		.probe = probe, .server = server, .queue_pair_count = 1, .depth = depth};
}

/* The memory of a lane's notices. */
static uint8_t *notices_of(const struct perf_test *test, const struct test_queue_pair *queue_pair)
{
	return test->notices.start + (size_t)(queue_pair - test->queue_pairs) * QUEUE_PAIR_NOTICES;
}

/* Posts a receive of a lane beyond the first, whose receives are the probe's. */
static int post_receive(struct perf_test *test, struct test_queue_pair *queue_pair, uint64_t slot)
{
	struct ibv_sge piece = {
		.addr = (uintptr_t)notices_of(test, queue_pair) +
			NOTICE_SIZE * (PERF_TEST_NOTICES + slot),
		.length = NOTICE_SIZE,
		.lkey = test->notices.mr->lkey,
	};
	struct ibv_recv_wr *bad,
		request = {.wr_id = perf_test_wr_id(test, queue_pair, PERF_TEST_NOTICE, slot),
			.sg_list = &piece,
			.num_sge = 1};
	int error = ibv_post_recv(queue_pair->qp, &request, &bad);

	return error ? call_failed(test, "ibv_post_recv", error) : 0;
}

/* Makes a queue pair like the probe's, and prepares it for a peer. */
static int make_queue_pair(struct perf_test *test, struct test_queue_pair *queue_pair)
{
	struct probe *probe = test->probe;
	struct ibv_qp_attr attributes;
	struct ibv_qp_init_attr like;
	struct ibv_qp_init_attr wanted = probe_queue_pair(probe, test->depth, probe->inline_max);
	int error = ibv_query_qp(probe->id->qp, &attributes,
		IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, &like);

	if (error)
		return call_failed(test, "ibv_query_qp", error);
	queue_pair->qp = ibv_create_qp(probe->pd, &wanted);
	if (!queue_pair->qp)
		return call_failed(test, "ibv_create_qp", errno);
	test->queue_pair_count++;
	attributes.qp_state = IBV_QPS_INIT;
	error = ibv_modify_qp(queue_pair->qp, &attributes,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (error)
		return call_failed(test, "ibv_modify_qp", error);
	for (uint64_t slot = 0; slot < PROBE_RECEIVES; slot++)
		if (post_receive(test, queue_pair, slot))
			return -1;
	return 0;
}

int perf_test_make_queue_pairs(struct perf_test *test, uint32_t count)
{
	if (probe_make_memory(test->probe, &test->notices, count * QUEUE_PAIR_NOTICES,
		    IBV_ACCESS_LOCAL_WRITE))
		return -1;
	test->queue_pairs[0].qp = test->probe->id->qp;
	while (test->queue_pair_count < count)
		if (make_queue_pair(test, &test->queue_pairs[test->queue_pair_count]))
			return -1;
	return 0;
}

size_t perf_test_encode_numbers(const struct perf_test *test, uint8_t *text)
{
	for (uint32_t i = 1; i < test->queue_pair_count; i++)
		le_put32(text + (size_t)NUMBER_SIZE * (i - 1), test->queue_pairs[i].qp->qp_num);
	return (size_t)NUMBER_SIZE * (test->queue_pair_count - 1);
}

/*
 * Takes a lane to work with that queue pair of the peer, by the way that the probe's has. Its own number
 * is the first packet sequence number, as good as any other. InfiniBand specification, volume 1, 10.3.1.
 */
static int connect_queue_pair(
	struct perf_test *test, struct test_queue_pair *queue_pair, uint32_t number)
{
	struct ibv_qp_attr attributes;
	struct ibv_qp_init_attr like;
	int error = ibv_query_qp(test->probe->id->qp, &attributes,
		IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER |
			IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC,
		&like);

	if (error)
		return call_failed(test, "ibv_query_qp", error);
	attributes.qp_state = IBV_QPS_RTR;
	attributes.dest_qp_num = number;
	attributes.rq_psn = number & 0xffffff;
	error = ibv_modify_qp(queue_pair->qp, &attributes,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (error)
		return call_failed(test, "ibv_modify_qp", error);
	attributes.qp_state = IBV_QPS_RTS;
	attributes.sq_psn = queue_pair->qp->qp_num & 0xffffff;
	error = ibv_modify_qp(queue_pair->qp, &attributes,
		IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	return error ? call_failed(test, "ibv_modify_qp", error) : 0;
}

int perf_test_connect_queue_pairs(struct perf_test *test, const void *text, size_t size)
{
	const uint8_t *numbers = text;

	if (size != (size_t)NUMBER_SIZE * (test->queue_pair_count - 1))
		return failure_set(&test->probe->failure, FAILURE_PROTOCOL, PHASE_QUEUE_PAIR,
			-EPROTO, "ORDER_LANES", "it has another number of queue pairs");
	for (uint32_t i = 1; i < test->queue_pair_count; i++)
		if (connect_queue_pair(test, &test->queue_pairs[i],
			    le_get32(numbers + (size_t)NUMBER_SIZE * (i - 1))))
			return -1;
	return 0;
}

void perf_test_free(struct perf_test *test)
{
	for (uint32_t i = 1; i < test->queue_pair_count; i++)
		ibv_destroy_qp(test->queue_pairs[i].qp);
	test->queue_pair_count = 1;
	probe_free_memory(&test->notices);
}

bool perf_test_can(const struct perf_test *test, const struct test_parameters *parameters)
{
	if (parameters->kind == TEST_LATENCY && !parameters->reads &&
		test->depth < PERF_TEST_OUTSTANDING_MAX)
		return false;
	return test->notices.mr && parameters->queue_pairs <= test->queue_pair_count &&
	       parameters->depth <= test->depth &&
	       test_parameters_memory(parameters) <= test->probe->private.size &&
	       test_parameters_memory(parameters) <= test->probe->peer_length;
}

uint64_t perf_test_offset(
	const struct perf_test *test, const struct test_queue_pair *queue_pair, uint64_t number)
{
	return queue_pair->offset + number % test->parameters.slots * test->parameters.size;
}

uint64_t perf_test_seed(const struct perf_test *test, const struct test_queue_pair *queue_pair,
	uint64_t number, bool servers)
{
	return (test->parameters.seed ^ (uint64_t)servers << 63) +
	       ((uint64_t)(queue_pair - test->queue_pairs) << 40) + number;
}

/* Who sleeps until the peer's data is here is woken by immediate data. */
static enum ibv_wr_opcode opcode_of(const struct test_parameters *parameters)
{
	if (parameters->reads)
		return IBV_WR_RDMA_READ;
	return parameters->kind == TEST_LATENCY && parameters->wait == TEST_EVENT
		       ? IBV_WR_RDMA_WRITE_WITH_IMM
		       : IBV_WR_RDMA_WRITE;
}

void perf_test_describe(const struct perf_test *test, const struct test_queue_pair *queue_pair,
	uint64_t number, struct ibv_send_wr *request, struct ibv_sge *piece)
{
	const struct test_parameters *parameters = &test->parameters;
	const struct probe *probe = test->probe;
	uint64_t place = perf_test_offset(test, queue_pair, number);

	*piece = (struct ibv_sge){
		.addr = (uintptr_t)probe->private.start + place,
		.length = parameters->size,
		.lkey = probe->private.mr->lkey,
	};
	*request = (struct ibv_send_wr){
		.wr_id = perf_test_wr_id(test, queue_pair, PERF_TEST_OPERATION, number),
		.sg_list = piece,
		.num_sge = 1,
		.opcode = opcode_of(parameters),
		.send_flags = !parameters->reads && parameters->size <= probe->inline_max
				      ? IBV_SEND_INLINE
				      : 0,
		.wr.rdma = {probe->peer_address + place, probe->peer_rkey},
	};
}

int perf_test_post(
	struct perf_test *test, struct test_queue_pair *queue_pair, struct ibv_send_wr *first)
{
	struct ibv_send_wr *bad;
	int error = ibv_post_send(queue_pair->qp, first, &bad);

	return error ? failure_set(&test->probe->failure, FAILURE_ERRNO, PHASE_EXCHANGE, error,
			       "ibv_post_send", "%s", strerror(error))
		     : 0;
}

int perf_test_notify(
	struct perf_test *test, struct test_queue_pair *queue_pair, const struct notice *notice)
{
	uint8_t *place = notices_of(test, queue_pair) +
			 NOTICE_SIZE * (queue_pair->notices % PERF_TEST_NOTICES);
	struct ibv_sge piece = {
		.addr = (uintptr_t)place, .length = NOTICE_SIZE, .lkey = test->notices.mr->lkey};
	struct ibv_send_wr request = {
		.wr_id = perf_test_wr_id(test, queue_pair, PERF_TEST_NOTICE, queue_pair->notices),
		.sg_list = &piece,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	queue_pair->notices++;
	le_put64(place, notice->number << 2 | (uint64_t)notice->of_initiator << 1 | notice->last);
	return perf_test_post(test, queue_pair, &request);
}

int perf_test_keepalive(struct perf_test *test)
{
	struct ibv_send_wr sign = {
		.wr_id = perf_test_wr_id(test, test->queue_pairs, PERF_TEST_KEEPALIVE, 0),
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	return perf_test_post(test, test->queue_pairs, &sign);
}

/*
 * True if the server has nothing to do in this run, or may be done with its half before us: it would take
 * us for dead.
 */
static bool is_passive(const struct perf_test *test)
{
	const struct test_parameters *parameters = &test->parameters;

	if (test->server)
		return false;
	return parameters->kind == TEST_LATENCY ? parameters->reads : !parameters->verify;
}

int perf_test_check_due(struct perf_test *test, uint64_t now)
{
	if (now < test->glance)
		return 0;
	test->glance = now + GLANCE_NS;
	if (now >= test->keepalive && is_passive(test)) {
		test->keepalive = now + KEEPALIVE_NS;
		if (perf_test_keepalive(test))
			return -1;
	}
	return probe_look(test->probe) ? -1 : 1;
}

static void read_notice(struct notice *notice, const void *message)
{
	uint64_t number = le_get64(message);

	*notice = (struct notice){number >> 2, number >> 1 & 1, number & 1};
}

int perf_test_unexpected(struct perf_test *test)
{
	return failure_set(&test->probe->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO,
		"ibv_poll_cq", "it sent something that means nothing here");
}

/* The first lane takes the probe's messages, too: of the client orders, and signs of life. */
static int hear_on_first(
	struct perf_test *test, const struct ibv_wc *completion, struct notice *notice)
{
	struct probe *probe = test->probe;

	if (completion->byte_len == NOTICE_SIZE) {
		read_notice(notice, probe_message(probe, completion));
		return probe_release(probe, completion) ? -1 : 1;
	}
	if (!test->server || probe->has_kept)
		return perf_test_unexpected(test);
	if (completion->byte_len == 0) {
		test->started = true;
		return probe_release(probe, completion) ? -1 : 0;
	}
	probe->kept = *completion;
	probe->has_kept = test->told_end = true;
	return 0;
}

int perf_test_take_receive(struct perf_test *test, const struct ibv_wc *completion,
	struct notice *notice, struct test_queue_pair **queue_pair)
{
	uint64_t slot = perf_test_number_of(completion->wr_id);

	*queue_pair = perf_test_queue_pair_of(test, completion->wr_id);
	if (completion->status != IBV_WC_SUCCESS)
		return probe_broke(test->probe, &test->probe->receives, completion);
	/* The length of immediate data is that of its WRITE. */
	if (completion->opcode != IBV_WC_RECV)
		return perf_test_unexpected(test);
	if (*queue_pair == test->queue_pairs)
		return hear_on_first(test, completion, notice);
	if (completion->byte_len != NOTICE_SIZE)
		return perf_test_unexpected(test);
	read_notice(
		notice, notices_of(test, *queue_pair) + NOTICE_SIZE * (PERF_TEST_NOTICES + slot));
	return post_receive(test, *queue_pair, slot) ? -1 : 1;
}

int perf_test_poll_failed(struct perf_test *test)
{
	return failure_set(&test->probe->failure, FAILURE_ERRNO, PHASE_EXCHANGE, EIO, "ibv_poll_cq",
		"%s", strerror(EIO));
}

int perf_test_poll(struct perf_test *test, struct probe_queue *queue,
	int (*take)(struct perf_test *, const struct ibv_wc *))
{
	struct ibv_wc completions[PERF_TEST_POLL];
	int count = ibv_poll_cq(queue->cq, PERF_TEST_POLL, completions);

	if (count < 0)
		return perf_test_poll_failed(test);
	for (int i = 0; i < count; i++)
		if (take(test, &completions[i]))
			return -1;
	return count;
}

int perf_test_check_idle(struct perf_test *test, deadline_t silence)
{
	if (deadline_left(silence) == 0)
		return failure_set(&test->probe->failure, FAILURE_DEADLINE, PHASE_EXCHANGE,
			CODE_DIAGNOSIS, "poll", "");
	return probe_look(test->probe);
}

static void begin_queue_pairs(struct perf_test *test)
{
	const struct test_parameters *parameters = &test->parameters;

	for (uint32_t i = 0; i < parameters->queue_pairs; i++) {
		struct test_queue_pair *queue_pair = &test->queue_pairs[i];

		*queue_pair = (struct test_queue_pair){
			.qp = queue_pair->qp,
			.offset = (uint64_t)i * parameters->slots * parameters->size,
			.notices = queue_pair->notices,
			/* What we WRITE into is free at first; what we READ has to be made. */
			.allowed = parameters->reads ? 0 : parameters->slots,
		};
	}
}

void perf_test_begin(
	struct perf_test *test, const struct test_parameters *parameters, int64_t patience)
{
	test->parameters = *parameters;
	test->initiates = parameters->direction != (test->server ? TEST_CLIENT : TEST_SERVER);
	test->serves = parameters->verify &&
		       parameters->direction != (test->server ? TEST_SERVER : TEST_CLIENT);
	test->started = test->stopped = test->told_end = false;
	test->operations = test->wrong = test->wrong_offset = test->last = 0;
	test->patience = patience;
	begin_queue_pairs(test);
	if (parameters->kind == TEST_LATENCY)
		perf_test_prepare_latency(test);
}

static uint64_t cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int perf_test_run(struct perf_test *test, struct test_shared *shared, struct test_result *result,
	struct histogram *latency)
{
	uint64_t cpu = cpu_now();
	struct intervals intervals;
	int status;

	test->shared = shared;
	test->end = test->parameters.operations
			    ? UINT64_MAX
			    : shared->start + (uint64_t)test->parameters.milliseconds * 1000000;
	test->glance = shared->start + GLANCE_NS;
	test->keepalive = shared->start + KEEPALIVE_NS;
	status = test->parameters.kind == TEST_LATENCY ? perf_test_latency(test, latency)
						       : perf_test_bandwidth(test);
	intervals = test_shared_intervals(shared);
	*result = (struct test_result){
		.operations = test->operations,
		.bytes = test->operations * test->parameters.size,
		/* What the peer still has to do after the last one, to verify, is not our time. */
		.nanoseconds =
			(test->parameters.operations && test->last ? test->last : probe_now()) -
			shared->start,
		.cpu_nanoseconds = cpu_now() - cpu,
		.worst = intervals.worst,
		.best = intervals.best,
		.wrong = test->wrong,
		.wrong_offset = test->wrong_offset,
	};
	return status;
}
