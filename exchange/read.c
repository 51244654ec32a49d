/*
 * Read mode: each side announces its data with MSG_DATA, and the other side READs it from the
 * outgoing region. Runs on the CQ thread.
 */
#include "exchange/stream.h"

/* Announces our data, which the peer READs from our ring. */
static bool send_data(struct connection *connection, enum exchange_event *event)
{
	struct flow_sender *sender = &connection->sender;

	sender->written = ring_level(&connection->outgoing_ring).filled;
	if (connection_capacity(connection) > 0 &&
		flow_announce(&connection->outflow, sender, sender->written))
		*event = stream_announce(connection, sender->announced);
	return false;
}

/* Posts a READ of the `size` bytes that end at the requested position. */
static enum exchange_event read_chunk(struct connection *connection, size_t size, bool signal)
{
	const struct message *peer = &connection->peer_mr;
	uint64_t to = connection->receiver.requested, from = to - size;
	struct ibv_sge sge = {
		.addr = (uintptr_t)ring_at(&connection->incoming_ring, from),
		.length = (uint32_t)size,
		.lkey = connection->incoming.mr->lkey,
	};
	struct ibv_send_wr request = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = signal ? IBV_SEND_SIGNALED : 0,
		.wr.rdma = {.remote_addr = peer->address + from % peer->length, .rkey = peer->rkey},
	};

	stream_set_mark(connection, to);
	return connection_post(connection, OPERATION_READ, &request);
}

static bool request_data(struct connection *connection, enum exchange_event *event)
{
	const struct flow *flow = &connection->inflow;
	struct flow_receiver *receiver = &connection->receiver;
	uint64_t freed = ring_level(&connection->incoming_ring).freed;
	unsigned int posted = 0;
	bool last;
	size_t size;

	/* Test data may use all READs that the peer accepts. */
	if (connection->test_data && !connection->test_data_moved)
		return false;
	while (*event == EVENT_NONE && posted < STREAM_BURST &&
		connection_capacity(connection) > 0 &&
		(size = flow_read(flow, receiver, freed, &last)) > 0) {
		posted++;
		*event = read_chunk(connection, size,
			posted == STREAM_BURST || last || connection_capacity(connection) == 1);
	}
	return *event == EVENT_NONE && posted == STREAM_BURST;
}

static void completed(struct connection *connection, uint64_t number)
{
	const struct mark *mark = stream_mark(connection, number);

	flow_arrived(&connection->receiver, mark->position, mark->reads);
	stream_arrived(connection);
}

const struct mover read_mover = {
	.rules = &exchange_rules_ours,
	.exposes = EXPOSES_OUTGOING,
	.outgoing_access = IBV_ACCESS_REMOTE_READ,
	.incoming_access = IBV_ACCESS_LOCAL_WRITE,
	.done_with = RECEIVED_VERDICT,
	.describe_region = stream_describe_region,
	.prepare = stream_prepare,
	.start = stream_start,
	.send = send_data,
	.receive = request_data,
	.completed = completed,
	.describe_done = stream_describe_done,
	.peer_done = stream_peer_done,
};
