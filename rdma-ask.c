#include <errno.h>
#include <string.h>

#include "rdma-ask.h"

/* A call of rdmacm failed with errno in this phase. */
static int call_failed(struct ask *ask, enum phase phase, const char *call)
{
	return failure_set(
		&ask->probe.failure, FAILURE_ERRNO, phase, errno, call, "%s", strerror(errno));
}

static int broke_protocol(struct ask *ask, const char *call, const char *how)
{
	return failure_set(
		&ask->probe.failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO, call, "%s", how);
}

int ask_open(struct ask *ask, const struct sockaddr *server, const struct secret *secret)
{
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;

	*ask = (struct ask){0};
	events = channel_open(&ask->probe.failure);
	if (!events)
		return -1;
	if (rdma_create_id(events, &id, NULL, RDMA_PS_TCP)) {
		call_failed(ask, PHASE_OPEN, "rdma_create_id");
		rdma_destroy_event_channel(events);
		return -1;
	}
	probe_init(&ask->probe, events, id, server, secret, SECRET_CLIENT);
	ask->open = true;
	return 0;
}

int ask_resolve(struct ask *ask, const struct sockaddr *source, const struct sockaddr *server,
	deadline_t deadline)
{
	struct probe *probe = &ask->probe;

	/* They are not written to. */
	if (rdma_resolve_addr(probe->id, (struct sockaddr *)source, (struct sockaddr *)server,
		    deadline_left(deadline)))
		return call_failed(ask, PHASE_ADDRESS, "rdma_resolve_addr");
	if (probe_await_event(probe, RDMA_CM_EVENT_ADDR_RESOLVED, PHASE_ADDRESS, deadline, NULL))
		return -1;
	if (rdma_resolve_route(probe->id, deadline_left(deadline)))
		return call_failed(ask, PHASE_ROUTE, "rdma_resolve_route");
	return probe_await_event(probe, RDMA_CM_EVENT_ROUTE_RESOLVED, PHASE_ROUTE, deadline, NULL);
}

int ask_connect(struct ask *ask, const struct ask_wish *wish, deadline_t deadline,
	struct event_copy *answer)
{
	const struct introduction ours = {
		.version = INTRODUCTION_VERSION,
		.session = (uint8_t)wish->kind,
		.size = wish->kind == SESSION_MEASUREMENT
				? introduction_shape(wish->queue_pairs, wish->depth)
				: 0,
		.timeout = wish->timeout,
	};
	struct ibv_device_attr device = {0};
	struct rdma_conn_param parameters = {
		.retry_count = PROBE_RETRIES,
		.rnr_retry_count = TRANSPORT_RNR_RETRIES,
	};
	struct probe *probe = &ask->probe;

	if (probe_prepare(probe, wish->queue_pairs, wish->depth))
		return -1;
	ibv_query_device(probe->id->verbs, &device);
	parameters.initiator_depth = probe_reads(wish->reads, device.max_qp_init_rd_atom);
	parameters.responder_resources = probe_reads(wish->reads, device.max_qp_rd_atom);
	parameters.private_data =
		handshake_introduce(&probe->handshake, &ours, &parameters.private_data_len);
	if (rdma_connect(probe->id, &parameters))
		return call_failed(ask, PHASE_CONNECT, "rdma_connect");
	if (probe_await_event(probe, RDMA_CM_EVENT_ESTABLISHED, PHASE_CONNECT, deadline, answer))
		return -1;
	probe->connected = true;
	return 0;
}

/* Waits for an answer; a server has no other signs of life. */
static int hear(struct ask *ask, struct order *answer, deadline_t deadline)
{
	int received = probe_receive(&ask->probe, answer, deadline);

	return received > 0 ? broke_protocol(ask, "answer", "it sent a message of no bytes")
			    : received;
}

/* With a secret: proves that we hold it, and wants the same of the server. */
static int prove(struct ask *ask, deadline_t deadline)
{
	struct probe *probe = &ask->probe;
	struct order order = {.type = ORDER_PROOF, .number = ++ask->orders}, answer;
	uint8_t text[SECRET_PROOF_SIZE];

	probe_prove(probe, &order, text);
	if (probe_send(probe, &order, deadline) || hear(ask, &answer, deadline))
		return -1;
	if (!answer.answer || answer.number != order.number || answer.status != ORDER_DONE ||
		!probe_is_proved(probe, &answer))
		return secret_refused(&probe->failure);
	return probe_open(probe);
}

int ask_admission(struct ask *ask, const struct ask_wish *wish, const struct event_copy *answer,
	deadline_t deadline)
{
	const struct rdma_conn_param *said = &answer->event.param.conn;
	struct probe *probe = &ask->probe;
	const struct secret *secret = probe->handshake.secret;
	struct introduction theirs;
	int error = introduction_decode(&theirs, said->private_data, said->private_data_len);

	/* What makes no sense and what does not hold our secret is the same to us. */
	if (secret && (error || !handshake_fits(secret, &theirs, said->private_data_len)))
		return secret_refused(&probe->failure);
	if (error)
		return failure_set(&probe->failure, FAILURE_STRANGER, PHASE_CONNECT, 0,
			"introduction", "it sent %u bytes of private data", said->private_data_len);
	if (theirs.version != INTRODUCTION_VERSION || theirs.session != wish->kind ||
		!handshake_fits(secret, &theirs, said->private_data_len))
		return failure_set(&probe->failure, FAILURE_PROTOCOL, PHASE_CONNECT, -EPROTO,
			"introduction", "it accepted something else than what it was asked for");
	handshake_hear(&probe->handshake, said->private_data);
	return secret ? prove(ask, deadline) : 0;
}

int ask_order(struct ask *ask, struct order *order, struct order *answer, deadline_t deadline)
{
	order->number = ++ask->orders;
	if (probe_send(&ask->probe, order, deadline) || hear(ask, answer, deadline))
		return -1;
	if (!answer->answer || answer->type != order->type || answer->number != order->number)
		return broke_protocol(ask, "order", "it answered something that was not asked");
	if (answer->status == ORDER_FAILED)
		return failure_set(&ask->probe.failure, FAILURE_REFUSED, PHASE_MEMORY,
			REFUSAL_RESOURCES, "order", "");
	if (answer->status != ORDER_DONE &&
		(answer->status != ORDER_WRONG || answer->offset >= order->size))
		return broke_protocol(ask, "order", "it did not carry out an order");
	return 0;
}

int ask_region(struct ask *ask, deadline_t deadline)
{
	struct order region = {.type = ORDER_REGION}, answer;

	probe_tell_region(&ask->probe, &region);
	if (ask_order(ask, &region, &answer, deadline))
		return -1;
	probe_meet(&ask->probe, &answer);
	return 0;
}

int ask_facts(struct ask *ask, struct facts *facts, deadline_t deadline)
{
	struct order order = {.type = ORDER_FACTS}, answer;

	if (ask_order(ask, &order, &answer, deadline))
		return -1;
	return facts_decode(facts, answer.text, answer.text_size)
		       ? broke_protocol(
				 ask, "facts_decode", "what it says of itself makes no sense")
		       : 0;
}

void ask_count_here(const struct ask *ask, struct counters *counters)
{
	const struct rdma_cm_id *id = ask->probe.id;

	if (counters_read("", ibv_get_device_name(id->verbs->device), id->port_num, counters))
		*counters = (struct counters){0};
}

int ask_count_there(struct ask *ask, struct counters *counters, deadline_t deadline)
{
	struct order order = {.type = ORDER_COUNTERS}, answer;

	*counters = (struct counters){0};
	if (ask_order(ask, &order, &answer, deadline))
		return -1;
	return counters_decode(answer.text, answer.text_size, counters)
		       ? broke_protocol(ask, "counters_decode", "its counters make no sense")
		       : 0;
}

void ask_close(struct ask *ask)
{
	if (ask->open)
		probe_close(&ask->probe);
	ask->open = false;
}
