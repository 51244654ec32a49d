/* Client threads of a measurement: see measure/threads.h. */
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/signals.h"
#include "measure/atomics.h"
#include "measure/test-run.h"
#include "measure/threads.h"

/* Requested READ depth: the maximum, which the devices reduce to their limits. */
#define READS 255

/* Step between seeds: a large odd number, different from the one in protocol/test-pattern.c. */
#define SEED_STEP UINT64_C(0xd1342543de82ef95)

void test_threads_init(struct test_threads *threads, const struct options *options,
	const struct output *output, const char *peer, uint32_t depth, size_t memory)
{
	*threads = (struct test_threads){
		.options = options,
		.depth = depth,
		.memory = memory,
		.dial =
			{
				.stop_fd = -1,
				.dscp = options->dscp,
				.server = {.source = options->source, .device = options->device},
				.path = options->bootstrap == BOOTSTRAP_TCP ? &options->path : NULL,
				.peer = peer,
				.output = output,
				.timeout = options->timeout,
				.prepare = control_client_prepare,
				.discard = control_client_discard,
			},
	};
	for (uint32_t i = 0; i < options->measure.threads; i++) {
		threads->members[i].threads = threads;
		threads->members[i].control.request = i == 0 ? &threads->request : &threads->worker;
	}
}

/*
 * Records a failure of a control connection as a failure of the measurement; unchanged, it would be
 * explained as a failed diagnosis.
 */
int test_threads_failed(struct test_threads *threads, const struct control *control)
{
	struct failure failure = control->failure;

	endpoint_blame(&control->endpoint, &failure);
	if (failure.phase == PHASE_EXCHANGE)
		failure.phase = PHASE_MEASUREMENT;
	if (failure.kind == FAILURE_DEADLINE && failure.code == CODE_DIAGNOSIS)
		failure.code = ETIMEDOUT;
	if (failure.kind == FAILURE_DEADLINE && !*failure.evidence)
		snprintf(failure.evidence, sizeof(failure.evidence), "no answer within %g s",
			(double)threads->options->timeout / 1000);
	if (!failure_is_set(&threads->failure) || failure.kind == FAILURE_INTERRUPTED)
		threads->failure = failure;
	return -1;
}

static void disconnect_all(struct test_threads *threads)
{
	for (uint32_t i = 0; i < threads->options->measure.threads; i++)
		control_close(&threads->members[i].control);
}

/* Connects a thread: the first to any of the server's addresses, the others to the same address. */
static int connect_member(struct test_thread *member)
{
	struct test_threads *threads = member->threads;
	struct dial *dial = &threads->dial;
	struct event_copy reply;

	dial->user = &member->control;
	if (member == threads->members ? dial_server(dial, &reply) : dial_address(dial, &reply))
		return -1;
	if (control_client_admission(&member->control, &reply, dial->deadline))
		return test_threads_failed(threads, &member->control);
	return 0;
}

/* No thread keeps its connection while another waits for a slot, or two clients could deadlock. */
static int connect_all(struct test_threads *threads)
{
	for (uint32_t i = 0; i < threads->options->measure.threads; i++)
		if (connect_member(&threads->members[i])) {
			disconnect_all(threads);
			return -1;
		}
	return 0;
}

int test_threads_connect(struct test_threads *threads)
{
	const struct options *options = threads->options;
	struct dial *dial = &threads->dial;

	dial->deadline = deadline_in(options->timeout);
	if (server_addresses_find(
		    &dial->server, options->host, options->port, dial->deadline, &threads->failure))
		return -1;
	/*
	 * Opened only after the name lookups: before this point, a signal simply terminates the
	 * process.
	 */
	dial->stop_fd = signals_open();
	if (dial->stop_fd < 0)
		return failure_errno(&threads->failure, PHASE_ADDRESS, "signalfd", -dial->stop_fd);
	threads->request = (struct control_request){
		.kind = HELLO_MEASUREMENT,
		.timeout = (uint32_t)options->timeout,
		.queue_pairs =
			options->measure.queue_pairs + (options->measure.transport != TEST_RC),
		.depth = threads->depth,
		.bandwidth = options->measure.bandwidth,
		.receives = options->operation->receives,
		.gathers = options->measure.gathers,
		.shares = options->measure.shares,
		.inline_max = options->measure.inline_below ? options->measure.inline_below - 1 : 0,
		.ordering = options->ordering,
		.reads = READS,
		.secret = threads->secret,
		.stop_fd = dial->stop_fd,
	};
	threads->worker = threads->request;
	threads->worker.worker = true;
	while (connect_all(threads))
		if (!dial_wait_for_slot(dial)) {
			if (!failure_is_set(&threads->failure)) /* set: failed after the accept */
				threads->failure = dial->failure;
			return -1;
		}
	return 0;
}

/* Rejects options that the device does not support. */
static int check_traits(struct test_threads *threads)
{
	const struct options_measure *measure = &threads->options->measure;
	const struct device_traits *traits = threads->members[0].control.device.traits;

	if (measure->latency && test_operation_is_silent(threads->options->operation) &&
		measure->poll == POLL_EVENT && !traits->immediate)
		return failure_set(&threads->failure, FAILURE_HOST, PHASE_MEASUREMENT,
			HOST_NO_OPTION, "iWARP",
			"--poll event: over iWARP, no WRITE wakes the other end");
	if ((measure->queue_pairs > 1 || measure->shares) && !traits->own_queue_pairs)
		return failure_set(&threads->failure, FAILURE_HOST, PHASE_MEASUREMENT,
			HOST_NO_OPTION, "iWARP",
			"--%s: over iWARP, only rdmacm connects queue pairs",
			measure->shares ? "srq" : "qps");
	return 0;
}

/* Allocates memory and creates the additional queue pairs. */
static int prepare_member(struct test_thread *member)
{
	struct test_threads *threads = member->threads;
	const struct options *options = threads->options;
	struct control *control = &member->control;

	perf_test_init(&member->test, control, threads->depth, false);
	control->transport = options->measure.transport;
	if (control_enlarge(control, threads->memory) ||
		control_client_region(control, deadline_in(options->timeout)) ||
		test_run_connect(
			&member->test, options->measure.queue_pairs, deadline_in(options->timeout)))
		return test_threads_failed(threads, control);
	return 0;
}

int test_threads_prepare(struct test_threads *threads)
{
	if (check_traits(threads))
		return -1;
	for (uint32_t i = 0; i < threads->options->measure.threads; i++)
		if (prepare_member(&threads->members[i]))
			return -1;
	return 0;
}

/* Begins a test at both ends of one connection. */
static int begin(struct test_thread *member, const struct test_parameters *parameters)
{
	struct test_threads *threads = member->threads;
	struct test_parameters own = *parameters;

	/*
	 * Each test and thread has its own seed, so that data from any other is detected as wrong.
	 */
	own.seed = ++threads->tests * SEED_STEP;
	if (threads->counter && own.direction != TEST_SERVER && test_parameters_tickets(&own))
		own.counter = threads->counter;
	return test_run_begin_both(&member->test, &own, threads->options->timeout)
		       ? test_threads_failed(threads, &member->control)
		       : 0;
}

/* Ends a thread's test: sends a result, unless it is NULL, and receives the server's. */
static int end(
	struct test_thread *member, const struct test_result *reported, struct test_result *theirs)
{
	struct test_threads *threads = member->threads;

	return test_run_end(&member->test, reported, theirs, deadline_in(threads->options->timeout))
		       ? test_threads_failed(threads, &member->control)
		       : 0;
}

/* Operations of the server that have not arrived: it knows, but its result has no room for them. */
static uint64_t lost_of_peer(const struct perf_test *test)
{
	return test->lossy.peer_sent > test->lossy.arrived
		       ? test->lossy.peer_sent - test->lossy.arrived
		       : 0;
}

/*
 * Ends the tests of all threads and adds up the results of both ends. The first thread ends last,
 * so that it can report the others' to the server, for which this is one measurement.
 */
static int end_all(struct test_threads *threads, struct measured *measured)
{
	uint32_t count = threads->options->measure.threads;
	uint64_t lost = lost_of_peer(&threads->members[0].test);
	struct test_result theirs, reported;

	measured->ours = threads->members[0].ours;
	for (uint32_t i = 1; i < count; i++) {
		if (end(&threads->members[i], NULL, &theirs))
			return -1;
		test_result_add(&measured->ours, &threads->members[i].ours);
		test_result_add(&measured->theirs, &theirs);
		lost += lost_of_peer(&threads->members[i].test);
	}
	reported = measured->ours;
	if (count > 1)
		test_result_add(&reported, &measured->theirs);
	if (measured->latency)
		reported.best = histogram_percentile(measured->latency, HISTOGRAM_MEDIAN);
	if (end(&threads->members[0], threads->rehearses ? NULL : &reported, &theirs))
		return -1;
	if (count > 1)
		test_result_add(&theirs, &measured->theirs);
	measured->theirs = theirs;
	measured->theirs.lost = lost;
	return 0;
}

/* Binds the calling thread to a CPU. */
static void bind_to(int processor)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET((unsigned int)processor, &here);
	locality_bind(&here);
}

static void *carry_out(void *argument)
{
	struct test_thread *member = argument;
	struct test_shared *shared = &member->threads->shared;

	if (member->processor >= 0)
		bind_to(member->processor);
	member->result = test_run(&member->test, shared, &member->ours, member->latency);
	if (member->result && !atomic_exchange(&shared->broken, true))
		member->threads->failed = member;
	return NULL;
}

/*
 * The calling thread keeps its CPU if it is on the device's NUMA node; the others get the next CPUs
 * on that node, or of *allowed if no node is known. Soft-RoCE processes packets on the CPU of the
 * thread that posts, so the other CPUs look idle and the scheduler would keep migrating the thread.
 * pthread_getaffinity_np(3).
 */
static bool choose_processors(struct test_threads *threads, cpu_set_t *allowed)
{
	const cpu_set_t *close = locality_processors(&threads->members[0].control.device.locality);
	const cpu_set_t *usable = close ? close : allowed;
	int processor = sched_getcpu();
	bool known = processor >= 0 &&
		     !pthread_getaffinity_np(pthread_self(), sizeof(*allowed), allowed) &&
		     CPU_ISSET((unsigned int)processor, allowed);

	if (known && !CPU_ISSET((unsigned int)processor, usable))
		processor = locality_next(usable, processor);
	for (uint32_t i = 0; i < threads->options->measure.threads; i++) {
		threads->members[i].processor = known ? processor : -1;
		if (known)
			processor = locality_next(usable, processor);
	}
	return known;
}

/* Runs the test on all threads, after it has begun at both ends. */
static int measure_together(struct test_threads *threads)
{
	uint32_t count = threads->options->measure.threads, started;
	cpu_set_t allowed;
	bool stays = choose_processors(threads, &allowed);
	int error = 0;

	test_shared_init(&threads->shared, test_now());
	for (started = 1; started < count; started++) {
		error = pthread_create(&threads->members[started].thread, NULL, carry_out,
			&threads->members[started]);
		if (error)
			break;
	}
	if (error)
		atomic_store(&threads->shared.broken, true);
	carry_out(&threads->members[0]);
	for (uint32_t i = 1; i < started; i++)
		pthread_join(threads->members[i].thread, NULL);
	if (stays)
		pthread_setaffinity_np(pthread_self(), sizeof(allowed), &allowed);
	if (error)
		return failure_errno(&threads->failure, PHASE_MEMORY, "pthread_create", error);
	return threads->failed ? test_threads_failed(threads, &threads->failed->control) : 0;
}

/* Checks that the threads together have taken each ticket of their counter once. */
static void check_tickets(struct test_threads *threads)
{
	struct tickets all = {0};
	uint64_t wrong = 0;

	if (!threads->members[0].test.parameters.counter)
		return;
	for (uint32_t i = 0; i < threads->options->measure.threads; i++) {
		const struct test_thread *member = &threads->members[i];

		all.taken += member->test.tickets.taken;
		all.sum += member->test.tickets.sum;
		all.squares += member->test.tickets.squares;
		wrong += member->ours.wrong;
	}
	/* A wrong number was counted already. */
	if (wrong == 0)
		threads->members[0].ours.wrong = !atomics_are_complete(&all);
}

int test_threads_run(struct test_threads *threads, const struct test_parameters *parameters,
	struct measured *measured, struct histogram *latency)
{
	uint32_t count = threads->options->measure.threads;
	struct intervals intervals;

	*measured = (struct measured){.parameters = *parameters, .threads = count};
	if (parameters->kind == TEST_LATENCY) {
		histogram_init(latency);
		measured->latency = threads->members[0].latency = latency;
	}
	for (uint32_t i = 0; i < count; i++)
		if (begin(&threads->members[i], parameters))
			return -1;
	if (measure_together(threads))
		return -1;
	check_tickets(threads);
	if (end_all(threads, measured))
		return -1;
	/* The intervals are those of the sender. */
	if (test_parameters_lossy(parameters))
		return 0;
	intervals = test_shared_intervals(&threads->shared);
	intervals_include(&intervals, measured->ours.bytes, measured->ours.nanoseconds);
	measured->ours.worst = intervals.worst;
	measured->ours.best = intervals.best;
	return 0;
}

void test_threads_close(struct test_threads *threads)
{
	disconnect_all(threads);
	server_addresses_free(&threads->dial.server);
	if (threads->dial.stop_fd >= 0)
		close(threads->dial.stop_fd);
}
