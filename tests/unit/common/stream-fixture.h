/*
 * What the tests of streams share: bytes that tell where in a stream they belong, numbers that are
 * random and yet the same in each run, and a listener that counts what a worker tells it.
 */
#ifndef TESTS_UNIT_COMMON_STREAM_FIXTURE_H
#define TESTS_UNIT_COMMON_STREAM_FIXTURE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/worker.h"

/* The byte of a made-up stream at this position; neither 256 nor any ring's size repeats it. */
uint8_t stream_byte(uint64_t position);
void stream_fill(void *bytes, uint64_t position, size_t size);

/* Where these bytes differ from the stream at this position, or size. */
size_t stream_compare(const void *bytes, uint64_t position, size_t size);

/* A number from 0 to below - 1. */
uint64_t random_below(uint64_t *seed, uint64_t below);

/* Lets a moment pass, in which another thread may come to where it waits; or not. */
void a_moment(void);

struct oracle {
	pthread_mutex_t lock; /* of the counts */
	pthread_cond_t changed;
	unsigned int moved, ended;
	struct worker_listener listener;
};

void oracle_init(struct oracle *oracle);
void oracle_destroy(struct oracle *oracle);

/* Fails the test if the worker does not end in time, or says so twice. */
void oracle_await_end(struct oracle *oracle);
unsigned int oracle_moved(struct oracle *oracle);

#endif
