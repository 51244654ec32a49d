/*
 * The two ways to connect to a server, by rdmacm and by TCP, and what they share: waiting for
 * events, and recording failures of an attempt. For the files verbs/...dial.c only.
 */
#ifndef VERBS_DIAL_STEPS_H
#define VERBS_DIAL_STEPS_H

#include "verbs/dial.h"

/* One way. Each function returns 0, or -1 with dial->failure recorded. */
struct dial_way {
	const struct bootstrap *bootstrap;

	/*
	 * Makes dial->id on dial->channel, and finds the device and the path to dial->address,
	 * from this source (NULL: any). The caller destroys the id, if there is one.
	 */
	int (*resolve)(struct dial *dial, const struct sockaddr *source, int milliseconds);

	/* Sends the request, whose queue pair exists, and waits for the reply. */
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
