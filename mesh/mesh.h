/*
 * `rdma-client mesh`: measures all pairs of many hosts, and names what is bad. See docs/fleet.md.
 * Main thread.
 */
#ifndef MESH_MESH_H
#define MESH_MESH_H

#include "base/failure.h"
#include "cli/options.h"

/*
 * Runs the mesh and prints the results. *signal: the signal that ended it, otherwise 0. Returns the
 * exit status.
 */
enum exit_status mesh_run(const struct options *options, const char *program, int *signal);

#endif
