/*
 * rdma-server: exchanges messages with any number of clients at once. The main thread takes rdmacm
 * events, signals, deadlines and the notes of the CQ threads, one at a time; what they mean for the
 * clients is in rdma-service.c. See docs/architecture.md.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/host.h"
#include "rdma-service.h"

/* Connection requests that may wait for us; the kernel allows at most its max_backlog, 1024. */
#define BACKLOG 1024

struct server {
	struct options options;
	struct output output;
	struct service service;
	int signals;
	bool stopping; /* a signal has come */
	bool broken;   /* the rdmacm event channel is */
};

static void take_events(struct server *server)
{
	struct failure failure = {0};
	struct rdma_cm_event *event;
	int error;

	while ((event = channel_event(server->service.channel, &error))) {
		/* The handlers may destroy the id, which waits for acknowledged events. */
		struct event_copy copy;

		channel_copy(&copy, event);
		rdma_ack_cm_event(event);
		service_event(&server->service, &copy.event);
	}
	if (!error)
		return;
	server->broken = true;
	failure_set(&failure, FAILURE_ERRNO, PHASE_OPEN, -error, "rdma_get_cm_event",
		"the rdmacm event channel is broken: %s", strerror(-error));
	service_report(&server->service, &failure, NULL);
	service_stop_listening(&server->service);
	service_end_clients(&server->service, &failure, true);
}

/* SIGINT or SIGTERM: the first lets running exchanges finish, the second ends them. */
static void take_signal(struct server *server)
{
	struct failure failure = {0};

	if (!signals_read(server->signals))
		return;
	if (!server->stopping) {
		output_detail(&server->output, "stopping");
		server->stopping = true;
		service_stop_listening(&server->service);
		return;
	}
	failure_set(&failure, FAILURE_INTERRUPTED, PHASE_EXCHANGE, EINTR, "signal", "");
	service_end_clients(&server->service, &failure, false);
}

static void serve(struct server *server)
{
	while (!service_over(&server->service)) {
		struct pollfd waiting[] = {
			{.fd = server->broken ? -1 : server->service.channel->fd, .events = POLLIN},
			{.fd = server->service.mailbox.eventfd, .events = POLLIN},
			{.fd = server->signals, .events = POLLIN},
		};

		poll(waiting, 3, service_next_deadline(&server->service));
		if (waiting[1].revents)
			service_notes(&server->service);
		if (waiting[0].revents)
			take_events(server);
		if (waiting[2].revents)
			take_signal(server);
		service_deadlines(&server->service);
	}
}

/* The addresses to listen on: --bind, or the --device's, or all, IPv6 and IPv4. */
static int listen_address(
	const struct options *options, struct sockaddr_storage *address, struct failure *failure)
{
	struct addrinfo *list;
	enum host_rdma lacking;
	int error;

	if (!options->bind && options->device) {
		lacking = host_device_address("", options->device, AF_UNSPEC, address);
		if (lacking != HOST_READY)
			return failure_set(failure, FAILURE_HOST, PHASE_LISTEN, (int)lacking,
				"--device", "--device %s", options->device);
		address_set_port(address, options->port);
		return 0;
	}
	error = address_find(options->bind ? options->bind : "::", options->port, AF_UNSPEC,
		(int)options->timeout, &list);
	if (error)
		return failure_set(failure, FAILURE_NAME, PHASE_NAME, error, "getaddrinfo", "%s",
			gai_strerror(error));
	memcpy(address, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return 0;
}

/* Binds and listens. With all addresses, the kernel calls a port in use an address not there. */
static int start_listening(
	struct server *server, struct sockaddr_storage *address, struct failure *failure)
{
	const struct options *options = &server->options;
	struct rdma_cm_id *listener;
	int both_families = 0, error;

	if (rdma_create_id(server->service.channel, &listener, NULL, RDMA_PS_TCP))
		return failure_set(failure, FAILURE_ERRNO, PHASE_OPEN, errno, "rdma_create_id",
			"%s", strerror(errno));
	server->service.listener = listener;
	/* "::" is to take IPv4 clients too, whatever net.ipv6.bindv6only says. */
	rdma_set_option(listener, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &both_families,
		sizeof(both_families));
	if (rdma_bind_addr(listener, (struct sockaddr *)address)) {
		error = errno == EADDRNOTAVAIL && !options->bind ? EADDRINUSE : errno;
		return failure_set(failure, FAILURE_ERRNO, PHASE_LISTEN, error, "rdma_bind_addr",
			"%s", strerror(error));
	}
	if (options->device && listener->verbs &&
		strcmp(options->device, ibv_get_device_name(listener->verbs->device)) != 0)
		return failure_set(failure, FAILURE_HOST, PHASE_LISTEN, HOST_OTHER_DEVICE,
			"--device", "it is on %s", ibv_get_device_name(listener->verbs->device));
	if (rdma_listen(listener, BACKLOG))
		return failure_set(failure, FAILURE_ERRNO, PHASE_LISTEN, errno, "rdma_listen", "%s",
			strerror(errno));
	return 0;
}

/* Writes the port where scripts wait for it: whole or not at all, hence the rename. */
static int write_port_file(const char *path, uint16_t port)
{
	char temporary[4096];
	FILE *file;
	int error = 0;

	if (snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid()) >=
		(int)sizeof(temporary))
		return -ENAMETOOLONG;
	file = fopen(temporary, "we");
	if (!file)
		return -errno;
	if (fprintf(file, "%u\n", port) < 0)
		error = -EIO;
	if (fclose(file) && !error)
		error = -errno;
	if (!error && rename(temporary, path))
		error = -errno;
	if (error)
		unlink(temporary);
	return error;
}

/* What the server listens on, for a sentence. */
static const char *listens_on(const struct options *options)
{
	if (options->bind)
		return options->bind;
	return options->device ? options->device : "all addresses";
}

/* Finds the addresses, takes over the signals, listens. */
static int start(struct server *server, struct failure *failure)
{
	struct sockaddr_storage address = {0};

	/* The lookup comes first: until it is done a signal just ends the process. */
	if (listen_address(&server->options, &address, failure))
		return -1;
	server->signals = signals_open();
	if (server->signals < 0)
		return failure_set(failure, FAILURE_ERRNO, PHASE_OPEN, -server->signals, "signalfd",
			"%s", strerror(-server->signals));
	server->service.channel = channel_open(failure);
	return server->service.channel ? start_listening(server, &address, failure) : -1;
}

/* Listens and serves until the end. Returns the exit status. */
static enum exit_status run(struct server *server)
{
	const struct options *options = &server->options;
	struct failure failure = {0};
	uint16_t port;
	int error;

	if (start(server, &failure)) {
		service_report(&server->service, &failure, listens_on(options));
		return STATUS_FAILED;
	}
	port = ntohs(rdma_get_src_port(server->service.listener));
	error = options->port_file ? write_port_file(options->port_file, port) : 0;
	if (error) {
		output_error(&server->output, "cannot write the port file %s: %s",
			options->port_file, strerror(-error));
		return STATUS_FAILED;
	}
	output_line(&server->output, "listening on port %u.", port);
	serve(server);
	if (server->broken || server->service.stuck)
		return STATUS_FAILED;
	return options->count ? server->service.first_error : STATUS_OK;
}

static void tear_down(struct server *server)
{
	service_free(&server->service);
	if (server->service.channel)
		rdma_destroy_event_channel(server->service.channel);
	mailbox_close(&server->service.mailbox);
	if (server->signals >= 0)
		close(server->signals);
}

static int set_up(struct server *server, char greeting[64])
{
	const struct options *options = &server->options;
	struct service *service = &server->service;
	int error;

	output_start();
	server->output = (struct output){"rdma-server", options->quiet, options->verbose};
	snprintf(greeting, 64, "message from passive/server side with pid %d", (int)getpid());
	TAILQ_INIT(&service->running);
	TAILQ_INIT(&service->closing);
	service->options = options;
	service->output = &server->output;
	service->session = (struct session){
		.output = &server->output,
		.mailbox = &service->mailbox,
		.message = options->message ? options->message : greeting,
	};
	service->session.message_size = strlen(service->session.message) + 1;
	server->signals = service->mailbox.eventfd = -1;
	error = mailbox_open(&service->mailbox);
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
	return (int)output_finish(&server.output, status);
}
