/*
 * The data of an exchange with a tutorial program: one WRITE of our text into its region, or one
 * READ of its whole region; no digest, no stream. Runs on the CQ thread. See docs/protocol.md,
 * "Tutorial peers".
 */
#include <string.h>

#include "base/text.h"
#include "exchange/internal.h"

static enum exchange_event prepare(struct connection *connection)
{
	(void)connection;
	return EVENT_RECEIVED_MR;
}

/* Moves up to `size` bytes between our region and the peer's. */
static enum exchange_event move(struct connection *connection, const struct region *region,
	uint64_t size, enum ibv_wr_opcode opcode)
{
	const struct message *peer = &connection->peer_mr;
	struct ibv_sge piece = {
		.addr = (uintptr_t)region->start,
		.length = (uint32_t)(size < peer->length ? size : peer->length),
		.lkey = region->mr->lkey,
	};
	struct ibv_send_wr request = {
		.sg_list = &piece,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = peer->address, .rkey = peer->rkey},
	};
	enum exchange_event event = connection_post(connection,
		opcode == IBV_WR_RDMA_READ ? OPERATION_READ : OPERATION_WRITE, &request);

	return event == EVENT_NONE ? EVENT_DATA_POSTED : event;
}

static enum exchange_event write_text(struct connection *connection)
{
	const struct message *peer = &connection->peer_mr;
	uint64_t size = source_size(connection->source);

	source_begin(connection->source);
	if (size <= peer->length)
		return move(connection, &connection->outgoing, size, IBV_WR_RDMA_WRITE);
	failure_set(&connection->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, 0, message_name(MSG_MR),
		"the peer's region of %llu bytes is too small for the message of %llu bytes",
		(unsigned long long)peer->length, (unsigned long long)size);
	return EVENT_FAILED;
}

static enum exchange_event read_region(struct connection *connection)
{
	source_begin(connection->source);
	return move(connection, &connection->incoming, SINK_TEXT_SIZE, IBV_WR_RDMA_READ);
}

static void completed(struct connection *connection, uint64_t number)
{
	(void)number;
	/* The tutorial prints this line for its RDMA operation as well. */
	if (connection_has_transcript(connection))
		output_step(connection->settings->output, connection_client(connection),
			"send completed successfully.");
}

static enum exchange_event peer_done(struct connection *connection)
{
	(void)connection;
	return EVENT_RECEIVED_DONE;
}

static void deliver(struct connection *connection)
{
	/* Use a copy, because the peer may still write to the region. */
	char copy[SINK_TEXT_SIZE], text[TEXT_ESCAPED_SIZE(SINK_TEXT_SIZE)];

	memcpy(copy, connection->incoming.start, sizeof(copy));
	text_escape(text, copy, strnlen(copy, sizeof(copy)));
	connection_print_text(connection, text, false);
}

const struct mover tutorial_write_mover = {
	.rules = &exchange_rules_tutorial,
	.outgoing_access = IBV_ACCESS_LOCAL_WRITE,
	.incoming_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	.exposes = EXPOSES_INCOMING,
	.prepare = prepare,
	.start = write_text,
	.completed = completed,
	.peer_done = peer_done,
	.deliver = deliver,
};

const struct mover tutorial_read_mover = {
	.rules = &exchange_rules_tutorial,
	.exposes = EXPOSES_OUTGOING,
	.outgoing_access = IBV_ACCESS_REMOTE_READ,
	.incoming_access = IBV_ACCESS_LOCAL_WRITE,
	.prepare = prepare,
	.start = read_region,
	.completed = completed,
	/* MSG_DONE states that our READ is complete, so it must not overtake the READ. */
	.done_flags = IBV_SEND_FENCE,
	.peer_done = peer_done,
	.deliver = deliver,
};

/*
 * A tutorial client does not say which mode it uses, but its MSG_DONE follows its RDMA operation:
 * its WRITE has changed the exposed region by then, and its READ has not. So a server that accepts
 * any mode exposes a region with both rights, which contains our text, and keeps a copy in memory
 * that the client cannot access.
 */
static enum exchange_event prepare_any(struct connection *connection)
{
	uint8_t *exposed = connection->outgoing.start;

	/* A WRITE of a whole region that happens to contain our text changes this byte. */
	if (source_size(connection->source) < SINK_TEXT_SIZE)
		exposed[SINK_TEXT_SIZE - 1] = UINT8_MAX;
	memcpy(connection->incoming.start, exposed, SINK_TEXT_SIZE);
	return EVENT_RECEIVED_MR;
}

/* Continues in the mode that the client has shown. */
static enum exchange_event find_mode(struct connection *connection)
{
	uint8_t *exposed = connection->outgoing.start, *copy = connection->incoming.start;
	uint8_t theirs[SINK_TEXT_SIZE];
	bool written;

	memcpy(theirs, exposed, sizeof(theirs));
	written = memcmp(theirs, copy, sizeof(theirs)) != 0;
	connection->mode = mode_by_number(written ? MODE_WRITE : MODE_READ);
	connection->mover = written ? &tutorial_write_mover : &tutorial_read_mover;
	if (written) {
		memcpy(exposed, copy, sizeof(theirs));
		memcpy(copy, theirs, sizeof(theirs));
	}
	return EVENT_RECEIVED_DONE;
}

/* Replaced by one of the others when MSG_DONE arrives, before our data may be sent. */
const struct mover tutorial_any_mover = {
	.rules = &exchange_rules_tutorial,
	.exposes = EXPOSES_OUTGOING,
	.outgoing_access =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	.incoming_access = IBV_ACCESS_LOCAL_WRITE,
	.prepare = prepare_any,
	.peer_done = find_mode,
};
