/*
 * What differs between the hosts of a mesh: their devices, firmware, rates and MTUs. Main thread.
 */
#ifndef MESH_DIFFERENCES_H
#define MESH_DIFFERENCES_H

#include "mesh/coordinator.h"

/*
 * Calls `print` with a line for each fact in which hosts differ: "interface MTU: h3 has 1500, the
 * others 9000", or without a majority "firmware: h1 has 20.1, h2 has 20.2".
 */
void differences_print(const struct coordinator *coordinator,
	void (*print)(void *context, const char *line), void *context);

#endif
