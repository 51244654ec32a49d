/*
 * The parameters of a measurement's tests, from the options, the limits of the connection and the
 * facts of both ends. Pure functions.
 */

#include "measure/parameters.h"
#include "measure/receives.h"

/* The smallest RDMA MTU in bytes: IBV_MTU_256. */
#define MTU_MIN 256

/*
 * Operations in flight without --depth: limits on their number and bytes, and the depth of a
 * latency test.
 */
#define DEPTH_MAX     128
#define DEPTH_MIN     16
#define DEPTH_BYTES   (4 << 20)
#define DEPTH_LATENCY 64

/* The depth of tests of this size that fills the link. */
static uint32_t filling_depth(const struct options *options, uint64_t size)
{
	uint64_t fitting = DEPTH_BYTES / size;

	if (options->measure.latency)
		return DEPTH_LATENCY;
	if (options->depth)
		return options->depth;
	if (fitting > DEPTH_MAX)
		return DEPTH_MAX;
	return fitting < DEPTH_MIN ? DEPTH_MIN : (uint32_t)fitting;
}

/*
 * The memory of all receives of a verified test, if each keeps its data: of each queue pair, where
 * commands may arrive as well, or, if they share them, as many as share_receives() in
 * control/control.c has.
 */
static uint64_t kept_memory(const struct options *options, uint32_t depth)
{
	const struct options_measure *measure = &options->measure;
	bool lossy = measure->transport != TEST_RC;
	uint64_t least = measure->shares || lossy ? CONTROL_NOTICE_SIZE : COMMAND_MAX;
	uint64_t size =
		(measure->largest > least ? measure->largest : least) + (lossy ? TEST_GRH_SIZE : 0);
	uint64_t each = receives_count(depth);

	return size * (each * measure->queue_pairs +
			      (measure->shares ? 2 * (CONTROL_RECEIVES + each) : 0));
}

/* The same, or less, if otherwise shared receives would not have room for verified data. */
static uint32_t depth_of(const struct options *options, uint64_t size)
{
	uint32_t depth = filling_depth(options, size);
	bool must = options->measure.shares || options->measure.transport != TEST_RC;
	bool keeps = must && options->measure.verify && !options->operation->immediate;

	while (keeps && depth > 1 && kept_memory(options, depth) > COMMAND_REGION_MAX)
		depth /= 2;
	return depth;
}

uint32_t parameters_depth_max(const struct options *options)
{
	return depth_of(options, options->measure.smallest);
}

/*
 * The memory in which each receive of a test keeps its data until it has been verified; 0 if that
 * would be too much, or there is no such test. Other receives of datagrams need room for a header.
 */
static size_t receives_memory(const struct options *options)
{
	const struct options_measure *measure = &options->measure;
	uint64_t all = kept_memory(options, parameters_depth_max(options));
	bool keeps = options->operation->receives && !options->operation->immediate &&
		     measure->verify && (measure->bandwidth || measure->transport != TEST_RC);

	if (measure->transport == TEST_UD && !keeps)
		return (size_t)(measure->largest + TEST_GRH_SIZE) * measure->queue_pairs;
	return keeps && all <= COMMAND_REGION_MAX ? (size_t)all : 0;
}

size_t parameters_memory(const struct options *options)
{
	size_t operations = options_measure_memory(&options->measure);
	size_t receives = receives_memory(options);

	return operations > receives ? operations : receives;
}

/* The maximum number of READs in flight. */
static uint32_t reads_max(const struct control *control)
{
	if (!control->device.traits->limits_reads)
		return UINT32_MAX;
	return control->reads > 0 ? control->reads : 1;
}

/* Chooses a depth that fills the link and fits in the memory of both ends. */
static void choose_depth(const struct measurement *measurement, struct test_parameters *parameters)
{
	const struct control *control = &measurement->threads.members[0].control;
	uint32_t most = reads_max(control);
	uint64_t pieces;

	parameters->depth = depth_of(measurement->options, parameters->size);
	if (parameters->operation->fetches && parameters->depth > most)
		parameters->depth = most;
	parameters->slots = 1;
	if (!parameters->verify || measurement->options->measure.latency)
		return;
	pieces = control->private.size / parameters->size / parameters->queue_pairs;
	if (parameters->operation->receives && !parameters->operation->immediate &&
		!receives_memory(measurement->options))
		pieces = 1;
	parameters->slots = pieces < parameters->depth ? (uint32_t)pieces : parameters->depth;
	parameters->depth = parameters->slots; /* at most one operation per slot */
}

void parameters_choose(
	const struct measurement *measurement, uint64_t size, struct test_parameters *parameters)
{
	const struct options_measure *measure = &measurement->options->measure;

	*parameters = (struct test_parameters){
		.kind = measure->latency ? TEST_LATENCY : TEST_BANDWIDTH,
		.wait = measure->poll == POLL_SPIN ? TEST_SPIN : TEST_EVENT,
		.operation = measurement->options->operation,
		.direction = measure->bidirectional ? TEST_BOTH : TEST_CLIENT,
		.verify = measure->verify,
		.transport = measure->transport,
		.size = (uint32_t)size,
		.queue_pairs = measure->queue_pairs,
		.operations = measure->iterations,
		.milliseconds = (uint32_t)measure->duration,
		.inline_below = measure->inline_below,
		.gathers = measure->gathers,
	};
	choose_depth(measurement, parameters);
	parameters->signal_every = measure->signal_every < parameters->depth ? measure->signal_every
									     : parameters->depth;
}

/* The RDMA MTU in bytes; if it is unknown, the smallest that exists. */
static unsigned long mtu(const struct facts *facts)
{
	unsigned long bytes = facts_number(facts, "rdma mtu");

	return bytes > MTU_MIN ? bytes : MTU_MIN;
}

static unsigned long path_mtu(const struct measurement *measurement)
{
	unsigned long ours = mtu(&measurement->ours), theirs = mtu(&measurement->theirs);

	return ours < theirs ? ours : theirs;
}

bool parameters_need_immediate(
	const struct measurement *measurement, const struct test_parameters *parameters)
{
	return parameters->kind == TEST_LATENCY &&
	       test_operation_is_silent(parameters->operation) && parameters->wait == TEST_SPIN &&
	       parameters->size > path_mtu(measurement) &&
	       measurement->threads.members[0].control.device.traits->immediate;
}
