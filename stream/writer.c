/*
 * Writes to pipes, terminals, sockets and devices without blocking in write(2): every wait is a
 * poll(2) that includes stop_fd. A writer owns its descriptor unless it is standard output.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/writer.h"

/* How often a FIFO is checked for a reader, whose arrival raises no event. */
#define READER_INTERVAL_MS 20

/* Reopens the descriptor's pipe or terminal with O_NONBLOCK. Returns the new descriptor or -1. */
static int open_again(int descriptor)
{
	char path[sizeof("/proc/self/fd/") + 3 * sizeof(descriptor)];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* The largest write, in bytes, that does not block once standard output is writable. */
static size_t most_at_once(mode_t mode)
{
	/* Neither a disk nor send() with MSG_DONTWAIT waits for a reader. */
	return S_ISREG(mode) || S_ISBLK(mode) || S_ISSOCK(mode) ? SIZE_MAX : PIPE_BUF;
}

int writer_open_standard_output(struct writer *writer, int stop_fd)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);
	struct stat status;
	int again = -1;

	*writer = (struct writer){.descriptor = -1, .stop_fd = stop_fd};
	if (flags < 0 || fstat(STDOUT_FILENO, &status))
		return -errno;
	/* Standard output was closed; output_start() opened /dev/null in its place. */
	if ((flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	if (S_ISFIFO(status.st_mode) || isatty(STDOUT_FILENO))
		again = open_again(STDOUT_FILENO);
	/* Without /proc, or on another user's terminal, fall back to small writes. */
	writer->ours = again >= 0;
	writer->descriptor = writer->ours ? again : STDOUT_FILENO;
	writer->socket = S_ISSOCK(status.st_mode);
	writer->most = writer->ours ? SIZE_MAX : most_at_once(status.st_mode);
	return 0;
}

/* Waits for events on the descriptor or, if events is 0, for the timeout. Returns 0 or -errno. */
static int await(const struct writer *writer, short events, int timeout)
{
	struct pollfd waiting[] = {
		{.fd = writer->stop_fd, .events = POLLIN},
		{.fd = events ? writer->descriptor : -1, .events = events},
	};

	while (poll(waiting, 2, timeout) < 0)
		if (errno != EINTR)
			return -errno;
	return waiting[0].revents ? -ECANCELED : 0;
}

/* open(2) fails with ENXIO for a FIFO without a reader, but also for a socket. */
static bool lacks_reader(const char *path)
{
	struct stat status;

	return errno == ENXIO && stat(path, &status) == 0 && S_ISFIFO(status.st_mode);
}

int writer_open(struct writer *writer, const char *path, int stop_fd)
{
	struct stat status;
	int error;

	*writer = (struct writer){
		.descriptor = -1, .stop_fd = stop_fd, .ours = true, .most = SIZE_MAX};
	for (;;) {
		writer->descriptor = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (writer->descriptor >= 0)
			break;
		if (!lacks_reader(path))
			return -errno;
		error = await(writer, 0, READER_INTERVAL_MS);
		if (error)
			return error;
	}
	/* It was replaced by a regular file, which must not be overwritten. */
	error = fstat(writer->descriptor, &status) ? -errno : 0;
	if (!error && S_ISREG(status.st_mode))
		error = -EEXIST;
	if (error)
		writer_close(writer);
	return error;
}

int writer_write(const struct writer *writer, const void *data, size_t size)
{
	const char *rest = data;

	while (size > 0) {
		size_t most = size < writer->most ? size : writer->most;
		int error = await(writer, POLLOUT, -1);
		ssize_t taken;

		if (error)
			return error;
		taken = writer->socket
				? send(writer->descriptor, rest, most, MSG_DONTWAIT | MSG_NOSIGNAL)
				: write(writer->descriptor, rest, most);
		if (taken < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (taken > 0) {
			rest += taken;
			size -= (size_t)taken;
		}
	}
	return 0;
}

int writer_close(struct writer *writer)
{
	int error =
		writer->ours && writer->descriptor >= 0 && close(writer->descriptor) ? -errno : 0;

	writer->descriptor = -1;
	writer->ours = false;
	return error;
}
