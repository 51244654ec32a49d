/* The clients of a server: see rdma-service.h. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "lib/deadline.h"
#include "lib/host.h"
#include "rdma-service.h"

/* How long a client that is being disconnected may take before it is freed as it is. */
#define CLOSING_MS 2000

/* How long the kernel may take to remove a device, and how often we look. */
#define REMOVAL_MS      2000
#define REMOVAL_LOOK_MS 100

struct served_device {
	SLIST_ENTRY(served_device) next;
	struct rdma_cm_id *anchor;
	struct ibv_context *verbs;
	struct device *device;
	unsigned int clients;
	bool removed;
	deadline_t removal; /* by when the kernel must have done without us */
};

struct client {
	TAILQ_ENTRY(client) next;
	struct client_queue *queue; /* the one that it is in */
	struct served_device *served;
	struct connection *connection;
	deadline_t deadline;
	bool connected; /* rdmacm has reported it */
	bool gone;      /* no rdmacm event is awaited any more */
	bool drained;   /* the CQ thread has let go of it */
};

void service_report(const struct service *service, const struct failure *failure, const char *peer)
{
	char text[1024];

	failure_explain(failure, peer, service->output->verbose, text, sizeof(text));
	output_error(service->output, "%s", text);
}

/* Devices. */

static struct served_device *find_device(struct service *service, const struct ibv_context *verbs)
{
	struct served_device *served;

	SLIST_FOREACH (served, &service->devices, next)
		if (served->verbs == verbs && !served->removed)
			return served;
	return NULL;
}

/*
 * Binds an id of ours to the device that id came through, at the local address of id or, where the
 * kernel does not take that (IPv6 link-local without its interface), at another one of the device.
 */
static int drop_anchor(struct service *service, struct served_device *served, struct rdma_cm_id *id,
	struct failure *failure)
{
	struct sockaddr_storage address = {0};
	const struct sockaddr *local = rdma_get_local_addr(id);
	const char *device = ibv_get_device_name(id->verbs->device);

	if (rdma_create_id(service->channel, &served->anchor, NULL, RDMA_PS_TCP))
		return failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, errno,
			"rdma_create_id", "%s", strerror(errno));
	memcpy(&address, local, address_length(local));
	address_set_port(&address, 0);
	if (rdma_bind_addr(served->anchor, (struct sockaddr *)&address) == 0)
		return 0;
	if (host_device_address("", device, AF_UNSPEC, &address) == HOST_READY &&
		rdma_bind_addr(served->anchor, (struct sockaddr *)&address) == 0)
		return 0;
	return failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, errno, "rdma_bind_addr",
		"cannot bind to %s: %s", device, strerror(errno));
}

static void free_device(struct served_device *served)
{
	device_stop(served->device);
	if (served->anchor)
		rdma_destroy_id(served->anchor);
	free(served);
}

/* The device that id came through, made if it is the first to come. NULL: failure recorded. */
static struct served_device *get_device(
	struct service *service, struct rdma_cm_id *id, struct failure *failure)
{
	struct served_device *served = find_device(service, id->verbs);

	if (served)
		return served;
	served = calloc(1, sizeof(*served));
	if (!served) {
		failure_set(failure, FAILURE_ERRNO, PHASE_MEMORY, ENOMEM, "calloc", "");
		return NULL;
	}
	served->verbs = id->verbs;
	if (drop_anchor(service, served, id, failure) ||
		device_start(id->verbs, &served->device, failure)) {
		free_device(served);
		return NULL;
	}
	SLIST_INSERT_HEAD(&service->devices, served, next);
	output_detail(service->output, "serving on %s", device_name(served->device));
	return served;
}

/* Frees a removed device when the kernel has let it go; stops serving if that waits for us. */
static void take_removal(struct service *service, struct served_device *served)
{
	const char *name = device_name(served->device);

	if (!host_has_device("", name)) {
		SLIST_REMOVE(&service->devices, served, served_device, next);
		free_device(served);
	} else if (deadline_left(served->removal) == 0 && !service->stuck) {
		output_error(service->output,
			"the kernel cannot remove %s while this server has it open, so the server stops",
			name);
		service->stuck = true;
		service_stop_listening(service);
	}
}

/* A removed device that no client uses any more. */
static struct served_device *find_removed(const struct service *service)
{
	struct served_device *served;

	SLIST_FOREACH (served, &service->devices, next)
		if (served->removed && served->clients == 0)
			return served;
	return NULL;
}

/* Clients. */

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
	if (client->queue == &service->closing)
		return;
	move(client, &service->closing, CLOSING_MS);
	connection_close(client->connection, reason);
}

/* Frees a client of which nothing is in use any more, and says how it ended. */
static void free_client(struct service *service, struct client *client)
{
	struct connection *connection = client->connection;
	const struct failure *outcome = connection_outcome(connection);

	if (failure_is_set(outcome)) {
		service_report(service, outcome, connection_peer(connection));
		if (service->first_error == STATUS_OK)
			service->first_error = failure_status(outcome);
	}
	if (client->connected)
		output_line(service->output, "peer disconnected.");
	TAILQ_REMOVE(client->queue, client, next);
	connection_destroy(connection);
	client->served->clients--;
	free(client);
}

static void free_if_over(struct service *service, struct client *client)
{
	if (client->drained && client->gone)
		free_client(service, client);
}

/* Why a request cannot be served, or REFUSAL_NONE; sets its mode and whether it is the tutorial's. */
static enum refusal judge(const struct service *service, const struct rdma_cm_event *event,
	const struct mode **mode, bool *tutorial)
{
	const struct rdma_conn_param *request = &event->param.conn;
	const char *device = service->options->device;
	struct introduction theirs;
	int error = introduction_decode(&theirs, request->private_data, request->private_data_len);

	*tutorial = error == -ENOMSG;
	*mode = service->options->mode ? service->options->mode : mode_by_number(MODE_WRITE);
	if (device && strcmp(device, ibv_get_device_name(event->id->verbs->device)) != 0)
		return REFUSAL_DEVICE;
	if (*tutorial)
		return REFUSAL_NONE;
	if (error)
		return REFUSAL_MALFORMED;
	if (theirs.version != INTRODUCTION_VERSION)
		return REFUSAL_VERSION;
	if (theirs.session != SESSION_EXCHANGE || !mode_by_number(theirs.mode))
		return REFUSAL_SESSION;
	if (theirs.region_length < REGION_SIZE)
		return REFUSAL_REGION;
	if (service->options->mode && theirs.mode != service->options->mode->number)
		return REFUSAL_MODE;
	*mode = mode_by_number(theirs.mode);
	if (connection_reads(*mode) && request->initiator_depth == 0)
		return REFUSAL_DEPTH;
	return REFUSAL_NONE;
}

/* Refuses a request, tells the client why, and frees its id. rdma_reject(3). */
static void refuse(struct service *service, struct rdma_cm_id *id, enum refusal refusal)
{
	const struct mode *mode = service->options->mode;
	const struct introduction ours = {
		.version = INTRODUCTION_VERSION,
		.mode = mode ? (uint8_t)mode->number : 0,
		.refusal = refusal,
		.region_length = REGION_SIZE,
	};
	uint8_t introduction[INTRODUCTION_SIZE];
	char peer[ADDRESS_TEXT_SIZE];

	address_port_text(rdma_get_peer_addr(id), peer);
	output_detail(service->output, "%s is refused, reason %d", peer, refusal);
	introduction_encode(&ours, introduction);
	rdma_reject(id, introduction, INTRODUCTION_SIZE);
	rdma_destroy_id(id);
}

/* Makes a client of a request that may be served, or records why that cannot be. */
static struct client *admit(struct service *service, const struct rdma_cm_event *event,
	const struct mode *mode, bool tutorial, struct failure *failure)
{
	struct served_device *served = get_device(service, event->id, failure);
	struct client *client = served ? calloc(1, sizeof(*client)) : NULL;

	if (!client) {
		failure_set(failure, FAILURE_ERRNO, PHASE_MEMORY, ENOMEM, "calloc", "");
		return NULL;
	}
	client->served = served;
	if (connection_create(&service->session, mode, event->id, served->device, tutorial,
		    &client->connection, failure)) {
		free(client);
		return NULL;
	}
	event->id->context = client;
	connection_set_owner(client->connection, client);
	served->clients++;
	return client;
}

void service_stop_listening(struct service *service)
{
	if (service->listener)
		rdma_destroy_id(service->listener);
	service->listener = NULL;
}

static void connect_request(struct service *service, const struct rdma_cm_event *event)
{
	struct failure failure = {0};
	const struct mode *mode = NULL;
	struct client *client;
	enum refusal refusal;
	char peer[ADDRESS_TEXT_SIZE];
	bool tutorial = false;
	int error;

	output_line(service->output, "received connection request.");
	refusal = service->listener ? judge(service, event, &mode, &tutorial) : REFUSAL_STOPPING;
	if (refusal != REFUSAL_NONE) {
		refuse(service, event->id, refusal);
		return;
	}
	client = admit(service, event, mode, tutorial, &failure);
	if (!client) {
		address_port_text(rdma_get_peer_addr(event->id), peer);
		service_report(service, &failure, peer);
		refuse(service, event->id, REFUSAL_RESOURCES);
		return;
	}
	move(client, &service->running, service->options->timeout);
	error = connection_accept(client->connection, &event->param.conn);
	if (error) {
		failure_set(&failure, FAILURE_ERRNO, PHASE_CONNECT, -error, "rdma_accept", "%s",
			strerror(-error));
		client->gone = true; /* it never was connected */
		close_client(service, client, &failure);
	}
	if (++service->admitted == service->options->count)
		service_stop_listening(service);
}

/* Events. */

/* Waits neither for rdmacm nor for work requests: the CQ thread lets go of the client next. */
static void give_up(struct client *client, const struct failure *reason)
{
	client->gone = true;
	connection_abandon(client->connection, reason);
}

static void device_removed(struct service *service, struct served_device *served)
{
	struct failure failure = {0};
	struct client *client;

	output_error(service->output, "the RDMA device %s is being removed",
		device_name(served->device));
	served->removed = true;
	served->removal = deadline_in(REMOVAL_MS);
	failure_set(
		&failure, FAILURE_REMOVED, PHASE_EXCHANGE, 0, "RDMA_CM_EVENT_DEVICE_REMOVAL", "");
	TAILQ_FOREACH (client, &service->running, next)
		if (client->served == served)
			give_up(client, &failure);
	TAILQ_FOREACH (client, &service->closing, next)
		if (client->served == served)
			give_up(client, &failure);
}

/* Of a server that is bound to one device: nobody can come any more. */
static void listener_removed(struct service *service)
{
	output_error(service->output,
		"the RDMA device that this server listens on is being removed, so the server stops");
	service->stuck = true;
	service_stop_listening(service);
}

static struct served_device *anchored(struct service *service, const struct rdma_cm_id *id)
{
	struct served_device *served;

	SLIST_FOREACH (served, &service->devices, next)
		if (served->anchor == id)
			return served;
	return NULL;
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
		served = anchored(service, event->id);
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

void service_notes(struct service *service)
{
	unsigned int notes;
	struct slip *slip;

	while ((slip = mailbox_take(&service->mailbox, &notes))) {
		struct client *client = connection_owner(slip->about);

		/* The active side disconnects; we wait for it unless the exchange failed. */
		if (notes & CONNECTION_FINISHED)
			close_client(service, client, NULL);
		if (connection_drained(client->connection, notes)) {
			client->drained = true;
			free_if_over(service, client);
		}
	}
}

void service_deadlines(struct service *service)
{
	struct client *client, *after;
	struct served_device *served;
	struct failure failure = {0};

	failure_set(&failure, FAILURE_DEADLINE, PHASE_EXCHANGE, ETIMEDOUT, "--timeout", "");
	while ((client = TAILQ_FIRST(&service->running)) && deadline_left(client->deadline) == 0)
		close_client(service, client, &failure);
	for (client = TAILQ_FIRST(&service->closing);
		client && deadline_left(client->deadline) == 0; client = after) {
		after = TAILQ_NEXT(client, next);
		/* The other side does not answer the disconnect: it is over all the same. */
		client->gone = true;
		if (client->drained)
			free_client(service, client);
		else
			connection_abandon(client->connection, &failure);
	}
	served = find_removed(service);
	if (served)
		take_removal(service, served);
}

int service_next_deadline(const struct service *service)
{
	const struct client_queue *queues[] = {&service->running, &service->closing};
	int left, next = find_removed(service) && !service->stuck ? REMOVAL_LOOK_MS : -1;

	for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
		if (TAILQ_EMPTY(queues[i]))
			continue;
		left = deadline_left(TAILQ_FIRST(queues[i])->deadline);
		if (next < 0 || left < next)
			next = left;
	}
	return next;
}

void service_end_clients(struct service *service, const struct failure *reason, bool events_lost)
{
	struct client *client;

	while ((client = TAILQ_FIRST(&service->running)))
		close_client(service, client, reason);
	if (events_lost)
		TAILQ_FOREACH (client, &service->closing, next)
			give_up(client, reason);
}

bool service_over(const struct service *service)
{
	return !service->listener && TAILQ_EMPTY(&service->running) &&
	       TAILQ_EMPTY(&service->closing);
}

void service_free(struct service *service)
{
	struct served_device *served;

	service_stop_listening(service);
	while ((served = SLIST_FIRST(&service->devices))) {
		SLIST_REMOVE_HEAD(&service->devices, next);
		free_device(served);
	}
}
