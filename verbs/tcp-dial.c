/* See verbs/tcp-dial.h. */
#include <errno.h>
#include <poll.h>

#include "verbs/tcp-bootstrap.h"
#include "verbs/tcp-dial.h"

/* Explains silence on the TCP connection, unless --timeout is too short. Returns -1. */
static int not_answered(struct dial *dial)
{
	struct failure *failure = &dial->failure;

	if (failure->kind == FAILURE_DEADLINE && failure->code != CODE_SHORT_TIMEOUT) {
		*failure = (struct failure){0};
		failure_set(failure, FAILURE_PATH, PHASE_ADDRESS, PATH_NO_ANSWER, "poll", "");
	}
	return -1;
}

static int await_path(struct dial *dial)
{
	struct event_copy copy;

	if (dial_await(dial, RDMA_CM_EVENT_ROUTE_RESOLVED, PHASE_ROUTE, &copy))
		return not_answered(dial);
	dial_show_step(dial, "path chosen.");
	return 0;
}

/*
 * TCP repeats a packet that is lost after a second, and has no limit of its own that would suit:
 * the connection may use all the time that is left.
 */
static int resolve_path(struct dial *dial, const struct sockaddr *source, int milliseconds)
{
	struct event_copy copy;
	const enum address_fault fault = server_addresses_fault(dial->address);
	int error;

	(void)milliseconds;
	if (fault != ADDRESS_FINE)
		return failure_set(
			&dial->failure, FAILURE_ADDRESS, PHASE_ADDRESS, (int)fault, "connect", "");
	error = tcp_start(
		dial->channel->tcp, dial->address, source, dial->path, dial->output, &dial->id);
	if (error && tcp_explain(&dial->failure, -error))
		return -1;
	if (error)
		return dial_failed(dial, PHASE_ADDRESS, "connect", -error);
	tcp_look(dial->id);
	if (dial_await(dial, RDMA_CM_EVENT_ADDR_RESOLVED, PHASE_ADDRESS, &copy))
		return -1;
	dial_show_step(dial, "TCP connected.");
	if (tcp_offer(dial->id, &dial->failure))
		return -1;
	/* With one port, the queue pair is made while the server chooses. */
	return dial->id->verbs ? 0 : await_path(dial);
}

static int request_connection(
	struct dial *dial, struct rdma_conn_param *parameters, struct event_copy *reply)
{
	if (tcp_request(dial->id, parameters))
		return dial_failed(dial, PHASE_CONNECT, "send", errno);
	if (tcp_awaits_path(dial->id) && await_path(dial))
		return -1;
	return dial_await(dial, RDMA_CM_EVENT_ESTABLISHED, PHASE_CONNECT, reply);
}

/* Takes what happens to the probe. Returns 1 if the server answers, 0 to go on, or -1. */
static int take_answer(struct tcp_channel *channel)
{
	struct failure failure = {0};
	struct event_copy copy;
	struct rdma_cm_id *id;
	int code;

	if (tcp_channel_take(channel, &copy) <= 0)
		return 0;
	id = copy.event.id;
	switch (copy.event.event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return tcp_offer(id, &failure);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return 1;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		code = bootstrap_tcp.failure(id)->code;
		return code == PATH_STRANGER || code == PATH_NO_ANSWER ? -1 : 1;
	default:
		return -1;
	}
}

bool tcp_dial_answers(const struct sockaddr *address, int milliseconds)
{
	static const struct path_settings settings = {.gid_index = -1};
	static const struct output output = {.quiet = true};
	const deadline_t deadline = deadline_in(milliseconds);
	struct tcp_channel *channel;
	struct rdma_cm_id *id;
	int answer = 0;

	if (tcp_channel_create(&channel))
		return false;
	if (tcp_start(channel, address, NULL, &settings, &output, &id) == 0) {
		struct pollfd waiting = {.fd = tcp_channel_fd(channel), .events = POLLIN};

		tcp_look(id);
		while (answer == 0 && poll(&waiting, 1, deadline_left(deadline)) > 0)
			answer = take_answer(channel);
		bootstrap_tcp.destroy(id);
	}
	tcp_channel_destroy(channel);
	return answer > 0;
}

const struct dial_way dial_by_tcp = {
	.bootstrap = &bootstrap_tcp,
	.resolve = resolve_path,
	.request = request_connection,
};
