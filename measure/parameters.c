/*
 * The parameters of a measurement's tests, from the options, the limits of the connection and the
 * facts of both ends. Pure functions.
 */

#include "measure/parameters.h"

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

uint32_t parameters_depth_max(const struct options *options)
{
	if (options->measure.latency)
		return DEPTH_LATENCY;
	return options->depth ? options->depth : DEPTH_MAX;
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
	uint64_t fitting = DEPTH_BYTES / parameters->size, pieces;
	uint32_t most = reads_max(control);

	parameters->depth = parameters_depth_max(measurement->options);
	if (!measurement->options->depth && fitting < parameters->depth &&
		!measurement->options->measure.latency)
		parameters->depth = fitting < DEPTH_MIN ? DEPTH_MIN : (uint32_t)fitting;
	if (parameters->operation->fetches && parameters->depth > most)
		parameters->depth = most;
	parameters->slots = 1;
	if (!parameters->verify || measurement->options->measure.latency)
		return;
	pieces = control->private.size / parameters->size / parameters->queue_pairs;
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
		.size = (uint32_t)size,
		.queue_pairs = measure->queue_pairs,
		.operations = measure->iterations,
		.milliseconds = (uint32_t)measure->duration,
	};
	choose_depth(measurement, parameters);
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
	return parameters->kind == TEST_LATENCY && !parameters->operation->fetches &&
	       parameters->wait == TEST_SPIN && parameters->size > path_mtu(measurement) &&
	       measurement->threads.members[0].control.device.traits->immediate;
}
