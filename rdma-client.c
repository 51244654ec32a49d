/*
 * rdma-client: exchanges data with rdma-server. The main thread takes rdmacm events, the signal, the
 * deadline and the notes of the CQ thread, one at a time, and moves the client from phase to phase:
 * address, route, connect, exchange, disconnect. See docs/architecture.md.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/explain.h"
#include "cli/options.h"
#include "diagnose/diagnose.h"
#include "measure/measure.h"
#include "rdma-common.h"
#include "rdma-session.h"
#include "verbs/server-addresses.h"

/*
 * Address resolution is asked for in short attempts: the kernel may miss that the neighbour has
 * answered and look again only when the attempt's time is over.
 */
#define RESOLVE_MS 1000

/* An exchange that ended well waits at least so long for the server's side of the disconnect. */
#define DISCONNECT_GRACE_MS 2000

struct client {
	struct options options;
	struct output output;
	struct exchange_settings settings;
	struct wakeup_queue wakeups;
	int signals;
	struct meter meter;
	deadline_t deadline; /* but not of the exchange, which the CQ thread watches */

	struct server_addresses server;
	deadline_t again;       /* when to try anew, or 0 */
	struct failure refused; /* by a server that is full or busy, the last time */
	char peer[SERVER_NAME_SIZE];
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id; /* until a connection owns it */
	struct device *device;
	struct connection *connection;

	enum phase phase;
	bool connected;    /* the exchange was handed to the CQ thread */
	bool disconnected; /* rdmacm has reported the end of the connection */
	bool drained;
	bool closing, interrupted; /* we have asked for its end; a signal did */
	struct failure failure;
};

static int resolve_address(struct client *client);

/* An errno of a call in this phase, as a failure with the evidence that belongs to it. */
static int call_failed(struct client *client, const char *call, int error)
{
	char evidence[256];

	/* The first failure counts: of a later attempt no evidence is gathered. */
	if (failure_is_set(&client->failure))
		return -1;
	server_addresses_evidence(
		&client->server, &client->options, error, evidence, sizeof(evidence));
	return failure_set(
		&client->failure, FAILURE_ERRNO, client->phase, error, call, "%s", evidence);
}

/*
 * Goes on to the server's next address, or once more to the first if there may only have been too
 * little time. The first failure is what counts at the end.
 */
static int try_next_address(struct client *client)
{
	if (!server_addresses_next(&client->server, client->failure.code == ETIMEDOUT) ||
		deadline_left(client->deadline) == 0)
		return -1;
	if (client->id)
		rdma_destroy_id(client->id);
	client->id = NULL;
	return resolve_address(client);
}

static int resolve_address(struct client *client)
{
	int time = deadline_left(client->deadline);
	struct sockaddr_storage source;
	char text[ADDRESS_TEXT_SIZE];

	client->phase = PHASE_ADDRESS;
	address_port_text(client->server.address->ai_addr, text);
	output_detail(&client->output, "trying %s", text);
	if (rdma_create_id(client->channel, &client->id, NULL, RDMA_PS_TCP)) {
		client->phase = PHASE_OPEN;
		return call_failed(client, "rdma_create_id", errno);
	}
	if (server_addresses_source(&client->options, client->server.sources,
		    client->server.address->ai_family, &source, &client->failure))
		return try_next_address(client);
	if (rdma_resolve_addr(client->id, (struct sockaddr *)address_or_none(&source),
		    client->server.address->ai_addr, time < RESOLVE_MS ? time : RESOLVE_MS)) {
		call_failed(client, "rdma_resolve_addr", errno);
		return try_next_address(client);
	}
	return 0;
}

static int address_resolved(struct client *client)
{
	if (server_addresses_check_device(&client->options, client->id, &client->failure))
		return -1;
	output_line(&client->output, "address resolved.");
	client->phase = PHASE_ROUTE;
	if (rdma_resolve_route(client->id, deadline_left(client->deadline))) {
		call_failed(client, "rdma_resolve_route", errno);
		return try_next_address(client);
	}
	return 0;
}

static int route_resolved(struct client *client)
{
	int error;

	output_line(&client->output, "route resolved.");
	client->failure = (struct failure){0}; /* of an address tried before */
	if (device_start(client->id->verbs, &client->device, &client->failure) ||
		connection_create(&client->settings, client->options.mode, client->id,
			client->device, NULL, &client->connection, &client->failure))
		return -1;
	client->id = NULL;
	client->phase = PHASE_CONNECT;
	error = connection_connect(client->connection);
	return error ? call_failed(client, "rdma_connect", -error) : 0;
}

/* Disconnects, which has a deadline again. */
static void end_connection(struct client *client, const struct failure *reason)
{
	if (client->phase == PHASE_EXCHANGE)
		client->deadline = deadline_in(DISCONNECT_GRACE_MS);
	client->closing = true;
	connection_close(client->connection, reason);
}

static void take_wakeups(struct client *client)
{
	unsigned int events;

	while (wakeup_queue_take(&client->wakeups, &events)) {
		if (events & CONNECTION_FINISHED)
			end_connection(client, NULL);
		if (connection_drained(client->connection, events))
			client->drained = true;
	}
}

/* Lets the CQ thread finish with a connection that is failing on our side. */
static void let_go(struct client *client)
{
	if (!client->connection || client->drained)
		return;
	connection_close(client->connection, &client->failure);
	while (!client->drained) {
		struct pollfd waiting = {.fd = client->wakeups.eventfd, .events = POLLIN};

		if (poll(&waiting, 1, DISCONNECT_GRACE_MS) == 0)
			connection_abandon(client->connection, &client->failure);
		take_wakeups(client);
	}
}

/* Gives up the connection that was refused, so that another one can be asked for. */
static void begin_anew(struct client *client)
{
	let_go(client);
	connection_destroy(client->connection);
	client->connection = NULL;
	client->drained = false;
	device_stop(client->device);
	client->device = NULL;
}

/* A host of several addresses may listen on another one of them: begins anew with the next. */
static int connect_elsewhere(struct client *client)
{
	if (!client->server.address->ai_next || deadline_left(client->deadline) == 0)
		return -1;
	begin_anew(client);
	return try_next_address(client);
}

/* Whether there is no place at the server, or what there is only once is another client's. */
static bool is_full(const struct failure *failure)
{
	return failure->kind == FAILURE_REFUSED &&
	       (failure->code == REFUSAL_CLIENTS || failure->code == REFUSAL_ADDRESS ||
		       failure->code == REFUSAL_BUSY);
}

/* A server that is full soon ends whoever only holds a place: it is asked again. */
static int connect_later(struct client *client)
{
	if (deadline_left(client->deadline) <= RETRY_WHEN_FULL_MS)
		return -1;
	if (!failure_is_set(&client->refused))
		report_server_full(&client->output);
	begin_anew(client);
	client->refused = client->failure;
	client->again = deadline_in(RETRY_WHEN_FULL_MS);
	return 0;
}

static int connect_again(struct client *client)
{
	client->again = 0;
	client->failure = (struct failure){0};
	return resolve_address(client);
}

/* Somebody is there and does not want the connection. */
static int refused(struct client *client)
{
	return is_full(&client->failure) ? connect_later(client) : connect_elsewhere(client);
}

/* Takes one rdmacm event. Returns 0, or -1 with the failure recorded. */
static int take_event(struct client *client, const struct rdma_cm_event *event)
{
	output_detail(
		&client->output, "%s, status %d", rdma_event_str(event->event), event->status);
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return address_resolved(client);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return route_resolved(client);
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		call_failed(client, rdma_event_str(event->event), abs(event->status));
		return try_next_address(client);
	case RDMA_CM_EVENT_ESTABLISHED:
		client->phase = PHASE_EXCHANGE;
		client->connected = true;
		return connection_established(
			client->connection, &event->param.conn, &client->failure);
	case RDMA_CM_EVENT_DISCONNECTED:
		client->disconnected = true;
		connection_disconnected(client->connection);
		end_connection(client, NULL);
		return 0;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT: /* the queue pair number may be used again */
	case RDMA_CM_EVENT_ADDR_CHANGE:   /* a bonded interface failed over; the path stays */
		return 0;
	default:
		failure_from_event(&client->failure, event, client->phase, client->peer);
		if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL && client->connection)
			connection_abandon(client->connection, &client->failure);
		if (event->event == RDMA_CM_EVENT_REJECTED)
			return refused(client);
		return -1;
	}
}

static int take_events(struct client *client)
{
	struct rdma_cm_event *event;
	int result = 0, error;

	while (result == 0 && (event = channel_event(client->channel, &error))) {
		/* The handlers may destroy the id, which waits for acknowledged events. */
		struct event_copy copy;

		channel_copy(&copy, event);
		rdma_ack_cm_event(event);
		result = take_event(client, &copy.event);
	}
	if (result == 0 && error)
		result = call_failed(client, "rdma_get_cm_event", -error);
	return result;
}

/* Nothing came in time: whose fault that is depends on the phase. */
static int timed_out(struct client *client)
{
	return failure_set(&client->failure, FAILURE_DEADLINE, client->phase, ETIMEDOUT,
		"--timeout", client->phase == PHASE_EXCHANGE ? "" : "no answer within %g s",
		(double)client->options.timeout / 1000);
}

/* The CQ thread watches the exchange, and no deadline. */
static bool exchanging(const struct client *client)
{
	return client->connected && !client->closing;
}

/* Milliseconds until something is due without an event, for poll(2). */
static int next_due(struct client *client)
{
	int line = meter_next(&client->meter, exchanging(client));

	if (client->again)
		return deadline_left(client->again);
	return exchanging(client) ? line : deadline_left(client->deadline);
}

static void show_progress(struct client *client)
{
	uint64_t bytes, total;

	if (meter_next(&client->meter, exchanging(client)) != 0)
		return;
	connection_progress(client->connection, &bytes, &total);
	meter_show(&client->meter, &client->output, bytes, total);
}

/*
 * A signal ends the run. Once connected the server is told of it, so the end comes from the CQ
 * thread; a second signal does not wait for that.
 */
static int take_signal(struct client *client)
{
	struct failure failure = {0};

	failure_set(&failure, FAILURE_INTERRUPTED, client->phase, EINTR, "signal", "");
	if (client->connected && !client->interrupted) {
		client->interrupted = true;
		connection_cancel(client->connection, &failure);
		return 0;
	}
	client->failure = failure; /* whatever failed at an address tried before */
	return -1;
}

/* Waits for the next thing to happen and takes it. Returns 0, or -1 with the failure recorded. */
static int take_next(struct client *client)
{
	struct pollfd waiting[] = {
		{.fd = client->channel->fd, .events = POLLIN},
		{.fd = client->wakeups.eventfd, .events = POLLIN},
		{.fd = client->signals, .events = POLLIN},
	};

	if (poll(waiting, 3, next_due(client)) == 0 && !exchanging(client) && !client->again)
		return timed_out(client);
	if (client->again && deadline_left(client->again) == 0)
		return connect_again(client);
	show_progress(client);
	if (waiting[2].revents && signals_read(client->signals) && take_signal(client))
		return -1;
	if (waiting[1].revents)
		take_wakeups(client);
	return waiting[0].revents ? take_events(client) : 0;
}

/* Resolves, connects and exchanges, until the CQ thread has let go of the connection. */
static int run(struct client *client)
{
	if (server_addresses_find(
		    &client->server, &client->options, client->deadline, &client->failure))
		return -1;
	/* Not before the lookups: until here a signal just ends the process. */
	client->signals = signals_open();
	if (client->signals < 0)
		return call_failed(client, "signalfd", -client->signals);
	client->channel = channel_open(&client->failure);
	if (!client->channel || resolve_address(client))
		return -1;
	while (!client->drained)
		if (take_next(client))
			return -1;
	return 0;
}

/* After an exchange that ended well: waits for the server to confirm the disconnect. */
static void await_disconnect(struct client *client)
{
	deadline_t grace = deadline_in(DISCONNECT_GRACE_MS);
	struct failure ignored = client->failure;

	if (client->deadline < grace)
		client->deadline = grace;
	while (!client->disconnected && take_next(client) == 0)
		;
	if (!client->disconnected)
		output_detail(&client->output, "the server did not confirm the disconnect");
	client->failure = ignored;
}

static void tear_down(struct client *client)
{
	if (client->connection)
		connection_destroy(client->connection);
	device_stop(client->device);
	if (client->id)
		rdma_destroy_id(client->id);
	if (client->channel)
		rdma_destroy_event_channel(client->channel);
	server_addresses_free(&client->server);
	exchange_settings_end(&client->settings);
	wakeup_queue_close(&client->wakeups);
	if (client->signals >= 0)
		close(client->signals);
}

/* Says how it ended: in words, and as a document if that is wanted. */
static void report(struct client *client)
{
	enum exit_status status = explain_status(&client->failure);
	const char *error = NULL;
	char text[1024];

	output_progress(&client->output, NULL);
	if (failure_is_set(&client->failure)) {
		explain_failure(
			&client->failure, client->peer, client->output.verbose, text, sizeof(text));
		output_error(&client->output, "%s", text);
		error = text;
	}
	if (client->connected)
		connection_report(client->connection, status, error, client->options.json);
	else if (client->options.json)
		exchange_settings_report(
			&client->settings, client->options.mode, client->peer, status, error);
}

/* Runs the whole exchange; prints how it ended. Returns the exit status. */
static enum exit_status exchange(struct client *client)
{
	client->deadline = deadline_in(client->options.timeout);
	if (run(client))
		let_go(client);
	/* How the last of several attempts ended when our time was over says less. */
	if (!client->connected && failure_is_set(&client->refused) &&
		deadline_left(client->deadline) == 0)
		client->failure = client->refused;
	if (client->connected) {
		client->failure = *connection_outcome(client->connection);
		/* Of one that was turned away nothing else is told than of one that was refused. */
		client->connected = client->failure.kind != FAILURE_REFUSED;
		if (!failure_is_set(&client->failure))
			await_disconnect(client);
		if (client->disconnected && client->connected)
			output_line(&client->output, "disconnected.");
	}
	report(client);
	return explain_status(&client->failure);
}

static int set_up(struct client *client, char greeting[64])
{
	const struct options *options = &client->options;
	int error;

	client->output = startup_output("rdma-client", options);
	snprintf(greeting, 64, "message from active/client side with pid %d", (int)getpid());
	exchange_settings_init(
		&client->settings, options, &client->output, &client->wakeups, greeting);
	client->settings.active = true;
	meter_init(&client->meter, options);
	server_name(options, client->peer);
	client->signals = client->wakeups.eventfd = -1;
	error = wakeup_queue_open(&client->wakeups);
	if (error)
		output_error(&client->output, "cannot start: %s", strerror(-error));
	return error;
}

int main(int argc, char *argv[])
{
	struct client client = {0};
	enum exit_status status;
	char greeting[64];

	output_start();
	client.output.program = "rdma-client";
	if (startup_options(&client.options, PROGRAM_CLIENT, argc, argv, &client.output, &status))
		return (int)status;
	switch (client.options.command) {
	case CLI_DIAGNOSE:
		return (int)diagnose(&client.options, client.output.program);
	case CLI_BANDWIDTH:
	case CLI_LATENCY:
		return (int)measure_server(&client.options, client.output.program);
	case CLI_EXCHANGE:
	case CLI_SERVE: /* not the client's */
	case CLI_COMMANDS:
		break;
	}
	status = set_up(&client, greeting) || exchange_settings_prepare(&client.settings)
			 ? STATUS_FAILED
			 : exchange(&client);
	tear_down(&client);
	return (int)output_finish(&client.output, status);
}
