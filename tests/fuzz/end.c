/* The steps of the fake device and of the peer. The target owns the connection. */
#include "tests/fuzz/end.h"

#include <errno.h>

#include "tests/fuzz/threads.h"

uint8_t peer_memory[PEER_MEMORY];

static void take_wakeups(struct end *end)
{
	unsigned int events;

	while (wakeup_queue_take(&end->wakeups, &events))
		end->events |= events;
}

void end_settle(struct end *end)
{
	/* Any thread may run first, but the same input must give the same order. */
	threads_settle((unsigned int)end->input.left);
	oracle_check_sends(&end->oracle);
	take_wakeups(end);
	/* A drained connection has no work request in flight on devices for which that matters. */
	if (end->events & CONNECTION_DRAINED && !end->abandoned && end->device->traits->drains)
		fuzz_check(fake_waiting(end->id) == 0 && fake_receives(end->id) == 0);
}

void end_fail_some_call(struct end *end)
{
	static const char *const functions[] = {"ibv_post_send", "ibv_post_recv", "ibv_poll_cq",
		"ibv_req_notify_cq", "ibv_modify_qp", "ibv_reg_mr", "rdma_disconnect",
		"ibv_create_cq", "rdma_create_qp", "ibv_alloc_pd", "rdma_accept", "rdma_connect",
		"ibv_query_port", "rdma_set_option", "ibv_get_cq_event"};
	uint8_t which = fuzz_byte(&end->input);

	fake_fail(functions[which % FUZZ_COUNT(functions)], fuzz_byte(&end->input) % 8, EIO);
	end->failing = true;
}

/*
 * Steps of the network and the device. After our disconnect the queue pair is in the error state:
 * nothing arrives any more, and posted work requests are flushed eventually.
 */

/* How many sends could complete now, and how many messages could arrive. */
static unsigned int sends_of(const struct end *end)
{
	return end->closed ? 0 : fake_waiting(end->id);
}

static unsigned int receives_of(const struct end *end)
{
	return end->closed ? 0 : fake_receives(end->id);
}

/*
 * Completes the oldest sends. An RDMA operation outside the peer's memory fails with a remote
 * access error.
 */
void end_complete(struct end *end)
{
	for (unsigned int count = fuzz_byte(&end->input) % 8 + 1U; count > 0; count--) {
		unsigned int waiting = sends_of(end), all = fake_sends(end->id);
		struct fake_send send;

		/* A broken queue pair flushes what is posted. */
		if (waiting == 0 || waiting > all)
			return;
		send = fake_send(end->id, all - waiting);
		if (!oracle_reaches(&end->oracle, &send)) {
			fake_complete(end->id, IBV_WC_REM_ACCESS_ERR);
			fake_break(end->id);
			return;
		}
		fake_complete(end->id, IBV_WC_SUCCESS);
	}
}

void end_fail_send(struct end *end)
{
	enum ibv_wc_status status = fuzz_byte(&end->input) % IBV_WC_GENERAL_ERR + 1U;

	if (sends_of(end) > 0)
		fake_complete(end->id, status);
	fake_break(end->id);
}

void end_fail_receive(struct end *end)
{
	enum ibv_wc_status status = fuzz_byte(&end->input) % IBV_WC_GENERAL_ERR + 1U;

	if (receives_of(end) > 0)
		fake_fail_receive(end->id, status);
	fake_break(end->id);
}

void end_break(struct end *end)
{
	fake_break(end->id);
}

/* Steps of the peer. A message for which no receive is posted is lost, not retried. */

static bool is_credit(const void *bytes, size_t length)
{
	struct message message;

	return message_decode(&message, bytes, length) == 0 && message.type == MSG_CREDIT;
}

static void receive_bytes(struct end *end, const void *bytes, size_t length)
{
	/* Whether credit is valid depends on the announcements so far, so process those first. */
	if (is_credit(bytes, length))
		end_settle(end);
	if (receives_of(end) == 0)
		return;
	end->oracle.messages++;
	oracle_receive(&end->oracle, bytes, length);
	fake_arrive(end->id, bytes, length);
}

static void receive(struct end *end, const struct message *message)
{
	uint8_t bytes[MESSAGE_MAX];

	receive_bytes(end, bytes, message_encode(message, bytes));
}

/* Sends a valid proof, one with a flipped bit, or our own one reflected. */
void peer_sends_proof(struct end *end)
{
	struct handshake peer = end->oracle.peer;
	uint8_t how = fuzz_byte(&end->input);
	struct message message = {.type = MSG_PROOF};

	if ((how & 3) == 3)
		peer.role = handshake_peer(&peer);
	if (peer.secret)
		handshake_prove(&peer, message.proof);
	if ((how & 3) == 2)
		message.proof[how >> 3] ^= (uint8_t)(1 + (how & 4));
	receive(end, &message);
}

void peer_sends_region(struct end *end)
{
	uint8_t length = fuzz_byte(&end->input), depth = fuzz_byte(&end->input);
	struct message message = {
		.type = MSG_MR,
		.address = end->oracle.sends ? length % 8U : (uintptr_t)peer_memory,
		.length = length < 0x80 ? PEER_MEMORY : length,
		.rkey = PEER_RKEY,
		.depth = depth % 16 + 1U,
	};

	receive(end, &message);
}

/* Reads a number, either a limit or an arbitrary value. */
static uint64_t any_number(struct end *end)
{
	static const uint64_t limits[] = {0, 1, PEER_MEMORY, PEER_MEMORY + 1, UINT32_MAX,
		(uint64_t)1 << 32, (uint64_t)1 << 63, UINT64_MAX - PEER_MEMORY, UINT64_MAX};
	uint8_t which = fuzz_byte(&end->input);

	return which < FUZZ_COUNT(limits) ? limits[which] : fuzz_number(&end->input, 8);
}

void peer_sends_any_region(struct end *end)
{
	struct message message = {
		.type = MSG_MR,
		.address = any_number(end),
		.length = any_number(end),
		.rkey = fuzz_byte(&end->input) & 1 ? PEER_RKEY : 0,
		.depth = (uint32_t)any_number(end),
	};

	message.text_size = fuzz_byte(&end->input);
	fuzz_bytes(&end->input, message.text, message.text_size);
	receive(end, &message);
}

/* Announces the stream up to a position, by MSG_DATA or immediate data depending on the mode. */
static void announce(struct end *end, uint64_t position, uint32_t length)
{
	struct message message = {.type = MSG_DATA, .length = position};

	if (!end->oracle.writes) {
		receive(end, &message);
		return;
	}
	if (receives_of(end) == 0)
		return;
	oracle_receive_data(&end->oracle);
	fake_arrive_immediate(end->id, length, (uint32_t)position);
}

/* True if the connection has ended from the peer's point of view. */
static bool is_over(const struct end *end)
{
	return end->closed || end->events & (CONNECTION_FINISHED | CONNECTION_DRAINED);
}

/* Sends the next bytes of its stream in one message, after it has used up the first receives. */
static void send_data(struct end *end, size_t size)
{
	struct oracle *oracle = &end->oracle;
	struct message message = {.type = MSG_DATA};
	uint8_t bytes[MESSAGE_SIZE + 8 * UINT8_MAX];

	if (size > oracle->offered.length)
		size = (size_t)oracle->offered.length;
	while (oracle->messages < oracle->offered.address && receives_of(end) > 0)
		receive_bytes(end, "", 0);
	if (receives_of(end) == 0)
		return;
	for (size_t i = 0; i < size; i++) {
		bytes[MESSAGE_SIZE + i] = (uint8_t)((oracle->streamed + i) * 5 + 1);
		if (!oracle->received[MSG_DONE])
			oracle->stream[oracle->streamed + i] = bytes[MESSAGE_SIZE + i];
	}
	message.length = oracle->streamed + size;
	if (!oracle->received[MSG_DONE])
		oracle->streamed += size;
	message_encode(&message, bytes);
	oracle->messages++;
	oracle_receive_data(oracle);
	fake_arrive(end->id, bytes, MESSAGE_SIZE + size);
}

/* Writes or sends the next bytes of its stream, or provides them for READ, and announces them. */
void peer_sends_data(struct end *end)
{
	struct oracle *oracle = &end->oracle;
	const struct message *offered = &oracle->offered;
	uint64_t ring = oracle->writes ? offered->length : oracle->region.length;
	uint8_t *start = oracle->writes ? (uint8_t *)(uintptr_t)offered->address : peer_memory;
	size_t size = (size_t)8 * fuzz_byte(&end->input);

	if (!oracle->sent[MSG_MR] || !oracle->received[MSG_MR] || is_over(end) ||
		oracle->streamed + size > ORACLE_STREAM_MAX)
		return;
	if (oracle->sends) {
		send_data(end, size);
		return;
	}
	if (!oracle->writes && (ring > PEER_MEMORY || oracle->region.rkey != PEER_RKEY))
		return;
	/* The stream has ended, so announce more bytes without changing it. */
	if (oracle->received[MSG_DONE]) {
		announce(end, oracle->streamed + size, (uint32_t)size);
		return;
	}
	for (size_t i = 0; i < size; i++) {
		uint8_t byte = (uint8_t)(oracle->streamed * 3 + 1);

		start[oracle->streamed % ring] = byte;
		oracle->stream[oracle->streamed++] = byte;
	}
	announce(end, oracle->streamed, (uint32_t)size);
}

/* Announces data that it has not written. */
void peer_announces_anything(struct end *end)
{
	uint64_t position = fuzz_number(&end->input, fuzz_byte(&end->input) & 1 ? 8 : 2);

	end->oracle.unknown_data = true;
	announce(end, position, (uint32_t)position);
}

/* Writes into our memory when the protocol forbids it but the hardware allows it. */
void peer_writes_memory(struct end *end)
{
	const struct message *offered = &end->oracle.offered;

	if (!end->oracle.writes || !end->oracle.sent[MSG_MR] || is_over(end))
		return;
	end->oracle.unknown_data = true;
	((uint8_t *)(uintptr_t)offered->address)[fuzz_number(&end->input, 2) % offered->length] ^=
		0xff;
}

void peer_gives_credit(struct end *end)
{
	const struct oracle *oracle = &end->oracle;
	uint8_t how = fuzz_byte(&end->input);
	struct message message = {.type = MSG_CREDIT,
		.length = oracle->announced,
		.pieces = oracle->pieces_announced};

	if (how & 1)
		message.length = fuzz_number(&end->input, how & 2 ? 8 : 2);
	if (how & 4)
		message.pieces = fuzz_number(&end->input, how & 8 ? 8 : 1);
	receive(end, &message);
}

void peer_sends_done(struct end *end)
{
	const struct oracle *oracle = &end->oracle;
	uint8_t how = fuzz_byte(&end->input);
	struct message message = {
		.type = MSG_DONE,
		.length = oracle->streamed + (how & 1),
		.digest = oracle_digest(oracle),
	};

	message.digest.bytes[0] ^= how & 2;
	receive(end, &message);
}

void peer_sends_verdict(struct end *end)
{
	const struct handshake *peer = &end->oracle.peer;
	uint8_t how = fuzz_byte(&end->input);
	struct message message = {.type = MSG_VERDICT, .verdict = how % 4 / 2};

	if (peer->secret)
		handshake_sign(peer, message.verdict, message.digest.bytes);
	message.digest.bytes[how >> 4] ^= how & 4;
	receive(end, &message);
}

/* Sends arbitrary bytes, possibly more than a receive can hold. */
void peer_sends_any_message(struct end *end)
{
	uint8_t bytes[2 * UINT8_MAX] = {0};
	size_t size = (size_t)2 * fuzz_byte(&end->input);

	end->oracle.unknown_data = true;
	fuzz_bytes(&end->input, bytes, size);
	receive_bytes(end, bytes, size);
}

/* Sends an empty message of any type. */
void peer_sends_type(struct end *end)
{
	struct message message = {.type = fuzz_byte(&end->input) % (MSG_TYPES + 1U)};

	end->oracle.unknown_data = true;
	receive(end, &message);
}

void peer_sends_keepalive(struct end *end)
{
	receive_bytes(end, "", 0);
}
