/*
 * Operations that use up receives: see measure/receives.h. A receive belongs to the device from
 * when it is posted until it completes, and then to the test until control_release().
 */
#include <errno.h>

#include "measure/lossy.h"
#include "measure/receives.h"

/* Messages by length, besides those of 0 bytes. Operations of the same length use the third. */
enum { LENGTH_END = 1, LENGTH_CONFIRMATION = 2, LENGTH_OTHER = 3 };

uint32_t receives_count(uint32_t depth)
{
	return depth + CONTROL_RECEIVES_BESIDES;
}

/* True if the data of several operations stays in their receives until it has been verified. */
static bool keeps_data(const struct test_parameters *parameters)
{
	return !parameters->operation->immediate && parameters->slots > 1;
}

/*
 * The memory of a queue pair's receives: its part of what is offered, for each of them or divided
 * between them. With WRITEs, only messages arrive there, which leave the data alone in the memory
 * of the first receives.
 */
static struct slot_area area_of(const struct perf_test *test, const struct queue_pair *pair,
	const struct test_parameters *parameters)
{
	const struct control *control = test->control;
	uint32_t part = (uint32_t)control->offered.size / test->queue_pair_count;
	bool keeps = keeps_data(parameters);
	struct slot_area area = {
		.start = control->offered.start + (size_t)pair->index * part,
		.slot_size = keeps ? part / control->receives : part,
		.key = control->offered.mr->lkey,
		.shared = !keeps,
	};

	if (parameters->operation->immediate) {
		area = pair->slots;
		area.shared = true;
	}
	return area;
}

/* True if each shared receive keeps the data of the operation that arrived in it. */
static bool keeps_shared_data(const struct test_parameters *parameters)
{
	return !parameters->operation->immediate && parameters->verify;
}

/*
 * Chooses the memory of shared receives, as area_of() does. The messages between WRITEs have the
 * notices of a queue pair, which such a test does not use.
 */
static void place_shared(struct perf_test *test)
{
	const struct control *control = test->control;
	struct shared_receives *shared = &test->control->shared;
	bool keeps = keeps_shared_data(&test->parameters);

	shared->overlapping = !keeps;
	shared->start = control->offered.start;
	shared->slot_size = (uint32_t)control->offered.size / (keeps ? shared->count : 1);
	shared->key = control->offered.mr->lkey;
	if (!test->parameters.operation->immediate)
		return;
	shared->start = control_notices(control, test->queue_pairs->pair);
	shared->slot_size = CONTROL_NOTICE_SIZE;
	shared->key = control->messages.mr->lkey;
}

/* The number of a shared receive's work request, without its slot. */
#define SHARED_WR_ID ((uint64_t)ENDPOINT_SHARED)

/* True if the shared receives have, or will have, the memory that the operation needs. */
static bool shared_suffice(const struct perf_test *test, const struct test_parameters *parameters)
{
	const struct control *control = test->control;
	const struct shared_receives *shared = &control->shared;
	uint32_t count = keeps_shared_data(parameters) ? shared->count : 1;

	if (!parameters->operation->receives || parameters->kind == TEST_LATENCY || !shared->srq)
		return false;
	if (!shared->begun)
		return parameters->operation->immediate ||
		       parameters->size <= control->offered.size / count;
	return !(shared->overlapping && keeps_shared_data(parameters)) &&
	       (parameters->operation->immediate || parameters->size <= shared->slot_size);
}

bool receives_suffice(const struct perf_test *test, const struct test_parameters *parameters)
{
	const struct queue_pair *pair = test->queue_pairs->pair;
	struct slot_area area;

	if (test->control->shares)
		return test->control->receives >= receives_count(parameters->depth) &&
		       shared_suffice(test, parameters);
	if (!parameters->operation->receives)
		return true;
	if (test_parameters_lossy(parameters))
		return lossy_suffices(test, parameters);
	if (test->control->receives < receives_count(parameters->depth))
		return false;
	area = test->control->retired ? pair->more : area_of(test, pair, parameters);
	return area.slot_size >= COMMAND_MAX && !(area.shared && keeps_data(parameters)) &&
	       (parameters->operation->immediate || parameters->size <= area.slot_size);
}

int receives_post(struct perf_test *test)
{
	struct control *control = test->control;
	int error = 0;

	if (test_parameters_lossy(&test->parameters))
		return lossy_post(test);
	if (control->shares && !control->shared.begun) {
		place_shared(test);
		error = shared_receives_begin(&control->shared, SHARED_WR_ID);
		return error ? failure_errno(
				       &control->failure, PHASE_MEMORY, "ibv_post_srq_recv", -error)
			     : 0;
	}
	if (!test->parameters.operation->receives || control->retired || control->shares)
		return 0;
	control->retired = true;
	for (uint32_t i = 0; i < test->queue_pair_count; i++) {
		struct queue_pair *pair = test->queue_pairs[i].pair;

		queue_pair_add_slots(
			pair, CONTROL_RECEIVES, area_of(test, pair, &test->parameters));
		for (uint32_t j = 0; !error && j < control->receives; j++)
			error = queue_pair_post_receive(pair, CONTROL_RECEIVES + j);
	}
	return error ? failure_errno(&control->failure, PHASE_MEMORY, "ibv_post_recv", -error) : 0;
}

/* Sends a message of this length, whose contents do not matter. */
static int send_length(struct perf_test *test, struct test_queue_pair *queue_pair, uint32_t length)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)control_notices(test->control, queue_pair->pair),
		.length = length,
		.lkey = test->control->messages.mr->lkey,
	};
	struct ibv_send_wr request = {
		.sg_list = &sge,
		.num_sge = length > 0,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	return perf_test_post(test, queue_pair, CONTROL_KEEPALIVE, &request);
}

int receives_use_up(struct perf_test *test)
{
	const struct test_parameters *parameters = &test->parameters;
	uint32_t count = parameters->kind == TEST_LATENCY ? 1 : parameters->queue_pairs;

	if (!parameters->operation->receives || test_parameters_lossy(parameters))
		return 0;
	for (uint32_t i = 0; i < count; i++)
		for (; test->queue_pairs[i].filled < CONTROL_RECEIVES;
			test->queue_pairs[i].filled++)
			if (send_length(test, &test->queue_pairs[i], 0))
				return -1;
	return 0;
}

/* The length of a message, unless operations have it. */
static uint32_t length_of(const struct perf_test *test, uint32_t length)
{
	bool differs = test->parameters.operation->immediate || test->parameters.size != length;

	return differs ? length : LENGTH_OTHER;
}

/* Operations per permission. */
static uint64_t share(const struct perf_test *test)
{
	uint64_t window = test_parameters_window(&test->parameters);

	return window > 1 ? window / 2 : 1;
}

/* A permission is an empty message, after the start of the test and the first receives. */
static int take_empty(struct perf_test *test, struct test_queue_pair *queue_pair)
{
	uint64_t allowed = queue_pair->allowed + share(test);

	if (test->server && !test->started && test->parameters.kind == TEST_BANDWIDTH &&
		!test->first && queue_pair == test->queue_pairs)
		return perf_test_take_empty(test);
	if (queue_pair->used_up < CONTROL_RECEIVES) {
		queue_pair->used_up++;
		return 0;
	}
	if (!test->initiates || test->parameters.kind == TEST_LATENCY ||
		allowed > queue_pair->posted + test_parameters_window(&test->parameters))
		return failure_protocol(&test->control->failure, "permission",
			"the peer reported an impossible position");
	queue_pair->allowed = allowed;
	return 0;
}

/* True if this receive belongs to an operation of the peer. */
static bool is_operation(const struct perf_test *test, const struct ibv_wc *wc)
{
	enum ibv_wc_opcode opcode =
		test->parameters.operation->immediate ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;

	return wc->opcode == opcode && wc->byte_len == test->parameters.size;
}

/* Takes a message between the operations. Returns 0, -1, or 1 if it is none of them. */
static int take_message(
	struct perf_test *test, struct test_queue_pair *queue_pair, uint32_t length, bool expects)
{
	if (length == 0)
		return take_empty(test, queue_pair);
	if (expects && length == length_of(test, LENGTH_END)) {
		queue_pair->peer_ended = true;
		return 0;
	}
	if (queue_pair->ended && !queue_pair->over &&
		length == length_of(test, LENGTH_CONFIRMATION)) {
		queue_pair->over = true;
		return 0;
	}
	/* No command precedes the end of the operations. */
	return expects ? perf_test_unexpected(test) : 1;
}

/* Takes a message on a queue pair without operations. */
static int take_other(struct perf_test *test, const struct completion *completion)
{
	struct notice notice;
	int received = perf_test_take_receive(test, completion, &notice);

	return received > 0 ? perf_test_unexpected(test) : received;
}

int receives_take(struct perf_test *test, const struct completion *completion)
{
	const struct ibv_wc *wc = completion->wc;
	bool latency = test->parameters.kind == TEST_LATENCY, expects;
	struct test_queue_pair *queue_pair;
	int received = 1;

	if (perf_test_is_other(test, completion->pair))
		return take_other(test, completion);
	queue_pair = perf_test_queue_pair(test, completion->pair);
	if (wc->status == IBV_WC_SUCCESS && control_take_abort(test->control, completion))
		return -1;
	expects = (test->serves || latency) && !queue_pair->peer_ended &&
		  queue_pair - test->queue_pairs < (latency ? 1 : test->parameters.queue_pairs);
	if (wc->status == IBV_WC_SUCCESS && expects && is_operation(test, wc))
		return 1;
	if (wc->status == IBV_WC_SUCCESS && wc->opcode == IBV_WC_RECV)
		received = take_message(test, queue_pair, wc->byte_len, expects);
	if (received <= 0)
		return received ? -1 : control_release(test->control, completion);
	return take_other(test, completion);
}

int receives_refill(struct perf_test *test)
{
	int posted;

	if (!test->control->shares)
		return 0;
	posted = shared_receives_refill(&test->control->shared, SHARED_WR_ID);
	return posted < 0 ? failure_errno(&test->control->failure, PHASE_EXCHANGE,
				    "ibv_post_srq_recv", -posted)
			  : posted;
}

/* True if the send queue has room for another message besides the operations and a command. */
static bool has_room(const struct test_queue_pair *queue_pair)
{
	const struct queue_pair *pair = queue_pair->pair;
	uint64_t operations = queue_pair->posted - queue_pair->completed;

	return pair->sends_posted - pair->sends_completed - operations < CONTROL_SENDS - 1;
}

/*
 * True unless a message that is not empty could overwrite an operation that the peer has yet to
 * verify: then only one is in flight, because there is no memory for several. In a latency test,
 * its answer shows that it was verified.
 */
static bool overwrites_nothing(
	const struct perf_test *test, const struct test_queue_pair *queue_pair)
{
	return !test->parameters.verify || !test->initiates || test->parameters.slots > 1 ||
	       test->parameters.kind == TEST_LATENCY || queue_pair->allowed > queue_pair->posted;
}

int receives_permit(struct perf_test *test, struct test_queue_pair *queue_pair)
{
	bool last = queue_pair->peer_ended;

	if (queue_pair->confirmed || !has_room(queue_pair) ||
		(last ? !overwrites_nothing(test, queue_pair)
		      : queue_pair->received - queue_pair->served < share(test)))
		return 0;
	queue_pair->confirmed = last;
	queue_pair->served += share(test);
	return send_length(test, queue_pair, last ? length_of(test, LENGTH_CONFIRMATION) : 0) ? -1
											      : 1;
}

int receives_end(struct perf_test *test, struct test_queue_pair *queue_pair)
{
	if (queue_pair->ended || !has_room(queue_pair) || !overwrites_nothing(test, queue_pair))
		return 0;
	queue_pair->ended = true;
	return send_length(test, queue_pair, length_of(test, LENGTH_END)) ? -1 : 1;
}
