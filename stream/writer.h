/*
 * An outlet takes a stream of bytes and may keep its writer waiting for as long as it likes: a pipe, a
 * FIFO, a terminal, a socket. Whoever waits can be called off: each wait ends when stop_fd, an
 * eventfd of the caller's (or -1), becomes readable, and what was being done returns -ECANCELED.
 *
 * A write into a blocking descriptor can wait even after poll(2) found room, if it is longer than
 * the room. O_NONBLOCK would prevent that, but it belongs to the open file, which standard output
 * shares with other processes, so pipes and terminals are opened once more, through /proc/self/fd.
 */
#ifndef STREAM_WRITER_H
#define STREAM_WRITER_H

#include <stdbool.h>
#include <stddef.h>

struct writer {
	int descriptor;
	int stop_fd;
	bool ours;   /* to be closed; else it is standard output itself */
	bool socket; /* takes MSG_DONTWAIT */
	size_t most; /* bytes in one write, so that it does not wait */
};

/*
 * Makes standard output the outlet, at its offset. Returns 0 or -errno. One thread at a time uses a
 * outlet, as with all functions here; SIGPIPE must be ignored.
 */
int writer_open_standard_output(struct writer *writer, int stop_fd);

/*
 * Opens what exists at path and is neither a regular file (-EEXIST) nor a directory. Waits for the
 * reader of a FIFO. Returns 0 or -errno. fifo(7).
 */
int writer_open(struct writer *writer, const char *path, int stop_fd);

/* Writes everything. Returns 0, or -errno after any part of it: -EPIPE, -ENOSPC, -ECANCELED... */
int writer_write(const struct writer *writer, const void *data, size_t size);

/* Ends the use of the outlet; one that was never opened has descriptor -1. Returns 0 or -errno. */
int writer_close(struct writer *writer);

#endif
