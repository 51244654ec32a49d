/*
 * The mode-independent parts of the two streams, which carry our data to the peer and the peer's
 * data to us at the same time, under the flow control of exchange/flow-control.h. write.c, read.c
 * and send.c move the data; this file prepares the streams, handles announcements and credit,
 * grants credit and detects the end of either stream. Runs on the CQ thread.
 *
 * The source fills outgoing_ring with our data; the sink consumes the peer's data from
 * incoming_ring. Space in outgoing_ring returns to the source when the peer no longer needs it: in
 * write and send mode when the WRITE or SEND from it completes, in read mode when the peer credits
 * it. Space in incoming_ring belongs to the sink from arrival until the sink frees it; only then
 * does credit, or the next READ, follow.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "exchange/stream.h"
#include "exchange/test-data.h"
#include "protocol/attributes.h"

/* The flow control parameters of one of the two streams. */
static struct flow make_flow(const struct connection *connection, bool ours)
{
	const struct message *peer = &connection->peer_mr;
	const struct ring *ring = ours ? &connection->outgoing_ring : &connection->incoming_ring;
	uint64_t size = ours ? source_size(connection->source) : connection->theirs.size;
	bool peer_exposes = ours == (connection->mover->exposes == EXPOSES_INCOMING);
	struct flow flow = {
		.exposed = peer_exposes ? peer->length : ring->size,
		.local = ring->size,
		.fetched = connection->mode->reads,
		.reads = connection->initiator_depth,
		.depth = ours ? peer->depth : connection->limits.depth,
	};

	flow.chunk = flow_chunk(connection->limits.chunk, ring->size, size);
	if (connection->mover->limit_flow)
		connection->mover->limit_flow(connection, &flow, ours);
	else
		flow.chunk = flow_chunk(flow.chunk, flow.exposed, size);
	return flow;
}

/* Derives a file name for unnamed data from the peer's address, without special characters. */
static void name_after_peer(const struct connection *connection, char name[ADDRESS_TEXT_SIZE])
{
	snprintf(name, ADDRESS_TEXT_SIZE, "%s", connection->peer);
	for (; *name; name++)
		if (strchr("[]:%", *name))
			*name = '-';
}

void stream_describe_region(struct connection *connection, struct message *message)
{
	message->depth = connection->limits.depth;
	message->storage = source_storage(connection->source);
	message->kept = connection->settings->kept;
	message_set_text(message, source_name(connection->source));
}

/* Finds out which attributes of trees are kept: those for which the client asks. */
static enum exchange_event agree_on_attributes(struct connection *connection)
{
	const struct exchange_settings *settings = connection->settings;
	const struct message *peer = &connection->peer_mr;
	char missing[ATTRIBUTES_OPTIONS_SIZE];

	if (!connection->theirs.keeps)
		return EVENT_NONE;
	connection->kept = settings->kept & peer->kept;
	if (!settings->active || connection->kept == settings->kept)
		return EVENT_NONE;
	attributes_options(settings->kept & ~connection->kept, missing);
	return connection_fail(connection, FAILURE_REFUSED, REFUSAL_KEPT, "agree_on_attributes",
		"the server was started without %s", missing);
}

enum exchange_event stream_prepare(struct connection *connection)
{
	const struct hello ours = {.flags = connection->settings->plans};
	const struct hello *theirs = &connection->theirs;
	const struct message *peer = &connection->peer_mr;
	char name[ADDRESS_TEXT_SIZE];
	enum exchange_event event = agree_on_attributes(connection);
	const struct output_file_offer offer = {
		.name = peer->text,
		.size = peer->text_size,
		.fallback = name,
		.storage = peer->storage,
		.tree = theirs->flags & HELLO_SENDS_TREE,
		.keeping.kept = connection->kept,
	};

	if (event != EVENT_NONE)
		return event;

	if (peer->depth == 0)
		return connection_fail(connection, FAILURE_PROTOCOL, -EPROTO, "stream_announced",
			"received MSG_MR with a depth of 0");
	connection->resuming_out.possible = hello_resumes(&ours, theirs);
	connection->resuming_in.possible = hello_resumes(theirs, &ours);
	if (theirs->extended)
		source_extend_tree(connection->source);
	source_keep(connection->source, connection->kept);
	connection->outflow = make_flow(connection, true);
	connection->inflow = make_flow(connection, false);
	connection->streaming = true;
	connection->stream_start = deadline_now();
	name_after_peer(connection, name);
	authentication_key_sink(connection);
	sink_begin(connection->sink, &offer, connection->resuming_in.possible);
	return EVENT_RECEIVED_MR;
}

/* Lets the source start once the data is due and the peer has told what it already has. */
static void begin_source(struct connection *connection)
{
	const struct resumption *resuming = &connection->resuming_out;

	if (connection->data_due && (!resuming->possible || resuming->have))
		source_begin_after(connection->source, resuming->offered, &connection->peer_has,
			resuming->takes_holes);
}

enum exchange_event stream_start(struct connection *connection)
{
	enum exchange_event event = test_data_move(connection);

	authentication_key_source(connection);
	connection->data_due = true;
	begin_source(connection);
	return event;
}

enum exchange_event stream_send_have(struct connection *connection)
{
	struct resumption *resuming = &connection->resuming_in;
	struct message message = {.type = MSG_HAVE};

	if (!resuming->possible || resuming->have || connection_capacity(connection) == 0 ||
		!sink_have(connection->sink, &message.length, &message.digest, &message.holes))
		return EVENT_NONE;
	resuming->have = true;
	resuming->offered = message.length;
	resuming->takes_holes = message.holes;
	return connection_send(connection, OPERATION_HAVE, &message, 0);
}

enum exchange_event stream_peer_has(struct connection *connection, const struct message *message)
{
	struct resumption *resuming = &connection->resuming_out;

	if (!connection->streaming || !resuming->possible || resuming->have)
		return connection_fail(connection, FAILURE_PROTOCOL, -EPROTO, "stream_peer_has",
			"received an unexpected MSG_HAVE");
	resuming->have = true;
	resuming->offered = message->length;
	resuming->takes_holes = message->holes;
	connection->peer_has = message->digest;
	begin_source(connection);
	return EVENT_NONE;
}

bool stream_has_started(struct connection *connection, enum exchange_event *event)
{
	struct resumption *resuming = &connection->resuming_out;
	struct message message = {.type = MSG_START};

	if (!resuming->possible || resuming->start)
		return true;
	if (connection_capacity(connection) == 0 ||
		!source_start_of(connection->source, &message.length, &message.holes))
		return false;
	resuming->start = true;
	resuming->began = deadline_now();
	resuming->from = message.length;
	resuming->sparse = message.holes;
	*event = connection_send(connection, OPERATION_START, &message, 0);
	return *event == EVENT_NONE;
}

enum exchange_event stream_peer_starts(struct connection *connection, const struct message *message)
{
	struct resumption *resuming = &connection->resuming_in;

	if (!resuming->have || resuming->start ||
		(message->length != 0 && message->length != resuming->offered))
		return connection_fail(connection, FAILURE_PROTOCOL, -EPROTO, "stream_peer_starts",
			"received an unexpected MSG_START at byte %" PRIu64, message->length);
	if (message->holes && !resuming->takes_holes)
		return connection_fail(connection, FAILURE_PROTOCOL, -EPROTO, "stream_peer_starts",
			"received a MSG_START without holes, which cannot be stored");
	resuming->start = true;
	resuming->began = deadline_now();
	resuming->from = message->length;
	resuming->sparse = message->holes;
	sink_continue(connection->sink, message->length, message->holes);
	return EVENT_NONE;
}

void stream_describe_done(struct connection *connection, struct message *message)
{
	const char *why;

	source_result(connection->source, &message->digest, &why);
	message->length = connection->sender.announced;
}

enum exchange_event stream_announce(struct connection *connection, uint64_t position)
{
	struct message message = {.type = MSG_DATA, .length = position};

	return connection_send(connection, OPERATION_DATA, &message, 0);
}

void stream_set_mark(struct connection *connection, uint64_t position)
{
	uint64_t number = connection->endpoint.pairs[0].sends_posted;

	connection->marks[number % connection->limits.sends] =
		(struct mark){position, connection->receiver.reads};
}

const struct mark *stream_mark(const struct connection *connection, uint64_t number)
{
	return &connection->marks[number % connection->limits.sends];
}

/*
 * Entries whose attributes could not be read here, or set here, are complete otherwise; the outcome
 * says that something is missing.
 */
static void note_lost(struct connection *connection, struct omitted *lost)
{
	uint64_t count = omitted_count(lost);
	char text[UNITS_TEXT];

	if (count > 0)
		failure_set(&connection->incomplete, FAILURE_FILE, PHASE_INCOMPLETE, EIO,
			"note_lost",
			"%s of the files and directories lack attributes; all data was verified",
			units_format_count(text, count));
}

/* The exchange goes on without the files that could not be read, but its outcome names them. */
static void note_unreadable(struct connection *connection)
{
	uint64_t count = omitted_count(source_unreadable(connection->source));
	char text[UNITS_TEXT];

	if (count > 0)
		failure_set(&connection->incomplete, FAILURE_FILE, PHASE_INCOMPLETE, EIO,
			"source_unreadable",
			"%s of the files and directories could not be read; all others were sent and "
			"verified",
			units_format_count(text, count));
}

enum exchange_event stream_end_sending(struct connection *connection)
{
	struct ring_level level = ring_level(&connection->outgoing_ring);
	struct digest digest;
	const char *why;
	int error;

	if (!level.ended)
		return EVENT_NONE;
	error = source_result(connection->source, &digest, &why);
	if (error)
		return connection_fail_file(
			connection, -error, "source_result", connection->settings->input, why);
	note_unreadable(connection);
	note_lost(connection, source_lost(connection->source));
	return connection->sender.announced == level.filled ? EVENT_DATA_POSTED : EVENT_NONE;
}

enum exchange_event stream_give_credit(struct connection *connection)
{
	struct flow_receiver *receiver = &connection->receiver;
	uint64_t freed = ring_level(&connection->incoming_ring).freed;
	struct message message = {.type = MSG_CREDIT};

	/* After the end of its stream, the peer needs no credit. */
	if (connection->exchange.received != RECEIVED_MR || connection_capacity(connection) == 0 ||
		!flow_give_credit(&connection->inflow, receiver, freed))
		return EVENT_NONE;
	message.length = receiver->credited;
	message.pieces = receiver->pieces_credited;
	return connection_send(connection, OPERATION_CREDIT, &message, 0);
}

void stream_arrived(struct connection *connection)
{
	uint64_t arrived = connection->receiver.arrived;
	uint64_t filled = ring_level(&connection->incoming_ring).filled;

	if (arrived > filled)
		ring_fill(&connection->incoming_ring, (size_t)(arrived - filled));
	atomic_store_explicit(&connection->received_bytes, arrived, memory_order_relaxed);
}

/* True if all of the peer's data and its MSG_DONE have arrived. */
static bool is_all_here(const struct connection *connection)
{
	return connection->exchange.received >= RECEIVED_DONE &&
	       connection->receiver.arrived == connection->peer_done.length;
}

/* Prints the received text, or the digest of longer data. */
static void show(struct connection *connection)
{
	char text[TEXT_ESCAPED_SIZE(SINK_TEXT_SIZE)], digest[DIGEST_TEXT_SIZE];
	char count[UNITS_TEXT];
	const uint8_t *bytes;
	size_t size;

	if (sink_has_output(connection->sink) || connection->answers)
		return;
	bytes = sink_text(connection->sink, &size);
	if (bytes) {
		text_escape(text, bytes, strnlen((const char *)bytes, size));
		connection_print_text(connection, text, hello_is_greeting(&connection->theirs));
		return;
	}
	digest_text(digest, &connection->peer_done.digest);
	output_step(connection->settings->output, connection_client(connection),
		"remote buffer: %s bytes, %s %s",
		units_format_count(count, connection->peer_done.length),
		digest_name(connection->handshake.secret), digest);
}

/* Acts on the state of the sink. */
static enum exchange_event take_verdict(struct connection *connection)
{
	enum sink_state state;
	const char *why;
	int error;

	if (connection->exchange.delivered)
		return EVENT_NONE;
	state = sink_state(connection->sink);
	if (state == SINK_VERIFIED && !test_data_is_intact(connection))
		state = SINK_DAMAGED;
	switch (state) {
	case SINK_WORKING:
		return EVENT_NONE;
	case SINK_FAILED:
		why = sink_error(connection->sink, &error);
		return connection_fail_file(connection, -error, "output_file_write",
			connection->settings->output_file.output, why);
	case SINK_DAMAGED:
		if (connection->answers) /* our tree waits for them */
			return connection_fail(
				connection, FAILURE_DAMAGED, 0, "digest_equal", "digest mismatch");
		connection->damaged = true;
		failure_set(&connection->failure, FAILURE_DAMAGED, PHASE_EXCHANGE, 0,
			"digest_equal", "digest mismatch");
		break;
	case SINK_VERIFIED:
		show(connection);
		note_lost(connection, sink_lost(connection->sink));
		break;
	}
	return EVENT_DELIVERED;
}

/* Finishes the sink when all data has arrived and the peer can no longer change it. */
static enum exchange_event finish_sink(struct connection *connection)
{
	enum exchange_event event = EVENT_NONE;

	if (connection->sink_knows_end || !is_all_here(connection))
		return EVENT_NONE;
	/* A peer that was READ from over iWARP knows the key of this memory. */
	if (connection->mover->done_with == RECEIVED_DONE ||
		(connection->mover->exposes == EXPOSES_OUTGOING &&
			connection->device->traits->read_needs_remote_write))
		event = connection_revoke(connection, &connection->incoming);
	if (event != EVENT_NONE)
		return event;
	connection->sink_knows_end = true;
	sink_finish(connection->sink, connection->peer_done.length, &connection->peer_done.digest);
	return EVENT_NONE;
}

enum exchange_event stream_end_receiving(struct connection *connection)
{
	enum exchange_event event = finish_sink(connection);

	return event == EVENT_NONE ? take_verdict(connection) : event;
}

/* Notes when all answers about a tree are there: then its data starts. */
static void note_answers(struct connection *connection)
{
	bool asked = connection->answers && connection->exchange.delivered;
	bool answered = connection->answers_peer && connection->exchange.sent >= SENT_DONE;
	struct resumption *resuming = asked ? &connection->resuming_out : &connection->resuming_in;

	if ((!asked && !answered) || resuming->start)
		return;
	resuming->start = true;
	resuming->began = deadline_now();
}

/*
 * Bytes freed by the sink count once they are credited, which may be much later for the last bytes.
 */
void stream_record_progress(struct connection *connection)
{
	const struct resumption *out = &connection->resuming_out, *in = &connection->resuming_in;
	uint64_t progress = connection->sender.announced + connection->receiver.arrived +
			    connection->receiver.credited + connection->exchange.delivered;

	note_answers(connection);
	if (progress != connection->progress)
		atomic_store(&connection->last_progress, deadline_now());
	connection->progress = progress;
	atomic_store_explicit(
		&connection->sent_bytes, connection->sender.announced, memory_order_relaxed);
	/* Set before there_bytes: a thread that sees those also sees the time. */
	if (out->start || in->start)
		atomic_store(&connection->data_began,
			out->start && (!in->start || out->began > in->began) ? out->began
									     : in->began);
	atomic_store(&connection->there_bytes, out->from + in->from);
	atomic_store(&connection->checking,
		((out->possible || connection->answers) && !out->start) ||
			((in->possible || connection->answers_peer) && !in->start));
	/* While we ask, we wait for the peer. */
	atomic_store(&connection->waits_for_source,
		connection->exchange.sent == SENDING_DATA && !(connection->answers && !out->start));
	atomic_store(&connection->waits_for_sink,
		(connection->sink_knows_end && !connection->exchange.delivered) ||
			(connection->resuming_in.possible && !connection->resuming_in.have));
}

/*
 * Checks whether the peer may announce data up to this position. Returns EVENT_NONE, or the
 * failure.
 */
static enum exchange_event refuse_announcement(struct connection *connection, uint64_t position)
{
	const struct resumption *resuming = &connection->resuming_in;
	uint64_t most = connection->settings->max_size;
	char count[UNITS_TEXT];

	if (!connection->streaming || connection->exchange.received != RECEIVED_MR ||
		(resuming->possible && !resuming->start))
		return connection_fail(connection, FAILURE_PROTOCOL, -EPROTO, "stream_announced",
			"received unexpected data");
	/* With runs, the sink knows where it ends. */
	if (!resuming->sparse && position > connection->theirs.size - resuming->from)
		return connection_fail(connection, FAILURE_PROTOCOL, -EPROTO, "stream_announced",
			"received more than the announced %s bytes",
			units_format_count(count, connection->theirs.size));
	if (most && !connection->answers &&
		position > most - (resuming->from < most ? resuming->from : most))
		return connection_fail(connection, FAILURE_LIMIT, LIMIT_SIZE, "stream_announced",
			"received more than the %s bytes that --max-size allows",
			units_format_count(count, most));
	return EVENT_NONE;
}

enum exchange_event stream_announced(struct connection *connection, uint64_t position)
{
	struct flow_receiver *receiver = &connection->receiver;
	enum exchange_event event = refuse_announcement(connection, position);

	if (event != EVENT_NONE)
		return event;
	if (!flow_receive_announcement(&connection->inflow, receiver, position))
		return connection_fail(connection, FAILURE_PROTOCOL, -EPROTO, "stream_announced",
			"received an invalid announcement of data up to byte %" PRIu64, position);
	stream_arrived(connection);
	return EVENT_NONE;
}

enum exchange_event stream_announced_immediate(struct connection *connection, uint32_t immediate)
{
	uint64_t announced = connection->receiver.announced;

	/* The low half of the position suffices, because a piece is always smaller than 4 GiB. */
	return stream_announced(
		connection, announced + (uint32_t)(immediate - (uint32_t)announced));
}

enum exchange_event stream_credited(struct connection *connection, const struct message *credit)
{
	if (!connection->streaming ||
		!flow_receive_credit(&connection->sender, credit->length, credit->pieces))
		return connection_fail(connection, FAILURE_PROTOCOL, -EPROTO, "stream_credited",
			"received invalid credit up to byte %" PRIu64, credit->length);
	/*
	 * The peer has READ this data, so its space is free. In write mode, the completion of the
	 * WRITE has already freed it.
	 */
	if (connection->mover->exposes == EXPOSES_OUTGOING)
		ring_free_to(&connection->outgoing_ring, credit->length);
	return EVENT_NONE;
}

enum exchange_event stream_peer_done(struct connection *connection)
{
	const struct resumption *resuming = &connection->resuming_in;
	uint64_t announced = connection->receiver.announced, promised = connection->theirs.size;
	char count[UNITS_TEXT];

	if (resuming->possible && !resuming->start)
		return connection_fail(connection, FAILURE_PROTOCOL, -EPROTO, "stream_peer_done",
			"received MSG_DONE before MSG_START");
	if (connection->peer_done.length != announced)
		return connection_fail(connection, FAILURE_PROTOCOL, -EPROTO, "stream_peer_done",
			"MSG_DONE does not match the %s bytes received",
			units_format_count(count, announced));
	if (promised != STREAM_SIZE_UNKNOWN && !resuming->sparse &&
		promised - resuming->from != announced)
		return connection_fail(connection, FAILURE_PROTOCOL, -EPROTO, "stream_peer_done",
			"received fewer than the announced %s bytes",
			units_format_count(count, promised));
	return EVENT_RECEIVED_DONE;
}
