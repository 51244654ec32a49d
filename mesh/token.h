/*
 * The one-time token of a mesh: an agent and the coordinator prove to each other that they have it,
 * without sending it. Each proof is a keyed hash (BLAKE2b of libsodium) over a label, a random
 * nonce of each end and the name of the agent, so that none can be used a second time or by the
 * other end. Any thread.
 */
#ifndef MESH_TOKEN_H
#define MESH_TOKEN_H

#include <stdbool.h>

#include "protocol/secret.h"

enum token_role { TOKEN_AGENT, TOKEN_COORDINATOR };

/* Hexadecimal texts with their terminators. */
#define TOKEN_NONCE_TEXT (2 * SECRET_NONCE_SIZE + 1)
#define TOKEN_PROOF_TEXT (2 * SECRET_PROOF_SIZE + 1)

/* What both ends know of a connection before they prove the token. */
struct token_greeting {
	const char *name;                 /* of the agent */
	char nonces[2][TOKEN_NONCE_TEXT]; /* by enum token_role */
};

/* Makes a nonce for this role. */
void token_greet(struct token_greeting *greeting, enum token_role role);

/* Stores the peer's nonce. Returns false unless it consists of enough hexadecimal digits. */
bool token_take_nonce(struct token_greeting *greeting, enum token_role role, const char *nonce);

/* Makes the proof of this role. */
void token_prove(const struct secret *token, const struct token_greeting *greeting,
	enum token_role role, char proof[TOKEN_PROOF_TEXT]);

/* Checks the peer's proof, in constant time. NULL is no proof. */
bool token_is_proved(const struct secret *token, const struct token_greeting *greeting,
	enum token_role role, const char *proof);

/* Derives the secret of the measurements between the agents, which all of them compute alike. */
void token_measuring_secret(const struct secret *token, char text[SECRET_TEXT_SIZE]);

#endif
