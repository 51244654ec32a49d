/*
 * What differs between the hosts of a mesh: their devices, firmware, rates and MTUs. Main thread.
 */
#ifndef MESH_DIFFERENCES_H
#define MESH_DIFFERENCES_H

#include "mesh/coordinator.h"

/*
 * Calls `print` with a line for each fact in which hosts or their devices of a rail differ:
 * "interface MTU differs: h3 has 1500; 7 hosts have 9000", of several rails "mlx5_2: interface MTU
 * differs: ...".
 */
void differences_print(const struct coordinator *coordinator,
	void (*print)(void *context, const char *line), void *context);

#endif
