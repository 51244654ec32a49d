/* The handshake of two programs. It stores both hellos and owns no other memory. */
#include <sodium.h>
#include <string.h>

#include "protocol/handshake.h"
#include "protocol/little-endian.h"

/*
 * Labels separate the hashes. None is a prefix of another, because each is hashed with its
 * terminating zero.
 */
static const char *const proof_labels[] = {
	[SECRET_CLIENT] = "rdmapair 2 proof of the client",
	[SECRET_SERVER] = "rdmapair 2 proof of the server",
};
static const char *const stream_labels[] = {
	[SECRET_CLIENT] = "rdmapair 2 stream of the client",
	[SECRET_SERVER] = "rdmapair 2 stream of the server",
};
static const char *const verdict_labels[] = {
	[SECRET_CLIENT] = "rdmapair 2 verdict of the client",
	[SECRET_SERVER] = "rdmapair 2 verdict of the server",
};

void handshake_init(struct handshake *handshake, const struct secret *secret, enum secret_role role)
{
	*handshake = (struct handshake){.secret = secret, .role = role};
}

const uint8_t *handshake_hello(
	struct handshake *handshake, const struct hello *hello, uint8_t *size)
{
	struct hello ours = *hello;
	uint8_t *hello_bytes = handshake->hello_bytes[handshake->role];

	ours.secret = handshake->secret;
	hello_encode(&ours, hello_bytes);
	*size = HELLO_SIZE;
	if (handshake->secret) {
		secret_nonce(hello_bytes + HELLO_SIZE);
		*size = SECRET_HELLO_SIZE;
	}
	return hello_bytes;
}

bool handshake_fits(const struct secret *secret, const struct hello *theirs, size_t length)
{
	if (!secret)
		return !theirs->secret;
	return theirs->secret && length >= SECRET_HELLO_SIZE;
}

void handshake_receive_hello(struct handshake *handshake, const void *hello_bytes)
{
	if (handshake->secret)
		memcpy(handshake->hello_bytes[handshake_peer(handshake)], hello_bytes,
			SECRET_HELLO_SIZE);
}

enum secret_role handshake_peer(const struct handshake *handshake)
{
	return handshake->role == SECRET_CLIENT ? SECRET_SERVER : SECRET_CLIENT;
}

/* Hashes the label, both hellos and optional additional bytes. */
static void keyed_hash(const struct handshake *handshake, const char *label, const void *more,
	size_t more_size, uint8_t *hash, size_t hash_size)
{
	const struct secret *secret = handshake->secret;
	crypto_generichash_state state;

	crypto_generichash_init(&state, secret->key, sizeof(secret->key), hash_size);
	crypto_generichash_update(&state, (const uint8_t *)label, strlen(label) + 1);
	for (enum secret_role role = SECRET_CLIENT; role <= SECRET_SERVER; role++)
		crypto_generichash_update(&state, handshake->hello_bytes[role], SECRET_HELLO_SIZE);
	/* The only variable-length part comes last, so the input is unambiguous. */
	crypto_generichash_update(&state, more, more_size);
	crypto_generichash_final(&state, hash, hash_size);
	sodium_memzero(&state, sizeof(state));
}

static void make_proof(
	const struct handshake *handshake, enum secret_role role, uint8_t proof[SECRET_PROOF_SIZE])
{
	keyed_hash(handshake, proof_labels[role], "", 0, proof, SECRET_PROOF_SIZE);
}

void handshake_prove(const struct handshake *handshake, uint8_t proof[SECRET_PROOF_SIZE])
{
	make_proof(handshake, handshake->role, proof);
}

bool handshake_is_proved(const struct handshake *handshake, const uint8_t proof[SECRET_PROOF_SIZE])
{
	uint8_t expected[SECRET_PROOF_SIZE];
	bool same;

	make_proof(handshake, handshake_peer(handshake), expected);
	same = sodium_memcmp(expected, proof, sizeof(expected)) == 0;
	secret_forget(expected, sizeof(expected));
	return same;
}

static void make_tag(const struct handshake *handshake, enum secret_role role, uint32_t verdict,
	uint8_t tag[SECRET_TAG_SIZE])
{
	uint8_t bytes[sizeof(verdict)];

	le_put32(bytes, verdict);
	keyed_hash(handshake, verdict_labels[role], bytes, sizeof(bytes), tag, SECRET_TAG_SIZE);
}

void handshake_sign(
	const struct handshake *handshake, uint32_t verdict, uint8_t tag[SECRET_TAG_SIZE])
{
	make_tag(handshake, handshake->role, verdict, tag);
}

bool handshake_is_signed(
	const struct handshake *handshake, uint32_t verdict, const uint8_t tag[SECRET_TAG_SIZE])
{
	uint8_t expected[SECRET_TAG_SIZE];

	make_tag(handshake, handshake_peer(handshake), verdict, expected);
	return sodium_memcmp(expected, tag, sizeof(expected)) == 0;
}

void handshake_stream_key(const struct handshake *handshake, enum secret_role role,
	const void *name, size_t name_size, uint8_t key[SECRET_KEY_SIZE])
{
	keyed_hash(handshake, stream_labels[role], name, name_size, key, SECRET_KEY_SIZE);
}
