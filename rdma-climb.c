/* The rungs of a diagnosis from the connection up to what both ends say of themselves. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-climb.h"

/* How long what is asked for may take, in milliseconds. */
#define RESOLVE_MS 3000
#define CONNECT_MS 8000 /* the kernel sends a lost request again after 4.6 s */
#define LEAST_MS   2000 /* for what is begun late: a slow host is not a broken one */

/* A port where nobody can listen with RDMA: what answers there is the connection manager. */
#define NO_PORT 1

/* READs under way at a time that we ask for and offer. */
#define READS 4

void climb_count_here(const struct diagnosis *diagnosis, struct counters *counters)
{
	const struct rdma_cm_id *id = diagnosis->probe.id;

	if (counters_read("", ibv_get_device_name(id->verbs->device), id->port_num, counters))
		*counters = (struct counters){0};
}

deadline_t climb_until(const struct diagnosis *diagnosis, int64_t milliseconds, int64_t least)
{
	deadline_t usual = deadline_in(milliseconds), soon = deadline_in(least + LEAST_MS);
	deadline_t end = diagnosis->end > soon ? diagnosis->end : soon;

	return usual < end ? usual : end;
}

int climb_probe_broke(struct diagnosis *diagnosis, enum rung rung)
{
	return ladder_fail(&diagnosis->ladder, rung, &diagnosis->probe.failure);
}

static int open_probe(struct diagnosis *diagnosis, const struct sockaddr *address)
{
	struct failure failure = {0};
	struct rdma_event_channel *events = channel_open(&failure);
	struct rdma_cm_id *id;
	int error;

	if (!events)
		return ladder_fail(&diagnosis->ladder, RUNG_CONNECTION, &failure);
	if (rdma_create_id(events, &id, NULL, RDMA_PS_TCP)) {
		error = errno;
		rdma_destroy_event_channel(events);
		return climb_broken(diagnosis, RUNG_CONNECTION, FAILURE_ERRNO, PHASE_OPEN, error,
			"%s", strerror(error));
	}
	probe_init(&diagnosis->probe, events, id, address, diagnosis->secret, SECRET_CLIENT);
	diagnosis->open = true;
	return 0;
}

/* A call of rdmacm failed with errno in this phase. */
static int call_failed(struct diagnosis *diagnosis, enum phase phase, const char *call)
{
	failure_set(&diagnosis->probe.failure, FAILURE_ERRNO, phase, errno, call, "%s",
		strerror(errno));
	return -1;
}

static int resolve(struct diagnosis *diagnosis, struct sockaddr *address)
{
	const struct sockaddr *source = reach_source(&diagnosis->route);
	struct probe *probe = &diagnosis->probe;

	if (rdma_resolve_addr(probe->id, (struct sockaddr *)source, address, RESOLVE_MS))
		return call_failed(diagnosis, PHASE_ADDRESS, "rdma_resolve_addr");
	if (probe_await_event(probe, RDMA_CM_EVENT_ADDR_RESOLVED, PHASE_ADDRESS,
		    climb_until(diagnosis, RESOLVE_MS, 0), NULL))
		return -1;
	if (rdma_resolve_route(probe->id, RESOLVE_MS))
		return call_failed(diagnosis, PHASE_ROUTE, "rdma_resolve_route");
	return probe_await_event(probe, RDMA_CM_EVENT_ROUTE_RESOLVED, PHASE_ROUTE,
		climb_until(diagnosis, RESOLVE_MS, 0), NULL);
}

static int connect_probe(struct diagnosis *diagnosis, struct event_copy *answer)
{
	const struct introduction ours = {
		.version = INTRODUCTION_VERSION,
		.session = SESSION_DIAGNOSIS,
		.timeout = CLIMB_ORDER_MS,
	};
	struct rdma_conn_param parameters = {
		.initiator_depth = READS,
		.responder_resources = READS,
		.retry_count = PROBE_RETRIES,
		.rnr_retry_count = TRANSPORT_RNR_RETRIES,
	};
	struct probe *probe = &diagnosis->probe;

	if (probe_prepare(probe))
		return -1;
	parameters.private_data =
		handshake_introduce(&probe->handshake, &ours, &parameters.private_data_len);
	if (rdma_connect(probe->id, &parameters))
		return call_failed(diagnosis, PHASE_CONNECT, "rdma_connect");
	if (probe_await_event(probe, RDMA_CM_EVENT_ESTABLISHED, PHASE_CONNECT,
		    climb_until(diagnosis, CONNECT_MS, 0), answer))
		return -1;
	probe->connected = true;
	return 0;
}

/* Nobody can listen there: a refusal shows that RDMA answers. */
static int answered_without_port(struct diagnosis *diagnosis, int milliseconds)
{
	const struct failure *failure = &diagnosis->probe.failure;

	/* iWARP has no reasons, but the errno of TCP. */
	if (failure->kind != FAILURE_REJECTED && failure->kind != FAILURE_REFUSED &&
		!(failure->kind == FAILURE_ERRNO && failure->code == ECONNREFUSED))
		return climb_probe_broke(diagnosis, RUNG_CONNECTION);
	ladder_ok(&diagnosis->ladder, RUNG_CONNECTION,
		"RDMA answers there (in %d ms); give the PORT of an rdma-server to go on",
		milliseconds);
	return -1;
}

/* The server does not hold our secret, or what it says makes no sense, which is the same to us. */
static int turned_away(struct diagnosis *diagnosis)
{
	struct failure failure = {0};

	secret_refused(&failure);
	return ladder_fail(&diagnosis->ladder, RUNG_CONNECTION, &failure);
}

/* With a secret: proves that we hold it, and wants the same of the server. */
static int prove(struct diagnosis *diagnosis)
{
	struct probe *probe = &diagnosis->probe;
	struct order order = {.type = ORDER_PROOF, .number = ++diagnosis->orders}, answer;
	deadline_t deadline = climb_until(diagnosis, CLIMB_ORDER_MS, 0);
	uint8_t text[SECRET_PROOF_SIZE];

	probe_prove(probe, &order, text);
	if (probe_send(probe, &order, deadline) || probe_receive(probe, &answer, deadline))
		return climb_probe_broke(diagnosis, RUNG_CONNECTION);
	if (!answer.answer || answer.number != order.number || answer.status != ORDER_DONE ||
		!probe_is_proved(probe, &answer))
		return turned_away(diagnosis);
	return probe_open(probe) ? climb_probe_broke(diagnosis, RUNG_CONNECTION) : 0;
}

/* Judges what the server said when it accepted. */
static int judge_answer(struct diagnosis *diagnosis, const struct rdma_conn_param *said)
{
	struct probe *probe = &diagnosis->probe;
	struct introduction theirs;
	int error = introduction_decode(&theirs, said->private_data, said->private_data_len);

	if (diagnosis->secret &&
		(error || !handshake_fits(diagnosis->secret, &theirs, said->private_data_len)))
		return turned_away(diagnosis);
	if (error)
		return climb_broken(diagnosis, RUNG_CONNECTION, FAILURE_STRANGER, PHASE_CONNECT, 0,
			"it sent %u bytes of private data", said->private_data_len);
	if (theirs.version != INTRODUCTION_VERSION || theirs.session != SESSION_DIAGNOSIS ||
		!handshake_fits(diagnosis->secret, &theirs, said->private_data_len))
		return climb_broken(diagnosis, RUNG_CONNECTION, FAILURE_PROTOCOL, PHASE_CONNECT,
			-EPROTO, "it accepted something else than a diagnosis");
	handshake_hear(&probe->handshake, said->private_data);
	return diagnosis->secret ? prove(diagnosis) : 0;
}

int climb_connection(struct diagnosis *diagnosis)
{
	struct event_copy answer;
	struct sockaddr_storage address = diagnosis->route.address;
	uint16_t port = diagnosis->options->port;
	deadline_t start = deadline_now(), resolved;

	address_set_port(&address, port ? port : NO_PORT);
	if (open_probe(diagnosis, (struct sockaddr *)&address))
		return -1;
	if (resolve(diagnosis, (struct sockaddr *)&address))
		return climb_probe_broke(diagnosis, RUNG_CONNECTION);
	resolved = deadline_now();
	if (connect_probe(diagnosis, &answer))
		return port ? climb_probe_broke(diagnosis, RUNG_CONNECTION)
			    : answered_without_port(diagnosis, (int)(deadline_now() - resolved));
	if (judge_answer(diagnosis, &answer.event.param.conn))
		return -1;
	ladder_ok(&diagnosis->ladder, RUNG_CONNECTION,
		"address and route in %d ms, connected in %d ms%s", (int)(resolved - start),
		(int)(deadline_now() - resolved),
		diagnosis->secret ? ", both hold the secret" : "");
	return 0;
}

int climb_order(struct diagnosis *diagnosis, struct order *order, struct order *answer)
{
	struct probe *probe = &diagnosis->probe;
	deadline_t deadline =
		climb_until(diagnosis, CLIMB_ORDER_MS + order->milliseconds, order->milliseconds);

	order->number = ++diagnosis->orders;
	if (probe_send(probe, order, deadline) || probe_receive(probe, answer, deadline))
		return -1;
	if (!answer->answer || answer->type != order->type || answer->number != order->number)
		return failure_set(&probe->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO,
			"order", "it answered something that was not asked");
	if (answer->status != ORDER_DONE &&
		(answer->status != ORDER_WRONG || answer->offset >= order->size))
		return failure_set(&probe->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO,
			"order", "it did not carry out an order of the diagnosis");
	return 0;
}

int climb_message(struct diagnosis *diagnosis)
{
	struct order region = {.type = ORDER_REGION}, answer;
	deadline_t start = deadline_now();

	probe_tell_region(&diagnosis->probe, &region);
	if (climb_order(diagnosis, &region, &answer))
		return climb_probe_broke(diagnosis, RUNG_MESSAGE);
	probe_meet(&diagnosis->probe, &answer);
	ladder_ok(&diagnosis->ladder, RUNG_MESSAGE, "there and back in %d ms",
		(int)(deadline_now() - start));
	return 0;
}

int climb_count_there(struct diagnosis *diagnosis, struct counters *counters)
{
	struct order ask = {.type = ORDER_COUNTERS}, answer;

	*counters = (struct counters){0};
	if (climb_order(diagnosis, &ask, &answer))
		return -1;
	if (counters_decode(answer.text, answer.text_size, counters))
		return failure_set(&diagnosis->probe.failure, FAILURE_PROTOCOL, PHASE_EXCHANGE,
			-EPROTO, "counters_decode", "its counters make no sense");
	return 0;
}

bool climb_differs(const struct diagnosis *diagnosis, const char *name)
{
	const char *ours = facts_value(&diagnosis->ours, name);
	const char *theirs = facts_value(&diagnosis->theirs, name);

	return ours && theirs && strcmp(ours, theirs) != 0;
}

/* Writes "1400 here, 4200 there" if this fact differs, else "". */
static void say_difference(const struct diagnosis *diagnosis, const char *fact, char text[256])
{
	*text = '\0';
	if (climb_differs(diagnosis, fact))
		snprintf(text, 256, "%s here, %s there", facts_value(&diagnosis->ours, fact),
			facts_value(&diagnosis->theirs, fact));
}

/*
 * On Ethernet a device takes its MTU from the interface, which is then the cause of both differences.
 * Returns false if there is none.
 */
static bool mtus_differ(struct diagnosis *diagnosis)
{
	char interfaces[256], devices[256];

	say_difference(diagnosis, "interface mtu", interfaces);
	say_difference(diagnosis, "rdma mtu", devices);
	if (*interfaces)
		climb_broken(diagnosis, RUNG_ENDS, FAILURE_IMPAIRED, PHASE_CONNECT, IMPAIRED_MTU,
			"%s%s%s", interfaces, *devices ? "; of RDMA " : "", devices);
	else if (*devices)
		climb_broken(diagnosis, RUNG_ENDS, FAILURE_IMPAIRED, PHASE_CONNECT,
			IMPAIRED_RDMA_MTU, "%s", devices);
	return *interfaces || *devices;
}

static void judge_ends(struct diagnosis *diagnosis)
{
	const char *clients = facts_value(&diagnosis->theirs, "clients");

	if (mtus_differ(diagnosis))
		return;
	if (clients && strstr(clients, ", full"))
		climb_broken(diagnosis, RUNG_ENDS, FAILURE_IMPAIRED, PHASE_CONNECT, IMPAIRED_FULL,
			"it has %s", clients);
	else
		ladder_ok(&diagnosis->ladder, RUNG_ENDS, "%s",
			climb_differs(diagnosis, "version")
				? "they fit, though their versions differ"
				: "they fit each other");
}

int climb_ends(struct diagnosis *diagnosis)
{
	struct order ask = {.type = ORDER_FACTS}, answer;

	if (climb_order(diagnosis, &ask, &answer))
		return climb_probe_broke(diagnosis, RUNG_ENDS);
	if (facts_decode(&diagnosis->theirs, answer.text, answer.text_size))
		return climb_broken(diagnosis, RUNG_ENDS, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO,
			"what it says of itself makes no sense");
	probe_facts(&diagnosis->probe, &diagnosis->ours);
	climb_count_here(diagnosis, &diagnosis->our_counters);
	if (climb_count_there(diagnosis, &diagnosis->their_counters))
		return climb_probe_broke(diagnosis, RUNG_ENDS);
	judge_ends(diagnosis);
	return 0;
}
