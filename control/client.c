/* The client's half of a control connection: see control/client.h. */
#include <errno.h>
#include <string.h>

#include "control/client.h"

static int broke_protocol(struct control_client *client, const char *call, const char *how)
{
	return failure_set(
		&client->probe.failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO, call, "%s", how);
}

int control_client_prepare(struct control_client *client, const struct control_request *request,
	const struct secret *secret, int stop_fd, struct rdma_event_channel *channel,
	struct rdma_cm_id *id, struct rdma_conn_param *parameters)
{
	const struct hello ours = {
		.version = HELLO_VERSION,
		.kind = (uint8_t)request->kind,
		.size = request->kind == HELLO_MEASUREMENT
				? hello_shape(request->queue_pairs, request->depth)
				: 0,
		.timeout = request->timeout,
	};
	struct ibv_device_attr device = {0};
	struct probe *probe = &client->probe;

	*client = (struct control_client){.open = true};
	probe_init(probe, channel, id, rdma_get_peer_addr(id), secret, SECRET_CLIENT);
	probe->stop_fd = stop_fd;
	if (probe_prepare(probe, request->queue_pairs, request->depth))
		return -1;
	ibv_query_device(id->verbs, &device);
	*parameters = (struct rdma_conn_param){
		.initiator_depth = probe_reads(request->reads, device.max_qp_init_rd_atom),
		.responder_resources = probe_reads(request->reads, device.max_qp_rd_atom),
		.retry_count = PROBE_RETRIES,
		.rnr_retry_count = TRANSPORT_RNR_RETRIES,
	};
	parameters->private_data =
		handshake_hello(&probe->handshake, &ours, &parameters->private_data_len);
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

	probe->connected = true;
	/* What makes no sense and what does not hold our secret is the same to us. */
	if (secret && (error || !handshake_fits(secret, &theirs, said->private_data_len)))
		return secret_refused(&probe->failure);
	if (error)
		return failure_set(&probe->failure, FAILURE_NO_HELLO, PHASE_CONNECT, 0,
			"introduction", "it sent %u bytes of private data", said->private_data_len);
	if (theirs.version != HELLO_VERSION || theirs.kind != request->kind ||
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
