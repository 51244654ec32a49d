/*
 * Runs one end of a test: both ends begin it, then client and server run their halves at the same
 * time. All functions use the test's control connection, on the thread that owns it. Functions that
 * return int return 0, or -1 with the connection's failure recorded.
 */
#ifndef MEASURE_TEST_RUN_H
#define MEASURE_TEST_RUN_H

#include "control/client.h"
#include "measure/perf-test.h"

/* True if the device, the queue pairs and both ends' regions support these parameters. */
bool test_run_can(const struct perf_test *test, const struct test_parameters *parameters);

/*
 * Prepares the test before the peer may begin. timeout: the peer's idle timeout, milliseconds. The
 * connection fails if receives cannot be posted.
 */
void test_run_begin(
	struct perf_test *test, const struct test_parameters *parameters, int64_t timeout);

/*
 * Runs the client's or the server's end of the test. The server's end returns when the test is done
 * or the next command arrives. The shared state must be newly initialised; the threads of a
 * measurement share it, but each has its own test. *latency receives the latencies; NULL at a
 * server.
 */
int test_run(struct perf_test *test, struct test_shared *shared, struct test_result *result,
	struct histogram *latency);

/* Client commands before and after a test (protocol/command.h). */

/* Creates this number of queue pairs and connects them. Call it once, after COMMAND_REGION. */
int test_run_connect(struct perf_test *test, uint32_t queue_pairs, deadline_t deadline);

/* Begins a test at both ends; test_run() follows. */
int test_run_begin_both(
	struct perf_test *test, const struct test_parameters *parameters, int64_t timeout);

/* Ends the test: sends our result, unless it is NULL, and receives the server's. */
int test_run_end(struct perf_test *test, const struct test_result *ours, struct test_result *theirs,
	deadline_t deadline);

#endif
