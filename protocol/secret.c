/*
 * Loads the secret from its file. The derived key is kept in memory from sodium_malloc(), locked
 * and between guard pages.
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "protocol/secret.h"

/* Separates this hash from those of protocol/handshake.c. */
static const char file_label[] = "rdmapair 2 secret file";

/* Formats the failure message. Returns the error. */
static int cannot_use(char why[SECRET_WHY_SIZE], const char *path, const char *reason, int error)
{
	char printable[TEXT_ESCAPED_SIZE(128)];

	text_escape_utf8(printable, path, strnlen(path, 128));
	snprintf(why, SECRET_WHY_SIZE, "cannot use secret file %.200s: %s", printable, reason);
	return error;
}

/*
 * True for a systemd credential (LoadCredential=, systemd.exec(5)): it belongs to root, and an
 * access control list lets the service's user read it, which appears as group permissions.
 */
static bool is_credential(const char *path, const struct stat *status)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	size_t length = folder ? strlen(folder) : 0;

	return length > 0 && strncmp(path, folder, length) == 0 && path[length] == '/' &&
	       status->st_uid == 0 && !(status->st_mode & (S_IWGRP | S_IXGRP | S_IRWXO));
}

/* Rejects a file that other users may read or replace. */
static int check_file(int file, const char *path, char why[SECRET_WHY_SIZE])
{
	struct stat status;

	if (fstat(file, &status))
		return cannot_use(why, path, strerror(errno), -errno);
	if (!S_ISREG(status.st_mode))
		return cannot_use(why, path, "not a regular file", -EINVAL);
	if (status.st_uid != geteuid() && status.st_uid != 0)
		return cannot_use(why, path, "owned by another user", -EPERM);
	if ((status.st_mode & (S_IRWXG | S_IRWXO)) && !is_credential(path, &status))
		return cannot_use(
			why, path, "accessible by other users; run chmod 600 on it", -EPERM);
	return 0;
}

/* Reads up to size bytes. Returns their number, or -errno. */
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

/* Derives the key from the contents of the file. */
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
		error = cannot_use(why, path, "shorter than 16 bytes", -EINVAL);
	else if (size > SECRET_MAX)
		error = cannot_use(why, path, "longer than 4096 bytes", -EINVAL);
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
		return cannot_use(why, path, "cannot initialise libsodium", -EIO);
	/* Do not block on a FIFO: check_file() rejects it. */
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

void secret_make(char text[SECRET_TEXT_SIZE])
{
	uint8_t bytes[SECRET_TEXT_SIZE / 2];

	randombytes_buf(bytes, sizeof(bytes));
	sodium_bin2hex(text, SECRET_TEXT_SIZE, bytes, sizeof(bytes));
	sodium_memzero(bytes, sizeof(bytes));
}

int secret_keep(const char *text, char path[SECRET_PATH_SIZE])
{
	int file = memfd_create("secret", MFD_CLOEXEC);
	size_t size = strlen(text);

	if (file < 0)
		return -errno;
	snprintf(path, SECRET_PATH_SIZE, "/proc/self/fd/%d", file);
	if (fchmod(file, 0600) == 0 && write(file, text, size) == (ssize_t)size)
		return file;
	close(file);
	return -EIO;
}

/* Reads a line of less than size bytes, without its end. Returns false if no line ends. */
static bool read_line(int descriptor, char *line, size_t size)
{
	size_t used = 0;
	ssize_t got;

	while (used < size) {
		got = read(descriptor, line + used, 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		if (line[used] == '\n') {
			line[used] = '\0';
			return true;
		}
		used++;
	}
	return false;
}

int secret_keep_line(int descriptor, char path[SECRET_PATH_SIZE])
{
	char line[SECRET_MAX + 1];
	int file = read_line(descriptor, line, sizeof(line)) ? secret_keep(line, path) : -EPROTO;

	secret_forget(line, sizeof(line));
	return file;
}

void secret_free(struct secret *secret)
{
	sodium_free(secret);
}

void secret_nonce(uint8_t nonce[SECRET_NONCE_SIZE])
{
	randombytes_buf(nonce, SECRET_NONCE_SIZE);
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
