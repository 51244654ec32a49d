/* Tests control connection functions that need no device: regions, READ limits and proofs. */
#include <netinet/in.h>
#include <string.h>

#include "control/client.h"
#include "tests/unit/common/secret-fixture.h"
#include "tests/unit/unit.h"

static void begin(struct control *control, const struct secret *secret, enum secret_role role)
{
	const struct sockaddr_in peer = {
		.sin_family = AF_INET,
		.sin_port = htons(7471),
		.sin_addr.s_addr = htonl(0x0a000001),
	};

	control_init(control, NULL, NULL, (const struct sockaddr *)&peer, secret, role);
}

static void formats_the_peer_address(void **state)
{
	struct control control;

	(void)state;
	begin(&control, NULL, SECRET_CLIENT);
	assert_string_equal(control.peer, "10.0.0.1:7471");
	assert_int_equal(control.stop_fd, -1);
	/* Nothing was created, so there is nothing to free. */
	control_close(&control);
}

static void the_peer_stores_the_described_region(void **state)
{
	static uint8_t memory[64];
	struct ibv_mr mr = {.rkey = 0x1234567};
	struct control ours, theirs;
	struct command region = {.type = COMMAND_REGION};

	(void)state;
	begin(&ours, NULL, SECRET_CLIENT);
	begin(&theirs, NULL, SECRET_SERVER);
	ours.offered = (struct region){.mr = &mr, .start = memory, .size = sizeof(memory)};
	control_describe_region(&ours, &region);
	control_set_peer_region(&theirs, &region);
	assert_int_equal(theirs.peer_address, (uintptr_t)memory);
	assert_int_equal(theirs.peer_length, sizeof(memory));
	assert_int_equal(theirs.peer_rkey, 0x1234567);
}

static void the_device_limits_reads(void **state)
{
	static const struct {
		int initiates, responds; /* the device's limits on outstanding READs */
		uint8_t asks, answers;
		uint8_t initiator_depth, responder_resources;
	} cases[] = {
		{16, 16, 1, 2, 1, 2},
		{16, 8, 16, 16, 16, 8},
		{4, 128, 16, 16, 4, 16},
		{0, 0, 16, 16, 0, 0},
		{1000, 1000, 255, 255, 255, 255},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rdma_conn_param parameters = {0};
		struct control control;

		begin(&control, NULL, SECRET_CLIENT);
		control.device.attributes.max_qp_init_rd_atom = cases[i].initiates;
		control.device.attributes.max_qp_rd_atom = cases[i].responds;
		control_limit_reads(&control, &parameters, cases[i].asks, cases[i].answers);
		assert_int_equal(parameters.initiator_depth, cases[i].initiator_depth);
		assert_int_equal(parameters.responder_resources, cases[i].responder_resources);
	}
}

/* The server's reply can lower the number, but not raise it. */
static void the_server_limits_reads(void **state)
{
	static const struct {
		uint8_t requested, initiator_depth, responder_resources, reads;
	} cases[] = {{16, 16, 16, 16}, {16, 4, 16, 4}, {16, 16, 4, 4}, {4, 16, 16, 4}};
	const struct control_request request = {.kind = HELLO_MEASUREMENT};
	const struct hello hello = {.version = HELLO_VERSION, .kind = HELLO_MEASUREMENT};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct event_copy reply = {0};
		struct rdma_conn_param *said = &reply.event.param.conn;
		struct control server, client;

		begin(&server, NULL, SECRET_SERVER);
		begin(&client, NULL, SECRET_CLIENT);
		client.request = &request;
		client.reads = cases[i].requested;
		said->private_data =
			handshake_hello(&server.handshake, &hello, &said->private_data_len);
		said->initiator_depth = cases[i].initiator_depth;
		said->responder_resources = cases[i].responder_resources;
		assert_int_equal(control_client_admission(&client, &reply, 0), 0);
		assert_int_equal(client.reads, cases[i].reads);
	}
}

/* Prepares both ends with the same two hellos. */
static void begin_pair(struct control *client, struct control *server, const struct secret *theirs,
	const struct secret *ours)
{
	begin(client, ours, SECRET_CLIENT);
	begin(server, theirs, SECRET_SERVER);
	memcpy(server->handshake.hello_bytes, client->handshake.hello_bytes,
		sizeof(server->handshake.hello_bytes));
}

static void checks_proofs(void **state)
{
	struct secret *same[] = {make_secret('a'), make_secret('a')}, *other = make_secret('b');
	struct command command = {.type = COMMAND_PROOF};
	struct control client, server;
	uint8_t text[SECRET_PROOF_SIZE];

	(void)state;
	begin_pair(&client, &server, same[1], same[0]);
	control_prove(&client, &command, text);
	assert_int_equal(command.text_size, SECRET_PROOF_SIZE);
	assert_true(control_is_proved(&server, &command));
	/* The client rejects its own proof, reflected back to it. */
	assert_false(control_is_proved(&client, &command));

	command.text_size--;
	assert_false(control_is_proved(&server, &command));
	command.text_size++;
	command.type = COMMAND_REGION;
	assert_false(control_is_proved(&server, &command));
	command.type = COMMAND_PROOF;
	text[0] ^= 1;
	assert_false(control_is_proved(&server, &command));
	text[0] ^= 1;
	assert_true(control_is_proved(&server, &command));

	begin_pair(&client, &server, other, same[0]);
	control_prove(&client, &command, text);
	assert_false(control_is_proved(&server, &command));
	secret_free(same[0]);
	secret_free(same[1]);
	secret_free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_the_peer_address),
		cmocka_unit_test(the_peer_stores_the_described_region),
		cmocka_unit_test(the_device_limits_reads),
		cmocka_unit_test(the_server_limits_reads),
		cmocka_unit_test(checks_proofs),
	};

	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
