/*
 * Operations that use up receives of the other end: SENDs, and WRITEs with immediate data. The end
 * that they arrive at posts the receives before the test and each one again once it is done with
 * what has arrived; so that none is ever missing, it permits the next operations by empty SENDs.
 *
 * Receives are used in the order in which they were posted, by operations and messages alike. On a
 * new connection, the first ones are too small for operations: each end uses up the other's with
 * empty SENDs before its first operation, and they are not posted again. From then on, messages
 * need no more than a length to be told apart from operations, because what they contain could be
 * overwritten: without verification, all receives of a queue pair have the same memory. See
 * docs/protocol.md, "Operations that use up receives".
 *
 * Functions that return int return -1 with the connection's failure recorded. The thread that runs
 * the test calls them.
 */
#ifndef MEASURE_RECEIVES_H
#define MEASURE_RECEIVES_H

#include "measure/perf-test.h"

/* Receives that a connection needs on each queue pair for operations at this depth. */
uint32_t receives_count(uint32_t depth);

/* True unless the operation needs receives that this end does not have, or larger ones. */
bool receives_suffice(const struct perf_test *test, const struct test_parameters *parameters);

/* Posts the receives, on all queue pairs, unless the test needs none or they are posted. */
int receives_post(struct perf_test *test);

/* Uses up the peer's first receives, before the first operation. */
int receives_use_up(struct perf_test *test);

/*
 * Takes a completed receive. Returns 1 if an operation has arrived, whose receive the caller posts
 * again with control_release() when it is done with the data; otherwise 0.
 */
int receives_take(struct perf_test *test, const struct completion *completion);

/*
 * Permits the peer's next operations for those that were taken, or confirms its last. Returns 1 if
 * it sent a message, otherwise 0.
 */
int receives_permit(struct perf_test *test, struct test_queue_pair *queue_pair);

/*
 * If the queue pairs share receives, posts those again that are done with, once the device has said
 * that few are left. Call this after taking completions: then each queue pair may be permitted as
 * many operations, and answered as many messages, as if it had receives of its own. Returns their
 * number, or -1.
 */
int receives_refill(struct perf_test *test);

/* Tells the peer, if there is room for it, that no operation follows. Returns like the former. */
int receives_end(struct perf_test *test, struct test_queue_pair *queue_pair);

#endif
