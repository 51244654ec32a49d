/* See verbs/dial-steps.h. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "host/readiness.h"
#include "verbs/channel.h"
#include "verbs/dial-steps.h"
#include "verbs/resource-limit.h"

/*
 * With a --timeout below this number of milliseconds, a timeout shows only that it was too short.
 */
#define SHORT_TIMEOUT_MS 1000

/* Records the errno of a call that failed in this phase, with its evidence. */
int dial_failed(struct dial *dial, enum phase phase, const char *call, int error)
{
	char evidence[sizeof(dial->failure.evidence)];
	enum readiness lacking;

	/* Only the first failure is kept: no evidence is collected for later failures. */
	if (failure_is_set(&dial->failure) ||
		resource_limit_is_reached(NULL, phase, call, error, &dial->failure))
		return -1;
	/* What soft-RoCE reports of a loopback address. Software iWARP: EINVAL. */
	if (error == EINVAL && phase == PHASE_ADDRESS && address_is_loopback(dial->address)) {
		phase = PHASE_ROUTE;
		error = ENODEV;
	}
	if (error == ENODEV && phase == PHASE_ADDRESS) {
		lacking = readiness_of_support("", dial->server.device, evidence, sizeof(evidence));
		if (lacking != HOST_READY)
			return failure_set(&dial->failure, FAILURE_HOST, phase, (int)lacking, call,
				"%s", evidence);
	}
	server_addresses_evidence(&dial->server, dial->address, error, evidence, sizeof(evidence));
	return failure_set(&dial->failure, FAILURE_ERRNO, phase, error, call, "%s", evidence);
}

int dial_timed_out(struct dial *dial, enum phase phase)
{
	if (dial->timeout == 0)
		return failure_set(
			&dial->failure, FAILURE_DEADLINE, phase, CODE_DIAGNOSIS, "poll", "");
	return failure_set(&dial->failure, FAILURE_DEADLINE, phase,
		dial->timeout < SHORT_TIMEOUT_MS ? CODE_SHORT_TIMEOUT : ETIMEDOUT, "--timeout",
		"no answer within %g s", (double)dial->timeout / 1000);
}

/* A signal takes precedence over the failure of an earlier address. */
static int interrupted(struct dial *dial, enum phase phase)
{
	dial->failure = (struct failure){0};
	return failure_set(&dial->failure, FAILURE_INTERRUPTED, phase, EINTR, "signal", "");
}

static int event_failed(struct dial *dial, const struct rdma_cm_event *event, enum phase phase)
{
	const struct failure *known = dial->bootstrap->failure(dial->id);

	if (known && !failure_is_set(&dial->failure)) {
		dial->failure = *known;
		return -1;
	}
	if (event->event == RDMA_CM_EVENT_ADDR_ERROR || event->event == RDMA_CM_EVENT_ROUTE_ERROR)
		return dial_failed(dial, phase, rdma_event_str(event->event), abs(event->status));
	if (!failure_is_set(&dial->failure))
		failure_from_event(&dial->failure, event, phase);
	return -1;
}

/* Waits for this event. Any other relevant event ends the attempt. */
int dial_await(struct dial *dial, enum rdma_cm_event_type wanted, enum phase phase,
	struct event_copy *copy)
{
	struct pollfd waiting[] = {
		{.fd = dial->channel->fd, .events = POLLIN},
		{.fd = dial->stop_fd, .events = POLLIN},
	};
	const struct rdma_cm_event *event = &copy->event;
	int taken;

	for (;;) {
		if (poll(waiting, 2, deadline_left(dial->deadline)) == 0)
			return dial_timed_out(dial, phase);
		if (waiting[1].revents)
			return interrupted(dial, phase);
		taken = channel_take(dial->channel, copy);
		if (taken < 0)
			return dial_failed(dial, phase, "rdma_get_cm_event", -taken);
		if (taken == 0)
			continue;
		output_detail(
			dial->output, "%s, status %d", rdma_event_str(event->event), event->status);
		if (event->event == wanted)
			return 0;
		/* A bonded interface failed over; the path is unchanged. */
		if (event->event != RDMA_CM_EVENT_ADDR_CHANGE)
			return event_failed(dial, event, phase);
	}
}

void dial_show_step(const struct dial *dial, const char *step)
{
	if (dial->shows_steps)
		output_step(dial->output, NULL, "%s", step);
}
