#include <string.h>

#include "admission-rig.h"

bool region_is_reachable(const struct region *region)
{
	int access = 0;

	return region->mr && fake_region(region->mr->rkey, &access) &&
	       access & (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
}

bool rig_is_reachable(const struct rig *rig)
{
	const struct connection *connection = rig->connection;

	return region_is_reachable(&connection->control) ||
	       region_is_reachable(&connection->outgoing) ||
	       region_is_reachable(&connection->incoming);
}

void rig_start_passive(struct rig *rig, struct handshake *peer, const struct secret *peers)
{
	const struct introduction theirs = {
		.version = INTRODUCTION_VERSION,
		.mode = (uint8_t)rig->mode,
		.size = sizeof(PEER_TEXT),
		.timeout = 10000,
	};
	struct request request;
	struct failure failure = {0};
	uint8_t size;

	rig_start_device(rig);
	request = rig_request(rig);
	handshake_init(peer, peers, SECRET_CLIENT);
	memcpy(request.words, handshake_introduce(peer, &theirs, &size), sizeof(request.words));
	assert_int_equal(introduction_decode(&request.theirs, request.words, size), 0);
	rig->id = fake_id();
	fake_agree(rig->id, 4);
	assert_int_equal(connection_create(&rig->session, mode_by_number(rig->mode), rig->id,
				 rig->device, &request, &rig->connection, &failure),
		0);
	handshake_hear(peer, rig->connection->words);
	assert_int_equal(
		connection_established(rig->connection, &(struct rdma_conn_param){0}, &failure), 0);
	fake_settle();
}

int rig_start_active(struct rig *rig, struct handshake *peer, const struct secret *peers,
	uint8_t length, struct failure *failure)
{
	const struct introduction theirs = {
		.version = INTRODUCTION_VERSION,
		.mode = (uint8_t)rig->mode,
		.size = sizeof(PEER_TEXT),
		.timeout = 10000,
	};
	struct rdma_conn_param answer = {.initiator_depth = 4, .responder_resources = 4};
	uint8_t size;
	int error;

	rig->active = true;
	rig_start(rig);
	handshake_init(peer, peers, SECRET_SERVER);
	answer.private_data = handshake_introduce(peer, &theirs, &size);
	answer.private_data_len = size < length ? size : length;
	handshake_hear(peer, rig->connection->words);
	error = connection_established(rig->connection, &answer, failure);
	fake_settle();
	return error;
}

struct message rig_proof(const struct handshake *handshake)
{
	struct message message = {.type = MSG_PROOF};

	handshake_prove(handshake, message.proof);
	return message;
}
