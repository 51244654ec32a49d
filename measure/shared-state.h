/*
 * What the threads share that carry out a run together: when it began, what they have moved, and whether
 * one of them has failed.
 */
#ifndef MEASURE_SHARED_STATE_H
#define MEASURE_SHARED_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "measure/intervals.h"

struct test_shared {
	uint64_t start; /* nanoseconds of some clock, like all times here */
	pthread_mutex_t lock;
	uint64_t bytes;             /* that all have moved; under the lock, as the next */
	struct intervals intervals; /* of all of them */
	atomic_bool broken;         /* one has failed: the others give up, too */
};

/* Begins now. Before the threads do. Nothing is to be freed. */
void test_shared_init(struct test_shared *shared, uint64_t now);

/* So many more bytes have been moved until now. Any thread. */
void test_shared_add(struct test_shared *shared, uint64_t now, uint64_t bytes);

/* What came of it until now. Any thread. */
struct intervals test_shared_intervals(struct test_shared *shared);

#endif
