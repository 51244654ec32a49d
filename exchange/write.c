/*
 * Write mode: each side WRITEs its data into the other's incoming region. Some WRITEs carry
 * immediate data, which announces all WRITEs up to and including that one; on transports without
 * immediate data (iWARP), MSG_DATA follows the WRITE. Runs on the CQ thread.
 */
#include <arpa/inet.h>

#include "exchange/stream.h"

/* Posts a WRITE of the `size` bytes that end at the written position, and announces it if due. */
static enum exchange_event write_chunk(struct connection *connection, size_t size, bool announce)
{
	const struct message *peer = &connection->peer_mr;
	uint64_t to = connection->sender.written, from = to - size;
	bool immediate = connection->device->traits->immediate;
	struct ibv_sge sge = {
		.addr = (uintptr_t)ring_at(&connection->outgoing_ring, from),
		.length = (uint32_t)size,
		.lkey = connection->outgoing.mr->lkey,
	};
	struct ibv_send_wr request = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = announce && immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
		/* The completion returns the space to the source. */
		.send_flags = announce ? IBV_SEND_SIGNALED : 0,
		.imm_data = htonl((uint32_t)to),
		.wr.rdma = {.remote_addr = peer->address + from % peer->length, .rkey = peer->rkey},
	};
	enum exchange_event event;

	stream_set_mark(connection, to);
	event = connection_post(connection, OPERATION_WRITE, &request);
	return event != EVENT_NONE || immediate || !announce ? event
							     : stream_announce(connection, to);
}

static bool send_data(struct connection *connection, enum exchange_event *event)
{
	struct flow_sender *sender = &connection->sender;
	const struct flow *flow = &connection->outflow;
	uint64_t filled = ring_level(&connection->outgoing_ring).filled;
	unsigned int posted = 0;
	size_t size;

	while (*event == EVENT_NONE && posted < STREAM_BURST &&
		connection_capacity(connection) >= 2 &&
		(size = flow_write(flow, sender, filled)) > 0) {
		*event = write_chunk(connection, size, flow_announce(flow, sender, filled));
		posted++;
	}
	/* Announce data that was written while the send queue was too full to announce it. */
	if (*event == EVENT_NONE && posted < STREAM_BURST && connection_capacity(connection) > 0 &&
		flow_announce(flow, sender, filled))
		*event = stream_announce(connection, sender->announced);
	return posted == STREAM_BURST;
}

/* A completed WRITE frees its part of our ring. */
static void completed(struct connection *connection, uint64_t number)
{
	ring_free_to(&connection->outgoing_ring, stream_mark(connection, number)->position);
}

const struct mover write_mover = {
	.rules = &exchange_rules_ours,
	.outgoing_access = IBV_ACCESS_LOCAL_WRITE,
	.incoming_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	.exposes = EXPOSES_INCOMING,
	.done_with = RECEIVED_DONE,
	.describe_region = stream_describe_region,
	.prepare = stream_prepare,
	.start = stream_start,
	.send = send_data,
	.completed = completed,
	.describe_done = stream_describe_done,
	.peer_done = stream_peer_done,
};
