/*
 * The streams of an exchange as verbs: our data to the peer, the peer's to us, both at the same time,
 * under the flow control of exchange/flow-control.h. Runs on the CQ thread.
 *
 * Our data comes out of outgoing_ring, which the source fills; the peer's goes into incoming_ring,
 * which the sink empties. In write mode we WRITE ours into the peer's incoming region, and immediate
 * data with some of the WRITEs tells the peer of it (iWARP has none: there MSG_DATA follows the
 * WRITE). In read mode we tell of ours with MSG_DATA, and the peer READs it out of our outgoing
 * region. MSG_CREDIT tells the sender which part of the exposed ring it may use again.
 *
 * A place of outgoing_ring is given back to the source in write mode when the WRITE from it is
 * complete, in read mode when the peer has given credit for it. A place of incoming_ring belongs to
 * the sink from arrival until the sink has freed it, and credit or the next READ follows only then.
 *
 * Little is said of each chunk. Only some WRITEs carry immediate data, for all before them, and what
 * is posted is signaled only now and then: a completion stands for all before it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "exchange/internal.h"

/*
 * So many WRITEs or READs are posted at a time. Then completions have their turn, which free what the
 * file threads wait for, and other connections theirs: a device that works while it takes requests,
 * as soft-RoCE does, would else work off a whole ring before it.
 */
#define BURST FLOW_TOGETHER

/* The peer broke the rules of the streams. */
static void __attribute__((format(printf, 2, 3)))
refuse(struct connection *connection, const char *format, ...)
{
	char what[128];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	failure_set(&connection->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO, "stream_hear",
		"%s", what);
	connection_give_up(connection);
}

/* The peer sends more than the user wants of it. */
static void refuse_size(struct connection *connection, uint64_t most)
{
	failure_set(&connection->failure, FAILURE_LIMIT, PHASE_EXCHANGE, LIMIT_SIZE, "stream_hear",
		"it sent more than the %" PRIu64 " bytes that --max-size allows", most);
	connection_give_up(connection);
}

/* One of the two streams as the flow control has it. */
static struct flow make_flow(const struct connection *connection, bool ours)
{
	const struct message *peer = &connection->peer_mr;
	bool writes = mode_verbs(connection->mode)->writes;
	const struct ring *ring = ours ? &connection->outgoing_ring : &connection->incoming_ring;
	uint64_t size = ours ? source_size(connection->source) : connection->theirs.size;
	bool peer_exposes = ours == writes;
	struct flow flow = {
		.exposed = peer_exposes ? peer->length : ring->size,
		.local = ring->size,
		.writes = writes,
		.reads = connection->initiator_depth,
		.depth = ours ? peer->depth : connection->limits.depth,
	};

	flow.chunk = flow_chunk(connection->limits.chunk, ring->size, size);
	flow.chunk = flow_chunk(flow.chunk, flow.exposed, size);
	return flow;
}

/* What data without a name is called: the peer, with nothing in it that is awkward in a file's name. */
static void name_after_peer(const struct connection *connection, char name[ADDRESS_TEXT_SIZE])
{
	snprintf(name, ADDRESS_TEXT_SIZE, "%s", connection->peer);
	for (; *name; name++)
		if (strchr("[]:%", *name))
			*name = '-';
}

void stream_prepare(struct connection *connection)
{
	const struct message *peer = &connection->peer_mr;
	char name[ADDRESS_TEXT_SIZE];

	if (peer->depth == 0) {
		refuse(connection, "its MSG_MR lets us send nothing");
		return;
	}
	connection->outflow = make_flow(connection, true);
	connection->inflow = make_flow(connection, false);
	connection->streaming = true;
	connection->began = deadline_now();
	name_after_peer(connection, name);
	connection_key_sink(connection);
	sink_begin(connection->sink, peer->text, peer->text_size, name);
}

/* Tells the peer by a message that our stream now extends to this position. */
static int send_position(struct connection *connection, uint64_t position)
{
	struct message message = {.type = MSG_DATA, .length = position};

	return connection_send(connection, OPERATION_DATA, &message, 0);
}

/* Remembers how far the streams are when the next send is complete. */
static void set_mark(struct connection *connection, uint64_t position)
{
	connection->marks[connection->sends_posted % connection->limits.sends] =
		(struct mark){position, connection->receiver.reads};
}

/* Writes so many bytes, up to what counts as written; tells of them if that is due. */
static int write_chunk(struct connection *connection, size_t size, bool tell)
{
	const struct message *peer = &connection->peer_mr;
	uint64_t to = connection->sender.written, from = to - size;
	bool immediate = connection->device->verbs->device->transport_type != IBV_TRANSPORT_IWARP;
	struct ibv_sge piece = {
		.addr = (uintptr_t)ring_at(&connection->outgoing_ring, from),
		.length = (uint32_t)size,
		.lkey = connection->outgoing.mr->lkey,
	};
	struct ibv_send_wr request = {
		.sg_list = &piece,
		.num_sge = 1,
		.opcode = tell && immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
		/* The completion gives the room back to the source. */
		.send_flags = tell ? IBV_SEND_SIGNALED : 0,
		.imm_data = htonl((uint32_t)to),
		.wr.rdma = {.remote_addr = peer->address + from % peer->length, .rkey = peer->rkey},
	};
	int error;

	set_mark(connection, to);
	error = connection_post(connection, OPERATION_WRITE, &request);
	return error || immediate || !tell ? error : send_position(connection, to);
}

/* Moves our data, or tells of it, as far as credit goes. Returns true if it stopped before that. */
static bool send_pieces(struct connection *connection)
{
	struct flow_sender *sender = &connection->sender;
	const struct flow *flow = &connection->outflow;
	uint64_t filled = ring_level(&connection->outgoing_ring).filled;
	unsigned int posted = 0;
	size_t size;
	int error = 0;

	while (!error && posted < BURST && connection_capacity(connection) >= 2 &&
		(size = flow_write(flow, sender, filled)) > 0) {
		error = write_chunk(connection, size, flow_tell(flow, sender, filled));
		posted++;
	}
	/* In read mode always by a message; else only where the send queue was full before. */
	if (!error && posted < BURST && connection_capacity(connection) > 0 &&
		flow_tell(flow, sender, filled))
		send_position(connection, sender->told);
	atomic_store_explicit(&connection->sent_bytes, sender->told, memory_order_relaxed);
	return posted == BURST;
}

/* Notices the end of our data, or that it cannot be had. */
static void end_sending(struct connection *connection)
{
	struct ring_level level = ring_level(&connection->outgoing_ring);
	struct digest digest;
	const char *why;
	int error;

	if (!level.ended || connection->exchange.sent != SENDING_DATA)
		return;
	error = source_result(connection->source, &digest, &why);
	if (error) {
		failure_set(&connection->failure, FAILURE_FILE, PHASE_EXCHANGE, -error,
			"source_result", "%s", why);
		connection_give_up(connection);
	} else if (connection->sender.told == level.filled) {
		connection_step(connection, EVENT_DATA_POSTED);
	}
}

/* Reads so many bytes, up to what counts as requested. */
static int read_chunk(struct connection *connection, size_t size, unsigned int flags)
{
	const struct message *peer = &connection->peer_mr;
	uint64_t to = connection->receiver.requested, from = to - size;
	struct ibv_sge piece = {
		.addr = (uintptr_t)ring_at(&connection->incoming_ring, from),
		.length = (uint32_t)size,
		.lkey = connection->incoming.mr->lkey,
	};
	struct ibv_send_wr request = {
		.sg_list = &piece,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = flags,
		.wr.rdma = {.remote_addr = peer->address + from % peer->length, .rkey = peer->rkey},
	};

	set_mark(connection, to);
	return connection_post(connection, OPERATION_READ, &request);
}

/* Reads what the peer has told of, as far as there is room. Returns true if it stopped before. */
static bool read_pieces(struct connection *connection)
{
	const struct flow *flow = &connection->inflow;
	struct flow_receiver *receiver = &connection->receiver;
	uint64_t freed = ring_level(&connection->incoming_ring).freed;
	unsigned int posted = 0;
	bool last;
	size_t size;

	while (posted < BURST && connection_capacity(connection) > 0 &&
		(size = flow_read(flow, receiver, freed, &last)) > 0) {
		bool signal = ++posted == BURST || last || connection_capacity(connection) == 1;

		if (read_chunk(connection, size, signal ? IBV_SEND_SIGNALED : 0))
			return false;
	}
	return posted == BURST;
}

/* Gives credit if it is due. After the end of its stream the peer needs none. */
static void give_credit(struct connection *connection)
{
	struct flow_receiver *receiver = &connection->receiver;
	uint64_t freed = ring_level(&connection->incoming_ring).freed;
	struct message message = {.type = MSG_CREDIT};

	if (connection->exchange.received != RECEIVED_MR || connection_capacity(connection) == 0 ||
		!flow_give_credit(&connection->inflow, receiver, freed))
		return;
	message.length = receiver->credited;
	message.pieces = receiver->pieces_credited;
	connection_send(connection, OPERATION_CREDIT, &message, 0);
}

/* More of the peer's data is here. */
static void arrived(struct connection *connection, uint64_t before)
{
	struct flow_receiver *receiver = &connection->receiver;

	ring_fill(&connection->incoming_ring, (size_t)(receiver->arrived - before));
	atomic_store_explicit(&connection->received_bytes, receiver->arrived, memory_order_relaxed);
}

/* All of the peer's data is here, and its MSG_DONE. */
static bool all_here(const struct connection *connection)
{
	return connection->exchange.received >= RECEIVED_DONE &&
	       connection->receiver.arrived == connection->peer_done.length;
}

/* Shows what came: a text, or of longer data the digest. */
static void show(struct connection *connection)
{
	const struct output *output = connection->settings->output;
	char text[TEXT_ESCAPED_SIZE(SINK_TEXT_SIZE)], digest[DIGEST_TEXT_SIZE];
	const uint8_t *bytes;
	size_t size;

	bytes = sink_text(connection->sink, &size);
	if (connection->settings->output_file.output)
		return;
	if (bytes) {
		text_escape(text, bytes, strnlen((const char *)bytes, size));
		output_line(output, "remote buffer: %s", text);
		return;
	}
	digest_text(digest, &connection->peer_done.digest);
	output_line(output, "remote buffer: %llu bytes, %s %s",
		(unsigned long long)connection->peer_done.length,
		digest_name(connection->handshake.secret), digest);
}

/* Takes the sink's verdict. */
static void end_receiving(struct connection *connection)
{
	const char *why;
	int error;

	if (connection->exchange.delivered || connection->exchange.ended)
		return;
	switch (sink_state(connection->sink)) {
	case SINK_WORKING:
		return;
	case SINK_FAILED:
		why = sink_why(connection->sink, &error);
		failure_set(&connection->failure, FAILURE_FILE, PHASE_EXCHANGE, -error,
			"target_write", "%s", why);
		connection_give_up(connection);
		return;
	case SINK_DAMAGED:
		connection->damaged = true;
		failure_set(&connection->failure, FAILURE_DAMAGED, PHASE_EXCHANGE, 0,
			"digest_equal", "its digest differs");
		break;
	case SINK_VERIFIED:
		show(connection);
		break;
	}
	connection_step(connection, EVENT_DELIVERED);
}

/* The sink may finish when all is here, and the peer cannot change it any more. */
static void finish_sink(struct connection *connection)
{
	if (connection->finished || !all_here(connection))
		return;
	if (mode_verbs(connection->mode)->writes)
		connection_revoke(connection);
	if (connection->exchange.ended)
		return;
	connection->finished = true;
	sink_finish(connection->sink, connection->peer_done.length, &connection->peer_done.digest);
}

/*
 * Takes down, for whoever looks for idle connections, what has moved and whom it waits for. What the
 * sink has freed counts when there is credit for it: of the last bytes we may hear much later.
 */
static void record_movement(struct connection *connection)
{
	uint64_t movement = connection->sender.told + connection->receiver.arrived +
			    connection->receiver.credited + connection->exchange.delivered;

	if (movement != connection->movement)
		atomic_store(&connection->moved, deadline_now());
	connection->movement = movement;
	atomic_store(&connection->asks_source, connection->exchange.sent == SENDING_DATA);
	atomic_store(
		&connection->asks_sink, connection->finished && !connection->exchange.delivered);
}

void stream_pump(struct connection *connection)
{
	bool more = false;

	if (!connection->streaming || connection->exchange.ended || connection->closing)
		return;
	/* Credit first: it must not wait in the send queue behind all that can be moved now. */
	give_credit(connection);
	if (connection->exchange.sent == SENDING_DATA) {
		more = send_pieces(connection);
		end_sending(connection);
	}
	if (connection->exchange.ended)
		return;
	more |= read_pieces(connection);
	finish_sink(connection);
	end_receiving(connection);
	record_movement(connection);
	if (more)
		wakeup_queue_post(
			&connection->device->wakeups, &connection->to_thread, THREAD_MOVED);
}

void stream_hear(struct connection *connection, uint64_t position)
{
	struct flow_receiver *receiver = &connection->receiver;
	uint64_t before = receiver->arrived, most = connection->settings->max_size;

	if (!connection->streaming || connection->exchange.received != RECEIVED_MR)
		refuse(connection, "it sent data when none was due");
	else if (position > connection->theirs.size)
		refuse(connection, "it sent more than the %" PRIu64 " bytes that it announced",
			connection->theirs.size);
	else if (most && position > most)
		refuse_size(connection, most);
	else if (!flow_hear(&connection->inflow, receiver, position))
		refuse(connection, "it sent data up to byte %" PRIu64 ", which we did not allow",
			position);
	else if (connection->inflow.writes)
		arrived(connection, before);
}

void stream_hear_immediate(struct connection *connection, uint32_t immediate)
{
	uint64_t told = connection->receiver.told;

	/* The low half of the position: no piece is as large as 4 GiB. */
	stream_hear(connection, told + (uint32_t)(immediate - (uint32_t)told));
}

void stream_hear_credit(struct connection *connection, const struct message *credit)
{
	if (!connection->streaming ||
		!flow_credited(&connection->sender, credit->length, credit->pieces))
		refuse(connection, "it gave credit up to byte %" PRIu64 ", which it does not have",
			credit->length);
	else if (!connection->outflow.writes)
		ring_free_to(&connection->outgoing_ring, credit->length);
}

bool stream_may_end(struct connection *connection, const struct message *done)
{
	uint64_t told = connection->receiver.told, promised = connection->theirs.size;

	if (done->length != told)
		refuse(connection,
			"its MSG_DONE does not fit the %" PRIu64 " bytes that it told of", told);
	else if (promised != STREAM_SIZE_UNKNOWN && promised != told)
		refuse(connection, "it sent less than the %" PRIu64 " bytes that it announced",
			promised);
	return !connection->exchange.ended;
}

void stream_written(struct connection *connection, uint64_t number)
{
	if (connection->streaming)
		ring_free_to(&connection->outgoing_ring,
			connection->marks[number % connection->limits.sends].position);
}

void stream_read(struct connection *connection, uint64_t number)
{
	const struct mark *mark = &connection->marks[number % connection->limits.sends];
	struct flow_receiver *receiver = &connection->receiver;
	uint64_t before = receiver->arrived;

	if (!connection->streaming)
		return; /* a tutorial peer's */
	flow_arrived(receiver, mark->position, mark->reads);
	arrived(connection, before);
}
