/*
 * Fixture for the tests of streams: bytes that depend on their position, reproducible random
 * numbers, and a listener that counts the events of a worker.
 */
#ifndef TESTS_UNIT_COMMON_STREAM_FIXTURE_H
#define TESTS_UNIT_COMMON_STREAM_FIXTURE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/worker.h"

/*
 * The byte of the test stream at this position. Its period is neither 256 nor the size of any ring.
 */
uint8_t stream_byte(uint64_t position);
void stream_fill(void *bytes, uint64_t position, size_t size);

/* Returns the offset of the first byte that differs from the stream at this position, or size. */
size_t stream_compare(const void *bytes, uint64_t position, size_t size);

/* Returns a number from 0 to below - 1. */
uint64_t random_below(uint64_t *seed, uint64_t below);

/* Sleeps briefly, so that another thread is likely, but not certain, to have begun its wait. */
void a_moment(void);

struct oracle {
	pthread_mutex_t lock; /* protects the counts */
	pthread_cond_t changed;
	unsigned int moved, ended;
	struct worker_listener listener;
};

void oracle_init(struct oracle *oracle);
void oracle_destroy(struct oracle *oracle);

/*
 * Waits until the worker has ended. Fails the test after a timeout, or if it reports its end twice.
 */
void oracle_await_end(struct oracle *oracle);
unsigned int oracle_moved(struct oracle *oracle);

#endif
