/* See stream/file-digest.h. It keeps no state. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "stream/file-digest.h"

/* Bytes read at a time. */
#define READ_SIZE ((size_t)256 << 10)

int file_digest_add(struct digester *digester, int file, uint64_t size, int stop_fd)
{
	struct pollfd stop = {.fd = stop_fd, .events = POLLIN};
	uint64_t position = 0;
	uint8_t *bytes = malloc(size < READ_SIZE ? (size_t)size + 1 : READ_SIZE);
	int error = bytes ? 0 : -EIO;

	while (!error && position < size) {
		uint64_t left = size - position;
		ssize_t got;

		if (poll(&stop, 1, 0) > 0) {
			error = -ECANCELED;
			break;
		}
		got = pread(
			file, bytes, left < READ_SIZE ? (size_t)left : READ_SIZE, (off_t)position);
		if (got > 0) {
			digester_add(digester, bytes, (size_t)got);
			position += (uint64_t)got;
		} else if (got == 0 || errno != EINTR) {
			error = -EIO;
		}
	}
	free(bytes);
	return error;
}

/* How many zeros are digested between looks at the stop descriptor, in pieces of READ_SIZE. */
#define PIECES 64

int file_digest_add_hole(struct digester *digester, uint64_t size, int stop_fd)
{
	static const uint8_t zeros[READ_SIZE];
	struct pollfd stop = {.fd = stop_fd, .events = POLLIN};

	for (unsigned int i = 0; size > 0; i++) {
		size_t piece = size < READ_SIZE ? (size_t)size : READ_SIZE;

		if (i % PIECES == 0 && poll(&stop, 1, 0) > 0)
			return -ECANCELED;
		digester_add(digester, zeros, piece);
		size -= piece;
	}
	return 0;
}

int file_digest(
	const struct digester *keyed, int file, uint64_t size, int stop_fd, struct digest *digest)
{
	struct digester *digester = digester_copy(keyed);
	int error = digester ? file_digest_add(digester, file, size, stop_fd) : -ENOMEM;

	if (!error)
		*digest = digester_result(digester, DIGEST_EXISTING);
	digester_free(digester);
	return error;
}
