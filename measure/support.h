/*
 * Checks before the first test of a measurement: whether both ends can do what the command line
 * asks for.
 */
#ifndef MEASURE_SUPPORT_H
#define MEASURE_SUPPORT_H

#include "measure/report.h"

/*
 * Compares the operation and its options with the facts of both ends. Returns 0, or -1 with the
 * reason recorded in the measurement. Main thread.
 */
int support_check(struct measurement *measurement);

/* True if the server lets the threads of a client share a counter. Main thread. */
bool support_shares_counters(const struct measurement *measurement);

#endif
