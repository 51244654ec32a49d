/*
 * The operations that bandwidth and latency tests measure. Any thread.
 *
 * A new operation needs a row in test-operation.c; its work request, in measure/perf-test.c; the
 * completions and the manual page; and a row in docs/hardware.md.
 */
#ifndef PROTOCOL_TEST_OPERATION_H
#define PROTOCOL_TEST_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values on the wire. */
enum test_operation_number {
	TEST_WRITE = 0,
	TEST_READ = 1,
	TEST_FETCH_ADD = 2,    /* adds 1 to a counter of the other side */
	TEST_COMPARE_SWAP = 3, /* increases a counter of the other side by 1 if it is as expected */
	TEST_SEND = 4,
	TEST_WRITE_IMM = 5, /* a WRITE that tells the other side about its arrival */
	TEST_OPERATIONS
};

/* Bytes of an atomic operation, of which InfiniBand defines no other size. */
#define TEST_ATOMIC_SIZE 8

struct test_operation {
	enum test_operation_number number;
	const char *name; /* on the command line, in documents and among the facts */
	const char *word; /* as people write it: "WRITE" */
	bool fetches;     /* data comes to the side that initiates it, as it does for READs */
	bool atomic;      /* on TEST_ATOMIC_SIZE bytes; fetches them, too */
	bool receives;    /* uses up a receive of the other side (measure/receives.h) */
	bool immediate;   /* carries immediate data, which iWARP does not have */
};

extern const struct test_operation test_operations[TEST_OPERATIONS];

/* Returns the operation with this name or number, or NULL if there is none. Static. */
const struct test_operation *test_operation_by_name(const char *name);
const struct test_operation *test_operation_by_number(unsigned int number);

/* True if nothing tells the other side that data has arrived: for WRITEs. */
bool test_operation_is_silent(const struct test_operation *operation);

#endif
