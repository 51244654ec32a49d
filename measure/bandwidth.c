/*
 * A run that measures bandwidth: each lane has as many operations under way as the plan allows. The
 * server has to do something only if it is to do the same at the same time, or if data is verified:
 * then it makes what the client READs, or looks at what it has WRITTEN.
 */
#include <errno.h>
#include <string.h>

#include "measure/perf-test.h"
#include "protocol/test-pattern.h"

/* A spinning thread looks after everything else once in so many fruitless turns. */
#define SPINS 4096

/* Bytes that are posted together, at most, but for one operation that is larger. */
#define LIST_BYTES (256U << 10)

/* True if no more operations of this lane are to be posted. */
static bool is_posted(const struct perf_test *test, const struct test_queue_pair *queue_pair)
{
	return test->stopped ||
	       (test->parameters.operations && queue_pair->posted == test->parameters.operations);
}

/* How many operations of this lane may be posted now. */
static uint64_t room(const struct perf_test *test, const struct test_queue_pair *queue_pair)
{
	const struct test_parameters *parameters = &test->parameters;
	uint64_t may = parameters->depth - (queue_pair->posted - queue_pair->completed);

	if (test->stopped)
		return 0;
	if (parameters->operations && may > parameters->operations - queue_pair->posted)
		may = parameters->operations - queue_pair->posted;
	if (parameters->verify && may > queue_pair->allowed - queue_pair->posted)
		may = queue_pair->allowed - queue_pair->posted;
	return may;
}

/* Makes what an operation WRITEs, if somebody looks at it. */
static void fill(struct perf_test *test, struct test_queue_pair *queue_pair, uint64_t number)
{
	const struct test_parameters *parameters = &test->parameters;

	if (parameters->verify && !parameters->reads)
		pattern_fill(
			test->probe->private.start + perf_test_offset(test, queue_pair, number),
			parameters->size, perf_test_seed(test, queue_pair, number, test->server));
}

/* Posts what may be posted, in one list of which the last is signaled. Returns how many, or -1. */
static int post_operations(struct perf_test *test, struct test_queue_pair *queue_pair)
{
	struct ibv_send_wr requests[PERF_TEST_LIST];
	struct ibv_sge pieces[PERF_TEST_LIST];
	uint64_t may = room(test, queue_pair);
	unsigned int count = may < test->batch ? (unsigned int)may : test->batch;

	/* Few are not worth a call while others are under way. */
	if (count == 0 || (count < test->batch && queue_pair->posted > queue_pair->completed &&
				  queue_pair->posted + may != test->parameters.operations))
		return 0;
	for (unsigned int i = 0; i < count; i++) {
		fill(test, queue_pair, queue_pair->posted + i);
		perf_test_describe(
			test, queue_pair, queue_pair->posted + i, &requests[i], &pieces[i]);
		requests[i].next = &requests[i + 1];
	}
	requests[count - 1].next = NULL;
	requests[count - 1].send_flags |= IBV_SEND_SIGNALED;
	if (perf_test_post(test, queue_pair, requests))
		return -1;
	queue_pair->posted += count;
	return (int)count;
}

/* Verified operations: how many of them are told together. */
static uint64_t half(const struct perf_test *test)
{
	return test->parameters.slots > 1 ? test->parameters.slots / 2 : 1;
}

/*
 * To verify: tells the peer up to where we have WRITTEN, or have READ and looked at it, and at the end
 * that there is no more. Returns 1 if it did, 0, or -1.
 */
static int tell(struct perf_test *test, struct test_queue_pair *queue_pair)
{
	uint64_t done = test->parameters.reads ? queue_pair->completed : queue_pair->posted;
	bool last = is_posted(test, queue_pair) && done == queue_pair->posted;

	if (queue_pair->ended || (done - queue_pair->told < half(test) && !last))
		return 0;
	queue_pair->told = done;
	queue_pair->ended = last;
	return perf_test_notify(test, queue_pair, &(struct notice){done, true, last}) ? -1 : 1;
}

/* Looks at one piece of the peer's data. */
static void check(struct perf_test *test, struct test_queue_pair *queue_pair, const uint8_t *memory,
	uint64_t number, bool servers)
{
	uint32_t size = test->parameters.size;
	size_t right = pattern_check(memory + perf_test_offset(test, queue_pair, number), size,
		perf_test_seed(test, queue_pair, number, servers));

	if (right < size && test->wrong++ == 0)
		test->wrong_offset = right;
}

/*
 * To verify: looks at what the peer has WRITTEN, or makes what it is to READ, and says so. Returns 1 if
 * there was something to do, 0, or -1.
 */
static int serve(struct perf_test *test, struct test_queue_pair *queue_pair)
{
	const struct test_parameters *parameters = &test->parameters;
	uint8_t *memory = test->probe->offered.start;
	uint64_t until = queue_pair->heard +
			 (parameters->reads && !queue_pair->last_heard ? parameters->slots : 0);
	bool moved = queue_pair->served < until;
	bool last = queue_pair->last_heard && !queue_pair->last_told;

	for (; queue_pair->served < until; queue_pair->served++)
		if (parameters->reads)
			pattern_fill(
				memory + perf_test_offset(test, queue_pair, queue_pair->served),
				parameters->size,
				perf_test_seed(test, queue_pair, queue_pair->served, test->server));
		else
			check(test, queue_pair, memory, queue_pair->served, !test->server);
	if (!moved && !last)
		return 0;
	queue_pair->last_told = last;
	return perf_test_notify(test, queue_pair, &(struct notice){queue_pair->served, false, last})
		       ? -1
		       : 1;
}

static int take_send(struct perf_test *test, const struct ibv_wc *completion)
{
	struct test_queue_pair *queue_pair = perf_test_queue_pair_of(test, completion->wr_id);
	uint64_t before = queue_pair->completed;

	if (completion->status != IBV_WC_SUCCESS)
		return probe_broke(test->probe, &test->probe->sends, completion);
	if (perf_test_work_of(completion->wr_id) != PERF_TEST_OPERATION)
		return 0;
	queue_pair->completed = perf_test_number_of(completion->wr_id) + 1;
	test->operations += queue_pair->completed - before;
	if (test->parameters.verify && test->parameters.reads)
		for (; before < queue_pair->completed; before++)
			check(test, queue_pair, test->probe->private.start, before, !test->server);
	return 0;
}

/* Whether the peer can be as far as it says: not behind what it said before, nor ahead of what there is. */
static bool is_possible(const struct perf_test *test, const struct test_queue_pair *queue_pair,
	const struct notice *notice)
{
	const struct test_parameters *parameters = &test->parameters;
	uint64_t before = notice->of_initiator ? queue_pair->heard : queue_pair->allowed, most;

	if (!parameters->verify || queue_pair >= test->queue_pairs + parameters->queue_pairs)
		return false;
	if (!(notice->of_initiator ? test->serves && !queue_pair->last_heard
				   : test->initiates && !queue_pair->over))
		return false;
	/* An end is confirmed when it was told, and all before it has been looked at. */
	if (notice->last && !notice->of_initiator &&
		(!queue_pair->ended || (!parameters->reads && notice->number < queue_pair->posted)))
		return false;
	if (notice->of_initiator)
		most = queue_pair->served + (parameters->reads ? 0 : parameters->slots);
	else if (parameters->reads)
		most = queue_pair->completed + parameters->slots;
	else {
		most = queue_pair->posted;
		before -= parameters->slots;
	}
	return notice->number <= most &&
	       (notice->number > before || (notice->last && notice->number == before));
}

static int take_receive(struct perf_test *test, const struct ibv_wc *completion)
{
	struct notice notice;
	struct test_queue_pair *queue_pair;
	int heard = perf_test_take_receive(test, completion, &notice, &queue_pair);

	if (heard <= 0)
		return heard;
	if (!is_possible(test, queue_pair, &notice))
		return failure_set(&test->probe->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO,
			"notice", "it says that it is where it cannot be");
	if (notice.of_initiator) {
		queue_pair->heard = notice.number;
		queue_pair->last_heard |= notice.last;
	} else {
		queue_pair->allowed =
			notice.number + (test->parameters.reads ? 0 : test->parameters.slots);
		queue_pair->over |= notice.last;
	}
	return 0;
}

/* True if this lane has nothing more to do. */
static bool is_done(const struct perf_test *test, const struct test_queue_pair *queue_pair)
{
	bool initiator =
		!test->initiates ||
		(queue_pair->posted == queue_pair->completed && is_posted(test, queue_pair) &&
			(!test->parameters.verify || queue_pair->over));

	return initiator && (!test->serves || queue_pair->last_told);
}

static bool all_done(const struct perf_test *test)
{
	for (uint32_t i = 0; i < test->parameters.queue_pairs; i++)
		if (!is_done(test, &test->queue_pairs[i]))
			return false;
	return true;
}

/*
 * True if there is nothing more to do. The client's COMMAND_END stops a server that initiates beside it;
 * alone, the server first does all that the parameters ask for.
 */
static bool is_over(struct perf_test *test)
{
	test->stopped |= test->told_end && test->parameters.direction != TEST_SERVER;
	return all_done(test);
}

/* Does for each lane what can be done now. Returns how much that was, or -1. */
static int move(struct perf_test *test)
{
	int moved = 0;

	for (uint32_t i = 0; i < test->parameters.queue_pairs; i++) {
		struct test_queue_pair *queue_pair = &test->queue_pairs[i];
		int posted = test->initiates ? post_operations(test, queue_pair) : 0;
		int told = test->initiates && test->parameters.verify ? tell(test, queue_pair) : 0;
		int served = test->serves ? serve(test, queue_pair) : 0;

		if (posted < 0 || told < 0 || served < 0)
			return -1;
		moved += posted + told + served;
	}
	return moved;
}

/* Takes what has completed. Returns how much that was, or -1. */
static int take(struct perf_test *test)
{
	struct test_shared *shared = test->shared;
	uint64_t before = test->operations;
	int sent = perf_test_poll(test, &test->probe->sends, take_send);
	int received = sent < 0 ? -1 : perf_test_poll(test, &test->probe->receives, take_receive);
	uint64_t now;

	if (received < 0)
		return -1;
	if (sent + received == 0)
		return 0;
	now = probe_now();
	if (test->operations > before) {
		test_shared_add(shared, now, (test->operations - before) * test->parameters.size);
		test->last = now;
	}
	test->stopped |= now >= test->end;
	if (atomic_load(&shared->broken))
		return failure_set(&test->probe->failure, FAILURE_INTERRUPTED, PHASE_EXCHANGE,
			ECANCELED, "thread", "another thread has failed");
	return perf_test_check_due(test, now) < 0 ? -1 : sent + received;
}

/* A quarter of the depth; but large operations need no company, and are to be told of soon. */
static uint32_t batch_of(const struct test_parameters *parameters)
{
	uint32_t batch = parameters->depth / 4, fitting = LIST_BYTES / parameters->size;

	if (batch > fitting)
		batch = fitting;
	if (batch > PERF_TEST_LIST)
		batch = PERF_TEST_LIST;
	return batch ? batch : 1;
}

int perf_test_bandwidth(struct perf_test *test)
{
	deadline_t silence = 0; /* 0: something has just happened */
	unsigned int spins = 0;

	if (!test->server && perf_test_keepalive(test))
		return -1;
	if (!test->initiates && !test->serves)
		return 0;
	test->batch = batch_of(&test->parameters);
	test->started = !test->server;
	while (!is_over(test)) {
		int moved = test->started ? move(test) : 0, taken = moved < 0 ? -1 : take(test);

		if (taken < 0)
			return -1;
		if (moved + taken > 0) {
			silence = 0;
			continue;
		}
		if (silence == 0)
			silence = deadline_in(test->patience);
		if (test->parameters.wait == TEST_EVENT
				? probe_idle(test->probe, silence)
				: ++spins % SPINS == 0 && perf_test_check_idle(test, silence))
			return -1;
	}
	return 0;
}
