/* What an agent reports of its host: the RDMA port that the mesh measures. Main thread. */
#ifndef MESH_AGENT_FACTS_H
#define MESH_AGENT_FACTS_H

#include <stddef.h>

#include "host/facts.h"

#define AGENT_PROBLEM_SIZE 512

/*
 * Collects the facts of the named device or, if it is NULL, of the first with an active port. If
 * the host is not ready for RDMA, describes the reason in problem; otherwise that is "".
 */
void agent_facts(const char *device, struct facts *facts, char problem[AGENT_PROBLEM_SIZE]);

#endif
