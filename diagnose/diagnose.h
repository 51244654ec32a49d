/*
 * `rdma-client diagnose`: climbs a ladder of checks from this host to the other one, rung by rung, until
 * one breaks, and says what is broken, where, and what to do. See docs/diagnosis.md.
 */
#ifndef DIAGNOSE_DIAGNOSE_H
#define DIAGNOSE_DIAGNOSE_H

#include "base/failure.h"
#include "cli/options.h"

/*
 * Diagnoses what the options name: host and port; the host alone; or, without either, this host. Prints
 * what it finds at each rung and the verdict; with --json a document on standard output, too. Returns
 * the exit status, when all lines are written. Main thread, which waits here; a signal ends the process.
 */
enum exit_status diagnose(const struct options *options, const char *program);

#endif
