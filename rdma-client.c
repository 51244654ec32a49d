/*
 * rdma-client: exchanges data with rdma-server. The main thread resolves the server's addresses,
 * connects to one of them, waits while the CQ thread exchanges the data, and disconnects. See
 * docs/architecture.md.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/explain.h"
#include "base/signals.h"
#include "cli/explanations.h"
#include "cli/meter.h"
#include "cli/startup.h"
#include "copy/far-side.h"
#include "diagnose/diagnose.h"
#include "diagnose/watch.h"
#include "exchange/dry-run.h"
#include "exchange/report.h"
#include "host/retransmissions.h"
#include "measure/comparison.h"
#include "measure/measure.h"
#include "mesh/agent.h"
#include "mesh/mesh.h"
#include "multicast/send.h"
#include "rdma-common.h"
#include "verbs/channel.h"
#include "verbs/dial.h"

/* Time limit for the server to confirm a disconnect, and for the device to flush the queue pair. */
#define DISCONNECT_MS 1500

struct client {
	struct options options;
	struct output output;
	struct exchange_settings settings;
	struct wakeup_queue wakeups;
	struct main_loop loop;
	struct meter meter;
	struct dial dial;
	char peer[SERVER_NAME_SIZE]; /* the server, for messages */

	struct cm_channel *channel; /* the connection's rdmacm events */
	struct rdma_cm_id *id;      /* NULL once the connection owns it */
	struct device *device;
	struct connection *connection;
	deadline_t deadline;                    /* for closing the connection */
	bool closing;                           /* the CQ thread was asked to close it */
	bool abandoned;                         /* only its file threads remain to be joined */
	bool drained;                           /* the CQ thread has released it */
	bool disconnected;                      /* rdmacm reported the disconnect */
	bool interrupted;                       /* a signal was received */
	struct retransmissions retransmissions; /* while files are transferred */

	struct failure failure;
};

/* Closes the connection because of a failure or, with NULL, because the exchange is complete. */
static void end_connection(struct client *client, const struct failure *reason)
{
	if (!client->closing)
		client->deadline = deadline_in(DISCONNECT_MS);
	client->closing = true;
	connection_close(client->connection, reason);
}

/* The callbacks of the main loop. */

static void take_event(void *user, const struct rdma_cm_event *event)
{
	struct client *client = user;
	struct failure failure = {0};

	output_detail(
		&client->output, "%s, status %d", rdma_event_str(event->event), event->status);
	switch (event->event) {
	case RDMA_CM_EVENT_DISCONNECTED:
		client->disconnected = true;
		connection_disconnected(client->connection);
		end_connection(client, NULL);
		return;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		failure_from_event(&failure, event, PHASE_EXCHANGE);
		if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
			connection_abandon(client->connection, &failure);
		end_connection(client, &failure);
		return;
	default:
		/*
		 * What dial_server() has handled; a failover of a bonded interface, whose path is
		 * the same; what only listeners or datagrams have; and events of newer releases of
		 * librdmacm.
		 */
		return;
	}
}

static void take_wakeup(void *user, const struct wakeup *wakeup, unsigned int events)
{
	struct client *client = user;

	(void)wakeup; /* there is only one connection */
	if (events & CONNECTION_FINISHED)
		end_connection(client, NULL);
	if (connection_drained(client->connection, events))
		client->drained = true;
}

/*
 * The first signal aborts the exchange: the CQ thread sends the reason to the server and then
 * finishes. After a second signal, the client does not wait for this.
 */
static void take_signal(void *user)
{
	struct client *client = user;
	struct failure failure = {0};

	failure_set(&failure, FAILURE_INTERRUPTED, PHASE_EXCHANGE, EINTR, "signal", "");
	if (client->interrupted) {
		end_connection(client, &failure);
		client->deadline = deadline_now();
	}
	client->interrupted = true;
	connection_cancel(client->connection, &failure);
}

static void take_failure(void *user, const struct failure *failure)
{
	struct client *client = user;

	end_connection(client, failure);
}

/* Milliseconds until the next deadline, or -1 if there is none. */
static int next_due(struct client *client)
{
	/* The CQ thread checks the deadlines of the exchange. */
	if (client->closing && !client->abandoned)
		return deadline_left(client->deadline);
	return meter_next(&client->meter, !client->closing);
}

static void show_progress(struct client *client)
{
	struct progress_state state, resumed;

	if (meter_next(&client->meter, !client->closing) != 0)
		return;
	state = connection_progress(client->connection);
	if (connection_take_resumed(client->connection, false, &resumed))
		meter_note_resumed(&client->meter, &client->output, &resumed, &state);
	meter_show(&client->meter, &client->output, &state);
}

/* Runs the main loop until the CQ thread has released the connection. */
static void run_connection(struct client *client)
{
	struct failure failure = {0};

	failure_set(&failure, FAILURE_DEADLINE, PHASE_EXCHANGE, ETIMEDOUT, "--timeout", "");
	while (!client->drained) {
		main_loop_turn(&client->loop, next_due(client));
		if (client->closing && deadline_left(client->deadline) == 0) {
			client->abandoned = true;
			connection_abandon(client->connection, &failure);
		}
		show_progress(client);
	}
}

/* Frees the connection and everything it uses. */
static void free_connection(struct client *client)
{
	if (client->connection)
		connection_destroy(client->connection);
	device_stop(client->device);
	if (client->id)
		bootstrap_of(client->id)->destroy(client->id);
	if (client->channel)
		channel_destroy(client->channel);
	client->connection = NULL;
	client->device = NULL;
	client->id = NULL;
	client->channel = NULL;
}

/* True if both ends are on this host, where packets cannot be lost. */
static bool is_local(struct rdma_cm_id *id)
{
	char ours[ADDRESS_TEXT_SIZE], theirs[ADDRESS_TEXT_SIZE];

	address_text(rdma_get_local_addr(id), ours);
	address_text(rdma_get_peer_addr(id), theirs);
	return strcmp(ours, theirs) == 0;
}

/* Counts retransmissions from now on, unless only messages are exchanged. */
static void count_retransmissions(struct client *client, struct rdma_cm_id *id)
{
	if ((client->options.input || client->options.output) && !is_local(id))
		retransmissions_begin(&client->retransmissions,
			ibv_get_device_name(id->verbs->device), id->port_num);
}

/* Called by dial_server() when the route is resolved: creates the connection. */
static int prepare(void *user, struct cm_channel *channel, struct rdma_cm_id *id,
	struct rdma_conn_param *parameters, struct failure *failure)
{
	struct client *client = user;

	client->channel = client->loop.channel = channel;
	client->id = id;
	if (device_start(id->verbs, &client->device, failure) ||
		connection_create(&client->settings, client->options.mode, id, client->device, NULL,
			&client->connection, failure))
		return -1;
	client->id = NULL;
	count_retransmissions(client, id);
	*parameters = connection_parameters(client->connection);
	return 0;
}

/* Called by dial_server() when the server did not accept the connection. */
static void discard(void *user, const struct failure *reason)
{
	struct client *client = user;

	if (client->connection) {
		if (reason->kind == FAILURE_REMOVED)
			connection_abandon(client->connection, reason);
		end_connection(client, reason);
		run_connection(client);
	}
	free_connection(client);
	client->closing = client->abandoned = client->drained = client->disconnected = false;
}

static int set_up(struct client *client, char greeting[64])
{
	const struct options *options = &client->options;
	int error;

	client->output = startup_output("rdma-client", options);
	snprintf(greeting, 64, "message from active/client side with pid %d", (int)getpid());
	settings_init(&client->settings, options, &client->output, &client->wakeups, greeting);
	client->settings.active = true;
	meter_init(&client->meter, options);
	startup_server_name(options, client->peer);
	client->loop = (struct main_loop){
		.wakeups = &client->wakeups,
		.signals = -1,
		.user = client,
		.take_event = take_event,
		.take_wakeup = take_wakeup,
		.take_signal = take_signal,
		.take_failure = take_failure,
	};
	client->dial = (struct dial){
		.server = {.source = options->source, .device = options->device},
		.path = options->bootstrap == BOOTSTRAP_TCP ? &options->path : NULL,
		.peer = client->peer,
		.output = &client->output,
		.shows_steps = true,
		.timeout = options->timeout,
		.stop_fd = -1,
		.dscp = options->dscp,
		.prepare = prepare,
		.discard = discard,
		.user = client,
	};
	client->wakeups.eventfd = -1;
	error = wakeup_queue_open(&client->wakeups);
	if (error)
		output_error(&client->output, "cannot start: %s", strerror(-error));
	return error;
}

static int connect_to_server(struct client *client, struct event_copy *reply)
{
	struct dial *dial = &client->dial;
	const struct options *options = &client->options;

	dial->deadline = deadline_in(options->timeout);
	if (server_addresses_find(
		    &dial->server, options->host, options->port, dial->deadline, &client->failure))
		return -1;
	/* A lookup may block, so signals keep their default action until it returns. */
	dial->stop_fd = signals_open();
	if (dial->stop_fd < 0)
		return failure_errno(&client->failure, PHASE_OPEN, "signalfd", -dial->stop_fd);
	while (dial_server(dial, reply))
		if (!dial_wait_for_slot(dial)) {
			client->failure = dial->failure;
			return -1;
		}
	return 0;
}

/* Runs the exchange on the CQ thread and stores its outcome. */
static void exchange(struct client *client, const struct event_copy *reply)
{
	struct failure failure = {0};

	client->loop.signals = client->dial.stop_fd; /* dial_server() used it until now */
	if (connection_established(client->connection, &reply->event.param.conn, &failure))
		end_connection(client, &failure);
	run_connection(client);
	client->failure = *connection_outcome(client->connection);
}

/* Waits for the server to confirm the disconnect after a successful exchange. */
static void await_disconnect(struct client *client)
{
	client->deadline = deadline_in(DISCONNECT_MS);
	while (!client->disconnected && client->loop.channel && deadline_left(client->deadline) > 0)
		main_loop_turn(&client->loop, deadline_left(client->deadline));
	if (!client->disconnected)
		output_detail(&client->output, "the server did not confirm the disconnect");
}

/* Refers to the diagnosis if many packets of the transfer were sent again. */
static void report_retransmissions(struct client *client)
{
	struct progress_state state = connection_progress(client->connection);
	uint64_t count = retransmissions_excess(&client->retransmissions, state.moved);

	if (count > 0)
		output_line(&client->output,
			"packets were sent again %" PRIu64 " times; to find the cause: rdma-client "
			"diagnose %s",
			count, client->peer);
}

/* Prints the outcome and, with --json, the JSON document. */
static void report(struct client *client)
{
	char text[OUTPUT_FAILURE_SIZE];
	const char *message;
	/* A refusal during the handshake is reported like a rejected connection. */
	bool exchanged = client->connection && client->failure.kind != FAILURE_REFUSED;

	if (exchanged && client->disconnected)
		output_step(&client->output, NULL, "disconnected.");
	output_progress(&client->output, NULL);
	if (exchanged)
		connection_report_omitted(client->connection);
	message = output_outcome(&client->output, &client->failure, client->peer, text);
	if (exchanged) {
		connection_report(
			client->connection, &client->failure, message, client->options.json);
		report_retransmissions(client);
	} else if (client->options.json) {
		report_without_connection(&client->settings, client->options.mode, client->peer,
			&client->failure, message);
	}
}

/* Exchanges data with the server and reports the outcome. Returns the exit status. */
static enum exit_status run(struct client *client)
{
	struct event_copy reply;

	if (settings_prepare(&client->settings, &client->failure) == 0 &&
		connect_to_server(client, &reply) == 0) {
		exchange(client, &reply);
		if (!failure_is_set(&client->failure) || client->failure.phase == PHASE_INCOMPLETE)
			await_disconnect(client);
	}
	report(client);
	return explain_status(&client->failure);
}

static void tear_down(struct client *client)
{
	free_connection(client);
	server_addresses_free(&client->dial.server);
	settings_end(&client->settings);
	wakeup_queue_close(&client->wakeups);
	if (client->dial.stop_fd >= 0)
		close(client->dial.stop_fd);
}

/* The command `explain`. Returns the exit status. */
static enum exit_status explain_query(const struct client *client)
{
	const char *query = client->options.query;
	enum exit_status status = STATUS_OK;
	int unknown = 0;

	if (strcmp(query, "-") == 0) {
		unknown = explanations_print_log(stdout, stdin, &client->output);
	} else if (explanations_print(stdout, query) == 0) {
		output_error(&client->output,
			"no explanation of '%s'; list all: rdma-client explain", query);
		unknown = 1;
	}
	if (unknown < 0)
		output_error(&client->output, "cannot read standard input: %s", strerror(-unknown));
	if (unknown != 0 || fflush(stdout))
		status = STATUS_FAILED;
	return output_finish(&client->output, status);
}

/* --dry-run. Returns the exit status. */
static enum exit_status list_inputs(struct client *client)
{
	const struct options *options = &client->options;
	const struct dry_run_inputs inputs = {.paths = options->inputs,
		.count = options->input_count,
		.excluded = options->excluded,
		.excluded_count = options->excluded_count};

	client->output = startup_output("rdma-client", options);
	return output_finish(&client->output, dry_run(&inputs, &client->output));
}

/* The commands `write`, `read` and `send`. Returns the exit status. */
static enum exit_status exchange_data(struct client *client)
{
	enum exit_status status;
	char greeting[64];

	if (client->options.dry_run)
		return list_inputs(client);
	status = set_up(client, greeting) ? STATUS_FAILED : run(client);
	tear_down(client);
	return output_finish(&client->output, status);
}

/* The command `copy`: an exchange with a server that it starts. Returns the exit status. */
static enum exit_status copy(struct client *client)
{
	const struct output output = startup_output("rdma-client", &client->options);
	struct far_side side;
	enum exit_status status;

	if (client->options.dry_run)
		return list_inputs(client);
	/* Before ssh(1) asks for a password. */
	for (unsigned int i = 0; i < client->options.input_count; i++)
		if (access(client->options.inputs[i], R_OK)) {
			output_error(&output, "cannot read %s: %s", client->options.inputs[i],
				strerror(errno));
			return output_finish(&output, STATUS_FAILED);
		}
	status = far_side_start(&side, &client->options, &output);
	if (status != STATUS_OK)
		return output_finish(&output, status);
	status = exchange_data(client);
	far_side_end(&side);
	return status;
}

/* Determines how much memory the connections may take together: half of what is available. */
static void start_memory_budget(const struct options *options, const char *program)
{
	struct output output = startup_output(program, options);
	char text[MEMORY_BUDGET_TEXT];
	struct memory_budget budget;

	memory_budget_start(0);
	memory_budget_read(&budget);
	memory_budget_text(&budget, text);
	output_detail(&output, "memory for all connections: %s", text);
	if (budget.available.unread)
		output_detail(&output, "%s", MEMORY_BUDGET_UNREAD);
}

static enum exit_status run_command(struct client *client)
{
	const struct options *options = &client->options;
	const char *program = client->output.program;

	if (options->command == CLI_EXPLAIN)
		return explain_query(client);
	if (options->command == CLI_COMPARE)
		return comparison_print(options, program);
	start_memory_budget(options, program);
	switch (options->command) {
	case CLI_DIAGNOSE:
		return options->watch ? watch_devices(options, program)
				      : diagnose(options, program);
	case CLI_BANDWIDTH:
	case CLI_LATENCY:
		return measure_server(options, program);
	case CLI_COPY:
		return copy(client);
	case CLI_SEND_GROUP:
		return multicast_send(options, program, &client->loop.signal);
	case CLI_MESH:
		return mesh_run(options, program, &client->loop.signal);
	case CLI_MESH_AGENT:
		return mesh_agent(options, program, &client->loop.signal);
	case CLI_EXCHANGE:
	case CLI_COMPARE:
	case CLI_EXPLAIN:
	case CLI_SERVE: /* the server's commands */
	case CLI_STATUS:
	case CLI_RECEIVE_GROUP:
	case CLI_COMMANDS:
		break;
	}
	return exchange_data(client);
}

int main(int argc, char *argv[])
{
	struct client client = {0};
	enum exit_status status;

	output_start();
	client.output.program = "rdma-client";
	if (!startup_options(&client.options, PROGRAM_CLIENT, argc, argv, &client.output, &status))
		status = run_command(&client);
	options_free(&client.options);
	return signals_end(client.loop.signal, (int)status);
}
