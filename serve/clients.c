/* The clients of a server: see serve/clients.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/deadline.h"
#include "base/explain.h"
#include "host/sysfs.h"
#include "serve/admission.h"
#include "serve/clients.h"
#include "stream/source.h"

/* How long a client that is being disconnected may take before it is freed as it is. */
#define CLOSING_MS 2000

/* How long one that is evicted may take to hear why. */
#define EVICTED_MS 2000

/* How long the kernel may take to remove a device, and how often we look. */
#define REMOVAL_MS      2000
#define REMOVAL_LOOK_MS 100

struct client {
	TAILQ_ENTRY(client) next;
	struct client_queue *queue; /* the one that it is in */
	struct served_device *served;
	struct connection *connection;
	struct slot slot;
	deadline_t deadline;
	bool connected; /* rdmacm has reported it */
	bool admitted;  /* it has proved that it holds our secret, if there is one */
	bool gone;      /* no rdmacm event is awaited any more */
	bool drained;   /* the CQ thread has let go of it */
};

void service_init(struct service *service)
{
	const struct options *options = service->options;

	TAILQ_INIT(&service->connecting);
	TAILQ_INIT(&service->exchanging);
	TAILQ_INIT(&service->evicted);
	TAILQ_INIT(&service->closing);
	TAILQ_INIT(&service->abandoned);
	slots_init(&service->slots, options->max_clients, options->max_clients_per_address,
		options->handshake_timeout);
	control_sessions_init(&service->control_sessions, options->max_clients_per_address);
}

void service_report(const struct service *service, const struct failure *failure, const char *peer)
{
	char text[1024];

	explain_failure(failure, peer, service->output->verbose, text, sizeof(text));
	output_error(service->output, "%s", text);
}

/* Devices. */

/* Frees a removed device when the kernel has let it go; stops serving if that waits for us. */
static void take_removal(struct service *service, struct served_device *served)
{
	const char *name = device_name(served->device);

	if (sysfs_access("", "/sys/class/infiniband/%s", name) == SYSFS_MISSING) {
		devices_free(&service->devices, served);
	} else if (deadline_left(served->removal) == 0 && !service->stuck) {
		output_error(service->output,
			"the kernel cannot remove %s while this server has it open, so the server stops",
			name);
		service->stuck = true;
		service_stop_listening(service);
	}
}

/* Clients. */

/* Puts the client into another queue, at its end; of those without deadlines milliseconds is 0. */
static void move(struct client *client, struct client_queue *queue, int64_t milliseconds)
{
	if (client->queue)
		TAILQ_REMOVE(client->queue, client, next);
	client->queue = queue;
	client->deadline = deadline_in(milliseconds);
	TAILQ_INSERT_TAIL(queue, client, next);
}

/* Ends the client's connection, for a reason or, NULL, because all is done. */
static void close_client(
	struct service *service, struct client *client, const struct failure *reason)
{
	if (client->queue == &service->closing || client->queue == &service->abandoned)
		return;
	slots_leave(&service->slots, &client->slot);
	move(client, &service->closing, CLOSING_MS);
	connection_close(client->connection, reason);
}

/* Says how the client's exchange ended: in words, and as a document if that is wanted. */
static void report(struct service *service, struct client *client, const struct failure *outcome)
{
	const char *peer = connection_peer(client->connection);
	char text[1024];

	if (failure_is_set(outcome))
		explain_failure(outcome, peer, service->output->verbose, text, sizeof(text));
	if (failure_is_set(outcome))
		output_error(service->output, "%s", text);
	connection_report(client->connection, explain_status(outcome),
		failure_is_set(outcome) ? text : NULL, service->options->json);
}

/* Frees a client of which nothing is in use any more, and says how it ended. */
static void free_client(struct service *service, struct client *client)
{
	struct connection *connection = client->connection;
	const struct failure *outcome = connection_outcome(connection);
	uint64_t bytes, total;

	report(service, client, outcome);
	connection_progress(connection, &bytes, &total);
	service->bytes_before += bytes;
	service->used_input |= connection_used_input(connection);
	if (failure_is_set(outcome) && client->admitted && service->first_error == STATUS_OK)
		service->first_error = explain_status(outcome);
	if (client->connected)
		output_line(service->output, "peer disconnected.");
	TAILQ_REMOVE(client->queue, client, next);
	connection_destroy(connection);
	client->served->clients--;
	/* What was moved before counts as progress only while there is some. */
	if (--service->clients == 0)
		service->bytes_before = 0;
	free(client);
}

static void free_if_over(struct service *service, struct client *client)
{
	if (client->drained && client->gone)
		free_client(service, client);
}

/* Makes a client of a request that may be served, or records why that cannot be. */
static struct client *admit(struct service *service, const struct rdma_cm_event *event,
	const struct mode *mode, const struct request *request, struct failure *failure)
{
	struct served_device *served =
		devices_get(&service->devices, service->channel, event->id, failure);
	struct client *client = served ? calloc(1, sizeof(*client)) : NULL;

	if (!client) {
		failure_set(failure, FAILURE_ERRNO, PHASE_MEMORY, ENOMEM, "calloc", "");
		return NULL;
	}
	client->served = served;
	if (connection_create(&service->settings, mode, event->id, served->device, request,
		    &client->connection, failure)) {
		free(client);
		return NULL;
	}
	event->id->context = client;
	connection_set_owner(client->connection, client);
	client->slot.holder = client->connection;
	slots_take(&service->slots, &client->slot, rdma_get_peer_addr(event->id), deadline_now());
	served->clients++;
	service->clients++;
	return client;
}

void service_stop_listening(struct service *service)
{
	if (service->listener)
		rdma_destroy_id(service->listener);
	service->listener = NULL;
}

/* The client is one of those that --count allows; of strangers any number may come. */
static void count(struct service *service, struct client *client)
{
	client->admitted = true;
	if (++service->admitted == service->options->count)
		service_stop_listening(service);
}

/* Ends an exchange at which nothing moves, for the sake of a newcomer. The client is told why. */
static void evict(struct service *service, struct client *client)
{
	struct failure failure = {0};

	failure_set(&failure, FAILURE_LIMIT, PHASE_EXCHANGE, LIMIT_IDLE, "--max-clients",
		"for %.1f s", (double)(deadline_now() - client->slot.moved) / 1000);
	slots_leave(&service->slots, &client->slot);
	move(client, &service->evicted, EVICTED_MS);
	connection_cancel(client->connection, &failure);
}

/* The device is needed for its anchor: nobody else would tell us that it is being removed. */
static enum refusal take_diagnosis(
	struct service *service, const struct rdma_cm_event *request, const struct hello *theirs)
{
	const struct sockaddr *address = rdma_get_peer_addr(request->id);
	const struct mode *mode = service->options->mode;
	struct slot *idlest;
	const struct control_server server = {
		.mode = mode ? mode->name : "any",
		.clients = service->slots.taken,
		.most = service->slots.most,
		.room = admission_capacity(service, address, &idlest),
	};
	struct failure failure = {0};
	char peer[ADDRESS_TEXT_SIZE];

	if (devices_get(&service->devices, service->channel, request->id, &failure))
		return control_sessions_take(
			&service->control_sessions, &service->settings, &server, request, theirs);
	address_port_text(address, peer);
	service_report(service, &failure, peer);
	return REFUSAL_RESOURCES;
}

static void connect_request(struct service *service, const struct rdma_cm_event *event)
{
	struct failure failure = {0};
	struct request request = {0};
	const struct mode *mode = NULL;
	struct slot *idlest = NULL;
	struct client *client;
	enum refusal refusal;
	char peer[ADDRESS_TEXT_SIZE];
	int error;

	output_line(service->output, "received connection request.");
	refusal = service->listener ? admission_judge(service, event, &mode, &request)
				    : REFUSAL_STOPPING;
	if (refusal == REFUSAL_NONE && hello_is_control(&request.theirs)) {
		refusal = take_diagnosis(service, event, &request.theirs);
		if (refusal == REFUSAL_NONE)
			return;
	}
	if (refusal == REFUSAL_NONE)
		refusal = admission_let_in(service, rdma_get_peer_addr(event->id), &idlest);
	if (idlest)
		evict(service, connection_owner(idlest->holder));
	if (refusal != REFUSAL_NONE) {
		admission_refuse(service, event->id, refusal);
		return;
	}
	client = admit(service, event, mode, &request, &failure);
	if (!client) {
		address_port_text(rdma_get_peer_addr(event->id), peer);
		service_report(service, &failure, peer);
		admission_refuse(service, event->id,
			failure.kind == FAILURE_FILE ? REFUSAL_INPUT : REFUSAL_RESOURCES);
		return;
	}
	move(client, &service->connecting, service->options->handshake_timeout);
	error = connection_accept(client->connection);
	if (error) {
		failure_set(&failure, FAILURE_ERRNO, PHASE_CONNECT, -error, "rdma_accept", "%s",
			strerror(-error));
		client->gone = true; /* it never was connected */
		close_client(service, client, &failure);
	}
	if (!service->settings.secret)
		count(service, client);
}

/* Events. */

/*
 * Waits neither for rdmacm nor for work requests: the CQ thread lets go of the client next. Only its
 * files may take longer.
 */
static void give_up(struct service *service, struct client *client, const struct failure *reason)
{
	client->gone = true;
	slots_leave(&service->slots, &client->slot);
	move(client, &service->abandoned, 0);
	connection_abandon(client->connection, reason);
}

/* The same for those in a queue that came through this device, or through any if it is NULL. */
static void give_up_all(struct service *service, struct client_queue *queue,
	const struct served_device *served, const struct failure *reason)
{
	struct client *client, *after;

	for (client = TAILQ_FIRST(queue); client; client = after) {
		after = TAILQ_NEXT(client, next);
		if (!served || client->served == served)
			give_up(service, client, reason);
	}
}

static void device_removed(struct service *service, struct served_device *served)
{
	struct failure failure = {0};

	output_error(service->output, "the RDMA device %s is being removed",
		device_name(served->device));
	served->removed = true;
	served->removal = deadline_in(REMOVAL_MS);
	failure_set(
		&failure, FAILURE_REMOVED, PHASE_EXCHANGE, 0, "RDMA_CM_EVENT_DEVICE_REMOVAL", "");
	give_up_all(service, &service->connecting, served, &failure);
	give_up_all(service, &service->exchanging, served, &failure);
	give_up_all(service, &service->evicted, served, &failure);
	give_up_all(service, &service->closing, served, &failure);
}

/* Of a server that is bound to one device: nobody can come any more. */
static void listener_removed(struct service *service)
{
	output_error(service->output,
		"the RDMA device that this server listens on is being removed, so the server stops");
	service->stuck = true;
	service_stop_listening(service);
}

/* An event about a connection that did not come to be, or that broke. */
static void connection_failed(
	struct service *service, struct client *client, const struct rdma_cm_event *event)
{
	struct failure failure = {0};

	if (client->connected || event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		failure_from_event(
			&failure, event, PHASE_EXCHANGE, connection_peer(client->connection));
	else /* what an event advises the active side is no use to us */
		failure_set(&failure, FAILURE_GONE, PHASE_CONNECT, event->status,
			rdma_event_str(event->event), "%s", rdma_event_str(event->event));
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
	case RDMA_CM_EVENT_TIMEWAIT_EXIT: /* the queue pair number may be used again */
	case RDMA_CM_EVENT_ADDR_CHANGE:   /* a bonded interface failed over; the path stays */
		return;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		if (event->id == service->listener)
			listener_removed(service);
		served = devices_anchored(&service->devices, event->id);
		if (served)
			device_removed(service, served);
		else if (client)
			connection_failed(service, client, event);
		return;
	default:
		if (client)
			connection_failed(service, client, event);
		return;
	}
}

/* The handshake is over: the client may take its time, but not for ever do nothing. */
static void settle(struct service *service, struct client *client)
{
	client->slot.settled = true;
	if (client->queue == &service->connecting)
		move(client, &service->exchanging, 0);
}

void service_wakeup(struct service *service, const struct wakeup *wakeup, unsigned int events)
{
	struct client *client;

	if (control_sessions_take_event(&service->control_sessions, wakeup, events))
		return;
	client = connection_owner(wakeup->about);
	if (events & CONNECTION_AUTHENTICATED)
		count(service, client);
	if (events & CONNECTION_HANDSHAKE_DONE)
		settle(service, client);
	/* The active side disconnects; we wait for it unless the exchange failed. */
	if (events & CONNECTION_FINISHED)
		close_client(service, client, NULL);
	if (connection_drained(client->connection, events)) {
		client->drained = true;
		free_if_over(service, client);
	}
}

void service_deadlines(struct service *service)
{
	struct client *client;
	struct served_device *served;
	struct failure failure = {0};

	failure_set(&failure, FAILURE_DEADLINE, PHASE_EXCHANGE, LIMIT_HANDSHAKE,
		"--handshake-timeout", "");
	while ((client = TAILQ_FIRST(&service->connecting)) && deadline_left(client->deadline) == 0)
		close_client(service, client, &failure);
	/* Nothing could be sent to it any more; it has the reason already. */
	while ((client = TAILQ_FIRST(&service->evicted)) && deadline_left(client->deadline) == 0)
		close_client(service, client, NULL);
	failure = (struct failure){0};
	failure_set(&failure, FAILURE_DEADLINE, PHASE_EXCHANGE, ETIMEDOUT, "--timeout", "");
	while ((client = TAILQ_FIRST(&service->closing)) && deadline_left(client->deadline) == 0) {
		/* The other side does not answer the disconnect: it is over all the same. */
		give_up(service, client, &failure);
		free_if_over(service, client);
	}
	served = devices_removed(&service->devices);
	if (served)
		take_removal(service, served);
}

int service_next_deadline(const struct service *service)
{
	const struct client_queue *queues[] = {
		&service->connecting, &service->evicted, &service->closing};
	int left, next = -1;

	if (devices_removed(&service->devices) && !service->stuck)
		next = REMOVAL_LOOK_MS;
	for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
		if (TAILQ_EMPTY(queues[i]))
			continue;
		left = deadline_left(TAILQ_FIRST(queues[i])->deadline);
		if (next < 0 || left < next)
			next = left;
	}
	return next;
}

void service_progress(const struct service *service, uint64_t *bytes, uint64_t *total)
{
	struct client *client;
	uint64_t its_bytes, its_total;

	*bytes = service->bytes_before;
	*total = *bytes;
	TAILQ_FOREACH (client, &service->exchanging, next) {
		connection_progress(client->connection, &its_bytes, &its_total);
		*bytes += its_bytes;
		*total = its_total == STREAM_SIZE_UNKNOWN || *total == STREAM_SIZE_UNKNOWN
				 ? STREAM_SIZE_UNKNOWN
				 : *total + its_total;
	}
}

void service_end_clients(struct service *service, const struct failure *reason, bool events_lost)
{
	struct client *client;

	control_sessions_stop(&service->control_sessions);
	while ((client = TAILQ_FIRST(&service->connecting)))
		close_client(service, client, reason);
	TAILQ_FOREACH (client, &service->exchanging, next)
		connection_cancel(client->connection, reason);
	if (!events_lost)
		return;
	give_up_all(service, &service->exchanging, NULL, reason);
	give_up_all(service, &service->evicted, NULL, reason);
	give_up_all(service, &service->closing, NULL, reason);
}

bool service_over(const struct service *service)
{
	return !service->listener && service->clients == 0 &&
	       service->control_sessions.slots.taken == 0;
}

void service_free(struct service *service)
{
	service_stop_listening(service);
	devices_free_all(&service->devices);
}
