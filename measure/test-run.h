/*
 * Carries out one end of a test: both ends begin it, the client runs its half, and the server runs its own
 * at the same time. Both functions use the control connection of the test, on the thread that owns it.
 */
#ifndef MEASURE_TEST_RUN_H
#define MEASURE_TEST_RUN_H

#include "measure/perf-test.h"

/* Gets ready, before the peer may begin. The peer may be silent for `timeout` milliseconds. */
void test_run_begin(
	struct perf_test *test, const struct test_parameters *parameters, int64_t timeout);

/*
 * Carries the test out: the client's end, or the server's, which returns when all is done or the next
 * command has come. The shared state has just begun; threads that measure together share it, each with a
 * test of its own. *latency, which a server has not, gets how long the operations took.
 */
int test_run(struct perf_test *test, struct test_shared *shared, struct test_result *result,
	struct histogram *latency);

#endif
