/*
 * Tests over unreliable queue pairs, UC and UD. Each operation carries its number as immediate
 * data, and needs no permission: what finds no receive, or is lost on the way, is lost. Latency
 * tests are in measure/lossy-latency.h. In a bandwidth test, when all operations of an end have
 * left, it tells the other over the connection, which is reliable, how many these were; the other
 * waits briefly for the last of them, and replies with the number that has arrived. That is the
 * end's result. See docs/protocol.md, "Unreliable tests".
 *
 * Functions that return int return -1 with the connection's failure recorded. The thread that runs
 * the test calls them.
 */
#ifndef MEASURE_LOSSY_H
#define MEASURE_LOSSY_H

#include "measure/perf-test.h"

/*
 * The last operations may come after a message over the connection: how often in sequence to look
 * for them in vain, and the pause before each look, in nanoseconds. Looks, not time, so that a
 * thread that did not run for long does not give up what has long arrived.
 */
#define LOSSY_LOOKS    100
#define LOSSY_PAUSE_NS 1000000

/* True if the receives have, or will have, the memory that the operations need. */
bool lossy_suffices(const struct perf_test *test, const struct test_parameters *parameters);

/* Posts the receives, on all queue pairs, unless they are posted. */
int lossy_post(struct perf_test *test);

/*
 * Takes a completed receive. Returns 1 if an operation has arrived, with its number and data, whose
 * receive the caller posts again; otherwise 0. What strangers send, and what comes twice, is not
 * counted.
 */
int lossy_take(struct perf_test *test, const struct completion *completion, uint64_t *number,
	const uint8_t **data);

/*
 * Tells the peer what has been sent, once all of it has left, and what has arrived. `sent`: all
 * operations have completed. Returns the number of messages sent, or -1.
 */
int lossy_tell(struct perf_test *test, bool sent);

/* True once both ends know what has arrived. */
bool lossy_is_over(const struct perf_test *test);

/*
 * True while the last operations may be under way, which no event announces; then briefly pauses if
 * none has arrived since the last call.
 */
bool lossy_waits(struct perf_test *test);

#endif
