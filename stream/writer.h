/*
 * A writer writes a stream of bytes to standard output, a pipe, a FIFO, a terminal, a socket or a
 * device, whose reader may pause for any length of time. Every wait ends with -ECANCELED when
 * stop_fd, the caller's eventfd (or -1), becomes readable.
 *
 * If it is larger than the free space, a write to a blocking descriptor can block even after
 * poll(2) reported the descriptor writable. O_NONBLOCK would prevent that, but it is a property of
 * the open file description, which standard output shares with other processes. Pipes and terminals
 * are therefore reopened through /proc/self/fd.
 *
 * One thread at a time uses a writer. SIGPIPE must be ignored.
 */
#ifndef STREAM_WRITER_H
#define STREAM_WRITER_H

#include <stdbool.h>
#include <stddef.h>

struct writer {
	int descriptor;
	int stop_fd;
	bool ours;   /* close it; false: it is standard output */
	bool socket; /* supports MSG_DONTWAIT */
	size_t most; /* the largest write that does not block, in bytes */
};

/* Opens standard output at its current offset. Returns 0 or -errno. */
int writer_open_standard_output(struct writer *writer, int stop_fd);

/*
 * Opens an existing file other than a regular file (-EEXIST) or a directory. If it is a FIFO, waits
 * for a reader. Returns 0 or -errno. fifo(7).
 */
int writer_open(struct writer *writer, const char *path, int stop_fd);

/* Writes all bytes. Returns 0, or -errno after a partial write: -EPIPE, -ENOSPC, -ECANCELED... */
int writer_write(const struct writer *writer, const void *data, size_t size);

/* Closes the writer and sets its descriptor to -1. Returns 0 or -errno. */
int writer_close(struct writer *writer);

#endif
