/* Asks the servers of this host what they are doing: `rdma-server status`. Main thread. */
#ifndef SERVE_STATUS_QUERY_H
#define SERVE_STATUS_QUERY_H

#include "base/failure.h"
#include "base/output.h"
#include "cli/options.h"

/*
 * Asks the servers in this network namespace that listen on options->port, or all if it is 0, and
 * prints their answers as text or, with --json, as a document. Returns STATUS_OK; STATUS_CONNECT if
 * there is no server; STATUS_FAILED if one does not answer. unix(7), proc(5).
 */
enum exit_status status_query(const struct options *options, const struct output *output);

#endif
