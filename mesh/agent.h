/*
 * `rdma-client mesh-agent`: one host of a mesh. It connects to the coordinator, proves the token,
 * starts an rdma-server, and runs the tests that the coordinator asks for. It ends when the
 * coordinator does: at the end of the connection, or if nothing has arrived for a while. Main
 * thread.
 */
#ifndef MESH_AGENT_H
#define MESH_AGENT_H

#include "base/failure.h"
#include "cli/options.h"

/*
 * Runs until the coordinator ends it. *signal: the signal that ended it, otherwise 0. Returns the
 * exit status.
 */
enum exit_status mesh_agent(const struct options *options, const char *program, int *signal);

#endif
