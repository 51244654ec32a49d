/*
 * `rdma-client diagnose`: climbs a ladder of checks from this host to the other one, rung by rung, until
 * one breaks, and says what is broken, where, and what to do. See docs/diagnosis.md.
 */
#ifndef RDMA_DIAGNOSE_H
#define RDMA_DIAGNOSE_H

#include "lib/options.h"
#include "lib/output.h"

/*
 * Diagnoses what the options name: host and port; the host alone; or, without either, this host. Prints
 * a line for each rung and the verdict, or with --json one document. Returns the exit status. Main
 * thread, which waits here; a signal ends the process.
 */
enum exit_status diagnose(const struct options *options, const struct output *output);

#endif
