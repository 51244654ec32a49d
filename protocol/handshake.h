/*
 * The handshake of two of our programs: each sends its hello and, with a secret, a nonce. The two
 * hellos with their nonces are the transcript that binds proofs and keys to one connection
 * (protocol/secret.h). Without a secret there is nothing to prove. Any thread; the caller
 * serialises.
 */
#ifndef PROTOCOL_HANDSHAKE_H
#define PROTOCOL_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/hello.h"
#include "protocol/secret.h"

struct handshake {
	const struct secret *secret; /* the caller's; NULL: none */
	enum secret_role role;       /* ours */
	struct secret_transcript transcript;
};

/* Begins a handshake. The secret must outlive it. */
void handshake_init(
	struct handshake *handshake, const struct secret *secret, enum secret_role role);

/*
 * Encodes our hello, with a fresh nonce if we have a secret: call it once per connection. Returns
 * the bytes, which belong to the handshake; their number goes to *size.
 */
const uint8_t *handshake_hello(
	struct handshake *handshake, const struct hello *hello, uint8_t *size);

/*
 * True if both sides have a secret, or neither does. theirs is the peer's hello, length the size of
 * the private data that it came in.
 */
bool handshake_fits(const struct secret *secret, const struct hello *theirs, size_t length);

/* Keeps the peer's hello and nonce: SECRET_HELLO_SIZE bytes if we have a secret. */
void handshake_receive_hello(struct handshake *handshake, const void *hello_bytes);

/* Makes our proof, and checks the peer's. With a secret only. */
void handshake_prove(const struct handshake *handshake, uint8_t proof[SECRET_PROOF_SIZE]);
bool handshake_is_proved(const struct handshake *handshake, const uint8_t proof[SECRET_PROOF_SIZE]);

/* The peer's role. */
enum secret_role handshake_peer(const struct handshake *handshake);

#endif
