/*
 * Tests of atomic operations. Each queue pair has a counter of its own at the other side, which
 * no other queue pair changes, so operation n fetches n.
 *
 * If a bandwidth test is verified, all queue pairs share one counter, whose numbers are the tickets
 * of a queue: a fetch-and-add takes the next one, whichever that is, and a compare-and-swap tries
 * to take the one that it expects, as a lock does, and learns which is next if another queue pair
 * was faster. In the end, each ticket must have been taken once. The threads of a client share one
 * counter, too (measure/shared-counter.h). See docs/protocol.md, "Atomic operations".
 *
 * The thread that runs the test calls these functions.
 */
#ifndef MEASURE_ATOMICS_H
#define MEASURE_ATOMICS_H

#include <infiniband/verbs.h>
#include <stdint.h>

#include "measure/perf-test.h"

/* Sets the counters that this end offers to 0, before a test. */
void atomics_clear(struct perf_test *test);

/* Sets what differs between the work requests of atomic operations. */
void atomics_describe(const struct perf_test *test, const struct test_queue_pair *queue_pair,
	uint64_t number, struct ibv_send_wr *request);

/* Checks what the operation with this number, which has completed, fetched. */
void atomics_check(struct perf_test *test, struct test_queue_pair *queue_pair, uint64_t number);

/* True if each of these tickets, from 0 on, was taken once. Any thread. */
bool atomics_are_complete(const struct tickets *tickets);

/*
 * At the end of a verified bandwidth test, checks that each ticket was taken once, unless other
 * sessions share the counter.
 */
void atomics_check_tickets(struct perf_test *test);

#endif
