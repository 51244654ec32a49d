/*
 * The output file: what --output names, and what receives the data that a peer sends.
 *
 * A regular file appears under its name whole and verified, or not at all. Until then the data is
 * in a hidden file in the same directory, ".NAME.xxxxxx", which is all that remains if the process
 * is killed. Blocks of zeros become holes. An existing file is kept unless --force replaces it,
 * even if it appears while the data arrives.
 *
 * Standard output, a FIFO or a device gets the data as it arrives, as from a shell's redirection,
 * and keeps it: see stream/writer.h.
 *
 * One thread at a time uses an output file; it may wait for a disk and, until it is stopped, for
 * readers. A function that fails returns -errno and leaves a sentence in `why` that is safe to
 * print and to send to the peer: of each path, it holds only the last name.
 */
#ifndef STREAM_OUTPUT_FILE_H
#define STREAM_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a sentence about a failure; long names are cut. */
enum { OUTPUT_FILE_WHY_SIZE = 320 };

struct output_file;

struct output_file_options {
	/*
	 * "-" or "/dev/stdout": standard output. A directory, or a path that ends in '/': a file in
	 * it, named by the peer, which replaces only a regular file or a symbolic link. Any other
	 * path: that file or, if it is a symbolic link, the file that it leads to.
	 */
	const char *output;
	bool force; /* replace an existing file, with the permissions of a new one; never a directory */
};

/* The name that a peer gives its data: untrusted bytes. See stream/file-name.h. */
struct output_file_offer {
	const void *name; /* not terminated; may be NULL if size is 0 */
	size_t size;
	const char *fallback; /* our own name for it, if the peer gives none */
};

/*
 * Opens the output. When stop_fd, the caller's, becomes readable, every wait for a reader ends with
 * -ECANCELED; -1: none does. The caller closes the output file, also before it exits on a signal,
 * or the hidden file stays. Returns 0 or -errno: -EEXIST, -EISDIR, -ENAMETOOLONG...
 */
int output_file_open(struct output_file **file, const struct output_file_options *options,
	const struct output_file_offer *offer, int stop_fd, char why[OUTPUT_FILE_WHY_SIZE]);

/*
 * True if all who open that input or output share the same bytes: standard input and output, a
 * FIFO, a terminal. One peer at a time can have it. Any thread.
 */
bool output_file_is_shared(const char *path);

/*
 * Checks that the output can be opened as things are now, without a peer: its directory exists, and
 * its name is free. Returns 0 or -errno. Any thread.
 */
int output_file_check(const struct output_file_options *options, char why[OUTPUT_FILE_WHY_SIZE]);

/* The name of the file, without directories; "-" for standard output. Valid until it is closed. */
const char *output_file_name(const struct output_file *file);

/*
 * Writes the next bytes, all of them. Returns 0 or -errno: -ENOSPC, -EPIPE, -ECANCELED... After a
 * failure, the output file can only be closed.
 */
int output_file_write(
	struct output_file *file, const void *data, size_t size, char why[OUTPUT_FILE_WHY_SIZE]);

/*
 * Makes the verified data durable under its final name. Returns 0 or -errno: -EEXIST if the name
 * exists by now; another if the data may not be on the disk, and then no file remains, unless only
 * the directory could not be synced. It can take long, and cannot be stopped. Call it once.
 * fsync(2), renameat2(2).
 */
int output_file_commit(struct output_file *file, char why[OUTPUT_FILE_WHY_SIZE]);

/* Frees the output file, and removes the data if it was not committed. NULL is allowed. */
void output_file_close(struct output_file *file);

#endif
