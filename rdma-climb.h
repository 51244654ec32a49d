/*
 * What the parts of `rdma-client diagnose` share: rdma-diagnose.c has the rungs below RDMA, and climbs
 * them all; rdma-climb.c those from the connection on, rdma-move.c those that move data.
 */
#ifndef RDMA_CLIMB_H
#define RDMA_CLIMB_H

#include "lib/counters.h"
#include "lib/inventory.h"
#include "lib/ladder.h"
#include "lib/options.h"
#include "lib/output.h"
#include "lib/reach.h"
#include "rdma-ask.h"

struct diagnosis {
	const struct options *options;
	struct secret *secret; /* NULL: none */
	struct output output;
	struct ladder ladder;
	struct inventory inventory;
	struct reach_names names;
	struct addrinfo *sources; /* what --source names */
	struct reach_route route;
	const struct inventory_device *device; /* that the route leads through: the inventory's */
	const struct inventory_port *port;     /* and its port */
	struct ask ask;
	deadline_t end; /* when it should be over: see climb_until() */
	struct facts ours, theirs;
	struct counters our_counters, their_counters; /* before */
	uint64_t moved;                               /* bytes of the bandwidth rung */
	/* for programs: see lib/findings.h */
	unsigned int path_mtu;
	uint64_t rate_there, rate_back;
	struct counters counted_here, counted_there;
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

/* How long an order may take, in milliseconds; a lost packet costs half a second. */
#define CLIMB_ORDER_MS 6000

/* When what may take so long, and takes `least` where all is well, has to be over. */
deadline_t climb_until(const struct diagnosis *diagnosis, int64_t milliseconds, int64_t least);

/* Gives an order and waits for its answer. Returns 0, or -1 with the probe's failure recorded. */
int climb_order(struct diagnosis *diagnosis, struct order *order, struct order *answer);

/* The probe has met a failure, which breaks this rung. Returns -1. */
int climb_probe_broke(struct diagnosis *diagnosis, enum rung rung);

/* True if both ends tell this fact of themselves, and not the same. */
bool climb_differs(const struct diagnosis *diagnosis, const char *name);

#endif
