/* See verbs/tcp-dial.h. */
#include <errno.h>
#include <string.h>

#include "verbs/tcp-bootstrap.h"
#include "verbs/tcp-dial.h"

/*
 * TCP repeats a packet that is lost after a second, and has no limit of its own that would suit:
 * the connection may use all the time that is left.
 */
static int resolve_path(struct dial *dial, const struct sockaddr *source, int milliseconds)
{
	struct event_copy copy;
	int error = tcp_start(
		dial->channel->tcp, dial->address, source, dial->path, dial->output, &dial->id);

	(void)milliseconds;
	if (error && tcp_explain(&dial->failure, -error))
		return -1;
	if (error)
		return dial_failed(dial, PHASE_ADDRESS, "connect", -error);
	if (dial_await(dial, RDMA_CM_EVENT_ADDR_RESOLVED, PHASE_ADDRESS, &copy))
		return -1;
	dial_show_step(dial, "TCP connected.");
	if (tcp_offer(dial->id, &dial->failure) ||
		dial_await(dial, RDMA_CM_EVENT_ROUTE_RESOLVED, PHASE_ROUTE, &copy))
		return -1;
	dial_show_step(dial, "path chosen.");
	return 0;
}

static int request_connection(
	struct dial *dial, struct rdma_conn_param *parameters, struct event_copy *reply)
{
	if (tcp_request(dial->id, parameters))
		return dial_failed(dial, PHASE_CONNECT, "send", errno);
	return dial_await(dial, RDMA_CM_EVENT_ESTABLISHED, PHASE_CONNECT, reply);
}

const struct dial_way dial_by_tcp = {
	.bootstrap = &bootstrap_tcp,
	.resolve = resolve_path,
	.request = request_connection,
};
