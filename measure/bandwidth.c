/*
 * Bandwidth test: each queue pair keeps up to `depth` operations in flight. An end that does not
 * initiate operations has work only if data is verified: it fills the memory that the peer READs,
 * or checks the data that the peer WRITEs; or if the operations use up its receives, which it posts
 * again.
 */
#include <errno.h>

#include "measure/atomics.h"
#include "measure/lossy.h"
#include "measure/receives.h"
#include "protocol/test-pattern.h"

/* Number of empty polls after which a spinning thread checks whether to stop. */
#define SPINS 4096

/* Maximum bytes posted as one list, unless a single operation is larger. */
#define LIST_BYTES (256U << 10)

/*
 * True if nothing signaled follows the last operations: without another one, no completion would
 * account for them.
 */
static bool has_unsignaled(const struct perf_test *test, const struct test_queue_pair *queue_pair)
{
	return test->parameters.signal_every &&
	       queue_pair->pair->last_signaled < queue_pair->pair->sends_posted;
}

/* True if no more operations will be posted on this queue pair. */
static bool is_posted(const struct perf_test *test, const struct test_queue_pair *queue_pair)
{
	return (test->stopped && !has_unsignaled(test, queue_pair)) ||
	       (test->parameters.operations && queue_pair->posted == test->parameters.operations);
}

static bool is_lossy(const struct perf_test *test)
{
	return test_parameters_lossy(&test->parameters);
}

/* True if the peer limits how many operations may be posted. */
static bool is_limited(const struct perf_test *test)
{
	return test_parameters_notices(&test->parameters) ||
	       (test->parameters.operation->receives && !is_lossy(test));
}

/* The number of operations that may be posted on this queue pair now. */
static uint64_t capacity(const struct perf_test *test, const struct test_queue_pair *queue_pair)
{
	const struct test_parameters *parameters = &test->parameters;
	uint64_t count = parameters->depth - (queue_pair->posted - queue_pair->completed);

	if (test->stopped && !has_unsignaled(test, queue_pair))
		return 0;
	if (test->stopped && count > 1)
		count = 1;
	if (parameters->operations && count > parameters->operations - queue_pair->posted)
		count = parameters->operations - queue_pair->posted;
	if (is_limited(test) && count > queue_pair->allowed - queue_pair->posted)
		count = queue_pair->allowed - queue_pair->posted;
	return count;
}

/* Fills the source buffer of a WRITE or SEND if the peer verifies it. */
static void make_data(struct perf_test *test, struct test_queue_pair *queue_pair, uint64_t number)
{
	const struct test_parameters *parameters = &test->parameters;

	if (parameters->verify && !parameters->operation->fetches)
		pattern_fill(
			test->control->private.start + perf_test_offset(test, queue_pair, number),
			parameters->size, perf_test_seed(test, queue_pair, number, test->server));
}

/*
 * True if there is reason to wait for a completion rather than to post a partial batch, which is
 * not worth a call while other operations are in flight.
 */
static bool can_wait(const struct test_queue_pair *queue_pair)
{
	return queue_pair->posted > queue_pair->completed &&
	       queue_pair_is_unacknowledged(queue_pair->pair);
}

/* True if the operation with this number is signaled; `last`: no other is posted with it. */
static bool is_signaled(const struct perf_test *test, uint64_t number, bool last)
{
	const struct test_parameters *parameters = &test->parameters;

	if (!parameters->signal_every)
		return last;
	return (number + 1) % parameters->signal_every == 0 || test->stopped ||
	       number + 1 == parameters->operations;
}

/* Posts as many operations as allowed. Returns their number, or -1. */
static int post_operations(struct perf_test *test, struct test_queue_pair *queue_pair)
{
	struct ibv_send_wr requests[PERF_TEST_LIST];
	struct ibv_sge pieces[PERF_TEST_LIST][TEST_SGE_MAX];
	uint64_t possible = capacity(test, queue_pair);
	unsigned int count = possible < test->batch ? (unsigned int)possible : test->batch;

	if (count == 0 || (count < test->batch && can_wait(queue_pair) &&
				  queue_pair->posted + possible != test->parameters.operations))
		return 0;
	for (unsigned int i = 0; i < count; i++) {
		uint64_t number = queue_pair->posted + i;
		bool last = i + 1 == count;

		make_data(test, queue_pair, number);
		perf_test_describe(test, queue_pair, number, &requests[i], pieces[i]);
		if (test->parameters.operation->atomic)
			atomics_describe(test, queue_pair, number, &requests[i]);
		if (is_signaled(test, number, last))
			requests[i].send_flags |= IBV_SEND_SIGNALED;
		requests[i].next = last ? NULL : &requests[i + 1];
	}
	if (perf_test_post(test, queue_pair, CONTROL_OPERATION, requests))
		return -1;
	queue_pair->posted += count;
	return (int)count;
}

/* Operations per notice while verifying. */
static uint64_t half(const struct perf_test *test)
{
	return test->parameters.slots > 1 ? test->parameters.slots / 2 : 1;
}

/*
 * While verifying, announces the operations that were WRITTEN, or READ and checked, and finally the
 * end; the receives of others announce themselves, except for the end. Returns 1 if it sent a
 * message, 0 if not, -1 on failure.
 */
static int announce(struct perf_test *test, struct test_queue_pair *queue_pair)
{
	uint64_t done =
		test->parameters.operation->fetches ? queue_pair->completed : queue_pair->posted;
	bool last = is_posted(test, queue_pair) && done == queue_pair->posted;

	if (test->parameters.operation->receives)
		return last ? receives_end(test, queue_pair) : 0;
	if (queue_pair->ended || (done - queue_pair->announced < half(test) && !last))
		return 0;
	queue_pair->announced = done;
	queue_pair->ended = last;
	return perf_test_notify(test, queue_pair, &(struct notice){done, true, last}) ? -1 : 1;
}

/* Checks the data of one operation, generated by the server or the client. */
static void check_data(struct perf_test *test, const struct test_queue_pair *queue_pair,
	const uint8_t *data, uint64_t number, bool server)
{
	uint32_t size = test->parameters.size;
	size_t right = pattern_check(data, size, perf_test_seed(test, queue_pair, number, server));

	if (right < size && test->wrong++ == 0)
		test->wrong_offset = right;
}

/*
 * While verifying, checks the data that the peer has WRITTEN, or fills memory for it to READ, and
 * sends a notice; or permits operations that use up receives. Returns 1 if it did any work, 0 if
 * not, -1 on failure.
 */
static int serve(struct perf_test *test, struct test_queue_pair *queue_pair)
{
	const struct test_parameters *parameters = &test->parameters;
	uint8_t *memory = test->control->offered.start;
	uint64_t until =
		queue_pair->received +
		(parameters->operation->fetches && !queue_pair->peer_ended ? parameters->slots : 0);
	bool moved = queue_pair->served < until;
	bool last = queue_pair->peer_ended && !queue_pair->confirmed;

	if (parameters->operation->receives)
		return receives_permit(test, queue_pair);
	for (; queue_pair->served < until; queue_pair->served++)
		if (parameters->operation->fetches)
			pattern_fill(
				memory + perf_test_offset(test, queue_pair, queue_pair->served),
				parameters->size,
				perf_test_seed(test, queue_pair, queue_pair->served, test->server));
		else
			check_data(test, queue_pair,
				memory + perf_test_offset(test, queue_pair, queue_pair->served),
				queue_pair->served, !test->server);
	if (!moved && !last)
		return 0;
	queue_pair->confirmed = last;
	return perf_test_notify(test, queue_pair, &(struct notice){queue_pair->served, false, last})
		       ? -1
		       : 1;
}

static void take_operations(
	struct perf_test *test, struct test_queue_pair *queue_pair, uint64_t count)
{
	uint64_t before = queue_pair->completed;

	queue_pair->completed += count;
	test->operations += count;
	if (!test->parameters.verify || !test->parameters.operation->fetches)
		return;
	for (; before < queue_pair->completed; before++)
		if (test->parameters.operation->atomic)
			atomics_check(test, queue_pair, before);
		else
			check_data(test, queue_pair,
				test->control->private.start +
					perf_test_offset(test, queue_pair, before),
				before, !test->server);
}

/* True if the notice neither moves backwards nor exceeds the number of operations allowed. */
static bool is_possible(const struct perf_test *test, const struct test_queue_pair *queue_pair,
	const struct notice *notice)
{
	const struct test_parameters *parameters = &test->parameters;
	uint64_t before = notice->of_initiator ? queue_pair->received : queue_pair->allowed, most;

	if (!test_parameters_notices(parameters) ||
		queue_pair >= test->queue_pairs + parameters->queue_pairs)
		return false;
	if (!(notice->of_initiator ? test->serves && !queue_pair->peer_ended
				   : test->initiates && !queue_pair->over))
		return false;
	/*
	 * The peer confirms the end once it has been announced and, for WRITEs, all data has been
	 * checked.
	 */
	if (notice->last && !notice->of_initiator &&
		(!queue_pair->ended ||
			(!parameters->operation->fetches && notice->number < queue_pair->posted)))
		return false;
	if (notice->of_initiator)
		most = queue_pair->served +
		       (parameters->operation->fetches ? 0 : parameters->slots);
	else if (parameters->operation->fetches)
		most = queue_pair->completed + parameters->slots;
	else {
		most = queue_pair->posted;
		before -= parameters->slots;
	}
	return notice->number <= most &&
	       (notice->number > before || (notice->last && notice->number == before));
}

/* Takes an operation that may be one of few that arrive, or a message about them. */
static int take_lossy(struct perf_test *test, const struct completion *completion)
{
	uint64_t number;
	const uint8_t *data;
	int taken = lossy_take(test, completion, &number, &data);

	if (taken <= 0)
		return taken;
	if (test->parameters.verify)
		check_data(test, perf_test_queue_pair(test, completion->pair), data, number,
			!test->server);
	return control_release(test->control, completion);
}

/* Takes an operation that used up a receive, or a message in between. */
static int take_arrival(struct perf_test *test, const struct completion *completion)
{
	int taken = receives_take(test, completion);
	struct test_queue_pair *queue_pair;
	const uint8_t *data = completion->data;

	if (taken <= 0)
		return taken;
	queue_pair = perf_test_queue_pair(test, completion->pair);
	if (queue_pair->received - queue_pair->served >= test_parameters_window(&test->parameters))
		return failure_protocol(&test->control->failure, "permission",
			"the peer sent more operations than it was permitted");
	if (test->parameters.operation->immediate)
		data = test->control->offered.start +
		       perf_test_offset(test, queue_pair, queue_pair->received);
	if (test->parameters.verify)
		check_data(test, queue_pair, data, queue_pair->received, !test->server);
	queue_pair->received++;
	return control_release(test->control, completion);
}

static int take_receive(struct perf_test *test, const struct completion *completion)
{
	struct test_queue_pair *queue_pair = perf_test_queue_pair(test, completion->pair);
	struct notice notice;
	int received = perf_test_take_receive(test, completion, &notice);

	if (received <= 0)
		return received;
	if (!is_possible(test, queue_pair, &notice))
		return failure_protocol(&test->control->failure, "notice",
			"the peer reported an impossible position");
	if (notice.of_initiator) {
		queue_pair->received = notice.number;
		queue_pair->peer_ended |= notice.last;
	} else {
		queue_pair->allowed =
			notice.number +
			(test->parameters.operation->fetches ? 0 : test->parameters.slots);
		queue_pair->over |= notice.last;
	}
	return 0;
}

static int take(struct perf_test *test, const struct completion *completion)
{
	if (completion->kind == ENDPOINT_RECEIVE && is_lossy(test))
		return take_lossy(test, completion);
	if (completion->kind == ENDPOINT_RECEIVE)
		return test->parameters.operation->receives ? take_arrival(test, completion)
							    : take_receive(test, completion);
	if (completion->wc->status != IBV_WC_SUCCESS)
		control_completion_failed(test->control, completion);
	else if (completion->kind == CONTROL_OPERATION || completion->sends > 1)
		/* A message also completes the unsignaled operations before it. */
		take_operations(test, perf_test_queue_pair(test, completion->pair),
			completion->sends - (completion->kind != CONTROL_OPERATION));
	return 0;
}

/* True if this queue pair has finished. */
static bool is_done(const struct perf_test *test, const struct test_queue_pair *queue_pair)
{
	bool initiator = !test->initiates || (queue_pair->posted == queue_pair->completed &&
						     is_posted(test, queue_pair) &&
						     (!is_limited(test) || queue_pair->over));

	return initiator && (!test->serves || queue_pair->confirmed || is_lossy(test));
}

/*
 * True if the test has finished. COMMAND_END stops a server that initiates operations alongside the
 * client; a server that initiates alone first completes all requested operations.
 */
static bool is_over(struct perf_test *test)
{
	test->stopped |= test->end_received && test->parameters.direction != TEST_SERVER;
	if (is_lossy(test) && !lossy_is_over(test))
		return false;
	for (uint32_t i = 0; i < test->parameters.queue_pairs; i++)
		if (!is_done(test, &test->queue_pairs[i]))
			return false;
	return true;
}

/* Does all pending work on each queue pair. Returns the amount of work done, or -1. */
static int do_work(struct perf_test *test)
{
	bool limited = is_limited(test), sent = true;
	int done = 0, told;

	for (uint32_t i = 0; i < test->parameters.queue_pairs; i++) {
		struct test_queue_pair *queue_pair = &test->queue_pairs[i];
		int posted = test->initiates ? post_operations(test, queue_pair) : 0;
		int announced = test->initiates && limited ? announce(test, queue_pair) : 0;
		int served = test->serves && !is_lossy(test) ? serve(test, queue_pair) : 0;

		if (posted < 0 || announced < 0 || served < 0)
			return -1;
		done += posted + announced + served;
		sent &= queue_pair->posted == queue_pair->completed && is_posted(test, queue_pair);
	}
	if (!is_lossy(test))
		return done;
	told = lossy_tell(test, sent);
	return told < 0 ? -1 : done + told;
}

/* Processes completions and updates the shared state. Returns their number, or -1. */
static int take_completions(struct perf_test *test)
{
	struct test_shared *shared = test->shared;
	uint64_t before = test->operations, now;
	int taken = perf_test_take_completed(test, take);

	if (taken <= 0)
		return taken;
	now = test_now();
	if (test->operations > before) {
		test_shared_add(shared, now, (test->operations - before) * test->parameters.size);
		test->last = now;
	}
	test->stopped |= now >= test->end;
	if (atomic_load(&shared->broken))
		return failure_set(&test->control->failure, FAILURE_INTERRUPTED, PHASE_EXCHANGE,
			ECANCELED, "thread", "another thread failed");
	return perf_test_check_due(test, now) < 0 ? -1 : taken;
}

/* A quarter of the depth. Large operations are posted one at a time, to announce them early. */
static uint32_t batch_of(const struct test_parameters *parameters)
{
	uint32_t batch = parameters->depth / 4, fitting = LIST_BYTES / parameters->size;

	if (batch > fitting)
		batch = fitting;
	if (batch > PERF_TEST_LIST)
		batch = PERF_TEST_LIST;
	return batch ? batch : 1;
}

int bandwidth_run(struct perf_test *test)
{
	deadline_t deadline = 0; /* 0: the last iteration made progress */
	unsigned int spins = 0;

	if (!test->server && perf_test_send_empty(test))
		return -1;
	if (!test->initiates && !test->serves)
		return 0;
	test->batch = batch_of(&test->parameters);
	test->started = !test->server;
	for (;;) {
		int done = 0, taken, refilled;

		if (test->started && (receives_use_up(test) || (done = do_work(test)) < 0))
			return -1;
		/*
		 * Checked only after do_work(), so that the test begins even if the client's start
		 * and end arrive together.
		 */
		if (is_over(test))
			return 0;
		taken = take_completions(test);
		refilled = receives_refill(test);
		if (taken < 0 || refilled < 0)
			return -1;
		if ((done == 0 && is_lossy(test) && lossy_waits(test)) ||
			done + taken + refilled > 0) {
			deadline = 0;
			continue;
		}
		if (deadline == 0)
			deadline = deadline_in(test->timeout);
		if (test->parameters.wait == TEST_EVENT
				? control_sleep(test->control, deadline)
				: ++spins % SPINS == 0 && perf_test_check_idle(test, &deadline))
			return -1;
	}
}
