/*
 * Latency tests over unreliable queue pairs, UC and UD: one operation at a time, which the server
 * answers with the same and with the same number. If no answer comes, the client asks over the
 * connection, which is reliable, whether the server is there; what has not arrived after that is
 * lost, and counted. See docs/protocol.md, "Unreliable tests".
 */
#ifndef MEASURE_LOSSY_LATENCY_H
#define MEASURE_LOSSY_LATENCY_H

#include "measure/perf-test.h"

/*
 * Runs one end of the test. *latency receives half of each round trip at the client. Returns 0, or
 * -1 with the connection's failure recorded. The thread that runs the test calls it.
 */
int lossy_latency_run(struct perf_test *test, struct histogram *latency);

#endif
