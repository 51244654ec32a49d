/*
 * The results of a mesh in the text format of Prometheus, for the textfile collector of its node
 * exporter: a few figures of each host and rail, and the numbers of directions by their state. Main
 * thread.
 */
#ifndef MESH_METRICS_H
#define MESH_METRICS_H

#include "mesh/judgement.h"

/*
 * Writes the file: under another name first, so that a collector never sees a part of it. Returns 0
 * or -errno.
 */
int metrics_write(const struct judgement *judgement, const char *path);

#endif
