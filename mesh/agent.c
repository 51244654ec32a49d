/*
 * See mesh/agent.h. One loop waits for the coordinator, the server and the clients of current
 * tests; what they have is handled at once. Whatever ends the loop, both children end.
 */
#include <errno.h>
#include <json-c/json.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/json-document.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/startup.h"
#include "mesh/agent-facts.h"
#include "mesh/agent-test.h"
#include "mesh/agent.h"
#include "mesh/limits.h"
#include "mesh/token.h"
#include "mesh/wire.h"
#include "protocol/ready-line.h"

/* Of names of hosts, looked up at most this long, and of one attempt to connect. */
#define LOOKUP_MS  5000
#define CONNECT_MS 4000

/* How long an agent tries to connect to the coordinator, and the pause between attempts. */
#define ATTEMPTS_MS 20000
#define PAUSE_MS    500

/* A test, while its client runs. */
struct running {
	struct child client;
	struct agent_test test;
};

/* A server that serves any number of clients. */
#define MANY_CLIENTS "18446744073709551615"

struct agent {
	const struct options *options;
	struct output output;
	char name[MESH_NAME_SIZE];
	struct secret *token;
	int token_file; /* if it came from standard input */
	char token_path[SECRET_PATH_SIZE];
	int measuring_file; /* the secret of the measurements */
	struct wire wire;
	struct token_greeting greeting;
	deadline_t silence; /* when the coordinator counts as dead */
	struct child server;
	bool announced; /* the server listens, or cannot */
	struct inventory inventory;
	struct running tests[MESH_DEVICES_MAX]; /* at a time: usually one */
	int signals, signal;                    /* the descriptor; the signal that was received */
	bool over;
	enum exit_status status;
};

/* Prints an error, and ends the agent with this status. Returns -1. */
__attribute__((format(printf, 3, 4))) static int fail(
	struct agent *agent, enum exit_status status, const char *format, ...)
{
	char text[MESH_REASON_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (!agent->over)
		output_error(&agent->output, "%s", text);
	agent->status = status;
	agent->over = true;
	return -1;
}

static void lose(struct agent *agent, const char *why)
{
	fail(agent, STATUS_PEER, "the coordinator of the mesh is lost: %s", why);
}

/* The connection. */

/* Waits until the socket is ready or the time is up. Returns true if it is. */
static bool await(struct agent *agent, int socket, short events, deadline_t deadline)
{
	struct pollfd polled[] = {
		{.fd = socket, .events = events}, {.fd = agent->signals, .events = POLLIN}};

	while (deadline_left(deadline) > 0) {
		if (poll(polled, 2, deadline_left(deadline)) < 0)
			return false;
		if (polled[1].revents) {
			agent->signal = signals_read(agent->signals);
			agent->over = true;
			return false;
		}
		if (polled[0].revents)
			return true;
	}
	return false;
}

/* Connects to one address. Returns the socket, or -1. */
static int try_address(struct agent *agent, const struct addrinfo *address)
{
	int created = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error = 0;
	socklen_t size = sizeof(error);

	if (created < 0)
		return -1;
	if (connect(created, address->ai_addr, address->ai_addrlen) == 0)
		return created;
	if (errno == EINPROGRESS && await(agent, created, POLLOUT, deadline_in(CONNECT_MS)) &&
		getsockopt(created, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
		return created;
	close(created);
	return -1;
}

/* Waits for one object of the coordinator. Returns it, or NULL. */
static struct json_object *await_message(struct agent *agent)
{
	deadline_t deadline = deadline_in(MESH_GREETING_MS);
	struct json_object *message = NULL;
	int error = 0;

	while (!message && !error && await(agent, agent->wire.socket, POLLIN, deadline)) {
		error = wire_read(&agent->wire);
		if (!error)
			message = wire_next(&agent->wire, &error);
	}
	return message;
}

static bool send_greeting(struct agent *agent)
{
	struct json_object *message = json_object_new_object();

	token_greet(&agent->greeting, TOKEN_AGENT);
	document_add_number(message, "mesh", MESH_PROTOCOL);
	document_add_text(message, "name", agent->name);
	document_add_text(message, "nonce", agent->greeting.nonces[TOKEN_AGENT]);
	return wire_send(&agent->wire, document_filled(message)) == 0;
}

static bool send_proof(struct agent *agent)
{
	struct json_object *message = json_object_new_object();
	char proof[TOKEN_PROOF_TEXT];

	token_prove(agent->token, &agent->greeting, TOKEN_AGENT, proof);
	document_add_text(message, "proof", proof);
	return wire_send(&agent->wire, document_filled(message)) == 0;
}

/* Records why the coordinator refuses this agent. */
static void take_refusal(struct agent *agent, struct json_object *message)
{
	char text[MESH_REASON_SIZE];

	if (!wire_text(message, "refused", text, sizeof(text)))
		return;
	fail(agent, STATUS_CONNECT, "the coordinator of the mesh refused %s: %s", agent->name,
		text);
}

/* Exchanges greetings and proofs. Returns false if the peer is no coordinator with this token. */
static bool greet(struct agent *agent)
{
	struct json_object *message;
	char nonce[TOKEN_NONCE_TEXT], proof[TOKEN_PROOF_TEXT];
	bool proved = false;

	if (!send_greeting(agent))
		return false;
	message = await_message(agent);
	take_refusal(agent, message);
	if (wire_text(message, "nonce", nonce, sizeof(nonce)) &&
		token_take_nonce(&agent->greeting, TOKEN_COORDINATOR, nonce) && send_proof(agent)) {
		json_object_put(message);
		message = await_message(agent);
		take_refusal(agent, message);
		proved = wire_text(message, "proof", proof, sizeof(proof)) &&
			 token_is_proved(agent->token, &agent->greeting, TOKEN_COORDINATOR, proof);
	}
	json_object_put(message);
	return proved;
}

/* Tries all addresses of a host. Returns true once it is connected to the coordinator. */
static bool try_host(struct agent *agent, const char *host)
{
	struct addrinfo *list, *address;
	bool connected = false;

	if (address_find(host, agent->options->port, AF_UNSPEC, LOOKUP_MS, &list))
		return false;
	for (address = list; address && !connected && !agent->over; address = address->ai_next) {
		int socket = try_address(agent, address);

		if (socket < 0 || wire_open(&agent->wire, socket))
			continue;
		connected = greet(agent);
		if (!connected)
			wire_close(&agent->wire);
	}
	freeaddrinfo(list);
	return connected;
}

static int connect_to_coordinator(struct agent *agent)
{
	const struct options_mesh *mesh = &agent->options->mesh;
	deadline_t deadline = deadline_in(ATTEMPTS_MS);

	do {
		for (unsigned int i = 0; i < mesh->address_count && !agent->over; i++)
			if (try_host(agent, mesh->addresses[i]))
				return 0;
		if (!agent->over)
			await(agent, -1, 0, deadline_in(PAUSE_MS));
	} while (!agent->over && deadline_left(deadline) > 0);
	if (agent->over)
		return -1;
	return fail(agent, STATUS_CONNECT,
		"no coordinator of a mesh with this token answers on port %u of %s%s",
		agent->options->port, mesh->addresses[0],
		mesh->address_count > 1 ? " or its other addresses" : "");
}

/* What the agent sends. */

static void send_message(struct agent *agent, struct json_object *message)
{
	if (wire_send(&agent->wire, document_filled(message)))
		lose(agent, "send");
}

/* Returns the next device of --device, from the one of this index on; NULL: none. */
static const struct inventory_device *next_device(const struct agent *agent, size_t *index)
{
	while (*index < agent->inventory.device_count) {
		const struct inventory_device *device = &agent->inventory.devices[(*index)++];

		if (device_list_has(agent->options->device, device->name))
			return device;
	}
	return NULL;
}

/* Reports the host and each of its devices. */
static void send_facts(struct agent *agent, bool *usable)
{
	const struct inventory_device *device;
	size_t index = 0;

	/* Without an inventory, there is no device. */
	inventory_take("", NULL, &agent->inventory);
	while (!agent->over && (device = next_device(agent, &index)))
		send_message(agent, agent_facts_device(&agent->inventory, device));
	send_message(agent, agent_facts_host(&agent->inventory, agent->options->device, usable));
}

/* Reports that the server cannot be used. */
static void send_problem(struct agent *agent, const char *text)
{
	struct json_object *message = json_object_new_object();
	char line[MESH_REASON_SIZE];

	snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
	text_printable(line);
	document_add_text(message, "problem", line);
	agent->announced = true;
	send_message(agent, message);
}

/* The server. */

static void start_server(struct agent *agent)
{
	char program[4096], secret[SECRET_TEXT_SIZE];
	const char *device = device_list_single(agent->options->device);
	const char *words[] = {program, "any", "--stdio", "--count", MANY_CLIENTS,
		device ? "--device" : NULL, device, NULL};
	int error;

	child_own_program("rdma-server", program, sizeof(program));
	error = child_start(&agent->server, words, true, true, -1);
	if (error) {
		send_problem(agent,
			error == -ENOENT ? "rdma-server is not installed" : strerror(-error));
		return;
	}
	token_measuring_secret(agent->token, secret);
	dprintf(agent->server.input, "%s\n", secret);
	secret_forget(secret, sizeof(secret));
}

/* Reports where the server listens, also through each device. */
static void announce(struct agent *agent)
{
	const struct inventory_device *device;
	struct json_object *message;
	size_t index = 0;
	char line[AGENT_ADDRESSES_SIZE];
	const char *addresses;
	uint16_t port;

	if (agent->announced || !strchr(agent->server.text, '\n'))
		return;
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(agent->server.text, "\n"),
		agent->server.text);
	addresses = ready_line_read(line, &port);
	if (!addresses || addresses[strspn(addresses, " ")] == '\0') {
		send_problem(agent, "no RDMA device has an address");
		return;
	}
	while (!agent->over && (device = next_device(agent, &index)))
		send_message(agent, agent_facts_addresses(device, addresses));
	message = json_object_new_object();
	document_add_number(message, "port", port);
	document_add_text(message, "addresses", addresses);
	agent->announced = true;
	send_message(agent, message);
}

static void check_server(struct agent *agent)
{
	bool ended = child_check(&agent->server);
	const char *text = agent->server.error_text;

	announce(agent);
	if (!ended)
		return;
	/* Clients fail from now on, and say so. */
	if (!agent->announced)
		send_problem(agent, *text ? text : "rdma-server printed nothing");
	else
		output_error(&agent->output, "rdma-server ended: %s", *text ? text : "no message");
}

/* Tests. */

static void send_result(
	struct agent *agent, const struct running *running, const struct child *child, int error)
{
	struct json_object *message = agent_test_result(&running->test, child, error);

	if (wire_send(&agent->wire, message))
		lose(agent, "send");
}

/* Returns a place for another test, or NULL. */
static struct running *free_place(struct agent *agent)
{
	for (unsigned int i = 0; i < MESH_DEVICES_MAX; i++)
		if (!child_runs(&agent->tests[i].client))
			return &agent->tests[i];
	return NULL;
}

static void begin_test(struct agent *agent, struct json_object *message)
{
	struct running *running = free_place(agent);
	const char *single = device_list_single(agent->options->device);
	int error;

	if (!running || !agent_test_read(&running->test, message)) {
		lose(agent, "an invalid request");
		return;
	}
	if (!*running->test.device && single)
		snprintf(running->test.device, sizeof(running->test.device), "%s", single);
	error = agent_test_start(&running->test, agent->measuring_file, &running->client);
	if (error)
		send_result(agent, running, NULL, error);
}

static void check_test(struct agent *agent, struct running *running)
{
	if (child_runs(&running->client) && deadline_left(running->test.deadline) == 0)
		child_end(&running->client);
	if (!child_check(&running->client)) {
		if (!child_is_stuck(&running->client))
			return;
		send_result(agent, running, NULL, -ETIMEDOUT);
	} else {
		send_result(agent, running, &running->client, 0);
	}
	child_free(&running->client);
}

/* The loop. */

static void take_message(struct agent *agent, struct json_object *message)
{
	struct json_object *pong;
	uint64_t number;

	if (document_member(message, "test")) {
		begin_test(agent, message);
	} else if (wire_number(message, "ping", 0, UINT32_MAX, &number)) {
		pong = json_object_new_object();
		document_add_number(pong, "pong", number);
		send_message(agent, pong);
	} else if (document_member(message, "end")) {
		agent->over = true;
	} else {
		lose(agent, "an unknown message");
	}
}

static void read_coordinator(struct agent *agent)
{
	int error = wire_read(&agent->wire);
	struct json_object *message;

	agent->silence = deadline_in(MESH_SILENCE_MS);
	if (error) {
		lose(agent, error == -EPIPE ? "it has ended" : strerror(-error));
		return;
	}
	while (!agent->over && (message = wire_next(&agent->wire, &error))) {
		take_message(agent, message);
		json_object_put(message);
	}
	if (error)
		lose(agent, "a line that is no JSON object");
}

/* Waits for the next event, at most until a deadline. */
static void turn(struct agent *agent)
{
	struct pollfd polled[4 + 2 * MESH_DEVICES_MAX] = {
		{.fd = agent->wire.socket, .events = POLLIN},
		{.fd = agent->signals, .events = POLLIN}};
	int milliseconds = deadline_left(agent->silence);
	size_t count = 2;

	if (agent->wire.out_used > 0)
		polled[0].events |= POLLOUT;
	count += child_poll(&agent->server, polled + count, &milliseconds);
	for (unsigned int i = 0; i < MESH_DEVICES_MAX; i++) {
		const struct running *running = &agent->tests[i];

		if (!child_runs(&running->client))
			continue;
		if (deadline_left(running->test.deadline) < milliseconds)
			milliseconds = deadline_left(running->test.deadline);
		count += child_poll(&running->client, polled + count, &milliseconds);
	}
	if (poll(polled, count, milliseconds) < 0 && errno != EINTR)
		lose(agent, strerror(errno));
	if (polled[1].revents) {
		agent->signal = signals_read(agent->signals);
		agent->over = true;
	}
	if (polled[0].revents & (POLLIN | POLLHUP | POLLERR))
		read_coordinator(agent);
	if (!agent->over && wire_flush(&agent->wire))
		lose(agent, "send");
	if (!agent->over && deadline_left(agent->silence) == 0)
		lose(agent, "nothing has arrived for a while");
}

static void serve_coordinator(struct agent *agent)
{
	bool usable;

	agent->silence = deadline_in(MESH_SILENCE_MS);
	send_facts(agent, &usable);
	if (usable && !agent->over)
		start_server(agent);
	while (!agent->over) {
		turn(agent);
		if (child_runs(&agent->server))
			check_server(agent);
		for (unsigned int i = 0; i < MESH_DEVICES_MAX && !agent->over; i++)
			check_test(agent, &agent->tests[i]);
	}
}

/* The name by which the coordinator knows this host. */
static void choose_name(struct agent *agent)
{
	const char *name = agent->options->mesh.name;

	if (!name)
		name = getenv("SLURMD_NODENAME");
	if (name)
		snprintf(agent->name, sizeof(agent->name), "%s", name);
	else
		gethostname(agent->name, sizeof(agent->name) - 1);
	text_printable(agent->name);
	agent->greeting.name = agent->name;
}

/* Loads the token from its file, or from standard input, and derives the secret of measurements. */
static int load_token(struct agent *agent)
{
	const char *file = agent->options->secret_file;
	char secret[SECRET_TEXT_SIZE], path[SECRET_PATH_SIZE];
	const char *variable = getenv(TOKEN_VARIABLE);
	struct failure failure = {0};

	if (!file) {
		agent->token_file = variable ? secret_keep(variable, agent->token_path)
					     : secret_keep_line(STDIN_FILENO, agent->token_path);
		unsetenv(TOKEN_VARIABLE);
		if (agent->token_file < 0)
			return fail(agent, STATUS_USAGE,
				"standard input has no line with a token, and there is no "
				"--secret-file");
		file = agent->token_path;
	}
	if (startup_secret(&agent->token, file, &failure)) {
		output_failure(&agent->output, &failure, NULL);
		agent->status = STATUS_FAILED;
		return -1;
	}
	token_measuring_secret(agent->token, secret);
	agent->measuring_file = secret_keep(secret, path);
	secret_forget(secret, sizeof(secret));
	return agent->measuring_file < 0
		       ? fail(agent, STATUS_FAILED, "cannot keep a secret in memory: %s",
				 strerror(-agent->measuring_file))
		       : 0;
}

static void close_agent(struct agent *agent)
{
	for (unsigned int i = 0; i < MESH_DEVICES_MAX; i++)
		child_free(&agent->tests[i].client);
	child_free(&agent->server);
	inventory_free(&agent->inventory);
	wire_close(&agent->wire);
	secret_free(agent->token);
	if (agent->token_file >= 0)
		close(agent->token_file);
	if (agent->measuring_file >= 0)
		close(agent->measuring_file);
	if (agent->signals >= 0)
		close(agent->signals);
}

enum exit_status mesh_agent(const struct options *options, const char *program, int *signal)
{
	struct agent agent = {.options = options,
		.output = startup_output(program, options),
		.token_file = -1,
		.measuring_file = -1,
		.wire = {.socket = -1},
		.server = CHILD_NONE,
		.signals = -1};

	for (unsigned int i = 0; i < MESH_DEVICES_MAX; i++)
		agent.tests[i].client = CHILD_NONE;
	choose_name(&agent);
	if (load_token(&agent) == 0) {
		agent.signals = signals_open();
		if (agent.signals < 0)
			fail(&agent, STATUS_FAILED, "signalfd: %s", strerror(-agent.signals));
		else if (connect_to_coordinator(&agent) == 0)
			serve_coordinator(&agent);
	}
	*signal = agent.signal;
	close_agent(&agent);
	return output_finish(&agent.output, agent.status);
}
