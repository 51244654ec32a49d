/*
 * Starts the agents of a mesh through a program that the site has: ssh for each host, or one srun,
 * clush, pdsh or mpirun for all. The token goes to the standard input of each agent; with pdsh,
 * which has none, through a file in memory that only this user may read; with mpirun, which has it
 * for one process only, through an environment variable. Main thread.
 */
#ifndef MESH_LAUNCHER_H
#define MESH_LAUNCHER_H

#include "cli/options.h"
#include "mesh/child.h"
#include "mesh/host-list.h"

/* How agents reach the coordinator. */
struct rendezvous {
	uint16_t port;
	char (*addresses)[64];
	unsigned int count;
	const char *token;
};

struct launcher {
	const struct launcher_row *row;
	struct child *children;
	unsigned int count;
	int kept[2]; /* with pdsh: files in memory with the token, and with a script */
	unsigned int kept_count;
};

/* The name of a way to start agents: "ssh". */
const char *launcher_name(const struct launcher *launcher);

/*
 * Chooses --via or, without it, srun inside a Slurm job, else the first of clush, pdsh and ssh that
 * is installed; and starts it. Returns 0, or -1 with the reason in why. In either case,
 * launcher_end() follows.
 */
int launcher_start(struct launcher *launcher, const struct options *options,
	const struct host_list *hosts, const struct rendezvous *rendezvous,
	char why[MESH_REASON_SIZE]);

/* Adds at most 2 descriptors for each child to an array of this size. Returns their number. */
size_t launcher_poll(
	const struct launcher *launcher, struct pollfd *polled, size_t size, int *milliseconds);

/* Takes note of programs that have ended. Returns true if one has, since the last call. */
bool launcher_check(struct launcher *launcher);

/*
 * True if the program that starts the agent of this host has ended, so that none will come. why is
 * a line that it printed, about the host with this name if there is one, or "".
 */
bool launcher_has_ended(const struct launcher *launcher, unsigned int host, const char *name,
	char why[MESH_REASON_SIZE]);

/* True if any of the programs runs. */
bool launcher_runs(const struct launcher *launcher);

/* Ends all programs, after a moment in which they may end by themselves, and frees everything. */
void launcher_end(struct launcher *launcher);

#endif
