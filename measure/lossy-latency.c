/* Latency tests over unreliable queue pairs: see measure/lossy-latency.h. */
#include <netinet/in.h>
#include <sched.h>
#include <time.h>

#include "measure/lossy-latency.h"
#include "measure/lossy.h"
#include "protocol/test-pattern.h"

/* How long the client waits for an answer before it asks over the connection, in milliseconds. */
#define PATIENCE_MS 20

/*
 * The client asks twice. The server answers a question as soon as it sees it, and only then the
 * operations that it has seen before; but these before the next question.
 */
#define QUESTIONS 2

/* Polls between checks whether to stop. */
#define TURNS_CHECK 4096

/* The server reads the clock once per this many answers. */
#define ANSWERS_CHECK 64

static void check_data(struct perf_test *test, uint64_t number, const uint8_t *data)
{
	const struct test_parameters *parameters = &test->parameters;
	uint64_t seed = perf_test_seed(test, test->queue_pairs, number, !test->server);

	if (parameters->operation->immediate)
		data = test->control->offered.start;
	test->wrong += pattern_check(data, parameters->size, seed) < parameters->size;
}

/*
 * Takes an operation of the client or its answer. What comes after it was given up, or after a
 * later one, is ignored.
 */
static int take_arrival(struct perf_test *test, const struct completion *completion,
	uint64_t number, const uint8_t *data)
{
	struct test_queue_pair *queue_pair = test->queue_pairs;

	if (completion->pair == queue_pair->pair && number >= queue_pair->received &&
		(test->server || number < queue_pair->posted)) {
		test->last = test_now();
		queue_pair->received = number + 1;
		if (test->parameters.verify)
			check_data(test, number, data);
	}
	return control_release(test->control, completion);
}

static int take(struct perf_test *test, const struct completion *completion)
{
	const uint8_t *data;
	uint64_t number;
	int taken;

	if (completion->kind == ENDPOINT_RECEIVE) {
		taken = lossy_take(test, completion, &number, &data);
		return taken > 0 ? take_arrival(test, completion, number, data) : taken;
	}
	if (completion->wc->status != IBV_WC_SUCCESS)
		control_completion_failed(test->control, completion);
	return 0;
}

/* True at the client if the answer to its last operation has arrived. */
static bool is_answered(const struct perf_test *test)
{
	return test->queue_pairs->received == test->queue_pairs->posted;
}

/* True at the server if an operation waits for its answer. */
static bool is_asked(const struct perf_test *test)
{
	return test->queue_pairs->received > test->queue_pairs->posted;
}

static bool has_work(const struct perf_test *test)
{
	return is_asked(test) || test->end_received;
}

/* True if the server has answered the question on the connection. */
static bool is_heard(const struct perf_test *test)
{
	return !test->control->unanswered;
}

/* True if the last signaled operation of this end has left. */
static bool have_left(const struct perf_test *test)
{
	return !queue_pair_is_unacknowledged(test->queue_pairs->pair);
}

/* True if another operation may be posted. Data to be verified must have left its buffer. */
static bool may_post(const struct perf_test *test)
{
	return test->parameters.verify ? have_left(test)
				       : queue_pair_capacity(test->queue_pairs->pair, 0) > 0;
}

/*
 * Waits until the condition holds. Returns 1 if it does, 0 after this time, -1 on failure. A
 * spinning end first looks at the clock after some turns, which most operations do not need.
 */
static int wait_until(
	struct perf_test *test, bool (*holds)(const struct perf_test *), int64_t milliseconds)
{
	bool sleeps = test->parameters.wait == TEST_EVENT;
	deadline_t deadline = 0;

	for (unsigned int turn = 1; !holds(test); turn++) {
		int count = perf_test_take_completed(test, take), slept = 0;

		if (deadline == 0 && (sleeps || turn % TURNS_CHECK == 0))
			deadline = deadline_in(milliseconds);
		if (count == 0 && sleeps)
			slept = control_sleep_until(test->control, deadline);
		if (count < 0 || slept)
			return count < 0 || slept < 0 ? -1 : 0;
		if (turn % TURNS_CHECK > 0)
			continue;
		sched_yield();
		if (perf_test_check_due(test, test_now()) < 0)
			return -1;
		if (deadline_left(deadline) == 0)
			return 0;
	}
	return 1;
}

/* Waits until the condition holds, and fails unless it does within the idle timeout of the peer. */
static int await(struct perf_test *test, bool (*holds)(const struct perf_test *))
{
	int status = wait_until(test, holds, test->timeout);

	if (status == 0)
		return perf_test_timed_out(test);
	return status < 0 ? -1 : 0;
}

/* Posts the client's operation with this number, or the answer to it. */
static int post(struct perf_test *test, struct ibv_send_wr *request, uint64_t number)
{
	const struct test_parameters *parameters = &test->parameters;
	struct test_queue_pair *queue_pair = test->queue_pairs;

	if (parameters->verify)
		pattern_fill(test->control->private.start, parameters->size,
			perf_test_seed(test, queue_pair, number, test->server));
	/* Without verification, queue_pair_post() signals some. */
	request->send_flags &= ~(unsigned int)IBV_SEND_SIGNALED;
	request->send_flags |= parameters->verify ? IBV_SEND_SIGNALED : 0;
	request->imm_data = htonl((uint32_t)number);
	queue_pair->posted = number + 1;
	return perf_test_post(test, queue_pair, CONTROL_OPERATION, request);
}

/* Asks the server whether it is there, and then looks for the answer, if it is late. */
static int look_again(struct perf_test *test)
{
	const struct timespec pause = {.tv_nsec = LOSSY_PAUSE_NS};

	for (unsigned int questions = 0; questions < QUESTIONS; questions++)
		if (perf_test_ask(test, test_now()) || await(test, is_heard))
			return -1;
	for (unsigned int looks = 0; looks < LOSSY_LOOKS && !is_answered(test); looks++) {
		nanosleep(&pause, NULL);
		if (perf_test_take_completed(test, take) < 0)
			return -1;
	}
	return is_answered(test);
}

/* One operation and its answer. Returns 1, or 0 if one of them is lost, or -1. */
static int ping(struct perf_test *test, struct ibv_send_wr *request, uint64_t *nanoseconds)
{
	uint64_t begin;
	int answered;

	if (await(test, may_post))
		return -1;
	begin = test_now();
	if (post(test, request, test->queue_pairs->posted))
		return -1;
	answered = wait_until(test, is_answered, PATIENCE_MS);
	if (answered == 0)
		answered = look_again(test);
	*nanoseconds = test->last - begin;
	return answered;
}

static int ask(struct perf_test *test, struct ibv_send_wr *request, struct histogram *latency)
{
	struct test_queue_pair *queue_pair = test->queue_pairs;
	uint64_t nanoseconds, now;

	while (!test->stopped) {
		int answered = ping(test, request, &nanoseconds);

		if (answered < 0)
			return -1;
		test->lossy.sent++;
		if (answered) {
			histogram_add(latency, nanoseconds / 2);
			test->lossy.arrived_there++;
		}
		queue_pair->received = queue_pair->posted;
		now = answered ? test->last : test_now();
		if (perf_test_check_due(test, now) < 0)
			return -1;
		test->stopped =
			queue_pair->posted == test->parameters.operations || now >= test->end;
	}
	return await(test, have_left);
}

static int answer(struct perf_test *test, struct ibv_send_wr *request)
{
	const struct test_queue_pair *queue_pair = test->queue_pairs;

	for (;;) {
		uint64_t heard = test->answered;
		int waited = wait_until(test, has_work, test->timeout);

		/* The client is there, but its operations are lost. */
		if (waited == 0 && test->answered > heard)
			continue;
		if (waited <= 0)
			return waited < 0 ? -1 : perf_test_timed_out(test);
		if (!is_asked(test))
			return await(test, have_left);
		if (await(test, may_post))
			return -1;
		if (post(test, request, queue_pair->received - 1))
			return -1;
		test->lossy.sent++;
		test->lossy.arrived_there++;
		if (test->lossy.sent % ANSWERS_CHECK == 0 &&
			perf_test_check_due(test, test_now()) < 0)
			return -1;
	}
}

int lossy_latency_run(struct perf_test *test, struct histogram *latency)
{
	struct ibv_sge pieces[TEST_SGE_MAX];
	struct ibv_send_wr request;

	/* What differs between the operations, post() sets. */
	perf_test_describe(test, test->queue_pairs, 0, &request, pieces);
	return test->server ? answer(test, &request) : ask(test, &request, latency);
}
