/*
 * The device context and what its CQ thread does: poll, step each exchange, post, verify, drain.
 *
 * Each connection has a completion queue of its own, exactly as large as all that it can ever have
 * posted, so no number of clients can overflow it and no client can fill another's. All of a
 * device's queues report to its one completion channel, whose events carry the connection.
 *
 * A connection may be freed only after this thread has let go of it. `retired` marks that: it is
 * set by this thread alone, right before it tells the main thread, and a connection that carries it
 * is not touched again, except for acknowledging an event that was read before: ibv_destroy_cq()
 * waits for that acknowledgement, so the connection is still there.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "lib/digest.h"
#include "lib/text.h"
#include "rdma-internal.h"

/* Completions taken from a queue at a time: all that a connection can have. */
#define COMPLETIONS (SENDS + RECEIVES)

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

static void step(struct connection *connection, enum exchange_event event);

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
	step(connection, EVENT_FAILED);
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
		const struct ibv_mr *sink = connection->sink_mr ? connection->sink_mr
								: connection->control_mr;

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

	output_line(session->output, "received MSG_MR. %s remote memory...",
		connection->mode->doing);
	output_detail(session->output, "%s offers %llu bytes at %#llx, rkey %#x",
		connection->peer, (unsigned long long)connection->peer_mr.length,
		(unsigned long long)connection->peer_mr.address, connection->peer_mr.rkey);
	if (prepare_rdma(connection, &rdma, &rdma_piece)) {
		step(connection, EVENT_FAILED);
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
static void step(struct connection *connection, enum exchange_event event)
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
		mailbox_post(connection->session->mailbox, &connection->to_main,
			CONNECTION_FINISHED);
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
		message_name(MSG_DONE), "its MSG_DONE claims a message of %llu bytes, of %zu possible",
		(unsigned long long)done->length, room);
}

/* Records why a message cannot be one of the protocol's. */
static void refuse_message(struct connection *connection, int error, const struct message *message,
	uint32_t length)
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
			"message_decode", "its %s has impossible contents (address %#llx, length "
			"%llu, verdict %u)", message_name(message->type),
			(unsigned long long)message->address, (unsigned long long)message->length,
			message->verdict);
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
		step(connection, EVENT_FAILED);
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
			step(connection, EVENT_FAILED);
			return;
		}
	}
	step(connection, events[message.type]);
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
	step(connection, events[operation]);
}

static const char *operation_name(uint64_t operation)
{
	static const char *const names[] = {
		[OPERATION_MR] = "sending MSG_MR",
		[OPERATION_RDMA] = "the RDMA operation",
		[OPERATION_DONE] = "sending MSG_DONE",
		[OPERATION_VERDICT] = "sending MSG_VERDICT",
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
	failure_set(&connection->failure, FAILURE_COMPLETION, PHASE_EXCHANGE,
		status, "ibv_poll_cq",
		"%s, queue pair %u, GID %s to %s, its region %llu bytes at %#llx",
		operation_name(completion->wr_id), completion->qp_num, ours, theirs,
		(unsigned long long)peer->length, (unsigned long long)peer->address);
	step(connection, EVENT_FAILED);
}

static void completed(struct connection *connection, const struct ibv_wc *completion)
{
	connection->outstanding--;
	if (completion->status != IBV_WC_SUCCESS)
		completion_failed(connection, completion);
	else if (completion->wr_id < OPERATION_RECEIVE)
		sent(connection, (enum operation)completion->wr_id);
	else
		receive(connection,
			connection->memory.control
				->receives[completion->wr_id - OPERATION_RECEIVE],
			completion->byte_len);
}

/* A flushed work request is an effect, so anything else that is known comes before it. */
static bool is_flush(const struct failure *failure)
{
	return failure->kind == FAILURE_COMPLETION && failure->code == IBV_WC_WR_FLUSH_ERR;
}

/* Says in the evidence what the exchange was waiting for, where that is all there is to say. */
static void say_what_was_awaited(struct failure *failure, const struct exchange *exchange)
{
	const char *how;

	if (failure->kind == FAILURE_DEADLINE)
		how = "timed out waiting for";
	else if (failure->kind == FAILURE_GONE)
		how = "it disconnected while we waited for";
	else if (is_flush(failure))
		how = "while we waited for";
	else
		return;
	snprintf(failure->evidence, sizeof(failure->evidence), "%s %s", how,
		exchange_awaits(exchange));
}

/* Turns what is known at the end into the one outcome. */
static void decide(struct connection *connection)
{
	struct failure *outcome = &connection->failure;
	const struct exchange *exchange = &connection->exchange;

	/* A flush says only that something else went wrong before, or that all was over. */
	if (is_flush(outcome) && (failure_is_set(&connection->reason) || exchange_complete(exchange)))
		*outcome = (struct failure){0};
	if (!failure_is_set(outcome) && connection->damaged)
		failure_set(outcome, FAILURE_DAMAGED, PHASE_EXCHANGE, 0, "digest_equal",
			"its digest differs");
	if (!failure_is_set(outcome) && connection->peer_verdict != VERDICT_VERIFIED)
		failure_set(outcome, FAILURE_DAMAGED_THERE, PHASE_EXCHANGE, 0,
			message_name(MSG_VERDICT), "");
	if (failure_is_set(outcome) && !is_flush(outcome))
		return;
	if (!exchange_complete(exchange) && !is_flush(outcome))
		*outcome = connection->reason;
	say_what_was_awaited(outcome, exchange);
}

/* Lets go of the connection: from here on this thread does not touch it. */
static void retire(struct connection *connection)
{
	step(connection, EVENT_DISCONNECTED);
	decide(connection);
	connection->retired = true;
	mailbox_post(connection->session->mailbox, &connection->to_main, CONNECTION_DRAINED);
}

/* Takes all completions that wait, and ends a closing connection when none is missing. */
static void poll_queue(struct connection *connection)
{
	struct ibv_wc completions[COMPLETIONS];
	int count;

	while ((count = ibv_poll_cq(connection->cq, COMPLETIONS, completions)) > 0)
		for (int i = 0; i < count; i++)
			completed(connection, &completions[i]);
	if (count < 0) {
		failure_set(&connection->failure, FAILURE_ERRNO, PHASE_EXCHANGE, EIO, "ibv_poll_cq",
			"the completion queue is broken");
		step(connection, EVENT_FAILED);
	}
	if (connection->closing && connection->outstanding == 0)
		retire(connection);
}

/*
 * One completion event: get, acknowledge, re-arm, then drain, so that a completion that arrives in
 * between raises the next event. ibv_get_cq_event(3). Returns false if the channel is dead.
 */
static bool take_event(struct device *device)
{
	struct connection *connection;
	struct ibv_cq *cq;
	void *context;
	bool retired;

	if (ibv_get_cq_event(device->channel, &cq, &context))
		return errno == EAGAIN || errno == EINTR;
	connection = context;
	retired = connection->retired;
	ibv_ack_cq_events(cq, 1);
	if (retired)
		return true;
	if (ibv_req_notify_cq(cq, 0))
		failure_set(&connection->failure, FAILURE_ERRNO, PHASE_EXCHANGE, EIO,
			"ibv_req_notify_cq", "the completion queue is broken");
	poll_queue(connection);
	return true;
}

/* Does what the main thread asks for. Returns false if it asks the thread to end. */
static bool take_notes(struct device *device)
{
	unsigned int notes;
	struct slip *slip;

	while ((slip = mailbox_take(&device->mailbox, &notes))) {
		struct connection *connection = slip->about;

		if (notes & THREAD_STOP)
			return false;
		if ((notes & THREAD_ESTABLISHED) && !connection->retired)
			step(connection, EVENT_ESTABLISHED);
		if ((notes & THREAD_CLOSE) && !connection->retired) {
			connection->closing = true;
			poll_queue(connection);
		}
		if (notes & THREAD_ABANDON) {
			if (!connection->retired)
				retire(connection);
			mailbox_post(connection->session->mailbox, &connection->to_main,
				CONNECTION_ABANDONED);
		}
	}
	return true;
}

static void *poll_completions(void *argument)
{
	struct device *device = argument;
	struct pollfd waiting[] = {
		{.fd = device->mailbox.eventfd, .events = POLLIN},
		{.fd = device->channel->fd, .events = POLLIN},
	};
	bool running = true;

	while (running) {
		if (poll(waiting, 2, -1) < 0)
			continue; /* EINTR */
		/* A removed device's channel is not polled again; the main thread will hear of it. */
		if (waiting[1].revents && !take_event(device))
			waiting[1].fd = -1;
		if (waiting[0].revents)
			running = take_notes(device);
	}
	return NULL;
}

int device_start(struct ibv_context *verbs, struct device **result, struct failure *failure)
{
	struct device *device = calloc(1, sizeof(*device));
	int error;

	if (!device)
		return failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, ENOMEM, "calloc", "");
	device->verbs = verbs;
	device->mailbox.eventfd = -1;
	device->channel = ibv_create_comp_channel(verbs);
	if (!device->channel) {
		error = errno;
		failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, error,
			"ibv_create_comp_channel", "%s", strerror(error));
		goto free_device;
	}
	/* An event may be withdrawn with its queue between poll() and read(). */
	error = fcntl(device->channel->fd, F_SETFL, O_NONBLOCK) ? -errno : 0;
	if (!error)
		error = mailbox_open(&device->mailbox);
	if (!error)
		error = -pthread_create(&device->thread, NULL, poll_completions, device);
	if (error) {
		failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, -error, "pthread_create",
			"cannot start the CQ thread: %s", strerror(-error));
		goto close_mailbox;
	}
	*result = device;
	return 0;

close_mailbox:
	mailbox_close(&device->mailbox);
	ibv_destroy_comp_channel(device->channel);
free_device:
	free(device);
	return -1;
}

void device_stop(struct device *device)
{
	if (!device)
		return;
	mailbox_post(&device->mailbox, &device->stop, THREAD_STOP);
	pthread_join(device->thread, NULL);
	mailbox_close(&device->mailbox);
	ibv_destroy_comp_channel(device->channel);
	free(device);
}

const char *device_name(const struct device *device)
{
	return ibv_get_device_name(device->verbs->device);
}

int signals_open(void)
{
	sigset_t signals;
	int descriptor;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	signal(SIGPIPE, SIG_IGN);
	if (pthread_sigmask(SIG_BLOCK, &signals, NULL))
		return -EINVAL;
	descriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return descriptor < 0 ? -errno : descriptor;
}

int signals_read(int descriptor)
{
	struct signalfd_siginfo signal;

	return read(descriptor, &signal, sizeof(signal)) == sizeof(signal) ? (int)signal.ssi_signo
									   : 0;
}
