/* The parameters of a measurement's tests. Any thread. */
#ifndef MEASURE_PARAMETERS_H
#define MEASURE_PARAMETERS_H

#include "measure/report.h"

/* The maximum number of work requests in flight on a queue pair, for any message size. */
uint32_t parameters_depth_max(const struct options *options);

/* Bytes of memory that a measurement needs at each end, for the operations and their receives. */
size_t parameters_memory(const struct options *options);

/* Chooses the parameters of a test with messages of this size; the ends must be connected. */
void parameters_choose(
	const struct measurement *measurement, uint64_t size, struct test_parameters *parameters);

/*
 * True if this test must use TEST_SPIN_IMMEDIATE, because the last byte of a WRITE that takes
 * several packets may not arrive last (measure/latency.c). Requires the facts of both ends.
 */
bool parameters_need_immediate(
	const struct measurement *measurement, const struct test_parameters *parameters);

#endif
