/*
 * The secret that both programs may be given in a file, and what is made of it: proofs that each side
 * holds it, and keys for the data of one connection. It never leaves the process.
 *
 * Everything is a keyed hash (BLAKE2b, of libsodium) over a label and the transcript: what the client
 * and what the server have said in rdmacm's private data, byte for byte, their introductions and fresh
 * nonces. So what was proved for one connection is worth nothing for another one, nor is what one side
 * proved in the mouth of the other. See docs/protocol.md, "With a secret".
 *
 * A proof can be tried against guesses of the secret by whoever gets it: secrets are to be random.
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

/* What each side has said, by its role. */
struct secret_transcript {
	uint8_t hello_bytes[2][SECRET_HELLO_SIZE];
};

struct secret;

/*
 * Reads the secret out of a regular file of ours, or of root's, that nobody else may read or write (but
 * see LoadCredential= in systemd.exec(5), where the group may read what is root's), and keeps a key made of it in memory that is not swapped out, if that may be. Returns 0, or -errno with a
 * sentence in why. The caller frees it. Main thread.
 */
int secret_load(struct secret **secret, const char *path, char why[SECRET_WHY_SIZE]);

/* Forgets it. NULL is allowed. Main thread. */
void secret_free(struct secret *secret);

/* Fills in a nonce, which never was used before. Any thread, like all that follows. */
void secret_nonce(uint8_t nonce[SECRET_NONCE_SIZE]);

/* The proof of that role that it holds the secret. */
void secret_prove(const struct secret *secret, const struct secret_transcript *transcript,
	enum secret_role role, uint8_t proof[SECRET_PROOF_SIZE]);

/* Whether it is that proof, in a time that does not depend on where it is wrong. */
bool secret_is_proof(const struct secret *secret, const struct secret_transcript *transcript,
	enum secret_role role, const uint8_t proof[SECRET_PROOF_SIZE]);

/* The key to the digest of the stream that this role sends under that name, which may be empty. */
void secret_stream_key(const struct secret *secret, const struct secret_transcript *transcript,
	enum secret_role role, const void *name, size_t name_size, uint8_t key[SECRET_KEY_SIZE]);

/* What makes this role's verdict on the other's stream its own. */
void secret_tag(const struct secret *secret, const struct secret_transcript *transcript,
	enum secret_role role, uint32_t verdict, uint8_t tag[SECRET_TAG_SIZE]);
bool secret_is_tag(const struct secret *secret, const struct secret_transcript *transcript,
	enum secret_role role, uint32_t verdict, const uint8_t tag[SECRET_TAG_SIZE]);

/* Records that we and the server do not hold the same secret, which a client says. Returns -1. */
int secret_refused(struct failure *failure);

/* Overwrites a key that is not needed any more. */
void secret_forget(void *key, size_t size);

#endif
