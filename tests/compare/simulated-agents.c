/*
 * Many simulated agents of a mesh in one process, for tests of the coordinator at a scale for which
 * there are no hosts: they prove the token, report the same facts, and answer each test after a
 * while with a made-up rate. Usage:
 *
 *   simulated-agents PORT SECRET-FILE COUNT [MILLISECONDS [SLOW-HOST [BROKEN-HOST
 *       [DEVICES [SLOW-DEVICE [LACKING-HOST]]]]]]
 *
 * The hosts are h1 to hCOUNT; SLOW-HOST sends at a third of the rate, and all tests of BROKEN-HOST
 * fail. Each has DEVICES devices, mlx5_0 and so on, of which SLOW-DEVICE, counted from 1, is slow
 * (0: all), and LACKING-HOST lacks the last. Exits with 0 once the coordinator has ended all.
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

/* A test that an agent seems to run on one of its devices. */
struct pretended {
	bool active, latency, fails;
	uint64_t number;
	deadline_t done;
};

struct simulated {
	struct wire wire;
	struct token_greeting greeting;
	char name[16];
	bool proved, over;
	struct pretended tests[MESH_DEVICES_MAX];
};

struct crowd {
	struct simulated agents[MESH_HOSTS_MAX];
	struct secret *token;
	unsigned int count, slow, broken, devices, slow_device, lacking;
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

static void name_device(char name[16], unsigned int device)
{
	snprintf(name, 16, "mlx5_%u", device);
}

/* The number of a device from 0; any other text is the first. */
static unsigned int device_number(const char *name)
{
	unsigned int number = 0;

	return sscanf(name, "mlx5_%u", &number) == 1 && number < MESH_DEVICES_MAX ? number : 0;
}

static unsigned int count_devices(const struct crowd *crowd, const struct simulated *agent)
{
	bool lacks = crowd->lacking > 0 && agent == &crowd->agents[crowd->lacking - 1];

	return crowd->devices - (lacks ? 1 : 0);
}

/* The "address" of a host's device is their names. */
static void send_device(struct simulated *agent, unsigned int device, bool listens)
{
	struct json_object *message = json_object_new_object();
	struct json_object *facts = json_object_new_object();
	char name[16], address[40];

	name_device(name, device);
	snprintf(address, sizeof(address), "%s/%s", agent->name, name);
	document_add_text(facts, "driver", "mlx5_core");
	document_add_text(facts, "rate", "200 Gb/sec (4X HDR)");
	document_add_text(message, "device", name);
	document_add(message, "facts", facts);
	document_add_null(message, "problem");
	if (listens)
		document_add_text(message, "addresses", address);
	send_message(agent, message);
}

static void send_facts(const struct crowd *crowd, struct simulated *agent)
{
	struct json_object *message = json_object_new_object();

	document_add(message, "facts", json_object_new_object());
	document_add_null(message, "problem");
	send_message(agent, message);
	for (int listens = 0; listens < 2; listens++)
		for (unsigned int i = 0; i < count_devices(crowd, agent); i++)
			send_device(agent, i, listens);
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

static void send_result(const struct crowd *crowd, struct simulated *agent, unsigned int device)
{
	struct json_object *message = json_object_new_object();
	struct pretended *test = &agent->tests[device];
	bool slow = crowd->slow > 0 && agent == &crowd->agents[crowd->slow - 1] &&
		    (crowd->slow_device == 0 || crowd->slow_device == device + 1);

	document_add_number(message, "result", test->number);
	document_add_number(message, "status", test->fails ? 3 : 0);
	if (test->fails) {
		document_add_text(message, "message", "cannot connect: no reply");
	} else if (test->latency) {
		document_add_number(message, "median_ns", (uint64_t)(1900 * noise()));
		document_add_number(message, "p99_ns", 2500);
	} else {
		document_add_number(
			message, "bytes_per_second", (uint64_t)(RATE * noise() / (slow ? 3 : 1)));
		document_add_number(message, "link_bytes_per_second", 24000000000);
	}
	test->active = false;
	send_message(agent, message);
}

/* Begins a test of one of the agent's devices. */
static void take_test(
	const struct crowd *crowd, struct simulated *agent, struct json_object *message)
{
	char device[16] = "", kind[16] = "", address[40] = "";
	struct pretended *test;

	wire_text(message, "device", device, sizeof(device));
	wire_text(message, "kind", kind, sizeof(kind));
	wire_text(message, "addresses", address, sizeof(address));
	address[strcspn(address, "/")] = '\0';
	test = &agent->tests[device_number(device)];
	if (!agent->proved || test->active)
		fail("a test too many");
	*test = (struct pretended){.active = true,
		.latency = strcmp(kind, "latency") == 0,
		.done = deadline_in(crowd->milliseconds)};
	wire_number(message, "test", 0, UINT32_MAX, &test->number);
	test->fails =
		crowd->broken > 0 && (strcmp(address, crowd->agents[crowd->broken - 1].name) == 0 ||
					     agent == &crowd->agents[crowd->broken - 1]);
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
		send_facts(crowd, agent);
	} else if (document_member(message, "test")) {
		take_test(crowd, agent, message);
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
		for (unsigned int j = 0; j < MESH_DEVICES_MAX; j++)
			if (agent->tests[j].active &&
				deadline_left(agent->tests[j].done) < milliseconds)
				milliseconds = deadline_left(agent->tests[j].done);
	}
	if (left == 0 || poll(polled, crowd->count, milliseconds) < 0)
		return 0;
	for (unsigned int i = 0; i < crowd->count; i++) {
		struct simulated *agent = &crowd->agents[i];

		if (polled[i].revents)
			read_agent(crowd, agent);
		for (unsigned int j = 0; j < MESH_DEVICES_MAX; j++)
			if (!agent->over && agent->tests[j].active &&
				deadline_left(agent->tests[j].done) == 0)
				send_result(crowd, agent, j);
	}
	return left;
}

/* A number of the command line, or this one if it is missing. */
static unsigned int argument(int argc, char *argv[], int index, unsigned int otherwise)
{
	return argc > index ? (unsigned int)atoi(argv[index]) : otherwise;
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
	crowd->count = argument(argc, argv, 3, 0);
	crowd->milliseconds = (int)argument(argc, argv, 4, 10);
	crowd->slow = argument(argc, argv, 5, 0);
	crowd->broken = argument(argc, argv, 6, 0);
	crowd->devices = argument(argc, argv, 7, 1);
	crowd->slow_device = argument(argc, argv, 8, 0);
	crowd->lacking = argument(argc, argv, 9, 0);
	for (unsigned int i = 0; i < crowd->count; i++)
		connect_agent(&crowd->agents[i], (uint16_t)atoi(argv[1]), i);
	while (turn(crowd) > 0)
		;
	secret_free(crowd->token);
	free(crowd);
	return 0;
}
