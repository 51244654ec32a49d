/*
 * Clients of a server and their states; serve/service.h documents ownership. Everything runs on the
 * main thread: CQ threads and control sessions only post wakeups.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/deadline.h"
#include "base/explain.h"
#include "host/memory-budget.h"
#include "host/sysfs.h"
#include "serve/service.h"
#include "stream/source.h"

/* Time limit for sending an evicted client the reason, in milliseconds. */
#define EVICTED_MS 2000

/* Time limit for disconnecting and draining a client, in milliseconds. */
#define CLOSING_MS 1500

/* Time limit for the kernel to remove a device, and interval between checks, in milliseconds. */
#define REMOVAL_MS       2000
#define REMOVAL_CHECK_MS 100

struct client {
	TAILQ_ENTRY(client) next; /* in the queue of its state */
	enum client_state state;
	deadline_t deadline; /* if the state has one */
	struct served_device *served;
	struct rdma_cm_id *id;         /* owned until the connection exists */
	const struct mode *mode;       /* requested */
	struct request request;        /* of the client */
	struct opening opening;        /* of the input */
	struct connection *connection; /* NULL until the input has been opened */
	struct slot slot;
	bool connected;      /* rdmacm reported RDMA_CM_EVENT_ESTABLISHED */
	deadline_t accepted; /* when the server's reply was sent; 0: not yet */
	bool admitted;       /* counts for --count: authenticated, if there is a secret */
	bool gone;           /* no more rdmacm events will arrive for it */
	bool drained;        /* the CQ thread has released the connection */
};

void service_init(struct service *service)
{
	const struct options *options = service->options;
	struct admission *admission = &service->admission;

	for (size_t state = 0; state < CLIENT_STATES; state++)
		TAILQ_INIT(&service->clients[state]);
	admission->options = options;
	admission->settings = &service->settings;
	admission->log = &service->log;
	client_log_init(&service->log, service->output);
	/* Determined once: later, the file system might not respond. */
	admission->exclusive = (options->input && output_file_is_shared(options->input)) ||
			       (options->output && output_file_is_shared(options->output));
	slots_init(&admission->slots, options->max_clients, options->max_clients_per_address,
		options->handshake_timeout);
	service->totals.start = deadline_now();
	admission->totals = &service->totals;
	control_sessions_init(&service->control_sessions, options->max_clients_per_address,
		&service->log, &service->totals);
}

/* Devices. */

/* Frees a device once the kernel has removed it; stops the server if the removal takes too long. */
static void complete_removal(struct service *service, struct served_device *served)
{
	const char *name = device_name(served->device);

	if (sysfs_access("", "/sys/class/infiniband/%s", name) == SYSFS_MISSING) {
		devices_free(&service->devices, served);
	} else if (deadline_left(served->removal) == 0 && !service->stuck) {
		output_error(service->output,
			"the kernel cannot remove %s while it is open; stopping the server", name);
		service->stuck = true;
		service_stop_listening(service);
	}
}

/* Clients. */

/* Reports a failure that concerns a client without a connection. */
static void report_failure(
	struct service *service, const struct rdma_cm_id *id, const struct failure *failure)
{
	char peer[ADDRESS_TEXT_SIZE], text[OUTPUT_FAILURE_SIZE];

	address_port_text(rdma_get_peer_addr((struct rdma_cm_id *)id), peer);
	client_log_failure(&service->log, failure, peer, text, deadline_now());
}

/* Moves the client to a later state, whose deadline, if any, is this many milliseconds away. */
static void set_state(struct service *service, struct client *client, enum client_state state,
	int64_t milliseconds)
{
	TAILQ_REMOVE(&service->clients[client->state], client, next);
	client->state = state;
	client->deadline = deadline_in(milliseconds);
	TAILQ_INSERT_TAIL(&service->clients[state], client, next);
	if (state > CLIENT_EXCHANGING)
		slots_release(&service->admission.slots, &client->slot);
}

/* Closes the client's connection, for a reason or, if NULL, because the exchange is complete. */
static void close_client(
	struct service *service, struct client *client, const struct failure *reason)
{
	if (client->state >= CLIENT_CLOSING)
		return;
	set_state(service, client, CLIENT_CLOSING, CLOSING_MS);
	connection_close(client->connection, reason);
}

/* Frees the client, which has no connection any longer or never had one. */
static void forget_client(struct service *service, struct client *client)
{
	TAILQ_REMOVE(&service->clients[client->state], client, next);
	slots_release(&service->admission.slots, &client->slot);
	client->served->clients--;
	/* Bytes of finished clients count as progress while others are connected. */
	if (--service->admission.clients == 0)
		service->moved_before = service->there_before = 0;
	free(client);
}

/* Refuses a client that has no connection yet, and frees it. */
static void refuse_client(struct service *service, struct client *client, enum refusal refusal)
{
	struct rdma_cm_id *id = client->id;

	if (client->state == CLIENT_OPENING)
		opener_cancel(service->opener, &client->opening);
	forget_client(service, client);
	admission_refuse(&service->admission, id, refusal);
}

/* Evicts a client that moves no data, to admit a new client, and sends it the reason. */
static void evict(struct service *service, struct client *client)
{
	struct failure failure = {0};

	failure_set(&failure, FAILURE_LIMIT, PHASE_EXCHANGE, LIMIT_IDLE, "--max-clients",
		"idle for %.1f s", (double)(deadline_now() - client->slot.last_active) / 1000);
	set_state(service, client, CLIENT_EVICTED, EVICTED_MS);
	connection_cancel(client->connection, &failure);
}

/*
 * Refuses a client because all others use the memory budget. It retries, so an idle client makes
 * room for it, unless the memory of another is about to be returned.
 */
static void refuse_for_memory(
	struct service *service, struct client *client, const struct failure *failure)
{
	const struct sockaddr *peer = rdma_get_peer_addr(client->id);
	bool waits = !TAILQ_EMPTY(&service->clients[CLIENT_EVICTED]) ||
		     !TAILQ_EMPTY(&service->clients[CLIENT_CLOSING]);
	struct slot *evicted;

	/* Its own slot must not make its address look full. */
	slots_release(&service->admission.slots, &client->slot);
	evicted = waits ? NULL : admission_evictable(&service->admission, peer);
	output_detail(service->output, "no memory for another client: %s", failure->evidence);
	if (evicted)
		evict(service, connection_owner(evicted->holder));
	refuse_client(service, client, REFUSAL_MEMORY);
}

/* Reports why a client that has no connection yet cannot be served, and refuses it. */
static void fail_client(
	struct service *service, struct client *client, const struct failure *failure)
{
	if (failure_is_for_memory(failure)) {
		refuse_for_memory(service, client, failure);
		return;
	}
	report_failure(service, client->id, failure);
	refuse_client(
		service, client, failure->kind == FAILURE_FILE ? REFUSAL_INPUT : REFUSAL_RESOURCES);
}

/*
 * Stops waiting for rdmacm events and work requests: the CQ thread releases the connection next.
 * Only its worker threads may take longer.
 */
static void abandon_client(
	struct service *service, struct client *client, const struct failure *reason)
{
	if (client->state == CLIENT_OPENING) {
		fail_client(service, client, reason);
		return;
	}
	client->gone = true;
	set_state(service, client, CLIENT_ABANDONED, 0);
	connection_abandon(client->connection, reason);
}

/* Abandons all clients of this device or, if it is NULL, of all devices. */
static void abandon_clients(
	struct service *service, const struct served_device *served, const struct failure *reason)
{
	struct client *client, *after;

	for (size_t state = 0; state < CLIENT_ABANDONED; state++)
		for (client = TAILQ_FIRST(&service->clients[state]); client; client = after) {
			after = TAILQ_NEXT(client, next);
			if (!served || client->served == served)
				abandon_client(service, client, reason);
		}
}

/* Prints the outcome of the client's exchange: a line and, with --json, a document. */
static void report(struct service *service, struct client *client, const struct failure *outcome)
{
	char text[OUTPUT_FAILURE_SIZE];
	const char *message;

	connection_report_omitted(client->connection);
	message = client_log_failure(
		&service->log, outcome, connection_peer(client->connection), text, deadline_now());
	connection_report(client->connection, outcome, message, service->options->json);
}

/* Reports the client's outcome and frees the client, which is no longer in use. */
static void free_client(struct service *service, struct client *client)
{
	struct connection *connection = client->connection;
	const struct failure *outcome = connection_outcome(connection);
	struct progress_state progress;

	report(service, client, outcome);
	progress = connection_progress(connection);
	totals_add(&service->totals.exchanges, failure_is_set(outcome), &service->totals.exchanged,
		progress.moved);
	service->moved_before += progress.moved;
	service->there_before += progress.there;
	service->admission.used_input |= connection_used_input(connection);
	if (failure_is_set(outcome) && client->admitted && service->first_error == STATUS_OK)
		service->first_error = explain_status(outcome);
	if (client->connected)
		client_log_step(&service->log, connection_peer(connection), "peer disconnected.");
	connection_destroy(connection);
	forget_client(service, client);
}

static void free_if_over(struct service *service, struct client *client)
{
	if (client->drained && client->gone)
		free_client(service, client);
}

/*
 * Creates a client, which holds a slot, for an admitted request. Returns NULL with the failure
 * recorded on error.
 */
static struct client *make_client(struct service *service, struct rdma_cm_id *id,
	const struct mode *mode, const struct request *request, struct failure *failure)
{
	struct served_device *served =
		devices_get(&service->devices, service->channel, id, failure);
	struct client *client = served ? calloc(1, sizeof(*client)) : NULL;

	if (!client) {
		failure_set(failure, FAILURE_ERRNO, PHASE_ALLOCATION, ENOMEM, "calloc", "");
		return NULL;
	}
	client->served = served;
	client->id = id;
	client->mode = mode;
	client->request = *request;
	client->state = service->settings.input ? CLIENT_OPENING : CLIENT_CONNECTING;
	client->deadline = deadline_in(service->options->handshake_timeout);
	TAILQ_INSERT_TAIL(&service->clients[client->state], client, next);
	slots_take(
		&service->admission.slots, &client->slot, rdma_get_peer_addr(id), deadline_now());
	served->clients++;
	service->admission.clients++;
	return client;
}

void service_stop_listening(struct service *service)
{
	struct client *client;

	listeners_stop(&service->listeners);
	while ((client = TAILQ_FIRST(&service->clients[CLIENT_OPENING])))
		refuse_client(service, client, REFUSAL_STOPPING);
}

/* Counts the client for --count, which counts authenticated clients only. */
static void count(struct service *service, struct client *client)
{
	client->admitted = true;
	if (++service->admitted == service->options->count)
		service_stop_listening(service);
}

/*
 * Starts a control session. The bound id of its device keeps the device open and reports its
 * removal.
 */
static enum refusal start_control_session(
	struct service *service, const struct rdma_cm_event *request, const struct hello *theirs)
{
	const struct sockaddr *address = rdma_get_peer_addr(request->id);
	const struct mode *mode = service->options->mode;
	struct slot *least_active;
	const struct control_server server = {
		.mode = mode ? mode->name : mode_any.name,
		.clients = service->admission.slots.taken,
		.most = service->admission.slots.capacity,
		.full = admission_capacity(&service->admission, address, &least_active),
		.channel = service->channel,
	};
	struct failure failure = {0};

	if (devices_get(&service->devices, service->channel, request->id, &failure))
		return control_sessions_take(
			&service->control_sessions, &service->settings, &server, request, theirs);
	report_failure(service, request->id, &failure);
	return REFUSAL_RESOURCES;
}

/* Creates the connection of a client whose input has been opened, and accepts it. */
static void accept_client(struct service *service, struct client *client)
{
	struct failure failure = {0};
	char used[MEMORY_BUDGET_USED];

	if (connection_create(&service->settings, client->mode, client->id, client->served->device,
		    &client->request, &client->connection, &failure)) {
		opener_close(service->opener, client->request.source);
		fail_client(service, client, &failure);
		return;
	}
	if (service->output->verbose)
		output_detail(service->output, "memory in use: %s", memory_budget_used(used));
	client->id->context = client;
	connection_set_owner(client->connection, client);
	client->slot.holder = client->connection;
	if (connection_accept(client->connection, &failure)) {
		client->gone = true; /* it was never connected */
		close_client(service, client, &failure);
	}
	client->accepted = deadline_now();
	if (!service->settings.secret)
		count(service, client);
}

/* Has the input opened for the client. */
static void open_input(struct service *service, struct client *client)
{
	struct failure failure = {0};

	if (!service->opener && opener_start(&service->opener, &service->settings, &failure))
		fail_client(service, client, &failure);
	else
		opener_open(service->opener, &client->opening, client);
}

/* The opener has opened the input, or could not. */
static void input_opened(struct service *service, struct client *client)
{
	struct opening *opening = &client->opening;

	if (failure_is_set(&opening->failure)) {
		fail_client(service, client, &opening->failure);
		return;
	}
	client->request.source = opening->source;
	opening->source = NULL;
	set_state(service, client, CLIENT_CONNECTING, deadline_left(client->deadline));
	accept_client(service, client);
}

/* Serves an admitted client. Returns REFUSAL_NONE, or the reason for the failure. */
static enum refusal serve_client(struct service *service, const struct rdma_cm_event *event,
	const struct mode *mode, const struct request *request)
{
	struct failure failure = {0};
	struct client *client = make_client(service, event->id, mode, request, &failure);

	if (!client) {
		report_failure(service, event->id, &failure);
		return REFUSAL_RESOURCES;
	}
	if (client->state == CLIENT_OPENING)
		open_input(service, client);
	else
		accept_client(service, client);
	return REFUSAL_NONE;
}

static void connect_request(struct service *service, const struct rdma_cm_event *event)
{
	struct request request = {0};
	const struct mode *mode = NULL;
	struct slot *evicted = NULL;
	enum refusal refusal = REFUSAL_STOPPING;
	char peer[ADDRESS_TEXT_SIZE];

	if (service->listeners.count > 0)
		refusal = admission_check(&service->admission, event, &mode, &request);
	if (refusal == REFUSAL_NONE && hello_is_control(&request.theirs)) {
		refusal = start_control_session(service, event, &request.theirs);
	} else if (refusal == REFUSAL_NONE) {
		refusal = admission_admit(
			&service->admission, rdma_get_peer_addr(event->id), &evicted);
		if (evicted)
			evict(service, connection_owner(evicted->holder));
		if (refusal == REFUSAL_NONE) {
			address_port_text(rdma_get_peer_addr(event->id), peer);
			request.counted = client_log_is_counting(&service->log, peer);
			if (!request.counted)
				output_step(service->output, peer, "received connection request.");
			refusal = serve_client(service, event, mode, &request);
		}
	}
	if (refusal != REFUSAL_NONE)
		admission_refuse(&service->admission, event->id, refusal);
}

/* Events. */

static void device_removed(struct service *service, struct served_device *served)
{
	struct failure failure = {0};

	output_error(
		service->output, "RDMA device %s is being removed", device_name(served->device));
	served->removed = true;
	served->removal = deadline_in(REMOVAL_MS);
	failure_set(
		&failure, FAILURE_REMOVED, PHASE_EXCHANGE, 0, "RDMA_CM_EVENT_DEVICE_REMOVAL", "");
	abandon_clients(service, served, &failure);
}

/* The listener's device is being removed: no more clients can connect. */
static void listener_removed(struct service *service)
{
	output_error(service->output,
		"the listener's RDMA device is being removed; stopping the server");
	service->stuck = true;
	service_stop_listening(service);
}

/*
 * Records why a connection was not established; explanations of events are written for the active
 * side.
 */
static void handshake_failed(
	const struct client *client, const struct rdma_cm_event *event, struct failure *failure)
{
	const char *name = rdma_event_str(event->event);

	failure_from_event(failure, event, PHASE_CONNECT);
	if (failure->kind == FAILURE_PATH) /* which this side has found */
		return;
	if (client->accepted && failure_reply_lost(failure, deadline_now() - client->accepted))
		return;
	*failure = (struct failure){0};
	failure_set(failure, FAILURE_GONE, PHASE_CONNECT, event->status, name, "%s", name);
}

/* Handles an event for a connection that was not established or that broke. */
static void connection_failed(
	struct service *service, struct client *client, const struct rdma_cm_event *event)
{
	struct failure failure = {0};

	if (client->connected || event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		failure_from_event(&failure, event, PHASE_EXCHANGE);
	else
		handshake_failed(client, event, &failure);
	client->gone = true;
	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		connection_abandon(client->connection, &failure);
	close_client(service, client, &failure);
	free_if_over(service, client);
}

void service_event(struct service *service, const struct rdma_cm_event *event)
{
	struct client *client = event->id->context;
	struct served_device *served;
	struct failure failure = {0};

	output_detail(
		service->output, "%s, status %d", rdma_event_str(event->event), event->status);
	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		connect_request(service, event);
		return;
	case RDMA_CM_EVENT_ESTABLISHED:
		client->connected = true;
		if (connection_established(client->connection, &event->param.conn, &failure))
			close_client(service, client, &failure);
		return;
	case RDMA_CM_EVENT_DISCONNECTED:
		client->connected = client->gone = true;
		connection_disconnected(client->connection);
		close_client(service, client, NULL);
		free_if_over(service, client);
		return;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		if (listeners_include(&service->listeners, event->id))
			listener_removed(service);
		served = devices_of(&service->devices, event->id);
		if (served)
			device_removed(service, served);
		else if (client)
			connection_failed(service, client, event);
		return;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		if (client)
			connection_failed(service, client, event);
		return;
	default:
		/*
		 * A failover of a bonded interface, whose path is the same; what only clients or
		 * datagrams have; and events of newer releases of librdmacm.
		 */
		return;
	}
}

void service_wakeup(struct service *service, const struct wakeup *wakeup, unsigned int events)
{
	struct client *client;

	if (control_sessions_take_event(&service->control_sessions, wakeup, events))
		return;
	if (events & OPENING_DONE) {
		input_opened(service, wakeup->about);
		return;
	}
	client = connection_owner(wakeup->about);
	if (events & CONNECTION_AUTHENTICATED)
		count(service, client);
	if (events & CONNECTION_HANDSHAKE_DONE) {
		client->slot.evictable = true;
		if (client->state == CLIENT_CONNECTING)
			set_state(service, client, CLIENT_EXCHANGING, 0);
	}
	/* The client disconnects first, unless the exchange failed. */
	if (events & CONNECTION_FINISHED)
		close_client(service, client, NULL);
	if (connection_drained(client->connection, events)) {
		client->drained = true;
		free_if_over(service, client);
	}
}

/* Returns the first client in this state if its deadline has passed, otherwise NULL. */
static struct client *overdue(const struct service *service, enum client_state state)
{
	struct client *client = TAILQ_FIRST(&service->clients[state]);

	return client && deadline_left(client->deadline) == 0 ? client : NULL;
}

void service_deadlines(struct service *service)
{
	struct failure opening = {0}, handshake = {0}, disconnect = {0};
	struct served_device *served;
	struct client *client;

	failure_set(&opening, FAILURE_FILE, PHASE_EXCHANGE, ETIMEDOUT, "--handshake-timeout",
		"opening the input took longer than --handshake-timeout");
	opening.path = service->settings.input;
	while ((client = overdue(service, CLIENT_OPENING)))
		fail_client(service, client, &opening);
	failure_set(&handshake, FAILURE_DEADLINE, PHASE_EXCHANGE, LIMIT_HANDSHAKE,
		"--handshake-timeout", "");
	while ((client = overdue(service, CLIENT_CONNECTING)))
		close_client(service, client, &handshake);
	/* The outcome is the eviction, whether or not the reason was sent. */
	while ((client = overdue(service, CLIENT_EVICTED)))
		close_client(service, client, NULL);
	/* The client has not confirmed the disconnect. */
	failure_set(&disconnect, FAILURE_DEADLINE, PHASE_EXCHANGE, ETIMEDOUT, "--timeout", "");
	while ((client = overdue(service, CLIENT_CLOSING))) {
		abandon_client(service, client, &disconnect);
		free_if_over(service, client);
	}
	served = devices_unused(&service->devices);
	if (served && served->removed)
		complete_removal(service, served);
	else if (served)
		devices_free(&service->devices, served);
	client_log_print_counts(&service->log, deadline_now());
}

int service_next_deadline(struct service *service)
{
	static const enum client_state states[] = {
		CLIENT_OPENING, CLIENT_CONNECTING, CLIENT_EVICTED, CLIENT_CLOSING};
	int next = devices_unused(&service->devices) && !service->stuck ? REMOVAL_CHECK_MS : -1;
	int log = client_log_next(&service->log, deadline_now());

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		const struct client *client = TAILQ_FIRST(&service->clients[states[i]]);
		int left = client ? deadline_left(client->deadline) : -1;

		if (client && (next < 0 || left < next))
			next = left;
	}
	return log >= 0 && (next < 0 || log < next) ? log : next;
}

bool service_is_exchanging(const struct service *service)
{
	return !TAILQ_EMPTY(&service->clients[CLIENT_EXCHANGING]);
}

struct progress_state service_progress(const struct service *service)
{
	const struct client *first = TAILQ_FIRST(&service->clients[CLIENT_EXCHANGING]), *client;
	struct progress_state sum = {0}, its;

	/* With several clients, there is no current file, and some may move while others check. */
	if (first && !TAILQ_NEXT(first, next))
		sum = connection_progress(first->connection);
	else
		TAILQ_FOREACH (client, &service->clients[CLIENT_EXCHANGING], next) {
			its = connection_progress(client->connection);
			sum.moved += its.moved;
			sum.there += its.there;
			sum.total = its.total == PROGRESS_UNKNOWN || sum.total == PROGRESS_UNKNOWN
					    ? PROGRESS_UNKNOWN
					    : sum.total + its.total;
		}
	sum.moved += service->moved_before;
	sum.there += service->there_before;
	if (sum.total != PROGRESS_UNKNOWN)
		sum.total += service->moved_before + service->there_before;
	return sum;
}

bool service_take_resumed(struct service *service, struct progress_state *progress)
{
	struct client *client;

	TAILQ_FOREACH (client, &service->clients[CLIENT_EXCHANGING], next)
		if (connection_take_resumed(client->connection, true, progress))
			return true;
	return false;
}

void service_end_clients(struct service *service, const struct failure *reason, bool events_lost)
{
	struct client *client;

	control_sessions_stop(&service->control_sessions);
	while ((client = TAILQ_FIRST(&service->clients[CLIENT_CONNECTING])))
		close_client(service, client, reason);
	TAILQ_FOREACH (client, &service->clients[CLIENT_EXCHANGING], next)
		connection_cancel(client->connection, reason);
	if (events_lost)
		abandon_clients(service, NULL, reason);
}

unsigned int service_clients(const struct service *service)
{
	return service->admission.clients + service->control_sessions.slots.taken;
}

void service_running_text(const struct service *service, char text[TOTALS_RUNNING_TEXT])
{
	unsigned int measurements, diagnoses;

	control_sessions_count(&service->control_sessions, &measurements, &diagnoses);
	totals_running_text(service->admission.clients, measurements, diagnoses, text);
}

/* Describes a client that exchanges data. */
static struct service_client describe(const struct client *client, char peer[ADDRESS_TEXT_SIZE])
{
	struct service_client described = {
		.peer = peer,
		.kind = "exchange",
		.state = client->state < CLIENT_EXCHANGING    ? "connecting"
			 : client->state == CLIENT_EXCHANGING ? "exchanging"
							      : "closing",
		.mode = client->mode->name,
		.device = device_name(client->served->device),
	};

	if (client->connection) {
		described.peer = connection_peer(client->connection);
		described.progress = connection_progress(client->connection);
	} else {
		address_port_text(rdma_get_peer_addr(client->id), peer);
	}
	return described;
}

/* What service_each() passes on for a control session. */
struct passing {
	void *user;
	void (*take)(void *user, const struct service_client *client);
};

static void pass_on(void *user, const struct control_session_state *state)
{
	const struct passing *passing = user;
	struct service_client client = {.peer = state->peer,
		.kind = state->kind,
		.device = state->device,
		.progress = {.total = PROGRESS_UNKNOWN}};

	/* The tests of a diagnosis are too short to be seen. */
	if (strcmp(state->kind, "measurement") == 0 && state->test.size > 0) {
		client.mode = state->test.operation->name;
		client.test = state->test.kind == TEST_LATENCY ? "latency" : "bandwidth";
		client.size = state->test.size;
		client.progress.moved = state->moved;
	}
	passing->take(passing->user, &client);
}

void service_each(const struct service *service, void *user,
	void (*take)(void *user, const struct service_client *client))
{
	struct passing passing = {.user = user, .take = take};
	struct service_client described;
	char peer[ADDRESS_TEXT_SIZE];
	const struct client *client;

	for (size_t state = 0; state < CLIENT_STATES; state++)
		TAILQ_FOREACH (client, &service->clients[state], next) {
			described = describe(client, peer);
			take(user, &described);
		}
	control_sessions_each(&service->control_sessions, &passing, pass_on);
}

bool service_over(const struct service *service)
{
	return service->listeners.count == 0 && service_clients(service) == 0;
}

void service_print_counts(struct service *service)
{
	client_log_print_counts(&service->log, INT64_MAX);
}

void service_free(struct service *service)
{
	service_stop_listening(service);
	opener_stop(service->opener);
	devices_free_all(&service->devices);
	client_log_end(&service->log);
}
