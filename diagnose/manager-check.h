/*
 * The check of this host's own connection manager: diagnose/manager-check.c. Here is its decision,
 * which any thread may make.
 */
#ifndef DIAGNOSE_MANAGER_CHECK_H
#define DIAGNOSE_MANAGER_CHECK_H

#include <stdbool.h>
#include <stdint.h>

struct diagnosis;

enum manager_state {
	MANAGER_SILENT = 0, /* no answer so far, which proves nothing */
	MANAGER_DEAD,       /* the requests do not even reach the device */
	MANAGER_UNKNOWN,    /* the requests may have arrived, but no answer came */
	MANAGER_ANSWERS,
};

/* The requests to one device so far. Begin with zeros. */
struct manager_record {
	unsigned int requests; /* without an answer */
	unsigned int lost;     /* the last requests during which the device received no packet */
};

/*
 * Records a request: whether an answer came in time and, if not, how many packets the device
 * received meanwhile; `counted` is false if it does not count them. A device whose queue pair 1 is
 * dead drops the request; a busy host may answer late, but the device receives the request when it
 * is sent, since it is its own.
 */
enum manager_state manager_record(
	struct manager_record *record, bool answered, bool counted, uint64_t received);

/*
 * Judges the dead managers that were found: they are a failure if the diagnosis has no other active
 * device, and otherwise a warning. Returns 0 if the diagnosis can continue.
 */
int manager_judge_dead(struct diagnosis *diagnosis);

/*
 * Records the failure of the route check if the manager of the route's device is dead. Returns 0 if
 * it is not.
 */
int manager_check_route(struct diagnosis *diagnosis);

#endif
