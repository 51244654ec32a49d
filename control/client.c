#include <errno.h>
#include <string.h>

#include "control/client.h"

/* A call of rdmacm failed with errno in this phase. */
static int call_failed(struct control_client *client, enum phase phase, const char *call)
{
	return failure_set(
		&client->probe.failure, FAILURE_ERRNO, phase, errno, call, "%s", strerror(errno));
}

static int broke_protocol(struct control_client *client, const char *call, const char *how)
{
	return failure_set(
		&client->probe.failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO, call, "%s", how);
}

int control_client_open(
	struct control_client *client, const struct sockaddr *server, const struct secret *secret)
{
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;

	*client = (struct control_client){0};
	events = channel_open(&client->probe.failure);
	if (!events)
		return -1;
	if (rdma_create_id(events, &id, NULL, RDMA_PS_TCP)) {
		call_failed(client, PHASE_OPEN, "rdma_create_id");
		rdma_destroy_event_channel(events);
		return -1;
	}
	probe_init(&client->probe, events, id, server, secret, SECRET_CLIENT);
	client->open = true;
	return 0;
}

int control_client_resolve(struct control_client *client, const struct sockaddr *source,
	const struct sockaddr *server, deadline_t deadline)
{
	struct probe *probe = &client->probe;

	/* They are not written to. */
	if (rdma_resolve_addr(probe->id, (struct sockaddr *)source, (struct sockaddr *)server,
		    deadline_left(deadline)))
		return call_failed(client, PHASE_ADDRESS, "rdma_resolve_addr");
	if (probe_await_event(probe, RDMA_CM_EVENT_ADDR_RESOLVED, PHASE_ADDRESS, deadline, NULL))
		return -1;
	if (rdma_resolve_route(probe->id, deadline_left(deadline)))
		return call_failed(client, PHASE_ROUTE, "rdma_resolve_route");
	return probe_await_event(probe, RDMA_CM_EVENT_ROUTE_RESOLVED, PHASE_ROUTE, deadline, NULL);
}

int control_client_connect(struct control_client *client, const struct control_request *request,
	deadline_t deadline, struct event_copy *reply)
{
	const struct hello ours = {
		.version = HELLO_VERSION,
		.settings = (uint8_t)request->kind,
		.size = request->kind == HELLO_MEASUREMENT
				? hello_shape(request->queue_pairs, request->depth)
				: 0,
		.timeout = request->timeout,
	};
	struct ibv_device_attr device = {0};
	struct rdma_conn_param parameters = {
		.retry_count = PROBE_RETRIES,
		.rnr_retry_count = TRANSPORT_RNR_RETRIES,
	};
	struct probe *probe = &client->probe;

	if (probe_prepare(probe, request->queue_pairs, request->depth))
		return -1;
	ibv_query_device(probe->id->verbs, &device);
	parameters.initiator_depth = probe_reads(request->reads, device.max_qp_init_rd_atom);
	parameters.responder_resources = probe_reads(request->reads, device.max_qp_rd_atom);
	parameters.private_data =
		handshake_hello(&probe->handshake, &ours, &parameters.private_data_len);
	if (rdma_connect(probe->id, &parameters))
		return call_failed(client, PHASE_CONNECT, "rdma_connect");
	if (probe_await_event(probe, RDMA_CM_EVENT_ESTABLISHED, PHASE_CONNECT, deadline, reply))
		return -1;
	probe->connected = true;
	return 0;
}

/* Waits for an answer; a server has no other signs of life. */
static int hear(struct control_client *client, struct command *reply, deadline_t deadline)
{
	int received = probe_receive(&client->probe, reply, deadline);

	return received > 0 ? broke_protocol(client, "answer", "it sent a message of no bytes")
			    : received;
}

/* With a secret: proves that we hold it, and wants the same of the server. */
static int prove(struct control_client *client, deadline_t deadline)
{
	struct probe *probe = &client->probe;
	struct command command = {.type = COMMAND_PROOF, .number = ++client->commands}, reply;
	uint8_t text[SECRET_PROOF_SIZE];

	probe_prove(probe, &command, text);
	if (probe_send(probe, &command, deadline) || hear(client, &reply, deadline))
		return -1;
	if (!reply.reply || reply.number != command.number || reply.status != COMMAND_DONE ||
		!probe_is_proved(probe, &reply))
		return secret_refused(&probe->failure);
	return probe_open(probe);
}

int control_client_admission(struct control_client *client, const struct control_request *request,
	const struct event_copy *reply, deadline_t deadline)
{
	const struct rdma_conn_param *said = &reply->event.param.conn;
	struct probe *probe = &client->probe;
	const struct secret *secret = probe->handshake.secret;
	struct hello theirs;
	int error = hello_decode(&theirs, said->private_data, said->private_data_len);

	/* What makes no sense and what does not hold our secret is the same to us. */
	if (secret && (error || !handshake_fits(secret, &theirs, said->private_data_len)))
		return secret_refused(&probe->failure);
	if (error)
		return failure_set(&probe->failure, FAILURE_NO_HELLO, PHASE_CONNECT, 0,
			"introduction", "it sent %u bytes of private data", said->private_data_len);
	if (theirs.version != HELLO_VERSION || theirs.settings != request->kind ||
		!handshake_fits(secret, &theirs, said->private_data_len))
		return failure_set(&probe->failure, FAILURE_PROTOCOL, PHASE_CONNECT, -EPROTO,
			"introduction", "it accepted something else than what it was asked for");
	handshake_receive_hello(&probe->handshake, said->private_data);
	return secret ? prove(client, deadline) : 0;
}

int control_client_command(struct control_client *client, struct command *command,
	struct command *reply, deadline_t deadline)
{
	command->number = ++client->commands;
	if (probe_send(&client->probe, command, deadline) || hear(client, reply, deadline))
		return -1;
	if (!reply->reply || reply->type != command->type || reply->number != command->number)
		return broke_protocol(client, "order", "it answered something that was not asked");
	if (reply->status == COMMAND_FAILED)
		return failure_set(&client->probe.failure, FAILURE_REFUSED, PHASE_MEMORY,
			REFUSAL_RESOURCES, "order", "");
	if (reply->status != COMMAND_DONE)
		return broke_protocol(client, "order", "it did not carry out an order");
	return 0;
}

int control_client_region(struct control_client *client, deadline_t deadline)
{
	struct command region = {.type = COMMAND_REGION}, reply;

	probe_tell_region(&client->probe, &region);
	if (control_client_command(client, &region, &reply, deadline))
		return -1;
	probe_meet(&client->probe, &reply);
	return 0;
}

int control_client_facts(struct control_client *client, struct facts *facts, deadline_t deadline)
{
	struct command command = {.type = COMMAND_FACTS}, reply;

	if (control_client_command(client, &command, &reply, deadline))
		return -1;
	return facts_decode(facts, reply.text, reply.text_size)
		       ? broke_protocol(
				 client, "facts_decode", "what it says of itself makes no sense")
		       : 0;
}

void control_client_count_here(const struct control_client *client, struct counters *counters)
{
	const struct rdma_cm_id *id = client->probe.id;

	if (counters_read("", ibv_get_device_name(id->verbs->device), id->port_num, counters))
		*counters = (struct counters){0};
}

int control_client_count_there(
	struct control_client *client, struct counters *counters, deadline_t deadline)
{
	struct command command = {.type = COMMAND_COUNTERS}, reply;

	*counters = (struct counters){0};
	if (control_client_command(client, &command, &reply, deadline))
		return -1;
	return counters_decode(reply.text, reply.text_size, counters)
		       ? broke_protocol(client, "counters_decode", "its counters make no sense")
		       : 0;
}

void control_client_close(struct control_client *client)
{
	if (client->open)
		probe_close(&client->probe);
	client->open = false;
}
