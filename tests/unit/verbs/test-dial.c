/* Connecting to a server, with a fake librdmacm and clock. Each address of the server has a fate,
 * and the clock advances while the dial waits. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host/readiness.h"
#include "protocol/hello.h"
#include "tests/unit/unit.h"
#include "verbs/channel.h"
#include "verbs/device.h"
#include "verbs/dial.h"
#include "verbs/reply-watch.h"

/* The result of an attempt to connect to an address. */
enum fate {
	ACCEPTS,
	SILENT,        /* address resolution times out */
	STARVED,       /* the same, but the kernel does not report it */
	WITHOUT_RDMA,  /* not reachable through an RDMA device */
	WITHOUT_ROUTE, /* no route to it */
	REJECTS,       /* no listener */
	FULL,          /* the server is full, see full_for */
	MUTE,          /* the connection request is not answered */
	TCP_MUTE,      /* rdma_connect() waits for TCP until the deadline */
	UNSENT,        /* the kernel cannot send the connection request */
	UNSUPPORTED,   /* the connection manager has no device of this host */
	REMOVED,       /* the device is removed */
};

#define HOSTS 3

static struct network {
	int64_t now;
	enum fate fates[HOSTS];
	unsigned int attempts[HOSTS];
	unsigned int full_for; /* the request that a full server accepts, from 1; 0: none */
	const char *fails;     /* function that fails once; NULL: none */
	int stop_at;           /* phase in which a signal arrives; -1: none */
	bool stopped;

	/* The pending event; NULL: none. */
	const struct rdma_cm_event *next;
	struct rdma_cm_event event;
	int64_t due;
	uint8_t hello[HELLO_SIZE];

	unsigned int objects, unacknowledged;
	unsigned int prepared, discarded;
	struct failure reason; /* of the last discard */
	char lines[1024];
	struct sockaddr_storage source; /* last requested source address */
	int tos_set, tos;               /* set on the id; when its address was resolved; -1: none */
	int64_t watched;                /* when the watch for a reply began; 0: it did not */
	bool watched_all;               /* including the request */
	bool unsupported;               /* the connection manager supports no device */
	bool unready;                   /* the device cannot be used */
} network;

static struct ibv_device device = {.name = "fake0"};
static struct ibv_context verbs = {.device = &device};
static struct sockaddr_in server_address[HOSTS];
static struct addrinfo candidates[HOSTS];

/* Replacements for the clock and the output functions. */

int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, time);
	*time = (struct timespec){network.now / 1000, network.now % 1000 * 1000000};
	return 0;
}

static void add_line(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

static void add_line(const char *format, va_list args)
{
	size_t used = strlen(network.lines);

	vsnprintf(network.lines + used, sizeof(network.lines) - used, format, args);
	strncat(network.lines, "\n", sizeof(network.lines) - strlen(network.lines) - 1);
}

void output_line(const struct output *output, const char *format, ...)
{
	va_list args;

	(void)output;
	va_start(args, format);
	add_line(format, args);
	va_end(args);
}

void output_step(const struct output *output, const char *peer, const char *format, ...)
{
	va_list args;

	(void)output;
	assert_null(peer);
	va_start(args, format);
	add_line(format, args);
	va_end(args);
}

void output_detail(const struct output *output, const char *format, ...)
{
	(void)output;
	(void)format;
}

/* Replacements for verbs/reply-watch.c: this host is always at fault. */

void reply_watch_begin(struct reply_watch *watch, const struct rdma_cm_id *id, bool complete)
{
	assert_null(watch->id);
	watch->id = id;
	network.watched = network.now;
	network.watched_all = complete;
}

void reply_watch_end(struct reply_watch *watch, struct failure *failure)
{
	if (watch->id && failure->kind == FAILURE_DEADLINE)
		failure->code = CODE_REPLY_DROPPED;
	watch->id = NULL;
}

/* Replacements for host/readiness.c. */

enum readiness readiness_of_host(const char *root, char *evidence, size_t size)
{
	(void)root, (void)size;
	*evidence = '\0';
	return HOST_READY;
}

enum readiness readiness_of_device(const char *root, const char *asked, char *evidence, size_t size)
{
	(void)root, (void)asked;
	snprintf(evidence, size, "%s", network.unready ? "device fake0" : "");
	return network.unready ? HOST_NAMESPACE : HOST_READY;
}

enum readiness readiness_of_support(
	const char *root, const char *asked, char *evidence, size_t size)
{
	(void)root, (void)asked;
	snprintf(evidence, size, "%s", network.unsupported ? "efa_0" : "");
	return network.unsupported ? HOST_NO_MANAGER : HOST_READY;
}

/* Replacements for librdmacm. */

static bool fails(const char *function)
{
	if (!network.fails || strcmp(network.fails, function) != 0)
		return false;
	network.fails = NULL;
	errno = ENOSPC;
	return true;
}

/* Schedules an event after this time. A signal arrives first if this is the phase in stop_at. */
static int happens(enum rdma_cm_event_type type, int status, int64_t milliseconds, enum phase phase)
{
	network.event = (struct rdma_cm_event){.event = type, .status = status};
	network.due = network.now + milliseconds;
	network.next = &network.event;
	network.stopped = network.stop_at == (int)phase;
	return 0;
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_event_channel *channel;

	if (fails("rdma_create_event_channel"))
		return NULL;
	channel = calloc(1, sizeof(*channel));
	assert_non_null(channel);
	channel->fd = eventfd(0, EFD_CLOEXEC);
	network.objects++;
	return channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	close(channel->fd);
	free(channel);
	network.objects--;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
	enum rdma_port_space space)
{
	(void)context;
	(void)space;
	if (fails("rdma_create_id"))
		return -1;
	*id = calloc(1, sizeof(**id));
	assert_non_null(*id);
	(*id)->channel = channel;
	(*id)->verbs = &verbs;
	network.objects++;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	assert_int_equal(network.unacknowledged, 0);
	free(id);
	network.objects--;
	return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int option, void *value, size_t size)
{
	(void)id;
	assert_true(level == RDMA_OPTION_ID && option == RDMA_OPTION_ID_TOS && size == 1);
	if (fails("rdma_set_option"))
		return -1;
	network.tos_set = *(uint8_t *)value;
	return 0;
}

static unsigned int host_of(const struct sockaddr *address)
{
	return (ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) & 0xff) - 1;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *source, struct sockaddr *destination,
	int milliseconds)
{
	unsigned int host = host_of(destination);

	memcpy(&id->route.addr.dst_sin, destination, sizeof(struct sockaddr_in));
	network.source.ss_family = AF_UNSPEC;
	if (source)
		memcpy(&network.source, source, sizeof(struct sockaddr_in));
	network.attempts[host]++;
	network.tos = network.tos_set;
	if (fails("rdma_resolve_addr"))
		return -1;
	if (network.fates[host] == WITHOUT_RDMA) {
		errno = ENETUNREACH;
		return -1;
	}
	if (network.fates[host] == UNSUPPORTED) {
		network.unsupported = true;
		return happens(RDMA_CM_EVENT_ADDR_ERROR, -ENODEV, 1, PHASE_ADDRESS);
	}
	if (network.fates[host] == STARVED)
		return happens(RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, 3600000, PHASE_ADDRESS);
	if (network.fates[host] == SILENT)
		return happens(RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, milliseconds, PHASE_ADDRESS);
	return happens(RDMA_CM_EVENT_ADDR_RESOLVED, 0, 1, PHASE_ADDRESS);
}

int rdma_resolve_route(struct rdma_cm_id *id, int milliseconds)
{
	assert_true(milliseconds > 0); /* the kernel requires this */
	if (fails("rdma_resolve_route"))
		return -1;
	if (network.fates[host_of(rdma_get_peer_addr(id))] == WITHOUT_ROUTE)
		return happens(RDMA_CM_EVENT_ROUTE_ERROR, -EINVAL, 1, PHASE_ROUTE);
	return happens(RDMA_CM_EVENT_ROUTE_RESOLVED, 0, 1, PHASE_ROUTE);
}

static int refuse(void)
{
	const struct hello theirs = {.version = HELLO_VERSION, .refusal = REFUSAL_CLIENTS};

	happens(RDMA_CM_EVENT_REJECTED, 28, 1, PHASE_CONNECT);
	hello_encode(&theirs, network.hello);
	network.event.param.conn.private_data = network.hello;
	network.event.param.conn.private_data_len = sizeof(network.hello);
	return 0;
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters)
{
	assert_int_equal(parameters->retry_count, 5);
	if (fails("rdma_connect"))
		return -1;
	switch (network.fates[host_of(rdma_get_peer_addr(id))]) {
	case FULL:
		return network.full_for-- == 1
			       ? happens(RDMA_CM_EVENT_ESTABLISHED, 0, 1, PHASE_CONNECT)
			       : refuse();
	case REJECTS:
		return happens(RDMA_CM_EVENT_REJECTED, 8, 1, PHASE_CONNECT);
	case TCP_MUTE:
		network.now += 3600000;
		errno = ETIMEDOUT;
		return -1;
	case MUTE:
		return happens(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, 3600000, PHASE_CONNECT);
	case UNSENT:
		return happens(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, 12, PHASE_CONNECT);
	case REMOVED:
		return happens(RDMA_CM_EVENT_DEVICE_REMOVAL, 0, 1, PHASE_CONNECT);
	default:
		return happens(RDMA_CM_EVENT_ESTABLISHED, 0, 1, PHASE_CONNECT);
	}
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	(void)channel;
	if (fails("rdma_get_cm_event"))
		return -1;
	if (!network.next || network.due > network.now) {
		errno = EAGAIN;
		return -1;
	}
	*event = &network.event;
	network.next = NULL;
	network.unacknowledged++;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	assert_ptr_equal(event, &network.event);
	network.unacknowledged--;
	return 0;
}

/* The system header declares the argument of poll() as write-only, but poll() also reads it. */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

/* The first of two descriptors is the channel's. dial_wait_for_slot() passes only the descriptor
 * for signals. */
int poll(struct pollfd *waiting, nfds_t count, int milliseconds)
{
	for (nfds_t i = 0; i < count; i++)
		waiting[i].revents = 0;
	if (network.stopped && waiting[count - 1].fd >= 0) {
		waiting[count - 1].revents = POLLIN;
		return 1;
	}
	if (count == 2 && network.next && network.due <= network.now + milliseconds) {
		if (network.due > network.now)
			network.now = network.due;
		waiting[0].revents = POLLIN;
		return 1;
	}
	network.now += milliseconds;
	return 0;
}

/* The user of the dial: its callbacks and the connection that they own. */

static struct cm_channel *user_channel;
static struct rdma_cm_id *user_id;

static int prepare(void *user, struct cm_channel *channel, struct rdma_cm_id *id,
	struct rdma_conn_param *parameters, struct failure *failure)
{
	assert_ptr_equal(user, &network);
	network.prepared++;
	user_channel = channel;
	user_id = id;
	parameters->retry_count = 5;
	return fails("prepare") ? failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, ENOSPC,
					  "prepare", "")
				: 0;
}

static void free_connection(void)
{
	rdma_destroy_id(user_id);
	channel_destroy(user_channel);
}

static void discard(void *user, const struct failure *reason)
{
	assert_ptr_equal(user, &network);
	network.discarded++;
	network.reason = *reason;
	free_connection();
}

/* Returns a dial with a deadline of 10 s to servers with these fates. */
static struct dial start(unsigned int hosts, const enum fate fates[])
{
	static const struct output output;
	struct dial dial = {
		.peer = "h:7",
		.output = &output,
		.shows_steps = true,
		.timeout = 10000,
		.stop_fd = 0,
		.dscp = -1,
		.prepare = prepare,
		.discard = discard,
		.user = &network,
	};

	network = (struct network){.now = 1000000, .stop_at = -1, .tos_set = -1};
	dial.deadline = deadline_in(dial.timeout);
	for (unsigned int i = 0; i < hosts; i++) {
		network.fates[i] = fates[i];
		server_address[i] = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_port = htons(7471),
			.sin_addr.s_addr = htonl(0xc0000200 + i + 1),
		};
		candidates[i] = (struct addrinfo){
			.ai_family = AF_INET,
			.ai_addrlen = sizeof(server_address[i]),
			.ai_addr = (struct sockaddr *)&server_address[i],
			.ai_next = i + 1 < hosts ? &candidates[i + 1] : NULL,
		};
	}
	dial.server.address = dial.server.addresses = candidates;
	return dial;
}

#define START(...) start(COUNT(((enum fate[]){__VA_ARGS__})), (const enum fate[]){__VA_ARGS__})

/* Dials like the programs: retries while the server is full. */
static int dial_until_served(struct dial *dial, struct event_copy *reply)
{
	while (dial_server(dial, reply))
		if (!dial_wait_for_slot(dial))
			return -1;
	return 0;
}

static void assert_connects(struct dial *dial)
{
	struct event_copy reply;

	assert_int_equal(dial_until_served(dial, &reply), 0);
	assert_int_equal(reply.event.event, RDMA_CM_EVENT_ESTABLISHED);
	assert_false(failure_is_set(&dial->failure));
	assert_int_equal(network.prepared, network.discarded + 1);
	assert_int_equal(network.objects, 2);
	free_connection();
}

static void assert_fails(struct dial *dial, enum failure_kind kind, enum phase phase, int code)
{
	struct event_copy reply;

	assert_int_equal(dial_until_served(dial, &reply), -1);
	assert_int_equal(dial->failure.kind, kind);
	assert_int_equal(dial->failure.phase, phase);
	assert_int_equal(dial->failure.code, code);
	assert_int_equal(network.prepared, network.discarded);
	assert_int_equal(network.objects, 0);
}

static void connects(void **state)
{
	struct dial dial = START(ACCEPTS);

	(void)state;
	assert_connects(&dial);
	assert_string_equal(network.lines, "address resolved.\nroute resolved.\n");
	dial = START(ACCEPTS);
	dial.shows_steps = false;
	assert_connects(&dial);
	assert_string_equal(network.lines, "");
}

static void tries_the_next_address(void **state)
{
	static const enum fate fates[] = {SILENT, WITHOUT_RDMA, WITHOUT_ROUTE, REJECTS};

	(void)state;
	for (size_t i = 0; i < COUNT(fates); i++) {
		struct dial dial = START(fates[i], ACCEPTS);

		assert_connects(&dial);
		assert_int_equal(network.attempts[0], 1);
		assert_int_equal(network.attempts[1], 1);
		assert_int_equal(network.discarded, fates[i] == REJECTS);
	}
}

/* The kernel may have missed a reply, so each attempt is short and is repeated. */
static void silent_addresses_have_four_rounds(void **state)
{
	struct dial dial = START(SILENT, SILENT);

	(void)state;
	assert_fails(&dial, FAILURE_ERRNO, PHASE_ADDRESS, ETIMEDOUT);
	assert_int_equal(network.attempts[0], 4);
	assert_int_equal(network.attempts[1], 4);
	assert_int_equal(network.now, 1000000 + 8 * 1000);
	dial = START(SILENT);
	dial.deadline = deadline_in(2500);
	assert_fails(&dial, FAILURE_ERRNO, PHASE_ADDRESS, ETIMEDOUT);
	assert_int_equal(network.attempts[0], 3);
	assert_int_equal(network.now, 1000000 + 2500);
}

/* A failure after route resolution takes precedence; among equal failures, the first does. */
static void the_most_relevant_failure_is_reported(void **state)
{
	struct dial dial = START(WITHOUT_RDMA, WITHOUT_ROUTE);

	(void)state;
	assert_fails(&dial, FAILURE_ERRNO, PHASE_ADDRESS, ENETUNREACH);
	dial = START(SILENT, REJECTS, WITHOUT_RDMA);
	assert_fails(&dial, FAILURE_REJECTED, PHASE_CONNECT, 8);
	assert_int_equal(network.attempts[0], 1);
	dial = START(REJECTS, SILENT);
	assert_fails(&dial, FAILURE_REJECTED, PHASE_CONNECT, 8);
	assert_int_equal(network.attempts[1], 1);
}

static void the_deadline_ends_the_dial(void **state)
{
	struct dial dial = START(MUTE, ACCEPTS);

	(void)state;
	assert_fails(&dial, FAILURE_DEADLINE, PHASE_CONNECT, CODE_REPLY_DROPPED);
	assert_string_equal(dial.failure.evidence, "no answer within 10 s");
	assert_int_equal(network.now, 1000000 + 10000);
	assert_int_equal(network.attempts[1], 0);
	dial = START(ACCEPTS);
	dial.deadline = deadline_in(1); /* the time that address resolution takes */
	assert_fails(&dial, FAILURE_DEADLINE, PHASE_ROUTE, ETIMEDOUT);
	/* With no --timeout option, the message does not suggest one. */
	dial = START(MUTE);
	dial.timeout = 0;
	dial.deadline = deadline_in(400);
	assert_fails(&dial, FAILURE_DEADLINE, PHASE_CONNECT, CODE_DIAGNOSIS);
	assert_string_equal(dial.failure.evidence, "");
}

/* A timeout that comes sooner than any reply is no silence of the peer. */
static void an_early_timeout_is_local(void **state)
{
	struct dial dial = START(UNSENT);

	(void)state;
	assert_fails(&dial, FAILURE_DEADLINE, PHASE_CONNECT, CODE_NOT_SENT);
	assert_string_equal(dial.failure.evidence,
		"its kernel reported ETIMEDOUT after 12 ms, too soon for a reply");
}

/* Silence is no fault of the peer if the device of this host cannot be used. */
static void an_unusable_device_is_local(void **state)
{
	struct dial dial = START(MUTE);

	(void)state;
	network.unready = true;
	assert_fails(&dial, FAILURE_HOST, PHASE_CONNECT, HOST_NAMESPACE);
	assert_string_equal(dial.failure.evidence, "device fake0");
	dial = START(UNSENT);
	network.unready = true;
	assert_fails(&dial, FAILURE_HOST, PHASE_CONNECT, HOST_NAMESPACE);
}

/* Over software iWARP, the request itself waits for TCP. */
static void silence_of_tcp_ends_at_the_deadline(void **state)
{
	struct dial dial = START(TCP_MUTE);

	(void)state;
	assert_fails(&dial, FAILURE_DEADLINE, PHASE_CONNECT, CODE_TCP_SILENT);
}

/* If the kernel does not even report its own timeout, the peer is not blamed. */
static void a_starved_kernel_is_local(void **state)
{
	struct dial dial = START(STARVED);

	(void)state;
	assert_fails(&dial, FAILURE_DEADLINE, PHASE_ADDRESS, CODE_NOTHING_ASKED);
	/* The kernel's timeout may have been about to be reported. */
	dial = START(STARVED);
	dial.deadline = deadline_in(1900);
	assert_fails(&dial, FAILURE_DEADLINE, PHASE_ADDRESS, ETIMEDOUT);
}

/* Not "the route uses an interface without an RDMA device". */
static void an_unsupported_device_is_named(void **state)
{
	struct dial dial = START(UNSUPPORTED);

	(void)state;
	assert_fails(&dial, FAILURE_HOST, PHASE_ADDRESS, HOST_NO_MANAGER);
	assert_string_equal(dial.failure.evidence, "efa_0");
}

/* An exchange begins late, because replies usually come at once; a diagnosis, with the request. */
static void a_late_reply_is_watched_for(void **state)
{
	struct dial dial = START(ACCEPTS);
	int64_t resolved = 2; /* the time that an address and a route take */

	(void)state;
	assert_connects(&dial);
	assert_int_equal(network.watched, 0);
	dial = START(MUTE);
	assert_fails(&dial, FAILURE_DEADLINE, PHASE_CONNECT, CODE_REPLY_DROPPED);
	assert_int_equal(network.watched, 1000000 + resolved + 500);
	assert_false(network.watched_all);
	dial = START(MUTE);
	dial.watches = true;
	assert_fails(&dial, FAILURE_DEADLINE, PHASE_CONNECT, CODE_REPLY_DROPPED);
	assert_int_equal(network.watched, 1000000 + resolved);
	assert_true(network.watched_all);
	/* A rejection is a reply. */
	dial = START(REJECTS);
	dial.watches = true;
	assert_fails(&dial, FAILURE_REJECTED, PHASE_CONNECT, REJECTED_NO_LISTENER);
}

static void a_signal_ends_the_dial(void **state)
{
	static const enum phase phases[] = {PHASE_ADDRESS, PHASE_ROUTE, PHASE_CONNECT};

	(void)state;
	for (size_t i = 0; i < COUNT(phases); i++) {
		struct dial dial = START(WITHOUT_RDMA, ACCEPTS);

		network.stop_at = (int)phases[i];
		assert_fails(&dial, FAILURE_INTERRUPTED, phases[i], EINTR);
		/* Signals are not monitored. */
		dial = START(ACCEPTS);
		network.stop_at = (int)phases[i];
		dial.stop_fd = -1;
		assert_connects(&dial);
	}
}

static void a_full_server_is_retried(void **state)
{
	struct dial dial = START(FULL, ACCEPTS);

	(void)state;
	network.full_for = 3;
	assert_connects(&dial);
	assert_int_equal(network.attempts[0], 3);
	assert_int_equal(network.attempts[1], 0);
	assert_int_equal(network.discarded, 2);
	assert_int_equal(network.reason.kind, FAILURE_REFUSED);
	assert_in_range(network.now, 1000000 + 2 * 500, 1000000 + 2 * 500 + 100);
	assert_string_equal(network.lines, "address resolved.\nroute resolved.\n"
					   "server is full; retrying.\n"
					   "address resolved.\nroute resolved.\n"
					   "address resolved.\nroute resolved.\n");
	/* Retries until the deadline. */
	dial = START(FULL);
	assert_fails(&dial, FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_CLIENTS);
	assert_in_range(network.now, 1000000 + 9400, 1000000 + 10000);
}

/* After a refusal by a full server, the refusal is reported, not the timeout of a later attempt. */
static void a_full_server_is_the_reason(void **state)
{
	struct dial dial = START(FULL);
	struct event_copy reply;

	(void)state;
	assert_int_equal(dial_server(&dial, &reply), -1);
	assert_true(dial_wait_for_slot(&dial));
	network.fates[0] = MUTE;
	assert_fails(&dial, FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_CLIENTS);
	/* A signal during the wait takes precedence. */
	dial = START(FULL);
	assert_int_equal(dial_server(&dial, &reply), -1);
	network.stop_at = PHASE_ADDRESS;
	network.stopped = true;
	assert_true(dial_wait_for_slot(&dial));
	assert_fails(&dial, FAILURE_INTERRUPTED, PHASE_ADDRESS, EINTR);
}

static void failed_calls_are_reported(void **state)
{
	static const struct {
		const char *function;
		enum phase phase;
		bool final;
	} calls[] = {
		{"rdma_create_id", PHASE_OPEN, true},
		{"rdma_resolve_addr", PHASE_ADDRESS, false},
		{"rdma_get_cm_event", PHASE_ADDRESS, false},
		{"rdma_resolve_route", PHASE_ROUTE, false},
		{"prepare", PHASE_QUEUE_PAIR, true},
		{"rdma_connect", PHASE_CONNECT, false},
	};
	struct event_copy reply;
	struct dial dial;

	(void)state;
	for (size_t i = 0; i < COUNT(calls); i++) {
		dial = START(ACCEPTS);
		network.fails = calls[i].function;
		assert_fails(&dial, FAILURE_ERRNO, calls[i].phase, ENOSPC);
		assert_string_equal(dial.failure.call, calls[i].function);
		dial = START(ACCEPTS, ACCEPTS);
		network.fails = calls[i].function;
		assert_int_equal(dial_server(&dial, &reply), calls[i].final ? -1 : 0);
		assert_int_equal(network.attempts[1], calls[i].final ? 0 : 1);
		if (!calls[i].final)
			free_connection();
	}
	dial = START(ACCEPTS, ACCEPTS);
	network.fails = "rdma_create_event_channel";
	assert_int_equal(dial_server(&dial, &reply), -1);
	assert_int_equal(dial.failure.phase, PHASE_OPEN);
	assert_int_equal(network.objects, 0);
}

static void a_removed_device_is_reported(void **state)
{
	struct dial dial = START(REMOVED);

	(void)state;
	assert_fails(&dial, FAILURE_REMOVED, PHASE_CONNECT, 0);
	assert_int_equal(network.reason.kind, FAILURE_REMOVED);
}

static void source_and_device_are_respected(void **state)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc0000263)};
	struct sockaddr_in6 other = {.sin6_family = AF_INET6};
	struct addrinfo sources[] = {
		{.ai_family = AF_INET6,
			.ai_addrlen = sizeof(other),
			.ai_addr = (struct sockaddr *)&other,
			.ai_next = &sources[1]},
		{.ai_family = AF_INET,
			.ai_addrlen = sizeof(here),
			.ai_addr = (struct sockaddr *)&here},
	};
	struct dial dial = START(ACCEPTS);

	(void)state;
	dial.server.source = "here.test";
	dial.server.sources = sources;
	dial.server.device = "fake0";
	assert_connects(&dial);
	assert_memory_equal(&network.source, &here, sizeof(here));
	dial = START(ACCEPTS);
	dial.server.source = "here.test";
	dial.server.sources = sources;
	dial.server.device = "fake1";
	assert_fails(&dial, FAILURE_HOST, PHASE_ADDRESS, HOST_OTHER_DEVICE);
	/* There is no source address of the server's address family. */
	dial = START(ACCEPTS);
	sources[0].ai_next = NULL;
	dial.server.source = "here.test";
	dial.server.sources = sources;
	assert_fails(&dial, FAILURE_ERRNO, PHASE_ADDRESS, EINVAL);
	assert_int_equal(network.attempts[0], 0);
}

/* rdmacm chooses the traffic class when it resolves the route. */
static void the_dscp_is_set_before_resolving(void **state)
{
	static const struct {
		int dscp, tos;
	} cases[] = {{-1, -1}, {0, 0}, {26, 104}, {63, 252}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct dial dial = START(ACCEPTS);

		dial.dscp = cases[i].dscp;
		assert_connects(&dial);
		assert_int_equal(network.tos, cases[i].tos);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connects),
		cmocka_unit_test(tries_the_next_address),
		cmocka_unit_test(silent_addresses_have_four_rounds),
		cmocka_unit_test(the_most_relevant_failure_is_reported),
		cmocka_unit_test(the_deadline_ends_the_dial),
		cmocka_unit_test(an_early_timeout_is_local),
		cmocka_unit_test(silence_of_tcp_ends_at_the_deadline),
		cmocka_unit_test(a_starved_kernel_is_local),
		cmocka_unit_test(an_unsupported_device_is_named),
		cmocka_unit_test(an_unusable_device_is_local),
		cmocka_unit_test(a_late_reply_is_watched_for),
		cmocka_unit_test(a_signal_ends_the_dial),
		cmocka_unit_test(a_full_server_is_retried),
		cmocka_unit_test(a_full_server_is_the_reason),
		cmocka_unit_test(failed_calls_are_reported),
		cmocka_unit_test(a_removed_device_is_reported),
		cmocka_unit_test(source_and_device_are_respected),
		cmocka_unit_test(the_dscp_is_set_before_resolving),
	};

	return cmocka_run_group_tests_name("dial", tests, NULL, NULL);
}
