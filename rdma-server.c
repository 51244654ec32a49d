/*
 * rdma-server: exchanges messages with any number of clients at once. The main thread takes rdmacm
 * events, signals, deadlines and the notes of the CQ threads, one at a time; what they mean for the
 * clients is in serve/clients.c. See docs/architecture.md.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/device-address.h"
#include "rdma-session.h"
#include "serve/clients.h"
#include "serve/port-file.h"

/* Connection requests that may wait for us; the kernel allows at most its max_backlog, 1024. */
#define BACKLOG 1024

/* Of a --bind host name, so many addresses are tried. */
#define ADDRESSES_MAX 16

/* So many rdmacm events are taken before it is the turn of everything else, however fast more come. */
#define EVENTS 64

struct server {
	struct options options;
	struct output output;
	struct service service;
	int signals;
	struct meter meter;
	bool stopping; /* a signal has come */
	bool broken;   /* the rdmacm event channel is */
};

static void take_events(struct server *server)
{
	struct failure failure = {0};
	struct rdma_cm_event *event;
	int error = 0;

	for (int i = 0; i < EVENTS && (event = channel_event(server->service.channel, &error));
		i++) {
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

/* Milliseconds until something is due without an event, for poll(2). */
static int next_due(struct server *server)
{
	int deadline = service_next_deadline(&server->service);
	int line = meter_next(&server->meter, !TAILQ_EMPTY(&server->service.exchanging));

	return line >= 0 && (deadline < 0 || line < deadline) ? line : deadline;
}

static void show_progress(struct server *server)
{
	uint64_t bytes, total;

	if (meter_next(&server->meter, !TAILQ_EMPTY(&server->service.exchanging)) != 0)
		return;
	service_progress(&server->service, &bytes, &total);
	meter_show(&server->meter, &server->output, bytes, total);
}

static void serve(struct server *server)
{
	while (!service_over(&server->service)) {
		struct pollfd waiting[] = {
			{.fd = server->broken ? -1 : server->service.channel->fd, .events = POLLIN},
			{.fd = server->service.wakeups.eventfd, .events = POLLIN},
			{.fd = server->signals, .events = POLLIN},
		};

		poll(waiting, 3, next_due(server));
		if (waiting[1].revents)
			service_wakeups(&server->service);
		if (waiting[0].revents)
			take_events(server);
		if (waiting[2].revents)
			take_signal(server);
		service_deadlines(&server->service);
		show_progress(server);
	}
	output_progress(&server->output, NULL);
}

/*
 * The addresses to listen on, one of which is enough: --bind's, or the --device's, or all, IPv6 and
 * IPv4. Returns how many were written into addresses, or -1 with the failure recorded.
 */
static int listen_addresses(
	const struct options *options, struct sockaddr_storage addresses[], struct failure *failure)
{
	struct addrinfo *list;
	enum readiness lacking;
	int error, count = 0;

	if (!options->bind && options->device) {
		lacking = device_address_find("", options->device, AF_UNSPEC, &addresses[0]);
		if (lacking != HOST_READY)
			return failure_set(failure, FAILURE_HOST, PHASE_LISTEN, (int)lacking,
				"--device", "--device %s", options->device);
		address_set_port(&addresses[0], options->port);
		return 1;
	}
	error = address_find(options->bind ? options->bind : "::", options->port, AF_UNSPEC,
		(int)options->timeout, &list);
	if (error)
		return failure_set(failure, FAILURE_NAME, PHASE_NAME, error, "getaddrinfo", "%s",
			gai_strerror(error));
	for (const struct addrinfo *a = list; a && count < ADDRESSES_MAX; a = a->ai_next)
		memcpy(&addresses[count++], a->ai_addr, a->ai_addrlen);
	freeaddrinfo(list);
	return count;
}

static bool is_wildcard(const struct sockaddr_storage *address)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;

	return address->ss_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr)
					      : v4->sin_addr.s_addr == INADDR_ANY;
}

/* Binds to one address, which must be all or belong to an RDMA device: the right one. */
static int bind_to(const struct options *options, struct rdma_cm_id *listener,
	struct sockaddr_storage *address, struct failure *failure)
{
	int both_families = 0, error;
	const char *device;

	/* "::" is to take IPv4 clients too, whatever net.ipv6.bindv6only says. */
	rdma_set_option(listener, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &both_families,
		sizeof(both_families));
	error = rdma_bind_addr(listener, (struct sockaddr *)address) ? errno : 0;
	/* With all addresses, the kernel calls a port in use an address that is not there. */
	if (error == EADDRNOTAVAIL && is_wildcard(address))
		error = EADDRINUSE;
	/* It takes loopback addresses, though nobody can reach them by RDMA. */
	if (!error && !listener->verbs && !is_wildcard(address))
		error = ENODEV;
	if (error)
		return failure_set(failure, FAILURE_ERRNO, PHASE_LISTEN, error, "rdma_bind_addr",
			"%s", strerror(error));
	device = listener->verbs ? ibv_get_device_name(listener->verbs->device) : NULL;
	if (options->device && device && strcmp(options->device, device) != 0)
		return failure_set(failure, FAILURE_HOST, PHASE_LISTEN, HOST_OTHER_DEVICE,
			"--device", "it is on %s", device);
	return 0;
}

/* Listens on the first of the addresses that can be bound to; the first failure is what counts. */
static int start_listening(struct server *server, struct sockaddr_storage addresses[], int count,
	struct failure *failure)
{
	struct service *service = &server->service;

	for (int i = 0; i < count; i++) {
		if (rdma_create_id(service->channel, &service->listener, NULL, RDMA_PS_TCP))
			return failure_set(failure, FAILURE_ERRNO, PHASE_OPEN, errno,
				"rdma_create_id", "%s", strerror(errno));
		if (bind_to(&server->options, service->listener, &addresses[i], failure) == 0)
			break;
		service_stop_listening(service);
	}
	if (!service->listener)
		return -1;
	*failure = (struct failure){0};
	if (rdma_listen(service->listener, BACKLOG))
		return failure_set(failure, FAILURE_ERRNO, PHASE_LISTEN, errno, "rdma_listen", "%s",
			strerror(errno));
	return 0;
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
	struct sockaddr_storage addresses[ADDRESSES_MAX] = {0};
	int count;

	/* The lookup comes first: until it is done a signal just ends the process. */
	count = listen_addresses(&server->options, addresses, failure);
	if (count < 0)
		return -1;
	server->signals = signals_open();
	if (server->signals < 0)
		return failure_set(failure, FAILURE_ERRNO, PHASE_OPEN, -server->signals, "signalfd",
			"%s", strerror(-server->signals));
	server->service.channel = channel_open(failure);
	return server->service.channel ? start_listening(server, addresses, count, failure) : -1;
}

/* Listens and serves until the end. Returns the exit status. */
static enum exit_status run(struct server *server)
{
	const struct options *options = &server->options;
	struct failure failure = {0};
	uint16_t port;
	int error;

	if (options->port_file)
		port_file_remove(options->port_file);
	if (exchange_settings_prepare(&server->service.settings))
		return STATUS_FAILED;
	if (start(server, &failure)) {
		service_report(&server->service, &failure, listens_on(options));
		return STATUS_FAILED;
	}
	port = ntohs(rdma_get_src_port(server->service.listener));
	error = options->port_file ? port_file_write(options->port_file, port) : 0;
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
	exchange_settings_end(&server->service.settings);
	wakeup_queue_close(&server->service.wakeups);
	if (server->signals >= 0)
		close(server->signals);
}

static int set_up(struct server *server, char greeting[64])
{
	const struct options *options = &server->options;
	struct service *service = &server->service;
	int error;

	server->output = startup_output("rdma-server", options);
	snprintf(greeting, 64, "message from passive/server side with pid %d", (int)getpid());
	service->options = options;
	service->output = &server->output;
	service_init(service);
	exchange_settings_init(
		&service->settings, options, &server->output, &service->wakeups, greeting);
	meter_init(&server->meter, options);
	server->signals = service->wakeups.eventfd = -1;
	error = wakeup_queue_open(&service->wakeups);
	if (error)
		output_error(&server->output, "cannot start: %s", strerror(-error));
	return error;
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
	status = set_up(&server, greeting) ? STATUS_FAILED : run(&server);
	tear_down(&server);
	return (int)output_finish(&server.output, status);
}
