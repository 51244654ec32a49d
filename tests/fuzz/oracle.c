/* Checks the sends of one end against what its peer sent. Does not modify the connection. */
#include "tests/fuzz/oracle.h"
#include "base/explain.h"

#include "stream/sink.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/common/digest-fixture.h"

/* A larger number in MSG_MR is refused: exchange/send.c. */
#define FIRST_RECEIVES_MAX 64

/* Returns the digest of a stream whose sender sent this MSG_MR. */
static struct digest digest_by(const struct oracle *oracle, enum secret_role role,
	const struct message *region, const uint8_t *bytes, size_t size)
{
	const struct handshake *peer = &oracle->peer;
	uint8_t key[SECRET_KEY_SIZE];

	if (!peer->secret)
		return digest_of(bytes, size);
	handshake_stream_key(peer, role, region->text, region->text_size, key);
	return reference_digest(key, bytes, size, DIGEST_STREAM);
}

struct digest oracle_digest(const struct oracle *oracle)
{
	return digest_by(
		oracle, oracle->peer.role, &oracle->region, oracle->stream, oracle->streamed);
}

static bool is_right_proof(const struct oracle *oracle, const struct message *message)
{
	uint8_t proof[SECRET_PROOF_SIZE];

	if (!oracle->peer.secret)
		return false;
	handshake_prove(&oracle->peer, proof);
	return memcmp(proof, message->proof, sizeof(proof)) == 0;
}

/* True if this role has signed the verdict, or there is no secret. */
static bool is_signed(
	const struct oracle *oracle, enum secret_role role, const struct message *verdict)
{
	struct handshake other = oracle->peer;

	other.role = !role;
	return !other.secret ||
	       handshake_is_signed(&other, verdict->verdict, verdict->digest.bytes);
}

/* True if the message violates the order. Messages after the verdict are not checked. */
static bool breaks_order(const struct oracle *oracle, const struct message *message)
{
	switch (message->type) {
	case MSG_PROOF:
		return oracle->received[MSG_PROOF] || !is_right_proof(oracle, message);
	case MSG_MR:
		return oracle->received[MSG_MR] || !oracle->proved;
	case MSG_DONE:
		return oracle->received[MSG_DONE] || !oracle->received[MSG_MR];
	case MSG_VERDICT:
		return !oracle->received[MSG_DONE] ||
		       !is_signed(oracle, oracle->peer.role, message);
	case MSG_DATA:
		return oracle->received[MSG_DONE] || !oracle->received[MSG_MR];
	case MSG_ABORT:
		return true;
	default:
		return false;
	}
}

static void record_order(struct oracle *oracle, const struct message *message)
{
	if (!oracle->tutorial && !oracle->received[MSG_VERDICT] && breaks_order(oracle, message))
		oracle->broken = true;
}

void oracle_receive_data(struct oracle *oracle)
{
	record_order(oracle, &(struct message){.type = MSG_DATA});
}

void oracle_receive(struct oracle *oracle, const void *bytes, size_t length)
{
	struct message message;

	if (message_decode(&message, bytes, length))
		return;
	record_order(oracle, &message);
	if (message.type == MSG_PROOF && oracle->peer.secret && !oracle->received[MSG_PROOF])
		oracle->proved = !oracle->broken && is_right_proof(oracle, &message);
	/* A repeated message ends the exchange without replacing the first. */
	if (message.type == MSG_MR && !oracle->received[MSG_MR])
		oracle->region = message;
	if (message.type == MSG_DONE && !oracle->received[MSG_DONE])
		oracle->done = message;
	if (message.type == MSG_VERDICT && !oracle->received[MSG_VERDICT])
		oracle->verified = message.verdict == VERDICT_VERIFIED;
	if (message.type == MSG_CREDIT && message.length >= oracle->credited &&
		message.length <= oracle->announced && message.pieces >= oracle->pieces &&
		message.pieces <= oracle->pieces_announced) {
		oracle->credited = message.length;
		oracle->pieces = message.pieces;
	}
	oracle->received[message.type] = true;
}

/* True if the bytes at `address` are within the memory at `start`. */
static bool is_inside(uint64_t address, uint64_t size, uint64_t start, uint64_t length)
{
	return address >= start && size <= length && address - start <= length - size;
}

bool oracle_reaches(const struct oracle *oracle, const struct fake_send *send)
{
	/* The memory key and address of an operation on 0 bytes are not checked. */
	return send->opcode == IBV_WR_SEND || send->piece.length == 0 ||
	       is_inside(send->remote_address, send->piece.length, (uintptr_t)oracle->memory,
		       oracle->memory_size);
}

/* Records the announcement of a piece of our stream, for which the peer must have a receive. */
static void check_sent_piece(struct oracle *oracle, uint64_t position)
{
	fuzz_check(position > oracle->announced);
	oracle->announced = position;
	oracle->pieces_announced++;
	fuzz_check(oracle->pieces_announced - oracle->pieces <= oracle->region.depth);
	fuzz_check(oracle->announced - oracle->credited <= ORACLE_STREAM_MAX);
}

/*
 * On iWARP, a client makes the server read its first message by WRITEs of 0 bytes, for which it
 * needs no memory key, so they may come before the proof and MSG_MR.
 */
static bool is_wakeup(const struct oracle *oracle, const struct fake_send *send)
{
	return oracle->iwarp && oracle->active && send->opcode == IBV_WR_RDMA_WRITE &&
	       send->piece.length == 0 && send->rkey == 0;
}

/* RDMA stays within the region that the peer offered, and overwrites no data still in use. */
static void check_sent_rdma(struct oracle *oracle, const struct fake_send *send)
{
	const struct message *region = &oracle->region;

	if (is_wakeup(oracle, send))
		return;
	fuzz_check(!oracle->sends);
	fuzz_check(oracle->proved && oracle->received[MSG_MR] && oracle->sent[MSG_MR]);
	fuzz_check(send->rkey == region->rkey);
	fuzz_check(is_inside(
		send->remote_address, send->piece.length, region->address, region->length));
	fuzz_check(oracle->writes == (send->opcode != IBV_WR_RDMA_READ));
	if (!oracle->writes)
		return;
	fuzz_check(!oracle->sent[MSG_DONE]);
	if (!oracle->tutorial)
		fuzz_check(
			send->remote_address == region->address + oracle->written % region->length);
	oracle->written += send->piece.length;
	fuzz_check(oracle->written - oracle->credited <= region->length);
	fuzz_check(oracle->written <= oracle->ours_size);
	if (send->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		fuzz_check(send->immediate == (uint32_t)oracle->written);
		check_sent_piece(oracle, oracle->written);
	}
}

/* The offered region is registered, with only the access right that the mode needs. */
static void check_region(const struct oracle *oracle, const struct message *message,
	const struct ibv_mr *region, int access)
{
	int wanted = oracle->writes ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ;

	fuzz_check(region->rkey == message->rkey);
	fuzz_check(message->address == (uintptr_t)region->addr);
	fuzz_check(message->length == region->length);
	fuzz_check((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				     IBV_ACCESS_REMOTE_ATOMIC)) == wanted);
}

/* The offered region must be registered unless the peer no longer needs it. */
static void check_sent_region(struct oracle *oracle, const struct message *message)
{
	int access = 0;
	const struct ibv_mr *region = fake_region(message->rkey, &access);

	fuzz_check(oracle->active || oracle->received[MSG_MR]);
	fuzz_check(!oracle->peer.secret || oracle->sent[MSG_PROOF]);
	if (oracle->sends)
		fuzz_check(message->rkey == 0 && message->address <= FIRST_RECEIVES_MAX);
	else if (region)
		check_region(oracle, message, region, access);
	else
		fuzz_check(oracle->received[oracle->writes ? MSG_DONE : MSG_VERDICT]);
	oracle->offered = *message;
}

static void check_sent_done(const struct oracle *oracle, const struct message *message)
{
	struct digest digest = digest_by(oracle, handshake_peer(&oracle->peer), &oracle->offered,
		oracle->ours, oracle->ours_size);

	fuzz_check(oracle->received[MSG_MR]);
	if (oracle->tutorial)
		return;
	fuzz_check(message->length == oracle->ours_size);
	fuzz_check(oracle->announced == oracle->ours_size);
	fuzz_check(digest_equal(&message->digest, &digest));
}

/* True if the peer's stream matches its MSG_DONE. */
static bool is_whole(const struct oracle *oracle)
{
	struct digest digest = oracle_digest(oracle);

	return oracle->done.length == oracle->streamed &&
	       digest_equal(&oracle->done.digest, &digest);
}

static void check_sent_verdict(const struct oracle *oracle, const struct message *message)
{
	bool verified = message->verdict == VERDICT_VERIFIED;

	fuzz_check(!oracle->tutorial && oracle->received[MSG_DONE] && oracle->sent[MSG_DONE]);
	fuzz_check(is_signed(oracle, handshake_peer(&oracle->peer), message));
	fuzz_check(oracle->unknown_data || verified == is_whole(oracle));
}

/* Our proof is valid, and the passive side sends it only after a valid one. */
static void check_sent_proof(const struct oracle *oracle, const struct message *message)
{
	fuzz_check(oracle->peer.secret && (oracle->active || oracle->proved));
	fuzz_check(handshake_is_proved(&oracle->peer, message->proof));
}

/* In send mode, a piece fits into the peer's slots, none of which is a first receive. */
static void check_sent_data(
	struct oracle *oracle, const struct fake_send *send, const struct message *message)
{
	const struct message *region = &oracle->region;
	uint64_t from = oracle->announced;

	fuzz_check(oracle->received[MSG_MR] && oracle->sent[MSG_MR] && !oracle->sent[MSG_DONE]);
	fuzz_check(oracle->messages_sent >= region->address);
	fuzz_check(send->data.length > 0 && send->data.length <= region->length);
	fuzz_check(message->length == from + send->data.length);
	fuzz_check(message->length <= oracle->ours_size);
	fuzz_check(memcmp((const void *)(uintptr_t)send->data.addr, oracle->ours + from,
			   send->data.length) == 0);
}

static void check_sent_message(struct oracle *oracle, const struct fake_send *send)
{
	struct message message;

	/* A keepalive is empty. */
	if (send->piece.length == 0)
		return;
	fuzz_check(message_decode(&message, send->bytes, send->piece.length) == 0);
	fuzz_check(!oracle->sent[MSG_ABORT]);
	/* To an unauthenticated peer we send only a proof or an abort. */
	fuzz_check(oracle->proved || message.type == MSG_PROOF || message.type == MSG_ABORT);
	switch (message.type) {
	case MSG_PROOF:
		check_sent_proof(oracle, &message);
		break;
	case MSG_MR:
		check_sent_region(oracle, &message);
		break;
	case MSG_DONE:
		check_sent_done(oracle, &message);
		break;
	case MSG_DATA:
		if (oracle->sends)
			check_sent_data(oracle, send, &message);
		fuzz_check(
			message.length <= (oracle->writes ? oracle->written : oracle->ours_size));
		check_sent_piece(oracle, message.length);
		break;
	case MSG_VERDICT:
		check_sent_verdict(oracle, &message);
		break;
	default:
		break;
	}
	oracle->sent[message.type]++;
	if (message.type != MSG_DATA && message.type != MSG_CREDIT)
		fuzz_check(oracle->sent[message.type] == 1);
}

void oracle_check_sends(struct oracle *oracle)
{
	bool reads = !oracle->writes && !oracle->sends;

	/*
	 * Only an authenticated peer has access to our memory, and in send mode none. iWARP
	 * requires the remote write right for the sink of a READ, too; its key is never sent.
	 */
	fuzz_check((oracle->proved && !oracle->sends) || (oracle->iwarp && reads) ||
		   !fake_is_exposed());
	for (; oracle->checked < fake_sends(oracle->id); oracle->checked++) {
		const struct fake_send send = fake_send(oracle->id, oracle->checked);

		if (send.opcode == IBV_WR_SEND)
			check_sent_message(oracle, &send);
		else
			check_sent_rdma(oracle, &send);
		oracle->messages_sent += send.opcode == IBV_WR_SEND;
	}
}

/* At the end, the peer's memory must contain the last bytes that we sent. */
static void check_memory(const struct oracle *oracle)
{
	const struct message *region = &oracle->region;
	uint64_t from = 0;

	if (!is_inside(region->address, region->length, (uintptr_t)oracle->memory,
		    oracle->memory_size))
		return;
	if (oracle->ours_size > region->length)
		from = oracle->ours_size - region->length;
	for (; from < oracle->ours_size; from++) {
		const uint8_t *at = (const uint8_t *)(uintptr_t)region->address;

		fuzz_check(at[from % region->length] == oracle->ours[from]);
	}
}

void oracle_judge(const struct oracle *oracle, const struct failure *outcome)
{
	if (failure_is_set(outcome)) {
		fuzz_check(explain_status(outcome) != STATUS_OK);
		return;
	}
	fuzz_check(!oracle->broken && oracle->proved);
	fuzz_check(oracle->sent[MSG_PROOF] == (oracle->peer.secret ? 1 : 0));
	fuzz_check(oracle->received[MSG_MR] && oracle->received[MSG_DONE]);
	fuzz_check(oracle->sent[MSG_MR] == 1 && oracle->sent[MSG_DONE] == 1);
	if (oracle->writes)
		check_memory(oracle);
	if (oracle->tutorial)
		return;
	fuzz_check(oracle->received[MSG_VERDICT] && oracle->verified);
	fuzz_check(oracle->sent[MSG_VERDICT] == 1);
	fuzz_check(oracle->unknown_data || is_whole(oracle));
}
