/*
 * The exchange as verbs: carries out what the state machine (lib/exchange.c) decides. Runs on the CQ
 * thread, which alone posts to the queue pair from connect or accept on; only the receives are
 * posted before that, by the main thread.
 *
 * Every work request is signaled and counted in `outstanding`, so that the end of the connection
 * can wait for each of them. A slot of `control` belongs to the device from posting to completion;
 * no slot is used twice, because each message is sent once.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "lib/digest.h"
#include "lib/text.h"
#include "rdma-internal.h"

static const struct mode_verbs modes[MODE_COUNT] = {
	/* RC completes a WRITE before the SEND behind it. */
	[MODE_WRITE] = {IBV_WR_RDMA_WRITE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, true,
		0},
	/* A SEND may overtake a READ: MSG_DONE waits for it behind a fence. */
	[MODE_READ] = {IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ, false, IBV_SEND_FENCE},
};

const struct mode_verbs *mode_verbs(const struct mode *mode)
{
	return &modes[mode->number];
}

int connection_post_receives(struct connection *connection)
{
	struct ibv_recv_wr *bad;

	for (unsigned int i = 0; i < RECEIVES; i++) {
		struct ibv_sge piece = {
			.addr = (uintptr_t)connection->memory.control->receives[i],
			.length = MESSAGE_SIZE,
			.lkey = connection->control_mr->lkey,
		};
		struct ibv_recv_wr request = {
			.wr_id = OPERATION_RECEIVE + i,
			.sg_list = &piece,
			.num_sge = 1,
		};
		int error = ibv_post_recv(connection->id->qp, &request, &bad);

		if (error)
			return -error;
		connection->outstanding++;
	}
	return 0;
}

/* Posts a chain of `count` requests, or fails the exchange. */
static void post(struct connection *connection, struct ibv_send_wr *chain, unsigned int count)
{
	struct ibv_send_wr *bad;
	int error = ibv_post_send(connection->id->qp, chain, &bad);

	if (!error) {
		connection->outstanding += count;
		return;
	}
	for (; chain != bad; chain = chain->next)
		connection->outstanding++;
	failure_set(&connection->failure, FAILURE_ERRNO, PHASE_EXCHANGE, error, "ibv_post_send",
		"the device does not take a work request: %s", strerror(error));
	connection_step(connection, EVENT_FAILED);
}

int connection_post_marker(struct connection *connection)
{
	struct ibv_send_wr request = {
		.wr_id = OPERATION_MARKER,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad;
	int error = ibv_post_send(connection->id->qp, &request, &bad);

	if (!error)
		connection->outstanding++;
	return -error;
}

/* Encodes a message into its slot and fills in the request that sends it. */
static void prepare_send(struct connection *connection, enum operation operation,
	const struct message *message, struct ibv_send_wr *request, struct ibv_sge *piece)
{
	uint8_t *slot = connection->memory.control->sends[operation];

	message_encode(message, slot);
	*piece = (struct ibv_sge){
		.addr = (uintptr_t)slot,
		.length = MESSAGE_SIZE,
		.lkey = connection->control_mr->lkey,
	};
	*request = (struct ibv_send_wr){
		.wr_id = operation,
		.sg_list = piece,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
}

static void send_region(struct connection *connection)
{
	struct message message = {
		.type = MSG_MR,
		.address = (uintptr_t)connection->exposed_mr->addr,
		.length = connection->exposed_mr->length,
		.rkey = connection->exposed_mr->rkey,
	};
	struct ibv_send_wr request;
	struct ibv_sge piece;

	prepare_send(connection, OPERATION_MR, &message, &request, &piece);
	post(connection, &request, 1);
}

/*
 * Fills in the RDMA request: our message into the peer's region, or the peer's whole region into
 * ours. Returns 0, or -1 with the failure recorded if the peer's region does not allow it.
 */
static int prepare_rdma(
	struct connection *connection, struct ibv_send_wr *request, struct ibv_sge *piece)
{
	const struct mode_verbs *mode = mode_verbs(connection->mode);
	const struct message *peer = &connection->peer_mr;
	size_t size = connection->session->message_size;

	if (mode->opcode == IBV_WR_RDMA_READ) {
		const struct ibv_mr *sink =
			connection->sink_mr ? connection->sink_mr : connection->control_mr;

		size = peer->length < REGION_SIZE ? peer->length : REGION_SIZE;
		piece->addr = (uintptr_t)connection->memory.incoming;
		piece->lkey = sink->lkey;
	} else if (size > peer->length) {
		return failure_set(&connection->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, 0,
			message_name(MSG_MR),
			"its region has %llu bytes, too few for our message of %zu",
			(unsigned long long)peer->length, size);
	} else {
		piece->addr = (uintptr_t)connection->memory.outgoing;
		piece->lkey = connection->control_mr->lkey;
	}
	piece->length = (uint32_t)size;
	*request = (struct ibv_send_wr){
		.wr_id = OPERATION_RDMA,
		.sg_list = piece,
		.num_sge = 1,
		.opcode = mode->opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = peer->address, .rkey = peer->rkey},
	};
	return 0;
}

/* Posts the RDMA operation and, in the same chain, MSG_DONE behind it. */
static void send_data(struct connection *connection)
{
	const struct session *session = connection->session;
	struct message message = {.type = MSG_DONE};
	struct ibv_send_wr rdma, done;
	struct ibv_sge rdma_piece, done_piece;

	output_line(
		session->output, "received MSG_MR. %s remote memory...", connection->mode->doing);
	output_detail(session->output, "%s offers %llu bytes at %#llx, rkey %#x", connection->peer,
		(unsigned long long)connection->peer_mr.length,
		(unsigned long long)connection->peer_mr.address, connection->peer_mr.rkey);
	if (prepare_rdma(connection, &rdma, &rdma_piece)) {
		connection_step(connection, EVENT_FAILED);
		return;
	}
	if (!connection->exchange.tutorial) {
		message.length = session->message_size;
		message.digest = digest_of(session->message, session->message_size);
	}
	prepare_send(connection, OPERATION_DONE, &message, &done, &done_piece);
	done.send_flags |= mode_verbs(connection->mode)->done_flags;
	rdma.next = &done;
	post(connection, &rdma, 2);
}

/*
 * The peer's message is in place: takes a copy, so that nothing can change it any more, checks it
 * against the digest in the peer's MSG_DONE, and prints it. A tutorial peer sends no digest.
 */
static void deliver(struct connection *connection)
{
	const struct session *session = connection->session;
	const struct message *done = &connection->peer_done;
	size_t size = connection->exchange.tutorial ? REGION_SIZE : (size_t)done->length;
	char copy[REGION_SIZE], text[TEXT_ESCAPED_SIZE(REGION_SIZE)];
	struct digest digest;

	memcpy(copy, connection->memory.incoming, size);
	if (!connection->exchange.tutorial) {
		digest = digest_of(copy, size);
		connection->damaged = !digest_equal(&digest, &done->digest);
	}
	if (connection->damaged)
		return;
	text_escape(text, copy, strnlen(copy, size));
	output_line(session->output, "remote buffer: %s", text);
}

static void send_verdict(struct connection *connection)
{
	struct message message = {
		.type = MSG_VERDICT,
		.verdict = connection->damaged ? VERDICT_DAMAGED : VERDICT_VERIFIED,
	};
	struct ibv_send_wr request;
	struct ibv_sge piece;

	prepare_send(connection, OPERATION_VERDICT, &message, &request, &piece);
	post(connection, &request, 1);
}

/* Gives one event to the state machine and does what it says. */
void connection_step(struct connection *connection, enum exchange_event event)
{
	const char *violation = exchange_violation(&connection->exchange, event);
	unsigned int actions = exchange_step(&connection->exchange, event);

	if (actions & ACTION_VIOLATION)
		failure_set(&connection->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, (int)event,
			"exchange_step", "it sent %s", violation ? violation : "out of order");
	if (actions & ACTION_SEND_MR)
		send_region(connection);
	if (actions & ACTION_SEND_DATA)
		send_data(connection);
	if (actions & ACTION_DELIVER)
		deliver(connection);
	if (actions & ACTION_SEND_VERDICT)
		send_verdict(connection);
	if ((actions & ACTION_FINISH) && event != EVENT_DISCONNECTED)
		mailbox_post(
			connection->session->mailbox, &connection->to_main, CONNECTION_FINISHED);
}

/* The size that a peer's MSG_DONE claims must be one that its message can have here. */
static int check_done(struct connection *connection, const struct message *done)
{
	size_t room = REGION_SIZE;

	if (connection->exchange.tutorial)
		return 0;
	if (!mode_verbs(connection->mode)->exposes_incoming && connection->peer_mr.length < room)
		room = (size_t)connection->peer_mr.length;
	if (done->length > 0 && done->length <= room)
		return 0;
	return failure_set(&connection->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO,
		message_name(MSG_DONE),
		"its MSG_DONE claims a message of %llu bytes, of %zu possible",
		(unsigned long long)done->length, room);
}

/* Records why a message cannot be one of the protocol's. */
static void refuse_message(
	struct connection *connection, int error, const struct message *message, uint32_t length)
{
	if (error == -EMSGSIZE)
		failure_set(&connection->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, error,
			"message_decode", "it sent a message of %u bytes, not %d", length,
			MESSAGE_SIZE);
	else if (message->type >= MSG_TYPES)
		failure_set(&connection->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, error,
			"message_decode", "it sent a message of unknown type %u", message->type);
	else
		failure_set(&connection->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, error,
			"message_decode",
			"its %s has impossible contents (address %#llx, length "
			"%llu, verdict %u)",
			message_name(message->type), (unsigned long long)message->address,
			(unsigned long long)message->length, message->verdict);
}

static void receive(struct connection *connection, const uint8_t *slot, uint32_t length)
{
	static const enum exchange_event events[MSG_TYPES] = {
		[MSG_MR] = EVENT_RECEIVED_MR,
		[MSG_DONE] = EVENT_RECEIVED_DONE,
		[MSG_VERDICT] = EVENT_RECEIVED_VERDICT,
	};
	struct message message;
	int error = message_decode(&message, slot, length);

	/* What comes after the end (a message too many, say) must not change what was agreed. */
	if (connection->exchange.ended)
		return;
	if (error) {
		refuse_message(connection, error, &message, length);
		connection_step(connection, EVENT_FAILED);
		return;
	}
	output_detail(connection->session->output, "%s sent %s", connection->peer,
		message_name(message.type));
	if (!exchange_violation(&connection->exchange, events[message.type])) {
		if (message.type == MSG_MR)
			connection->peer_mr = message;
		else if (message.type == MSG_DONE)
			connection->peer_done = message;
		else
			connection->peer_verdict = message.verdict;
		if (message.type == MSG_DONE && check_done(connection, &message)) {
			connection_step(connection, EVENT_FAILED);
			return;
		}
	}
	connection_step(connection, events[message.type]);
}

static void sent(struct connection *connection, enum operation operation)
{
	static const enum exchange_event events[SENDS] = {
		[OPERATION_MR] = EVENT_SENT_MR,
		[OPERATION_RDMA] = EVENT_SENT_RDMA,
		[OPERATION_DONE] = EVENT_SENT_DONE,
		[OPERATION_VERDICT] = EVENT_SENT_VERDICT,
	};

	/* The tutorial's three; the verdict is ours and may still be under way at the end. */
	if (operation != OPERATION_VERDICT)
		output_line(connection->session->output, "send completed successfully.");
	connection_step(connection, events[operation]);
}

static const char *operation_name(uint64_t operation)
{
	static const char *const names[] = {
		[OPERATION_MR] = "sending MSG_MR",
		[OPERATION_RDMA] = "the RDMA operation",
		[OPERATION_DONE] = "sending MSG_DONE",
		[OPERATION_VERDICT] = "sending MSG_VERDICT",
		[OPERATION_MARKER] = "the marker",
		[OPERATION_RECEIVE] = "receiving",
	};

	return names[operation < OPERATION_RECEIVE ? operation : OPERATION_RECEIVE];
}

/* Records a failed completion with what may explain it: who, what, and which memory. */
static void completion_failed(struct connection *connection, const struct ibv_wc *completion)
{
	const struct rdma_addr *route = &connection->id->route.addr;
	const struct message *peer = &connection->peer_mr;
	char ours[INET6_ADDRSTRLEN] = "?", theirs[INET6_ADDRSTRLEN] = "?";
	int status = (int)completion->status;

	/* soft-RoCE's word for a message that is too long for its receive. */
	if (completion->wr_id >= OPERATION_RECEIVE && status == IBV_WC_LOC_QP_OP_ERR)
		status = IBV_WC_LOC_LEN_ERR;
	inet_ntop(AF_INET6, &route->addr.ibaddr.sgid, ours, sizeof(ours));
	inet_ntop(AF_INET6, &route->addr.ibaddr.dgid, theirs, sizeof(theirs));
	failure_set(&connection->failure, FAILURE_COMPLETION, PHASE_EXCHANGE, status, "ibv_poll_cq",
		"%s, queue pair %u, GID %s to %s, its region %llu bytes at %#llx",
		operation_name(completion->wr_id), completion->qp_num, ours, theirs,
		(unsigned long long)peer->length, (unsigned long long)peer->address);
	connection_step(connection, EVENT_FAILED);
}

void connection_completed(struct connection *connection, const struct ibv_wc *completion)
{
	connection->outstanding--;
	if (completion->wr_id == OPERATION_MARKER)
		return;
	if (completion->status != IBV_WC_SUCCESS)
		completion_failed(connection, completion);
	else if (completion->wr_id < OPERATION_RECEIVE)
		sent(connection, (enum operation)completion->wr_id);
	else
		receive(connection,
			connection->memory.control->receives[completion->wr_id - OPERATION_RECEIVE],
			completion->byte_len);
}
