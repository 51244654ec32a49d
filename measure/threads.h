/*
 * The client's threads of a measurement. Each has a connection to the server of its own, with its queue
 * pairs, and does there what it would do alone; they begin and end a run together, and what they have
 * done is added up. The first one is the caller's thread, and mostly the only one.
 *
 * The main thread calls all functions. They return 0, or -1 with the team's failure recorded.
 */
#ifndef MEASURE_THREADS_H
#define MEASURE_THREADS_H

#include "control/client.h"
#include "measure/perf-test.h"
#include "measure/table.h"
#include "verbs/dial.h"

/* One thread, and its connection. */
struct test_thread {
	struct test_threads *threads;
	struct control_client client;
	struct perf_test test;
	pthread_t thread;
	int processor; /* that it stays on, -1: any */

	/* Of the run. */
	struct histogram *latency;
	struct test_result ours, theirs;
	int result;
};

struct test_threads {
	const struct options *options;
	uint32_t depth; /* the most operations under way on a queue pair */
	struct secret
		*secret; /* the caller's, who sets it before the threads connect; NULL: none */
	int signals;     /* what ends everything when it is readable; -1: not yet opened */
	struct dial dial;
	struct test_thread members[OPTIONS_THREADS_MAX];
	uint64_t runs;
	struct test_shared shared;
	struct test_thread *failed; /* in the run, before the others */
	struct failure failure;     /* the first */
};

/* Options, output and peer, which names the server in sentences, outlive the threads. */
void test_threads_init(struct test_threads *threads, const struct options *options,
	const struct output *output, const char *peer, uint32_t depth);

/* Connects each thread, at the same of the server's addresses; as long as it has no place for all, anew. */
int test_threads_connect(struct test_threads *threads);

/* Makes memory and queue pairs at both ends, for the options' largest size. */
int test_threads_prepare(struct test_threads *threads);

/*
 * Carries out a plan, at both ends, by all threads. *measured gets what they have done, and *latency,
 * which only a latency's plan needs, how long it took; the first thread measures that.
 */
int test_threads_run(struct test_threads *threads, const struct test_parameters *parameters,
	struct measured *measured, struct histogram *latency);

/* The first connection, for orders between the runs; and the failure of one was that of all. */
struct control_client *test_threads_ask(struct test_threads *threads);
int test_threads_failed(struct test_threads *threads, const struct control_client *client);

/* Bytes of memory that an end of each connection has, for either direction. */
size_t test_threads_memory(const struct test_threads *threads);

/* How long a silence is borne, from now on. */
deadline_t test_threads_deadline(const struct test_threads *threads);

/* Whether the device knows neither immediate data nor queue pairs that rdmacm has not connected. */
bool test_threads_is_iwarp(const struct test_threads *threads);

void test_threads_close(struct test_threads *threads);

#endif
