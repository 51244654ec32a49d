/*
 * What the parts of `rdma-client diagnose` share: diagnose/diagnose.c has the rungs below RDMA, and climbs
 * them all; diagnose/connection-checks.c those from the connection on, diagnose/data-checks.c those that move data.
 */
#ifndef DIAGNOSE_CONNECTION_CHECKS_H
#define DIAGNOSE_CONNECTION_CHECKS_H

#include "base/output.h"
#include "cli/options.h"
#include "control/client.h"
#include "diagnose/check-list.h"
#include "diagnose/reachability.h"
#include "host/counters.h"
#include "host/inventory.h"
#include "measure/perf-test.h"
#include "verbs/server-addresses.h"

struct diagnosis {
	const struct options *options;
	struct secret *secret; /* NULL: none */
	struct output output;
	struct check_list list;
	struct inventory inventory;
	struct reach_names names;
	struct server_addresses server; /* --source and --device */
	struct reach_route route;
	const struct inventory_device *device; /* that the route leads through: the inventory's */
	const struct inventory_port *port;     /* and its port */
	struct control_client client;
	struct perf_test test; /* over the client's connection */
	deadline_t end;        /* when it should be over: see check_deadline() */
	struct facts ours, theirs;
	struct counters our_counters, their_counters; /* before */
	uint64_t moved;                               /* bytes of the bandwidth rung */
	/* for programs: see diagnose/report.h */
	unsigned int path_mtu;
	uint64_t rate_there, rate_back;
	struct counters counted_here, counted_there;
};

/* A rung breaks for this reason; the format makes the evidence. Returns -1. */
int check_failed(struct diagnosis *diagnosis, enum check check, enum failure_kind kind,
	enum phase phase, int code, const char *format, ...) __attribute__((format(printf, 6, 7)));

/*
 * One function for each rung: it records in the ladder what was seen, and returns 0 if the climb can go
 * on, or -1. From check_message() on the connection of check_connection() is needed; the facts of both
 * ends are there after check_ends().
 */
int check_connection(struct diagnosis *diagnosis);
int check_message(struct diagnosis *diagnosis);
int check_ends(struct diagnosis *diagnosis);
int check_data(struct diagnosis *diagnosis);
int check_bandwidth(struct diagnosis *diagnosis);
int check_counters(struct diagnosis *diagnosis);

/* How long an order may take, in milliseconds; a lost packet costs half a second. */
#define COMMAND_MS 6000

/* When what may take so long, and takes `least` where all is well, has to be over. */
deadline_t check_deadline(const struct diagnosis *diagnosis, int64_t milliseconds, int64_t least);

/* The probe has met a failure, which breaks this rung. Returns -1. */
int check_control_failed(struct diagnosis *diagnosis, enum check check);

/* True if both ends tell this fact of themselves, and not the same. */
bool check_differs(const struct diagnosis *diagnosis, const char *name);

#endif
