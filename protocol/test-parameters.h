/*
 * The parameters and the result of a test, sent as the text of a command (protocol/command.h): the
 * client chooses the parameters and sends them to the server, both run the test, and the server
 * replies with its result. 64 bytes each, little-endian. See docs/protocol.md, "Measurement".
 */
#ifndef PROTOCOL_TEST_PARAMETERS_H
#define PROTOCOL_TEST_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/test-operation.h"

#define TEST_PARAMETERS_SIZE 64
#define TEST_RESULT_SIZE     64

#define TEST_QUEUE_PAIRS_MAX 64
#define TEST_DEPTH_MAX       1024
#define TEST_REQUESTS_MAX    8192 /* sum over all queue pairs */
#define TEST_INLINE_MAX      1024 /* bytes of an operation that may be inline */
#define TEST_SGE_MAX         32   /* pieces of an operation's local data */

/* The depth of a diagnosis, which has one queue pair. */
#define TEST_DIAGNOSIS_DEPTH 16

enum test_kind {
	TEST_BANDWIDTH = 0, /* as many operations in flight as the depth allows */
	TEST_LATENCY = 1,   /* one at a time */
	TEST_KINDS
};

/* How both ends wait for completions and, in a latency test of WRITEs, for data. */
enum test_wait {
	TEST_EVENT = 0,          /* sleep until the device raises an event */
	TEST_SPIN = 1,           /* poll continuously: the completion queue, or the last byte */
	TEST_SPIN_IMMEDIATE = 2, /* in a latency test of WRITEs: poll for immediate data */
	TEST_WAITS
};

/*
 * The end that initiates operations. In a latency test, that is the client; the server answers each
 * WRITE.
 */
enum test_direction { TEST_CLIENT = 0, TEST_BOTH = 1, TEST_SERVER = 2, TEST_DIRECTIONS };

/* The type of the queue pairs. What an unreliable one loses stays lost, and is counted. */
enum test_transport {
	TEST_RC = 0, /* reliable connection */
	TEST_UC = 1, /* unreliable connection */
	TEST_UD = 2, /* unreliable datagrams, of one packet each */
	TEST_TRANSPORTS
};

/* Bytes before the data of a datagram: InfiniBand specification, volume 1, 11.4.1.2. */
#define TEST_GRH_SIZE 40

struct test_parameters {
	enum test_kind kind;
	enum test_wait wait;
	enum test_direction direction;
	const struct test_operation *operation;
	enum test_transport transport;
	bool verify;           /* compare every byte of every operation with what is expected */
	uint32_t size;         /* bytes per operation, not 0 */
	uint32_t queue_pairs;  /* at least 1 */
	uint32_t depth;        /* operations in flight on each queue pair, at least 1 */
	uint32_t slots;        /* memory slots that they use in rotation, 1 to depth */
	uint64_t operations;   /* on each queue pair; 0: limited by time */
	uint32_t milliseconds; /* the time limit if operations is 0 */
	uint64_t seed;         /* of the patterns */
	/*
	 * Operations of fewer bytes are inline: their data is copied into the work request. 0: as
	 * many as the queue pair allows without being asked for more.
	 */
	uint32_t inline_below;
	uint32_t signal_every; /* operations per completion; 0: one completion for each call */
	uint32_t gathers;      /* pieces of an operation's local data; 0: one */
	/*
	 * The counter that the client's atomic operations change: a random number that several
	 * sessions name; 0: one in the region of this session.
	 */
	uint64_t counter;
};

/* True if the server posts operations in this test, too. */
bool test_parameters_server_posts(const struct test_parameters *parameters);

/* True if operations may be lost: measure/lossy.h. */
bool test_parameters_lossy(const struct test_parameters *parameters);

/* True if all queue pairs change one counter: measure/atomics.h. */
bool test_parameters_tickets(const struct test_parameters *parameters);

/* True if both ends verify the data, and report their progress to each other in notices. */
bool test_parameters_notices(const struct test_parameters *parameters);

/*
 * The number of operations on a queue pair that may precede the peer's permission: the slots that
 * it must check first or, if nothing is verified, the receives that it has posted.
 */
uint64_t test_parameters_window(const struct test_parameters *parameters);

/* True if the operations of this test carry immediate data, which arrives after all other data. */
bool test_parameters_immediate(const struct test_parameters *parameters);

/* The result at one end. */
struct test_result {
	uint64_t operations, bytes;
	uint64_t nanoseconds;     /* from the start of the first operation to the end of the last */
	uint64_t cpu_nanoseconds; /* CPU time of its thread */
	/*
	 * Bytes per second in a 100 ms interval; best 0: no interval. In what a client reports of
	 * a latency test, best is the median in nanoseconds.
	 */
	uint64_t worst, best;
	uint64_t wrong;        /* operations with wrong data at this end */
	uint64_t wrong_offset; /* bandwidth: first wrong byte in the first of them */
	uint64_t lost;         /* operations that have not arrived; each end knows it by itself */
};

/* Any thread, like all functions here. */
void test_parameters_encode(
	const struct test_parameters *parameters, uint8_t buffer[TEST_PARAMETERS_SIZE]);

/*
 * Decodes the peer's parameters. Returns 0, or -EPROTO if the length is wrong or a value is
 * invalid.
 */
int test_parameters_decode(struct test_parameters *parameters, const void *buffer, size_t length);

/* True if this number of queue pairs and this depth are within the limits. */
bool test_shape_is_possible(uint32_t queue_pairs, uint32_t depth);

/* Bytes of memory that each end needs, at most 2^62. */
uint64_t test_parameters_memory(const struct test_parameters *parameters);

void test_result_encode(const struct test_result *result, uint8_t buffer[TEST_RESULT_SIZE]);

/*
 * Adds the result of a concurrent thread. The worst and best intervals of the sum are unknown,
 * because the intervals of the threads do not coincide.
 */
void test_result_add(struct test_result *sum, const struct test_result *part);

/* Returns 0, or -EPROTO if the length is wrong. */
int test_result_decode(struct test_result *result, const void *buffer, size_t length);

#endif
