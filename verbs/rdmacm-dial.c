/*
 * The way of rdmacm: resolves the address and the route, requests the connection and waits for the
 * reply, and finds causes that only this host knows. See verbs/dial.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/local-failure.h"
#include "host/netlink.h"
#include "host/readiness.h"
#include "host/stack-table.h"
#include "host/sysfs.h"
#include "verbs/rdmacm-dial.h"
#include "verbs/reply-watch.h"
#include "verbs/tcp-dial.h"
#include "verbs/timed-connect.h"

/* Milliseconds by which an idle kernel does not exceed the timeout of an attempt. */
#define RESOLVE_SLACK_MS 1000

/* Milliseconds for a server's answer by TCP, if it does not listen by rdmacm. */
#define PROBE_MS 500

/* Milliseconds after which a missing reply is unusual, so that it is worth watching for it. */
#define WATCH_AFTER_MS 500

/* True if this program gave up, for another reason than a short --timeout. */
static bool gave_up(const struct failure *failure)
{
	return failure->kind == FAILURE_DEADLINE && failure->code != CODE_SHORT_TIMEOUT;
}

/* True if the kernel gave up, not this program. */
static bool kernel_timed_out(const struct failure *failure)
{
	return failure->kind == FAILURE_ERRNO && failure->code == ETIMEDOUT;
}

/*
 * InfiniBand asks the subnet manager for a path. On Ethernet, nothing is sent, and the kernel only
 * needs a moment of a processor.
 */
static void explain_route(struct dial *dial)
{
	struct failure *failure = &dial->failure;
	char link_layer[24];
	bool late = gave_up(failure) || kernel_timed_out(failure);

	if (failure->phase != PHASE_ROUTE || !late ||
		sysfs_line("", link_layer, sizeof(link_layer),
			"/sys/class/infiniband/%s/ports/%u/link_layer",
			ibv_get_device_name(dial->id->verbs->device), dial->id->port_num) ||
		strcmp(link_layer, "Ethernet") != 0)
		return;
	failure->kind = FAILURE_DEADLINE;
	failure->code = CODE_NOTHING_ASKED;
}

/* The kernel ends an attempt to resolve an address in time, unless it gets no processor. */
static int await_address(struct dial *dial, int milliseconds)
{
	deadline_t start = deadline_now();
	struct event_copy event;

	if (dial_await(dial, RDMA_CM_EVENT_ADDR_RESOLVED, PHASE_ADDRESS, &event) == 0)
		return 0;
	if (gave_up(&dial->failure) && dial->failure.phase == PHASE_ADDRESS &&
		deadline_now() - start >= milliseconds + RESOLVE_SLACK_MS)
		dial->failure.code = CODE_NOTHING_ASKED;
	return -1;
}

static int resolve(struct dial *dial, const struct sockaddr *source, int milliseconds)
{
	enum address_fault fault = server_addresses_fault(dial->address);
	struct event_copy event;
	int left;

	/* The kernel resolves a broadcast address, to which no host would reply. */
	if (fault != ADDRESS_FINE)
		return failure_set(&dial->failure, FAILURE_ADDRESS, PHASE_ADDRESS, (int)fault,
			"rdma_resolve_addr", "");
	/* rdma_resolve_addr(3) modifies neither address. */
	if (rdma_resolve_addr(dial->id, (struct sockaddr *)source, (struct sockaddr *)dial->address,
		    milliseconds))
		return dial_failed(dial, PHASE_ADDRESS, "rdma_resolve_addr", errno);
	if (await_address(dial, milliseconds) ||
		server_addresses_check_device(&dial->server, dial->id, &dial->failure))
		return -1;
	dial_show_step(dial, "address resolved.");
	left = deadline_left(dial->deadline);
	if (left == 0) /* the kernel would report EINVAL */
		return dial_timed_out(dial, PHASE_ROUTE);
	if (rdma_resolve_route(dial->id, left))
		return dial_failed(dial, PHASE_ROUTE, "rdma_resolve_route", errno);
	if (dial_await(dial, RDMA_CM_EVENT_ROUTE_RESOLVED, PHASE_ROUTE, &event))
		return -1;
	dial_show_step(dial, "route resolved.");
	return 0;
}

static int resolve_server(struct dial *dial, const struct sockaddr *source, int milliseconds)
{
	if (rdma_create_id(dial->channel->rdmacm, &dial->id, NULL, RDMA_PS_TCP))
		return failure_errno(&dial->failure, PHASE_OPEN, "rdma_create_id", errno);
	if (id_set_dscp(dial->id, dial->dscp, &dial->failure) == 0 &&
		resolve(dial, source, milliseconds) == 0)
		return 0;
	explain_route(dial);
	return -1;
}

/*
 * Waits for the reply. An exchange, whose replies usually come at once, begins to watch for it only
 * when it is late: the kernel repeats the request, and the peer its reply.
 */
static int await_reply(struct dial *dial, struct reply_watch *watch, struct event_copy *reply)
{
	deadline_t deadline = dial->deadline, late = deadline_in(WATCH_AFTER_MS);

	if (watch->id || deadline <= late)
		return dial_await(dial, RDMA_CM_EVENT_ESTABLISHED, PHASE_CONNECT, reply);
	dial->deadline = late;
	if (dial_await(dial, RDMA_CM_EVENT_ESTABLISHED, PHASE_CONNECT, reply) == 0) {
		dial->deadline = deadline;
		return 0;
	}
	dial->deadline = deadline;
	if (dial->failure.kind != FAILURE_DEADLINE)
		return -1;
	dial->failure = (struct failure){0};
	reply_watch_begin(watch, dial->id, false);
	return dial_await(dial, RDMA_CM_EVENT_ESTABLISHED, PHASE_CONNECT, reply);
}

/* Replaces the failure by what this host lacks. */
static void blame_this_host(struct dial *dial, enum readiness lacking, const char *text)
{
	dial->failure = (struct failure){0};
	failure_set(&dial->failure, FAILURE_HOST, PHASE_CONNECT, (int)lacking, "rdma_connect", "%s",
		text);
}

/*
 * iWARP reports an error of this host's routes, or the same of a router, only when it connects.
 * If the kernel still finds no route, it is this host's.
 */
static bool lacks_route(const struct dial *dial)
{
	const struct rdma_addr *pair = &dial->id->route.addr;
	const struct failure *failure = &dial->failure;
	struct netlink_route route;

	return failure->kind == FAILURE_ERRNO &&
	       (failure->code == EACCES || failure->code == ENETUNREACH) &&
	       netlink_find_route(&pair->dst_addr, &pair->src_addr, &route) == -failure->code;
}

/*
 * If no reply arrived, this host may be the cause: its device cannot be used, or does not receive
 * the packets for the source address, which packets within this host do not need; or its kernel
 * could not send. Linux 6.1 reports that soft-RoCE cannot be used here, Linux 6.12 does not.
 */
static void find_local_cause(struct dial *dial, int64_t milliseconds)
{
	const char *device = ibv_get_device_name(dial->id->verbs->device);
	const struct rdma_addr *pair = &dial->id->route.addr;
	struct failure *failure = &dial->failure;
	char text[sizeof(dial->failure.evidence)];
	bool late = kernel_timed_out(failure);
	enum readiness lacking;

	if (failure->phase == PHASE_CONNECT && lacks_route(dial))
		failure->phase = PHASE_ADDRESS;
	if (failure->phase != PHASE_CONNECT || (failure->kind != FAILURE_DEADLINE && !late))
		return;
	lacking = readiness_of_device("", device, text, sizeof(text));
	if (lacking != HOST_READY) {
		blame_this_host(dial, lacking, text);
	} else if (late && local_failure_is(ETIMEDOUT, milliseconds)) {
		*failure = (struct failure){0};
		failure_set(failure, FAILURE_DEADLINE, PHASE_CONNECT, CODE_NOT_SENT, "rdma_connect",
			"its kernel reported %s after %d ms, too soon for a reply",
			strerrorname_np(ETIMEDOUT), (int)milliseconds);
	} else if (!address_equal(&pair->src_addr, &pair->dst_addr) &&
		   stack_table_loses("", device, &pair->src_addr, text, sizeof(text))) {
		blame_this_host(dial, HOST_STACK, text);
	}
}

/* The kernel of the other host answers if nothing listens; a server may listen by TCP only. */
static void find_other_way(struct dial *dial)
{
	struct failure *failure = &dial->failure;

	if (failure->kind != FAILURE_REJECTED || failure->code != REJECTED_NO_LISTENER ||
		!tcp_dial_answers(dial->address, PROBE_MS))
		return;
	*failure = (struct failure){0};
	failure_set(failure, FAILURE_PATH, PHASE_CONNECT, PATH_TCP_ONLY,
		rdma_event_str(RDMA_CM_EVENT_REJECTED), "");
}

/* Only software iWARP lets a request wait, for TCP. */
static void request_failed(struct dial *dial, int error)
{
	if (error != ETIMEDOUT || deadline_left(dial->deadline) > 0) {
		dial_failed(dial, PHASE_CONNECT, "rdma_connect", error);
		return;
	}
	dial_timed_out(dial, PHASE_CONNECT);
	if (dial->failure.code != CODE_SHORT_TIMEOUT)
		dial->failure.code = CODE_TCP_SILENT;
}

/* Sends the request and waits for the reply. */
static int request_connection(
	struct dial *dial, struct rdma_conn_param *parameters, struct event_copy *reply)
{
	struct reply_watch watch = {0};
	deadline_t start;
	int error = -1;

	if (dial->watches)
		reply_watch_begin(&watch, dial->id, true);
	start = deadline_now();
	if (timed_connect(dial->id, parameters, dial->deadline))
		request_failed(dial, errno);
	else
		error = await_reply(dial, &watch, reply);
	reply_watch_end(&watch, &dial->failure);
	if (error) {
		find_local_cause(dial, deadline_now() - start);
		find_other_way(dial);
	}
	return error;
}

const struct dial_way dial_by_rdmacm = {
	.bootstrap = &bootstrap_rdmacm,
	.resolve = resolve_server,
	.request = request_connection,
};
