/*
 * An attempt to connect to a server, and what the two ways to do so share, by rdmacm and by TCP:
 * waiting for events, and recording failures. Users include verbs/dial.h, which also documents
 * ownership; the functions here are for the two ways only.
 */
#ifndef VERBS_DIAL_STEPS_H
#define VERBS_DIAL_STEPS_H

#include "base/output.h"
#include "verbs/cm.h"
#include "verbs/path-candidates.h"
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

/* One way. Each function returns 0, or -1 with dial->failure recorded. */
struct dial_way {
	const struct bootstrap *bootstrap;

	/*
	 * Makes dial->id on dial->channel, and finds the device and the path to dial->address,
	 * from this source (NULL: any). The server may still choose the path when the device is
	 * known. The caller destroys the id, if there is one.
	 */
	int (*resolve)(struct dial *dial, const struct sockaddr *source, int milliseconds);

	/* When the path is known, sends the request, whose queue pair exists; awaits the reply. */
	int (*request)(
		struct dial *dial, struct rdma_conn_param *parameters, struct event_copy *reply);
};

/*
 * Waits for this event, until the deadline or stop_fd. Any other relevant event ends the attempt.
 * Returns 0, or -1 with the failure recorded; *copy is the last event, if there was one.
 */
int dial_await(struct dial *dial, enum rdma_cm_event_type wanted, enum phase phase,
	struct event_copy *copy);

/* Records the errno of a call that failed in this phase, with its evidence. Returns -1. */
int dial_failed(struct dial *dial, enum phase phase, const char *call, int error);

/* Records that no time is left. Returns -1. */
int dial_timed_out(struct dial *dial, enum phase phase);

/* Prints a step, if the user wants to see them. */
void dial_show_step(const struct dial *dial, const char *step);

#endif
