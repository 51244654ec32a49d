/* See mesh/token.h. */
#include <sodium.h>
#include <string.h>

#include "mesh/token.h"

/* Labels separate the hashes; none is a prefix of another, with its terminating zero. */
static const char *const proof_labels[] = {
	[TOKEN_AGENT] = "rdmapair mesh proof of the agent",
	[TOKEN_COORDINATOR] = "rdmapair mesh proof of the coordinator",
};
static const char measuring_label[] = "rdmapair mesh secret of measurements";

void token_greet(struct token_greeting *greeting, enum token_role role)
{
	uint8_t nonce[SECRET_NONCE_SIZE];

	secret_nonce(nonce);
	sodium_bin2hex(greeting->nonces[role], TOKEN_NONCE_TEXT, nonce, sizeof(nonce));
}

bool token_take_nonce(struct token_greeting *greeting, enum token_role role, const char *nonce)
{
	if (!nonce || strlen(nonce) != TOKEN_NONCE_TEXT - 1 ||
		strspn(nonce, "0123456789abcdef") != TOKEN_NONCE_TEXT - 1)
		return false;
	memcpy(greeting->nonces[role], nonce, TOKEN_NONCE_TEXT);
	return true;
}

/* Hashes texts with their terminating zeros. */
static void add(crypto_generichash_state *state, const char *text)
{
	crypto_generichash_update(state, (const uint8_t *)text, strlen(text) + 1);
}

void token_prove(const struct secret *token, const struct token_greeting *greeting,
	enum token_role role, char proof[TOKEN_PROOF_TEXT])
{
	uint8_t hash[SECRET_PROOF_SIZE];
	crypto_generichash_state state;

	crypto_generichash_init(&state, token->key, sizeof(token->key), sizeof(hash));
	add(&state, proof_labels[role]);
	add(&state, greeting->nonces[TOKEN_AGENT]);
	add(&state, greeting->nonces[TOKEN_COORDINATOR]);
	add(&state, greeting->name);
	crypto_generichash_final(&state, hash, sizeof(hash));
	sodium_memzero(&state, sizeof(state));
	sodium_bin2hex(proof, TOKEN_PROOF_TEXT, hash, sizeof(hash));
}

bool token_is_proved(const struct secret *token, const struct token_greeting *greeting,
	enum token_role role, const char *proof)
{
	char expected[TOKEN_PROOF_TEXT];
	bool same;

	if (!proof || strlen(proof) != TOKEN_PROOF_TEXT - 1)
		return false;
	token_prove(token, greeting, role, expected);
	same = sodium_memcmp(expected, proof, sizeof(expected)) == 0;
	secret_forget(expected, sizeof(expected));
	return same;
}

void token_measuring_secret(const struct secret *token, char text[SECRET_TEXT_SIZE])
{
	uint8_t hash[SECRET_PROOF_SIZE];

	crypto_generichash(hash, sizeof(hash), (const uint8_t *)measuring_label,
		sizeof(measuring_label), token->key, sizeof(token->key));
	sodium_bin2hex(text, SECRET_TEXT_SIZE, hash, sizeof(hash));
	secret_forget(hash, sizeof(hash));
}
