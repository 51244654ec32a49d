/*
 * `rdma-client bandwidth` and `latency`: measures WRITEs or READs from memory to memory between
 * this host and an rdma-server, which needs no options for this. See docs/performance.md.
 */
#ifndef MEASURE_MEASURE_H
#define MEASURE_MEASURE_H

#include "base/failure.h"
#include "cli/options.h"

/*
 * Runs the requested measurement and prints a table or, with --json or --csv, only that on standard
 * output.
 * Returns the exit status once all lines have been written. Main thread, which blocks here.
 */
enum exit_status measure_server(const struct options *options, const char *program);

#endif
