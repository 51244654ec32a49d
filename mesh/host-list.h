/*
 * The hosts of a mesh: --hosts, --hosts-file, or those of the Slurm job. Ranges such as h[1-64] are
 * expanded by `scontrol show hostnames` or `nodeset -e`, whichever is installed, and otherwise
 * here. Main thread.
 */
#ifndef MESH_HOST_LIST_H
#define MESH_HOST_LIST_H

#include "cli/options.h"
#include "mesh/limits.h"
#include "mesh/schedule.h"

struct host_list {
	char (*names)[MESH_NAME_SIZE];
	unsigned int count;
};

/*
 * Reads the list, which host_list_free() frees. Returns 0, or -1 with the reason in why. A list has
 * at least 2 and at most MESH_HOSTS_MAX hosts, each once.
 */
int host_list_read(
	const struct options *options, struct host_list *list, char why[MESH_REASON_SIZE]);

/* Expands one text, as host_list_read() does without another program, and appends its hosts. */
int host_list_expand(struct host_list *list, const char *text, char why[MESH_REASON_SIZE]);

void host_list_free(struct host_list *list);

/* Returns the position of the host with this name, or of which it is the first label; -1: none. */
int host_list_find(const struct host_list *list, const char *name);

#endif
