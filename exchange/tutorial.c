/*
 * The data of an exchange with a program of the tutorial: one WRITE of our text into its region, or
 * one READ of its whole region, and no digest. See docs/protocol.md, "Tutorial peers".
 */
#include <string.h>

#include "base/text.h"
#include "exchange/internal.h"

void tutorial_move(struct connection *connection)
{
	const struct message *peer = &connection->peer_mr;
	bool writes = mode_verbs(connection->mode)->writes;
	const struct region *region = writes ? &connection->outgoing : &connection->incoming;
	uint64_t size = writes ? source_size(connection->source) : SINK_TEXT_SIZE;
	struct ibv_sge piece = {
		.addr = (uintptr_t)region->start,
		.length = (uint32_t)(size < peer->length ? size : peer->length),
		.lkey = region->mr->lkey,
	};
	struct ibv_send_wr request = {
		.sg_list = &piece,
		.num_sge = 1,
		.opcode = writes ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = peer->address, .rkey = peer->rkey},
	};

	source_begin(connection->source);
	if (writes && size > peer->length) {
		failure_set(&connection->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, 0,
			message_name(MSG_MR),
			"its region has %llu bytes, too few for our message of %llu",
			(unsigned long long)peer->length, (unsigned long long)size);
		connection_step(connection, EVENT_FAILED);
		return;
	}
	if (connection_post(connection, writes ? OPERATION_WRITE : OPERATION_READ, &request) == 0)
		connection_step(connection, EVENT_DATA_POSTED);
}

void tutorial_deliver(struct connection *connection)
{
	/* A copy: it may still be written to. */
	char copy[SINK_TEXT_SIZE], text[TEXT_ESCAPED_SIZE(SINK_TEXT_SIZE)];

	memcpy(copy, connection->incoming.start, sizeof(copy));
	text_escape(text, copy, strnlen(copy, sizeof(copy)));
	output_line(connection->settings->output, "remote buffer: %s", text);
}
