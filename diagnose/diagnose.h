/*
 * `rdma-client diagnose`: carries out checks from this host to the other one until one fails, and
 * says what is broken, where, and what to do. See docs/diagnosis.md.
 */
#ifndef DIAGNOSE_DIAGNOSE_H
#define DIAGNOSE_DIAGNOSE_H

#include "base/failure.h"
#include "cli/options.h"

/*
 * Diagnoses host and port of the options; the host alone; or, without either, this host. Prints
 * what each check finds, and the verdict; with --json also a document on standard output. Returns
 * the exit status, when all lines are written. Main thread, which waits here; a signal ends the
 * process.
 */
enum exit_status diagnose(const struct options *options, const char *program);

#endif
