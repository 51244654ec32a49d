/*
 * The driver of an exchange: it feeds events to the state machine (exchange/state-machine.c),
 * carries out the requested actions, and feeds the resulting events back until none remain. No
 * function that the driver calls ever calls the driver.
 *
 * Runs on the CQ thread, the only thread that posts to the queue pair after connect or accept. A
 * receive is reposted as soon as its message has been processed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/explain.h"
#include "base/text.h"
#include "base/units.h"
#include "exchange/movers.h"
#include "exchange/stream.h"
#include "exchange/test-data.h"

/*
 * An acknowledgement that took longer than this was lost, in milliseconds: devices acknowledge
 * without any program.
 */
#define UNACKNOWLEDGED_MS 2000

/* Batches of completions polled before other connections get their turn. */
#define BATCHES 16

struct connection *connection_of(struct endpoint *endpoint)
{
	return (struct connection *)((char *)endpoint - offsetof(struct connection, endpoint));
}

/* Actions. */

static enum exchange_event send_region(struct connection *connection)
{
	const struct region *exposed = connection_exposed(connection);
	const struct mover *mover = connection->mover;
	struct message message = {.type = MSG_MR};
	enum exchange_event event;

	if (exposed) {
		message.address = (uintptr_t)exposed->start;
		message.length = exposed->size;
		message.rkey = exposed->mr->rkey;
	}
	event = mover->post_receives ? mover->post_receives(connection) : EVENT_NONE;
	if (event != EVENT_NONE)
		return event;
	if (mover->describe_region)
		mover->describe_region(connection, &message);
	return connection_send(connection, OPERATION_MR, &message, IBV_SEND_SIGNALED);
}

/* Registers the region and sends MSG_MR, unless a thread registers it: end_registration(). */
static enum exchange_event expose_region(struct connection *connection)
{
	enum exchange_event event = registration_begin(connection);

	return event != EVENT_NONE || connection->registration.pending ? event
								       : send_region(connection);
}

static enum exchange_event start_data(struct connection *connection)
{
	char count[UNITS_TEXT];

	if (connection_has_transcript(connection))
		output_step(connection->settings->output, connection_client(connection),
			"received MSG_MR. %s remote memory...", connection->mode->doing);
	if (connection->mover->exposes == EXPOSES_NOTHING)
		output_detail(connection->settings->output,
			"%s receives SENDs of %llu bytes, %u at a time", connection->peer,
			(unsigned long long)connection->peer_mr.length, connection->peer_mr.depth);
	else
		output_detail(connection->settings->output,
			"%s exposes %s bytes at %#llx, rkey %#x", connection->peer,
			units_format_count(count, connection->peer_mr.length),
			(unsigned long long)connection->peer_mr.address, connection->peer_mr.rkey);
	return connection->mover->start(connection);
}

static enum exchange_event send_done(struct connection *connection)
{
	const struct mover *mover = connection->mover;
	struct message message = {.type = MSG_DONE};

	if (mover->describe_done)
		mover->describe_done(connection, &message);
	return connection_send(
		connection, OPERATION_DONE, &message, IBV_SEND_SIGNALED | mover->done_flags);
}

static enum exchange_event send_verdict(struct connection *connection)
{
	bool lost = omitted_count(sink_lost(connection->sink)) > 0;
	struct message message = {
		.type = MSG_VERDICT,
		.verdict = connection->damaged ? VERDICT_DAMAGED
			   : lost              ? VERDICT_INCOMPLETE
					       : VERDICT_VERIFIED,
	};

	connection_name_device(connection, message.device);
	authentication_sign(connection, &message);
	return connection_send(connection, OPERATION_VERDICT, &message, IBV_SEND_SIGNALED);
}

/* Sends the cause of the abort to the peer, without local evidence. */
static enum exchange_event send_abort(struct connection *connection)
{
	struct message message = {.type = MSG_ABORT};
	char text[1024];

	if (connection->failure.kind == FAILURE_PROTOCOL)
		message.refusal = connection->failure.code == PROTOCOL_UNAUTHENTICATED
					  ? REFUSAL_SECRET
					  : REFUSAL_MALFORMED;
	explain_cause(&connection->failure, text, sizeof(text));
	message_set_text(&message, text);
	return connection_send(connection, OPERATION_ABORT, &message, IBV_SEND_SIGNALED);
}

/* The state machine. */

/* If several actions return an event, only the first counts: the others are its consequences. */
static enum exchange_event first(enum exchange_event earlier, enum exchange_event later)
{
	return earlier != EVENT_NONE ? earlier : later;
}

/* Carries out the actions that the state machine requested. Returns the first resulting event. */
static enum exchange_event act(struct connection *connection, unsigned int actions)
{
	enum exchange_event event = EVENT_NONE;

	if (actions & ACTION_SEND_PROOF)
		event = first(event, authentication_send_proof(connection));
	if (actions & ACTION_SEND_MR)
		event = first(event, expose_region(connection));
	if (actions & ACTION_SEND_DATA)
		event = first(event, start_data(connection));
	if (actions & ACTION_SEND_DONE)
		event = first(event, send_done(connection));
	if ((actions & ACTION_DELIVER) && connection->mover->deliver)
		connection->mover->deliver(connection);
	if (actions & ACTION_SEND_VERDICT)
		event = first(event, send_verdict(connection));
	if (actions & ACTION_SEND_ABORT)
		event = first(event, send_abort(connection));
	return event;
}

/* Marks the exchange as running, which starts the idle timeout. */
static void start_running(struct connection *connection)
{
	if (!connection->running)
		connection->last_receive = connection->last_send = deadline_now();
	connection->running = true;
}

/*
 * The peer's MSG_MR proves that the connection is up, even if rdmacm never reports it established.
 */
static void finish_handshake(struct connection *connection)
{
	start_running(connection);
	wakeup_queue_post(
		connection->settings->wakeups, &connection->to_main, CONNECTION_HANDSHAKE_DONE);
}

/* One step of the state machine. Returns the resulting event, or EVENT_NONE. */
static enum exchange_event step(struct connection *connection, enum exchange_event event)
{
	struct exchange *exchange = &connection->exchange;
	const char *violation = exchange_violation(exchange, event);
	bool ended = exchange->ended;
	unsigned int actions = exchange_step(exchange, event);
	enum exchange_event next;

	if (actions & ACTION_VIOLATION)
		failure_set(&connection->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, (int)event,
			"exchange_step", "received %s",
			violation ? violation : "messages out of order");
	else if (event == EVENT_RECEIVED_MR && !connection->settings->active)
		finish_handshake(connection);
	if (!ended && exchange->ended)
		connection->aborted = deadline_now();
	next = act(connection, actions);
	if (!connection->exchange_end && exchange_complete(exchange))
		connection->exchange_end = deadline_now();
	if ((actions & ACTION_FINISH) && event != EVENT_DISCONNECTED)
		wakeup_queue_post(
			connection->settings->wakeups, &connection->to_main, CONNECTION_FINISHED);
	return next;
}

static void drive(struct connection *connection, enum exchange_event event)
{
	while (event != EVENT_NONE)
		event = step(connection, event);
}

/* Sends our data and detects its end. */
static enum exchange_event send_data(struct connection *connection)
{
	enum exchange_event event = EVENT_NONE;

	if (connection->exchange.sent != SENDING_DATA || !stream_has_started(connection, &event))
		return event;
	connection->more |= connection->mover->send(connection, &event);
	return event == EVENT_NONE ? stream_end_sending(connection) : event;
}

/* Requests the peer's data if the mover does so, and detects its end. */
static enum exchange_event receive_data(struct connection *connection)
{
	enum exchange_event event = EVENT_NONE;

	if (connection->mover->receive)
		connection->more |= connection->mover->receive(connection, &event);
	return event == EVENT_NONE ? stream_end_receiving(connection) : event;
}

/* Advances both streams as far as currently possible. Returns the first resulting event. */
static enum exchange_event move_streams(struct connection *connection)
{
	enum exchange_event event;

	/* MSG_MR precedes the other messages of a stream. */
	if (!connection->streaming || connection->exchange.sent < SENDING_MR ||
		connection->registration.pending || connection->exchange.ended ||
		connection->cause_due || connection->life != CONNECTION_OPEN)
		return EVENT_NONE;
	event = connection->mover->repost ? connection->mover->repost(connection) : EVENT_NONE;
	if (event == EVENT_NONE)
		event = stream_send_have(connection);
	/* Send credit before data, so that it does not queue behind it. */
	if (event == EVENT_NONE)
		event = stream_give_credit(connection);
	if (event == EVENT_NONE)
		event = send_data(connection);
	if (event == EVENT_NONE)
		event = receive_data(connection);
	stream_record_progress(connection);
	return event;
}

/*
 * Advances the streams until no event results. Returns true if they stopped to give other
 * connections a turn.
 */
static bool advance(struct connection *connection)
{
	enum exchange_event event;

	connection->more = false;
	while ((event = move_streams(connection)) != EVENT_NONE)
		drive(connection, event);
	return connection->more;
}

/* Receives. */

/* Records why a message cannot be decoded. */
static enum exchange_event refuse_message(
	struct connection *connection, int error, const struct message *message, uint32_t length)
{
	if (error == -EMSGSIZE)
		return connection_fail(connection, FAILURE_PROTOCOL, error, "message_decode",
			"received a message of %u bytes, expected %d", length, MESSAGE_SIZE);
	if (message->type >= MSG_TYPES)
		return connection_fail(connection, FAILURE_PROTOCOL, error, "message_decode",
			"received a message of unknown type %u", message->type);
	return connection_fail(connection, FAILURE_PROTOCOL, error, "message_decode",
		"received an invalid %s (address %#llx, length %llu, verdict %u)",
		message_name(message->type), (unsigned long long)message->address,
		(unsigned long long)message->length, message->verdict);
}

/*
 * True if a work request failed, for which the peer may have given the reason: its MSG_ABORT can
 * complete after the failure that follows from the abort.
 */
static bool awaits_reason(const struct connection *connection)
{
	bool failed = connection->failure.kind == FAILURE_COMPLETION ||
		      (connection->cause_due && !connection->exchange.ended);

	return failed && !exchange_complete(&connection->exchange);
}

/* Records that the peer aborted, and its reason. */
static enum exchange_event take_abort(struct connection *connection, const struct message *message)
{
	char text[TEXT_ESCAPED_SIZE(MESSAGE_TEXT_MAX)];

	if (awaits_reason(connection)) {
		connection->failure = (struct failure){0};
		connection->cause_due = 0;
	}
	if (authentication_is_refusal(connection, message))
		secret_refused(&connection->failure);
	/* The peer has already escaped text that it quotes. */
	text_escape_utf8(text, message->text, message->text_size);
	failure_set(&connection->failure, FAILURE_ABORTED, PHASE_EXCHANGE,
		message->refusal == REFUSAL_MALFORMED ? CODE_VIOLATION : 0, message_name(MSG_ABORT),
		"the peer aborted: %s", *text ? text : "no reason given");
	return EVENT_RECEIVED_ABORT;
}

static enum exchange_event take_verdict(
	struct connection *connection, const struct message *message)
{
	enum exchange_event event = EVENT_NONE;

	if (!authentication_is_signed(connection, message))
		return connection_fail(connection, FAILURE_PROTOCOL, -EBADMSG,
			message_name(MSG_VERDICT),
			"received MSG_VERDICT with an invalid signature");
	text_escape(connection->peer_device, message->device, strlen(message->device));
	if (message->verdict == VERDICT_INCOMPLETE && !connection->kept)
		return connection_fail(connection, FAILURE_PROTOCOL, -EPROTO,
			message_name(MSG_VERDICT),
			"received a MSG_VERDICT about attributes that are not kept");
	if (message->verdict == VERDICT_INCOMPLETE)
		failure_set(&connection->incomplete, FAILURE_FILE, PHASE_INCOMPLETE, EIO,
			message_name(MSG_VERDICT),
			"the peer could not set all attributes, and names the files; all data was "
			"verified");
	if (message->verdict == VERDICT_DAMAGED)
		failure_set(&connection->failure, FAILURE_DAMAGED_THERE, PHASE_EXCHANGE, 0,
			message_name(MSG_VERDICT), "");
	if (connection->mover->done_with == RECEIVED_VERDICT)
		event = connection_revoke(connection, connection_exposed(connection));
	return first(event, EVENT_RECEIVED_VERDICT);
}

/* Handles a received message. Returns the resulting event, or the failure. */
static enum exchange_event take_message(
	struct connection *connection, const struct message *message)
{
	struct exchange *exchange = &connection->exchange;

	switch (message->type) {
	case MSG_PROOF:
		if (exchange_violation(exchange, EVENT_RECEIVED_PROOF))
			return EVENT_RECEIVED_PROOF;
		return authentication_take_proof(connection, message);
	case MSG_MR:
		if (exchange_violation(exchange, EVENT_RECEIVED_MR))
			return EVENT_RECEIVED_MR;
		connection->peer_mr = *message;
		return connection->mover->prepare(connection);
	case MSG_DONE:
		if (exchange_violation(exchange, EVENT_RECEIVED_DONE))
			return EVENT_RECEIVED_DONE;
		connection->peer_done = *message;
		return connection->mover->peer_done(connection);
	case MSG_VERDICT:
		if (exchange_violation(exchange, EVENT_RECEIVED_VERDICT))
			return EVENT_RECEIVED_VERDICT;
		return take_verdict(connection, message);
	case MSG_DATA:
		return stream_announced(connection, message->length);
	case MSG_CREDIT:
		return stream_credited(connection, message);
	case MSG_HAVE:
		return stream_peer_has(connection, message);
	case MSG_START:
		return stream_peer_starts(connection, message);
	case MSG_ABORT:
		return take_abort(connection, message);
	}
	/* message_decode() rejects other types. */
	return EVENT_NONE;
}

static enum exchange_event take_bytes(
	struct connection *connection, const uint8_t *bytes, uint32_t length)
{
	struct message message;
	int error = message_decode(&message, bytes, length);

	if (length == 0 && exchange_allows_keepalives(&connection->exchange))
		return EVENT_NONE;
	if (error)
		return refuse_message(connection, error, &message, length);
	/* After the end, only the peer's abort matters. */
	if (connection->exchange.ended && message.type != MSG_ABORT)
		return EVENT_NONE;
	if (message.type != MSG_DATA && message.type != MSG_CREDIT)
		output_detail(connection->settings->output, "%s sent %s", connection->peer,
			message_name(message.type));
	return take_message(connection, &message);
}

/*
 * True if the receive with this number is posted again once its message has been processed. If
 * there are slots, they replace the first receives.
 */
static bool is_reposted(const struct connection *connection, uint64_t number)
{
	return connection->limits.slots == 0 || number >= connection->limits.receives;
}

/*
 * A receive completed: handles the message and reposts the receive. The mover reposts those that
 * contain data.
 */
static void take_receive(struct connection *connection, const struct completion *completion)
{
	const struct mover *mover = connection->mover;
	const struct ibv_wc *wc = completion->wc;
	bool reposted = is_reposted(connection, completion->number);
	enum exchange_event event;

	connection->last_receive = deadline_now();
	connection->keepalives = 0;
	/* Once the exchange has ended, late messages must not change the outcome. */
	if (connection->exchange.ended && connection->exchange.sent != SENDING_ABORT &&
		!awaits_reason(connection))
		return;
	/*
	 * The passive side only replies. Until the connection is established, the main thread is
	 * still creating the rings.
	 */
	if (connection->settings->active && !connection->exchange.established)
		event = connection_fail(connection, FAILURE_PROTOCOL, -EPROTO, "ibv_poll_cq",
			"received a message out of turn");
	else if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		event = stream_announced_immediate(connection, ntohl(wc->imm_data));
	else if (mover->take && mover->take(connection, completion, &event))
		reposted = false;
	else
		event = take_bytes(connection, completion->data, wc->byte_len);
	drive(connection, event);
	if (reposted && !connection->exchange.ended && connection->life == CONNECTION_OPEN)
		drive(connection, connection_post_receive(connection, completion->number));
}

/* Sends. */

/* The name of each kind of work request, and the event of its completion. */
static const struct {
	const char *name;
	enum exchange_event event;
	bool printed; /* the tutorial prints its completion */
} operations[] = {
	[OPERATION_PROOF] = {"sending MSG_PROOF", EVENT_SENT_PROOF, false},
	[OPERATION_MR] = {"sending MSG_MR", EVENT_SENT_MR, true},
	[OPERATION_DONE] = {"sending MSG_DONE", EVENT_SENT_DONE, true},
	[OPERATION_VERDICT] = {"sending MSG_VERDICT", EVENT_SENT_VERDICT, false},
	[OPERATION_ABORT] = {"sending MSG_ABORT", EVENT_SENT_ABORT, false},
	[OPERATION_WRITE] = {"RDMA WRITE", EVENT_NONE, false},
	[OPERATION_READ] = {"RDMA READ", EVENT_NONE, false},
	[OPERATION_DATA] = {"sending MSG_DATA", EVENT_NONE, false},
	[OPERATION_CREDIT] = {"sending MSG_CREDIT", EVENT_NONE, false},
	[OPERATION_KEEPALIVE] = {"sending a keepalive", EVENT_NONE, false},
	[OPERATION_HAVE] = {"sending MSG_HAVE", EVENT_NONE, false},
	[OPERATION_START] = {"sending MSG_START", EVENT_NONE, false},
	[OPERATION_TEST_DATA] = {"moving test data", EVENT_NONE, false},
	[OPERATION_SEND] = {"sending data", EVENT_NONE, false},
	[OPERATION_RECEIVE] = {"receiving", EVENT_NONE, false},
};

/* A send completed, which confirms all earlier sends. */
static void take_sent(struct connection *connection, const struct completion *completion)
{
	enum operation operation = (enum operation)completion->kind;

	if (operation == OPERATION_WRITE || operation == OPERATION_READ ||
		operation == OPERATION_SEND)
		connection->mover->completed(connection, completion->number);
	if (operation == OPERATION_TEST_DATA)
		connection->test_data_moved = true;
	/*
	 * On iWARP, a completed send may not have arrived, and our disconnect could reset the TCP
	 * connection and discard it: the peer disconnects once it has received MSG_ABORT.
	 */
	if (operation == OPERATION_ABORT &&
		connection->device->traits->transport == IBV_TRANSPORT_IWARP)
		return;
	if (operations[operation].printed && connection_has_transcript(connection))
		output_step(connection->settings->output, connection_client(connection),
			"send completed successfully.");
	drive(connection, operations[operation].event);
}

/*
 * How long rdmacm may take to report the cause of a failed completion, in milliseconds; 0: the
 * completion is itself the cause. If an access was refused, the peer's program may have exited, and
 * its disconnect follows. A flush is only a consequence: either rdmacm will report the cause, or
 * our device refused an access by the peer, which then waits for us to disconnect before it
 * disconnects. A tutorial program does not wait.
 */
static int cause_delay(const struct connection *connection, const struct completion *completion)
{
	if (!connection_may_have_cause(connection))
		return 0;
	if (completion_is_refusal(completion))
		return DISCONNECT_AFTER_REFUSAL_MS;
	return completion->wc->status == IBV_WC_WR_FLUSH_ERR ? CAUSE_OF_FLUSH_MS : 0;
}

static void take_failed(struct connection *connection, const struct completion *completion)
{
	int status = (int)completion->wc->status, delay = cause_delay(connection, completion);

	if (connection->cause_due && !connection->exchange.ended)
		return; /* a consequence of the same cause */
	/*
	 * Soft-RoCE completes a receive with this status if a WRITE with immediate data, which
	 * consumes a receive, addresses other memory.
	 */
	if (completion->kind == ENDPOINT_RECEIVE && status == IBV_WC_REM_ACCESS_ERR)
		failure_set(&connection->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, status,
			"ibv_poll_cq", "received a WRITE to memory that is not exposed");
	connection_record_completion(connection, status, operations[completion->kind].name);
	if (delay > 0)
		connection->cause_due = deadline_in(delay);
	else
		drive(connection, EVENT_FAILED);
}

static void take_completion(struct connection *connection, const struct completion *completion)
{
	bool flushed = completion->wc->status == IBV_WC_WR_FLUSH_ERR;

	if (completion->kind != ENDPOINT_RECEIVE && !flushed)
		connection->last_acknowledged = deadline_now();
	if (completion->kind == ENDPOINT_DRAIN)
		return;
	if (completion->kind != ENDPOINT_RECEIVE && flushed && connection->life == CONNECTION_OPEN)
		connection->unacknowledged |= completion->pair->last_signaled > completion->number;
	if (completion->wc->status != IBV_WC_SUCCESS)
		take_failed(connection, completion);
	else if (completion->kind == ENDPOINT_RECEIVE)
		take_receive(connection, completion);
	else
		take_sent(connection, completion);
}

/* Called by the CQ thread. */

/*
 * A peer may send as fast as we poll, so the number of batches per turn is bounded. A closing
 * connection receives nothing new, so all remaining completions are polled.
 */
bool connection_poll(struct connection *connection)
{
	struct endpoint *endpoint = &connection->endpoint;
	struct completion_batch batch;
	struct completion completion;
	unsigned int batches = 0;
	bool more = false;
	int count;

	while ((count = endpoint_poll(endpoint, &batch)) > 0) {
		while (endpoint_next_completion(endpoint, &batch, &completion))
			take_completion(connection, &completion);
		more = advance(connection);
		if (++batches >= BATCHES && connection->life == CONNECTION_OPEN)
			return true;
	}
	if (count < 0) {
		failure_set(&connection->failure, FAILURE_ERRNO, PHASE_EXCHANGE, EIO, "ibv_poll_cq",
			"cannot poll the completion queue");
		drive(connection, EVENT_FAILED);
	}
	return more;
}

/* Continues streams that stopped at the end of their turn. */
bool connection_advance(struct connection *connection)
{
	bool more = advance(connection);

	return connection_poll(connection) || more;
}

void connection_arm(struct connection *connection)
{
	if (endpoint_arm(&connection->endpoint) == 0)
		return;
	failure_set(&connection->failure, FAILURE_ERRNO, PHASE_EXCHANGE, EIO, "ibv_req_notify_cq",
		"cannot request completion events");
	drive(connection, EVENT_FAILED);
}

bool connection_is_late(const struct connection *connection, deadline_t now)
{
	return connection->life == CONNECTION_OPEN && idle_is_late(connection, now);
}

deadline_t connection_next_check(const struct connection *connection)
{
	return connection->cause_due ? connection->cause_due : idle_next_check(connection);
}

void connection_check_idle(struct connection *connection, deadline_t now)
{
	if (now < connection_next_check(connection))
		return;
	if (connection->cause_due) {
		connection->cause_due = 0;
		drive(connection, EVENT_FAILED);
	}
	drive(connection, idle_check(connection, now));
}

/* rdma_disconnect() has been called, and flushes all posted work requests. */
static void close_queue_pair(struct connection *connection)
{
	connection->unacknowledged |= connection_is_unacknowledged(connection);
	connection->life = CONNECTION_CLOSING;
	/*
	 * The queue pair is already in the error state, but soft-RoCE flushes a receive that was
	 * posted in that state only when the queue pair is moved to it again.
	 */
	endpoint_flush(&connection->endpoint);
	connection_poll(connection);
}

/* Registration has ended: sends the pending MSG_MR, or aborts if the registration failed. */
static void end_registration(struct connection *connection)
{
	enum exchange_event event = registration_end(connection);

	if (connection->exchange.ended || connection->life != CONNECTION_OPEN)
		return;
	drive(connection, event == EVENT_NONE ? send_region(connection) : event);
}

bool connection_take_events(struct connection *connection, unsigned int events)
{
	bool more = false;

	if (events & THREAD_TUTORIAL) {
		connection->mover = mover_find(connection->mode, true);
		connection->exchange.rules = connection->mover->rules;
	}
	if (events & THREAD_ESTABLISHED) {
		start_running(connection);
		drive(connection, EVENT_ESTABLISHED);
	}
	if (events & THREAD_REGISTERED)
		end_registration(connection);
	/* What a file thread reported during the registration is handled now. */
	if (events & (THREAD_MOVED | THREAD_REGISTERED))
		more = advance(connection);
	if ((events & THREAD_CANCEL) && !exchange_complete(&connection->exchange)) {
		if (!failure_is_set(&connection->failure))
			connection->failure = connection->cancel_reason;
		drive(connection, EVENT_ABORTED);
	}
	if (events & THREAD_CLOSE)
		close_queue_pair(connection);
	return more;
}

/* The outcome. */

/* A flushed work request is a consequence, so any other known failure takes precedence. */
static bool is_flush(const struct failure *failure)
{
	return failure->kind == FAILURE_COMPLETION && failure->code == IBV_WC_WR_FLUSH_ERR;
}

/* True if the failure is only a consequence of an event that rdmacm reported in time. */
static bool is_explained(const struct connection *connection)
{
	if (is_flush(&connection->failure))
		return failure_is_set(&connection->reason);
	return connection->cause_due && connection->reason.kind == FAILURE_GONE;
}

/*
 * A peer that gave up because nothing arrived aborts or disconnects, and that may be the first
 * packet that arrives here. If our device, too, had waited long for acknowledgements, which no busy
 * program delays, packets were lost or very late, and the end of the connection is only the
 * consequence.
 */
static void explain_end(struct failure *failure, const struct connection *connection)
{
	bool aborted = failure->kind == FAILURE_ABORTED;
	deadline_t end = aborted ? connection->last_receive : connection->disconnected;
	int64_t silent = end - connection->last_acknowledged;
	char how[sizeof(failure->evidence)] = "the peer closed the connection";

	if ((!aborted && failure->kind != FAILURE_GONE) || !end || !connection->unacknowledged ||
		silent < UNACKNOWLEDGED_MS)
		return;
	if (aborted)
		memcpy(how, failure->evidence, sizeof(how));
	failure->kind = FAILURE_GONE;
	failure->code = CODE_UNACKNOWLEDGED;
	snprintf(failure->evidence, sizeof(failure->evidence),
		"for %.1f s, nothing that this side had sent was acknowledged, then %.200s",
		(double)silent / 1000, how);
}

/* Adds the event that the exchange was waiting for, if there is no better evidence. */
static void add_awaited_event(struct failure *failure, const struct connection *connection)
{
	const char *how;

	if (*failure->evidence != '\0' && !is_flush(failure))
		return;
	if (failure->kind == FAILURE_DEADLINE)
		how = "timed out waiting for";
	else if (failure->kind == FAILURE_GONE)
		how = "connection closed by the peer while waiting for";
	else if (is_flush(failure))
		how = "while waiting for";
	else
		return;
	snprintf(failure->evidence, sizeof(failure->evidence), "%s %s", how,
		idle_awaits(connection));
}

/* Adds to the evidence that the disconnect followed an access refused by the peer's device. */
static void add_refusal(struct failure *failure, const struct failure *refusal)
{
	size_t used = strlen(failure->evidence);

	snprintf(failure->evidence + used, sizeof(failure->evidence) - used, ", after %s: %s",
		explain_name(FAILURE_COMPLETION, refusal->code), refusal->evidence);
}

/* Determines the outcome from all recorded failures. */
static void decide(struct connection *connection)
{
	struct failure *outcome = &connection->failure, effect = {0};
	const struct exchange *exchange = &connection->exchange;
	bool complete = exchange_complete(exchange);

	if (is_explained(connection))
		effect = *outcome;
	/* After a complete exchange, an unacknowledged last message does not matter. */
	if (failure_is_set(&effect) || (complete && outcome->kind == FAILURE_COMPLETION))
		*outcome = (struct failure){0};
	if (outcome->kind == FAILURE_ABORTED)
		explain_end(outcome, connection);
	if (failure_is_set(outcome) && !is_flush(outcome))
		return;
	if (!complete && !is_flush(outcome))
		*outcome = connection->reason;
	if (!complete)
		failure_set(outcome, FAILURE_GONE, PHASE_EXCHANGE, 0, "connection_close", "");
	explain_end(outcome, connection);
	add_awaited_event(outcome, connection);
	if (failure_is_set(outcome) && effect.kind == FAILURE_COMPLETION && !is_flush(&effect))
		add_refusal(outcome, &effect);
}

/* Says what the threads of one end of a stream spent their time on. */
static void show_pace(const struct connection *connection, const char *what,
	const struct pace *pace, const struct ring *ring)
{
	char text[PACE_TEXT], size[UNITS_TEXT], chunk[UNITS_TEXT];

	if (ring->size <= SINK_TEXT_SIZE || pace_text(text, pace))
		return;
	output_detail(connection->settings->output,
		"%s: %s: %s; workers: %u, blocks of %s bytes, a ring of %s", connection->peer, what,
		text, pace->workers, units_format_count(chunk, pace->block),
		units_format_count(size, ring->size));
}

void connection_release(struct connection *connection)
{
	const struct queue_pair *pair = &connection->endpoint.pairs[0];

	if (endpoint_is_outstanding(&connection->endpoint))
		output_detail(connection->settings->output,
			"%s: released with %" PRIu64 " sends and %u receives outstanding%s",
			connection->peer, pair->sends_posted - pair->sends_completed,
			pair->receives_posted,
			connection->endpoint.armed ? "" : ", completion queue not armed");
	drive(connection, EVENT_DISCONNECTED);
	if (connection->source)
		source_stop(connection->source);
	if (connection->sink)
		sink_stop(connection->sink);
	decide(connection);
	if (connection->source)
		show_pace(connection, "sending", source_pace(connection->source),
			&connection->outgoing_ring);
	if (connection->sink)
		show_pace(connection, "receiving", sink_pace(connection->sink),
			&connection->incoming_ring);
	test_data_explain(connection);
	connection->endpoint.abandoned = true;
	connection->life = CONNECTION_RELEASED;
}
