/*
 * Many simulated agents of a mesh in one process, for tests of the coordinator at a scale for which
 * there are no hosts: they prove the token, report the same facts, and answer each test after a
 * while with a made-up rate. Usage:
 *
 *   simulated-agents PORT SECRET-FILE COUNT [MILLISECONDS [SLOW-HOST [BROKEN-HOST]]]
 *
 * The hosts are h1 to hCOUNT; SLOW-HOST sends at a third of the rate, and all tests of BROKEN-HOST
 * fail. Exits with 0 once the coordinator has ended all of them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/json-document.h"
#include "mesh/limits.h"
#include "mesh/schedule.h"
#include "mesh/token.h"
#include "mesh/wire.h"

#define RATE 23e9

struct simulated {
	struct wire wire;
	struct token_greeting greeting;
	char name[16];
	bool proved, testing, latency, fails, over;
	uint64_t number;
	deadline_t done;
};

struct crowd {
	struct simulated agents[MESH_HOSTS_MAX];
	struct secret *token;
	unsigned int count, slow, broken;
	int milliseconds;
};

__attribute__((noreturn)) static void fail(const char *what)
{
	fprintf(stderr, "simulated-agents: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void send_message(struct simulated *agent, struct json_object *message)
{
	if (wire_send(&agent->wire, message))
		fail("send");
}

static void connect_agent(struct simulated *agent, uint16_t port, unsigned int number)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int created = socket(AF_INET, SOCK_STREAM, 0);
	struct json_object *message = json_object_new_object();

	if (created < 0 || connect(created, (struct sockaddr *)&address, sizeof(address)) ||
		wire_open(&agent->wire, created))
		fail("connect");
	snprintf(agent->name, sizeof(agent->name), "h%u", number + 1);
	agent->greeting.name = agent->name;
	token_greet(&agent->greeting, TOKEN_AGENT);
	document_add_number(message, "mesh", MESH_PROTOCOL);
	document_add_text(message, "name", agent->name);
	document_add_text(message, "nonce", agent->greeting.nonces[TOKEN_AGENT]);
	send_message(agent, message);
}

static void send_proof(const struct crowd *crowd, struct simulated *agent, const char *nonce)
{
	struct json_object *message = json_object_new_object();
	char proof[TOKEN_PROOF_TEXT];

	if (!token_take_nonce(&agent->greeting, TOKEN_COORDINATOR, nonce))
		fail("an invalid nonce");
	token_prove(crowd->token, &agent->greeting, TOKEN_AGENT, proof);
	document_add_text(message, "proof", proof);
	send_message(agent, message);
}

static void send_facts(struct simulated *agent)
{
	struct json_object *message = json_object_new_object();
	struct json_object *facts = json_object_new_object();

	document_add_text(facts, "device", "mlx5_0");
	document_add_text(facts, "driver", "mlx5_core");
	document_add_text(facts, "rate", "200 Gb/sec (4X HDR)");
	document_add(message, "facts", facts);
	document_add_null(message, "problem");
	send_message(agent, message);
	message = json_object_new_object();
	document_add_number(message, "port", 7471);
	document_add_text(message, "addresses", agent->name);
	send_message(agent, message);
}

/* Noise of about 3 %, the sum of three numbers of equal distribution. */
static double noise(void)
{
	double sum = 0;

	for (int i = 0; i < 3; i++)
		sum += (double)random() / RAND_MAX - 0.5;
	return 1 + 0.06 * sum;
}

static void send_result(const struct crowd *crowd, struct simulated *agent)
{
	struct json_object *message = json_object_new_object();
	bool slow = crowd->slow > 0 && agent == &crowd->agents[crowd->slow - 1];

	document_add_number(message, "result", agent->number);
	document_add_number(message, "status", agent->fails ? 3 : 0);
	if (agent->fails) {
		document_add_text(message, "message", "cannot connect: no reply");
	} else if (agent->latency) {
		document_add_number(message, "median_ns", (uint64_t)(1900 * noise()));
		document_add_number(message, "p99_ns", 2500);
	} else {
		document_add_number(
			message, "bytes_per_second", (uint64_t)(RATE * noise() / (slow ? 3 : 1)));
		document_add_number(message, "link_bytes_per_second", 24000000000);
	}
	agent->testing = false;
	send_message(agent, message);
}

static void take_message(
	const struct crowd *crowd, struct simulated *agent, struct json_object *message)
{
	char text[128];

	if (wire_text(message, "nonce", text, sizeof(text))) {
		send_proof(crowd, agent, text);
	} else if (wire_text(message, "proof", text, sizeof(text))) {
		agent->proved =
			token_is_proved(crowd->token, &agent->greeting, TOKEN_COORDINATOR, text);
		send_facts(agent);
	} else if (wire_number(message, "test", 0, UINT32_MAX, &agent->number)) {
		if (!agent->proved || agent->testing)
			fail("a test too many");
		wire_text(message, "kind", text, sizeof(text));
		agent->latency = strcmp(text, "latency") == 0;
		agent->testing = true;
		/* The "address" of the other host is its name. */
		wire_text(message, "addresses", text, sizeof(text));
		agent->fails = crowd->broken > 0 &&
			       (strcmp(text, crowd->agents[crowd->broken - 1].name) == 0 ||
				       agent == &crowd->agents[crowd->broken - 1]);
		agent->done = deadline_in(crowd->milliseconds);
	} else if (document_member(message, "ping")) {
		struct json_object *pong = json_object_new_object();

		document_add_number(pong, "pong", 1);
		send_message(agent, pong);
	} else {
		agent->over = document_member(message, "end");
	}
}

static void read_agent(const struct crowd *crowd, struct simulated *agent)
{
	int error = wire_read(&agent->wire);
	struct json_object *message;

	if (error)
		agent->over = true;
	while (!agent->over && (message = wire_next(&agent->wire, &error))) {
		take_message(crowd, agent, message);
		json_object_put(message);
	}
	if (agent->over)
		wire_close(&agent->wire);
}

/* Serves all agents until an event or a deadline. Returns how many are left. */
static unsigned int turn(struct crowd *crowd)
{
	struct pollfd polled[MESH_HOSTS_MAX];
	int milliseconds = 1000;
	unsigned int left = 0;

	for (unsigned int i = 0; i < crowd->count; i++) {
		struct simulated *agent = &crowd->agents[i];

		polled[i] = (struct pollfd){
			.fd = agent->over ? -1 : agent->wire.socket, .events = POLLIN};
		left += !agent->over;
		if (agent->testing && deadline_left(agent->done) < milliseconds)
			milliseconds = deadline_left(agent->done);
	}
	if (left == 0 || poll(polled, crowd->count, milliseconds) < 0)
		return 0;
	for (unsigned int i = 0; i < crowd->count; i++) {
		struct simulated *agent = &crowd->agents[i];

		if (polled[i].revents)
			read_agent(crowd, agent);
		if (!agent->over && agent->testing && deadline_left(agent->done) == 0)
			send_result(crowd, agent);
	}
	return left;
}

int main(int argc, char *argv[])
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	char why[SECRET_WHY_SIZE];
	int error;

	if (argc < 4 || !crowd || atoi(argv[3]) < 1 || atoi(argv[3]) > MESH_HOSTS_MAX)
		return 2;
	error = secret_load(&crowd->token, argv[2], why);
	if (error) {
		fprintf(stderr, "simulated-agents: %s\n", why);
		return 1;
	}
	crowd->count = (unsigned int)atoi(argv[3]);
	crowd->milliseconds = argc > 4 ? atoi(argv[4]) : 10;
	crowd->slow = argc > 5 ? (unsigned int)atoi(argv[5]) : 0;
	crowd->broken = argc > 6 ? (unsigned int)atoi(argv[6]) : 0;
	for (unsigned int i = 0; i < crowd->count; i++)
		connect_agent(&crowd->agents[i], (uint16_t)atoi(argv[1]), i);
	while (turn(crowd) > 0)
		;
	secret_free(crowd->token);
	free(crowd);
	return 0;
}
