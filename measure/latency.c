/*
 * A run that measures latency: one operation, and the next when it is over. A READ is over when it is
 * complete. A WRITE is over when the peer, that has seen its data, has answered with one of its own: half
 * of that is the time of one way.
 *
 * Who spins sees data by its last byte, as adapters write in ascending order: the number of the operation
 * stands there. Who sleeps is woken by immediate data.
 */
#include <string.h>

#include "measure/perf-test.h"
#include "protocol/test-pattern.h"

/* Of how many WRITEs one is signaled: of PERF_TEST_OUTSTANDING_MAX one at least. */
#define SIGNALED UINT64_C(16)

/* Who spins looks for an order once in so many turns, and after everything else once in so many. */
#define TURNS_ORDER 256
#define TURNS_LOOK  8192

/* Answers between two looks at the clock. */
#define TURNS_GLANCE 64

/* When its last byte is here, the rest of a WRITE is within this time. */
#define SETTLED_NS UINT64_C(1000000000)

/* The byte at the end of an operation's data, never that of the one before. */
static uint8_t mark_of(uint64_t number)
{
	return (uint8_t)(number + 1);
}

void perf_test_prepare_latency(struct perf_test *test)
{
	struct probe *probe = test->probe;

	/* What is READ has its pattern from the start. */
	if (test->parameters.reads)
		pattern_fill(probe->offered.start, test->parameters.size,
			perf_test_seed(test, test->queue_pairs, 0, test->server));
	else
		probe->offered.start[test->parameters.size - 1] = mark_of(UINT64_MAX);
}

static int take_send(struct perf_test *test, const struct ibv_wc *completion)
{
	if (completion->status != IBV_WC_SUCCESS)
		return probe_broke(test->probe, &test->probe->sends, completion);
	if (perf_test_work_of(completion->wr_id) == PERF_TEST_OPERATION)
		test->queue_pairs->completed = perf_test_number_of(completion->wr_id) + 1;
	return 0;
}

static int take_receive(struct perf_test *test, const struct ibv_wc *completion)
{
	struct notice notice;
	struct test_queue_pair *queue_pair;
	int heard;

	if (completion->status == IBV_WC_SUCCESS && test->parameters.wait == TEST_EVENT &&
		!test->parameters.reads && completion->opcode == IBV_WC_RECV_RDMA_WITH_IMM &&
		perf_test_queue_pair_of(test, completion->wr_id) == test->queue_pairs) {
		test->queue_pairs->heard++;
		return probe_release(test->probe, completion);
	}
	heard = perf_test_take_receive(test, completion, &notice, &queue_pair);
	return heard > 0 ? perf_test_unexpected(test) : heard;
}

/* True if the last byte is that of the peer's WRITE of that number. */
static bool is_marked(const struct perf_test *test, uint64_t number)
{
	const uint8_t *last = test->probe->offered.start + test->parameters.size - 1;

	return __atomic_load_n(last, __ATOMIC_ACQUIRE) == mark_of(number);
}

/* True if the peer's WRITE of that number is here. */
static bool is_here(const struct perf_test *test, uint64_t number)
{
	if (test->parameters.wait == TEST_EVENT)
		return test->queue_pairs->heard > number;
	return is_marked(test, number);
}

static bool is_complete(const struct perf_test *test, uint64_t number)
{
	return test->queue_pairs->completed > number;
}

/* Silence has lasted too long, or somebody wants us to stop; once in so many turns of who spins. */
static int look(struct perf_test *test, deadline_t *silence)
{
	if (*silence == 0)
		*silence = deadline_in(test->patience);
	return perf_test_check_idle(test, *silence);
}

/* Spins until the peer's WRITE of that number is here or, at the server, an order. */
static int spin_for_data(struct perf_test *test, uint64_t number)
{
	deadline_t silence = 0;

	for (unsigned int turn = 1; !is_here(test, number); turn++) {
		/* Why a WRITE failed is told by its own completion, not by the receives' flushing. */
		if (turn % TURNS_ORDER == 0 &&
			(perf_test_poll(test, &test->probe->sends, take_send) < 0 ||
				perf_test_poll(test, &test->probe->receives, take_receive) < 0))
			return -1;
		if (test->told_end)
			return 0;
		if (turn % TURNS_LOOK == 0 && look(test, &silence))
			return -1;
	}
	return 0;
}

/* Spins until the operation of that number is complete. */
static int spin_for_completion(struct perf_test *test, uint64_t number)
{
	struct ibv_cq *cq = test->probe->sends.cq;
	deadline_t silence = 0;
	struct ibv_wc completion;
	unsigned int turn = 0;

	while (!is_complete(test, number)) {
		int count = ibv_poll_cq(cq, 1, &completion);

		if (count < 0)
			return perf_test_poll_failed(test);
		if (count > 0 && take_send(test, &completion))
			return -1;
		if (++turn % TURNS_LOOK == 0 && look(test, &silence))
			return -1;
	}
	return 0;
}

/* Sleeps until either is so, or an order is here. */
static int sleep_for(
	struct perf_test *test, bool (*so)(const struct perf_test *, uint64_t), uint64_t number)
{
	deadline_t silence = deadline_in(test->patience);

	while (!so(test, number) && !test->told_end) {
		int sent = perf_test_poll(test, &test->probe->sends, take_send);
		int received =
			sent < 0 ? -1 : perf_test_poll(test, &test->probe->receives, take_receive);

		if (received < 0 || (sent + received == 0 && probe_idle(test->probe, silence)))
			return -1;
	}
	return 0;
}

static int await_data(struct perf_test *test, uint64_t number)
{
	return test->parameters.wait == TEST_SPIN ? spin_for_data(test, number)
						  : sleep_for(test, is_here, number);
}

static int await_completion(struct perf_test *test, uint64_t number)
{
	return test->parameters.wait == TEST_SPIN ? spin_for_completion(test, number)
						  : sleep_for(test, is_complete, number);
}

/* The work request that all operations of a run are, but for number and signal. */
struct form {
	struct ibv_sge piece;
	struct ibv_send_wr request;
};

static int post(struct perf_test *test, struct form *form, uint64_t number, bool signaled)
{
	form->request.wr_id = perf_test_wr_id(test, test->queue_pairs, PERF_TEST_OPERATION, number);
	form->request.send_flags &= ~(unsigned int)IBV_SEND_SIGNALED;
	form->request.send_flags |= signaled ? IBV_SEND_SIGNALED : 0;
	test->queue_pairs->posted = number + 1;
	return perf_test_post(test, test->queue_pairs, &form->request);
}

/* Makes the data of our WRITE. */
static void fill(struct perf_test *test, uint64_t number)
{
	uint8_t *data = test->probe->private.start;

	if (test->parameters.verify)
		pattern_fill(data, test->parameters.size - 1,
			perf_test_seed(test, test->queue_pairs, number, test->server));
	data[test->parameters.size - 1] = mark_of(number);
}

static int write_once(struct perf_test *test, struct form *form, uint64_t number)
{
	const struct test_queue_pair *queue_pair = test->queue_pairs;

	if (queue_pair->posted - queue_pair->completed >= PERF_TEST_OUTSTANDING_MAX &&
		await_completion(test, queue_pair->posted - PERF_TEST_OUTSTANDING_MAX))
		return -1;
	return post(test, form, number, number % SIGNALED == SIGNALED - 1);
}

/*
 * Looks at the data of the peer's WRITE. Its last byte may be here before the others, which then come
 * soon, or are damaged: of that we are sure so late that it is time for a look at everything else.
 */
static int check_write(struct perf_test *test, uint64_t number)
{
	uint64_t seed = perf_test_seed(test, test->queue_pairs, number, !test->server);
	uint64_t end = probe_now() + (test->parameters.wait == TEST_SPIN ? SETTLED_NS : 0);
	uint32_t size = test->parameters.size - 1;

	while (!is_marked(test, number) ||
		pattern_check(test->probe->offered.start, size, seed) < size)
		if (probe_now() >= end) {
			test->wrong++;
			return perf_test_check_due(test, probe_now()) < 0 ? -1 : 0;
		}
	return 0;
}

/* One WRITE there and one back, which half of *end - start is then the time of one way. */
static int ping(struct perf_test *test, struct form *form, uint64_t number, uint64_t *end)
{
	if (write_once(test, form, number) || await_data(test, number))
		return -1;
	*end = probe_now();
	return test->parameters.verify ? check_write(test, number) : 0;
}

/* One READ. */
static int read_once(struct perf_test *test, struct form *form, uint64_t number, uint64_t *end)
{
	const uint8_t *data = test->probe->private.start;
	uint32_t size = test->parameters.size;

	if (post(test, form, number, true) || await_completion(test, number))
		return -1;
	*end = probe_now();
	if (test->parameters.verify &&
		pattern_check(data, size,
			perf_test_seed(test, test->queue_pairs, 0, !test->server)) < size)
		test->wrong++;
	return 0;
}

/* What is READ is not to be what was there before. */
static void prepare(struct perf_test *test, uint64_t number)
{
	if (!test->parameters.reads)
		fill(test, number);
	else if (test->parameters.verify)
		memset(test->probe->private.start, 0, test->parameters.size);
}

/* Waits for the last WRITE that is signaled: nothing of this run is to come back in another one. */
static int settle(struct perf_test *test)
{
	uint64_t posted = test->queue_pairs->posted, signaled = posted - posted % SIGNALED;

	return signaled > 0 ? spin_for_completion(test, signaled - 1) : 0;
}

/*
 * The server's half: answers each WRITE, also one that has come just before the order that ends the run.
 * That it comes shows that the one before has been read.
 */
static int echo(struct perf_test *test, struct form *form)
{
	for (uint64_t number = 0;; number++) {
		if (await_data(test, number))
			return -1;
		if (test->told_end && !is_here(test, number))
			return settle(test);
		if (test->parameters.verify && check_write(test, number))
			return -1;
		fill(test, number);
		if (write_once(test, form, number))
			return -1;
		test->operations++;
		if (number % TURNS_GLANCE == 0 && perf_test_check_due(test, probe_now()) < 0)
			return -1;
	}
}

int perf_test_latency(struct perf_test *test, struct histogram *latency)
{
	const struct test_parameters *parameters = &test->parameters;
	uint64_t begin = test->shared->start, end;
	struct form form;
	int glanced;

	perf_test_describe(test, test->queue_pairs, 0, &form.request, &form.piece);
	if (test->server)
		return parameters->reads ? 0 : echo(test, &form);
	while (!test->stopped) {
		uint64_t number = test->operations;

		prepare(test, number);
		/* What is done between two operations to verify them belongs to neither. */
		if (parameters->verify || number == 0)
			begin = probe_now();
		if (parameters->reads ? read_once(test, &form, number, &end)
				      : ping(test, &form, number, &end))
			return -1;
		histogram_add(latency, parameters->reads ? end - begin : (end - begin) / 2);
		test->operations++;
		glanced = perf_test_check_due(test, end);
		if (glanced < 0)
			return -1;
		begin = glanced ? probe_now() : end;
		test->stopped = test->operations == parameters->operations || end >= test->end;
	}
	return parameters->reads ? 0 : settle(test);
}
