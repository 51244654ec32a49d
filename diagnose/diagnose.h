/*
 * `rdma-client diagnose`: runs checks from this host to the other until one fails, then reports
 * what is broken, on which side, and what to do. See docs/diagnosis.md.
 */
#ifndef DIAGNOSE_DIAGNOSE_H
#define DIAGNOSE_DIAGNOSE_H

#include "base/failure.h"
#include "cli/options.h"

/*
 * Diagnoses the given host and port, the host alone or, if neither is given, this host. Prints the
 * result of each check and the verdict; with --json, also writes a document to standard output.
 * Returns the exit status once all output has been written. Main thread, which blocks here; a
 * signal terminates the process.
 */
enum exit_status diagnose(const struct options *options, const char *program);

#endif
