/*
 * The parameters and the result of one test, as the text of a command (protocol/command.h): the
 * client chooses the parameters and sends them to the server, both carry out the test, and then the
 * server sends its result. 64 bytes each, little-endian. See docs/protocol.md, "Measurement".
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

/* The depth of the one queue pair of a diagnosis. */
#define TEST_DIAGNOSIS_DEPTH 16

enum test_kind {
	TEST_BANDWIDTH = 0, /* as many operations under way as the depth allows */
	TEST_LATENCY = 1,   /* one at a time */
	TEST_KINDS
};

/* How an end learns of completions. */
enum test_wait {
	TEST_EVENT = 0, /* it sleeps until the device raises an event */
	TEST_SPIN = 1,  /* it polls all the time */
	TEST_WAITS
};

/*
 * Which end initiates operations. Of a latency test it is the client; the server answers its
 * WRITEs.
 */
enum test_direction { TEST_CLIENT = 0, TEST_BOTH = 1, TEST_SERVER = 2, TEST_DIRECTIONS };

struct test_parameters {
	enum test_kind kind;
	enum test_wait wait;
	enum test_direction direction;
	bool reads;            /* READs, otherwise WRITEs */
	bool verify;           /* compare every byte of every operation with a pattern */
	uint32_t size;         /* bytes of an operation, not 0 */
	uint32_t queue_pairs;  /* at least 1 */
	uint32_t depth;        /* operations under way on each queue pair, at least 1 */
	uint32_t slots;        /* pieces of memory that they use in turn, 1 to depth */
	uint64_t operations;   /* on each queue pair; 0: as many as fit into the time */
	uint32_t milliseconds; /* this time */
	uint64_t seed;         /* of the patterns */
};

/* The result of one end. */
struct test_result {
	uint64_t operations, bytes;
	uint64_t nanoseconds;     /* from the first to the end of the last */
	uint64_t cpu_nanoseconds; /* for which its thread was running */
	uint64_t worst,
		best;   /* bytes per second in an interval of 100 ms; best 0: there was none */
	uint64_t wrong; /* operations whose data this end found to be wrong */
	uint64_t
		wrong_offset; /* of the first wrong byte in the first of them, of a bandwidth test */
};

/* Any thread, like all functions here. */
void test_parameters_encode(
	const struct test_parameters *parameters, uint8_t buffer[TEST_PARAMETERS_SIZE]);

/*
 * Reads the peer's parameters. Returns 0, or -EPROTO if the length is wrong or no end can carry
 * them out.
 */
int test_parameters_decode(struct test_parameters *parameters, const void *buffer, size_t length);

/* Whether this number of queue pairs and this depth are within the limits. */
bool test_shape_is_possible(uint32_t queue_pairs, uint32_t depth);

/* Bytes of memory that each end needs. At most 2^62. */
uint64_t test_parameters_memory(const struct test_parameters *parameters);

void test_result_encode(const struct test_result *result, uint8_t buffer[TEST_RESULT_SIZE]);

/*
 * Adds the result of another thread in the same time. The worst and best interval of the sum are
 * not known, as the threads have theirs at different times.
 */
void test_result_add(struct test_result *sum, const struct test_result *part);

/* Returns 0, or -EPROTO if the length is wrong. */
int test_result_decode(struct test_result *result, const void *buffer, size_t length);

#endif
