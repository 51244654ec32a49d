/*
 * Connects to a server, for exchanges, diagnoses and measurements. An attempt resolves one of the
 * server's addresses and the route to it, lets the user create the queue pair and memory, sends the
 * connection request and waits for the reply. If an address fails, the next one is tried; while the
 * server is full, the connection is retried.
 *
 * All functions block until the deadline or until stop_fd is readable, which is reported as
 * FAILURE_INTERRUPTED without reading the descriptor. They return 0, or -1 with `failure` set to
 * the first failure since a route was found. Only the thread that owns the struct may call them.
 *
 * Each attempt has its own event channel and id. They belong to the dial until it calls `prepare`,
 * and to the user from then on, whether or not `prepare` succeeds.
 */
#ifndef VERBS_DIAL_H
#define VERBS_DIAL_H

#include "verbs/dial-steps.h"

/*
 * Connects to the first server address that works. *reply receives the event with the server's
 * reply. rdma_connect(3).
 */
int dial_server(struct dial *dial, struct event_copy *reply);

/* Makes one attempt, at the current address. */
int dial_address(struct dial *dial, struct event_copy *reply);

/*
 * The two halves of an attempt. The first resolves the address, within this many milliseconds and
 * from source (NULL: any), and then the route, as the bootstrap does. The second prepares and
 * connects.
 */
int dial_resolve(struct dial *dial, const struct sockaddr *address, const struct sockaddr *source,
	int milliseconds);
int dial_connect(struct dial *dial, struct event_copy *reply);

/*
 * Call this after a failure. If the server is full and time is left, reports that, waits briefly
 * and returns true: the caller then dials again. Otherwise returns false and sets `failure` to the
 * most informative failure.
 */
bool dial_wait_for_slot(struct dial *dial);

#endif
