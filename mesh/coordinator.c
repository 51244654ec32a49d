/* See mesh/coordinator.h. */
#include <errno.h>
#include <json-c/json.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/json-document.h"
#include "base/signals.h"
#include "host/own-addresses.h"
#include "mesh/coordinator.h"

/* Connections without a proof so far, in addition to one for each host. */
#define STRANGERS_MAX 64

/* Addresses of this host that agents try. */
#define ADDRESSES_MAX 16

#define BACKLOG   1024
#define LOOKUP_MS 5000

/* Interval of the listener's ticks. */
#define TICK_MS 200

/* What a test may take in addition to what its agent allows it. */
#define SLACK_MS 30000

/* Duration of a latency test, unless --duration is shorter. */
#define LATENCY_MS   500
#define LATENCY_SIZE 8

enum peer_state { PEER_FREE, PEER_GREETING, PEER_PROVING, PEER_ACCEPTED };

/* A connection. */
struct mesh_peer {
	enum peer_state state;
	struct wire wire;
	deadline_t deadline; /* of its greeting; later, when it counts as dead */
	char name[MESH_NAME_SIZE];
	struct token_greeting greeting;
	unsigned int host;
};

struct mesh_running {
	bool active;
	struct mesh_test test;
	uint64_t number;
	int64_t start_ms;
	deadline_t deadline;
};

int64_t coordinator_now(const struct coordinator *coordinator)
{
	return deadline_now() - coordinator->start;
}

/* Rails. */

static const struct mesh_rail any_device;

int coordinator_set_rails(
	struct coordinator *coordinator, const struct mesh_rail *rails, unsigned int count)
{
	void *running =
		calloc((size_t)coordinator->list->count * count, sizeof(coordinator->running[0]));

	if (!running)
		return -ENOMEM;
	free(coordinator->running);
	coordinator->running = running;
	coordinator->rails = rails;
	coordinator->rail_count = count;
	return 0;
}

static struct mesh_device *find_device(const struct mesh_host *host, const char *name)
{
	for (unsigned int i = 0; i < host->device_count; i++)
		if (strcmp(host->devices[i].facts.device, name) == 0)
			return &host->devices[i];
	return NULL;
}

const struct mesh_device *coordinator_device(
	const struct coordinator *coordinator, unsigned int host, const char *name)
{
	return find_device(&coordinator->hosts[host], name);
}

const struct mesh_device *coordinator_rail_device(const struct coordinator *coordinator,
	unsigned int host, const struct mesh_rail *rail, enum mesh_end end)
{
	const struct mesh_host *of = &coordinator->hosts[host];

	if (*rail->device[end])
		return find_device(of, rail->device[end]);
	for (unsigned int i = 0; i < of->device_count; i++)
		if (!*of->devices[i].problem)
			return &of->devices[i];
	return of->device_count > 0 ? &of->devices[0] : NULL;
}

bool mesh_rail_is_plain(const struct mesh_rail *rail)
{
	return rail->number[MESH_FROM] == rail->number[MESH_TO];
}

const char *coordinator_reason(const struct coordinator *coordinator, unsigned int host,
	const struct mesh_rail *rail, enum mesh_end end)
{
	const struct mesh_host *of = &coordinator->hosts[host];
	const struct mesh_device *device;

	if (of->state != MESH_HOST_READY)
		return *of->reason ? of->reason : "no agent has connected";
	if (!*rail->device[end])
		return NULL;
	device = find_device(of, rail->device[end]);
	return !device              ? "it has no such device"
	       : *device->problem   ? device->problem
	       : !device->addresses ? "its server has no address there"
				    : NULL;
}

bool coordinator_is_ready(const struct coordinator *coordinator, unsigned int host,
	const struct mesh_rail *rail, enum mesh_end end)
{
	return !coordinator_reason(coordinator, host, rail, end);
}

/* Tests. */

static struct mesh_running *running_of(
	const struct coordinator *coordinator, unsigned int from, unsigned int rail)
{
	return &coordinator->running[(size_t)from * coordinator->rail_count + rail];
}

/* What a test occupies of the host at one of its ends: its device, or without --together all. */
static uint32_t needs(
	const struct coordinator *coordinator, const struct mesh_test *test, enum mesh_end end)
{
	return coordinator->options->mesh.together
		       ? UINT32_C(1) << coordinator->rails[test->rail].number[end]
		       : UINT32_MAX;
}

static void finish(
	struct coordinator *coordinator, struct mesh_running *running, struct mesh_outcome *outcome)
{
	const struct mesh_test test = running->test;

	running->active = false;
	coordinator->running_count--;
	coordinator->hosts[test.from].busy &= ~needs(coordinator, &test, MESH_FROM);
	coordinator->hosts[test.to].busy &= ~needs(coordinator, &test, MESH_TO);
	outcome->start_ms = running->start_ms;
	outcome->end_ms = coordinator_now(coordinator);
	coordinator->listener.finished(coordinator->listener.user, &test, outcome);
}

/* Reports that a test said nothing. */
static void give_up(struct coordinator *coordinator, const struct mesh_test *test, const char *why)
{
	struct mesh_running *running = running_of(coordinator, test->from, test->rail);
	struct mesh_outcome outcome = {0};

	snprintf(outcome.message, sizeof(outcome.message), "%s", why);
	if (running->active) {
		finish(coordinator, running, &outcome);
		return;
	}
	outcome.start_ms = outcome.end_ms = coordinator_now(coordinator);
	coordinator->listener.finished(coordinator->listener.user, test, &outcome);
}

/* The host's agent is lost: its own test says nothing. One to its server fails by itself. */
static void lose_host(struct coordinator *coordinator, unsigned int index, const char *why)
{
	struct mesh_host *host = &coordinator->hosts[index];
	char text[MESH_REASON_SIZE];

	host->peer = NULL;
	if (host->state != MESH_HOST_UNUSABLE) {
		host->state = MESH_HOST_LOST;
		snprintf(host->reason, sizeof(host->reason), "its agent was lost: %s", why);
	}
	snprintf(text, sizeof(text), "the agent at %.200s was lost",
		coordinator->list->names[index]);
	for (unsigned int rail = 0; rail < coordinator->rail_count; rail++) {
		const struct mesh_running *running = running_of(coordinator, index, rail);

		if (running->active)
			give_up(coordinator, &running->test, text);
	}
}

/* Peers. */

static void drop(struct coordinator *coordinator, struct mesh_peer *peer, const char *why)
{
	bool accepted = peer->state == PEER_ACCEPTED;

	if (!accepted) {
		coordinator->strangers++;
		output_detail(
			coordinator->output, "a connection to the coordinator was closed: %s", why);
	}
	wire_close(&peer->wire);
	peer->state = PEER_FREE;
	if (accepted)
		lose_host(coordinator, peer->host, why);
}

static void send_to(
	struct coordinator *coordinator, struct mesh_peer *peer, struct json_object *message)
{
	int error = wire_send(&peer->wire, document_filled(message));

	if (error)
		drop(coordinator, peer, strerror(-error));
}

static void refuse(struct coordinator *coordinator, struct mesh_peer *peer, const char *why)
{
	struct json_object *message = json_object_new_object();

	document_add_text(message, "refused", why);
	wire_send(&peer->wire, document_filled(message));
	drop(coordinator, peer, why);
}

/* The first message: the name and a nonce. */
static void take_greeting(
	struct coordinator *coordinator, struct mesh_peer *peer, struct json_object *message)
{
	char nonce[TOKEN_NONCE_TEXT];
	struct json_object *reply;
	uint64_t version;

	if (!wire_number(message, "mesh", 1, UINT32_MAX, &version) ||
		!wire_text(message, "name", peer->name, sizeof(peer->name)) ||
		!wire_text(message, "nonce", nonce, sizeof(nonce)) ||
		!token_take_nonce(&peer->greeting, TOKEN_AGENT, nonce)) {
		drop(coordinator, peer, "an invalid greeting");
		return;
	}
	if (version != MESH_PROTOCOL) {
		refuse(coordinator, peer, "it is of another release");
		return;
	}
	peer->greeting.name = peer->name;
	token_greet(&peer->greeting, TOKEN_COORDINATOR);
	reply = json_object_new_object();
	document_add_text(reply, "nonce", peer->greeting.nonces[TOKEN_COORDINATOR]);
	peer->state = PEER_PROVING;
	send_to(coordinator, peer, reply);
}

/*
 * Returns the host that has the address from which the peer connected, for agents that do not know
 * how the mesh calls their host; -1: none.
 */
static int find_by_address(const struct coordinator *coordinator, const struct mesh_peer *peer)
{
	deadline_t deadline = deadline_in(LOOKUP_MS);
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	int found = -1;

	if (getpeername(peer->wire.socket, (struct sockaddr *)&address, &size))
		return -1;
	address_unmap(&address);
	for (unsigned int i = 0; found < 0 && i < coordinator->list->count; i++) {
		struct addrinfo *list, *one;

		if (coordinator->hosts[i].peer || deadline_left(deadline) == 0 ||
			address_find(coordinator->list->names[i], 0, AF_UNSPEC,
				deadline_left(deadline), &list))
			continue;
		for (one = list; one; one = one->ai_next)
			if (address_equal(one->ai_addr, (struct sockaddr *)&address))
				found = (int)i;
		freeaddrinfo(list);
	}
	return found;
}

/* The second message: the proof. Only now does the name count. */
static void take_proof(
	struct coordinator *coordinator, struct mesh_peer *peer, struct json_object *message)
{
	char proof[TOKEN_PROOF_TEXT];
	struct json_object *reply;
	int host;

	if (!wire_text(message, "proof", proof, sizeof(proof)) ||
		!token_is_proved(coordinator->token, &peer->greeting, TOKEN_AGENT, proof)) {
		refuse(coordinator, peer, "it has another token");
		return;
	}
	host = host_list_find(coordinator->list, peer->name);
	if (host < 0)
		host = find_by_address(coordinator, peer);
	if (host < 0) {
		refuse(coordinator, peer, "no host of the mesh has this name; use --name");
		return;
	}
	if (coordinator->hosts[host].peer) {
		refuse(coordinator, peer, "this host takes part already");
		return;
	}
	token_prove(coordinator->token, &peer->greeting, TOKEN_COORDINATOR, proof);
	reply = json_object_new_object();
	document_add_text(reply, "proof", proof);
	peer->state = PEER_ACCEPTED;
	peer->host = (unsigned int)host;
	peer->deadline = deadline_in(MESH_SILENCE_MS);
	coordinator->hosts[host].peer = peer;
	coordinator->hosts[host].state = MESH_HOST_STARTING;
	coordinator->hosts[host].reason[0] = '\0';
	send_to(coordinator, peer, reply);
}

static void take_facts(struct mesh_facts *known, struct json_object *facts)
{
	const struct {
		const char *key;
		char *text;
	} texts[] = {{"device", known->device}, {"driver", known->driver},
		{"firmware", known->firmware}, {"rate", known->rate},
		{"link_layer", known->link_layer}, {"gid_type", known->gid_type},
		{"version", known->version}, {"kernel", known->kernel}};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		wire_text(facts, texts[i].key, texts[i].text, MESH_FACT_SIZE);
	wire_number(facts, "interface_mtu", 1, UINT32_MAX, &known->interface_mtu);
}

/* Returns the running test of a host that has this number, or NULL. */
static struct mesh_running *find_running(
	const struct coordinator *coordinator, unsigned int host, uint64_t number)
{
	for (unsigned int rail = 0; rail < coordinator->rail_count; rail++) {
		struct mesh_running *running = running_of(coordinator, host, rail);

		if (running->active && running->number == number)
			return running;
	}
	return NULL;
}

static void take_result(
	struct coordinator *coordinator, struct mesh_peer *peer, struct json_object *message)
{
	struct mesh_outcome outcome = {.measured = true};
	struct mesh_running *running = NULL;
	uint64_t number, status;

	if (wire_number(message, "result", 0, UINT32_MAX, &number))
		running = find_running(coordinator, peer->host, number);
	if (!running || !wire_number(message, "status", 0, UINT8_MAX, &status)) {
		drop(coordinator, peer, "an unexpected result");
		return;
	}
	wire_number(message, "bytes_per_second", 1, UINT64_MAX, &outcome.bytes_per_second);
	wire_number(
		message, "link_bytes_per_second", 1, UINT64_MAX, &outcome.link_bytes_per_second);
	wire_number(message, "median_ns", 1, UINT64_MAX, &outcome.median_ns);
	wire_number(message, "p99_ns", 1, UINT64_MAX, &outcome.p99_ns);
	outcome.good = status == 0 &&
		       (running->test.latency ? outcome.median_ns : outcome.bytes_per_second) > 0;
	if (!outcome.good &&
		!wire_text(message, "message", outcome.message, sizeof(outcome.message)))
		snprintf(outcome.message, sizeof(outcome.message), "nothing was transferred");
	/* Without its agent, the other host has no server. */
	outcome.measured =
		outcome.good || coordinator->hosts[running->test.to].state == MESH_HOST_READY;
	finish(coordinator, running, &outcome);
}

/* Returns the device of this name, which is new unless the host has it already; NULL: none. */
static struct mesh_device *add_device(struct mesh_host *host, const char *name)
{
	struct mesh_device *device = find_device(host, name);

	if (device || !*name || host->device_count == MESH_DEVICES_MAX)
		return device;
	if (!host->devices)
		host->devices = calloc(MESH_DEVICES_MAX, sizeof(host->devices[0]));
	if (!host->devices)
		return NULL;
	device = &host->devices[host->device_count++];
	snprintf(device->facts.device, sizeof(device->facts.device), "%s", name);
	return device;
}

/* What an agent says about one device of its host, before its server is announced. */
static void take_device(struct mesh_host *host, const char *name, struct json_object *message)
{
	struct mesh_device *device = add_device(host, name);
	char addresses[AGENT_ADDRESSES_SIZE];

	if (!device)
		return;
	take_facts(&device->facts, document_member(message, "facts"));
	/* Its name stays what it was found by. */
	snprintf(device->facts.device, sizeof(device->facts.device), "%s", name);
	wire_text(message, "problem", device->problem, sizeof(device->problem));
	if (!device->addresses && wire_text(message, "addresses", addresses, sizeof(addresses)) &&
		*addresses)
		device->addresses = strdup(addresses);
}

static void take_message(
	struct coordinator *coordinator, struct mesh_peer *peer, struct json_object *message)
{
	struct mesh_host *host = &coordinator->hosts[peer->host];
	char device[MESH_FACT_SIZE];
	uint64_t port;

	if (document_member(message, "result")) {
		take_result(coordinator, peer, message);
		return;
	}
	if (wire_text(message, "device", device, sizeof(device))) {
		if (host->state == MESH_HOST_STARTING)
			take_device(host, device, message);
		return;
	}
	take_facts(&host->facts, document_member(message, "facts"));
	wire_text(message, "warning", host->warning, sizeof(host->warning));
	if (wire_text(message, "problem", host->reason, sizeof(host->reason)) && *host->reason)
		host->state = MESH_HOST_UNUSABLE;
	if (host->state == MESH_HOST_STARTING &&
		wire_number(message, "port", 1, UINT16_MAX, &port) &&
		wire_text(message, "addresses", host->addresses, sizeof(host->addresses))) {
		host->port = (uint16_t)port;
		host->state = MESH_HOST_READY;
	}
}

static void read_peer(struct coordinator *coordinator, struct mesh_peer *peer)
{
	int error = wire_read(&peer->wire);
	struct json_object *message;

	if (error) {
		drop(coordinator, peer,
			error == -EPIPE ? "the connection ended" : strerror(-error));
		return;
	}
	while (peer->state != PEER_FREE && (message = wire_next(&peer->wire, &error))) {
		if (peer->state == PEER_GREETING) {
			take_greeting(coordinator, peer, message);
		} else if (peer->state == PEER_PROVING) {
			take_proof(coordinator, peer, message);
		} else {
			peer->deadline = deadline_in(MESH_SILENCE_MS);
			take_message(coordinator, peer, message);
		}
		json_object_put(message);
	}
	if (error && peer->state != PEER_FREE)
		drop(coordinator, peer, "a line that is no JSON object");
}

/* Returns a free place for a connection, or NULL. */
static struct mesh_peer *free_peer(const struct coordinator *coordinator)
{
	for (unsigned int i = 0; i < coordinator->peer_count; i++)
		if (coordinator->peers[i].state == PEER_FREE)
			return &coordinator->peers[i];
	return NULL;
}

static void accept_peer(struct coordinator *coordinator)
{
	struct mesh_peer *peer = free_peer(coordinator);
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	int one = 1, accepted;

	if (!peer)
		return;
	accepted = accept4(coordinator->listening, (struct sockaddr *)&address, &size,
		SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (accepted < 0)
		return;
	setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	*peer = (struct mesh_peer){
		.state = PEER_GREETING, .deadline = deadline_in(MESH_GREETING_MS)};
	if (wire_open(&peer->wire, accepted))
		peer->state = PEER_FREE;
}

static void check_deadlines(struct coordinator *coordinator)
{
	bool ping = deadline_left(coordinator->ping) == 0;

	if (ping)
		coordinator->ping = deadline_in(MESH_PING_MS);
	for (unsigned int i = 0; i < coordinator->peer_count; i++) {
		struct mesh_peer *peer = &coordinator->peers[i];

		if (peer->state == PEER_FREE)
			continue;
		if (deadline_left(peer->deadline) == 0) {
			drop(coordinator, peer, "nothing has arrived for a while");
		} else if (ping && peer->state == PEER_ACCEPTED) {
			struct json_object *message = json_object_new_object();

			document_add_number(message, "ping", 1);
			send_to(coordinator, peer, message);
		}
	}
	for (unsigned int i = 0; i < coordinator->list->count; i++)
		for (unsigned int rail = 0; rail < coordinator->rail_count; rail++) {
			const struct mesh_running *running = running_of(coordinator, i, rail);

			if (running->active && deadline_left(running->deadline) == 0)
				drop(coordinator, coordinator->hosts[i].peer,
					"its test does not end");
		}
}

/* Waits for events, at most for one tick, and handles them. */
static void turn(struct coordinator *coordinator)
{
	struct pollfd *polled = coordinator->polled;
	int milliseconds = TICK_MS;
	size_t count = 2;

	polled[0] = (struct pollfd){.fd = coordinator->signals, .events = POLLIN};
	polled[1] = (struct pollfd){
		.fd = free_peer(coordinator) ? coordinator->listening : -1, .events = POLLIN};
	for (unsigned int i = 0; i < coordinator->peer_count; i++) {
		const struct mesh_peer *peer = &coordinator->peers[i];

		polled[count++] = (struct pollfd){
			.fd = peer->state == PEER_FREE ? -1 : peer->wire.socket,
			.events = (short)(POLLIN | (peer->wire.out_used > 0 ? POLLOUT : 0))};
	}
	count += launcher_poll(&coordinator->launcher, polled + count,
		coordinator->polled_size - count, &milliseconds);
	if (poll(polled, count, milliseconds) < 0)
		return;
	if (polled[0].revents)
		coordinator->signal = signals_read(coordinator->signals);
	for (unsigned int i = 0; i < coordinator->peer_count; i++) {
		struct mesh_peer *peer = &coordinator->peers[i];

		if (polled[2 + i].revents & POLLOUT && peer->state != PEER_FREE &&
			wire_flush(&peer->wire))
			drop(coordinator, peer, "it cannot be sent to");
		if (polled[2 + i].revents & (POLLIN | POLLHUP | POLLERR) &&
			peer->state != PEER_FREE)
			read_peer(coordinator, peer);
	}
	if (polled[1].revents)
		accept_peer(coordinator);
	launcher_check(&coordinator->launcher);
	check_deadlines(coordinator);
	coordinator->listener.tick(coordinator->listener.user);
}

/* Starting. */

/* True if something may still change before the tests. */
static bool is_gathering(struct coordinator *coordinator)
{
	bool gathering = false;

	for (unsigned int i = 0; i < coordinator->list->count; i++) {
		struct mesh_host *host = &coordinator->hosts[i];
		char why[MESH_REASON_SIZE];

		if (host->state == MESH_HOST_STARTING) {
			gathering = true;
		} else if (host->state == MESH_HOST_ABSENT) {
			bool ended = launcher_has_ended(
				&coordinator->launcher, i, coordinator->list->names[i], why);

			gathering |= !ended;
			snprintf(host->reason, sizeof(host->reason),
				"no agent has connected%s%.400s", *why ? ": " : "", why);
		}
	}
	return gathering;
}

void coordinator_gather(struct coordinator *coordinator)
{
	deadline_t deadline = deadline_in(coordinator->options->mesh.start_timeout);

	while (is_gathering(coordinator) && coordinator->signal == 0 && deadline_left(deadline) > 0)
		turn(coordinator);
}

/* Running tests. */

static bool is_free(const struct coordinator *coordinator, const struct mesh_test *test)
{
	return !(coordinator->hosts[test->from].busy & needs(coordinator, test, MESH_FROM)) &&
	       !(coordinator->hosts[test->to].busy & needs(coordinator, test, MESH_TO));
}

/* Adds where the server listens, and the device of the client, unless any will do. */
static void add_server(const struct coordinator *coordinator, const struct mesh_test *test,
	struct json_object *message)
{
	const struct mesh_rail *rail = &coordinator->rails[test->rail];
	const struct mesh_host *server = &coordinator->hosts[test->to];
	const char *addresses = server->addresses;

	if (*rail->device[MESH_TO])
		addresses = find_device(server, rail->device[MESH_TO])->addresses;
	document_add_number(message, "port", server->port);
	document_add_text(message, "addresses", addresses);
	document_add_known_text(message, "device", rail->device[MESH_FROM]);
}

static void begin(struct coordinator *coordinator, const struct mesh_test *test)
{
	const struct options *options = coordinator->options;
	struct mesh_running *running = running_of(coordinator, test->from, test->rail);
	struct json_object *message = json_object_new_object();
	int64_t duration = options->measure.duration;

	if (test->latency && duration > LATENCY_MS)
		duration = LATENCY_MS;
	*running = (struct mesh_running){
		.active = true,
		.test = *test,
		.number = coordinator->next_number++,
		.start_ms = coordinator_now(coordinator),
		.deadline = deadline_in(duration + 2 * options->timeout + SLACK_MS),
	};
	coordinator->running_count++;
	coordinator->hosts[test->from].busy |= needs(coordinator, test, MESH_FROM);
	coordinator->hosts[test->to].busy |= needs(coordinator, test, MESH_TO);
	document_add_number(message, "test", running->number);
	document_add_text(message, "kind", test->latency ? "latency" : "bandwidth");
	add_server(coordinator, test, message);
	document_add_number(
		message, "size", test->latency ? LATENCY_SIZE : options->measure.smallest);
	document_add_number(message, "duration_ms", (uint64_t)duration);
	document_add_number(message, "timeout_ms", (uint64_t)options->timeout);
	send_to(coordinator, coordinator->hosts[test->from].peer, message);
}

/* Begins the tests whose hosts are free. Returns how many are left. */
static unsigned int begin_tests(struct coordinator *coordinator, struct mesh_test *left,
	unsigned int count, unsigned int most)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < count; i++) {
		const struct mesh_test test = left[i];
		const struct mesh_rail *rail = &coordinator->rails[test.rail];
		bool possible = coordinator_is_ready(coordinator, test.from, rail, MESH_FROM) &&
				coordinator_is_ready(coordinator, test.to, rail, MESH_TO);

		if (!possible)
			give_up(coordinator, &test, "a host was lost");
		else if ((most > 0 && coordinator->running_count >= most) ||
			 !is_free(coordinator, &test))
			left[kept++] = test;
		else
			begin(coordinator, &test);
	}
	return kept;
}

void coordinator_run(struct coordinator *coordinator, const struct mesh_test *tests,
	unsigned int count, unsigned int most)
{
	struct mesh_test *left = calloc(count + 1, sizeof(*left));

	if (left)
		memcpy(left, tests, count * sizeof(*left));
	else
		count = 0;
	while (coordinator->signal == 0 && (count > 0 || coordinator->running_count > 0)) {
		count = begin_tests(coordinator, left, count, most);
		if (count > 0 || coordinator->running_count > 0)
			turn(coordinator);
	}
	for (unsigned int i = 0; i < count; i++)
		give_up(coordinator, &left[i], "interrupted");
	for (unsigned int i = 0; i < coordinator->list->count * coordinator->rail_count; i++)
		if (coordinator->running[i].active)
			give_up(coordinator, &coordinator->running[i].test, "interrupted");
	free(left);
}

/* Listening. */

/* Opens a listening socket for an address. Returns it, or -errno. */
static int listen_on(const struct sockaddr *address)
{
	int created = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int zero = 0, one = 1, error;

	if (created < 0)
		return -errno;
	setsockopt(created, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (address->sa_family == AF_INET6)
		setsockopt(created, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (bind(created, address, address_length(address)) == 0 && listen(created, BACKLOG) == 0)
		return created;
	error = -errno;
	close(created);
	return error;
}

/* Listens on the address of --listen, or on all of both families, or of IPv4. */
static int listen_anywhere(const struct options *options)
{
	struct sockaddr_storage address = {.ss_family = AF_INET6};
	struct addrinfo *list;
	int result;

	if (options->bind) {
		if (address_find(options->bind, options->port, AF_UNSPEC, LOOKUP_MS, &list))
			return -EADDRNOTAVAIL;
		result = listen_on(list->ai_addr);
		freeaddrinfo(list);
		return result;
	}
	address_set_port(&address, options->port);
	result = listen_on((struct sockaddr *)&address);
	if (result >= 0 || result == -EADDRINUSE)
		return result;
	address = (struct sockaddr_storage){.ss_family = AF_INET};
	address_set_port(&address, options->port);
	return listen_on((struct sockaddr *)&address);
}

static void add_address(struct coordinator *coordinator, const struct sockaddr *address)
{
	char text[ADDRESS_TEXT_SIZE];

	address_text(address, text);
	if (coordinator->address_count < ADDRESSES_MAX && strlen(text) < 64 && !strchr(text, '%'))
		snprintf(coordinator->addresses[coordinator->address_count++], 64, "%s", text);
}

/* Collects the addresses at which agents may reach this host. */
static void find_addresses(struct coordinator *coordinator)
{
	struct own_address all[ADDRESSES_MAX];
	unsigned int count;

	if (coordinator->options->bind) {
		struct sockaddr_storage address;
		socklen_t size = sizeof(address);

		if (getsockname(coordinator->listening, (struct sockaddr *)&address, &size) == 0)
			add_address(coordinator, (struct sockaddr *)&address);
		return;
	}
	count = own_addresses(all, ADDRESSES_MAX);
	for (unsigned int i = 0; i < count; i++)
		add_address(coordinator, (struct sockaddr *)&all[i].address);
}

static uint16_t port_of(int socket)
{
	struct sockaddr_storage address = {0};
	socklen_t size = sizeof(address);

	getsockname(socket, (struct sockaddr *)&address, &size);
	return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
						   : ((struct sockaddr_in *)&address)->sin_port);
}

static int allocate(struct coordinator *coordinator)
{
	unsigned int hosts = coordinator->list->count;

	coordinator->peer_count = hosts + STRANGERS_MAX;
	coordinator->polled_size = 2 + coordinator->peer_count + 2 * (size_t)hosts;
	coordinator->hosts = calloc(hosts, sizeof(coordinator->hosts[0]));
	coordinator->peers = calloc(coordinator->peer_count, sizeof(coordinator->peers[0]));
	coordinator->polled = calloc(coordinator->polled_size, sizeof(coordinator->polled[0]));
	coordinator->addresses = calloc(ADDRESSES_MAX, sizeof(coordinator->addresses[0]));
	return coordinator->hosts && coordinator->peers && coordinator->polled &&
			       coordinator->addresses
		       ? coordinator_set_rails(coordinator, &any_device, 1)
		       : -ENOMEM;
}

int coordinator_open(struct coordinator *coordinator, char why[MESH_REASON_SIZE])
{
	int error = allocate(coordinator);

	coordinator->listening = coordinator->signals = -1;
	coordinator->start = deadline_now();
	coordinator->ping = deadline_in(MESH_PING_MS);
	if (!error)
		error = coordinator->listening = listen_anywhere(coordinator->options);
	if (error >= 0) {
		find_addresses(coordinator);
		coordinator->port = port_of(coordinator->listening);
		error = coordinator->signals = signals_open();
	}
	if (error >= 0)
		return 0;
	snprintf(why, MESH_REASON_SIZE, "cannot listen for agents: %s", strerror(-error));
	return -1;
}

int coordinator_launch(
	struct coordinator *coordinator, const char *token, char why[MESH_REASON_SIZE])
{
	const struct rendezvous rendezvous = {
		coordinator->port, coordinator->addresses, coordinator->address_count, token};

	if (coordinator->address_count == 0) {
		snprintf(why, MESH_REASON_SIZE,
			"this host has no address at which agents could reach it");
		return -1;
	}
	return launcher_start(
		&coordinator->launcher, coordinator->options, coordinator->list, &rendezvous, why);
}

void coordinator_close(struct coordinator *coordinator)
{
	for (unsigned int i = 0; coordinator->peers && i < coordinator->peer_count; i++) {
		struct mesh_peer *peer = &coordinator->peers[i];
		struct json_object *message;

		if (peer->state == PEER_FREE)
			continue;
		message = json_object_new_object();
		document_add_boolean(message, "end", true);
		wire_send(&peer->wire, document_filled(message));
		wire_close(&peer->wire);
	}
	if (coordinator->listening >= 0)
		close(coordinator->listening);
	launcher_end(&coordinator->launcher);
	if (coordinator->signals >= 0)
		close(coordinator->signals);
	secret_free(coordinator->token);
	for (unsigned int i = 0; coordinator->hosts && i < coordinator->list->count; i++) {
		for (unsigned int j = 0; j < coordinator->hosts[i].device_count; j++)
			free(coordinator->hosts[i].devices[j].addresses);
		free(coordinator->hosts[i].devices);
	}
	free(coordinator->hosts);
	free(coordinator->peers);
	free(coordinator->polled);
	free(coordinator->running);
	free(coordinator->addresses);
}
