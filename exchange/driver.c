/*
 * The exchange as verbs: carries out what the state machine (exchange/state-machine.c) decides, and receives
 * what the peer says. Runs on the CQ thread, which alone posts to the queue pair from connect or
 * accept on; only the receives are posted before that, by the main thread. The data between MSG_MR
 * and MSG_DONE is in exchange/data.c.
 *
 * Sends are numbered in the order of posting, which is that of their completion: when one is
 * complete, all before it are, signaled or not. A slot of `control` belongs to the device from
 * posting to completion; a send's slot follows from its number, and there are as many slots as the
 * send queue has places. A receive is posted again as soon as what it brought is taken.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/explain.h"
#include "base/text.h"
#include "exchange/internal.h"

/* Places in the send queue that only the few messages of the exchange itself may take. */
#define RESERVED 5

/* In such a part of the send queue, one work request is signaled. */
#define SIGNALED_PARTS 4

static const struct mode_verbs modes[MODE_COUNT] = {
	[MODE_WRITE] = {true, IBV_ACCESS_LOCAL_WRITE,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE},
	[MODE_READ] = {false, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_LOCAL_WRITE},
};

const struct mode_verbs *mode_verbs(const struct mode *mode)
{
	return &modes[mode->number];
}

static int post_receive(struct connection *connection, uint64_t slot)
{
	struct ibv_sge piece = {
		.addr = (uintptr_t)control_receive(connection, slot),
		.length = LONG_SLOT,
		.lkey = connection->control.mr->lkey,
	};
	struct ibv_recv_wr *bad, request = {
					 .wr_id = WR_ID(OPERATION_RECEIVE, slot),
					 .sg_list = &piece,
					 .num_sge = 1,
				 };
	int error = ibv_post_recv(connection->id->qp, &request, &bad);

	if (!error)
		connection->receives_posted++;
	return -error;
}

int connection_post_receives(struct connection *connection)
{
	int error = 0;

	for (uint64_t slot = 0; !error && slot < connection->limits.receives; slot++)
		error = post_receive(connection, slot);
	return error;
}

bool connection_outstanding(const struct connection *connection)
{
	return connection->receives_posted > 0 ||
	       connection->sends_posted > connection->sends_completed;
}

uint64_t connection_capacity(const struct connection *connection)
{
	uint64_t used = connection->sends_posted - connection->sends_completed + RESERVED;

	return used < connection->limits.sends ? connection->limits.sends - used : 0;
}

bool connection_unacknowledged(const struct connection *connection)
{
	return connection->sends_posted > 0 &&
	       connection->sends_completed <= connection->signaled_send;
}

int connection_post(
	struct connection *connection, enum operation operation, struct ibv_send_wr *request)
{
	struct ibv_send_wr *bad;
	int error;

	request->wr_id = WR_ID(operation, connection->sends_posted);
	/* What goes unsignaled by itself is signaled now and then, so that the queue empties. */
	if (connection->sends_posted - connection->signaled_send >=
		connection->limits.sends / SIGNALED_PARTS)
		request->send_flags |= IBV_SEND_SIGNALED;
	if (!connection_unacknowledged(connection))
		connection->acknowledged = deadline_now();
	if (request->send_flags & IBV_SEND_SIGNALED)
		connection->signaled_send = connection->sends_posted;
	error = ibv_post_send(connection->id->qp, request, &bad);
	if (!error) {
		connection->sends_posted++;
		connection->spoke = deadline_now();
		return 0;
	}
	failure_set(&connection->failure, FAILURE_ERRNO, PHASE_EXCHANGE, error, "ibv_post_send",
		"the device does not take a work request: %s", strerror(error));
	connection_step(connection, EVENT_FAILED);
	return -error;
}

int connection_post_drain(struct connection *connection)
{
	struct ibv_send_wr *bad, request = {
					 .wr_id = WR_ID(OPERATION_DRAIN, connection->sends_posted),
					 .opcode = IBV_WR_SEND,
					 .send_flags = IBV_SEND_SIGNALED,
				 };
	int error = ibv_post_send(connection->id->qp, &request, &bad);

	if (!error)
		connection->sends_posted++;
	return -error;
}

int connection_send(struct connection *connection, enum operation operation,
	const struct message *message, unsigned int flags)
{
	uint8_t bytes[MESSAGE_MAX], *slot = control_send(connection, operation);
	size_t size = message_encode(message, bytes);
	struct ibv_sge piece = {
		.addr = (uintptr_t)slot,
		.length = (uint32_t)size,
		.lkey = connection->control.mr->lkey,
	};
	struct ibv_send_wr request = {
		.sg_list = &piece,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = flags,
	};

	memcpy(slot, bytes, size);
	return connection_post(connection, operation, &request);
}

static void send_region(struct connection *connection)
{
	const struct region *exposed = connection_exposed(connection);
	struct message message = {.type = MSG_MR};

	if (!connection_open_memory(connection))
		return;
	message.address = (uintptr_t)exposed->start;
	message.length = exposed->size;
	message.rkey = exposed->mr->rkey;
	if (!connection->exchange.tutorial) {
		message.depth = connection->limits.depth;
		message_set_text(&message, source_name(connection->source));
	}
	connection_send(connection, OPERATION_MR, &message, IBV_SEND_SIGNALED);
}

static void send_data(struct connection *connection)
{
	output_line(connection->settings->output, "received MSG_MR. %s remote memory...",
		connection->mode->doing);
	output_detail(connection->settings->output, "%s offers %llu bytes at %#llx, rkey %#x",
		connection->peer, (unsigned long long)connection->peer_mr.length,
		(unsigned long long)connection->peer_mr.address, connection->peer_mr.rkey);
	if (connection->exchange.tutorial) {
		tutorial_move(connection);
		return;
	}
	connection_key_source(connection);
	source_begin(connection->source);
}

/* To a tutorial peer MSG_DONE says that our READ is over: it must not overtake it. */
static void send_done(struct connection *connection)
{
	struct message message = {.type = MSG_DONE};
	unsigned int flags = IBV_SEND_SIGNALED;
	const char *why;

	if (!connection->exchange.tutorial) {
		source_result(connection->source, &message.digest, &why);
		message.length = connection->sender.told;
	} else if (!mode_verbs(connection->mode)->writes) {
		flags |= IBV_SEND_FENCE;
	}
	connection_send(connection, OPERATION_DONE, &message, flags);
}

static void send_verdict(struct connection *connection)
{
	struct message message = {
		.type = MSG_VERDICT,
		.verdict = connection->damaged ? VERDICT_DAMAGED : VERDICT_VERIFIED,
	};

	connection_sign(connection, &message);
	connection_send(connection, OPERATION_VERDICT, &message, IBV_SEND_SIGNALED);
}

/* Tells the peer why we give up, as far as that is its business. */
static void send_abort(struct connection *connection)
{
	struct message message = {.type = MSG_ABORT};
	char text[1024];

	if (connection->failure.kind == FAILURE_PROTOCOL &&
		connection->failure.code == PROTOCOL_UNAUTHENTICATED)
		message.refusal = REFUSAL_SECRET;
	explain_cause(&connection->failure, text, sizeof(text));
	message_set_text(&message, text);
	connection_send(connection, OPERATION_ABORT, &message, IBV_SEND_SIGNALED);
}

void connection_step(struct connection *connection, enum exchange_event event)
{
	const char *violation = exchange_violation(&connection->exchange, event);
	unsigned int actions = exchange_step(&connection->exchange, event);

	if (actions & ACTION_VIOLATION)
		failure_set(&connection->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, (int)event,
			"exchange_step", "it sent %s", violation ? violation : "out of order");
	else if (event == EVENT_RECEIVED_MR && !connection->settings->active)
		connection_meet(connection);
	if (actions & ACTION_SEND_PROOF)
		connection_prove(connection);
	if (actions & ACTION_SEND_MR)
		send_region(connection);
	if (actions & ACTION_SEND_DATA)
		send_data(connection);
	if (actions & ACTION_SEND_DONE)
		send_done(connection);
	if ((actions & ACTION_DELIVER) && connection->exchange.tutorial)
		tutorial_deliver(connection);
	if (actions & ACTION_SEND_VERDICT)
		send_verdict(connection);
	if (actions & ACTION_SEND_ABORT)
		send_abort(connection);
	if (!connection->completed && exchange_complete(&connection->exchange))
		connection->completed = deadline_now();
	if ((actions & ACTION_FINISH) && event != EVENT_DISCONNECTED)
		wakeup_queue_post(
			connection->settings->wakeups, &connection->to_main, CONNECTION_FINISHED);
}

void connection_give_up(struct connection *connection)
{
	if (!connection->exchange.ended)
		connection->gave_up = deadline_now();
	connection_step(connection, EVENT_GAVE_UP);
}

void connection_keepalive(struct connection *connection)
{
	struct ibv_send_wr request = {.opcode = IBV_WR_SEND};

	connection_post(connection, OPERATION_KEEPALIVE, &request);
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
	connection_give_up(connection);
}

/* The peer gave up, and says why. */
static void hear_abort(struct connection *connection, const struct message *message)
{
	char text[TEXT_ESCAPED_SIZE(MESSAGE_TEXT_MAX)];

	if (connection_is_turned_away(connection, message))
		secret_refused(&connection->failure);
	/* What the peer quotes is escaped already. */
	text_escape_utf8(text, message->text, message->text_size);
	failure_set(&connection->failure, FAILURE_ABORTED, PHASE_EXCHANGE, 0,
		message_name(MSG_ABORT), "it gave up: %s", *text ? text : "it does not say why");
	connection_step(connection, EVENT_RECEIVED_ABORT);
}

/* Keeps what a message of the exchange says that may come now. Returns false if it cannot be. */
static bool keep(struct connection *connection, const struct message *message)
{
	bool tutorial = connection->exchange.tutorial;

	switch (message->type) {
	case MSG_PROOF:
		return connection_admit(connection, message);
	case MSG_MR:
		connection->peer_mr = *message;
		if (!tutorial)
			stream_prepare(connection);
		return !connection->exchange.ended;
	case MSG_DONE:
		connection->peer_done = *message;
		return tutorial || stream_may_end(connection, message);
	default:
		if (!connection_is_signed(connection, message)) {
			failure_set(&connection->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE,
				-EBADMSG, message_name(MSG_VERDICT),
				"its MSG_VERDICT is not signed with our secret");
			connection_give_up(connection);
			return false;
		}
		if (message->verdict != VERDICT_VERIFIED)
			failure_set(&connection->failure, FAILURE_DAMAGED_THERE, PHASE_EXCHANGE, 0,
				message_name(MSG_VERDICT), "");
		/* The peer has read all that it wanted. */
		if (!mode_verbs(connection->mode)->writes)
			connection_revoke(connection);
		return !connection->exchange.ended;
	}
}

static void receive(struct connection *connection, const uint8_t *slot, uint32_t length)
{
	static const enum exchange_event events[MSG_TYPES] = {
		[MSG_PROOF] = EVENT_RECEIVED_PROOF,
		[MSG_MR] = EVENT_RECEIVED_MR,
		[MSG_DONE] = EVENT_RECEIVED_DONE,
		[MSG_VERDICT] = EVENT_RECEIVED_VERDICT,
	};
	struct message message;
	int error = message_decode(&message, slot, length);

	if (length == 0 && connection->streaming)
		return; /* a sign of life, which nobody has to give before */
	if (error) {
		refuse_message(connection, error, &message, length);
		return;
	}
	/* Whoever gave up hears no more than that the peer did, too: no second proof, say. */
	if (connection->exchange.ended && message.type != MSG_ABORT)
		return;
	if (message.type != MSG_DATA && message.type != MSG_CREDIT)
		output_detail(connection->settings->output, "%s sent %s", connection->peer,
			message_name(message.type));
	switch (message.type) {
	case MSG_DATA:
		stream_hear(connection, message.length);
		return;
	case MSG_CREDIT:
		stream_hear_credit(connection, &message);
		return;
	case MSG_ABORT:
		hear_abort(connection, &message);
		return;
	default:
		if (exchange_violation(&connection->exchange, events[message.type]) ||
			keep(connection, &message))
			connection_step(connection, events[message.type]);
	}
}

/* A receive is complete: takes what it brought, and posts it again. */
static void received(struct connection *connection, const struct ibv_wc *completion)
{
	uint64_t slot = WR_NUMBER(completion->wr_id);

	connection->heard = deadline_now();
	/* What comes after the end (a message too many, say) must not change what was agreed. */
	if (connection->exchange.ended && connection->exchange.sent != SENDING_ABORT)
		return;
	/* The passive side answers; before that the main thread still makes what its data needs. */
	if (connection->settings->active && !connection->exchange.established) {
		failure_set(&connection->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO,
			"ibv_poll_cq", "it sent a message before it had ours");
		connection_give_up(connection);
		return;
	}
	if (completion->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		stream_hear_immediate(connection, ntohl(completion->imm_data));
	else
		receive(connection, control_receive(connection, slot), completion->byte_len);
	if (connection->exchange.ended || connection->closing)
		return;
	if (post_receive(connection, slot)) {
		failure_set(&connection->failure, FAILURE_ERRNO, PHASE_EXCHANGE, EIO,
			"ibv_post_recv", "the device does not take a work request");
		connection_step(connection, EVENT_FAILED);
	}
}

/* A send is complete, and all before it. */
static void sent(struct connection *connection, enum operation operation, uint64_t number)
{
	static const enum exchange_event events[] = {
		[OPERATION_PROOF] = EVENT_SENT_PROOF,
		[OPERATION_MR] = EVENT_SENT_MR,
		[OPERATION_DONE] = EVENT_SENT_DONE,
		[OPERATION_VERDICT] = EVENT_SENT_VERDICT,
		[OPERATION_ABORT] = EVENT_SENT_ABORT,
	};

	if (operation == OPERATION_WRITE)
		stream_written(connection, number);
	else if (operation == OPERATION_READ)
		stream_read(connection, number);
	/* The tutorial says this of its RDMA too; of ours there may be thousands. */
	if (operation == OPERATION_MR || operation == OPERATION_DONE ||
		(connection->exchange.tutorial && operation <= OPERATION_READ))
		output_line(connection->settings->output, "send completed successfully.");
	if (operation <= OPERATION_ABORT)
		connection_step(connection, events[operation]);
}

static const char *operation_name(enum operation operation)
{
	static const char *const names[] = {
		[OPERATION_PROOF] = "sending MSG_PROOF",
		[OPERATION_MR] = "sending MSG_MR",
		[OPERATION_DONE] = "sending MSG_DONE",
		[OPERATION_VERDICT] = "sending MSG_VERDICT",
		[OPERATION_ABORT] = "sending MSG_ABORT",
		[OPERATION_WRITE] = "RDMA WRITE",
		[OPERATION_READ] = "RDMA READ",
		[OPERATION_DATA] = "sending MSG_DATA",
		[OPERATION_CREDIT] = "sending MSG_CREDIT",
		[OPERATION_KEEPALIVE] = "a sign of life",
		[OPERATION_DRAIN] = "the marker",
		[OPERATION_RECEIVE] = "receiving",
	};

	return names[operation];
}

/* Records a failed work request with what may explain it: who, what, and which memory. */
static void record(struct connection *connection, int status, const char *doing)
{
	const struct rdma_addr *route = &connection->id->route.addr;
	const struct message *peer = &connection->peer_mr;
	char ours[INET6_ADDRSTRLEN] = "?", theirs[INET6_ADDRSTRLEN] = "?";

	inet_ntop(AF_INET6, &route->addr.ibaddr.sgid, ours, sizeof(ours));
	inet_ntop(AF_INET6, &route->addr.ibaddr.dgid, theirs, sizeof(theirs));
	failure_set(&connection->failure, FAILURE_COMPLETION, PHASE_EXCHANGE, status, "ibv_poll_cq",
		"%s, queue pair %u, GID %s to %s, its region %llu bytes at %#llx", doing,
		connection->id->qp->qp_num, ours, theirs, (unsigned long long)peer->length,
		(unsigned long long)peer->address);
}

void connection_stalled(struct connection *connection)
{
	record(connection, IBV_WC_RETRY_EXC_ERR, "nothing within --timeout");
}

static void completion_failed(struct connection *connection, const struct ibv_wc *completion)
{
	enum operation operation = WR_OPERATION(completion->wr_id);
	int status = (int)completion->status;

	/* soft-RoCE's word for a message that is too long for its receive. */
	if (operation == OPERATION_RECEIVE && status == IBV_WC_LOC_QP_OP_ERR)
		status = IBV_WC_LOC_LEN_ERR;
	/* And for a WRITE with immediate data, which takes a receive, to where it may not go. */
	if (operation == OPERATION_RECEIVE && status == IBV_WC_REM_ACCESS_ERR)
		failure_set(&connection->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, status,
			"ibv_poll_cq", "it wrote where our memory does not allow it");
	record(connection, status, operation_name(operation));
	connection_step(connection, EVENT_FAILED);
}

void connection_completed(struct connection *connection, const struct ibv_wc *completion)
{
	enum operation operation = WR_OPERATION(completion->wr_id);
	uint64_t number = WR_NUMBER(completion->wr_id);

	if (operation == OPERATION_RECEIVE) {
		connection->receives_posted--;
	} else {
		connection->sends_completed = number + 1;
		connection->acknowledged = deadline_now();
	}
	if (operation == OPERATION_DRAIN)
		return;
	if (completion->status != IBV_WC_SUCCESS)
		completion_failed(connection, completion);
	else if (operation == OPERATION_RECEIVE)
		received(connection, completion);
	else
		sent(connection, operation, number);
}
