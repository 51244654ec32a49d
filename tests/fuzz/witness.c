#include "witness.h"

#include "fuzz.h"
#include "lib/sink.h"

/* The digest of a stream whose sender told of it by that MSG_MR. */
static struct digest digest_by(const struct witness *witness, enum secret_role role,
	const struct message *region, const uint8_t *bytes, size_t size)
{
	const struct handshake *peer = &witness->peer;
	uint8_t key[SECRET_KEY_SIZE];

	if (!peer->secret)
		return digest_of(bytes, size);
	secret_stream_key(
		peer->secret, &peer->transcript, role, region->text, region->text_size, key);
	return digest_of_keyed(key, bytes, size);
}

struct digest witness_digest(const struct witness *witness)
{
	return digest_by(
		witness, witness->peer.role, &witness->region, witness->stream, witness->streamed);
}

static bool is_right_proof(const struct witness *witness, const struct message *message)
{
	uint8_t proof[SECRET_PROOF_SIZE];

	if (!witness->peer.secret)
		return false;
	handshake_prove(&witness->peer, proof);
	return memcmp(proof, message->proof, sizeof(proof)) == 0;
}

/* True if that role has signed the verdict, or need not. */
static bool is_signed(
	const struct witness *witness, enum secret_role role, const struct message *verdict)
{
	const struct handshake *peer = &witness->peer;

	return !peer->secret || secret_is_tag(peer->secret, &peer->transcript, role,
					verdict->verdict, verdict->digest.bytes);
}

/* True if it may not come now. What comes after the verdict changes nothing. */
static bool breaks_order(const struct witness *witness, const struct message *message)
{
	switch (message->type) {
	case MSG_PROOF:
		return witness->heard[MSG_PROOF] || !is_right_proof(witness, message);
	case MSG_MR:
		return witness->heard[MSG_MR] || !witness->proved;
	case MSG_DONE:
		return witness->heard[MSG_DONE] || !witness->heard[MSG_MR];
	case MSG_VERDICT:
		return !witness->heard[MSG_DONE] ||
		       !is_signed(witness, witness->peer.role, message);
	case MSG_DATA:
		return witness->heard[MSG_DONE] || !witness->heard[MSG_MR];
	case MSG_ABORT:
		return true;
	default:
		return false;
	}
}

static void note_order(struct witness *witness, const struct message *message)
{
	if (!witness->tutorial && !witness->heard[MSG_VERDICT] && breaks_order(witness, message))
		witness->broken = true;
}

void witness_hear_data(struct witness *witness)
{
	note_order(witness, &(struct message){.type = MSG_DATA});
}

void witness_hear(struct witness *witness, const void *bytes, size_t length)
{
	struct message message;

	if (message_decode(&message, bytes, length))
		return;
	note_order(witness, &message);
	if (message.type == MSG_PROOF && witness->peer.secret && !witness->heard[MSG_PROOF])
		witness->proved = !witness->broken && is_right_proof(witness, &message);
	/* A second one ends the exchange, and changes nothing that was agreed. */
	if (message.type == MSG_MR && !witness->heard[MSG_MR])
		witness->region = message;
	if (message.type == MSG_DONE && !witness->heard[MSG_DONE])
		witness->done = message;
	if (message.type == MSG_VERDICT && !witness->heard[MSG_VERDICT])
		witness->verified = message.verdict == VERDICT_VERIFIED;
	if (message.type == MSG_CREDIT && message.length >= witness->credited &&
		message.length <= witness->told && message.pieces >= witness->pieces &&
		message.pieces <= witness->pieces_told) {
		witness->credited = message.length;
		witness->pieces = message.pieces;
	}
	witness->heard[message.type] = true;
}

/* True if these bytes lie in memory of that address and length. */
static bool is_inside(uint64_t address, uint64_t size, uint64_t start, uint64_t length)
{
	return address >= start && size <= length && address - start <= length - size;
}

bool witness_reaches(const struct witness *witness, const struct fake_send *send)
{
	return send->opcode == IBV_WR_SEND ||
	       is_inside(send->remote_address, send->piece.length, (uintptr_t)witness->memory,
		       witness->memory_size);
}

/* One more piece of our stream is told of: the peer has a receive for it. */
static void look_at_piece(struct witness *witness, uint64_t position)
{
	fuzz_check(position > witness->told);
	witness->told = position;
	witness->pieces_told++;
	fuzz_check(witness->pieces_told - witness->pieces <= witness->region.depth);
	fuzz_check(witness->told - witness->credited <= WITNESS_STREAM_MAX);
}

/* RDMA goes only where the peer has said that it may, and overwrites nothing that it still needs. */
static void look_at_rdma(struct witness *witness, const struct fake_send *send)
{
	const struct message *region = &witness->region;

	fuzz_check(witness->proved && witness->heard[MSG_MR] && witness->said[MSG_MR]);
	fuzz_check(send->rkey == region->rkey);
	fuzz_check(is_inside(
		send->remote_address, send->piece.length, region->address, region->length));
	fuzz_check(witness->writes == (send->opcode != IBV_WR_RDMA_READ));
	if (!witness->writes)
		return;
	fuzz_check(!witness->said[MSG_DONE]);
	if (!witness->tutorial)
		fuzz_check(send->remote_address ==
			   region->address + witness->written % region->length);
	witness->written += send->piece.length;
	fuzz_check(witness->written - witness->credited <= region->length);
	fuzz_check(witness->written <= witness->ours_size);
	if (send->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		fuzz_check(send->immediate == (uint32_t)witness->written);
		look_at_piece(witness, witness->written);
	}
}

/* The region that the message tells of is registered, with the one right that the mode needs. */
static void check_region(const struct witness *witness, const struct message *message,
	const struct ibv_mr *region, int access)
{
	int wanted = witness->writes ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ;

	fuzz_check(region->rkey == message->rkey);
	fuzz_check(message->address == (uintptr_t)region->addr);
	fuzz_check(message->length == region->length);
	fuzz_check((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				     IBV_ACCESS_REMOTE_ATOMIC)) == wanted);
}

/* What we offer is there, unless the peer has said already that it needs it no more. */
static void look_at_region(struct witness *witness, const struct message *message)
{
	int access = 0;
	const struct ibv_mr *region = fake_region(message->rkey, &access);

	fuzz_check(witness->active || witness->heard[MSG_MR]);
	fuzz_check(!witness->peer.secret || witness->said[MSG_PROOF]);
	if (region)
		check_region(witness, message, region, access);
	else
		fuzz_check(witness->heard[witness->writes ? MSG_DONE : MSG_VERDICT]);
	witness->offered = *message;
}

static void look_at_done(const struct witness *witness, const struct message *message)
{
	struct digest digest = digest_by(witness, handshake_peer(&witness->peer), &witness->offered,
		witness->ours, witness->ours_size);

	fuzz_check(witness->heard[MSG_MR]);
	if (witness->tutorial)
		return;
	fuzz_check(message->length == witness->ours_size);
	fuzz_check(witness->told == witness->ours_size);
	fuzz_check(digest_equal(&message->digest, &digest));
}

/* True if the peer's stream is what its MSG_DONE says, as far as it was sent in good order. */
static bool is_whole(const struct witness *witness)
{
	struct digest digest = witness_digest(witness);

	return witness->done.length == witness->streamed &&
	       digest_equal(&witness->done.digest, &digest);
}

static void look_at_verdict(const struct witness *witness, const struct message *message)
{
	bool verified = message->verdict == VERDICT_VERIFIED;

	fuzz_check(!witness->tutorial && witness->heard[MSG_DONE] && witness->said[MSG_DONE]);
	fuzz_check(is_signed(witness, handshake_peer(&witness->peer), message));
	fuzz_check(witness->odd || verified == is_whole(witness));
}

/* Our proof is right, and the passive side's answers one that is. */
static void look_at_proof(const struct witness *witness, const struct message *message)
{
	fuzz_check(witness->peer.secret && (witness->active || witness->proved));
	fuzz_check(handshake_is_proved(&witness->peer, message->proof));
}

static void look_at_message(struct witness *witness, const struct fake_send *send)
{
	struct message message;

	/* Of no bytes: a sign of life. */
	if (send->piece.length == 0)
		return;
	fuzz_check(message_decode(&message, send->bytes, send->piece.length) == 0);
	fuzz_check(!witness->said[MSG_ABORT]);
	/* A stranger hears no more than that it is one. */
	fuzz_check(witness->proved || message.type == MSG_PROOF || message.type == MSG_ABORT);
	switch (message.type) {
	case MSG_PROOF:
		look_at_proof(witness, &message);
		break;
	case MSG_MR:
		look_at_region(witness, &message);
		break;
	case MSG_DONE:
		look_at_done(witness, &message);
		break;
	case MSG_DATA:
		fuzz_check(message.length <=
			   (witness->writes ? witness->written : witness->ours_size));
		look_at_piece(witness, message.length);
		break;
	case MSG_VERDICT:
		look_at_verdict(witness, &message);
		break;
	default:
		break;
	}
	witness->said[message.type]++;
	if (message.type != MSG_DATA && message.type != MSG_CREDIT)
		fuzz_check(witness->said[message.type] == 1);
}

void witness_look(struct witness *witness)
{
	/*
	 * Nobody but who holds the secret has any of our memory. iWARP wants the right for what we
	 * READ into, too; its key goes to nobody.
	 */
	fuzz_check(witness->proved || (witness->iwarp && !witness->writes) || !fake_is_exposed());
	for (; witness->looked_at < fake_sends(witness->id); witness->looked_at++) {
		const struct fake_send send = fake_send(witness->id, witness->looked_at);

		if (send.opcode == IBV_WR_SEND)
			look_at_message(witness, &send);
		else
			look_at_rdma(witness, &send);
	}
}

/* What the peer's memory holds at the end is the last of what we sent. */
static void judge_memory(const struct witness *witness)
{
	const struct message *region = &witness->region;
	uint64_t from = 0;

	if (!is_inside(region->address, region->length, (uintptr_t)witness->memory,
		    witness->memory_size))
		return;
	if (witness->ours_size > region->length)
		from = witness->ours_size - region->length;
	for (; from < witness->ours_size; from++) {
		const uint8_t *at = (const uint8_t *)(uintptr_t)region->address;

		fuzz_check(at[from % region->length] == witness->ours[from]);
	}
}

void witness_judge(const struct witness *witness, const struct failure *outcome)
{
	if (failure_is_set(outcome)) {
		fuzz_check(failure_status(outcome) != STATUS_OK);
		return;
	}
	fuzz_check(!witness->broken && witness->proved);
	fuzz_check(witness->said[MSG_PROOF] == (witness->peer.secret ? 1 : 0));
	fuzz_check(witness->heard[MSG_MR] && witness->heard[MSG_DONE]);
	fuzz_check(witness->said[MSG_MR] == 1 && witness->said[MSG_DONE] == 1);
	if (witness->writes)
		judge_memory(witness);
	if (witness->tutorial)
		return;
	fuzz_check(witness->heard[MSG_VERDICT] && witness->verified);
	fuzz_check(witness->said[MSG_VERDICT] == 1);
	fuzz_check(witness->odd || is_whole(witness));
}
