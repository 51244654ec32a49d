/*
 * A control connection: memory, messages and waits. Everything belongs to one thread. A receive
 * slot belongs to the device, then to the ring of kept receives, then to the message that
 * control_receive_message() returned, until the next call reposts it.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/explain.h"
#include "base/text.h"
#include "control/control.h"
#include "verbs/bootstrap.h"
#include "verbs/channel.h"

/* Requested inline size in bytes, for sends without registered memory. */
#define INLINE_MAX 256

/* Interval of writes until the server has read the client's first message, in milliseconds. */
#define FIRST_MESSAGE_MS 100

/* How long rdmacm may take to report why the device rejects sends, in milliseconds. */
#define CAUSE_MS (2 * DISCONNECT_AFTER_REFUSAL_MS)

/*
 * An acknowledgement that took longer than this was lost, in milliseconds: devices acknowledge
 * without any program. While one is outstanding, the connection is looked at this often.
 */
#define UNACKNOWLEDGED_MS 2000
#define LOOK_MS           500
#define LOOKED_MS         1000 /* at most between two looks, unless this process was stopped */

/* Time limits for the last message and for the disconnect that follows it, in milliseconds. */
#define LAST_MESSAGE_MS 1000
#define LAST_WAIT_MS    1000

/* Time limit for draining the queues, in milliseconds. */
#define DRAIN_MS 1000

/*
 * Layout of the message region: one outgoing message, the slots of the first queue pair, then for
 * each queue pair its outgoing notices and its slots.
 */
#define SLOTS_OFFSET   ((size_t)COMMAND_MAX)
#define NOTICES_OFFSET (SLOTS_OFFSET + (size_t)CONTROL_RECEIVES * COMMAND_MAX)
#define PAIR_NOTICES   ((size_t)CONTROL_NOTICE_SIZE * (CONTROL_NOTICES + CONTROL_RECEIVES))

struct kept_receive {
	struct ibv_wc wc;
	struct completion completion;
};

void control_init(struct control *control, struct cm_channel *events, struct rdma_cm_id *id,
	const struct sockaddr *peer, const struct secret *secret, enum secret_role role)
{
	*control = (struct control){
		.events = events, .id = id, .stop_fd = -1, .ordering = ORDERING_STRICT};
	handshake_init(&control->handshake, secret, role);
	address_port_text(peer, control->peer);
}

/* Creating the endpoint and the memory. */

static int open_endpoint(struct control *control, uint32_t queue_pairs, uint32_t depth)
{
	struct queue_size size = {
		.sends = depth + CONTROL_SENDS,
		.receives = CONTROL_RECEIVES + control->receives,
		.inline_max = control->inline_max ? control->inline_max : INLINE_MAX,
		.inline_exact = control->inline_max > 0,
		.gathers = control->gathers,
	};
	uint32_t most;

	if (device_open(&control->device, control->id->verbs, &control->failure))
		return -1;
	/* A device that has fewer says so in its facts. */
	most = (uint32_t)control->device.attributes.max_sge;
	if (size.gathers > most)
		size.gathers = most;
	return endpoint_open(&control->endpoint, control->id, &control->device, &size, queue_pairs,
		&control->failure);
}

/*
 * Maps `offered` and `private`. On iWARP the peer can write into `private` as well: a READ request
 * contains its rkey.
 */
static int map_data(struct control *control, size_t size)
{
	int local =
		IBV_ACCESS_LOCAL_WRITE | device_data_access(&control->device, control->ordering);
	int reads = control->device.traits->read_needs_remote_write ? IBV_ACCESS_REMOTE_WRITE : 0;
	int atomics = device_has_atomics(&control->device) ? IBV_ACCESS_REMOTE_ATOMIC : 0;

	return region_map(&control->offered, &control->device, size,
		       local | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | atomics,
		       &control->failure) ||
			       region_map(&control->private, &control->device, size, local | reads,
				       &control->failure)
		       ? -1
		       : 0;
}

int control_register(struct control *control)
{
	struct ibv_pd *pd = control->endpoint.pd;

	return region_register(&control->offered, pd, &control->failure) ||
			       region_register(&control->private, pd, &control->failure)
		       ? -1
		       : 0;
}

static int post_receives(
	struct control *control, struct queue_pair *pair, size_t offset, uint32_t slot_size)
{
	int error;

	queue_pair_set_slots(pair, (struct slot_area){.start = control->messages.start + offset,
					   .slot_size = slot_size,
					   .key = control->messages.mr->lkey});
	error = queue_pair_post_receives(pair, CONTROL_RECEIVES);
	return error ? failure_errno(&control->failure, PHASE_MEMORY, "ibv_post_recv", -error) : 0;
}

int control_prepare(struct control *control, uint32_t queue_pairs, uint32_t depth)
{
	if (control->shares) {
		control->sharing = queue_pairs;
		queue_pairs += 2;
	}
	control->kept_max = queue_pairs * (CONTROL_RECEIVES + control->receives);
	control->kept = calloc(control->kept_max, sizeof(*control->kept));
	if (!control->kept)
		return failure_errno(&control->failure, PHASE_ALLOCATION, "calloc", ENOMEM);
	return open_endpoint(control, queue_pairs, depth) ||
			       map_data(control, COMMAND_REGION_MIN) ||
			       (!control->handshake.secret && control_register(control)) ||
			       region_create(&control->messages, &control->device,
				       control->endpoint.pd,
				       NOTICES_OFFSET + queue_pairs * PAIR_NOTICES,
				       IBV_ACCESS_LOCAL_WRITE, &control->failure) ||
			       post_receives(
				       control, control->endpoint.pairs, SLOTS_OFFSET, COMMAND_MAX)
		       ? -1
		       : 0;
}

int control_enlarge(struct control *control, size_t size)
{
	if (size <= control->private.size)
		return 0;
	region_free(&control->offered);
	region_free(&control->private);
	return map_data(control, size) || control_register(control) ? -1 : 0;
}

uint8_t *control_notices(const struct control *control, const struct queue_pair *pair)
{
	return control->messages.start + NOTICES_OFFSET + pair->index * PAIR_NOTICES;
}

/*
 * Creates the shared receive queue. Each queue pair may use as many of its receives as it would
 * have of its own (measure/receives.c).
 */
static int share_receives(struct control *control)
{
	int error = shared_receives_create(&control->shared, control->endpoint.pd,
		control->sharing * control->receives, CONTROL_RECEIVES + control->receives);

	if (error)
		return failure_set(&control->failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, -error,
			"ibv_create_srq",
			"cannot create a shared receive queue: %s; requested %u receives, the "
			"device allows %d",
			strerror(-error), control->shared.count,
			control->device.attributes.max_srq_wr);
	control->endpoint.shared = &control->shared;
	return 0;
}

struct queue_pair *control_add_queue_pair(struct control *control)
{
	static const enum ibv_qp_type types[TEST_TRANSPORTS] = {
		[TEST_RC] = IBV_QPT_RC, [TEST_UC] = IBV_QPT_UC, [TEST_UD] = IBV_QPT_UD};
	struct queue_pair *pair;
	size_t offset;

	if (control->shares && !control->shared.srq && share_receives(control))
		return NULL;
	control->endpoint.added = types[control->transport];
	pair = endpoint_add_queue_pair(&control->endpoint, &control->failure);
	/* An unreliable test posts receives that suit its operations. */
	if (!pair || control->shares || control->transport != TEST_RC)
		return pair;
	offset = NOTICES_OFFSET + pair->index * PAIR_NOTICES +
		 (size_t)CONTROL_NOTICE_SIZE * CONTROL_NOTICES;
	return post_receives(control, pair, offset, CONTROL_NOTICE_SIZE) ? NULL : pair;
}

static uint8_t smaller(uint8_t wanted, int possible)
{
	return wanted < possible ? wanted : (uint8_t)possible;
}

void control_limit_reads(const struct control *control, struct rdma_conn_param *parameters,
	uint8_t asks, uint8_t answers)
{
	parameters->initiator_depth = smaller(asks, control->device.attributes.max_qp_init_rd_atom);
	parameters->responder_resources =
		smaller(answers, control->device.attributes.max_qp_rd_atom);
}

/* Waiting for rdmacm events and completions. */

/* True if another event is the cause: the queue pair broke when the connection ended. */
static bool is_consequence(const struct failure *end)
{
	return (end->kind == FAILURE_COMPLETION && end->code == IBV_WC_WR_FLUSH_ERR) ||
	       (end->kind == FAILURE_ERRNO && end->code == ENOTCONN);
}

/* Records that an unexpected rdmacm event ends the connection. */
static void take_end(struct control *control, const struct rdma_cm_event *event)
{
	struct failure *end = &control->end;

	if (is_consequence(end))
		*end = (struct failure){0};
	if (failure_is_set(end))
		return;
	failure_from_event(end, event, PHASE_EXCHANGE);
	if (end->kind == FAILURE_GONE)
		end->code = CODE_DIAGNOSIS;
}

/* Handles pending rdmacm events. Returns 0, or -1 if they cannot be read. */
static int take_events(struct control *control)
{
	struct event_copy copy;
	int taken;

	while ((taken = channel_take(control->events, &copy)) > 0) {
		if (copy.event.event == RDMA_CM_EVENT_DISCONNECTED)
			control->disconnected = true;
		if (copy.event.event != RDMA_CM_EVENT_TIMEWAIT_EXIT &&
			copy.event.event != RDMA_CM_EVENT_ADDR_CHANGE &&
			copy.event.event != RDMA_CM_EVENT_ESTABLISHED)
			take_end(control, &copy.event);
	}
	return taken < 0 ? failure_errno(
				   &control->failure, PHASE_EXCHANGE, "rdma_get_cm_event", -taken)
			 : 0;
}

/* Waits until rdmacm reports the end of the connection, at most this many milliseconds. */
static bool await_event(struct control *control, int milliseconds)
{
	struct pollfd waiting[] = {
		{.fd = control->events->fd, .events = POLLIN},
		{.fd = control->stop_fd, .events = POLLIN},
	};
	deadline_t deadline = deadline_in(milliseconds);

	while (take_events(control) == 0 && !failure_is_set(&control->end))
		if (poll(waiting, 2, deadline_left(deadline)) <= 0 || waiting[1].revents)
			break;
	return failure_is_set(&control->end);
}

/* Records that a send was rejected with this -errno. */
static void take_rejected(struct control *control, int error)
{
	if (failure_is_set(&control->end) || (error == -ENOTCONN && await_event(control, CAUSE_MS)))
		return;
	failure_errno(&control->end, PHASE_EXCHANGE, "ibv_post_send", -error);
}

/*
 * Adds to the evidence that the disconnect followed an access refused by the peer's device. When a
 * program exits, its memory is freed before its connection.
 */
static void add_refusal(struct failure *end, enum ibv_wc_status refusal)
{
	size_t used = strlen(end->evidence);

	snprintf(end->evidence + used, sizeof(end->evidence) - used, " after %s",
		explain_name(FAILURE_COMPLETION, (int)refusal));
}

void control_completion_failed(struct control *control, const struct completion *completion)
{
	enum ibv_wc_status status = completion->wc->status;

	if (failure_is_set(&control->end))
		return;
	if (completion_is_refusal(completion) && await_event(control, DISCONNECT_AFTER_REFUSAL_MS))
		add_refusal(&control->end, status);
	else
		failure_set(&control->end, FAILURE_COMPLETION, PHASE_EXCHANGE, (int)status,
			"ibv_poll_cq", "");
}

/* Received messages. */

void control_keep(struct control *control, const struct completion *completion)
{
	unsigned int last = (control->kept_first + control->kept_count++) % control->kept_max;
	struct kept_receive *receive = &control->kept[last];

	receive->wc = *completion->wc;
	receive->completion = *completion;
	receive->completion.wc = &receive->wc;
}

const struct completion *control_take_kept(struct control *control)
{
	const struct completion *completion = &control->kept[control->kept_first].completion;

	control->kept_first = (control->kept_first + 1) % control->kept_max;
	control->kept_count--;
	return completion;
}

/*
 * Polls once. Keeps receives, failed ones as well: the receives before them are valid messages.
 * Returns the number of completions, or -1 with the failure recorded.
 */
static int keep_completions(struct control *control)
{
	struct completion_batch batch;
	struct completion completion;
	int count = endpoint_poll(&control->endpoint, &batch);

	if (count < 0)
		return failure_errno(&control->failure, PHASE_EXCHANGE, "ibv_poll_cq", EIO);
	while (endpoint_next_completion(&control->endpoint, &batch, &completion))
		if (completion.kind == ENDPOINT_RECEIVE)
			control_keep(control, &completion);
		else if (completion.wc->status != IBV_WC_SUCCESS)
			control_completion_failed(control, &completion);
	return count;
}

/* Records the server's reason for ending the session. Returns -1. */
static int take_reason(struct control *control, const struct command *message)
{
	char text[TEXT_ESCAPED_SIZE(COMMAND_REASON_MAX)];
	size_t size =
		message->text_size < COMMAND_REASON_MAX ? message->text_size : COMMAND_REASON_MAX;

	/* The peer has already escaped text that it quotes. */
	text_escape_utf8(text, message->text, size);
	return failure_set(&control->failure, FAILURE_ABORTED, PHASE_EXCHANGE, 0, "COMMAND_ABORT",
		"the peer aborted: %s", *text ? text : "no reason given");
}

bool control_take_abort(struct control *control, const struct completion *completion)
{
	struct command message;

	if (!control->request || completion->pair->index > 0 ||
		completion->wc->status != IBV_WC_SUCCESS || completion->wc->opcode != IBV_WC_RECV ||
		command_decode(&message, completion->data, completion->wc->byte_len) ||
		message.type != COMMAND_ABORT)
		return false;
	take_reason(control, &message);
	return true;
}

static bool is_unacknowledged(const struct control *control)
{
	for (unsigned int i = 0; i < control->endpoint.pair_count; i++)
		if (queue_pair_is_unacknowledged(&control->endpoint.pairs[i]))
			return true;
	return false;
}

/* True if a send has not completed, signaled or not. */
static bool is_outstanding(const struct control *control)
{
	for (unsigned int i = 0; i < control->endpoint.pair_count; i++)
		if (control->endpoint.pairs[i].sends_posted >
			control->endpoint.pairs[i].sends_completed)
			return true;
	return false;
}

/*
 * The server might leave the client's first message unread until more data arrives
 * (verbs/device.c), and a send that was not signaled does not report that it was acknowledged. A
 * WRITE of 0 bytes helps with both, and needs no memory.
 */
static void write_nothing(struct control *control, unsigned int flags)
{
	struct ibv_send_wr request = {.opcode = IBV_WR_RDMA_WRITE, .send_flags = flags};
	int error = queue_pair_post(control->endpoint.pairs, CONTROL_KEEPALIVE, &request);

	if (error)
		take_rejected(control, error);
}

/*
 * Notes now and then, after completions have been taken, whether anything has been acknowledged
 * since the last time. Looks for rdmacm events first: if this process was stopped, the connection
 * may have ended long ago. Returns 0, or -1 on failure.
 */
static int look(struct control *control)
{
	deadline_t now = deadline_now();
	uint64_t posted = 0, acknowledged = 0;
	bool waits, rests;

	if (now - control->looked < LOOK_MS)
		return 0;
	if (take_events(control))
		return -1;
	if (failure_is_set(&control->end))
		return 0;
	for (unsigned int i = 0; i < control->endpoint.pair_count; i++) {
		posted += control->endpoint.pairs[i].sends_posted;
		acknowledged += control->endpoint.pairs[i].sends_completed;
	}
	waits = is_unacknowledged(control);
	rests = !waits && posted == control->posted;
	if (!control->looked || acknowledged != control->acknowledged || posted == acknowledged ||
		(!waits && !rests))
		control->changed = now;
	if (rests && posted > acknowledged)
		write_nothing(control, IBV_SEND_SIGNALED);
	control->waited = waits;
	control->posted = posted;
	control->acknowledged = acknowledged;
	control->looked = now;
	return 0;
}

/*
 * A peer that gave up because it received no acknowledgements disconnects, and its request may be
 * the first packet that arrives. If our device, too, had waited long for acknowledgements, packets
 * were lost, and the peer's disconnect is only the consequence.
 */
static void explain_disconnect(struct control *control)
{
	deadline_t now = deadline_now();
	/* If this process was stopped since, the connection may have ended right after the look. */
	deadline_t open = now - control->looked < LOOKED_MS ? now : control->looked;
	int64_t silent = open - control->changed;
	struct failure *end = &control->end;

	if (end->kind != FAILURE_GONE || !is_unacknowledged(control) || !control->waited ||
		silent < UNACKNOWLEDGED_MS)
		return;
	end->code = CODE_UNACKNOWLEDGED;
	snprintf(end->evidence, sizeof(end->evidence),
		"for %.1f s, nothing that this side had sent was acknowledged, then the peer "
		"closed the connection",
		(double)silent / 1000);
}

/*
 * If the connection has ended, records why and returns -1. The server's reason may be among the
 * messages that arrived before.
 */
static int report_end(struct control *control)
{
	int count = 1;

	if (!failure_is_set(&control->end))
		return 0;
	while (count > 0)
		count = keep_completions(control);
	if (count < 0 || take_events(control))
		return -1;
	while (control->kept_count > 0)
		if (control_take_abort(control, control_take_kept(control)))
			return -1;
	explain_disconnect(control);
	control->failure = control->end;
	return -1;
}

int control_post_failed(struct control *control, int error)
{
	take_rejected(control, error);
	return report_end(control);
}

/* Waits. */

/* Waits for any event. Returns 0; 1 at the deadline; -1 when stop_fd is readable. */
static int wait_for_any(struct control *control, deadline_t deadline)
{
	bool unread = control->request && !control->heard &&
		      control->device.traits->peer_wakes_late &&
		      !queue_pair_is_unacknowledged(control->endpoint.pairs);
	int left = deadline_left(deadline), most = left;
	struct pollfd waiting[] = {
		{.fd = control->events->fd, .events = POLLIN},
		{.fd = control->stop_fd, .events = POLLIN},
		{.fd = control->device.channel->fd, .events = POLLIN},
	};

	if (unread && most > FIRST_MESSAGE_MS)
		most = FIRST_MESSAGE_MS;
	else if (is_outstanding(control) && most > LOOK_MS)
		most = LOOK_MS;
	if (poll(waiting, 3, most) == 0) {
		if (left == most)
			return 1;
		if (unread)
			write_nothing(control, 0);
	}
	if (waiting[1].revents)
		return failure_set(&control->failure, FAILURE_INTERRUPTED, PHASE_EXCHANGE,
			ECANCELED, "stop", "");
	return 0;
}

int control_check(struct control *control)
{
	struct pollfd stop = {.fd = control->stop_fd, .events = POLLIN};

	if (poll(&stop, 1, 0) > 0)
		return failure_set(&control->failure, FAILURE_INTERRUPTED, PHASE_EXCHANGE,
			ECANCELED, "stop", "");
	return look(control) || take_events(control) ? -1 : report_end(control);
}

int control_sleep_until(struct control *control, deadline_t deadline)
{
	int waited, ignored;

	if (report_end(control) || look(control))
		return -1;
	if (failure_is_set(&control->end))
		return 0;
	if (!control->endpoint.armed)
		return endpoint_arm(&control->endpoint)
			       ? failure_errno(&control->failure, PHASE_EXCHANGE,
					 "ibv_req_notify_cq", EIO)
			       : 0;
	waited = wait_for_any(control, deadline);
	if (waited || take_events(control))
		return waited > 0 ? 1 : -1;
	while (endpoint_take_event(control->device.channel, &ignored))
		;
	return 0;
}

int control_sleep(struct control *control, deadline_t deadline)
{
	int slept = control_sleep_until(control, deadline);

	return slept > 0 ? failure_set(&control->failure, FAILURE_DEADLINE, PHASE_EXCHANGE,
				   CODE_DIAGNOSIS, "poll", "")
			 : slept;
}

/* Messages. */

/* Processes completions, or waits for one. */
static int progress(struct control *control, deadline_t deadline)
{
	int count = keep_completions(control);

	if (count == 0)
		return control_sleep(control, deadline);
	return count < 0 ? -1 : 0;
}

static int release(struct control *control, struct queue_pair *pair, uint64_t slot)
{
	int error = control->retired && slot < CONTROL_RECEIVES
			    ? 0
			    : queue_pair_post_receive(pair, slot);

	return error ? failure_errno(&control->failure, PHASE_MEMORY, "ibv_post_recv", -error) : 0;
}

int control_release(struct control *control, const struct completion *completion)
{
	if (completion->shared) {
		shared_receives_release(&control->shared, completion->number);
		return 0;
	}
	return release(control, completion->pair, completion->number);
}

/* Waits until the last message is acknowledged. */
static int await_sent(struct control *control, deadline_t deadline)
{
	const struct queue_pair *pair = control->endpoint.pairs;

	while (queue_pair_is_unacknowledged(pair))
		if (failure_is_set(&control->failure) || progress(control, deadline))
			return -1;
	return 0;
}

int control_send_message(
	struct control *control, const struct command *message, deadline_t deadline)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)control->messages.start,
		.lkey = control->messages.mr->lkey,
	};
	struct ibv_send_wr request = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	int error;

	if (failure_is_set(&control->failure) || await_sent(control, deadline))
		return -1;
	sge.length = (uint32_t)command_encode(message, control->messages.start);
	error = queue_pair_post(control->endpoint.pairs, CONTROL_MESSAGE, &request);
	if (error)
		take_rejected(control, error);
	return 0;
}

/* Waits until the peer disconnects, and discards what else it sends. */
static void await_disconnect(struct control *control, deadline_t deadline)
{
	while (!control->disconnected && progress(control, deadline) == 0)
		while (control->kept_count > 0)
			control_take_kept(control);
}

void control_send_last(struct control *control, const struct command *message)
{
	struct failure outcome = control->failure;
	deadline_t deadline = deadline_in(LAST_MESSAGE_MS);
	int stop_fd = control->stop_fd;

	/* The message may say that this program was asked to stop. */
	control->stop_fd = -1;
	control->failure = (struct failure){0};
	if (control_send_message(control, message, deadline) == 0 &&
		await_sent(control, deadline) == 0)
		await_disconnect(control, deadline_in(LAST_WAIT_MS));
	control->stop_fd = stop_fd;
	control->failure = outcome;
}

/*
 * True for what arrives on an unreliable queue pair. Between two tests, that is a late or repeated
 * operation, or a datagram from an unknown sender.
 */
static bool is_stray(const struct control *control, const struct completion *completion)
{
	return control->transport != TEST_RC && completion->pair->index > 0 &&
	       completion->wc->status == IBV_WC_SUCCESS;
}

/*
 * Waits for the next receive of the connection, successful or not. Returns NULL with the failure
 * recorded on error.
 */
static const struct completion *next_receive(struct control *control, deadline_t deadline)
{
	const struct completion *completion;

	for (;;) {
		while (control->kept_count == 0)
			if (progress(control, deadline))
				return NULL;
		completion = control_take_kept(control);
		if (!is_stray(control, completion))
			return completion;
		if (control_release(control, completion))
			return NULL;
	}
}

int control_receive_message(struct control *control, struct command *message, deadline_t deadline)
{
	const struct completion *completion;
	int error;

	if (failure_is_set(&control->failure))
		return -1;
	/* The caller is done with the previous message. */
	if (control->held && release(control, control->held, control->held_slot))
		return -1;
	control->held = NULL;
	completion = next_receive(control, deadline);
	if (!completion)
		return -1;
	if (completion->wc->status != IBV_WC_SUCCESS) {
		control_completion_failed(control, completion);
		return report_end(control);
	}
	/* The length is that of a WRITE, and the slot contains no new data. */
	if (completion->wc->opcode != IBV_WC_RECV)
		return failure_protocol(&control->failure, "ibv_poll_cq",
			"the peer sent unexpected immediate data");
	if (completion->pair->index > 0)
		return failure_protocol(
			&control->failure, "ibv_poll_cq", "unexpected message on this queue pair");
	control->heard = true;
	control->held = completion->pair;
	control->held_slot = completion->number;
	if (completion->wc->byte_len == 0)
		return 1;
	error = command_decode(message, completion->data, completion->wc->byte_len);
	if (error)
		return failure_set(&control->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, error,
			"command_decode", "the peer sent a malformed message of %u bytes",
			completion->wc->byte_len);
	return control->request && message->type == COMMAND_ABORT ? take_reason(control, message)
								  : 0;
}

void control_prove(
	const struct control *control, struct command *command, uint8_t text[SECRET_PROOF_SIZE])
{
	handshake_prove(&control->handshake, text);
	command->text = (const char *)text;
	command->text_size = SECRET_PROOF_SIZE;
}

bool control_is_proved(const struct control *control, const struct command *command)
{
	return command->type == COMMAND_PROOF && command->text_size == SECRET_PROOF_SIZE &&
	       handshake_is_proved(&control->handshake, (const uint8_t *)command->text);
}

void control_set_peer_region(struct control *control, const struct command *region)
{
	control->peer_address = region->address;
	control->peer_length = region->length;
	control->peer_rkey = region->rkey;
}

void control_describe_region(const struct control *control, struct command *region)
{
	region->address = (uintptr_t)control->offered.start;
	region->length = (uint32_t)control->offered.size;
	region->rkey = control->offered.mr->rkey;
}

/* Closing. */

void control_close(struct control *control)
{
	if (!control->id)
		return;
	if (control->connected && !control->disconnected)
		bootstrap_of(control->id)->disconnect(control->id);
	if (control->id->qp)
		endpoint_drain(&control->endpoint, control->device.channel, deadline_in(DRAIN_MS));
	endpoint_close_queues(&control->endpoint);
	shared_receives_destroy(&control->shared);
	region_free(&control->offered);
	region_free(&control->private);
	region_free(&control->messages);
	endpoint_close(&control->endpoint);
	device_close(&control->device);
	free(control->kept);
	bootstrap_of(control->id)->destroy(control->id);
	control->id = NULL;
	channel_destroy(control->events);
}
