/*
 * The device context and its CQ thread, which waits for completions, requests from the main thread
 * and deadlines, and calls the driver of each exchange (exchange/driver.c).
 *
 * Each connection has its own completion queue, with one entry for each work request that it can
 * have posted, so the queue cannot overflow, however many clients there are, and no client can fill
 * another client's queue. All completion queues of a device report to its single completion
 * channel, whose events identify the connection.
 *
 * The context owns the completion channel and the thread; connections belong to the main thread. A
 * connection may be freed only after the CQ thread has released it: connection_release() marks it
 * as released just before the main thread is notified. Afterwards the CQ thread does not access it,
 * except to acknowledge an event that was raised earlier: ibv_destroy_cq() waits for that
 * acknowledgement.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/signals.h"
#include "base/worker.h"
#include "cli/parse.h"
#include "cli/startup.h"
#include "exchange/internal.h"
#include "rdma-common.h"
#include "stream/source.h"
#include "verbs/channel.h"
#include "verbs/resource-limit.h"

/* The minimum and maximum interval between idle checks, in milliseconds. */
#define CHECK_MIN 20
#define CHECK_MAX 1000

/* Maximum number of rdmacm events handled before wakeups and signals get their turn. */
#define EVENTS 64

/* cppcheck-suppress unusedStructMember ; the macros of sys/queue.h use them */
TAILQ_HEAD(connections, connection);

/* Only the CQ thread uses the fields below `stop`. */
struct device_context {
	struct device device;
	pthread_t thread;
	struct wakeup stop;
	struct connections watched; /* running exchanges */
	struct connections backlog; /* with work left at the end of their turn */
	deadline_t next_check;      /* next idle check of `watched` */
};

static struct device_context *context_of(struct device *device)
{
	return (struct device_context *)device;
}

/* Defers the remaining work until other connections have had their turn. */
static void backlog_add(struct device_context *context, struct connection *connection)
{
	if (!connection->in_backlog)
		TAILQ_INSERT_TAIL(&context->backlog, connection, next_in_backlog);
	connection->in_backlog = true;
}

static void backlog_remove(struct device_context *context, struct connection *connection)
{
	if (connection->in_backlog)
		TAILQ_REMOVE(&context->backlog, connection, next_in_backlog);
	connection->in_backlog = false;
}

/* Updates the lists after work on the connection. */
static void update(struct device_context *context, struct connection *connection, bool more)
{
	deadline_t due;

	if (more && connection->life == CONNECTION_OPEN)
		backlog_add(context, connection);
	if (connection->running && !connection->watched) {
		connection->watched = true;
		TAILQ_INSERT_TAIL(&context->watched, connection, next_watched);
		context->next_check = deadline_in(CHECK_MIN);
	}
	due = connection_next_check(connection);
	if (connection->watched && due < context->next_check)
		context->next_check = due;
}

/* Releases the connection: this thread does not access it afterwards. */
static void release(struct device_context *context, struct connection *connection)
{
	backlog_remove(context, connection);
	if (connection->watched)
		TAILQ_REMOVE(&context->watched, connection, next_watched);
	connection->watched = false;
	connection_release(connection);
	wakeup_queue_post(connection->settings->wakeups, &connection->to_main, CONNECTION_DRAINED);
}

/* Releases a closing connection that has no outstanding work requests. Returns whether it did. */
static bool release_if_drained(struct device_context *context, struct connection *connection)
{
	if (connection->life != CONNECTION_CLOSING || !endpoint_is_drained(&connection->endpoint))
		return false;
	release(context, connection);
	return true;
}

/*
 * Handles one completion event: get, acknowledge, drain, re-arm and drain again, because
 * completions that arrive before the re-arm raise no event. ibv_get_cq_event(3). Returns false if
 * the channel is dead because the device was removed.
 */
static bool take_cq_event(struct device_context *context)
{
	struct connection *connection;
	struct endpoint *endpoint;
	bool more;
	int error;

	endpoint = endpoint_take_event(context->device.channel, &error);
	if (!endpoint)
		return error == 0;
	connection = connection_of(endpoint);
	more = connection_poll(connection);
	if (release_if_drained(context, connection))
		return true;
	connection_arm(connection);
	more |= connection_poll(connection);
	if (!release_if_drained(context, connection))
		update(context, connection, more);
	return true;
}

/* Continues the connection that has waited the longest, if any. */
static void backlog_advance(struct device_context *context)
{
	struct connection *connection = TAILQ_FIRST(&context->backlog);

	if (!connection)
		return;
	backlog_remove(context, connection);
	/* A closing connection gets an event for each outstanding completion. */
	if (connection->life == CONNECTION_OPEN)
		update(context, connection, connection_advance(connection));
}

/*
 * Handles requests of the main thread and of worker threads. Those that arrive meanwhile wait until
 * completions have had their turn. Returns false if the thread must end.
 */
static bool take_wakeups(struct device_context *context)
{
	struct wakeup_queue *wakeups = &context->device.wakeups;
	struct wakeup *wakeup;
	unsigned int events;

	for (size_t left = wakeup_queue_length(wakeups) + 1;
		left > 0 && (wakeup = wakeup_queue_take(wakeups, &events)); left--) {
		struct connection *connection = wakeup->about;

		if (events & THREAD_STOP)
			return false;
		if (connection->life != CONNECTION_RELEASED) {
			bool more = connection_take_events(connection, events);

			if (!release_if_drained(context, connection))
				update(context, connection, more);
		}
		if (events & THREAD_ABANDON) {
			if (connection->life != CONNECTION_RELEASED)
				release(context, connection);
			wakeup_queue_post(connection->settings->wakeups, &connection->to_main,
				CONNECTION_ABANDONED);
		}
	}
	return true;
}

/*
 * Polls a connection before its peer is judged to be idle: if this process was stopped for longer
 * than --timeout, the peer's messages are still in the queue.
 */
static void poll_if_late(
	struct device_context *context, struct connection *connection, deadline_t now)
{
	if (connection_is_late(connection, now))
		update(context, connection, connection_poll(connection));
}

/* Runs the idle checks when they are due. Returns the time until the next check, for poll(2). */
static int check_idle(struct device_context *context)
{
	deadline_t now = deadline_now(), next = now + CHECK_MAX, due;
	struct connection *connection;

	if (TAILQ_EMPTY(&context->watched))
		return -1;
	if (now < context->next_check)
		return deadline_left(context->next_check);
	TAILQ_FOREACH (connection, &context->watched, next_watched) {
		poll_if_late(context, connection, now);
		connection_check_idle(connection, now);
		due = connection_next_check(connection);
		if (due < next)
			next = due;
	}
	context->next_check = next > now + CHECK_MIN ? next : now + CHECK_MIN;
	return deadline_left(context->next_check);
}

static void *poll_completions(void *argument)
{
	struct device_context *context = argument;
	struct pollfd waiting[] = {
		{.fd = context->device.wakeups.eventfd, .events = POLLIN},
		{.fd = context->device.channel->fd, .events = POLLIN},
	};
	bool running = true;

	locality_bind(locality_processors(&context->device.locality));
	while (running) {
		int time = check_idle(context);

		if (poll(waiting, 2, TAILQ_EMPTY(&context->backlog) ? time : 0) < 0)
			continue; /* EINTR */
		/*
		 * Handle wakeups first: a completion may belong to a new connection, whose contents
		 * become visible to this thread when it handles THREAD_ADOPT.
		 */
		running = take_wakeups(context);
		/*
		 * The channel of a removed device is not polled again; rdmacm notifies the main
		 * thread.
		 */
		if (running && waiting[1].revents && !take_cq_event(context))
			waiting[1].fd = -1;
		if (running)
			backlog_advance(context);
	}
	return NULL;
}

int device_start(struct ibv_context *verbs, struct device **result, struct failure *failure)
{
	struct device_context *context = calloc(1, sizeof(*context));
	struct device *device = &context->device;
	char name[16]; /* maximum size of a thread name */
	char reason[256];
	int error;

	if (!context)
		return failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, ENOMEM, "calloc", "");
	TAILQ_INIT(&context->watched);
	TAILQ_INIT(&context->backlog);
	device->wakeups.eventfd = -1;
	if (device_open(device, verbs, failure))
		goto free_context;
	error = wakeup_queue_open(&device->wakeups);
	if (!error)
		error = -pthread_create(&context->thread, NULL, poll_completions, context);
	if (error) {
		resource_limit_of_threads(-error, reason, sizeof(reason));
		failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, -error, "pthread_create",
			"cannot start the CQ thread: %s", reason);
		goto close_wakeup_queue;
	}
	snprintf(name, sizeof(name), "cq-%s", device_name(device));
	pthread_setname_np(context->thread, name);
	*result = device;
	return 0;

close_wakeup_queue:
	wakeup_queue_close(&device->wakeups);
	device_close(device);
free_context:
	free(context);
	return -1;
}

void device_stop(struct device *device)
{
	struct device_context *context = context_of(device);

	if (!device)
		return;
	wakeup_queue_post(&device->wakeups, &context->stop, THREAD_STOP);
	pthread_join(context->thread, NULL);
	wakeup_queue_close(&device->wakeups);
	device_close(device);
	free(context);
}

/* The main thread. */

static void take_cm_events(struct main_loop *loop)
{
	struct failure failure = {0};
	struct event_copy copy;
	int taken = 1;

	for (int i = 0; i < EVENTS && loop->channel && taken > 0; i++) {
		taken = channel_take(loop->channel, &copy);
		if (taken > 0)
			loop->take_event(loop->user, &copy.event);
	}
	if (taken >= 0)
		return;
	loop->channel = NULL;
	failure_set(&failure, FAILURE_ERRNO, PHASE_OPEN, -taken, "rdma_get_cm_event",
		"cannot read rdmacm events: %s", strerror(-taken));
	loop->take_failure(loop->user, &failure);
}

static void take_main_wakeups(struct main_loop *loop)
{
	struct wakeup *wakeup;
	unsigned int events;

	for (size_t left = wakeup_queue_length(loop->wakeups) + 1;
		left > 0 && (wakeup = wakeup_queue_take(loop->wakeups, &events)); left--)
		loop->take_wakeup(loop->user, wakeup, events);
}

static void take_main_signal(struct main_loop *loop)
{
	int signal = signals_read(loop->signals);

	if (!signal)
		return;
	loop->signal = signal;
	loop->take_signal(loop->user);
}

void main_loop_turn(struct main_loop *loop, int milliseconds)
{
	struct pollfd waiting[] = {
		{.fd = loop->wakeups->eventfd, .events = POLLIN},
		{.fd = loop->channel ? loop->channel->fd : -1, .events = POLLIN},
		{.fd = loop->signals, .events = POLLIN},
		{.fd = loop->take_status ? loop->status : -1, .events = POLLIN},
		{.fd = loop->take_input ? loop->input : -1, .events = POLLIN},
	};

	poll(waiting, sizeof(waiting) / sizeof(waiting[0]), milliseconds);
	if (waiting[0].revents)
		take_main_wakeups(loop);
	if (waiting[1].revents)
		take_cm_events(loop);
	if (waiting[2].revents)
		take_main_signal(loop);
	if (waiting[3].revents)
		loop->take_status(loop->user);
	if (waiting[4].revents)
		loop->take_input(loop->user);
}

/* Settings. */

/* True if the user's output can be a folder or several files. */
static bool takes_tree(const struct options *options)
{
	return options->discard || (options->output && output_file_takes_tree(options->output));
}

/* Returns what the user wants to send and to store, for the hello. */
static uint8_t plans_of(const struct options *options)
{
	return (uint8_t)(HELLO_PLANS | HELLO_RESUMES |
			 (options->input || options->message ? HELLO_SENDS_DATA : 0) |
			 (options->input ? HELLO_SENDS_FILE : 0) |
			 (options->output || options->discard ? HELLO_TAKES_FILE : 0) |
			 (options->output ? HELLO_WANTS_DATA : 0) |
			 (options_send_tree(options) ? HELLO_SENDS_TREE : 0) |
			 (takes_tree(options) ? HELLO_TAKES_TREE : 0));
}

void settings_init(struct exchange_settings *settings, const struct options *options,
	const struct output *output, struct wakeup_queue *wakeups, const char *greeting)
{
	*settings = (struct exchange_settings){
		.output = output,
		.wakeups = wakeups,
		.message = options->message ? options->message : greeting,
		.input = options->input,
		.inputs = options->inputs,
		.input_count = options->input_count,
		.excluded = options->excluded,
		.excluded_count = options->excluded_count,
		.kept = options->kept,
		.numeric_ids = options->numeric_ids,
		.output_file = {.output = options->output,
			.force = options->force || options->update,
			.update = options->update,
			.checksum = options->checksum,
			.direct = options->direct,
			.kept = options->kept,
			.numeric = options->numeric_ids},
		.direct = options->direct,
		.plans = plans_of(options),
		.buffer = options->buffer,
		.buffer_grows = options->buffer_grows,
		.chunk = options->chunk,
		.depth = options->depth,
		.workers = options->workers,
		.ordering = options->ordering,
		.timeout = options->timeout,
		.dscp = options->dscp,
		.secret_file = options->secret_file,
		.handshake_timeout = options->handshake_timeout,
		.max_size = options->max_size,
	};
	settings->message_size = strlen(settings->message) + 1;
}

/* Records that a file cannot be used. */
static int file_failed(
	struct failure *failure, int error, const char *option, const char *path, const char *why)
{
	failure_set(failure, FAILURE_FILE, PHASE_START, -error, option, "%s", why);
	failure->path = path;
	return -1;
}

int settings_prepare(struct exchange_settings *settings, struct failure *failure)
{
	const char *input = settings->input, *output = settings->output_file.output;
	char why[OUTPUT_FILE_WHY_SIZE];
	struct source *source;
	int error = 0;

	if (startup_secret(&settings->secret, settings->secret_file, failure))
		return -1;
	if (input && strcmp(input, "-") == 0 && output_was_closed(STDIN_FILENO))
		return file_failed(failure, -EBADF, "--input", input,
			"cannot read standard input: it is closed");
	if (input && !output_file_is_shared(input)) {
		if (settings_open_source(settings, &source, PHASE_START, failure))
			return -1;
		source_close(source);
	}
	if (settings->kept && !(settings->plans & (HELLO_SENDS_TREE | HELLO_TAKES_TREE)))
		return file_failed(failure, -ENOTDIR, "--output", output,
			"cannot keep attributes: --output must be a directory");
	if (output && settings->kept & KEPT_OWNER && geteuid() != 0)
		return file_failed(failure, -EPERM, "--owner", output,
			"cannot keep owners: only root may give files to other users");
	if (output)
		error = output_file_check(&settings->output_file, why);
	return error ? file_failed(failure, error, "--output", output, why) : 0;
}

void settings_end(struct exchange_settings *settings)
{
	secret_free(settings->secret);
	settings->secret = NULL;
}
