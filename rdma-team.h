/*
 * The client's threads of a measurement. Each has a connection to the server of its own, with its queue
 * pairs, and does there what it would do alone; they begin and end a run together, and what they have
 * done is added up. The first one is the caller's thread, and mostly the only one.
 *
 * The main thread calls all functions. They return 0, or -1 with the team's failure recorded.
 */
#ifndef RDMA_TEAM_H
#define RDMA_TEAM_H

#include "lib/measurement.h"
#include "rdma-ask.h"
#include "rdma-bench.h"
#include "rdma-way.h"

/* One thread, and its connection. */
struct member {
	struct team *team;
	struct ask ask;
	struct bench bench;
	pthread_t thread;
	int processor; /* that it stays on, -1: any */

	/* Of the run. */
	struct latency *latency;
	struct tally ours, theirs;
	int result;
};

struct team {
	const struct options *options;
	const struct output *output;
	uint32_t depth; /* the most operations under way on a queue pair */
	struct secret
		*secret; /* the caller's, who sets it before the threads connect; NULL: none */
	int signals;     /* what ends everything when it is readable; -1: not yet opened */
	struct way way;
	bool told_full; /* the user knows that there is no place */
	struct member members[OPTIONS_THREADS_MAX];
	uint64_t runs;
	struct course course;
	struct member *failed;  /* in the run, before the others */
	struct failure failure; /* the first */
};

/* Options and output outlive the team. */
void team_init(struct team *team, const struct options *options, const struct output *output,
	uint32_t depth);

/* Connects each thread, at the same of the server's addresses; as long as it has no place for all, anew. */
int team_connect(struct team *team);

/* Makes memory and queue pairs at both ends, for the options' largest size. */
int team_prepare(struct team *team);

/*
 * Carries out a plan, at both ends, by all threads. *measured gets what they have done, and *latency,
 * which only a latency's plan needs, how long it took; the first thread measures that.
 */
int team_run(struct team *team, const struct plan *plan, struct measured *measured,
	struct latency *latency);

/* The first connection, for orders between the runs; and the failure of one was that of all. */
struct ask *team_ask(struct team *team);
int team_failed(struct team *team, const struct ask *ask);

/* Bytes of memory that an end of each connection has, for either direction. */
size_t team_memory(const struct team *team);

/* How long a silence is borne, from now on. */
deadline_t team_patience(const struct team *team);

/* Whether the device knows neither immediate data nor queue pairs that rdmacm has not connected. */
bool team_is_iwarp(const struct team *team);

void team_close(struct team *team);

#endif
