/*
 * rdma-server: exchanges messages with any number of clients at once. The main thread takes rdmacm
 * events, signals, deadlines and the notes of the CQ threads, one at a time. See
 * docs/architecture.md.
 *
 * Who owns what: a client owns its connection, and the connection its rdma_cm_id. A device is made
 * when the first client comes through it; its anchor, an rdma_cm_id of ours that is only bound,
 * keeps librdmacm from closing the device under us and reports its removal.
 *
 * Every client is in one of two queues. `running` holds those whose exchange is not over, `closing`
 * those that are disconnected and drain. All clients have the same time for each, so both queues
 * are in the order of their deadlines and only their heads need watching.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "lib/deadline.h"
#include "lib/host.h"
#include "lib/options.h"
#include "rdma-common.h"

/* Connection requests that may wait for us; the kernel allows at most its max_backlog, 1024. */
#define BACKLOG 1024

/* How long a client that is being disconnected may take before it is freed as it is. */
#define CLOSING_MS 2000

struct served_device {
	SLIST_ENTRY(served_device) next;
	struct rdma_cm_id *anchor;
	struct ibv_context *verbs;
	struct device *device;
	unsigned int clients;
	bool removed;
};

TAILQ_HEAD(client_queue, client);

struct client {
	TAILQ_ENTRY(client) next;
	struct client_queue *queue; /* the one that it is in */
	struct served_device *served;
	struct connection *connection;
	deadline_t deadline;
	bool connected;    /* rdmacm has reported it */
	bool gone;         /* no rdmacm event is awaited any more */
	bool drained;      /* the CQ thread has let go of it */
};

struct server {
	struct options options;
	struct output output;
	struct session session;
	struct mailbox mailbox;
	int signals;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener; /* NULL: takes no more clients */
	SLIST_HEAD(, served_device) devices;
	struct client_queue running, closing;
	uint64_t admitted;       /* clients so far */
	enum exit_status worst;  /* with --count: of the first client that failed */
	bool broken;             /* the server itself failed */
};

static void report(const struct server *server, const struct failure *failure, const char *peer)
{
	char text[1024];

	failure_explain(failure, peer, server->output.verbose, text, sizeof(text));
	output_error(&server->output, "%s", text);
}

/* Devices. */

static struct served_device *find_device(struct server *server, const struct ibv_context *verbs)
{
	struct served_device *served;

	SLIST_FOREACH(served, &server->devices, next)
		if (served->verbs == verbs && !served->removed)
			return served;
	return NULL;
}

/* Binds an id of ours to the device that id came through. */
static int drop_anchor(struct server *server, struct served_device *served, struct rdma_cm_id *id,
	struct failure *failure)
{
	struct sockaddr_storage address = {0};
	const struct sockaddr *local = rdma_get_local_addr(id);

	memcpy(&address, local, address_length(local));
	if (address.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&address)->sin6_port = 0;
	else
		((struct sockaddr_in *)&address)->sin_port = 0;
	if (rdma_create_id(server->channel, &served->anchor, NULL, RDMA_PS_TCP))
		return failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, errno, "rdma_create_id",
			"%s", strerror(errno));
	if (rdma_bind_addr(served->anchor, (struct sockaddr *)&address))
		return failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, errno, "rdma_bind_addr",
			"%s", strerror(errno));
	return 0;
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
	struct server *server, struct rdma_cm_id *id, struct failure *failure)
{
	struct served_device *served = find_device(server, id->verbs);

	if (served)
		return served;
	served = calloc(1, sizeof(*served));
	if (!served) {
		failure_set(failure, FAILURE_ERRNO, PHASE_MEMORY, ENOMEM, "calloc", "");
		return NULL;
	}
	served->verbs = id->verbs;
	if (drop_anchor(server, served, id, failure) ||
		device_start(id->verbs, &served->device, failure)) {
		free_device(served);
		return NULL;
	}
	SLIST_INSERT_HEAD(&server->devices, served, next);
	output_detail(&server->output, "serving on %s", device_name(served->device));
	return served;
}

static void free_removed_device(struct server *server, struct served_device *served)
{
	if (!served->removed || served->clients > 0)
		return;
	SLIST_REMOVE(&server->devices, served, served_device, next);
	free_device(served);
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
	struct server *server, struct client *client, const struct failure *reason)
{
	if (client->queue == &server->closing)
		return;
	move(client, &server->closing, CLOSING_MS);
	connection_close(client->connection, reason);
}

/* Frees a client of which nothing is in use any more, and says how it ended. */
static void free_client(struct server *server, struct client *client)
{
	struct connection *connection = client->connection;
	const struct failure *outcome = connection_outcome(connection);
	struct served_device *served = client->served;

	if (failure_is_set(outcome)) {
		report(server, outcome, connection_peer(connection));
		if (server->worst == STATUS_OK)
			server->worst = failure_status(outcome);
	}
	if (client->connected)
		output_line(&server->output, "peer disconnected.");
	TAILQ_REMOVE(client->queue, client, next);
	connection_destroy(connection);
	free(client);
	served->clients--;
	free_removed_device(server, served);
}

static void free_if_over(struct server *server, struct client *client)
{
	if (client->drained && client->gone)
		free_client(server, client);
}

/* Why a request cannot be served, or REFUSAL_NONE; sets its mode and whether it is the tutorial's. */
static enum refusal judge(const struct server *server, const struct rdma_cm_event *event,
	const struct mode **mode, bool *tutorial)
{
	const struct rdma_conn_param *request = &event->param.conn;
	const char *device = server->options.device;
	struct introduction theirs;
	int error = introduction_decode(&theirs, request->private_data, request->private_data_len);

	*tutorial = error == -ENOMSG;
	*mode = server->options.mode ? server->options.mode : mode_by_number(MODE_WRITE);
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
	if (server->options.mode && theirs.mode != server->options.mode->number)
		return REFUSAL_MODE;
	*mode = mode_by_number(theirs.mode);
	return REFUSAL_NONE;
}

/* Refuses a request, tells the client why, and frees its id. rdma_reject(3). */
static void refuse(struct server *server, struct rdma_cm_id *id, enum refusal refusal)
{
	const struct mode *mode = server->options.mode;
	const struct introduction ours = {
		.version = INTRODUCTION_VERSION,
		.mode = mode ? (uint8_t)mode->number : 0,
		.refusal = refusal,
		.region_length = REGION_SIZE,
	};
	uint8_t introduction[INTRODUCTION_SIZE];
	char peer[ADDRESS_TEXT_SIZE];

	address_port_text(rdma_get_peer_addr(id), peer);
	output_detail(&server->output, "%s is refused, reason %d", peer, refusal);
	introduction_encode(&ours, introduction);
	rdma_reject(id, introduction, INTRODUCTION_SIZE);
	rdma_destroy_id(id);
}

/* Makes a client of a request that may be served, or records why that cannot be. */
static struct client *admit(struct server *server, const struct rdma_cm_event *event,
	const struct mode *mode, bool tutorial, struct failure *failure)
{
	struct served_device *served = get_device(server, event->id, failure);
	struct client *client = served ? calloc(1, sizeof(*client)) : NULL;

	if (!client) {
		failure_set(failure, FAILURE_ERRNO, PHASE_MEMORY, ENOMEM, "calloc", "");
		return NULL;
	}
	client->served = served;
	if (connection_create(&server->session, mode, event->id, served->device, tutorial,
		    &client->connection, failure)) {
		free(client);
		return NULL;
	}
	event->id->context = client;
	connection_set_owner(client->connection, client);
	served->clients++;
	return client;
}

/* After --count clients, and at the end, nobody else is taken; who is there may finish. */
static void stop_listening(struct server *server)
{
	if (server->listener)
		rdma_destroy_id(server->listener);
	server->listener = NULL;
}

static void connect_request(struct server *server, const struct rdma_cm_event *event)
{
	struct failure failure = {0};
	const struct mode *mode = NULL;
	struct client *client;
	enum refusal refusal;
	bool tutorial = false;
	int error;

	output_line(&server->output, "received connection request.");
	refusal = server->listener ? judge(server, event, &mode, &tutorial) : REFUSAL_STOPPING;
	if (refusal != REFUSAL_NONE) {
		refuse(server, event->id, refusal);
		return;
	}
	client = admit(server, event, mode, tutorial, &failure);
	if (!client) {
		char peer[ADDRESS_TEXT_SIZE];

		address_port_text(rdma_get_peer_addr(event->id), peer);
		report(server, &failure, peer);
		refuse(server, event->id, REFUSAL_RESOURCES);
		return;
	}
	move(client, &server->running, server->options.timeout);
	error = connection_accept(client->connection, &event->param.conn);
	if (error) {
		failure_set(&failure, FAILURE_ERRNO, PHASE_CONNECT, -error, "rdma_accept", "%s",
			strerror(-error));
		client->gone = true; /* it never was connected */
		close_client(server, client, &failure);
	}
	if (++server->admitted == server->options.count)
		stop_listening(server);
}

/* Events. */

static void device_removed(struct server *server, struct served_device *served)
{
	struct client_queue *queues[] = {&server->running, &server->closing};
	struct failure failure = {0};
	struct client *client;

	output_error(&server->output, "the RDMA device %s was removed; the server goes on with others",
		device_name(served->device));
	served->removed = true;
	failure_set(&failure, FAILURE_REMOVED, PHASE_EXCHANGE, 0, "RDMA_CM_EVENT_DEVICE_REMOVAL", "");
	for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++)
		TAILQ_FOREACH(client, queues[i], next)
			if (client->served == served) {
				client->gone = true;
				connection_abandon(client->connection, &failure);
			}
	free_removed_device(server, served);
}

static struct served_device *anchored(struct server *server, const struct rdma_cm_id *id)
{
	struct served_device *served;

	SLIST_FOREACH(served, &server->devices, next)
		if (served->anchor == id)
			return served;
	return NULL;
}

/* An event about a connection that did not come to be, or that broke. */
static void connection_failed(
	struct server *server, struct client *client, const struct rdma_cm_event *event)
{
	struct failure failure = {0};

	failure_from_event(
		&failure, event, PHASE_CONNECT, connection_peer(client->connection));
	client->gone = true;
	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		connection_abandon(client->connection, &failure);
	close_client(server, client, &failure);
	free_if_over(server, client);
}

static void take_event(struct server *server, const struct rdma_cm_event *event)
{
	struct client *client = event->id->context;
	struct served_device *served;
	struct failure failure = {0};

	output_detail(&server->output, "%s, status %d", rdma_event_str(event->event),
		event->status);
	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		connect_request(server, event);
		return;
	case RDMA_CM_EVENT_ESTABLISHED:
		client->connected = true;
		if (connection_established(client->connection, &event->param.conn, &failure))
			close_client(server, client, &failure);
		return;
	case RDMA_CM_EVENT_DISCONNECTED:
		client->connected = client->gone = true;
		connection_disconnected(client->connection);
		close_client(server, client, NULL);
		free_if_over(server, client);
		return;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT: /* the queue pair number may be used again */
	case RDMA_CM_EVENT_ADDR_CHANGE:   /* a bonded interface failed over; the path stays */
		return;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		served = anchored(server, event->id);
		if (served)
			device_removed(server, served);
		else if (client)
			connection_failed(server, client, event);
		return;
	default:
		if (client)
			connection_failed(server, client, event);
		return;
	}
}

static void take_events(struct server *server)
{
	struct rdma_cm_event *event;
	int error;

	while ((event = channel_event(server->channel, &error))) {
		/* The handlers may destroy the id, which waits for acknowledged events. */
		struct rdma_cm_event copy = *event;
		uint8_t private_data[256];

		if (copy.param.conn.private_data_len > 0 && copy.param.conn.private_data) {
			memcpy(private_data, copy.param.conn.private_data,
				copy.param.conn.private_data_len);
			copy.param.conn.private_data = private_data;
		}
		rdma_ack_cm_event(event);
		take_event(server, &copy);
	}
	if (error) {
		output_error(&server->output, "the rdmacm event channel is broken: %s",
			strerror(-error));
		server->broken = true;
	}
}

static void take_notes(struct server *server)
{
	unsigned int notes;
	struct slip *slip;

	while ((slip = mailbox_take(&server->mailbox, &notes))) {
		struct client *client = connection_owner(slip->about);

		/* The active side disconnects; we wait for it unless the exchange failed. */
		if (notes & CONNECTION_FINISHED)
			close_client(server, client, NULL);
		if (connection_drained(client->connection, notes)) {
			client->drained = true;
			free_if_over(server, client);
		}
	}
}

static void take_deadlines(struct server *server)
{
	struct client *client, *after;
	struct failure failure = {0};

	failure_set(&failure, FAILURE_DEADLINE, PHASE_EXCHANGE, ETIMEDOUT, "--timeout", "");
	while ((client = TAILQ_FIRST(&server->running)) && deadline_left(client->deadline) == 0)
		close_client(server, client, &failure);
	for (client = TAILQ_FIRST(&server->closing);
		client && deadline_left(client->deadline) == 0; client = after) {
		after = TAILQ_NEXT(client, next);
		/* The other side does not answer the disconnect: it is over all the same. */
		client->gone = true;
		if (client->drained)
			free_client(server, client);
		else
			connection_abandon(client->connection, &failure);
	}
}

/* Milliseconds until the next deadline, -1 if there is none. */
static int next_deadline(const struct server *server)
{
	const struct client *running = TAILQ_FIRST(&server->running);
	const struct client *closing = TAILQ_FIRST(&server->closing);
	const struct client *first = running;

	if (!first || (closing && closing->deadline < first->deadline))
		first = closing;
	return first ? deadline_left(first->deadline) : -1;
}

/* SIGINT or SIGTERM: the first lets running exchanges finish, the second ends them. */
static void take_signal(struct server *server)
{
	struct failure failure = {0};
	struct client *client;

	if (!signals_read(server->signals))
		return;
	if (server->listener) {
		output_detail(&server->output, "stopping");
		stop_listening(server);
		return;
	}
	failure_set(&failure, FAILURE_INTERRUPTED, PHASE_EXCHANGE, EINTR, "signal", "");
	while ((client = TAILQ_FIRST(&server->running)))
		close_client(server, client, &failure);
}

static void serve(struct server *server)
{
	while (!server->broken && (server->listener || !TAILQ_EMPTY(&server->running) ||
					  !TAILQ_EMPTY(&server->closing))) {
		struct pollfd waiting[] = {
			{.fd = server->channel->fd, .events = POLLIN},
			{.fd = server->mailbox.eventfd, .events = POLLIN},
			{.fd = server->signals, .events = POLLIN},
		};

		poll(waiting, 3, next_deadline(server));
		if (waiting[1].revents)
			take_notes(server);
		if (waiting[0].revents)
			take_events(server);
		if (waiting[2].revents)
			take_signal(server);
		take_deadlines(server);
	}
}

/* Starting and ending. */

/* The addresses to listen on: --bind, or the --device's, or all, IPv6 and IPv4. */
static int listen_address(struct server *server, struct sockaddr_storage *address,
	struct failure *failure)
{
	const struct options *options = &server->options;
	struct addrinfo *list;
	enum host_rdma lacking;
	int error;

	if (!options->bind && options->device) {
		lacking = host_device_address("", options->device, AF_UNSPEC, address);
		if (lacking != HOST_READY)
			return failure_set(failure, FAILURE_HOST, PHASE_LISTEN, lacking, "--device",
				"--device %s", options->device);
		((struct sockaddr_in *)address)->sin_port = htons(options->port);
		return 0;
	}
	error = address_find(options->bind ? options->bind : "::", options->port, AF_UNSPEC, &list);
	if (error)
		return failure_set(failure, FAILURE_NAME, PHASE_NAME, error, "getaddrinfo",
			"--bind %s: %s", options->bind, gai_strerror(error));
	memcpy(address, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return 0;
}

static int start_listening(struct server *server, struct failure *failure)
{
	struct sockaddr_storage address = {0};
	int one_family = 0;

	server->channel = channel_open(failure);
	if (!server->channel || listen_address(server, &address, failure))
		return -1;
	if (rdma_create_id(server->channel, &server->listener, NULL, RDMA_PS_TCP))
		return failure_set(failure, FAILURE_ERRNO, PHASE_OPEN, errno, "rdma_create_id", "%s",
			strerror(errno));
	/* "::" is to take IPv4 clients too, whatever net.ipv6.bindv6only says. */
	rdma_set_option(server->listener, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one_family,
		sizeof(one_family));
	if (rdma_bind_addr(server->listener, (struct sockaddr *)&address))
		return failure_set(failure, FAILURE_ERRNO, PHASE_LISTEN, errno, "rdma_bind_addr",
			"%s", strerror(errno));
	if (server->options.device && server->listener->verbs &&
		strcmp(server->options.device,
			ibv_get_device_name(server->listener->verbs->device)) != 0)
		return failure_set(failure, FAILURE_HOST, PHASE_LISTEN, HOST_OTHER_DEVICE, "--device",
			"it is on %s", ibv_get_device_name(server->listener->verbs->device));
	if (rdma_listen(server->listener, BACKLOG))
		return failure_set(failure, FAILURE_ERRNO, PHASE_LISTEN, errno, "rdma_listen", "%s",
			strerror(errno));
	return 0;
}

/* Writes the port where scripts wait for it: whole or not at all, hence the rename. */
static int write_port_file(const char *path, uint16_t port)
{
	char temporary[4096];
	FILE *file;
	bool written;

	if (snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid()) >=
		(int)sizeof(temporary))
		return -ENAMETOOLONG;
	file = fopen(temporary, "we");
	if (!file)
		return -errno;
	written = fprintf(file, "%u\n", port) > 0;
	if (fclose(file) == 0 && written && rename(temporary, path) == 0)
		return 0;
	unlink(temporary);
	return -EIO;
}

/* Listens and serves until the end. Returns the exit status. */
static enum exit_status run(struct server *server)
{
	const struct options *options = &server->options;
	const char *where = options->bind ? options->bind : "all addresses";
	struct failure failure = {0};
	uint16_t port;
	int error;

	if (start_listening(server, &failure)) {
		report(server, &failure, failure.phase == PHASE_LISTEN && options->device
				? options->device : where);
		return STATUS_FAILED;
	}
	port = ntohs(rdma_get_src_port(server->listener));
	error = options->port_file ? write_port_file(options->port_file, port) : 0;
	if (error) {
		output_error(&server->output, "cannot write the port file %s: %s",
			options->port_file, strerror(-error));
		return STATUS_FAILED;
	}
	output_line(&server->output, "listening on port %u.", port);
	serve(server);
	if (server->broken)
		return STATUS_FAILED;
	return options->count ? server->worst : STATUS_OK;
}

static void tear_down(struct server *server)
{
	struct served_device *served;

	stop_listening(server);
	while ((served = SLIST_FIRST(&server->devices))) {
		SLIST_REMOVE_HEAD(&server->devices, next);
		free_device(served);
	}
	if (server->channel)
		rdma_destroy_event_channel(server->channel);
	mailbox_close(&server->mailbox);
	if (server->signals >= 0)
		close(server->signals);
}

static int set_up(struct server *server, char greeting[64])
{
	const struct options *options = &server->options;
	int error;

	output_start();
	TAILQ_INIT(&server->running);
	TAILQ_INIT(&server->closing);
	server->output = (struct output){"rdma-server", options->quiet, options->verbose};
	snprintf(greeting, 64, "message from passive/server side with pid %d", (int)getpid());
	server->session = (struct session){
		.output = &server->output,
		.mailbox = &server->mailbox,
		.message = options->message ? options->message : greeting,
	};
	server->session.message_size = strlen(server->session.message) + 1;
	server->mailbox.eventfd = -1;
	server->signals = signals_open();
	error = server->signals < 0 ? server->signals : mailbox_open(&server->mailbox);
	if (error)
		output_error(&server->output, "cannot start: %s", strerror(-error));
	return error;
}

int main(int argc, char *argv[])
{
	struct server server = {0};
	enum exit_status status;
	char greeting[64];

	switch (options_parse(&server.options, PROGRAM_SERVER, argc, argv)) {
	case OPTIONS_HELP:
		options_help(stdout, PROGRAM_SERVER);
		return STATUS_OK;
	case OPTIONS_VERSION:
		puts("rdma-server " PROJECT_VERSION);
		return STATUS_OK;
	case OPTIONS_WRONG:
		fprintf(stderr, "rdma-server: %s; see rdma-server --help\n", server.options.error);
		return STATUS_USAGE;
	case OPTIONS_RUN:
		break;
	}
	status = set_up(&server, greeting) ? STATUS_FAILED : run(&server);
	tear_down(&server);
	return output_finish(&server.output, status);
}
