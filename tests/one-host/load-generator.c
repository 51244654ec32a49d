/*
 * Runs many clients in one process, using the project's own verbs module, because starting a
 * process per exchange would take too long.
 *
 *     load-generator write|read HOST PORT TOTAL AT-ONCE [INPUT [SECRET-FILE]]
 *
 * Runs TOTAL exchanges, up to AT-ONCE concurrently. If TOTAL equals AT-ONCE, all start at once.
 * With INPUT each client sends this file; if it is a FIFO without a writer, the clients stay idle.
 * Prints "N verified, N failed", and each failure on standard error. Exits with 0 if no exchange
 * failed.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/deadline.h"
#include "base/explain.h"
#include "cli/options.h"
#include "rdma-common.h"
#include "verbs/bootstrap.h"
#include "verbs/channel.h"
#include "verbs/tcp-bootstrap.h"

#define RESOLVE_MS 20000
#define BUFFER     65536
#define SILENCE_MS 60000 /* exit if no event occurs for this time */

static const char message[] = "message from a client";

static const struct path_settings any_path = {.gid_index = -1};

struct load {
	bool by_tcp; /* PAIR_BOOTSTRAP=tcp: without rdmacm */
	const struct mode *mode;
	struct output output;
	struct exchange_settings settings;
	struct wakeup_queue wakeups;
	struct cm_channel *channel;
	struct addrinfo *server;
	struct device *device;
	struct rdma_cm_id *anchor; /* keeps the device open between clients */
	unsigned int to_start, running, verified, failed;
};

struct bee {
	struct connection *connection;
	bool drained, disconnected, connected;
};

/* Returns 0, or a value that is not, with errno set. */
static int start_id(struct load *load, struct bee *bee)
{
	struct rdma_cm_id *id;
	int error;

	if (!load->by_tcp)
		return rdma_create_id(load->channel->rdmacm, &id, bee, RDMA_PS_TCP) ||
		       rdma_resolve_addr(id, NULL, load->server->ai_addr, RESOLVE_MS);
	error = tcp_start(
		load->channel->tcp, load->server->ai_addr, NULL, &any_path, &load->output, &id);
	if (!error) {
		id->context = bee;
		tcp_look(id);
	}
	errno = -error;
	return error;
}

static void start_bee(struct load *load)
{
	struct bee *bee = calloc(1, sizeof(*bee));

	load->to_start--;
	load->running++;
	if (!bee || start_id(load, bee)) {
		fprintf(stderr, "load-generator: cannot start: %s\n", strerror(errno));
		exit(EXIT_FAILURE);
	}
}

static void count(struct load *load, const struct failure *failure)
{
	char text[512];

	load->running--;
	if (!failure_is_set(failure)) {
		load->verified++;
		return;
	}
	load->failed++;
	explain_failure(failure, NULL, true, text, sizeof(text));
	fprintf(stderr, "load-generator: %s\n", text);
}

static void end_bee(struct load *load, struct bee *bee, const struct failure *failure)
{
	count(load, failure);
	if (bee->connection)
		connection_destroy(bee->connection);
	free(bee);
}

static void free_if_over(struct load *load, struct bee *bee)
{
	if (bee->drained && (bee->disconnected || !bee->connected))
		end_bee(load, bee, connection_outcome(bee->connection));
}

static int connect_bee(
	struct load *load, struct bee *bee, struct rdma_cm_id *id, struct failure *failure)
{
	struct rdma_conn_param parameters;

	if (!load->device && device_start(id->verbs, &load->device, failure))
		return -1;
	if (connection_create(
		    &load->settings, load->mode, id, load->device, NULL, &bee->connection, failure))
		return -1;
	connection_set_owner(bee->connection, bee);
	parameters = connection_parameters(bee->connection);
	if (load->by_tcp ? tcp_request(id, &parameters) : rdma_connect(id, &parameters))
		return failure_errno(failure, PHASE_CONNECT, "rdma_connect", errno);
	return 0;
}

/* Handles an event; its private data is valid. Returns 0, or -1 with the failure recorded. */
static int take_event(struct load *load, const struct rdma_cm_event *event, struct failure *failure)
{
	struct bee *bee = event->id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (load->by_tcp)
			return tcp_offer(event->id, failure);
		return rdma_resolve_route(event->id, RESOLVE_MS)
			       ? failure_errno(failure, PHASE_ROUTE, "rdma_resolve_route", errno)
			       : 0;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return connect_bee(load, bee, event->id, failure);
	case RDMA_CM_EVENT_ESTABLISHED:
		bee->connected = true;
		return connection_established(bee->connection, &event->param.conn, failure);
	case RDMA_CM_EVENT_DISCONNECTED:
		bee->disconnected = true;
		connection_disconnected(bee->connection);
		return 0;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return 0;
	default:
		failure_from_event(failure, event, PHASE_CONNECT);
		return -1;
	}
}

static void take_events(struct load *load)
{
	struct event_copy copy;
	int taken;

	while ((taken = channel_take(load->channel, &copy)) > 0) {
		struct rdma_cm_id *id = copy.event.id;
		struct bee *bee = id->context;
		struct failure failure = {0};
		int result = take_event(load, &copy.event, &failure);

		if (result && bee->connection) {
			connection_close(bee->connection, &failure);
		} else if (result) {
			end_bee(load, bee, &failure);
			bootstrap_of(id)->destroy(id);
		} else if (bee->connection) {
			free_if_over(load, bee);
		}
	}
	if (taken < 0) {
		fprintf(stderr, "load-generator: event channel: %s\n", strerror(-taken));
		exit(EXIT_FAILURE);
	}
}

static void take_wakeups(struct load *load)
{
	unsigned int events;
	struct wakeup *wakeup;

	while ((wakeup = wakeup_queue_take(&load->wakeups, &events))) {
		struct bee *bee = connection_owner(wakeup->about);

		/* Until the server accepts, the rdmacm event reports why not, and may follow. */
		if ((events & CONNECTION_FINISHED) && bee->connected)
			connection_close(bee->connection, NULL);
		bee->drained |= connection_drained(bee->connection, events);
		free_if_over(load, bee);
	}
}

/* Keeps the device open, as the server does. By TCP, it stays open. */
static void bind_id(struct load *load)
{
	struct sockaddr_storage address = {0};

	if (load->by_tcp)
		return;
	memcpy(&address, load->server->ai_addr, load->server->ai_addrlen);
	((struct sockaddr_in *)&address)->sin_port = 0;
	if (rdma_create_id(load->channel->rdmacm, &load->anchor, NULL, RDMA_PS_TCP) == 0)
		rdma_bind_addr(load->anchor, (struct sockaddr *)&address);
}

static void run(struct load *load, unsigned int at_once)
{
	while (load->to_start > 0 || load->running > 0) {
		struct pollfd waiting[] = {
			{.fd = load->channel->fd, .events = POLLIN},
			{.fd = load->wakeups.eventfd, .events = POLLIN},
		};

		while (load->to_start > 0 && load->running < at_once)
			start_bee(load);
		if (poll(waiting, 2, load->settings.input ? -1 : SILENCE_MS) == 0) {
			fprintf(stderr, "load-generator: idle with %u running\n", load->running);
			exit(EXIT_FAILURE);
		}
		if (waiting[1].revents)
			take_wakeups(load);
		if (waiting[0].revents)
			take_events(load);
	}
}

int main(int argc, char *argv[])
{
	struct load load = {.output = {.program = "load-generator", .quiet = true}};
	const char *bootstrap = getenv("PAIR_BOOTSTRAP");
	struct secret *secret = NULL;
	struct failure failure = {0};
	char why[SECRET_WHY_SIZE];

	if (argc < 6 || argc > 8) {
		fprintf(stderr, "usage: load-generator write|read HOST PORT TOTAL AT-ONCE "
				"[INPUT [SECRET-FILE]]\n");
		return EXIT_FAILURE;
	}
	if (argc == 8 && secret_load(&secret, argv[7], why)) {
		fprintf(stderr, "load-generator: %s\n", why);
		return EXIT_FAILURE;
	}
	load.mode = mode_by_name(argv[1]);
	load.to_start = (unsigned int)atoi(argv[4]);
	load.settings = (struct exchange_settings){
		.output = &load.output,
		.wakeups = &load.wakeups,
		.message = argc > 6 ? NULL : message,
		.message_size = argc > 6 ? 0 : sizeof(message),
		.input = argc > 6 ? argv[6] : NULL,
		.secret = secret,
		.buffer = BUFFER,
		.timeout = SILENCE_MS,
		.active = true,
	};
	load.by_tcp = bootstrap && strcmp(bootstrap, "tcp") == 0;
	load.channel = channel_open(load.by_tcp ? CHANNEL_TCP : CHANNEL_RDMACM, &failure);
	if (!load.mode || !load.channel || wakeup_queue_open(&load.wakeups) ||
		address_find(argv[2], (uint16_t)atoi(argv[3]), AF_UNSPEC, 5000, &load.server)) {
		fprintf(stderr, "load-generator: cannot start\n");
		return EXIT_FAILURE;
	}
	bind_id(&load);
	run(&load, (unsigned int)atoi(argv[5]));
	printf("%u verified, %u failed\n", load.verified, load.failed);
	device_stop(load.device);
	if (load.anchor)
		rdma_destroy_id(load.anchor);
	channel_destroy(load.channel);
	freeaddrinfo(load.server);
	wakeup_queue_close(&load.wakeups);
	secret_free(secret);
	return load.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
