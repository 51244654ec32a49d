/*
 * Client threads of a measurement. Each thread has its own control connection and queue pairs and
 * runs its own test; the tests begin and end together, and their results are added up. The first
 * thread is the caller's, and usually the only one.
 *
 * All functions must be called from the main thread. They return 0, or -1 with the threads' failure
 * recorded.
 */
#ifndef MEASURE_THREADS_H
#define MEASURE_THREADS_H

#include "cli/options.h"
#include "control/client.h"
#include "measure/perf-test.h"
#include "verbs/dial.h"

/* One thread and its connection. */
struct test_thread {
	struct test_threads *threads;
	struct control control;
	struct perf_test test;
	pthread_t thread;
	int processor; /* CPU that it is bound to; -1: any */

	/* State of the running test. */
	struct histogram *latency;
	struct test_result ours;
	int result;
};

struct test_threads {
	const struct options *options;
	bool rehearses;        /* set by the caller: no result of the next tests is reported */
	uint32_t depth;        /* maximum operations in flight on a queue pair */
	size_t memory;         /* for the data, at each end of a connection, bytes */
	struct secret *secret; /* the caller's, set before the threads connect; NULL: none */
	struct control_request request; /* of the first thread, which reports for all */
	struct control_request worker;  /* of the others */
	struct dial dial;
	struct test_thread members[OPTIONS_THREADS_MAX];
	uint64_t tests;   /* begun so far, by all threads */
	uint64_t counter; /* number of the counter that they share, set by the caller; 0: none */
	struct test_shared shared;
	struct test_thread *failed; /* first thread that failed in the test */
	struct failure failure;     /* the first failure */
};

/* The result of one test. */
struct measured {
	struct test_parameters parameters;
	struct test_result ours, theirs;
	const struct histogram *latency; /* NULL: bandwidth test */
	uint32_t threads;                /* each with parameters.queue_pairs */
};

/* Options, output and peer (the server's name in messages) outlive the threads. */
void test_threads_init(struct test_threads *threads, const struct options *options,
	const struct output *output, const char *peer, uint32_t depth, size_t memory);

/* Connects all threads to the same server address; retries while the server is full. */
int test_threads_connect(struct test_threads *threads);

/* Allocates memory and creates queue pairs at both ends, for the largest message size. */
int test_threads_prepare(struct test_threads *threads);

/*
 * Runs a test with all threads, at both ends. *measured receives the results and, in a latency
 * test, *latency the latencies of the first thread.
 */
int test_threads_run(struct test_threads *threads, const struct test_parameters *parameters,
	struct measured *measured, struct histogram *latency);

/* Records the failure of a connection, unless one is already recorded. Returns -1. */
int test_threads_failed(struct test_threads *threads, const struct control *control);

void test_threads_close(struct test_threads *threads);

#endif
