/*
 * The secret and its derived values, by libsodium. The key made of the secret lives in memory of
 * sodium_malloc(), locked and between guard pages; everything else is the caller's.
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "protocol/little-endian.h"
#include "protocol/secret.h"

struct secret {
	uint8_t key[SECRET_KEY_SIZE];
};

/* Labels separate the hashes. None is a prefix of another, because each is hashed with its zero. */
static const char file_label[] = "rdmapair 2 secret file";
static const char *const proof_labels[] = {
	[SECRET_CLIENT] = "rdmapair 2 proof of the client",
	[SECRET_SERVER] = "rdmapair 2 proof of the server",
};
static const char *const stream_labels[] = {
	[SECRET_CLIENT] = "rdmapair 2 stream of the client",
	[SECRET_SERVER] = "rdmapair 2 stream of the server",
};
static const char *const verdict_labels[] = {
	[SECRET_CLIENT] = "rdmapair 2 verdict of the client",
	[SECRET_SERVER] = "rdmapair 2 verdict of the server",
};

/* Writes why the file cannot be used. Returns the error. */
static int cannot_use(char why[SECRET_WHY_SIZE], const char *path, const char *reason, int error)
{
	char printable[TEXT_ESCAPED_SIZE(128)];

	text_escape_utf8(printable, path, strnlen(path, 128));
	snprintf(why, SECRET_WHY_SIZE, "cannot use the secret file %.200s: %s", printable, reason);
	return error;
}

/*
 * True for a credential of systemd (LoadCredential=, systemd.exec(5)): it belongs to root, and an
 * access list lets the service's user read it, which shows as a permission of the group.
 */
static bool is_credential(const char *path, const struct stat *status)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	size_t length = folder ? strlen(folder) : 0;

	return length > 0 && strncmp(path, folder, length) == 0 && path[length] == '/' &&
	       status->st_uid == 0 && !(status->st_mode & (S_IWGRP | S_IXGRP | S_IRWXO));
}

/* Refuses a file that other users may read or replace. */
static int check_file(int file, const char *path, char why[SECRET_WHY_SIZE])
{
	struct stat status;

	if (fstat(file, &status))
		return cannot_use(why, path, strerror(errno), -errno);
	if (!S_ISREG(status.st_mode))
		return cannot_use(why, path, "it is not a regular file", -EINVAL);
	if (status.st_uid != geteuid() && status.st_uid != 0)
		return cannot_use(why, path, "it belongs to another user", -EPERM);
	if ((status.st_mode & (S_IRWXG | S_IRWXO)) && !is_credential(path, &status))
		return cannot_use(
			why, path, "others may use it too; chmod 600 is what it needs", -EPERM);
	return 0;
}

/* Reads up to size bytes. Returns how many, or -errno. */
static ssize_t read_all(int file, uint8_t *bytes, size_t size)
{
	size_t all = 0;
	ssize_t got;

	while (all < size) {
		got = read(file, bytes + all, size - all);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		all += (size_t)got;
	}
	return (ssize_t)all;
}

/* Makes the key from the contents of the file. */
static int make_key(struct secret *secret, int file, const char *path, char why[SECRET_WHY_SIZE])
{
	/* One byte for a newline, one to detect a secret that is too long. */
	size_t room = SECRET_MAX + 2;
	uint8_t *bytes = sodium_malloc(room);
	ssize_t size;
	int error = 0;

	if (!bytes)
		return cannot_use(why, path, strerror(ENOMEM), -ENOMEM);
	size = read_all(file, bytes, room);
	if (size > 0 && bytes[size - 1] == '\n')
		size--;
	if (size < 0)
		error = cannot_use(why, path, strerror((int)-size), (int)size);
	else if (size < SECRET_MIN)
		error = cannot_use(why, path, "it has less than 16 bytes", -EINVAL);
	else if (size > SECRET_MAX)
		error = cannot_use(why, path, "it has more than 4096 bytes", -EINVAL);
	else
		crypto_generichash(secret->key, sizeof(secret->key), bytes, (size_t)size,
			(const uint8_t *)file_label, sizeof(file_label));
	sodium_free(bytes);
	return error;
}

int secret_load(struct secret **result, const char *path, char why[SECRET_WHY_SIZE])
{
	struct secret *secret = NULL;
	int file, error;

	if (sodium_init() < 0)
		return cannot_use(why, path, "libsodium does not start", -EIO);
	/* Opening a FIFO must not block: check_file() refuses it. */
	file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file < 0)
		return cannot_use(why, path, strerror(errno), -errno);
	error = check_file(file, path, why);
	if (!error) {
		secret = sodium_malloc(sizeof(*secret));
		error = secret ? make_key(secret, file, path, why)
			       : cannot_use(why, path, strerror(ENOMEM), -ENOMEM);
	}
	close(file);
	if (error) {
		secret_free(secret);
		return error;
	}
	sodium_mprotect_readonly(secret);
	*result = secret;
	return 0;
}

void secret_free(struct secret *secret)
{
	sodium_free(secret);
}

void secret_nonce(uint8_t nonce[SECRET_NONCE_SIZE])
{
	randombytes_buf(nonce, SECRET_NONCE_SIZE);
}

/* Hashes the label, the transcript and more bytes, which may be none. */
static void keyed_hash(const struct secret *secret, const char *label,
	const struct secret_transcript *transcript, const void *more, size_t more_size,
	uint8_t *hash, size_t hash_size)
{
	crypto_generichash_state state;

	crypto_generichash_init(&state, secret->key, sizeof(secret->key), hash_size);
	crypto_generichash_update(&state, (const uint8_t *)label, strlen(label) + 1);
	for (enum secret_role role = SECRET_CLIENT; role <= SECRET_SERVER; role++)
		crypto_generichash_update(&state, transcript->hello_bytes[role], SECRET_HELLO_SIZE);
	/* The only part of variable length comes last, so the input is unambiguous. */
	crypto_generichash_update(&state, more, more_size);
	crypto_generichash_final(&state, hash, hash_size);
	sodium_memzero(&state, sizeof(state));
}

void secret_prove(const struct secret *secret, const struct secret_transcript *transcript,
	enum secret_role role, uint8_t proof[SECRET_PROOF_SIZE])
{
	keyed_hash(secret, proof_labels[role], transcript, "", 0, proof, SECRET_PROOF_SIZE);
}

bool secret_is_proof(const struct secret *secret, const struct secret_transcript *transcript,
	enum secret_role role, const uint8_t proof[SECRET_PROOF_SIZE])
{
	uint8_t expected[SECRET_PROOF_SIZE];
	bool same;

	secret_prove(secret, transcript, role, expected);
	same = sodium_memcmp(expected, proof, sizeof(expected)) == 0;
	secret_forget(expected, sizeof(expected));
	return same;
}

void secret_stream_key(const struct secret *secret, const struct secret_transcript *transcript,
	enum secret_role role, const void *name, size_t name_size, uint8_t key[SECRET_KEY_SIZE])
{
	keyed_hash(secret, stream_labels[role], transcript, name, name_size, key, SECRET_KEY_SIZE);
}

void secret_tag(const struct secret *secret, const struct secret_transcript *transcript,
	enum secret_role role, uint32_t verdict, uint8_t tag[SECRET_TAG_SIZE])
{
	uint8_t bytes[sizeof(verdict)];

	le_put32(bytes, verdict);
	keyed_hash(secret, verdict_labels[role], transcript, bytes, sizeof(bytes), tag,
		SECRET_TAG_SIZE);
}

bool secret_is_tag(const struct secret *secret, const struct secret_transcript *transcript,
	enum secret_role role, uint32_t verdict, const uint8_t tag[SECRET_TAG_SIZE])
{
	uint8_t expected[SECRET_TAG_SIZE];

	secret_tag(secret, transcript, role, verdict, expected);
	return sodium_memcmp(expected, tag, sizeof(expected)) == 0;
}

void secret_forget(void *key, size_t size)
{
	sodium_memzero(key, size);
}

int secret_refused(struct failure *failure)
{
	return failure_set(
		failure, FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_SECRET, "--secret-file", "");
}
