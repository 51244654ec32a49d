/* How a probe waits: for rdmacm events and for completions, and what it makes of those that tell of failure. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/explain.h"
#include "control/wait.h"

/* How long a connection may outlive the memory of a program that ends, in milliseconds. */
#define GOODBYE_MS 2000

int probe_call_failed(struct probe *probe, enum phase phase, const char *call, int error)
{
	return failure_set(
		&probe->failure, FAILURE_ERRNO, phase, error, call, "%s", strerror(error));
}

/* An event that was not wanted has come in this phase. */
static void take_failure(struct probe *probe, const struct rdma_cm_event *event, enum phase phase)
{
	if (failure_is_set(&probe->failure))
		return;
	failure_from_event(&probe->failure, event, phase, probe->peer);
	if (probe->failure.kind == FAILURE_GONE)
		probe->failure.code = CODE_DIAGNOSIS;
}

/* Takes rdmacm events that nobody awaits. Returns 0, or -1 if one of them ends the connection. */
static int take_events(struct probe *probe)
{
	struct rdma_cm_event *event;
	int error;

	while ((event = channel_event(probe->events, &error))) {
		if (event->event == RDMA_CM_EVENT_DISCONNECTED)
			probe->disconnected = true;
		if (event->event != RDMA_CM_EVENT_TIMEWAIT_EXIT &&
			event->event != RDMA_CM_EVENT_ADDR_CHANGE &&
			event->event != RDMA_CM_EVENT_ESTABLISHED)
			take_failure(probe, event, PHASE_EXCHANGE);
		rdma_ack_cm_event(event);
	}
	if (error)
		probe_call_failed(probe, PHASE_EXCHANGE, "rdma_get_cm_event", -error);
	return failure_is_set(&probe->failure) ? -1 : 0;
}

/* Waits for something to happen. Returns 0, or -1 if nothing did, or it is time to stop. */
static int await(struct probe *probe, enum phase phase, deadline_t deadline)
{
	struct pollfd waiting[] = {
		{.fd = probe->events->fd, .events = POLLIN},
		{.fd = probe->stop_fd, .events = POLLIN},
		{.fd = probe->channel ? probe->channel->fd : -1, .events = POLLIN},
	};

	if (poll(waiting, 3, deadline_left(deadline)) == 0)
		return failure_set(
			&probe->failure, FAILURE_DEADLINE, phase, CODE_DIAGNOSIS, "poll", "");
	if (waiting[1].revents)
		return failure_set(
			&probe->failure, FAILURE_INTERRUPTED, phase, ECANCELED, "stop", "");
	return 0;
}

int probe_await_event(struct probe *probe, enum rdma_cm_event_type wanted, enum phase phase,
	deadline_t deadline, struct event_copy *copy)
{
	struct rdma_cm_event *event;
	bool here = false;
	int error;

	while (!here) {
		event = channel_event(probe->events, &error);
		if (error)
			return probe_call_failed(probe, phase, "rdma_get_cm_event", -error);
		if (!event && await(probe, phase, deadline))
			return -1;
		if (!event)
			continue;
		here = event->event == wanted;
		if (here && copy)
			channel_copy(copy, event);
		else if (!here)
			take_failure(probe, event, phase);
		rdma_ack_cm_event(event);
		if (!here)
			return -1;
	}
	return 0;
}

void probe_take_cq_events(struct probe *probe)
{
	struct ibv_cq *cq;
	void *context;

	while (ibv_get_cq_event(probe->channel, &cq, &context) == 0) {
		((struct probe_queue *)context)->armed = false;
		ibv_ack_cq_events(cq, 1);
	}
}

static int arm(struct probe *probe, struct probe_queue *queue)
{
	queue->armed = ibv_req_notify_cq(queue->cq, 0) == 0;
	return queue->armed ? 0
			    : probe_call_failed(probe, PHASE_EXCHANGE, "ibv_req_notify_cq", EIO);
}

/*
 * The other side's device has refused something. When a program ends, its memory goes before its
 * connection: a disconnect that follows at once is the cause. Returns -1 if there was one.
 */
static int await_goodbye(struct probe *probe, enum ibv_wc_status refusal)
{
	struct pollfd waiting = {.fd = probe->events->fd, .events = POLLIN};
	deadline_t deadline = deadline_in(GOODBYE_MS);
	struct failure *failure = &probe->failure;
	size_t used;

	while (!failure_is_set(failure) && poll(&waiting, 1, deadline_left(deadline)) > 0)
		take_events(probe);
	if (!failure_is_set(failure))
		return 0;
	used = strlen(failure->evidence);
	snprintf(failure->evidence + used, sizeof(failure->evidence) - used, " after %s",
		explain_name(FAILURE_COMPLETION, (int)refusal));
	return -1;
}

static bool is_refusal(enum ibv_wc_status status)
{
	return status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR ||
	       status == IBV_WC_REM_OP_ERR;
}

int probe_broke(
	struct probe *probe, const struct probe_queue *queue, const struct ibv_wc *completion)
{
	enum ibv_wc_status status = completion->status;

	/* Soft-RoCE's word for a message that is longer than the receive, which others call a length. */
	if (queue == &probe->receives && status == IBV_WC_LOC_QP_OP_ERR)
		status = IBV_WC_LOC_LEN_ERR;
	/* A flush is an effect: rdmacm may know more. */
	if (status == IBV_WC_WR_FLUSH_ERR && take_events(probe))
		return -1;
	if (is_refusal(status) && await_goodbye(probe, status))
		return -1;
	return failure_set(&probe->failure, FAILURE_COMPLETION, PHASE_EXCHANGE, (int)status,
		"ibv_poll_cq", "");
}

int probe_look(struct probe *probe)
{
	struct pollfd stop = {.fd = probe->stop_fd, .events = POLLIN};

	if (poll(&stop, 1, 0) > 0)
		return failure_set(&probe->failure, FAILURE_INTERRUPTED, PHASE_EXCHANGE, ECANCELED,
			"stop", "");
	return take_events(probe);
}

int probe_idle(struct probe *probe, deadline_t deadline)
{
	if (!probe->sends.armed || !probe->receives.armed)
		return (!probe->sends.armed && arm(probe, &probe->sends)) ||
				       (!probe->receives.armed && arm(probe, &probe->receives))
			       ? -1
			       : 0;
	if (await(probe, PHASE_EXCHANGE, deadline) || take_events(probe))
		return -1;
	probe_take_cq_events(probe);
	return 0;
}

int probe_await_completion(struct probe *probe, struct probe_queue *queue,
	struct ibv_wc *completion, deadline_t deadline)
{
	int count;

	while ((count = ibv_poll_cq(queue->cq, 1, completion)) == 0) {
		/* What came before the arming raises no event: so it is polled once more. */
		if (!queue->armed) {
			if (arm(probe, queue))
				return -1;
			continue;
		}
		if (await(probe, PHASE_EXCHANGE, deadline) || take_events(probe))
			return -1;
		probe_take_cq_events(probe);
	}
	if (count < 0)
		return probe_call_failed(probe, PHASE_EXCHANGE, "ibv_poll_cq", EIO);
	return completion->status == IBV_WC_SUCCESS ? 0 : probe_broke(probe, queue, completion);
}
