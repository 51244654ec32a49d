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
