/*
 * `rdma-client compare A.json B.json`: reads documents of `bandwidth --json` or `latency --json`,
 * and prints both measurements side by side with the ratio of their results. A file may contain
 * several documents, of runs of the same measurement.
 *
 * Each result has a range: with three runs or more, that of their results; otherwise, what happened
 * within the runs: the worst and the best interval of a bandwidth test, or the minimum and the
 * 90th percentile of a latency test. Results differ by more than noise if their ranges have nothing
 * in common, even if each percentile was rounded by 1/256.
 */
#ifndef MEASURE_COMPARISON_H
#define MEASURE_COMPARISON_H

#include "base/failure.h"
#include "cli/options.h"

/* Compares options->files. Returns the exit status. Main thread. */
enum exit_status comparison_print(const struct options *options, const char *program);

#endif
