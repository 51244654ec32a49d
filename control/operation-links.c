/* Connections of a diagnosis's operations by rdmacm: see control/operation-links.h. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/address.h"
#include "control/operation-links.h"
#include "protocol/little-endian.h"
#include "protocol/secret.h"
#include "verbs/channel.h"
#include "verbs/endpoint.h"
#include "verbs/timed-connect.h"

/* Connection requests that may wait for the session's thread: one for each queue pair. */
#define BACKLOG OPERATION_QUEUES

/* Private data of a request: the number, then the queue pair. */
#define REQUEST_SIZE 8

/* Events that are taken before the next look at the deadline, which strangers cannot delay. */
#define EVENTS_AT_ONCE 16

/* How often to look if the control connection has ended, in milliseconds. */
#define LOOK_MS 100

static int open_channel(struct operation_links *links)
{
	return links->channel ? 0 : channel_create(CHANNEL_RDMACM, &links->channel);
}

/* READs in both directions: on iWARP, rdmacm swaps the two in the server's reply. */
static struct rdma_conn_param parameters_with(const uint8_t request[REQUEST_SIZE], size_t size)
{
	return (struct rdma_conn_param){.responder_resources = 1,
		.initiator_depth = 1,
		.private_data = request,
		.private_data_len = (uint8_t)size};
}

/* The queue pair that a request is for, or OPERATION_QUEUES if it is none of ours. */
static enum operation_queue requested_queue(
	const struct operation_links *links, const struct rdma_conn_param *said, uint32_t queues)
{
	const uint8_t *request = said->private_data;
	uint32_t queue;

	if (!request || said->private_data_len < REQUEST_SIZE)
		return OPERATION_QUEUES;
	queue = le_get32(request + 4);
	return queue < OPERATION_QUEUES && (queues & UINT32_C(1) << queue) &&
			       links->states[queue] == LINK_NONE &&
			       le_get32(request) == links->numbers[queue]
		       ? queue
		       : OPERATION_QUEUES;
}

/* Accepts a request for one of our queue pairs, and rejects any other. */
static void take_request(
	struct operation_links *links, const struct rdma_cm_event *event, uint32_t queues)
{
	const enum operation_queue queue = requested_queue(links, &event->param.conn, queues);
	struct rdma_conn_param parameters = parameters_with(NULL, 0);

	if (queue == OPERATION_QUEUES) {
		rdma_reject(event->id, NULL, 0);
		rdma_destroy_id(event->id);
		return;
	}
	links->ids[queue] = event->id;
	links->states[queue] = LINK_REQUESTED;
	if (links->create(links->user, queue, event->id) || rdma_accept(event->id, &parameters))
		links->states[queue] = LINK_FAILED;
}

static enum operation_link_state state_after(enum rdma_cm_event_type event)
{
	switch (event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return LINK_RESOLVED;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return LINK_ROUTED;
	case RDMA_CM_EVENT_ESTABLISHED:
		return LINK_ESTABLISHED;
	default:
		return LINK_FAILED;
	}
}

/* Takes the events that are pending. Returns 0, or -errno if the channel is broken. */
static int take_events(struct operation_links *links, uint32_t queues)
{
	struct event_copy copy;
	int taken;

	for (int count = 0; count < EVENTS_AT_ONCE; count++) {
		taken = channel_take(links->channel, &copy);
		if (taken <= 0)
			return taken;
		if (copy.event.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			take_request(links, &copy.event, queues);
			continue;
		}
		for (size_t i = 0; i < OPERATION_QUEUES; i++)
			if (links->ids[i] && copy.event.id == links->ids[i] &&
				copy.event.event != RDMA_CM_EVENT_ADDR_CHANGE)
				links->states[i] = state_after(copy.event.event);
	}
	return 0;
}

/* The queue pairs in this state, as bits. */
static uint32_t in_state(const struct operation_links *links, enum operation_link_state state)
{
	uint32_t found = 0;

	for (size_t i = 0; i < OPERATION_QUEUES; i++)
		found |= (uint32_t)(links->states[i] == state) << i;
	return found;
}

/* True if one of these queue pairs has not got beyond this state. */
static bool is_waiting(
	const struct operation_links *links, uint32_t queues, enum operation_link_state state)
{
	for (size_t i = 0; i < OPERATION_QUEUES; i++)
		if ((queues & UINT32_C(1) << i) && links->states[i] <= state)
			return true;
	return false;
}

/*
 * Takes events until all of these queue pairs have got beyond this state. Returns 0, or -errno:
 * -ETIMEDOUT at the deadline, -ECANCELED if the control connection has ended.
 */
static int wait_past(struct operation_links *links, uint32_t queues,
	enum operation_link_state state, deadline_t deadline)
{
	struct pollfd waiting = {.fd = links->channel->fd, .events = POLLIN};
	int error, left;

	for (;;) {
		error = take_events(links, queues);
		if (error)
			return error;
		if (!is_waiting(links, queues, state))
			return 0;
		left = deadline_left(deadline);
		if (left == 0)
			return -ETIMEDOUT;
		if (control_check(links->control))
			return -ECANCELED;
		poll(&waiting, 1, left < LOOK_MS ? left : LOOK_MS);
	}
}

/* Waits for the state that follows the queue pair's current one. Returns 0 or -errno. */
static int await_next(
	struct operation_links *links, enum operation_queue queue, deadline_t deadline)
{
	const enum operation_link_state state = links->states[queue];
	int error = wait_past(links, UINT32_C(1) << queue, state, deadline);

	if (!error && links->states[queue] == LINK_FAILED)
		error = -EHOSTUNREACH;
	return error;
}

/* The numbers are random, so that others cannot guess them while the listener exists. */
static void choose_numbers(struct operation_links *links)
{
	uint8_t nonce[SECRET_NONCE_SIZE];

	_Static_assert(sizeof(nonce) >= OPERATION_QUEUES * sizeof(uint32_t), "a number each");
	secret_nonce(nonce);
	for (size_t i = 0; i < OPERATION_QUEUES; i++)
		links->numbers[i] = le_get32(nonce + i * sizeof(uint32_t)) & 0xffffff;
}

int operation_links_listen(struct operation_links *links)
{
	struct sockaddr_storage address = {0};
	struct sockaddr *local = rdma_get_local_addr(links->control->id);
	int error = open_channel(links);

	if (error)
		return error;
	choose_numbers(links);
	memcpy(&address, local, address_length(local));
	address_set_port(&address, 0);
	if (rdma_create_id(links->channel->rdmacm, &links->listener, NULL, RDMA_PS_TCP) ||
		rdma_bind_addr(links->listener, (struct sockaddr *)&address) ||
		rdma_listen(links->listener, BACKLOG))
		return endpoint_post_result(-1);
	links->port = ntohs(rdma_get_src_port(links->listener));
	return 0;
}

uint32_t operation_links_accept(struct operation_links *links, uint32_t queues, deadline_t deadline)
{
	wait_past(links, queues, LINK_REQUESTED, deadline);
	return queues & in_state(links, LINK_ESTABLISHED);
}

/* Resolves the server's address with this port, and the route to it. */
static int resolve(struct operation_links *links, enum operation_queue queue, uint16_t port,
	deadline_t deadline)
{
	struct rdma_cm_id *id = links->ids[queue], *control = links->control->id;
	struct sockaddr_storage address = control->route.addr.dst_storage;
	struct sockaddr_storage source = control->route.addr.src_storage;
	int error;

	address_set_port(&address, port);
	address_set_port(&source, 0);
	links->states[queue] = LINK_RESOLVING;
	error = endpoint_post_result(rdma_resolve_addr(id, (struct sockaddr *)&source,
		(struct sockaddr *)&address, deadline_left(deadline)));
	if (!error)
		error = await_next(links, queue, deadline);
	if (!error)
		error = endpoint_post_result(rdma_resolve_route(id, deadline_left(deadline)));
	return error ? error : await_next(links, queue, deadline);
}

int operation_links_request(struct operation_links *links, enum operation_queue queue,
	uint16_t port, uint32_t number, deadline_t deadline)
{
	uint8_t request[REQUEST_SIZE];
	struct rdma_conn_param parameters = parameters_with(request, sizeof(request));
	int error = open_channel(links);

	if (error)
		return error;
	if (rdma_create_id(links->channel->rdmacm, &links->ids[queue], NULL, RDMA_PS_TCP))
		return endpoint_post_result(-1);
	error = resolve(links, queue, port, deadline);
	if (!error)
		error = links->create(links->user, queue, links->ids[queue]);
	if (!error) {
		le_put32(request, number);
		le_put32(request + 4, queue);
		links->states[queue] = LINK_REQUESTED;
		error = endpoint_post_result(
			timed_connect(links->ids[queue], &parameters, deadline));
	}
	if (error)
		links->states[queue] = LINK_FAILED;
	return error;
}

uint32_t operation_links_establish(struct operation_links *links, deadline_t deadline)
{
	const uint32_t requested = in_state(links, LINK_REQUESTED);

	if (requested)
		wait_past(links, requested, LINK_REQUESTED, deadline);
	return in_state(links, LINK_ESTABLISHED);
}

void operation_links_close(struct operation_links *links)
{
	for (size_t i = 0; i < OPERATION_QUEUES; i++) {
		if (!links->ids[i])
			continue;
		if (links->states[i] == LINK_ESTABLISHED)
			rdma_disconnect(links->ids[i]);
		if (links->ids[i]->qp)
			rdma_destroy_qp(links->ids[i]);
		rdma_destroy_id(links->ids[i]);
	}
	if (links->listener)
		rdma_destroy_id(links->listener);
	if (links->channel)
		channel_destroy(links->channel);
	*links = (struct operation_links){0};
}
