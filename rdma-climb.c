/* The upper rungs of a diagnosis, which need RDMA: from the connection to the bandwidth. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/counters.h"
#include "lib/pattern.h"
#include "rdma-climb.h"

/* How long what is asked for may take, in milliseconds; a lost packet costs half a second. */
#define RESOLVE_MS   3000
#define CONNECT_MS   8000 /* the kernel sends a lost request again after 4.6 s */
#define ORDER_MS     6000
#define BANDWIDTH_MS 2000
#define LEAST_MS     2000 /* for what is begun late: a slow host is not a broken one */

/* Bytes of one WRITE where the bandwidth is measured. */
#define BANDWIDTH_SIZE 262144

/* A port where nobody can listen with RDMA: what answers there is the connection manager. */
#define NO_PORT 1

/* READs under way at a time that we ask for and offer. */
#define READS 4

/* What the healthy lose: of so many packets one may be sent again. */
#define LOSS_DIVISOR 1000

static void read_counters(const struct diagnosis *diagnosis, struct counters *counters)
{
	const struct rdma_cm_id *id = diagnosis->probe.id;

	if (counters_read("", ibv_get_device_name(id->verbs->device), id->port_num, counters))
		*counters = (struct counters){0};
}

/* When what may take so long, and takes `least` where all is well, has to be over. */
static deadline_t until(const struct diagnosis *diagnosis, int64_t milliseconds, int64_t least)
{
	deadline_t usual = deadline_in(milliseconds), soon = deadline_in(least + LEAST_MS);
	deadline_t end = diagnosis->end > soon ? diagnosis->end : soon;

	return usual < end ? usual : end;
}

/* The probe has met a failure, which breaks this rung. */
static int probe_broke(struct diagnosis *diagnosis, enum rung rung)
{
	return ladder_fail(&diagnosis->ladder, rung, &diagnosis->probe.failure);
}

/* Either end gave up, though packets came between the gaps that were counted: so some are lost. */
static bool ended_by_loss(const struct failure *failure, const struct counters *counted)
{
	return counters_total(counted, COUNTER_OUT_OF_ORDER) > 0 &&
	       (failure->kind == FAILURE_DEADLINE || failure->kind == FAILURE_GONE ||
		       (failure->kind == FAILURE_COMPLETION &&
			       failure->code == IBV_WC_RETRY_EXC_ERR));
}

/* The same while data was moved: what was done, and what our device counted, say more. */
static int moving_broke(struct diagnosis *diagnosis, enum rung rung, const char *doing)
{
	struct failure failure = diagnosis->probe.failure;
	struct counters counters;
	char counted[120];

	read_counters(diagnosis, &counters);
	counters_difference(&diagnosis->our_counters, &counters, &counters);
	if (ended_by_loss(&failure, &counters)) {
		failure.kind = FAILURE_IMPAIRED;
		failure.code = IMPAIRED_LOSS;
	}
	if (counters_text(&counters, counted, sizeof(counted)) == 0)
		snprintf(counted, sizeof(counted), "no errors");
	snprintf(failure.evidence, sizeof(failure.evidence), "%.40s%s%.120s; counted here: %s",
		doing, *diagnosis->probe.failure.evidence ? ": " : "",
		diagnosis->probe.failure.evidence, counted);
	return ladder_fail(&diagnosis->ladder, rung, &failure);
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
	probe_init(&diagnosis->probe, events, id, address);
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
	struct probe *probe = &diagnosis->probe;

	if (rdma_resolve_addr(probe->id, NULL, address, RESOLVE_MS))
		return call_failed(diagnosis, PHASE_ADDRESS, "rdma_resolve_addr");
	if (probe_await_event(probe, RDMA_CM_EVENT_ADDR_RESOLVED, PHASE_ADDRESS,
		    deadline_in(RESOLVE_MS), NULL))
		return -1;
	if (rdma_resolve_route(probe->id, RESOLVE_MS))
		return call_failed(diagnosis, PHASE_ROUTE, "rdma_resolve_route");
	return probe_await_event(
		probe, RDMA_CM_EVENT_ROUTE_RESOLVED, PHASE_ROUTE, deadline_in(RESOLVE_MS), NULL);
}

static int connect_probe(struct diagnosis *diagnosis, struct event_copy *answer)
{
	const struct introduction ours = {
		.version = INTRODUCTION_VERSION,
		.session = SESSION_DIAGNOSIS,
		.timeout = ORDER_MS,
	};
	uint8_t introduction[INTRODUCTION_SIZE];
	struct rdma_conn_param parameters = {
		.private_data = introduction,
		.private_data_len = INTRODUCTION_SIZE,
		.initiator_depth = READS,
		.responder_resources = READS,
		.retry_count = TRANSPORT_RETRIES,
		.rnr_retry_count = TRANSPORT_RNR_RETRIES,
	};
	struct probe *probe = &diagnosis->probe;

	if (probe_prepare(probe))
		return -1;
	introduction_encode(&ours, introduction);
	if (rdma_connect(probe->id, &parameters))
		return call_failed(diagnosis, PHASE_CONNECT, "rdma_connect");
	if (probe_await_event(probe, RDMA_CM_EVENT_ESTABLISHED, PHASE_CONNECT,
		    until(diagnosis, CONNECT_MS, 0), answer))
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
		return probe_broke(diagnosis, RUNG_CONNECTION);
	ladder_ok(&diagnosis->ladder, RUNG_CONNECTION,
		"RDMA answers there (in %d ms); give the PORT of an rdma-server to go on",
		milliseconds);
	return -1;
}

int climb_connection(struct diagnosis *diagnosis)
{
	struct introduction theirs;
	struct event_copy answer;
	const struct rdma_conn_param *said = &answer.event.param.conn;
	struct sockaddr_storage address = diagnosis->route.address;
	uint16_t port = diagnosis->options->port;
	deadline_t start = deadline_now(), resolved;

	address_set_port(&address, port ? port : NO_PORT);
	if (open_probe(diagnosis, (struct sockaddr *)&address))
		return -1;
	if (resolve(diagnosis, (struct sockaddr *)&address))
		return probe_broke(diagnosis, RUNG_CONNECTION);
	resolved = deadline_now();
	if (connect_probe(diagnosis, &answer))
		return port ? probe_broke(diagnosis, RUNG_CONNECTION)
			    : answered_without_port(diagnosis, (int)(deadline_now() - resolved));
	if (introduction_decode(&theirs, said->private_data, said->private_data_len))
		return climb_broken(diagnosis, RUNG_CONNECTION, FAILURE_STRANGER, PHASE_CONNECT, 0,
			"it sent %u bytes of private data", said->private_data_len);
	if (theirs.version != INTRODUCTION_VERSION || theirs.session != SESSION_DIAGNOSIS)
		return climb_broken(diagnosis, RUNG_CONNECTION, FAILURE_PROTOCOL, PHASE_CONNECT,
			-EPROTO, "it accepted something else than a diagnosis");
	ladder_ok(&diagnosis->ladder, RUNG_CONNECTION,
		"address and route in %d ms, connected in %d ms", (int)(resolved - start),
		(int)(deadline_now() - resolved));
	return 0;
}

/* Gives an order and waits for its answer. Returns 0, or -1 with the probe's failure recorded. */
static int order(struct diagnosis *diagnosis, struct order *order, struct order *answer)
{
	struct probe *probe = &diagnosis->probe;
	deadline_t deadline = until(diagnosis, ORDER_MS + order->milliseconds, order->milliseconds);

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
	if (order(diagnosis, &region, &answer))
		return probe_broke(diagnosis, RUNG_MESSAGE);
	probe_meet(&diagnosis->probe, &answer);
	ladder_ok(&diagnosis->ladder, RUNG_MESSAGE, "there and back in %d ms",
		(int)(deadline_now() - start));
	return 0;
}

/* The server's counters; none if it cannot read them. */
static int ask_counters(struct diagnosis *diagnosis, struct counters *counters)
{
	struct order ask = {.type = ORDER_COUNTERS}, answer;

	*counters = (struct counters){0};
	if (order(diagnosis, &ask, &answer))
		return -1;
	if (counters_decode(answer.text, answer.text_size, counters))
		return failure_set(&diagnosis->probe.failure, FAILURE_PROTOCOL, PHASE_EXCHANGE,
			-EPROTO, "counters_decode", "its counters make no sense");
	return 0;
}

/* True if both ends tell of this, and not the same. */
static bool differs(const struct diagnosis *diagnosis, const char *name)
{
	const char *ours = facts_value(&diagnosis->ours, name);
	const char *theirs = facts_value(&diagnosis->theirs, name);

	return ours && theirs && strcmp(ours, theirs) != 0;
}

static void judge_ends(struct diagnosis *diagnosis)
{
	static const struct {
		const char *fact;
		enum impairment impairment;
	} cases[] = {{"interface mtu", IMPAIRED_MTU}, {"rdma mtu", IMPAIRED_RDMA_MTU}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (differs(diagnosis, cases[i].fact)) {
			climb_broken(diagnosis, RUNG_ENDS, FAILURE_IMPAIRED, PHASE_CONNECT,
				(int)cases[i].impairment, "%s here, %s there",
				facts_value(&diagnosis->ours, cases[i].fact),
				facts_value(&diagnosis->theirs, cases[i].fact));
			return;
		}
	ladder_ok(&diagnosis->ladder, RUNG_ENDS, "%s",
		differs(diagnosis, "version") ? "they fit, though their versions differ"
					      : "they fit each other");
}

int climb_ends(struct diagnosis *diagnosis)
{
	struct order ask = {.type = ORDER_FACTS}, answer;

	if (order(diagnosis, &ask, &answer))
		return probe_broke(diagnosis, RUNG_ENDS);
	if (facts_decode(&diagnosis->theirs, answer.text, answer.text_size))
		return climb_broken(diagnosis, RUNG_ENDS, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO,
			"what it says of itself makes no sense");
	probe_facts(&diagnosis->probe, &diagnosis->ours);
	read_counters(diagnosis, &diagnosis->our_counters);
	if (ask_counters(diagnosis, &diagnosis->their_counters))
		return probe_broke(diagnosis, RUNG_ENDS);
	judge_ends(diagnosis);
	return 0;
}

/* One way to move data, as it is said, and what is to be ordered for it. */
struct movement {
	const char *name;
	enum order_type before, after; /* ORDER_TYPES: nothing */
	enum ibv_wr_opcode opcode;     /* what we do between them; IBV_WR_SEND: nothing */
	bool arrives_here;
};

static const struct movement movements[] = {
	{"our WRITE", ORDER_TYPES, ORDER_CHECK, IBV_WR_RDMA_WRITE, false},
	{"our READ", ORDER_FILL, ORDER_TYPES, IBV_WR_RDMA_READ, true},
	{"its WRITE", ORDER_WRITE, ORDER_TYPES, IBV_WR_SEND, true},
	{"its READ", ORDER_READ, ORDER_TYPES, IBV_WR_SEND, false},
};

/* Gives an order about so many bytes of a pattern. *wrong is the place of the first wrong byte. */
static int order_data(struct diagnosis *diagnosis, enum order_type type, uint32_t size,
	uint64_t seed, size_t *wrong)
{
	struct order ask = {.type = type, .size = size, .seed = seed}, answer;

	if (type == ORDER_TYPES)
		return 0;
	if (order(diagnosis, &ask, &answer))
		return -1;
	if (answer.status == ORDER_WRONG)
		*wrong = answer.offset;
	return 0;
}

/* Moves data in one way. Returns 0 with the place of the first wrong byte, size if there is none. */
static int move(
	struct diagnosis *diagnosis, const struct movement *movement, uint32_t size, size_t *wrong)
{
	struct probe *probe = &diagnosis->probe;
	uint64_t seed = diagnosis->orders + 1;

	*wrong = size;
	/* What we send lies in the private memory for our WRITE, in what we offer for its READ. */
	if (movement->opcode == IBV_WR_RDMA_WRITE)
		pattern_fill(probe->private.start, size, seed);
	else if (!movement->arrives_here)
		pattern_fill(probe->offered.start, size, seed);
	if (order_data(diagnosis, movement->before, size, seed, wrong))
		return -1;
	if (movement->opcode != IBV_WR_SEND &&
		probe_move(probe, movement->opcode, size, until(diagnosis, ORDER_MS, 0)))
		return -1;
	if (movement->arrives_here)
		*wrong = pattern_check(movement->opcode == IBV_WR_RDMA_READ ? probe->private.start
									    : probe->offered.start,
			size, seed);
	return order_data(diagnosis, movement->after, size, seed, wrong);
}

static int try_movement(struct diagnosis *diagnosis, const struct movement *movement, uint32_t size)
{
	char doing[64];
	size_t wrong;

	snprintf(doing, sizeof(doing), "%s of %u bytes", movement->name, size);
	if (move(diagnosis, movement, size, &wrong))
		return moving_broke(diagnosis, RUNG_DATA, doing);
	if (wrong < size)
		return climb_broken(diagnosis, RUNG_DATA,
			movement->arrives_here ? FAILURE_DAMAGED : FAILURE_DAMAGED_THERE,
			PHASE_EXCHANGE, 0, "%s: byte %zu is the first wrong one", doing, wrong);
	return 0;
}

int climb_data(struct diagnosis *diagnosis)
{
	const char *mtu = facts_value(&diagnosis->ours, "rdma mtu");
	const uint32_t sizes[] = {
		1, mtu ? (uint32_t)strtoul(mtu, NULL, 10) : 4096, 65536, ORDER_REGION_MAX};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t j = 0; j < sizeof(movements) / sizeof(movements[0]); j++)
			if (try_movement(diagnosis, &movements[j], sizes[i]))
				return -1;
	ladder_ok(&diagnosis->ladder, RUNG_DATA,
		"WRITE and READ of 1 to %u bytes, both ways: every byte is right",
		ORDER_REGION_MAX);
	return 0;
}

static double megabytes(uint64_t bytes, uint64_t nanoseconds)
{
	return nanoseconds ? (double)bytes * 1000 / (double)nanoseconds : 0;
}

/* What the slower direction is judged by: the rate that the port's speed and width promise, in MB/s. */
static double promised(const struct diagnosis *diagnosis)
{
	const struct rdma_cm_id *id = diagnosis->probe.id;
	const struct inventory_port *port = inventory_find(
		&diagnosis->inventory, ibv_get_device_name(id->verbs->device), id->port_num);

	uint64_t ours = port ? port->megabits : 0;
	uint64_t theirs = inventory_megabits(facts_value(&diagnosis->theirs, "rate"));

	return (double)(theirs < ours ? theirs : ours) / 8;
}

/* Software RDMA is as fast as the processors; its port's rate is made up. */
static bool is_software(const struct facts *facts)
{
	const char *driver = facts_value(facts, "driver");

	return driver && (strcmp(driver, "rdma_rxe") == 0 || strcmp(driver, "siw") == 0);
}

/* The bus of an end, as far as it is known. */
static const char *bus(const struct facts *facts)
{
	const char *value = facts_value(facts, "bus");

	return value ? value : "unknown";
}

static void judge_bandwidth(struct diagnosis *diagnosis, double there, double back)
{
	double promise = promised(diagnosis), least = there < back ? there : back;
	char text[160];

	snprintf(text, sizeof(text), "%.1f MB/s there, %.1f MB/s back", there, back);
	if (is_software(&diagnosis->ours) || is_software(&diagnosis->theirs))
		ladder_ok(&diagnosis->ladder, RUNG_BANDWIDTH,
			"%s (RDMA in software: the processors set the speed, not the link)", text);
	else if (promise > 0 && least < promise / 2)
		climb_broken(diagnosis, RUNG_BANDWIDTH, FAILURE_IMPAIRED, PHASE_EXCHANGE,
			IMPAIRED_SPEED,
			"%s; the link promises %.0f MB/s; the bus is %s here, %s there", text,
			promise, bus(&diagnosis->ours), bus(&diagnosis->theirs));
	else
		ladder_ok(&diagnosis->ladder, RUNG_BANDWIDTH,
			"%s of %.0f MB/s that the link promises", text, promise);
}

int climb_bandwidth(struct diagnosis *diagnosis)
{
	struct order run = {.type = ORDER_RUN,
			     .size = BANDWIDTH_SIZE,
			     .milliseconds = BANDWIDTH_MS},
		     answer;
	uint64_t bytes, nanoseconds;

	if (probe_run(&diagnosis->probe, BANDWIDTH_SIZE, BANDWIDTH_MS,
		    until(diagnosis, BANDWIDTH_MS + ORDER_MS, BANDWIDTH_MS), &bytes, &nanoseconds))
		return moving_broke(diagnosis, RUNG_BANDWIDTH, "our WRITEs");
	if (order(diagnosis, &run, &answer))
		return moving_broke(diagnosis, RUNG_BANDWIDTH, "its WRITEs");
	diagnosis->moved = bytes + answer.offset;
	judge_bandwidth(diagnosis, megabytes(bytes, nanoseconds),
		megabytes(answer.offset, answer.nanoseconds));
	return 0;
}

/* Packets that were sent again or came out of order. */
static uint64_t lost(const struct counters *difference)
{
	return counters_total(difference, COUNTER_RETRANSMISSION) +
	       counters_total(difference, COUNTER_OUT_OF_ORDER);
}

/*
 * Both ends are one port: then no packet is lost on any way. Soft-RoCE sends some again there all the
 * same, as its timers run out while a busy queue pair gets no time to look at its acknowledgements.
 */
static bool is_one_port(const struct diagnosis *diagnosis)
{
	const char *gid = facts_value(&diagnosis->ours, "gid");

	return gid && !differs(diagnosis, "gid");
}

int climb_counters(struct diagnosis *diagnosis)
{
	struct counters ours, theirs;
	char here[160], there[160];
	const char *mtu = facts_value(&diagnosis->ours, "rdma mtu");
	uint64_t packet = mtu ? strtoul(mtu, NULL, 10) : 0, again, broken_packets;

	read_counters(diagnosis, &ours);
	if (ask_counters(diagnosis, &theirs))
		return probe_broke(diagnosis, RUNG_COUNTERS);
	counters_difference(&diagnosis->our_counters, &ours, &ours);
	counters_difference(&diagnosis->their_counters, &theirs, &theirs);
	if (counters_text(&ours, here, sizeof(here)) == 0)
		snprintf(here, sizeof(here), "no errors");
	if (counters_text(&theirs, there, sizeof(there)) == 0)
		snprintf(there, sizeof(there), "no errors");
	again = lost(&ours) + lost(&theirs);
	broken_packets =
		counters_total(&ours, COUNTER_LINK) + counters_total(&theirs, COUNTER_LINK);
	if (packet && again > diagnosis->moved / packet / LOSS_DIVISOR + 1 &&
		!is_one_port(diagnosis))
		climb_broken(diagnosis, RUNG_COUNTERS, FAILURE_IMPAIRED, PHASE_EXCHANGE,
			IMPAIRED_LOSS, "here: %s; there: %s", here, there);
	else if (broken_packets > 0)
		climb_broken(diagnosis, RUNG_COUNTERS, FAILURE_IMPAIRED, PHASE_EXCHANGE,
			IMPAIRED_LINK, "here: %s; there: %s", here, there);
	else
		ladder_ok(&diagnosis->ladder, RUNG_COUNTERS, "here: %s; there: %s", here, there);
	return 0;
}
