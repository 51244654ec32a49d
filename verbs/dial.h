/*
 * Connecting to a server, the same for an exchange, a diagnosis and a measurement. An attempt
 * resolves one of the server's addresses and the route to it, lets the user make queue pair and
 * memory, asks for the connection and waits for the answer. If an address fails the next one is
 * tried; while the server is full it waits and tries again.
 *
 * All functions block, until the deadline or until stop_fd is readable, which is
 * FAILURE_INTERRUPTED and leaves the descriptor unread. They return 0, or -1 with `failure` set;
 * the failure that counts is the first since a route was found. The thread that owns the struct
 * calls them.
 *
 * Each attempt has an event channel and an id of its own. They belong to the dial until `prepare`
 * is called and to the user from then on, whether it succeeds or not.
 */
#ifndef VERBS_DIAL_H
#define VERBS_DIAL_H

#include "base/output.h"
#include "verbs/cm.h"
#include "verbs/server-addresses.h"

struct dial {
	/* Set by the user. */
	struct server_addresses server;
	const char *peer; /* the server, for sentences */
	const struct output *output;
	bool shows_steps;    /* on standard output; details are shown with --verbose */
	deadline_t deadline; /* of everything */
	int64_t timeout;     /* the option that set it, in milliseconds; 0: none did */
	int stop_fd;         /* -1: none */

	/*
	 * Makes what the connection needs on the id, posts the receives, and sets what
	 * rdma_connect() is to be called with. Returns 0, or -1 with the failure recorded.
	 */
	int (*prepare)(void *user, struct rdma_event_channel *channel, struct rdma_cm_id *id,
		struct rdma_conn_param *parameters, struct failure *failure);
	/* The attempt failed for that reason: frees what prepare() made, the id and the channel. */
	void (*discard)(void *user, const struct failure *reason);
	void *user;

	struct failure failure;
	struct failure refused;         /* by a full server, the last time */
	const struct sockaddr *address; /* of the server, in this attempt */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

/*
 * Connects to the first of the server's addresses that works. *reply is the event with the server's
 * answer. rdma_connect(3).
 */
int dial_server(struct dial *dial, struct event_copy *reply);

/* Makes one attempt, at the address that is being tried. */
int dial_address(struct dial *dial, struct event_copy *reply);

/*
 * The two halves of an attempt. The first asks for that long for the address, from source or, NULL,
 * from any: rdma_resolve_addr(3), rdma_resolve_route(3). The second prepares and connects.
 */
int dial_resolve(struct dial *dial, const struct sockaddr *address, const struct sockaddr *source,
	int milliseconds);
int dial_connect(struct dial *dial, struct event_copy *reply);

/*
 * After a failure. If the server is full and there is time left, shows that, waits a moment and
 * returns true: dial again. Else returns false, with the failure that explains best why there is no
 * connection.
 */
bool dial_wait_for_slot(struct dial *dial);

#endif
