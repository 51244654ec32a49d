/*
 * The device context and its CQ thread, which polls for completions, steps each exchange (see
 * exchange/driver.c) and drains the connections that end.
 *
 * Each connection has a completion queue of its own, exactly as large as all that it can ever have
 * posted, so no number of clients can overflow it and no client can fill another's. All of a
 * device's queues report to its one completion channel, whose events carry the connection.
 *
 * A connection may be freed only after this thread has let go of it. `retired` marks that: it is
 * set by this thread alone, right before it tells the main thread, and a connection that carries it
 * is not touched again, except for acknowledging an event that was read before: ibv_destroy_cq()
 * waits for that acknowledgement, so the connection is still there.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/internal.h"

/* Completions taken from a queue at a time, and how often before it is another one's turn. */
#define COMPLETIONS 16
#define TIMES       16

/*
 * A side that is silent for the peer's --timeout is given up, so each says something so many times in
 * that time; and looks at the clock no more often than that, in milliseconds.
 */
#define KEEPALIVES 4
#define LOOK_MIN   20

/* How long MSG_ABORT may take before we go without it. */
#define ABORT_MS 1000

/* How long the peer's disconnect may take when both sides have all: its only packet may be lost. */
#define FAREWELL_MS 5000

/* The context of one device. Only its thread uses what is below `stop`. */
struct device_context {
	struct device device;
	pthread_t thread;
	struct wakeup stop;
	TAILQ_HEAD(, connection) connections; /* whose exchange runs */
	TAILQ_HEAD(, connection) behind;      /* with more to do than their turn allowed */
	deadline_t look;                      /* when idle connections are looked for */
};

static struct device_context *context_of(struct device *device)
{
	return (struct device_context *)device;
}

/* A flushed work request is an effect, so anything else that is known comes before it. */
static bool is_flush(const struct failure *failure)
{
	return failure->kind == FAILURE_COMPLETION && failure->code == IBV_WC_WR_FLUSH_ERR;
}

/* Says in the evidence what the exchange was waiting for, where that is all there is to say. */
static void say_what_was_awaited(struct failure *failure, const struct exchange *exchange)
{
	const char *how;

	if (*failure->evidence != '\0' && !is_flush(failure))
		return;
	if (failure->kind == FAILURE_DEADLINE)
		how = "timed out waiting for";
	else if (failure->kind == FAILURE_GONE)
		how = "it disconnected while we waited for";
	else if (is_flush(failure))
		how = "while we waited for";
	else
		return;
	snprintf(failure->evidence, sizeof(failure->evidence), "%s %s", how,
		exchange_awaits(exchange));
}

/* Turns what is known at the end into the one outcome. */
static void decide(struct connection *connection)
{
	struct failure *outcome = &connection->failure;
	const struct exchange *exchange = &connection->exchange;
	bool complete = exchange_complete(exchange);

	/*
	 * A flush says only that something else went wrong before; and when all was said, that our
	 * last word was not acknowledged matters no more.
	 */
	if ((is_flush(outcome) && failure_is_set(&connection->reason)) ||
		(complete && outcome->kind == FAILURE_COMPLETION))
		*outcome = (struct failure){0};
	if (failure_is_set(outcome) && !is_flush(outcome))
		return;
	if (!complete && !is_flush(outcome))
		*outcome = connection->reason;
	if (!complete)
		failure_set(outcome, FAILURE_GONE, PHASE_EXCHANGE, 0, "connection_close", "");
	say_what_was_awaited(outcome, exchange);
}

/* The exchange runs: its silence is watched. */
static void list(struct connection *connection)
{
	if (connection->listed)
		return;
	connection->listed = true;
	connection->heard = connection->spoke = deadline_now();
	TAILQ_INSERT_TAIL(&context_of(connection->device)->connections, connection, next);
	context_of(connection->device)->look = deadline_in(LOOK_MIN);
}

/* rdmacm may never hear that the connection stands, from a peer that talks over it all the same. */
void connection_meet(struct connection *connection)
{
	list(connection);
	wakeup_queue_post(connection->settings->wakeups, &connection->to_main, CONNECTION_MET);
}

static void unlist(struct connection *connection)
{
	if (connection->listed)
		TAILQ_REMOVE(&context_of(connection->device)->connections, connection, next);
	connection->listed = false;
}

/* More has come than one turn takes: the others have theirs first. */
static void fall_behind(struct connection *connection)
{
	if (!connection->is_behind)
		TAILQ_INSERT_TAIL(&context_of(connection->device)->behind, connection, next_behind);
	connection->is_behind = true;
}

static void leave_behind(struct connection *connection)
{
	if (connection->is_behind)
		TAILQ_REMOVE(&context_of(connection->device)->behind, connection, next_behind);
	connection->is_behind = false;
}

/* Lets go of the connection: from here on this thread does not touch it. */
static void retire(struct connection *connection)
{
	if (connection_outstanding(connection))
		output_detail(connection->settings->output,
			"%s: let go with %" PRIu64 " sends and %u receives missing%s",
			connection->peer, connection->sends_posted - connection->sends_completed,
			connection->receives_posted, connection->armed ? "" : ", not armed");
	connection_step(connection, EVENT_DISCONNECTED);
	unlist(connection);
	leave_behind(connection);
	if (connection->source)
		source_stop(connection->source);
	if (connection->sink)
		sink_stop(connection->sink);
	decide(connection);
	connection->retired = true;
	wakeup_queue_post(connection->settings->wakeups, &connection->to_main, CONNECTION_DRAINED);
}

/*
 * Takes the completions that wait, and moves what they allow. A peer that sends as fast as we take
 * would have us do that for ever, so there is an end to a turn; but of one that is closing, to which
 * nothing new comes, all are taken.
 */
static void poll_queue(struct connection *connection)
{
	struct ibv_wc completions[COMPLETIONS];
	unsigned int times = 0;
	int count;

	while ((count = ibv_poll_cq(connection->cq, COMPLETIONS, completions)) > 0) {
		for (int i = 0; i < count; i++)
			connection_completed(connection, &completions[i]);
		stream_pump(connection);
		if (++times >= TIMES && !connection->closing) {
			fall_behind(connection);
			return;
		}
	}
	if (count < 0) {
		failure_set(&connection->failure, FAILURE_ERRNO, PHASE_EXCHANGE, EIO, "ibv_poll_cq",
			"the completion queue is broken");
		connection_step(connection, EVENT_FAILED);
	}
}

/*
 * Ends a closing connection of which no work request is missing. Its completion queue must not be
 * armed then: an event that is still on its way would arrive when the queue is gone (the kernel of
 * soft-RoCE raises it without looking). While it is armed, a marker brings the event that disarms it.
 * Returns true if the connection is not ours any more.
 */
static bool end_if_drained(struct connection *connection)
{
	if (!connection->closing || connection_outstanding(connection))
		return false;
	if (connection->armed && connection_post_drain(connection) == 0)
		return false;
	retire(connection);
	return true;
}

/*
 * One completion event: get, acknowledge, drain, re-arm, and drain again, because what arrived before
 * the arming raises no event. ibv_get_cq_event(3). Returns false if the channel is dead.
 */
static bool take_event(struct device_context *context)
{
	struct connection *connection;
	struct ibv_cq *cq;
	void *owner;
	bool retired;

	if (ibv_get_cq_event(context->device.channel, &cq, &owner))
		return errno == EAGAIN || errno == EINTR; /* else EIO: the device was removed */
	connection = owner;
	retired = connection->retired;
	ibv_ack_cq_events(cq, 1);
	if (retired)
		return true;
	connection->armed = false;
	poll_queue(connection);
	if (end_if_drained(connection))
		return true;
	connection->armed = ibv_req_notify_cq(cq, 0) == 0;
	if (!connection->armed) {
		failure_set(&connection->failure, FAILURE_ERRNO, PHASE_EXCHANGE, EIO,
			"ibv_req_notify_cq", "the completion queue is broken");
		connection_step(connection, EVENT_FAILED);
	}
	poll_queue(connection);
	end_if_drained(connection);
	return true;
}

/* Goes on with the one that has waited longest, if any has to wait. */
static void catch_up(struct device_context *context)
{
	struct connection *connection = TAILQ_FIRST(&context->behind);

	if (!connection)
		return;
	leave_behind(connection);
	/* What is missing of one that is closing brings an event. */
	if (!connection->closing)
		poll_queue(connection);
}

/*
 * Closes: nothing more is received, what is posted comes back, and a marker brings back what went
 * unsignaled. The queue pair is in the error state already, but soft-RoCE flushes a receive that was
 * posted after it had entered that state only when it enters it once more.
 */
static void close_queue(struct connection *connection)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};

	connection->closing = true;
	ibv_modify_qp(connection->id->qp, &attributes, IBV_QP_STATE);
	poll_queue(connection);
	if (connection->sends_posted > connection->sends_completed)
		connection_post_drain(connection);
	end_if_drained(connection);
}

/* Does what the main thread asks for about a connection that is ours still. */
static void take_events_about(struct connection *connection, unsigned int events)
{
	if (events & THREAD_TUTORIAL)
		connection->exchange.tutorial = true;
	if (events & THREAD_ESTABLISHED) {
		list(connection);
		connection_step(connection, EVENT_ESTABLISHED);
	}
	if (events & THREAD_MOVED)
		stream_pump(connection);
	if ((events & THREAD_CANCEL) && !exchange_complete(&connection->exchange)) {
		if (!failure_is_set(&connection->failure))
			connection->failure = connection->cancel_reason;
		connection_give_up(connection);
	}
	if (events & THREAD_CLOSE)
		close_queue(connection);
}

/* Does what the main thread asks for. Returns false if it asks the thread to end. */
static bool take_wakeups(struct device_context *context)
{
	unsigned int events;
	struct wakeup *wakeup;

	while ((wakeup = wakeup_queue_take(&context->device.wakeups, &events))) {
		struct connection *connection = wakeup->about;

		if (events & THREAD_STOP)
			return false;
		if (!connection->retired)
			take_events_about(connection, events);
		if (events & THREAD_ABANDON) {
			if (!connection->retired)
				retire(connection);
			wakeup_queue_post(connection->settings->wakeups, &connection->to_main,
				CONNECTION_ABANDONED);
		}
	}
	return true;
}

/* The peer is silent for too long: gives it up, and says what it was to say. */
static void end_silence(struct connection *connection, bool heard)
{
	if (exchange_complete(&connection->exchange)) {
		connection_step(connection, EVENT_FAILED);
		return;
	}
	if (heard)
		connection_stalled(connection);
	failure_set(&connection->failure, FAILURE_DEADLINE, PHASE_EXCHANGE, ETIMEDOUT, "--timeout",
		"timed out waiting for %s", exchange_awaits(&connection->exchange));
	connection_give_up(connection);
}

/* Looks at one connection. Returns when to look again. */
static deadline_t look_at(struct connection *connection, deadline_t now)
{
	int64_t ours = connection->settings->timeout, theirs = connection->theirs.timeout;
	int64_t keepalive = (theirs && theirs < ours ? theirs : ours) / KEEPALIVES;
	bool over = !connection->exchange.tutorial && exchange_complete(&connection->exchange) &&
		    connection->exchange.sent == SENT_ALL;

	if (over && ours > FAREWELL_MS)
		ours = FAREWELL_MS;
	if (connection->exchange.ended) {
		if (connection->exchange.sent == SENDING_ABORT &&
			now - connection->gave_up >= ABORT_MS)
			connection_step(connection, EVENT_FAILED);
		return now + ABORT_MS;
	}
	if (now - connection->heard >= ours)
		end_silence(connection, false);
	else if (connection_unacknowledged(connection) && now - connection->acknowledged >= ours)
		end_silence(connection, true);
	else if (!over && connection->streaming && now - connection->spoke >= keepalive &&
		 connection_capacity(connection) > 0)
		connection_keepalive(connection);
	return now + (keepalive < ABORT_MS ? keepalive : ABORT_MS);
}

/* Looks for silence, ours or a peer's, where it is time. Returns how long not to, for poll(2). */
static int look(struct device_context *context)
{
	deadline_t now = deadline_now(), next = now + ABORT_MS, again;
	struct connection *connection;

	if (TAILQ_EMPTY(&context->connections))
		return -1;
	if (now < context->look)
		return deadline_left(context->look);
	TAILQ_FOREACH (connection, &context->connections, next) {
		again = look_at(connection, now);
		if (again < next)
			next = again;
	}
	context->look = next > now + LOOK_MIN ? next : now + LOOK_MIN;
	return deadline_left(context->look);
}

static void *poll_completions(void *argument)
{
	struct device_context *context = argument;
	struct pollfd waiting[] = {
		{.fd = context->device.wakeups.eventfd, .events = POLLIN},
		{.fd = context->device.channel->fd, .events = POLLIN},
	};
	bool running = true;

	while (running) {
		int time = look(context);

		if (poll(waiting, 2, TAILQ_EMPTY(&context->behind) ? time : 0) < 0)
			continue; /* EINTR */
		/*
		 * Notes first: a completion may come from a connection that was made since, and
		 * taking the note of its adoption is what makes its contents visible here.
		 */
		running = take_wakeups(context);
		/* A removed device's channel is not polled again; the main thread will hear of it. */
		if (running && waiting[1].revents && !take_event(context))
			waiting[1].fd = -1;
		if (running)
			catch_up(context);
	}
	return NULL;
}

int device_start(struct ibv_context *verbs, struct device **result, struct failure *failure)
{
	struct device_context *context = calloc(1, sizeof(*context));
	struct device *device = &context->device;
	char name[16]; /* the longest that a thread can have */
	int error;

	if (!context)
		return failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, ENOMEM, "calloc", "");
	device->verbs = verbs;
	ibv_query_device(verbs, &device->attributes);
	device->traits = device_traits(verbs, &device->attributes);
	TAILQ_INIT(&context->connections);
	TAILQ_INIT(&context->behind);
	device->wakeups.eventfd = -1;
	device->channel = ibv_create_comp_channel(verbs);
	if (!device->channel) {
		error = errno;
		failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, error,
			"ibv_create_comp_channel", "%s", strerror(error));
		goto free_context;
	}
	/* An event may be withdrawn with its queue between poll() and read(). */
	error = fcntl(device->channel->fd, F_SETFL, O_NONBLOCK) ? -errno : 0;
	if (!error)
		error = wakeup_queue_open(&device->wakeups);
	if (!error)
		error = -pthread_create(&context->thread, NULL, poll_completions, context);
	if (error) {
		failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, -error, "pthread_create",
			"cannot start the CQ thread: %s", strerror(-error));
		goto close_wakeup_queue;
	}
	snprintf(name, sizeof(name), "cq-%s", device_name(device));
	pthread_setname_np(context->thread, name);
	*result = device;
	return 0;

close_wakeup_queue:
	wakeup_queue_close(&device->wakeups);
	ibv_destroy_comp_channel(device->channel);
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
	ibv_destroy_comp_channel(device->channel);
	free(context);
}
