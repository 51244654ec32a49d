/*
 * The client's threads of a measurement. Each has a control connection of its own, with its queue
 * pairs, and does there what it would do alone; they begin and end a test together, and their
 * results are added up. The first one is the caller's thread, and mostly the only one.
 *
 * The main thread calls all functions. They return 0, or -1 with the threads' failure recorded.
 */
#ifndef MEASURE_THREADS_H
#define MEASURE_THREADS_H

#include "cli/options.h"
#include "control/client.h"
#include "measure/perf-test.h"
#include "verbs/dial.h"

/* One thread, and its connection. */
struct test_thread {
	struct test_threads *threads;
	struct control control;
	struct perf_test test;
	pthread_t thread;
	int processor; /* that it stays on, -1: any */

	/* Of the test. */
	struct histogram *latency;
	struct test_result ours;
	int result;
};

struct test_threads {
	const struct options *options;
	uint32_t depth; /* the most operations under way on a queue pair */
	struct secret
		*secret; /* the caller's, who sets it before the threads connect; NULL: none */
	struct control_request request;
	struct dial dial;
	struct test_thread members[OPTIONS_THREADS_MAX];
	uint64_t tests; /* begun so far, by all threads */
	struct test_shared shared;
	struct test_thread *failed; /* the first one in the test */
	struct failure failure;     /* the first */
};

/* One test. */
struct measured {
	struct test_parameters parameters;
	struct test_result ours, theirs;
	const struct histogram *latency; /* NULL: bandwidth was measured */
	uint32_t threads;                /* each with that number of queue pairs */
};

/* Options, output and peer, which names the server in sentences, outlive the threads. */
void test_threads_init(struct test_threads *threads, const struct options *options,
	const struct output *output, const char *peer, uint32_t depth);

/* Connects each thread, to the same address of the server; if the server is full, retries. */
int test_threads_connect(struct test_threads *threads);

/* Makes memory and queue pairs at both ends, for the options' largest size. */
int test_threads_prepare(struct test_threads *threads);

/*
 * Carries out a test with all threads, at both ends. *measured gets the results, and *latency,
 * which only a latency test needs, how long the operations of the first thread took.
 */
int test_threads_run(struct test_threads *threads, const struct test_parameters *parameters,
	struct measured *measured, struct histogram *latency);

/* Records the failure of one connection, unless another one failed before. Returns -1. */
int test_threads_failed(struct test_threads *threads, const struct control *control);

void test_threads_close(struct test_threads *threads);

#endif
