/*
 * Two ends of a measurement (measure/perf-test.h) in one process, each on a thread of its own, on a
 * made-up device of the fewest verbs that they need. What is posted happens when somebody polls,
 * now of the one queue pair, now of another; a message waits for its receive.
 */
#ifndef TESTS_UNIT_MEASURE_PERF_TEST_FIXTURE_H
#define TESTS_UNIT_MEASURE_PERF_TEST_FIXTURE_H

#include "measure/test-run.h"
#include "tests/unit/unit.h"

/* What happens to one RDMA operation. */
enum fault {
	NO_FAULT,
	DAMAGED,   /* a bit of it is flipped */
	LOST,      /* it brings nothing, and is complete all the same */
	MISPLACED, /* its bytes are one byte off, round about */
	REFUSED,   /* it fails */
};

struct perf_test_end {
	struct control control;
	struct perf_test test;
	struct test_result result; /* of the last run */
	int status;                /* of it */
	bool others_failed; /* other threads that have to do with it, of which there are none here */
};

struct perf_test_fixture {
	struct perf_test_end client, server;
};

/* Makes both ends, with that number of queue pairs of that depth. */
void perf_test_fixture_start(
	struct perf_test_fixture *fixture, uint32_t queue_pairs, uint32_t depth);

/* The RDMA operation after that number of others has that fault. */
void perf_test_fixture_fault(unsigned int after, enum fault fault);

/* Whoever WRITEs gets the last byte of an answer there at once, and nothing else that was right. */
void perf_test_fixture_reply(uint8_t *place);

/*
 * Runs a test with these parameters at both ends, as the programs do: the client sends COMMAND_END
 * when its half is over, and the server replies when its own is. Returns the client's result.
 */
int perf_test_fixture_run(struct perf_test_fixture *fixture,
	const struct test_parameters *parameters, struct histogram *latency);

/* One end alone: the other one never does anything. Its idle timeout is 50 ms. */
int perf_test_fixture_run_alone(struct perf_test_end *end, const struct test_parameters *parameters,
	struct histogram *latency);

/* So many RDMA operations were posted, and so many work requests of any kind were inline. */
unsigned int perf_test_fixture_operations(void);
unsigned int perf_test_fixture_inline(void);

/* In so many calls, and so many of the RDMA operations were to tell of their completion. */
unsigned int perf_test_fixture_lists(void);
unsigned int perf_test_fixture_signaled(void);

/* So often was asked whether something was complete. */
unsigned int perf_test_fixture_polls(void);

/* Frees all, and checks that nothing is left. */
void perf_test_fixture_stop(struct perf_test_fixture *fixture);

#endif
