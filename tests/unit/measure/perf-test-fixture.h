/*
 * Both ends of a test (measure/perf-test.h) in one process, each on its own thread, on a fake
 * device that implements only the verbs they need. Posted work requests are executed when either
 * end polls, in random order across queue pairs; a SEND waits for a posted receive.
 */
#ifndef TESTS_UNIT_MEASURE_PERF_TEST_FIXTURE_H
#define TESTS_UNIT_MEASURE_PERF_TEST_FIXTURE_H

#include "measure/test-run.h"
#include "tests/unit/unit.h"

/* The fault injected into one RDMA operation. */
enum fault {
	NO_FAULT,
	DAMAGED,   /* one bit is flipped */
	LOST,      /* completes without moving data */
	MISPLACED, /* its bytes are rotated by one */
	REFUSED,   /* completes with a remote access error */
};

struct perf_test_end {
	struct control control;
	struct perf_test test;
	struct test_result result; /* of the last run */
	int status;                /* of the last run */
	bool others_failed;        /* sets test_shared.broken, as a failed sibling thread would */
};

struct perf_test_fixture {
	struct perf_test_end client, server;
};

/* Creates both ends with this many queue pairs of this depth. */
void perf_test_fixture_start(
	struct perf_test_fixture *fixture, uint32_t queue_pairs, uint32_t depth);

/* The same, but these queue pairs share their receives, at both ends. */
void perf_test_fixture_start_shared(
	struct perf_test_fixture *fixture, uint32_t queue_pairs, uint32_t depth);

/* The same, but these queue pairs are unreliable. */
void perf_test_fixture_start_lossy(struct perf_test_fixture *fixture, uint32_t queue_pairs,
	uint32_t depth, enum test_transport transport);

/* Injects the fault into one RDMA operation, after `after` other operations. */
void perf_test_fixture_fault(unsigned int after, enum fault fault);

/*
 * Answers each later WRITE immediately by storing the last byte of the expected reply, but no other
 * bytes, at `place`.
 */
void perf_test_fixture_reply(uint8_t *place);

/*
 * Runs the test at both ends as the programs do: the client sends COMMAND_END when it has finished
 * its part, and the server replies when it has finished its own. Returns the client's result.
 */
int perf_test_fixture_run(struct perf_test_fixture *fixture,
	const struct test_parameters *parameters, struct histogram *latency);

/* Runs one end against a peer that never responds. The idle timeout is 50 ms. */
int perf_test_fixture_run_alone(struct perf_test_end *end, const struct test_parameters *parameters,
	struct histogram *latency);

/* Does the same for a test that something else than the idle timeout ends, soon. */
int perf_test_fixture_run_to_end(struct perf_test_end *end,
	const struct test_parameters *parameters, struct histogram *latency);

/* The number of RDMA operations posted, and of inline work requests of any opcode. */
unsigned int perf_test_fixture_operations(void);
unsigned int perf_test_fixture_inline(void);

/* The number of calls that posted RDMA operations, and of signaled RDMA operations. */
unsigned int perf_test_fixture_lists(void);
unsigned int perf_test_fixture_signaled(void);

/* The number of calls to ibv_poll_cq(). */
unsigned int perf_test_fixture_polls(void);

/* Frees both ends and checks that no resource is left. */
void perf_test_fixture_stop(struct perf_test_fixture *fixture);

#endif
