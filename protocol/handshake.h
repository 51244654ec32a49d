/*
 * What each side says of itself when it connects or accepts: its introduction and, if it has a secret,
 * a nonce behind it; and what it heard of the other side. Both together are the transcript that proofs
 * and keys are bound to (protocol/secret.h). Without a secret nothing has to be proved.
 */
#ifndef PROTOCOL_HANDSHAKE_H
#define PROTOCOL_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/hello.h"
#include "protocol/secret.h"

struct handshake {
	const struct secret *secret; /* NULL: none is needed */
	enum secret_role role;       /* ours */
	struct secret_transcript transcript;
};

/* The secret outlives it. Any thread, like all functions here: the caller serialises. */
void handshake_init(
	struct handshake *handshake, const struct secret *secret, enum secret_role role);

/*
 * Writes our own words, and adds to the introduction that we have a secret. They stay where they are;
 * their size goes to *size. Once for each connection, since the nonce is to be new.
 */
const uint8_t *handshake_hello(
	struct handshake *handshake, const struct hello *hello, uint8_t *size);

/*
 * Whether the other side, which introduces itself so in that many bytes of private data, has a secret
 * if we have one, and has none if we have none.
 */
bool handshake_fits(const struct secret *secret, const struct hello *theirs, size_t length);

/* Keeps the other side's words, of which SECRET_HELLO_SIZE are there if it has a secret. */
void handshake_receive_hello(struct handshake *handshake, const void *hello_bytes);

/* Our own proof, and whether that is the other side's. */
void handshake_prove(const struct handshake *handshake, uint8_t proof[SECRET_PROOF_SIZE]);
bool handshake_is_proved(const struct handshake *handshake, const uint8_t proof[SECRET_PROOF_SIZE]);

/* The other side's role. */
enum secret_role handshake_peer(const struct handshake *handshake);

#endif
