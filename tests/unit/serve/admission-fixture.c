/* Starts an end that has a secret and plays its peer. The test owns the secrets. */
#include <string.h>

#include "tests/unit/serve/admission-fixture.h"

bool region_is_reachable(const struct region *region)
{
	int access = 0;

	return region->mr && fake_region(region->mr->rkey, &access) &&
	       access & (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
}

bool fixture_is_reachable(const struct fixture *fixture)
{
	const struct connection *connection = fixture->connection;

	return region_is_reachable(&connection->control) ||
	       region_is_reachable(&connection->outgoing) ||
	       region_is_reachable(&connection->incoming);
}

void fixture_start_passive(
	struct fixture *fixture, struct handshake *peer, const struct secret *peers)
{
	const struct hello theirs = {
		.version = HELLO_VERSION,
		.mode = (uint8_t)fixture->mode,
		.size = sizeof(PEER_TEXT),
		.timeout = 10000,
	};
	struct request request;
	struct failure failure = {0};
	uint8_t size;

	fixture_start_device(fixture);
	request = fixture_request(fixture);
	handshake_init(peer, peers, SECRET_CLIENT);
	memcpy(request.hello_bytes, handshake_hello(peer, &theirs, &size),
		sizeof(request.hello_bytes));
	assert_int_equal(hello_decode(&request.theirs, request.hello_bytes, size), 0);
	fixture->id = fake_id();
	fake_agree(fixture->id, 4);
	assert_int_equal(
		connection_create(&fixture->settings, mode_by_number(fixture->mode), fixture->id,
			fixture->device, &request, &fixture->connection, &failure),
		0);
	handshake_receive_hello(peer, fixture->connection->hello_bytes);
	assert_int_equal(
		connection_established(fixture->connection, &(struct rdma_conn_param){0}, &failure),
		0);
	fake_settle();
}

int fixture_start_active(struct fixture *fixture, struct handshake *peer,
	const struct secret *peers, uint8_t length, struct failure *failure)
{
	const struct hello theirs = {
		.version = HELLO_VERSION,
		.mode = (uint8_t)fixture->mode,
		.size = sizeof(PEER_TEXT),
		.timeout = 10000,
	};
	struct rdma_conn_param reply = {.initiator_depth = 4, .responder_resources = 4};
	uint8_t size;
	int error;

	fixture->active = true;
	fixture_start(fixture);
	handshake_init(peer, peers, SECRET_SERVER);
	reply.private_data = handshake_hello(peer, &theirs, &size);
	reply.private_data_len = size < length ? size : length;
	handshake_receive_hello(peer, fixture->connection->hello_bytes);
	error = connection_established(fixture->connection, &reply, failure);
	fake_settle();
	return error;
}

struct message fixture_proof(const struct handshake *handshake)
{
	struct message message = {.type = MSG_PROOF};

	handshake_prove(handshake, message.proof);
	return message;
}
