/*
 * Common code of bandwidth and latency tests: queue pairs, memory, notices and keepalives. Queue
 * pairs and memory belong to the control connection; the thread that runs the test uses them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "measure/perf-test.h"
#include "protocol/little-endian.h"

/* Size of a queue pair number on the wire, in bytes. */
#define NUMBER_SIZE 4

void perf_test_init(struct perf_test *test, struct control *control, uint32_t depth, bool server)
{
	*test = (struct perf_test){.control = control, .server = server, .depth = depth};
}

/* How many of the test's queue pairs are the connection's own: 1, or 0 if it has no operations. */
static uint32_t own_queue_pairs(const struct perf_test *test)
{
	return test->first == 0;
}

int perf_test_make_queue_pairs(struct perf_test *test, uint32_t count)
{
	test->first = test->control->shares || test->control->transport != TEST_RC;
	test->queue_pairs[0].pair = test->control->endpoint.pairs;
	for (uint32_t i = own_queue_pairs(test); i < count; i++) {
		test->queue_pairs[i].pair = control_add_queue_pair(test->control);
		if (!test->queue_pairs[i].pair)
			return -1;
	}
	test->queue_pair_count = count;
	return 0;
}

size_t perf_test_encode_numbers(const struct perf_test *test, uint8_t *text)
{
	size_t size = 0;

	for (uint32_t i = own_queue_pairs(test); i < test->queue_pair_count;
		i++, size += NUMBER_SIZE)
		le_put32(text + size, test->queue_pairs[i].pair->qp->qp_num);
	return size;
}

int perf_test_connect_queue_pairs(struct perf_test *test, const void *text, size_t size)
{
	const uint8_t *numbers = text;

	if (size != (size_t)NUMBER_SIZE * (test->queue_pair_count - own_queue_pairs(test)))
		return failure_set(&test->control->failure, FAILURE_PROTOCOL, PHASE_QUEUE_PAIR,
			-EPROTO, "COMMAND_QUEUE_PAIRS",
			"the peer has a different number of queue pairs");
	for (uint32_t i = own_queue_pairs(test); i < test->queue_pair_count;
		i++, numbers += NUMBER_SIZE)
		if (endpoint_connect_queue_pair(&test->control->endpoint, test->queue_pairs[i].pair,
			    le_get32(numbers), &test->control->failure))
			return -1;
	return 0;
}

uint64_t perf_test_offset(
	const struct perf_test *test, const struct test_queue_pair *queue_pair, uint64_t number)
{
	return queue_pair->offset + number % test->parameters.slots * test->parameters.size;
}

uint64_t perf_test_seed(const struct perf_test *test, const struct test_queue_pair *queue_pair,
	uint64_t number, bool server)
{
	return (test->parameters.seed ^ (uint64_t)server << 63) +
	       ((uint64_t)(queue_pair - test->queue_pairs) << 40) + number;
}

static enum ibv_wr_opcode opcode_of(const struct test_parameters *parameters)
{
	static const enum ibv_wr_opcode opcodes[TEST_OPERATIONS] = {
		[TEST_WRITE] = IBV_WR_RDMA_WRITE,
		[TEST_READ] = IBV_WR_RDMA_READ,
		[TEST_FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
		[TEST_COMPARE_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
		[TEST_SEND] = IBV_WR_SEND,
		[TEST_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
	};

	return test_parameters_immediate(parameters) ? IBV_WR_RDMA_WRITE_WITH_IMM
						     : opcodes[parameters->operation->number];
}

/* True if an operation's data is copied into its work request. */
static bool is_inline(const struct test_parameters *parameters, const struct queue_pair *pair)
{
	if (parameters->inline_below)
		return parameters->size < parameters->inline_below;
	return !parameters->operation->fetches && parameters->size <= pair->size.inline_max;
}

/* Divides an operation's slot into pieces. Returns their number. */
static int divide(const struct test_parameters *parameters, uint64_t address, uint32_t key,
	struct ibv_sge pieces[TEST_SGE_MAX])
{
	uint32_t count = parameters->gathers ? parameters->gathers : 1;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t from = (uint64_t)parameters->size * i / count;
		uint64_t to = (uint64_t)parameters->size * (i + 1) / count;

		pieces[i].addr = address + from;
		pieces[i].length = (uint32_t)(to - from);
		pieces[i].lkey = key;
	}
	return (int)count;
}

/* Gives an unreliable operation its number, and a datagram its destination. */
static void make_unreliable(const struct test_parameters *parameters,
	const struct test_queue_pair *queue_pair, uint64_t number, struct ibv_send_wr *request)
{
	request->imm_data = htonl((uint32_t)number);
	if (!parameters->operation->immediate)
		request->opcode = IBV_WR_SEND_WITH_IMM;
	if (parameters->transport != TEST_UD)
		return;
	request->wr.ud.ah = queue_pair->pair->address;
	request->wr.ud.remote_qpn = queue_pair->pair->number_of_peer;
	request->wr.ud.remote_qkey = ENDPOINT_QKEY;
}

void perf_test_describe(const struct perf_test *test, const struct test_queue_pair *queue_pair,
	uint64_t number, struct ibv_send_wr *request, struct ibv_sge pieces[TEST_SGE_MAX])
{
	const struct test_parameters *parameters = &test->parameters;
	const struct control *control = test->control;
	uint64_t offset = perf_test_offset(test, queue_pair, number);

	*request = (struct ibv_send_wr){
		.sg_list = pieces,
		.num_sge = divide(parameters, (uintptr_t)control->private.start + offset,
			control->private.mr->lkey, pieces),
		.opcode = opcode_of(parameters),
		.send_flags = is_inline(parameters, queue_pair->pair) ? IBV_SEND_INLINE : 0,
		.wr.rdma = {control->peer_address + offset, control->peer_rkey},
	};
	if (test_parameters_lossy(parameters))
		make_unreliable(parameters, queue_pair, number, request);
}

int perf_test_post(struct perf_test *test, struct test_queue_pair *queue_pair,
	enum control_work kind, struct ibv_send_wr *first)
{
	int error = queue_pair_post(queue_pair->pair, kind, first);

	return error ? control_post_failed(test->control, error) : 0;
}

int perf_test_notify(
	struct perf_test *test, struct test_queue_pair *queue_pair, const struct notice *notice)
{
	uint8_t *bytes = control_notices(test->control, queue_pair->pair) +
			 queue_pair->notices++ % CONTROL_NOTICES * CONTROL_NOTICE_SIZE;
	struct ibv_sge sge = {
		.addr = (uintptr_t)bytes,
		.length = CONTROL_NOTICE_SIZE,
		.lkey = test->control->messages.mr->lkey,
	};
	struct ibv_send_wr request = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	le_put64(bytes, notice->number << 2 | (uint64_t)notice->of_initiator << 1 | notice->last);
	return perf_test_post(test, queue_pair, CONTROL_NOTICE, &request);
}

int perf_test_send_empty(struct perf_test *test)
{
	struct ibv_send_wr request = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	int error = queue_pair_post(test->control->endpoint.pairs, CONTROL_KEEPALIVE, &request);

	return error ? control_post_failed(test->control, error) : 0;
}

/*
 * Answers a keepalive. A client that does not wait for the answers must not fill the send queue.
 */
static int answer_keepalive(struct perf_test *test)
{
	const struct queue_pair *pair = test->control->endpoint.pairs;
	uint64_t *oldest = &test->answers[test->answered++ % CONTROL_KEEPALIVES];

	if (*oldest > pair->sends_completed)
		return failure_protocol(&test->control->failure, "keepalive",
			"the peer does not wait for answers to its keepalives");
	if (perf_test_send_empty(test))
		return -1;
	*oldest = pair->sends_posted;
	return 0;
}

int perf_test_take_empty(struct perf_test *test)
{
	bool starts = test->parameters.kind == TEST_BANDWIDTH && !test->started;

	test->started = true;
	return starts || !test->control->answers ? 0 : answer_keepalive(test);
}

/* True if the server is idle or finishes its half first, so that it could time out. */
static bool server_waits(const struct perf_test *test)
{
	const struct test_parameters *parameters = &test->parameters;

	if (test->server)
		return false;
	if (parameters->kind == TEST_LATENCY)
		return parameters->operation->fetches;
	if (test_parameters_lossy(parameters))
		return !test->serves;
	return !test_parameters_notices(parameters) && !parameters->operation->receives;
}

int perf_test_timed_out(struct perf_test *test)
{
	return failure_set(&test->control->failure, FAILURE_DEADLINE, PHASE_EXCHANGE,
		CODE_DIAGNOSIS, "poll", "");
}

/* Waits for the answer to the last keepalive, after the operations that were posted before it. */
static int await_answer(struct perf_test *test, uint64_t now)
{
	const struct queue_pair *pair = test->control->endpoint.pairs;

	if (pair->sends_completed < test->keepalive_posted)
		test->keepalive_sent = now;
	return now - test->keepalive_sent < (uint64_t)test->timeout * 1000000
		       ? 0
		       : perf_test_timed_out(test);
}

int perf_test_ask(struct perf_test *test, uint64_t now)
{
	if (perf_test_send_empty(test))
		return -1;
	test->keepalive_sent = now;
	test->keepalive_posted = test->control->endpoint.pairs->sends_posted;
	test->control->unanswered = test->control->answers;
	return 0;
}

/*
 * Sends a keepalive if one is due. While the server is stopped, messages use up its receives, and
 * iWARP ends a connection on which a message finds none. So the next keepalive waits for the answer
 * to the last. Servers of version 0.1 answer none.
 */
static int keep_alive(struct perf_test *test, uint64_t now)
{
	if (test->control->unanswered)
		return await_answer(test, now);
	if (now - test->keepalive_sent < PERF_TEST_KEEPALIVE_NS || !server_waits(test))
		return 0;
	return perf_test_ask(test, now);
}

int perf_test_check_due(struct perf_test *test, uint64_t now)
{
	if (now < test->next_check)
		return 0;
	test->next_check = now + PERF_TEST_CHECK_NS;
	if (test->show)
		test->show(test->show_context, now);
	return keep_alive(test, now) || control_check(test->control) ? -1 : 1;
}

int perf_test_check_idle(struct perf_test *test, deadline_t *deadline)
{
	if (*deadline == 0)
		*deadline = deadline_in(test->timeout);
	if (deadline_left(*deadline) == 0)
		return perf_test_timed_out(test);
	if (test->show)
		test->show(test->show_context, test_now());
	return control_check(test->control);
}

int perf_test_unexpected(struct perf_test *test)
{
	return failure_protocol(
		&test->control->failure, "ibv_poll_cq", "the peer sent an unexpected message");
}

int perf_test_take_receive(
	struct perf_test *test, const struct completion *completion, struct notice *notice)
{
	uint32_t length = completion->wc->byte_len;
	uint64_t number;

	if (completion->wc->status != IBV_WC_SUCCESS) {
		control_completion_failed(test->control, completion);
		return 0;
	}
	/* With immediate data, the length is the size of the WRITE. */
	if (completion->wc->opcode != IBV_WC_RECV)
		return perf_test_unexpected(test);
	if (length == CONTROL_NOTICE_SIZE) {
		number = le_get64(completion->data);
		*notice = (struct notice){number >> 2, number >> 1 & 1, number & 1};
		return control_release(test->control, completion) ? -1 : 1;
	}
	/* The first queue pair also receives answers, or the client's commands and keepalives. */
	if (length == 0 && test->control->unanswered && completion->pair->index == 0) {
		test->control->unanswered = false;
		return control_release(test->control, completion);
	}
	if (control_take_abort(test->control, completion))
		return -1;
	if (!test->server || test->end_received || completion->pair->index > 0)
		return perf_test_unexpected(test);
	if (length == 0)
		return control_release(test->control, completion) || perf_test_take_empty(test) ? -1
												: 0;
	control_keep(test->control, completion);
	test->end_received = true;
	return 0;
}

static int poll_endpoint(struct perf_test *test)
{
	int count = endpoint_poll(&test->control->endpoint, &test->polled);

	return count < 0
		       ? failure_errno(&test->control->failure, PHASE_EXCHANGE, "ibv_poll_cq", EIO)
		       : count + (int)test->kept;
}

static bool next_completion(struct perf_test *test, struct completion *completion)
{
	if (test->kept == 0)
		return endpoint_next_completion(
			&test->control->endpoint, &test->polled, completion);
	test->kept--;
	*completion = *control_take_kept(test->control);
	return true;
}

int perf_test_take_completed(
	struct perf_test *test, int (*take)(struct perf_test *, const struct completion *))
{
	struct completion completion;
	int count = poll_endpoint(test), status = 0;

	while (count > 0 && next_completion(test, &completion))
		if (status == 0)
			status = take(test, &completion);
	return status ? -1 : count;
}
