/*
 * What one measured run does, and what came of it: the client makes the plan and tells the server, and
 * both carry it out; at its end the server tells its half. 64 bytes each, little-endian, as the text of
 * an order. See docs/protocol.md, "Measurement".
 */
#ifndef PROTOCOL_TEST_PARAMETERS_H
#define PROTOCOL_TEST_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEST_PARAMETERS_SIZE 64
#define TEST_RESULT_SIZE     64

#define TEST_QUEUE_PAIRS_MAX 64
#define TEST_DEPTH_MAX       1024
#define TEST_REQUESTS_MAX    8192 /* of all queue pairs together */

enum test_kind {
	TEST_BANDWIDTH = 0, /* as many operations as there may be under way */
	TEST_LATENCY = 1,   /* one, and the next when it is over */
	TEST_KINDS
};

/* How an end learns that something is complete. */
enum test_wait {
	TEST_EVENT = 0, /* it sleeps until the device raises an event */
	TEST_SPIN = 1,  /* it looks again and again */
	TEST_WAITS
};

struct test_parameters {
	enum test_kind kind;
	enum test_wait wait;
	bool reads;            /* READs, or else WRITEs */
	bool bidirectional;    /* the server does the same at the same time */
	bool verify;           /* every byte of every operation is looked at */
	uint32_t size;         /* bytes of an operation, not 0 */
	uint32_t queue_pairs;  /* from 1 up */
	uint32_t depth;        /* operations under way on each, from 1 up */
	uint32_t slots;        /* pieces of memory that these use in turn, up to depth */
	uint64_t operations;   /* on each; 0: as many as fit into the time */
	uint32_t milliseconds; /* if so */
	uint64_t seed;         /* of the patterns, to verify */
};

/* What one end has done. */
struct test_result {
	uint64_t operations, bytes;
	uint64_t nanoseconds;     /* from the first to the end of the last */
	uint64_t cpu_nanoseconds; /* that its thread was running meanwhile */
	uint64_t worst, best; /* bytes in a second, over 100 ms each; best 0: it was over sooner */
	uint64_t wrong;       /* operations whose data was not right, at this end */
};

/* Any thread, like all functions here. */
void test_parameters_encode(
	const struct test_parameters *parameters, uint8_t buffer[TEST_PARAMETERS_SIZE]);

/*
 * Reads a plan of the peer's. Returns 0, or -EPROTO if it has a wrong length or cannot be carried out
 * by anybody.
 */
int test_parameters_decode(struct test_parameters *parameters, const void *buffer, size_t length);

/* Whether there can be so many queue pairs of that depth. */
bool test_shape_is_possible(uint32_t queue_pairs, uint32_t depth);

/* Bytes of memory that each end needs for it. At most 2^62. */
uint64_t test_parameters_memory(const struct test_parameters *parameters);

void test_result_encode(const struct test_result *result, uint8_t buffer[TEST_RESULT_SIZE]);

/*
 * Adds what another thread has done in the same time. Its worst and best interval are not those in which
 * the other one had its own: those of the sum are not known.
 */
void test_result_add(struct test_result *sum, const struct test_result *part);

/* Returns 0, or -EPROTO if it has a wrong length. */
int test_result_decode(struct test_result *result, const void *buffer, size_t length);

#endif
