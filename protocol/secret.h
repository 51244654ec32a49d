/*
 * The secret that both programs may load from a file. It never leaves the process; see
 * protocol/handshake.h for the values derived from it.
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

/* Size limits of a secret in bytes, without the trailing newline. */
#define SECRET_MIN 16
#define SECRET_MAX 4096

#define SECRET_WHY_SIZE 320

enum secret_role {
	SECRET_CLIENT,
	SECRET_SERVER,
};

struct secret {
	uint8_t key[SECRET_KEY_SIZE];
};

/*
 * Loads the secret from a regular file that belongs to this user or to root and that no other user
 * may read or write, except for a systemd credential (LoadCredential= in systemd.exec(5)). The
 * derived key is kept in locked memory if the limits allow it. Returns 0, or -errno with a message
 * in why. The caller frees it. Main thread.
 */
int secret_load(struct secret **secret, const char *path, char why[SECRET_WHY_SIZE]);

/* Makes a random secret of 64 hexadecimal digits. Any thread. */
#define SECRET_TEXT_SIZE 65

void secret_make(char text[SECRET_TEXT_SIZE]);

/* Size of the path of secret_keep(). */
#define SECRET_PATH_SIZE 40

/*
 * Keeps a secret that did not come from a file in memory, under a path of this process that
 * secret_load() accepts. Returns the file, which the caller closes after that, or -errno.
 * memfd_create(2).
 */
int secret_keep(const char *text, char path[SECRET_PATH_SIZE]);

/*
 * Reads a secret from the first line of a descriptor, byte by byte, so that the rest stays, and
 * keeps it as secret_keep() does. Blocks until the line is there. Returns the file, -EPROTO if no
 * line of at most SECRET_MAX bytes ends, or -errno. Any thread.
 */
int secret_keep_line(int descriptor, char path[SECRET_PATH_SIZE]);

/* Wipes and frees the secret. NULL is allowed. Main thread. */
void secret_free(struct secret *secret);

/* Generates a fresh random nonce. Any thread, like all functions below. */
void secret_nonce(uint8_t nonce[SECRET_NONCE_SIZE]);

/* Records that the server refused this client because their secrets differ. Returns -1. */
int secret_refused(struct failure *failure);

/* Wipes a key that is no longer needed. */
void secret_forget(void *key, size_t size);

#endif
