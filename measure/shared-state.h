/*
 * State shared by the threads that run a test together: start time, bytes moved, rates of the worst
 * and the best interval, and whether a thread has failed.
 */
#ifndef MEASURE_SHARED_STATE_H
#define MEASURE_SHARED_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define INTERVAL_NS UINT64_C(100000000)

/* Rates of the worst and the best interval of a transfer: an average would hide a stalled link. */
struct intervals {
	uint64_t began, before;    /* current interval: start, and bytes at its start */
	uint64_t last, until_last; /* time and bytes of the last call */
	uint64_t worst, best;      /* bytes per second; best 0: no interval is complete */
};

/* Starts the first interval. Any thread; the caller serialises. */
void intervals_init(struct intervals *intervals, uint64_t now);

/*
 * Reports the total number of bytes moved. An interval ends with the first call after INTERVAL_NS.
 */
void intervals_add(struct intervals *intervals, uint64_t now, uint64_t bytes);

/*
 * Extends the range of the complete intervals to the rate of the whole test: what followed the last
 * one may have been slower than all of them. Any thread; the caller serialises.
 */
void intervals_include(struct intervals *intervals, uint64_t bytes, uint64_t nanoseconds);

struct test_shared {
	uint64_t start; /* nanoseconds, like all times here */
	pthread_mutex_t lock;
	uint64_t bytes;             /* total of all threads; guarded by the lock, like intervals */
	struct intervals intervals; /* of all threads */
	atomic_bool broken;         /* a thread has failed; the others stop */
};

/*
 * Returns CLOCK_MONOTONIC_RAW, which is never adjusted, in nanoseconds. clock_gettime(2). Any
 * thread.
 */
uint64_t test_now(void);

/* Initialises the state before the threads start. Nothing needs to be freed. */
void test_shared_init(struct test_shared *shared, uint64_t now);

/* Adds bytes moved up to the time `now`. Any thread. */
void test_shared_add(struct test_shared *shared, uint64_t now, uint64_t bytes);

/* Returns the intervals so far. Any thread. */
struct intervals test_shared_intervals(struct test_shared *shared);

#endif
