/*
 * What the two halves of `rdma-client diagnose` share: rdma-diagnose.c has the rungs below RDMA, and
 * climbs them all; rdma-climb.c those that need it.
 */
#ifndef RDMA_CLIMB_H
#define RDMA_CLIMB_H

#include "lib/counters.h"
#include "lib/inventory.h"
#include "lib/ladder.h"
#include "lib/options.h"
#include "lib/output.h"
#include "lib/reach.h"
#include "rdma-probe.h"

struct diagnosis {
	const struct options *options;
	struct output output;
	struct ladder ladder;
	struct inventory inventory;
	struct reach_names names;
	struct reach_route route;
	const char *device; /* that the route leads through: the inventory's */
	struct probe probe;
	bool open;      /* the probe */
	deadline_t end; /* when it should be over: see LEAST_MS in rdma-climb.c */
	uint32_t orders;
	struct facts ours, theirs;
	struct counters our_counters, their_counters; /* before */
	uint64_t moved;                               /* bytes of the bandwidth rung */
};

/* A rung breaks for this reason; the format makes the evidence. Returns -1. */
int climb_broken(struct diagnosis *diagnosis, enum rung rung, enum failure_kind kind,
	enum phase phase, int code, const char *format, ...) __attribute__((format(printf, 6, 7)));

/*
 * One function for each rung: it records in the ladder what was seen, and returns 0 if the climb can go
 * on, or -1. From climb_message() on the connection of climb_connection() is needed; the facts of both
 * ends are there after climb_ends().
 */
int climb_connection(struct diagnosis *diagnosis);
int climb_message(struct diagnosis *diagnosis);
int climb_ends(struct diagnosis *diagnosis);
int climb_data(struct diagnosis *diagnosis);
int climb_bandwidth(struct diagnosis *diagnosis);
int climb_counters(struct diagnosis *diagnosis);

#endif
