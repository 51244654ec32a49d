#include <string.h>

#include "handshake.h"

void handshake_init(struct handshake *handshake, const struct secret *secret, enum secret_role role)
{
	*handshake = (struct handshake){.secret = secret, .role = role};
}

const uint8_t *handshake_introduce(
	struct handshake *handshake, const struct introduction *introduction, uint8_t *size)
{
	struct introduction ours = *introduction;
	uint8_t *words = handshake->transcript.words[handshake->role];

	ours.secret = handshake->secret;
	introduction_encode(&ours, words);
	*size = INTRODUCTION_SIZE;
	if (handshake->secret) {
		secret_nonce(words + INTRODUCTION_SIZE);
		*size = SECRET_WORDS_SIZE;
	}
	return words;
}

bool handshake_fits(const struct secret *secret, const struct introduction *theirs, size_t length)
{
	if (!secret)
		return !theirs->secret;
	return theirs->secret && length >= SECRET_WORDS_SIZE;
}

void handshake_hear(struct handshake *handshake, const void *words)
{
	if (handshake->secret)
		memcpy(handshake->transcript.words[handshake_peer(handshake)], words,
			SECRET_WORDS_SIZE);
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
