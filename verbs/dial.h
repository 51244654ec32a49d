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

#include "base/output.h"
#include "verbs/bootstrap.h"
#include "verbs/cm.h"
#include "verbs/path-choice.h"
#include "verbs/server-addresses.h"

struct dial {
	/* Set by the user. */
	struct server_addresses server;
	const char *peer; /* the server's name in messages */
	const struct output *output;
	bool shows_steps;    /* print steps on standard output; --verbose prints details */
	deadline_t deadline; /* for all attempts together */
	int64_t timeout;     /* of the option that set the deadline, in milliseconds; 0: none */
	int stop_fd;         /* -1: none */
	int dscp;            /* id_set_dscp() */
	const struct path_settings *path; /* to connect by TCP; NULL: by rdmacm */
	bool watches;                     /* for the reply, from the start: verbs/reply-watch.h */

	/*
	 * Creates the connection's objects on the id, posts the receives, and sets the parameters
	 * of rdma_connect(). Returns 0, or -1 with the failure recorded.
	 */
	int (*prepare)(void *user, struct cm_channel *channel, struct rdma_cm_id *id,
		struct rdma_conn_param *parameters, struct failure *failure);
	/* Called if the attempt failed: frees prepare()'s objects, the id and the channel. */
	void (*discard)(void *user, const struct failure *reason);
	void *user;

	const struct bootstrap *bootstrap;
	struct failure failure;
	struct failure refused;         /* the last refusal by a full server */
	const struct sockaddr *address; /* the server address of this attempt */
	struct cm_channel *channel;
	struct rdma_cm_id *id;
};

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
