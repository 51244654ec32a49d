#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/counters.h"
#include "lib/document.h"
#include "lib/host.h"
#include "lib/inventory.h"
#include "lib/ladder.h"
#include "lib/path.h"
#include "lib/pattern.h"
#include "lib/reach.h"
#include "rdma-diagnose.h"
#include "rdma-probe.h"

/*
 * How long each rung may take, in milliseconds. A neighbour is given up by the kernel after 3 s, a
 * connection attempt that nobody answers by us. A lost packet costs half a second (PROBE_ACK_TIMEOUT).
 */
#define NAME_MS        3000
#define ROUTE_MS       1000
#define NEIGHBOUR_MS   4000
#define PATH_MS        2500
#define RESOLVE_MS     3000
#define CONNECT_MS     4000
#define ORDER_MS       6000
#define BANDWIDTH_MS   2000
#define BANDWIDTH_SIZE 262144

/* A port where nobody can listen with RDMA: what answers there is the connection manager. */
#define NO_PORT 1

/* READs under way at a time that we ask for and offer. */
#define READS 4

/* What the healthy lose: of so many packets one may be sent again. */
#define LOSS_DIVISOR 1000

struct diagnosis {
	const struct options *options;
	const struct output *output;
	struct ladder ladder;
	struct inventory inventory;
	struct reach_names names;
	struct reach_route route;
	struct probe probe;
	bool open; /* the probe */
	uint32_t orders;
	struct facts ours, theirs;
	struct counters our_counters, their_counters; /* before */
	uint64_t moved;                               /* bytes of the bandwidth rung */
};

/* Prints lines of the exchange's kind, each by itself. */
static void print_lines(const struct diagnosis *diagnosis, char *text)
{
	char *rest = text, *line;

	if (diagnosis->options->json)
		return;
	while ((line = strsep(&rest, "\n")))
		output_line(diagnosis->output, "%s", line);
}

static void print_rung(const struct diagnosis *diagnosis, enum rung rung)
{
	char text[2048];

	ladder_lines(&diagnosis->ladder, rung, text, sizeof(text));
	print_lines(diagnosis, text);
}

static void print_detail(const char *line, void *context)
{
	const struct diagnosis *diagnosis = context;

	if (!diagnosis->options->json)
		output_line(diagnosis->output, "            %s", line);
}

/* A rung breaks for this reason. */
static int __attribute__((format(printf, 6, 7))) broken(struct diagnosis *diagnosis, enum rung rung,
	enum failure_kind kind, enum phase phase, int code, const char *format, ...)
{
	struct failure failure = {0};
	char evidence[sizeof(failure.evidence)];
	va_list args;

	va_start(args, format);
	vsnprintf(evidence, sizeof(evidence), format, args);
	va_end(args);
	failure_set(&failure, kind, phase, code, "diagnose", "%s", evidence);
	return ladder_fail(&diagnosis->ladder, rung, &failure);
}

/* Bytes of the largest packet that a port's link carries now. */
static unsigned int active_mtu(const char *device, unsigned int number)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_port_attr port = {0};

	for (size_t i = 0; devices && devices[i]; i++) {
		struct ibv_context *verbs;

		if (strcmp(ibv_get_device_name(devices[i]), device) != 0)
			continue;
		verbs = ibv_open_device(devices[i]);
		if (!verbs)
			continue;
		ibv_query_port(verbs, (uint8_t)number, &port);
		ibv_close_device(verbs);
	}
	if (devices)
		ibv_free_device_list(devices);
	return probe_mtu_bytes(port.active_mtu);
}

/* Writes "rxe0/1 ACTIVE, MTU 1024; ..." of all ports. */
static void name_ports(const struct inventory *inventory, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < inventory->device_count; i++) {
		const struct inventory_device *device = &inventory->devices[i];

		for (size_t j = 0; j < device->port_count && used < size; j++)
			used += (size_t)snprintf(text + used, size - used, "%s%s/%u %s, MTU %u",
				used ? "; " : "", device->name, device->ports[j].number,
				device->ports[j].state,
				active_mtu(device->name, device->ports[j].number));
	}
}

static enum host_rdma judge_host(const struct diagnosis *diagnosis, char *evidence, size_t size)
{
	const char *name = diagnosis->options->device;
	const struct inventory_device *device =
		name ? inventory_device(&diagnosis->inventory, name) : NULL;

	if (!name || diagnosis->inventory.host != HOST_READY)
		return inventory_judge(&diagnosis->inventory, evidence, size);
	if (device && device->port_count > 0)
		return inventory_judge_port(device, &device->ports[0], evidence, size);
	snprintf(evidence, size, "--device %s", name);
	return HOST_NO_SUCH_DEVICE;
}

static int climb_host(struct diagnosis *diagnosis)
{
	char text[256];
	enum host_rdma lacking;
	int error;

	providers_preload();
	error = inventory_take("", &diagnosis->inventory);
	if (error)
		return broken(diagnosis, RUNG_HOST, FAILURE_ERRNO, PHASE_OPEN, -error, "%s",
			strerror(-error));
	lacking = judge_host(diagnosis, text, sizeof(text));
	if (lacking != HOST_READY)
		return broken(
			diagnosis, RUNG_HOST, FAILURE_HOST, PHASE_OPEN, (int)lacking, "%s", text);
	name_ports(&diagnosis->inventory, text, sizeof(text));
	ladder_ok(&diagnosis->ladder, RUNG_HOST, "%s", text);
	return 0;
}

static int climb_name(struct diagnosis *diagnosis)
{
	struct reach_names *names = &diagnosis->names;

	reach_find_names(diagnosis->options->host, NAME_MS, names);
	if (names->verdict != REACH_GOOD)
		return broken(diagnosis, RUNG_NAME, FAILURE_NAME, PHASE_NAME, names->error, "%s",
			names->evidence);
	ladder_ok(&diagnosis->ladder, RUNG_NAME, "%s", names->evidence);
	return 0;
}

/* The RDMA device of that network interface, or NULL. */
static const char *device_of(const struct inventory *inventory, const char *interface)
{
	for (size_t i = 0; i < inventory->device_count; i++) {
		const struct inventory_device *device = &inventory->devices[i];

		for (size_t j = 0; j < device->port_count; j++)
			for (size_t k = 0; k < device->ports[j].interface_count; k++)
				if (strcmp(device->ports[j].interfaces[k].name, interface) == 0)
					return device->name;
	}
	return NULL;
}

/* Looks for the way to one address. Returns 0 if it leads through an RDMA device. */
static int try_route(struct diagnosis *diagnosis, const struct sockaddr *address)
{
	struct reach_route *route = &diagnosis->route;
	char interface[IF_NAMESIZE], evidence[256];
	const char *device;

	reach_find_route(address, deadline_in(ROUTE_MS), route);
	if (route->verdict == REACH_BAD)
		return broken(diagnosis, RUNG_ROUTE, FAILURE_ERRNO, PHASE_ADDRESS,
			route->error ? route->error : ENETUNREACH, "%s", route->evidence);
	/* For an address of this host the kernel says lo, but rdmacm takes its interface. */
	host_route_interface(address, interface, sizeof(interface));
	device = device_of(&diagnosis->inventory, interface);
	if (!device) {
		host_way_evidence("", NULL, address, evidence, sizeof(evidence));
		return broken(diagnosis, RUNG_ROUTE, FAILURE_ERRNO, PHASE_ADDRESS, ENODEV, "%s",
			evidence);
	}
	ladder_ok(&diagnosis->ladder, RUNG_ROUTE, "%s; RDMA device %s", route->evidence, device);
	return 0;
}

/* The first address that RDMA leads to is the one that is diagnosed, as rdma-client would take it. */
static int climb_route(struct diagnosis *diagnosis)
{
	const struct reach_names *names = &diagnosis->names;

	for (unsigned int i = 0; i < names->count; i++)
		if (try_route(diagnosis, (const struct sockaddr *)&names->addresses[i]) == 0)
			return 0;
	/* Of several, the first is explained. */
	if (names->count > 1)
		try_route(diagnosis, (const struct sockaddr *)&names->addresses[0]);
	return -1;
}

static int climb_neighbour(struct diagnosis *diagnosis)
{
	struct reach_neighbour neighbour;

	reach_find_neighbour(&diagnosis->route, deadline_in(NEIGHBOUR_MS), &neighbour);
	if (neighbour.verdict == REACH_BAD)
		return broken(diagnosis, RUNG_NEIGHBOUR, FAILURE_ERRNO, PHASE_ADDRESS, ETIMEDOUT,
			"%s", neighbour.evidence);
	if (neighbour.verdict == REACH_UNKNOWN)
		ladder_skip(&diagnosis->ladder, RUNG_NEIGHBOUR, "%s", neighbour.evidence);
	else
		ladder_ok(&diagnosis->ladder, RUNG_NEIGHBOUR, "%s", neighbour.evidence);
	return 0;
}

/* RDMA may do with packets that are smaller than the interface's, so the climb goes on. */
static int climb_path(struct diagnosis *diagnosis)
{
	struct path path;

	path_probe(&diagnosis->route, deadline_in(PATH_MS), &path);
	if (path.verdict == REACH_BAD)
		broken(diagnosis, RUNG_PATH, FAILURE_IMPAIRED, PHASE_ADDRESS, IMPAIRED_PATH, "%s",
			path.evidence);
	else if (path.verdict == REACH_UNKNOWN)
		ladder_skip(&diagnosis->ladder, RUNG_PATH, "%s", path.evidence);
	else
		ladder_ok(&diagnosis->ladder, RUNG_PATH, "%s", path.evidence);
	return 0;
}

/* The probe has met a failure, which breaks this rung; what was done is put before the evidence. */
static int probe_broke(struct diagnosis *diagnosis, enum rung rung, const char *doing)
{
	struct failure failure = diagnosis->probe.failure;
	const char *evidence = diagnosis->probe.failure.evidence;

	if (*doing)
		snprintf(failure.evidence, sizeof(failure.evidence), "%.60s%s%.200s", doing,
			*evidence ? ": " : "", evidence);
	return ladder_fail(&diagnosis->ladder, rung, &failure);
}

static int open_probe(struct diagnosis *diagnosis)
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
		return broken(diagnosis, RUNG_CONNECTION, FAILURE_ERRNO, PHASE_OPEN, error, "%s",
			strerror(error));
	}
	probe_init(&diagnosis->probe, events, id);
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

static int resolve(struct diagnosis *diagnosis)
{
	const struct options *options = diagnosis->options;
	struct sockaddr_storage address = diagnosis->route.address;
	struct probe *probe = &diagnosis->probe;

	address_set_port(&address, options->port ? options->port : NO_PORT);
	if (rdma_resolve_addr(probe->id, NULL, (struct sockaddr *)&address, RESOLVE_MS))
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
		.retry_count = PROBE_RETRIES,
		.rnr_retry_count = PROBE_RNR_RETRIES,
	};
	struct probe *probe = &diagnosis->probe;

	if (probe_prepare(probe))
		return -1;
	introduction_encode(&ours, introduction);
	if (rdma_connect(probe->id, &parameters))
		return call_failed(diagnosis, PHASE_CONNECT, "rdma_connect");
	if (probe_await_event(probe, RDMA_CM_EVENT_ESTABLISHED, PHASE_CONNECT,
		    deadline_in(CONNECT_MS), answer))
		return -1;
	probe->connected = true;
	return 0;
}

/* Nobody can listen there: a refusal shows that RDMA answers. */
static int answered_without_port(struct diagnosis *diagnosis, int milliseconds)
{
	const struct failure *failure = &diagnosis->probe.failure;

	if (failure->kind != FAILURE_REJECTED)
		return probe_broke(diagnosis, RUNG_CONNECTION, "");
	ladder_ok(&diagnosis->ladder, RUNG_CONNECTION,
		"RDMA answers there (in %d ms); give the PORT of an rdma-server to go on",
		milliseconds);
	return -1;
}

static int climb_connection(struct diagnosis *diagnosis)
{
	struct introduction theirs;
	struct event_copy answer;
	const struct rdma_conn_param *said = &answer.event.param.conn;
	deadline_t start = deadline_now(), resolved;

	if (open_probe(diagnosis))
		return -1;
	if (resolve(diagnosis))
		return probe_broke(diagnosis, RUNG_CONNECTION, "");
	resolved = deadline_now();
	if (connect_probe(diagnosis, &answer))
		return diagnosis->options->port
			       ? probe_broke(diagnosis, RUNG_CONNECTION, "")
			       : answered_without_port(diagnosis, (int)(deadline_now() - resolved));
	if (introduction_decode(&theirs, said->private_data, said->private_data_len))
		return broken(diagnosis, RUNG_CONNECTION, FAILURE_STRANGER, PHASE_CONNECT, 0,
			"it sent %u bytes of private data", said->private_data_len);
	ladder_ok(&diagnosis->ladder, RUNG_CONNECTION,
		"address and route in %d ms, connected in %d ms", (int)(resolved - start),
		(int)(deadline_now() - resolved));
	return 0;
}

/* Gives an order and waits for its answer. Returns 0, or -1 with the probe's failure recorded. */
static int order(struct diagnosis *diagnosis, struct order *order, struct order *answer)
{
	struct probe *probe = &diagnosis->probe;
	deadline_t deadline = deadline_in(ORDER_MS + order->milliseconds);

	order->number = ++diagnosis->orders;
	if (probe_send(probe, order, deadline) || probe_receive(probe, answer, deadline))
		return -1;
	if (!answer->answer || answer->type != order->type || answer->number != order->number)
		return failure_set(&probe->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO,
			"order", "it answered something that was not asked");
	if (answer->status == ORDER_REFUSED)
		return failure_set(&probe->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO,
			"order", "it refused an order of the diagnosis");
	return 0;
}

static int climb_message(struct diagnosis *diagnosis)
{
	struct order region = {.type = ORDER_REGION}, answer;
	deadline_t start = deadline_now();

	probe_tell_region(&diagnosis->probe, &region);
	if (order(diagnosis, &region, &answer))
		return probe_broke(diagnosis, RUNG_MESSAGE, "");
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

static void read_counters(const struct diagnosis *diagnosis, struct counters *counters)
{
	const struct rdma_cm_id *id = diagnosis->probe.id;

	if (counters_read("", ibv_get_device_name(id->verbs->device), id->port_num, counters))
		*counters = (struct counters){0};
}

/* Shows the facts of both ends beside each other. */
static void print_ends(const struct diagnosis *diagnosis)
{
	const char *name, *ours, *theirs;
	unsigned int index = 0;
	char line[320];
	bool differ;

	while ((name = facts_compare(
			&diagnosis->ours, &diagnosis->theirs, index++, &ours, &theirs, &differ))) {
		snprintf(line, sizeof(line), "%-16s %-28s %-28s%s", name, ours ? ours : "-",
			theirs ? theirs : "-", differ ? " differs" : "");
		print_detail(line, (void *)diagnosis);
	}
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
			broken(diagnosis, RUNG_ENDS, FAILURE_IMPAIRED, PHASE_CONNECT,
				(int)cases[i].impairment, "%s here, %s there",
				facts_value(&diagnosis->ours, cases[i].fact),
				facts_value(&diagnosis->theirs, cases[i].fact));
			return;
		}
	ladder_ok(&diagnosis->ladder, RUNG_ENDS, "%s",
		differs(diagnosis, "version") ? "they fit, though their versions differ"
					      : "they fit each other");
}

static int climb_ends(struct diagnosis *diagnosis)
{
	struct order ask = {.type = ORDER_FACTS}, answer;

	if (order(diagnosis, &ask, &answer))
		return probe_broke(diagnosis, RUNG_ENDS, "");
	if (facts_decode(&diagnosis->theirs, answer.text, answer.text_size))
		return broken(diagnosis, RUNG_ENDS, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO,
			"what it says of itself makes no sense");
	probe_facts(&diagnosis->probe, &diagnosis->ours);
	read_counters(diagnosis, &diagnosis->our_counters);
	if (ask_counters(diagnosis, &diagnosis->their_counters))
		return probe_broke(diagnosis, RUNG_ENDS, "");
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
		probe_move(probe, movement->opcode, size, deadline_in(ORDER_MS)))
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
		return probe_broke(diagnosis, RUNG_DATA, doing);
	if (wrong < size)
		return broken(diagnosis, RUNG_DATA,
			movement->arrives_here ? FAILURE_DAMAGED : FAILURE_DAMAGED_THERE,
			PHASE_EXCHANGE, 0, "%s: byte %zu is the first wrong one", doing, wrong);
	return 0;
}

static int climb_data(struct diagnosis *diagnosis)
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

	return port ? (double)port->megabits / 8 : 0;
}

/* Software RDMA is as fast as the processors; its port's rate is made up. */
static bool is_software(const struct facts *facts)
{
	const char *driver = facts_value(facts, "driver");

	return driver && (strcmp(driver, "rdma_rxe") == 0 || strcmp(driver, "siw") == 0);
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
		broken(diagnosis, RUNG_BANDWIDTH, FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_SPEED,
			"%s; the link promises %.0f MB/s", text, promise);
	else
		ladder_ok(&diagnosis->ladder, RUNG_BANDWIDTH,
			"%s of %.0f MB/s that the link promises", text, promise);
}

static int climb_bandwidth(struct diagnosis *diagnosis)
{
	struct order run = {.type = ORDER_RUN,
			     .size = BANDWIDTH_SIZE,
			     .milliseconds = BANDWIDTH_MS},
		     answer;
	uint64_t bytes, nanoseconds;

	if (probe_run(&diagnosis->probe, BANDWIDTH_SIZE, BANDWIDTH_MS,
		    deadline_in(BANDWIDTH_MS + ORDER_MS), &bytes, &nanoseconds))
		return probe_broke(diagnosis, RUNG_BANDWIDTH, "our WRITEs");
	if (order(diagnosis, &run, &answer))
		return probe_broke(diagnosis, RUNG_BANDWIDTH, "its WRITEs");
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

static int climb_counters(struct diagnosis *diagnosis)
{
	struct counters ours, theirs;
	char here[160], there[160];
	const char *mtu = facts_value(&diagnosis->ours, "rdma mtu");
	uint64_t packet = mtu ? strtoul(mtu, NULL, 10) : 0, again, broken_packets;

	read_counters(diagnosis, &ours);
	if (ask_counters(diagnosis, &theirs))
		return probe_broke(diagnosis, RUNG_COUNTERS, "");
	counters_difference(&diagnosis->our_counters, &ours, &ours);
	counters_difference(&diagnosis->their_counters, &theirs, &theirs);
	if (counters_text(&ours, here, sizeof(here)) == 0)
		snprintf(here, sizeof(here), "no errors");
	if (counters_text(&theirs, there, sizeof(there)) == 0)
		snprintf(there, sizeof(there), "no errors");
	again = lost(&ours) + lost(&theirs);
	broken_packets =
		counters_total(&ours, COUNTER_LINK) + counters_total(&theirs, COUNTER_LINK);
	if (packet && again > diagnosis->moved / packet / LOSS_DIVISOR + 1)
		broken(diagnosis, RUNG_COUNTERS, FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_LOSS,
			"here: %s; there: %s", here, there);
	else if (broken_packets > 0)
		broken(diagnosis, RUNG_COUNTERS, FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_LINK,
			"here: %s; there: %s", here, there);
	else
		ladder_ok(&diagnosis->ladder, RUNG_COUNTERS, "here: %s; there: %s", here, there);
	return 0;
}

static int (*const climb[RUNGS])(struct diagnosis *) = {
	[RUNG_HOST] = climb_host,
	[RUNG_NAME] = climb_name,
	[RUNG_ROUTE] = climb_route,
	[RUNG_NEIGHBOUR] = climb_neighbour,
	[RUNG_PATH] = climb_path,
	[RUNG_CONNECTION] = climb_connection,
	[RUNG_MESSAGE] = climb_message,
	[RUNG_ENDS] = climb_ends,
	[RUNG_DATA] = climb_data,
	[RUNG_BANDWIDTH] = climb_bandwidth,
	[RUNG_COUNTERS] = climb_counters,
};

/* Climbs until a rung breaks, and shows each; the rest is skipped. */
static void climb_all(struct diagnosis *diagnosis)
{
	bool on = true;

	for (enum rung rung = RUNG_HOST; rung < RUNGS; rung++) {
		if (!diagnosis->options->host && rung > RUNG_HOST)
			break;
		if (!on)
			ladder_skip(&diagnosis->ladder, rung, "it was not reached");
		on = on && climb[rung](diagnosis) == 0;
		print_rung(diagnosis, rung);
		if (rung == RUNG_HOST)
			inventory_print(&diagnosis->inventory, print_detail, diagnosis);
		if (rung == RUNG_ENDS && diagnosis->theirs.count > 0)
			print_ends(diagnosis);
	}
}

/* Fills the document of --json. False if there is no memory. */
static bool fill(const struct diagnosis *diagnosis, const char *verdict, struct json_object *object)
{
	const struct options *options = diagnosis->options;
	const struct ladder *ladder = &diagnosis->ladder;

	return document_add_number(object, "schema", 1) &&
	       document_add_text(object, "program", diagnosis->output->program) &&
	       document_add_text(object, "version", PROJECT_VERSION) &&
	       document_add_text(object, "host", options->host) &&
	       document_add_number(object, "port", options->port) &&
	       document_add_text(object, "verdict", verdict) &&
	       document_add_number(object, "status", ladder_status(ladder)) &&
	       document_add_value(object, "rungs", ladder_json(ladder)) &&
	       document_add_value(object, "here", facts_json(&diagnosis->ours)) &&
	       document_add_value(object, "there", facts_json(&diagnosis->theirs)) &&
	       document_add_value(object, "inventory", inventory_json(&diagnosis->inventory));
}

static void print_document(const struct diagnosis *diagnosis, const char *verdict)
{
	struct json_object *object = json_object_new_object();
	bool filled = object && fill(diagnosis, verdict, object);

	output_document(filled ? json_object_to_json_string_ext(object,
					 JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
			       : NULL);
	json_object_put(object);
}

enum exit_status diagnose(const struct options *options, const struct output *output)
{
	struct diagnosis *diagnosis = calloc(1, sizeof(*diagnosis));
	enum exit_status status;
	char verdict[512];

	if (!diagnosis)
		return STATUS_FAILED;
	diagnosis->options = options;
	diagnosis->output = output;
	ladder_init(&diagnosis->ladder, options->host ? options->host : "");
	climb_all(diagnosis);
	ladder_verdict(&diagnosis->ladder, verdict, sizeof(verdict));
	if (options->json)
		print_document(diagnosis, verdict);
	else
		output_line(output, "verdict: %s", verdict);
	status = ladder_status(&diagnosis->ladder);
	if (diagnosis->open)
		probe_close(&diagnosis->probe);
	inventory_free(&diagnosis->inventory);
	free(diagnosis);
	return status;
}
