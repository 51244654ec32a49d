/*
 * What the threads share that carry out a test together: when it began, what they have moved, its
 * rate in the worst and the best interval, and whether one of them has failed.
 */
#ifndef MEASURE_SHARED_STATE_H
#define MEASURE_SHARED_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define INTERVAL_NS UINT64_C(100000000)

/*
 * The worst and the best interval of a transfer: an average hides a link that stops now and then.
 */
struct intervals {
	uint64_t began,
		before; /* the current one: when it began, in ns, and the bytes until then */
	uint64_t last, until_last; /* the same of the last call */
	uint64_t worst, best;      /* bytes per second; best 0: no interval is over yet */
};

/* Begins now. Any thread; the caller serialises. */
void intervals_init(struct intervals *intervals, uint64_t now);

/*
 * `bytes` have been moved until now, in all. An interval ends with the first call after its time.
 */
void intervals_add(struct intervals *intervals, uint64_t now, uint64_t bytes);

struct test_shared {
	uint64_t start; /* nanoseconds of some clock, like all times here */
	pthread_mutex_t lock;
	uint64_t bytes;             /* that all have moved; under the lock, as the next */
	struct intervals intervals; /* of all of them */
	atomic_bool broken;         /* one has failed: the others stop, too */
};

/* Nanoseconds by a clock that no one sets: CLOCK_MONOTONIC_RAW, clock_gettime(2). Any thread. */
uint64_t test_now(void);

/* Begins now, before the threads do. Nothing has to be freed. */
void test_shared_init(struct test_shared *shared, uint64_t now);

/* Adds bytes that have been moved until now. Any thread. */
void test_shared_add(struct test_shared *shared, uint64_t now, uint64_t bytes);

/* The intervals until now. Any thread. */
struct intervals test_shared_intervals(struct test_shared *shared);

#endif
