/* Begins and runs one end of a test, and sends the client's commands to the server. */
#include <time.h>

#include "measure/atomics.h"
#include "measure/receives.h"
#include "measure/test-run.h"
#include "protocol/little-endian.h"

/* True if this end posts operations in the test. */
static bool posts(const struct perf_test *test, const struct test_parameters *parameters)
{
	return test->server ? test_parameters_server_posts(parameters)
			    : parameters->direction != TEST_SERVER;
}

bool test_run_can(const struct perf_test *test, const struct test_parameters *parameters)
{
	const struct queue_size *size = &test->control->endpoint.pairs->size;
	uint64_t memory = test_parameters_memory(parameters);

	if (parameters->kind == TEST_LATENCY && !parameters->operation->fetches &&
		!test_parameters_lossy(parameters) && test->depth < PERF_TEST_OUTSTANDING_MAX)
		return false;
	if (test_parameters_immediate(parameters) && !test->control->device.traits->immediate)
		return false;
	if (posts(test, parameters) &&
		(parameters->inline_below > size->inline_max + 1 ||
			parameters->gathers > (size->gathers ? size->gathers : 1)))
		return false;
	if (parameters->operation->atomic && !device_has_atomics(&test->control->device))
		return false;
	if (parameters->transport != test->control->transport)
		return false;
	return parameters->queue_pairs <= test->queue_pair_count &&
	       parameters->depth <= test->depth && memory <= test->control->private.size &&
	       memory <= test->control->peer_length && receives_suffice(test, parameters);
}

static void begin_queue_pairs(struct perf_test *test)
{
	const struct test_parameters *parameters = &test->parameters;

	for (uint32_t i = 0; i < parameters->queue_pairs; i++) {
		struct test_queue_pair *queue_pair = &test->queue_pairs[i];

		queue_pair->pair->signal_within = parameters->signal_every;
		*queue_pair = (struct test_queue_pair){
			.pair = queue_pair->pair,
			.offset = (uint64_t)i * parameters->slots * parameters->size,
			.notices = queue_pair->notices,
			.filled = test->first ? CONTROL_RECEIVES : queue_pair->filled,
			.used_up = test->first ? CONTROL_RECEIVES : queue_pair->used_up,
			/*
			 * WRITE targets and receives are initially free; READ sources must first be
			 * filled by the peer.
			 */
			.allowed = parameters->operation->fetches
					   ? 0
					   : test_parameters_window(parameters),
		};
	}
}

void test_run_begin(
	struct perf_test *test, const struct test_parameters *parameters, int64_t timeout)
{
	test->parameters = *parameters;
	test->initiates = parameters->direction != (test->server ? TEST_CLIENT : TEST_SERVER);
	test->serves = (test_parameters_notices(parameters) || parameters->operation->receives) &&
		       parameters->direction != (test->server ? TEST_SERVER : TEST_CLIENT);
	test->started = test->stopped = test->end_received = false;
	test->operations = test->wrong = test->wrong_offset = test->last = 0;
	test->timeout = timeout;
	test->lossy = (struct lossy_state){.connection.pair = test->control->endpoint.pairs,
		.connection.notices = test->lossy.connection.notices};
	begin_queue_pairs(test);
	receives_post(test);
	if (parameters->operation->atomic)
		atomics_clear(test);
	if (parameters->kind == TEST_LATENCY)
		latency_prepare(test);
}

static uint64_t cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int test_run(struct perf_test *test, struct test_shared *shared, struct test_result *result,
	struct histogram *latency)
{
	uint64_t cpu = cpu_now();
	struct intervals intervals;
	int status;

	test->shared = shared;
	test->kept = test->control->kept_count;
	test->end = test->parameters.operations
			    ? UINT64_MAX
			    : shared->start + (uint64_t)test->parameters.milliseconds * 1000000;
	test->next_check = shared->start + PERF_TEST_CHECK_NS;
	test->keepalive_sent = shared->start;
	status = test->parameters.kind == TEST_LATENCY ? latency_run(test, latency)
						       : bandwidth_run(test);
	if (test->parameters.operation->atomic)
		atomics_check_tickets(test);
	/* Of what was sent, that which has arrived. */
	if (test_parameters_lossy(&test->parameters))
		test->operations = test->lossy.arrived_there;
	*result = (struct test_result){
		.operations = test->operations,
		.lost = test->lossy.sent - test->lossy.arrived_there,
		.bytes = test->operations * test->parameters.size,
		/* Excludes the peer's verification after the last operation. */
		.nanoseconds =
			(test->parameters.operations && test->last ? test->last : test_now()) -
			shared->start,
		.cpu_nanoseconds = cpu_now() - cpu,
		.wrong = test->wrong,
		.wrong_offset = test->wrong_offset,
	};
	/* The intervals are those of the sender. */
	if (test_parameters_lossy(&test->parameters))
		return status;
	intervals = test_shared_intervals(shared);
	intervals_include(&intervals, result->bytes, result->nanoseconds);
	result->worst = intervals.worst;
	result->best = intervals.best;
	return status;
}

/* The client's commands. */

int test_run_connect(struct perf_test *test, uint32_t queue_pairs, deadline_t deadline)
{
	uint8_t numbers[4 * (TEST_QUEUE_PAIRS_MAX + 1)];
	struct command command = {.type = COMMAND_QUEUE_PAIRS, .text = (char *)numbers}, reply;

	if (perf_test_make_queue_pairs(test, queue_pairs))
		return -1;
	command.text_size = (uint16_t)perf_test_encode_numbers(test, numbers);
	if (test->control->transport != TEST_RC) {
		le_put32(numbers + command.text_size, test->control->transport);
		command.text_size += 4;
	}
	if (control_client_command(test->control, &command, &reply, deadline))
		return -1;
	return perf_test_connect_queue_pairs(test, reply.text, reply.text_size);
}

int test_run_begin_both(
	struct perf_test *test, const struct test_parameters *parameters, int64_t timeout)
{
	uint8_t text[TEST_PARAMETERS_SIZE];
	struct command command = {
		.type = COMMAND_BEGIN, .text = (char *)text, .text_size = sizeof(text)};
	struct command reply;

	test_parameters_encode(parameters, text);
	test_run_begin(test, parameters, timeout);
	if (control_client_command(test->control, &command, &reply, deadline_in(timeout)))
		return -1;
	if (parameters->counter && reply.length != TEST_ATOMIC_SIZE)
		return failure_protocol(&test->control->failure, "shared counter",
			"the peer sent a counter of the wrong size");
	test->counter_address = reply.address;
	test->counter_rkey = reply.rkey;
	return 0;
}

int test_run_end(struct perf_test *test, const struct test_result *ours, struct test_result *theirs,
	deadline_t deadline)
{
	uint8_t text[TEST_RESULT_SIZE];
	struct command command = {.type = COMMAND_END}, reply;

	if (ours) {
		test_result_encode(ours, text);
		command.text = (char *)text;
		command.text_size = sizeof(text);
	}
	if (control_client_command(test->control, &command, &reply, deadline))
		return -1;
	if (test_result_decode(theirs, reply.text, reply.text_size) == 0)
		return 0;
	return failure_protocol(&test->control->failure, "test_result_decode",
		"the peer sent a malformed test result");
}
