/*
 * The handshake of two of our programs: each sends its hello and, with a secret, a nonce. Without a
 * secret, there is nothing to prove.
 *
 * Every value derived from the secret is a keyed hash (BLAKE2b of libsodium) over a label and the
 * hellos of both sides with their nonces, byte for byte. A proof is therefore useless on another
 * connection or in the opposite direction. See docs/protocol.md, "Authentication with a secret". An
 * attacker who receives a proof can test guesses of the secret against it, so secrets must be
 * random.
 *
 * Any thread; the caller serialises.
 */
#ifndef PROTOCOL_HANDSHAKE_H
#define PROTOCOL_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/hello.h"
#include "protocol/secret.h"

struct handshake {
	const struct secret *secret;               /* owned by the caller; NULL: none */
	enum secret_role role;                     /* of the local side */
	uint8_t hello_bytes[2][SECRET_HELLO_SIZE]; /* the private data that each role sent */
};

/* Starts a handshake. The secret must outlive it. */
void handshake_init(
	struct handshake *handshake, const struct secret *secret, enum secret_role role);

/*
 * Encodes our hello, with a fresh nonce if we have a secret: call it once per connection. Returns
 * the bytes, which belong to the handshake, and stores their number in *size.
 */
const uint8_t *handshake_hello(
	struct handshake *handshake, const struct hello *hello, uint8_t *size);

/*
 * True if both sides have a secret, or neither does. theirs is the peer's hello, length the size of
 * the private data that contained it.
 */
bool handshake_fits(const struct secret *secret, const struct hello *theirs, size_t length);

/* Stores the peer's hello and nonce, SECRET_HELLO_SIZE bytes. Does nothing without a secret. */
void handshake_receive_hello(struct handshake *handshake, const void *hello_bytes);

/* Returns the peer's role. */
enum secret_role handshake_peer(const struct handshake *handshake);

/* The functions below require a secret. Checks take constant time. */

/* Creates the proof that we hold the secret; verifies the peer's. */
void handshake_prove(const struct handshake *handshake, uint8_t proof[SECRET_PROOF_SIZE]);
bool handshake_is_proved(const struct handshake *handshake, const uint8_t proof[SECRET_PROOF_SIZE]);

/* Creates the tag that authenticates our verdict; verifies the tag of the peer's. */
void handshake_sign(
	const struct handshake *handshake, uint32_t verdict, uint8_t tag[SECRET_TAG_SIZE]);
bool handshake_is_signed(
	const struct handshake *handshake, uint32_t verdict, const uint8_t tag[SECRET_TAG_SIZE]);

/*
 * Derives the key for the digest of the stream that this role sends under this name, which may be
 * empty.
 */
void handshake_stream_key(const struct handshake *handshake, enum secret_role role,
	const void *name, size_t name_size, uint8_t key[SECRET_KEY_SIZE]);

#endif
