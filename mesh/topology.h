/*
 * The groups of hosts of a mesh: those below the same leaf switch, from a file in the format of
 * Slurm's topology.conf(5). Main thread.
 */
#ifndef MESH_TOPOLOGY_H
#define MESH_TOPOLOGY_H

#include "mesh/host-list.h"

struct topology {
	char (*names)[MESH_NAME_SIZE]; /* of the groups */
	unsigned int count;
	unsigned int *groups; /* of each host; NULL: no groups are known */
};

/*
 * Reads the lines of the file that have both SwitchName=NAME and Nodes=HOSTS; others, such as those
 * of switches above them, are ignored. A host without a switch is a group of its own. Returns 0, or
 * -1 with the reason in why. topology_free() follows in either case.
 */
int topology_read(struct topology *topology, const char *path, const struct host_list *hosts,
	char why[MESH_REASON_SIZE]);

void topology_free(struct topology *topology);

#endif
