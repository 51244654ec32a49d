/*
 * The secret that both programs may read from a file, and what they derive from it: proofs that
 * each side holds it, and keys for the data of one connection. It never leaves the process.
 *
 * Every derived value is a keyed hash (BLAKE2b of libsodium) over a label and the transcript: the
 * hellos of both sides with their fresh nonces, byte for byte. Therefore a proof is worthless on
 * another connection and in the opposite direction. See docs/protocol.md, "With a secret".
 *
 * An attacker who receives a proof can test guesses of the secret against it: secrets must be
 * random.
 */
#ifndef PROTOCOL_SECRET_H
#define PROTOCOL_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"
#include "protocol/hello.h"

#define SECRET_NONCE_SIZE 24
#define SECRET_HELLO_SIZE (HELLO_SIZE + SECRET_NONCE_SIZE)
#define SECRET_PROOF_SIZE 32
#define SECRET_KEY_SIZE   32
#define SECRET_TAG_SIZE   16

/* Bytes of a secret, without the newline at its end. */
#define SECRET_MIN 16
#define SECRET_MAX 4096

#define SECRET_WHY_SIZE 320

enum secret_role {
	SECRET_CLIENT,
	SECRET_SERVER,
};

/* What each side sent in rdmacm private data, by its role. */
struct secret_transcript {
	uint8_t hello_bytes[2][SECRET_HELLO_SIZE];
};

struct secret;

/*
 * Reads the secret from a regular file that belongs to this user or to root and that no other user
 * may read or write, except for a systemd credential (LoadCredential= in systemd.exec(5)), and
 * keeps a key made of it in locked memory if the limits allow that. Returns 0, or -errno with a
 * sentence in why. The caller frees it. Main thread.
 */
int secret_load(struct secret **secret, const char *path, char why[SECRET_WHY_SIZE]);

/* Overwrites and frees the secret. NULL is allowed. Main thread. */
void secret_free(struct secret *secret);

/* Makes a nonce that was never used before. Any thread, like all functions below. */
void secret_nonce(uint8_t nonce[SECRET_NONCE_SIZE]);

/* Makes the proof that the side in that role holds the secret. */
void secret_prove(const struct secret *secret, const struct secret_transcript *transcript,
	enum secret_role role, uint8_t proof[SECRET_PROOF_SIZE]);

/* True if the proof is right. Takes constant time. */
bool secret_is_proof(const struct secret *secret, const struct secret_transcript *transcript,
	enum secret_role role, const uint8_t proof[SECRET_PROOF_SIZE]);

/*
 * Makes the key for the digest of the stream that this role sends under that name, which may be
 * empty.
 */
void secret_stream_key(const struct secret *secret, const struct secret_transcript *transcript,
	enum secret_role role, const void *name, size_t name_size, uint8_t key[SECRET_KEY_SIZE]);

/* Makes, or checks in constant time, the tag that authenticates this role's verdict. */
void secret_tag(const struct secret *secret, const struct secret_transcript *transcript,
	enum secret_role role, uint32_t verdict, uint8_t tag[SECRET_TAG_SIZE]);
bool secret_is_tag(const struct secret *secret, const struct secret_transcript *transcript,
	enum secret_role role, uint32_t verdict, const uint8_t tag[SECRET_TAG_SIZE]);

/*
 * Records that the server refused this client because they do not hold the same secret. Returns -1.
 */
int secret_refused(struct failure *failure);

/* Overwrites a key that is no longer needed. */
void secret_forget(void *key, size_t size);

#endif
