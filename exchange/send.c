/*
 * Send mode: each side SENDs its data into receives that the other side has posted; neither can
 * access the other's memory. A piece is one SEND: MSG_DATA, followed by the data. Receives are used
 * in the order in which they were posted, by data and by control messages alike, so each of them
 * has a slot for either. Runs on the CQ thread.
 *
 * The first receives, for control messages only, are posted before the connection is established,
 * when the size of the peer's data is not known yet. The slots follow before our MSG_MR, which
 * states the number of first receives; before its first data, the peer uses them up with empty
 * SENDs. From then on, the slot of a control message is posted again at once. The slot of a piece
 * belongs to the sink until the sink has freed the data in it; then it is posted again, and credit
 * follows. So the peer never finds no receive: docs/protocol.md, "Receives".
 */
#include <errno.h>
#include <inttypes.h>

#include "exchange/stream.h"

/* Room for the number of first receives in the peer's MSG_MR, so that it cannot make us busy. */
#define FIRST_RECEIVES_MAX 64

/* One SEND in this many is signaled: its completion stands for those before it. */
#define PIECES_PER_SIGNAL 4

static void describe_region(struct connection *connection, struct message *message)
{
	stream_describe_region(connection, message);
	message->address = connection->limits.receives;
	message->length = connection->slot_size - MESSAGE_SIZE;
}

/* Posts all slots. */
static enum exchange_event post_receives(struct connection *connection)
{
	const struct queue_limits *limits = &connection->limits;
	enum exchange_event event = EVENT_NONE;

	queue_pair_add_slots(connection->endpoint.pairs, limits->receives,
		(struct slot_area){.start = connection->incoming.start,
			.slot_size = connection->slot_size,
			.key = connection->incoming.mr->lkey});
	for (uint32_t i = 0; i < limits->slots && event == EVENT_NONE; i++)
		event = connection_post_receive(connection, limits->receives + i);
	return event;
}

static enum exchange_event prepare(struct connection *connection)
{
	const struct message *peer = &connection->peer_mr;

	if (peer->address > FIRST_RECEIVES_MAX)
		return connection_fail(connection, FAILURE_PROTOCOL, -EPROTO, message_name(MSG_MR),
			"received MSG_MR with %" PRIu64 " first receives", peer->address);
	return stream_prepare(connection);
}

/* Our data is limited by the peer's slots, and neither stream by an exposed ring. */
static void limit_flow(const struct connection *connection, struct flow *flow, bool ours)
{
	uint64_t most = connection->peer_mr.length;

	flow->exposed = FLOW_UNEXPOSED;
	flow->held = true;
	if (ours && flow->chunk > most)
		flow->chunk = (uint32_t)most;
}

/* Uses up the first receives of the peer. Returns true when none is left. */
static bool fill_first_receives(struct connection *connection, enum exchange_event *event)
{
	while (*event == EVENT_NONE && connection->messages < connection->peer_mr.address) {
		if (connection_capacity(connection) == 0)
			return false;
		*event = connection_send_keepalive(connection);
	}
	return *event == EVENT_NONE;
}

/*
 * SENDs the piece of `size` bytes that ends at the announced position. `signal`: its completion
 * returns the space of this and the unsignaled pieces before it to the source.
 */
static enum exchange_event send_piece(struct connection *connection, size_t size, bool signal)
{
	uint64_t to = connection->sender.announced;
	const struct message message = {.type = MSG_DATA, .length = to};
	const struct ibv_sge data = {
		.addr = (uintptr_t)ring_at(&connection->outgoing_ring, to - size),
		.length = (uint32_t)size,
		.lkey = connection->outgoing.mr->lkey,
	};

	stream_set_mark(connection, to);
	return connection_send_with(
		connection, OPERATION_SEND, &message, &data, signal ? IBV_SEND_SIGNALED : 0);
}

/* True if no piece can follow now, or it is time to return space to the source. */
static bool is_signaled(const struct connection *connection, uint64_t filled)
{
	struct flow_sender next = connection->sender;

	return next.pieces % PIECES_PER_SIGNAL == 0 ||
	       flow_send(&connection->outflow, &next, filled) == 0;
}

static bool send_data(struct connection *connection, enum exchange_event *event)
{
	struct flow_sender *sender = &connection->sender;
	uint64_t filled = ring_level(&connection->outgoing_ring).filled;
	unsigned int posted = 0;
	size_t size;

	if (filled == sender->written || !fill_first_receives(connection, event))
		return false;
	while (*event == EVENT_NONE && posted < STREAM_BURST &&
		connection_capacity(connection) > 0 &&
		(size = flow_send(&connection->outflow, sender, filled)) > 0) {
		*event = send_piece(connection, size, is_signaled(connection, filled));
		posted++;
	}
	return posted == STREAM_BURST;
}

/* A completed SEND frees its part of our ring. */
static void completed(struct connection *connection, uint64_t number)
{
	ring_free_to(&connection->outgoing_ring, stream_mark(connection, number)->position);
}

static bool take(struct connection *connection, const struct completion *completion,
	enum exchange_event *event)
{
	const uint32_t length = completion->wc->byte_len;
	const struct flow_receiver *receiver = &connection->receiver;
	struct message message;
	uint64_t size;

	if (length < MESSAGE_SIZE || message_decode(&message, completion->data, MESSAGE_SIZE) ||
		message.type != MSG_DATA)
		return false;
	size = length - MESSAGE_SIZE;
	if (size == 0 || completion->number < connection->limits.receives ||
		message.length != receiver->announced + size) {
		*event = connection_fail(connection, FAILURE_PROTOCOL, -EPROTO, "stream_announced",
			"received an invalid announcement of data up to byte %" PRIu64,
			message.length);
		return true;
	}
	ring_place(&connection->incoming_ring, (uint8_t *)completion->data + MESSAGE_SIZE);
	connection->slots_held[receiver->pieces % connection->limits.depth] =
		(uint32_t)completion->number;
	*event = stream_announced(connection, message.length);
	return true;
}

/* Posts the slots of the pieces that the sink has freed. */
static enum exchange_event repost(struct connection *connection)
{
	struct flow_receiver *receiver = &connection->receiver;
	uint64_t freed = ring_level(&connection->incoming_ring).pieces_freed;
	enum exchange_event event = EVENT_NONE;

	for (; receiver->pieces_freed < freed && event == EVENT_NONE; receiver->pieces_freed++)
		event = connection_post_receive(connection,
			connection->slots_held[receiver->pieces_freed % connection->limits.depth]);
	return event;
}

const struct mover send_mover = {
	.rules = &exchange_rules_ours,
	.incoming_access = IBV_ACCESS_LOCAL_WRITE,
	.exposes = EXPOSES_NOTHING,
	.gathers = 2,
	.describe_region = describe_region,
	.post_receives = post_receives,
	.prepare = prepare,
	.limit_flow = limit_flow,
	.start = stream_start,
	.send = send_data,
	.completed = completed,
	.take = take,
	.repost = repost,
	.describe_done = stream_describe_done,
	.peer_done = stream_peer_done,
};
