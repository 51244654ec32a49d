/*
 * State and functions shared by the checks of a diagnosis. diagnose/host-checks.c implements the
 * checks below RDMA, diagnose/manager-check.c that of the local connection manager,
 * diagnose/connection-checks.c those from the connection on, and
 * diagnose/data-checks.c those that move data. Main thread.
 */
#ifndef DIAGNOSE_DIAGNOSIS_H
#define DIAGNOSE_DIAGNOSIS_H

#include "base/output.h"
#include "cli/options.h"
#include "control/client.h"
#include "control/operations.h"
#include "diagnose/address-conflicts.h"
#include "diagnose/check-list.h"
#include "diagnose/reachability.h"
#include "host/counters.h"
#include "host/inventory.h"
#include "host/path-loss.h"
#include "measure/perf-test.h"
#include "verbs/server-addresses.h"

struct diagnosis {
	const struct options *options;
	struct secret *secret; /* NULL if none */
	struct output output;
	struct check_list list;
	struct inventory inventory;
	uint64_t dead_managers; /* bit N: the connection manager of device N of the inventory */
	struct reach_names names;
	struct server_addresses server; /* --source and --device */
	struct reach_route route;
	struct address_conflicts conflicts;    /* who answers for the next hop */
	const struct inventory_device *device; /* used by the route; owned by the inventory */
	const struct inventory_port *port;     /* port of that device */
	struct control_request request;
	struct control control;
	struct tcp_offer our_gids; /* that the ends told each other by TCP; none: they did not */
	struct tcp_path their_gids;
	struct rdma_ib_addr rdmacm_gids; /* of both ends, if rdmacm connected as the other way */
	bool rdmacm_offered;   /* the server says that rdmacm can connect to it at this address */
	bool no_server;        /* nothing listens, and the user named no port */
	struct perf_test test; /* on the client's control connection */
	deadline_t end;        /* soft limit of all checks: see check_deadline() */
	struct facts ours, theirs;
	struct counters our_counters,
		their_counters; /* when connected, and before the data checks */
	uint64_t moved;         /* bytes transferred by the bandwidth check */
	uint64_t round_trip; /* shortest, of a message and its reply, in nanoseconds; 0: unknown */
	bool bottleneck;     /* packets were lost only because a bottleneck's queue overflowed */
	bool lossy;          /* packets are lost even while little data is in flight */
	unsigned int path_mtu;          /* size of the largest IP packet that arrived; 0: unknown */
	uint64_t rate_there, rate_back; /* bytes per second, 0: not measured */
	struct counters counted_here, counted_there;    /* during the diagnosis; empty: unknown */
	struct operation_result operations[OPERATIONS]; /* OPERATION_SKIPPED: not tried */
};

/*
 * One function per check. It records the result in the list and returns 0 if the next check can
 * run, otherwise -1. check_message() and all later functions need the connection that
 * check_connection() sets up; the facts of both ends are available after check_ends().
 */
int check_host(struct diagnosis *diagnosis);
int check_manager(struct diagnosis *diagnosis);
int check_name(struct diagnosis *diagnosis);
int check_route(struct diagnosis *diagnosis);
int check_neighbour(struct diagnosis *diagnosis);
int check_path(struct diagnosis *diagnosis);
int check_connection(struct diagnosis *diagnosis);
int check_message(struct diagnosis *diagnosis);
int check_ends(struct diagnosis *diagnosis);
int check_data(struct diagnosis *diagnosis);
int check_bandwidth(struct diagnosis *diagnosis);
int check_counters(struct diagnosis *diagnosis);
int check_operations(struct diagnosis *diagnosis);
int check_multicast(struct diagnosis *diagnosis);
int check_other_way(struct diagnosis *diagnosis);

/* Time limit of a command in milliseconds; a lost packet adds half a second. */
#define COMMAND_MS 6000

/* Records why a check failed; the format produces the evidence. Returns -1. */
int check_failed(struct diagnosis *diagnosis, enum check check, enum failure_kind kind,
	enum phase phase, int code, const char *format, ...) __attribute__((format(printf, 6, 7)));

/*
 * Counts the errors of the local device since the connection was made, in counted_here. Returns
 * true if they alone show that more packets are missing than from a healthy port.
 */
bool check_count_loss(struct diagnosis *diagnosis, struct path_loss *loss);

/* Replaces a failure that lost packets can cause by their loss, if packets are missing. */
void check_blame_loss(struct diagnosis *diagnosis, struct failure *failure);

/* Records that a check failed because the control connection failed. Returns -1. */
int check_control_failed(struct diagnosis *diagnosis, enum check check);

/*
 * Returns the deadline of a step that is allowed `milliseconds` and takes `least` milliseconds on a
 * healthy link. A step that starts late still gets `least` plus a fixed minimum.
 */
deadline_t check_deadline(const struct diagnosis *diagnosis, int64_t milliseconds, int64_t least);

/* True if both ends report this fact with different values. */
bool check_differs(const struct diagnosis *diagnosis, const char *name);

#endif
