/*
 * Which rails a mesh has: the devices that can be used at all hosts that are ready, or those of
 * --device; with --cross-rail also each pair of different ones. Main thread.
 */
#ifndef MESH_RAILS_H
#define MESH_RAILS_H

#include "mesh/coordinator.h"

struct rails {
	struct mesh_rail *list;
	unsigned int count;
};

/*
 * Chooses the rails, once all agents are ready or cannot be; rails_free() frees them. Unless
 * --device names some, a device that is not the same at all hosts is left out; if there is no other
 * one, the only rail is of any device, as the routes lead. Returns 0 or -ENOMEM.
 */
int rails_choose(struct rails *rails, const struct coordinator *coordinator);
void rails_free(struct rails *rails);

/*
 * Calls `print` with a line for each device that is left out, with the hosts that are the reason:
 * "mlx5_3 is left out: h3: it has no such device".
 */
void rails_print_left_out(const struct rails *rails, const struct coordinator *coordinator,
	void (*print)(void *context, const char *line), void *context);

#endif
