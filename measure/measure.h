/*
 * `rdma-client bandwidth` and `latency`: measures WRITEs or READs from memory to memory between
 * this host and an rdma-server, which needs no option for it. See docs/performance.md.
 */
#ifndef MEASURE_MEASURE_H
#define MEASURE_MEASURE_H

#include "base/failure.h"
#include "cli/options.h"

/*
 * Measures what the options ask for and prints a table, or with --json a document on standard
 * output. Returns the exit status once all lines are written. Blocks the main thread.
 */
enum exit_status measure_server(const struct options *options, const char *program);

#endif
