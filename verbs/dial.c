/* Connects to a server: see verbs/dial.h, which also documents ownership. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/local-failure.h"
#include "host/netlink.h"
#include "host/readiness.h"
#include "host/stack-table.h"
#include "host/sysfs.h"
#include "protocol/hello.h"
#include "verbs/dial.h"
#include "verbs/reply-watch.h"
#include "verbs/resource-limit.h"
#include "verbs/timed-connect.h"

/*
 * Timeout in milliseconds of one attempt to resolve an address. Attempts are short because the
 * kernel may miss a neighbour's reply and check again only when the attempt times out.
 */
#define RESOLVE_MS 1000

/* Milliseconds by which an idle kernel does not exceed the timeout of an attempt. */
#define RESOLVE_SLACK_MS 1000

/*
 * With a --timeout below this number of milliseconds, a timeout shows only that it was too short.
 */
#define SHORT_TIMEOUT_MS 1000

/* Milliseconds after which a missing reply is unusual, so that it is worth watching for it. */
#define WATCH_AFTER_MS 500

/* Milliseconds between attempts to connect to a full server. */
#define RETRY_WHEN_FULL_MS 500

/* Records the errno of a call that failed in this phase, with its evidence. */
static int attempt_failed(struct dial *dial, enum phase phase, const char *call, int error)
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

static int timed_out(struct dial *dial, enum phase phase)
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
	if (event->event == RDMA_CM_EVENT_ADDR_ERROR || event->event == RDMA_CM_EVENT_ROUTE_ERROR)
		return attempt_failed(
			dial, phase, rdma_event_str(event->event), abs(event->status));
	if (!failure_is_set(&dial->failure))
		failure_from_event(&dial->failure, event, phase);
	return -1;
}

/* Waits for this event. Any other relevant event ends the attempt. */
static int await_event(struct dial *dial, enum rdma_cm_event_type wanted, enum phase phase,
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
			return timed_out(dial, phase);
		if (waiting[1].revents)
			return interrupted(dial, phase);
		taken = channel_take(dial->channel, copy);
		if (taken < 0)
			return attempt_failed(dial, phase, "rdma_get_cm_event", -taken);
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

static void show_step(const struct dial *dial, const char *step)
{
	if (dial->shows_steps)
		output_step(dial->output, NULL, "%s", step);
}

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

	if (await_event(dial, RDMA_CM_EVENT_ADDR_RESOLVED, PHASE_ADDRESS, &event) == 0)
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
		return attempt_failed(dial, PHASE_ADDRESS, "rdma_resolve_addr", errno);
	if (await_address(dial, milliseconds) ||
		server_addresses_check_device(&dial->server, dial->id, &dial->failure))
		return -1;
	show_step(dial, "address resolved.");
	left = deadline_left(dial->deadline);
	if (left == 0) /* the kernel would report EINVAL */
		return timed_out(dial, PHASE_ROUTE);
	if (rdma_resolve_route(dial->id, left))
		return attempt_failed(dial, PHASE_ROUTE, "rdma_resolve_route", errno);
	if (await_event(dial, RDMA_CM_EVENT_ROUTE_RESOLVED, PHASE_ROUTE, &event))
		return -1;
	show_step(dial, "route resolved.");
	return 0;
}

int dial_resolve(struct dial *dial, const struct sockaddr *address, const struct sockaddr *source,
	int milliseconds)
{
	dial->address = address;
	dial->channel = channel_open(&dial->failure);
	if (!dial->channel)
		return -1;
	if (rdma_create_id(dial->channel, &dial->id, NULL, RDMA_PS_TCP)) {
		failure_errno(&dial->failure, PHASE_OPEN, "rdma_create_id", errno);
		goto destroy_channel;
	}
	if (id_set_dscp(dial->id, dial->dscp, &dial->failure) == 0 &&
		resolve(dial, source, milliseconds) == 0)
		return 0;
	explain_route(dial);
	rdma_destroy_id(dial->id);
destroy_channel:
	rdma_destroy_event_channel(dial->channel);
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
		return await_event(dial, RDMA_CM_EVENT_ESTABLISHED, PHASE_CONNECT, reply);
	dial->deadline = late;
	if (await_event(dial, RDMA_CM_EVENT_ESTABLISHED, PHASE_CONNECT, reply) == 0) {
		dial->deadline = deadline;
		return 0;
	}
	dial->deadline = deadline;
	if (dial->failure.kind != FAILURE_DEADLINE)
		return -1;
	dial->failure = (struct failure){0};
	reply_watch_begin(watch, dial->id, false);
	return await_event(dial, RDMA_CM_EVENT_ESTABLISHED, PHASE_CONNECT, reply);
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

/* Only software iWARP lets a request wait, for TCP. */
static void request_failed(struct dial *dial, int error)
{
	if (error != ETIMEDOUT || deadline_left(dial->deadline) > 0) {
		attempt_failed(dial, PHASE_CONNECT, "rdma_connect", error);
		return;
	}
	timed_out(dial, PHASE_CONNECT);
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
	if (error)
		find_local_cause(dial, deadline_now() - start);
	return error;
}

int dial_connect(struct dial *dial, struct event_copy *reply)
{
	struct rdma_conn_param parameters = {0};

	dial->failure = (struct failure){0}; /* clear a previous address's failure */
	if (dial->prepare(dial->user, dial->channel, dial->id, &parameters, &dial->failure) == 0 &&
		request_connection(dial, &parameters, reply) == 0)
		return 0;
	dial->discard(dial->user, &dial->failure);
	return -1;
}

int dial_address(struct dial *dial, struct event_copy *reply)
{
	const struct sockaddr *address = dial->server.address->ai_addr;
	int left = deadline_left(dial->deadline);
	char text[ADDRESS_TEXT_SIZE];
	struct sockaddr_storage source;

	address_port_text(address, text);
	output_detail(dial->output, "trying %s", text);
	if (server_addresses_source(&dial->server, address->sa_family, &source, &dial->failure) ||
		dial_resolve(dial, address, address_or_none(&source),
			left < RESOLVE_MS ? left : RESOLVE_MS))
		return -1;
	return dial_connect(dial, reply);
}

/*
 * Moves on to the server's next address if this one failed: the server may be listening there.
 * Returns false if no address or no time is left.
 */
static bool try_next_address(struct dial *dial)
{
	const struct failure *failure = &dial->failure;
	bool resolving = failure->phase == PHASE_ADDRESS || failure->phase == PHASE_ROUTE;

	if (failure->kind == FAILURE_INTERRUPTED || failure_is_full(failure) ||
		deadline_left(dial->deadline) == 0 ||
		(!resolving && failure->phase != PHASE_CONNECT))
		return false;
	return server_addresses_next(&dial->server, resolving && failure->code == ETIMEDOUT);
}

int dial_server(struct dial *dial, struct event_copy *reply)
{
	while (dial_address(dial, reply))
		if (!try_next_address(dial))
			return -1;
	return 0;
}

bool dial_wait_for_slot(struct dial *dial)
{
	struct pollfd stop = {.fd = dial->stop_fd, .events = POLLIN};

	if (!failure_is_full(&dial->failure)) {
		/* The earlier refusal is more informative than the last attempt's timeout. */
		if (failure_is_set(&dial->refused) && deadline_left(dial->deadline) == 0)
			dial->failure = dial->refused;
		return false;
	}
	if (deadline_left(dial->deadline) <= RETRY_WHEN_FULL_MS)
		return false;
	if (!failure_is_set(&dial->refused))
		output_line(dial->output, "server is full; retrying.");
	dial->refused = dial->failure;
	dial->failure = (struct failure){0};
	/* A signal also interrupts this wait; the next attempt reports it. */
	poll(&stop, 1, RETRY_WHEN_FULL_MS);
	return true;
}
