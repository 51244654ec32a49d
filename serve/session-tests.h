/*
 * The tests of one measurement as its server sees them, for the line that it leaves: those whose
 * result the client sent, so not warm-ups. It includes those of all the client's threads. A client
 * of an older release sends none. The session's thread.
 */
#ifndef SERVE_SESSION_TESTS_H
#define SERVE_SESSION_TESTS_H

#include "protocol/test-parameters.h"

struct session_tests {
	struct test_parameters last; /* of the last test; its size is 0 before the first */
	bool unfinished;             /* a test has begun after the last result */
	uint32_t smallest, largest;  /* bytes per operation */
	uint64_t bytes;              /* moved in both directions, up to 2^64 - 1 */
	uint64_t wrong;              /* operations with wrong data at either end */
	double best;                 /* bytes per second in the fastest; 0: unknown */
	uint64_t median;             /* nanoseconds, the lowest of all latency tests; 0: unknown */
};

/* Notes a test that begins, also a warm-up. */
void session_tests_begin(struct session_tests *tests, const struct test_parameters *parameters);

/* Adds a test that has ended. The values of `theirs`, which the peer sent, may be anything. */
void session_tests_add(struct session_tests *tests, const struct test_parameters *parameters,
	const struct test_result *ours, const struct test_result *theirs);

/*
 * Writes what was measured: "WRITE bandwidth of 4K to 1M, 4.20 GB, best rate 1.23 GB/s", or "READ
 * latency of 8 B, 2.1 MB, best median 12.30 us". Of a diagnosis, which tests many operations, only
 * "4.20 GB, best rate 1.23 GB/s". Without a result, "WRITE bandwidth of 4K, no result" or "no
 * result"; "; the last test was interrupted" follows the others.
 */
#define SESSION_TESTS_TEXT 160
void session_tests_text(
	const struct session_tests *tests, bool diagnosis, char text[SESSION_TESTS_TEXT]);

#endif
