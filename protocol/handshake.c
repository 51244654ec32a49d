/* The handshake of two programs; it keeps both hellos and owns no memory. */
#include <string.h>

#include "protocol/handshake.h"

void handshake_init(struct handshake *handshake, const struct secret *secret, enum secret_role role)
{
	*handshake = (struct handshake){.secret = secret, .role = role};
}

const uint8_t *handshake_hello(
	struct handshake *handshake, const struct hello *hello, uint8_t *size)
{
	struct hello ours = *hello;
	uint8_t *hello_bytes = handshake->transcript.hello_bytes[handshake->role];

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
		memcpy(handshake->transcript.hello_bytes[handshake_peer(handshake)], hello_bytes,
			SECRET_HELLO_SIZE);
}

void handshake_prove(const struct handshake *handshake, uint8_t proof[SECRET_PROOF_SIZE])
{
	secret_prove(handshake->secret, &handshake->transcript, handshake->role, proof);
}

bool handshake_is_proved(const struct handshake *handshake, const uint8_t proof[SECRET_PROOF_SIZE])
{
	return secret_is_proof(
		handshake->secret, &handshake->transcript, handshake_peer(handshake), proof);
}

enum secret_role handshake_peer(const struct handshake *handshake)
{
	return handshake->role == SECRET_CLIENT ? SECRET_SERVER : SECRET_CLIENT;
}
