/*
 * The commands that a client gives the server around its tests (protocol/command.h). All functions return 0,
 * or -1 with the failure recorded in the client's connection; they wait until the deadline at most. The
 * thread that uses the connection calls them.
 */
#ifndef MEASURE_TEST_COMMANDS_H
#define MEASURE_TEST_COMMANDS_H

#include "control/client.h"
#include "measure/test-run.h"

/* Makes this number of queue pairs and connects them with the server's. Once, after COMMAND_REGION. */
int test_commands_queue_pairs(
	struct control *control, struct perf_test *test, uint32_t count, deadline_t deadline);

/* Begins a test at both ends: test_run() is to follow. The peer's silence may last `timeout` ms. */
int test_commands_begin(struct control *control, struct perf_test *test,
	const struct test_parameters *parameters, int64_t timeout);

/* Ends the test and gets the server's result. */
int test_commands_end(struct control *control, struct test_result *theirs, deadline_t deadline);

#endif
