/*
 * Latency test: one operation at a time. A READ or an atomic operation ends with its completion. A
 * WRITE or SEND ends when the peer's reply, the same operation, arrives; half of that time is the
 * one-way latency.
 *
 * A spinning end polls the last byte of the data, which contains the operation's number. If the
 * data takes several packets, no specification promises that the last byte arrives last: packets
 * may take different paths and, with relaxed ordering, reach memory in any order. In that case, and
 * when waiting for events, each end writes with immediate data if the transport supports it.
 *
 * Over unreliable queue pairs, the test is that of measure/lossy-latency.h.
 */
#include <sched.h>
#include <string.h>

#include "measure/atomics.h"
#include "measure/lossy-latency.h"
#include "measure/receives.h"
#include "protocol/test-pattern.h"

/* One in SIGNALED WRITEs is signaled: at least one per PERF_TEST_OUTSTANDING_MAX. */
#define SIGNALED UINT64_C(16)

/*
 * Iterations of a spinning thread. An adapter replies before the first yield. A software device may
 * need this processor for its own threads or for the peer's, which would otherwise wait for the end
 * of our time slice.
 */
#define TURNS_COMMAND    256   /* between polls for commands, while spinning on data */
#define TURNS_CHECK      8192  /* between checks whether to stop */
#define TURNS_YIELD      4096  /* between yields, while spinning on data */
#define TURNS_YIELD_POLL 32768 /* between yields, while polling the completion queue */

/* The server reads the clock once per this many replies. */
#define ANSWERS_CHECK 64

/* The rest of a WRITE must arrive within this time after its last byte. */
#define SETTLED_NS UINT64_C(1000000000)

/* The last byte of an operation's data; it differs from that of the previous operation. */
static uint8_t mark_of(uint64_t number)
{
	return (uint8_t)(number + 1);
}

void latency_prepare(struct perf_test *test)
{
	uint8_t *offered = test->control->offered.start;

	if (test->parameters.operation->atomic)
		return;
	/* Memory that the peer READs is filled once, before the test. */
	if (test->parameters.operation->fetches)
		pattern_fill(offered, test->parameters.size,
			perf_test_seed(test, test->queue_pairs, 0, test->server));
	else
		offered[test->parameters.size - 1] = mark_of(UINT64_MAX);
}

static int take(struct perf_test *test, const struct completion *completion)
{
	struct test_queue_pair *queue_pair = test->queue_pairs;
	struct notice notice;
	int received;

	if (completion->kind == ENDPOINT_RECEIVE && test->parameters.operation->receives) {
		received = receives_take(test, completion);
		if (received <= 0)
			return received;
		queue_pair->received++;
		return control_release(test->control, completion);
	}
	if (completion->kind == ENDPOINT_RECEIVE) {
		if (test_parameters_immediate(&test->parameters) &&
			completion->wc->status == IBV_WC_SUCCESS &&
			completion->wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM &&
			completion->pair == queue_pair->pair) {
			queue_pair->received++;
			return control_release(test->control, completion);
		}
		received = perf_test_take_receive(test, completion, &notice);
		return received > 0 ? perf_test_unexpected(test) : received;
	}
	if (completion->wc->status != IBV_WC_SUCCESS)
		control_completion_failed(test->control, completion);
	else if (completion->kind == CONTROL_OPERATION)
		queue_pair->completed += completion->sends;
	else if (completion->kind == CONTROL_KEEPALIVE)
		/* It also completes the unsignaled operations before it. */
		queue_pair->completed += completion->sends - 1;
	return 0;
}

/* True if a completion shows that the peer's operation has arrived, and not its last byte. */
static bool arrives_by_completion(const struct perf_test *test)
{
	return test->parameters.operation->receives || test_parameters_immediate(&test->parameters);
}

/* True if the last byte belongs to the peer's WRITE with this number. */
static bool is_marked(const struct perf_test *test, uint64_t number)
{
	const uint8_t *last = test->control->offered.start + test->parameters.size - 1;

	return __atomic_load_n(last, __ATOMIC_ACQUIRE) == mark_of(number);
}

/* True if the peer's operation with this number has arrived. */
static bool is_here(const struct perf_test *test, uint64_t number)
{
	if (arrives_by_completion(test))
		return test->queue_pairs->received > number;
	return is_marked(test, number);
}

static bool is_complete(const struct perf_test *test, uint64_t number)
{
	return test->queue_pairs->completed > number;
}

/* Spins until the peer's operation with this number arrives or, at the server, a command. */
static int spin_for_data(struct perf_test *test, uint64_t number)
{
	unsigned int turns = arrives_by_completion(test) ? 1 : TURNS_COMMAND;
	deadline_t deadline = 0;

	for (unsigned int turn = 1; !is_here(test, number); turn++) {
		if (turn % turns == 0 && perf_test_take_completed(test, take) < 0)
			return -1;
		if (test->end_received)
			return 0;
		if (turn % TURNS_YIELD == 0)
			sched_yield();
		if (turn % TURNS_CHECK == 0 && perf_test_check_idle(test, &deadline))
			return -1;
	}
	return 0;
}

/* One iteration of a thread that spins for completions. Returns their number, or -1. */
static int poll_once(struct perf_test *test, unsigned int turn, deadline_t *deadline)
{
	int count = perf_test_take_completed(test, take);

	if (turn % TURNS_YIELD_POLL == 0)
		sched_yield();
	if (count >= 0 && turn % TURNS_CHECK == 0 && perf_test_check_idle(test, deadline))
		return -1;
	return count;
}

/* Spins until the operation with this number completes. */
static int spin_for_completion(struct perf_test *test, uint64_t number)
{
	deadline_t deadline = 0;

	for (unsigned int turn = 1; !is_complete(test, number); turn++)
		if (poll_once(test, turn, &deadline) < 0)
			return -1;
	return 0;
}

/* Sleeps until the condition holds or a command arrives. */
static int sleep_until(struct perf_test *test,
	bool (*condition)(const struct perf_test *, uint64_t), uint64_t number)
{
	deadline_t deadline = deadline_in(test->timeout);

	while (!condition(test, number) && !test->end_received) {
		int count = perf_test_take_completed(test, take);

		if (count < 0 || (count == 0 && control_sleep(test->control, deadline)))
			return -1;
	}
	return 0;
}

static int await_data(struct perf_test *test, uint64_t number)
{
	return test->parameters.wait == TEST_EVENT ? sleep_until(test, is_here, number)
						   : spin_for_data(test, number);
}

static int await_completion(struct perf_test *test, uint64_t number)
{
	return test->parameters.wait == TEST_EVENT ? sleep_until(test, is_complete, number)
						   : spin_for_completion(test, number);
}

/* The work request shared by all operations of a test, except for its number and signaling. */
struct form {
	struct ibv_sge pieces[TEST_SGE_MAX];
	struct ibv_send_wr request;
};

static int post(struct perf_test *test, struct form *form, uint64_t number, bool signaled)
{
	form->request.send_flags &= ~(unsigned int)IBV_SEND_SIGNALED;
	form->request.send_flags |= signaled ? IBV_SEND_SIGNALED : 0;
	if (test->parameters.operation->atomic)
		atomics_describe(test, test->queue_pairs, number, &form->request);
	test->queue_pairs->posted = number + 1;
	return perf_test_post(test, test->queue_pairs, CONTROL_OPERATION, &form->request);
}

/* Fills the source buffer of a WRITE or SEND. */
static void make_data(struct perf_test *test, uint64_t number)
{
	uint8_t *data = test->control->private.start;

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
 * Checks the data of the peer's WRITE or SEND. Without a completion, the last byte may arrive
 * slightly before the others; if they do not follow within the time limit, the data is damaged.
 * Then also checks whether to stop.
 */
static int check_write(struct perf_test *test, uint64_t number)
{
	uint64_t seed = perf_test_seed(test, test->queue_pairs, number, !test->server);
	uint64_t end = test_now() + (arrives_by_completion(test) ? 0 : SETTLED_NS);
	uint32_t size = test->parameters.size - 1;

	while (!is_marked(test, number) ||
		pattern_check(test->control->offered.start, size, seed) < size)
		if (test_now() >= end) {
			test->wrong++;
			return perf_test_check_due(test, test_now()) < 0 ? -1 : 0;
		}
	return 0;
}

/* One WRITE or SEND in each direction: half of *end - start is the one-way latency. */
static int ping(struct perf_test *test, struct form *form, uint64_t number, uint64_t *end)
{
	if (write_once(test, form, number) || await_data(test, number))
		return -1;
	*end = test_now();
	return test->parameters.verify ? check_write(test, number) : 0;
}

/* Checks what was READ, or fetched by the atomic operation with this number. */
static void check_fetched(struct perf_test *test, uint64_t number)
{
	uint32_t size = test->parameters.size;

	if (test->parameters.operation->atomic)
		atomics_check(test, test->queue_pairs, number);
	else
		test->wrong +=
			pattern_check(test->control->private.start, size,
				perf_test_seed(test, test->queue_pairs, 0, !test->server)) < size;
}

static int read_once(struct perf_test *test, struct form *form, uint64_t number, uint64_t *end)
{
	if (post(test, form, number, true) || await_completion(test, number))
		return -1;
	*end = test_now();
	if (test->parameters.verify)
		check_fetched(test, number);
	return 0;
}

/*
 * Fills the source buffer of a WRITE, or clears the local buffer of a READ or an atomic operation,
 * so that stale data cannot pass verification.
 */
static void prepare(struct perf_test *test, uint64_t number)
{
	if (!test->parameters.operation->fetches)
		make_data(test, number);
	else if (test->parameters.verify)
		memset(test->control->private.start,
			test->parameters.operation->atomic ? UINT8_MAX : 0, test->parameters.size);
}

/*
 * Waits for the last signaled WRITE or keepalive, so that no completion of this test arrives during
 * the next.
 */
static int settle(struct perf_test *test)
{
	deadline_t deadline = 0;

	for (unsigned int turn = 1; queue_pair_is_unacknowledged(test->queue_pairs->pair); turn++)
		if (poll_once(test, turn, &deadline) < 0)
			return -1;
	return 0;
}

/*
 * The server's half: replies to each operation, even one that arrives just before the command that
 * ends the test. Each of them shows that the client has received the previous reply.
 */
static int answer(struct perf_test *test, struct form *form)
{
	for (uint64_t number = 0;; number++) {
		if (await_data(test, number))
			return -1;
		if (test->end_received && !is_here(test, number))
			return settle(test);
		if (test->parameters.verify && check_write(test, number))
			return -1;
		make_data(test, number);
		if (write_once(test, form, number))
			return -1;
		test->operations++;
		if (number % ANSWERS_CHECK == 0 && perf_test_check_due(test, test_now()) < 0)
			return -1;
	}
}

int latency_run(struct perf_test *test, struct histogram *latency)
{
	const struct test_parameters *parameters = &test->parameters;
	uint64_t begin = test->shared->start, end;
	struct form form;
	int checked;

	if (test_parameters_lossy(parameters))
		return lossy_latency_run(test, latency);
	/* The device alone answers. */
	if (test->server && parameters->operation->fetches)
		return 0;
	perf_test_describe(test, test->queue_pairs, 0, &form.request, form.pieces);
	if (receives_use_up(test))
		return -1;
	if (test->server)
		return answer(test, &form);
	while (!test->stopped) {
		uint64_t number = test->operations;

		prepare(test, number);
		/* Excludes the time spent on verification between two operations. */
		if (parameters->verify || number == 0)
			begin = test_now();
		if (parameters->operation->fetches ? read_once(test, &form, number, &end)
						   : ping(test, &form, number, &end))
			return -1;
		histogram_add(
			latency, parameters->operation->fetches ? end - begin : (end - begin) / 2);
		test->operations++;
		checked = perf_test_check_due(test, end);
		if (checked < 0)
			return -1;
		begin = checked ? test_now() : end;
		test->stopped = test->operations == parameters->operations || end >= test->end;
	}
	if (parameters->operation->fetches)
		return 0;
	return (parameters->operation->receives && receives_end(test, test->queue_pairs) < 0) ||
			       settle(test)
		       ? -1
		       : 0;
}
