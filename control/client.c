/*
 * The client side of a control connection: see control/client.h. The control connection belongs to
 * the caller and owns everything created here.
 */
#include <errno.h>

#include "control/client.h"

/* The smaller of both directions: on iWARP, rdmacm swaps them in the server's reply. */
static uint8_t reads_of(const struct rdma_conn_param *parameters)
{
	return parameters->initiator_depth < parameters->responder_resources
		       ? parameters->initiator_depth
		       : parameters->responder_resources;
}

int control_client_prepare(void *user, struct cm_channel *channel, struct rdma_cm_id *id,
	struct rdma_conn_param *parameters, struct failure *failure)
{
	struct control *control = user;
	const struct control_request *request = control->request;
	const struct hello ours = {
		.version = HELLO_VERSION,
		.kind = (uint8_t)request->kind,
		.size = request->kind == HELLO_MEASUREMENT
				? hello_shape(request->queue_pairs, request->depth)
				: 0,
		.timeout = request->timeout,
		.mtu = request->kind == HELLO_MEASUREMENT
			       ? hello_requests(request->inline_max,
					 request->gathers ? request->gathers : 1)
			       : 0,
		.flags = HELLO_ANSWERS | HELLO_EXPLAINED |
			 (request->bandwidth ? HELLO_BANDWIDTH : 0) |
			 (request->worker ? HELLO_WORKER : 0) |
			 (request->receives ? HELLO_RECEIVES : 0) |
			 (request->shares ? HELLO_SHARES : 0),
	};

	control_init(control, channel, id, rdma_get_peer_addr(id), request->secret, SECRET_CLIENT);
	control->request = request;
	control->stop_fd = request->stop_fd;
	if (request->bandwidth)
		control->ordering = request->ordering;
	control->inline_max = request->inline_max;
	control->gathers = request->gathers;
	control->shares = request->shares;
	if (request->receives)
		control->receives = request->depth + CONTROL_RECEIVES_BESIDES;
	if (control_prepare(control, request->queue_pairs, request->depth)) {
		*failure = control->failure;
		return -1;
	}
	*parameters = (struct rdma_conn_param){
		.retry_count = CONTROL_RETRIES,
		.rnr_retry_count = TRANSPORT_RNR_RETRIES,
	};
	control_limit_reads(control, parameters, request->reads, request->reads);
	control->reads = reads_of(parameters);
	parameters->private_data =
		handshake_hello(&control->handshake, &ours, &parameters->private_data_len);
	return 0;
}

void control_client_discard(void *user, const struct failure *reason)
{
	(void)reason;
	control_close(user);
}

/* Waits for a reply. The answer to a test's last keepalive, an empty message, may precede it. */
static int receive_reply(struct control *control, struct command *reply, deadline_t deadline)
{
	int received = control_receive_message(control, reply, deadline);

	if (received > 0 && control->unanswered) {
		control->unanswered = false;
		received = control_receive_message(control, reply, deadline);
	}
	return received > 0 ? failure_protocol(
				      &control->failure, "reply", "the peer sent an empty message")
			    : received;
}

/* Records that the server cannot allocate what the session needs. Returns -1. */
static int no_resources(struct control *control, const struct command *reply)
{
	bool full = reply->text_size == 1 && *reply->text == REFUSAL_MEMORY;

	return failure_set(&control->failure, FAILURE_REFUSED, full ? PHASE_CONNECT : PHASE_MEMORY,
		full ? REFUSAL_MEMORY : REFUSAL_RESOURCES, "reply", "");
}

/* With a secret, proves that this end knows it and checks the server's proof. */
static int prove(struct control *control, deadline_t deadline)
{
	struct command command = {.type = COMMAND_PROOF, .number = ++control->commands}, reply;
	uint8_t text[SECRET_PROOF_SIZE];

	control_prove(control, &command, text);
	if (control_send_message(control, &command, deadline) ||
		receive_reply(control, &reply, deadline))
		return -1;
	if (reply.reply && reply.number == command.number && reply.status == COMMAND_FAILED)
		return no_resources(control, &reply);
	if (!reply.reply || reply.number != command.number || reply.status != COMMAND_DONE ||
		!control_is_proved(control, &reply))
		return secret_refused(&control->failure);
	return control_register(control);
}

int control_client_admission(
	struct control *control, const struct event_copy *reply, deadline_t deadline)
{
	const struct rdma_conn_param *said = &reply->event.param.conn;
	const struct secret *secret = control->handshake.secret;
	struct hello theirs;
	int error = hello_decode(&theirs, said->private_data, said->private_data_len);

	control->connected = true;
	if (reads_of(said) < control->reads)
		control->reads = reads_of(said);
	/* With a secret, a malformed hello is treated as an authentication failure. */
	if (secret && (error || !handshake_fits(secret, &theirs, said->private_data_len)))
		return secret_refused(&control->failure);
	if (error)
		return failure_set(&control->failure, FAILURE_NO_HELLO, PHASE_CONNECT, 0, "hello",
			"the peer sent %u bytes of private data", said->private_data_len);
	if (theirs.version != HELLO_VERSION || theirs.kind != control->request->kind ||
		!handshake_fits(secret, &theirs, said->private_data_len))
		return failure_set(&control->failure, FAILURE_PROTOCOL, PHASE_CONNECT, -EPROTO,
			"hello", "the server's hello does not match the request");
	control->answers = theirs.flags & HELLO_ANSWERS;
	control->tries = theirs.flags & HELLO_OPERATIONS;
	control->links = theirs.flags & HELLO_LINKS;
	handshake_receive_hello(&control->handshake, said->private_data);
	return secret ? prove(control, deadline) : 0;
}

int control_client_command(struct control *control, struct command *command, struct command *reply,
	deadline_t deadline)
{
	command->number = ++control->commands;
	if (control_send_message(control, command, deadline) ||
		receive_reply(control, reply, deadline))
		return -1;
	if (!reply->reply || reply->type != command->type || reply->number != command->number)
		return failure_protocol(
			&control->failure, "reply", "the reply does not match the request");
	if (reply->status == COMMAND_FAILED)
		return no_resources(control, reply);
	if (reply->status != COMMAND_DONE)
		return failure_protocol(&control->failure, "reply", "the peer refused a command");
	return 0;
}

int control_client_region(struct control *control, deadline_t deadline)
{
	struct command region = {.type = COMMAND_REGION}, reply;

	control_describe_region(control, &region);
	if (control_client_command(control, &region, &reply, deadline))
		return -1;
	control_set_peer_region(control, &reply);
	return 0;
}

int control_client_facts(struct control *control, struct facts *facts, deadline_t deadline)
{
	struct command command = {.type = COMMAND_FACTS}, reply;

	if (control_client_command(control, &command, &reply, deadline))
		return -1;
	return facts_decode(facts, reply.text, reply.text_size)
		       ? failure_protocol(
				 &control->failure, "facts_decode", "the peer sent malformed facts")
		       : 0;
}

int control_client_counters(struct control *control, struct counters *counters, deadline_t deadline)
{
	struct command command = {.type = COMMAND_COUNTERS}, reply;

	*counters = (struct counters){0};
	if (control_client_command(control, &command, &reply, deadline))
		return -1;
	return counters_decode(reply.text, reply.text_size, counters)
		       ? failure_protocol(&control->failure, "counters_decode",
				 "the peer sent malformed counters")
		       : 0;
}
