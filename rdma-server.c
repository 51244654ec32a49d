/*
 * rdma-server: exchanges data with any number of clients at once. The main thread handles rdmacm
 * events, signals and wakeups from the CQ threads, one at a time; serve/service.c applies them to
 * the clients. See docs/architecture.md.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/explain.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/meter.h"
#include "cli/startup.h"
#include "exchange/report.h"
#include "multicast/receive.h"
#include "serve/listen.h"
#include "serve/port-file.h"
#include "serve/service.h"
#include "serve/status-query.h"
#include "serve/status.h"
#include "serve/stdio.h"
#include "verbs/channel.h"

struct server {
	struct options options;
	struct output output;
	struct service service;
	struct main_loop loop;
	struct meter meter;
	uint16_t port;
	bool stopping; /* a signal was received */
	bool broken;   /* the rdmacm event channel failed */
	int secret;    /* with --stdio: the file with the secret, and its path */
	char secret_path[SECRET_PATH_SIZE];
};

/* The callbacks of the main loop. */

static void take_event(void *user, const struct rdma_cm_event *event)
{
	struct server *server = user;

	service_event(&server->service, event);
}

static void take_wakeup(void *user, const struct wakeup *wakeup, unsigned int events)
{
	struct server *server = user;

	service_wakeup(&server->service, wakeup, events);
}

/* SIGINT or SIGTERM: the first lets running exchanges finish; the second aborts them. */
static void take_signal(void *user)
{
	struct server *server = user;
	struct failure failure = {0};
	char running[TOTALS_RUNNING_TEXT];

	if (!server->stopping) {
		server->stopping = true;
		service_stop_listening(&server->service);
		service_running_text(&server->service, running);
		if (*running)
			output_line(
				&server->output, "finishing %s; another signal aborts.", running);
		return;
	}
	failure_set(&failure, FAILURE_INTERRUPTED, PHASE_EXCHANGE, EINTR, "signal", "");
	service_end_clients(&server->service, &failure, false);
}

static void cannot_answer(const struct server *server, int error)
{
	output_detail(&server->output, "cannot answer `rdma-server status`: %s", strerror(-error));
}

/* `rdma-server status` asks. Clients are served without it, too. */
static void take_status(void *user)
{
	struct server *server = user;
	int error = status_answer(server->loop.status, &server->service, server->port);

	if (!error)
		return;
	cannot_answer(server, error);
	close(server->loop.status);
	server->loop.take_status = NULL;
}

/* With --stdio, who started this server is gone: as after a signal. */
static void take_input(void *user)
{
	struct server *server = user;

	if (!stdio_has_ended())
		return;
	server->loop.take_input = NULL;
	if (!server->stopping)
		take_signal(server);
}

/* Without rdmacm events, the server would miss connections and disconnects. */
static void take_failure(void *user, const struct failure *failure)
{
	struct server *server = user;

	server->broken = true;
	output_failure(&server->output, failure, NULL);
	service_stop_listening(&server->service);
	service_end_clients(&server->service, failure, true);
}

static int set_up(struct server *server, char greeting[64])
{
	const struct options *options = &server->options;
	struct service *service = &server->service;
	int error;

	server->output = startup_output("rdma-server", options);
	snprintf(greeting, 64, "message from passive/server side with pid %d", (int)getpid());
	memory_budget_start(options->memory);
	service->options = options;
	service->output = &server->output;
	service_init(service);
	settings_init(&service->settings, options, &server->output, &service->wakeups, greeting);
	meter_init(&server->meter, options);
	service->wakeups.eventfd = -1;
	server->loop = (struct main_loop){
		.wakeups = &service->wakeups,
		.signals = -1,
		.user = server,
		.take_event = take_event,
		.take_wakeup = take_wakeup,
		.take_signal = take_signal,
		.take_failure = take_failure,
	};
	error = wakeup_queue_open(&service->wakeups);
	if (error)
		output_error(&server->output, "cannot start: %s", strerror(-error));
	return error;
}

/* With --stdio, reads the secret from standard input, and watches for its end. */
static int take_stdio(struct server *server, struct failure *failure)
{
	if (!server->options.stdio)
		return 0;
	server->secret = stdio_take_secret(server->secret_path, failure);
	if (server->secret < 0)
		return -1;
	server->service.settings.secret_file = server->secret_path;
	server->loop.input = STDIN_FILENO;
	server->loop.take_input = take_input;
	return 0;
}

/* The kinds of events that the server waits for. */
static unsigned int channel_kinds(const struct options *options)
{
	return (options->bootstrap != BOOTSTRAP_TCP ? CHANNEL_RDMACM : 0) |
	       (options->bootstrap != BOOTSTRAP_RDMACM ? CHANNEL_TCP : 0);
}

/* Resolves the listening address, blocks the signals and listens. */
static int start_listening(struct server *server, struct failure *failure)
{
	const struct options *options = &server->options;
	struct service *service = &server->service;
	struct listen_addresses addresses;

	/* The lookup may block, so signals keep their default action until it returns. */
	if (listen_find_addresses(options, &addresses, failure))
		return -1;
	server->loop.signals = signals_open();
	if (server->loop.signals < 0)
		return failure_errno(failure, PHASE_OPEN, "signalfd", -server->loop.signals);
	server->loop.channel = service->channel = channel_open(channel_kinds(options), failure);
	if (!service->channel)
		return -1;
	return listen_start(options, &server->output, &addresses, service->channel,
		&service->listeners, failure);
}

/* Opens the socket for `rdma-server status`. The server works without it. */
static void open_status(struct server *server)
{
	int socket = status_open(server->port);

	if (socket < 0) {
		cannot_answer(server, socket);
		return;
	}
	server->loop.status = socket;
	server->loop.take_status = take_status;
}

/* Prints the port and writes the port file. Returns 0, or -1 after printing the error. */
static int announce(struct server *server, const char *addresses)
{
	const char *file = server->options.port_file;
	int error;

	server->port = listeners_port(&server->service.listeners);
	/* Who has read the port file may ask at once. */
	open_status(server);
	error = file ? port_file_write(file, server->port) : 0;
	if (error) {
		output_error(&server->output, "cannot write the port file %s: %s", file,
			strerror(-error));
		return -1;
	}
	if (server->options.stdio && stdio_announce(server->port, addresses))
		return -1;
	output_line(&server->output, "listening on port %u.", server->port);
	listen_show_addresses(&server->options, &server->output,
		listeners_address(&server->service.listeners), addresses, server->port);
	return 0;
}

/* Prints how much memory the clients may use together. */
static void show_memory(const struct server *server)
{
	const struct output *output = &server->output;
	char text[MEMORY_BUDGET_TEXT], least[UNITS_TEXT];
	struct memory_budget budget;

	memory_budget_read(&budget);
	memory_budget_text(&budget, text);
	if (output_is_journal())
		output_line(output, "memory for all connections: %s.", text);
	else
		output_detail(output, "memory for all connections: %s", text);
	if (budget.available.unread)
		output_detail(output, "%s", MEMORY_BUDGET_UNREAD);
	if (budget.size < OPTIONS_MEMORY_MIN)
		output_warning(output,
			"some clients may be refused, because a diagnosis, or an exchange with a "
			"large --depth, needs up to %s of memory: %s",
			units_format(least, OPTIONS_MEMORY_MIN), text);
	if (budget.chosen && budget.size > memory_budget_share(&budget))
		output_warning(output,
			"clients get less than --memory, at most seven eighths of what is "
			"available: %s",
			text);
}

static void show_progress(struct server *server)
{
	struct progress_state state, resumed;

	if (meter_next(&server->meter, service_is_exchanging(&server->service)) != 0)
		return;
	state = service_progress(&server->service);
	while (service_take_resumed(&server->service, &resumed))
		meter_note_resumed(&server->meter, &server->output, &resumed, &state);
	meter_show(&server->meter, &server->output, &state);
}

/* Milliseconds until the next deadline, or -1 if there is none. */
static int next_due(struct server *server)
{
	int deadline = service_next_deadline(&server->service);
	int line = meter_next(&server->meter, service_is_exchanging(&server->service));

	return line >= 0 && (deadline < 0 || line < deadline) ? line : deadline;
}

static void serve(struct server *server)
{
	while (!service_over(&server->service)) {
		main_loop_turn(&server->loop, next_due(server));
		service_deadlines(&server->service);
		show_progress(server);
	}
	output_progress(&server->output, NULL);
}

/* Prints what was done, unless the only client has just left a line. */
static void show_totals(const struct server *server)
{
	const struct totals *totals = &server->service.totals;
	char text[TOTALS_TEXT];

	if (server->options.count == 1 && !server->stopping)
		return;
	totals_text(totals, deadline_now(), text);
	text_append(text, sizeof(text), ".");
	output_result(&server->output, NULL, text);
}

/* Prints why the server cannot start and, with --json, the document. Returns the exit status. */
static enum exit_status report_start(struct server *server, const struct failure *failure)
{
	const struct options *options = &server->options;
	char text[OUTPUT_FAILURE_SIZE];
	const char *message = output_outcome(&server->output, failure, listen_name(options), text);

	if (options->json)
		report_without_connection(
			&server->service.settings, options->mode, NULL, failure, message);
	return explain_status(failure);
}

/*
 * Checks the files named by the options, then listens and serves clients. Returns the exit status.
 */
static enum exit_status run(struct server *server)
{
	const struct options *options = &server->options;
	struct service *service = &server->service;
	struct failure failure = {0};
	char addresses[LISTEN_LIST_SIZE];

	if (options->port_file)
		port_file_remove(options->port_file);
	if (take_stdio(server, &failure) || settings_prepare(&service->settings, &failure) ||
		start_listening(server, &failure) ||
		listen_check_host(options, &server->output, addresses, &failure)) {
		return report_start(server, &failure);
	}
	show_memory(server);
	if (announce(server, addresses))
		return STATUS_FAILED;
	serve(server);
	service_print_counts(service);
	show_totals(server);
	if (server->broken || service->stuck)
		return STATUS_FAILED;
	return options->count ? service->first_error : STATUS_OK;
}

/* `rdma-server status`. */
static enum exit_status ask_status(struct server *server)
{
	server->output = startup_output("rdma-server", &server->options);
	return status_query(&server->options, &server->output);
}

static void tear_down(struct server *server)
{
	service_free(&server->service);
	if (server->service.channel)
		channel_destroy(server->service.channel);
	settings_end(&server->service.settings);
	if (*server->secret_path)
		close(server->secret);
	wakeup_queue_close(&server->service.wakeups);
	if (server->loop.take_status)
		close(server->loop.status);
	if (server->loop.signals >= 0)
		close(server->loop.signals);
}

int main(int argc, char *argv[])
{
	struct server server = {0};
	enum exit_status status;
	char greeting[64];

	output_start();
	server.output.program = "rdma-server";
	if (startup_options(&server.options, PROGRAM_SERVER, argc, argv, &server.output, &status))
		return (int)status;
	if (server.options.command == CLI_STATUS) {
		status = ask_status(&server);
	} else if (server.options.command == CLI_RECEIVE_GROUP) {
		status = multicast_receive(
			&server.options, server.output.program, &server.loop.signal);
	} else {
		status = set_up(&server, greeting) ? STATUS_FAILED : run(&server);
		tear_down(&server);
	}
	options_free(&server.options);
	return signals_end(server.loop.signal, (int)output_finish(&server.output, status));
}
