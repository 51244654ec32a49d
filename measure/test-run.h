/*
 * Carries out one end of a test: both ends begin it, the client runs its half, and the server runs
 * its own at the same time. All functions use the control connection of the test, on the thread
 * that owns it; those that return int return 0, or -1 with the connection's failure recorded.
 */
#ifndef MEASURE_TEST_RUN_H
#define MEASURE_TEST_RUN_H

#include "control/client.h"
#include "measure/perf-test.h"

/* Gets ready, before the peer may begin. The peer may be silent for `timeout` milliseconds. */
void test_run_begin(
	struct perf_test *test, const struct test_parameters *parameters, int64_t timeout);

/*
 * Carries the test out: the client's end, or the server's, which returns when all is done or the
 * next command has come. The shared state has just begun; threads that measure together share it,
 * each with a test of its own. *latency, which a server has not, gets how long the operations took.
 */
int test_run(struct perf_test *test, struct test_shared *shared, struct test_result *result,
	struct histogram *latency);

/* The client's commands around a test (protocol/command.h). */

/*
 * Makes this number of queue pairs and connects them with the server's. Once, after COMMAND_REGION.
 */
int test_run_connect(struct perf_test *test, uint32_t queue_pairs, deadline_t deadline);

/* Begins a test at both ends: test_run() is to follow. */
int test_run_begin_both(
	struct perf_test *test, const struct test_parameters *parameters, int64_t timeout);

/* Ends the test and gets the server's result. */
int test_run_end(struct perf_test *test, struct test_result *theirs, deadline_t deadline);

#endif
