/*
 * A target is where the data of a stream goes that a peer sends: what --output names.
 *
 * A file appears under its name whole and verified, or not at all. Until then the data is in a
 * hidden file beside it, ".NAME.xxxxxx", which alone remains if the process is killed. Blocks of
 * zeros become holes. What exists is kept unless it is to be replaced, even if it appears only while
 * the data arrives.
 *
 * Standard output, a FIFO or a device gets the data as it comes, as from a shell's redirection, and
 * keeps what it got: see outlet.h.
 *
 * One thread at a time uses a target; it may wait for a disk, and, until it is stopped, for readers.
 * Whatever fails returns -errno and leaves a sentence in `why` that is safe to print and to send to
 * the peer: of all paths it holds only the last name.
 */
#ifndef STREAM_OUTPUT_FILE_H
#define STREAM_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Room for a sentence about a failure; long names are cut. */
enum { OUTPUT_FILE_WHY_SIZE = 320 };

struct output_file;

struct output_file_options {
	/*
	 * "-" or "/dev/stdout": standard output. A directory, or what ends in '/': a file in it, named
	 * by the peer, which replaces only a regular file or a symbolic link. Anything else: that
	 * file; if it is a symbolic link, the file it leads to.
	 */
	const char *output;
	bool force; /* replace what exists, with the permissions of a new file; never a directory */
};

/* How a peer calls what it sends: bytes that are not to be trusted. See file-name.h. */
struct output_file_offer {
	const void *name; /* not terminated; may be NULL if size is 0 */
	size_t size;
	const char *fallback; /* our own name for it, if the peer's is none */
};

/*
 * Opens what takes the data. stop_fd, the caller's, ends every wait for a reader when it becomes
 * readable, with -ECANCELED; -1: nothing does. The caller closes the target, also before it exits
 * on a signal, or the hidden file stays. Returns 0 or -errno: -EEXIST, -EISDIR, -ENAMETOOLONG...
 */
int output_file_open(struct output_file **file, const struct output_file_options *options,
	const struct output_file_offer *offer, int stop_fd, char why[OUTPUT_FILE_WHY_SIZE]);

/*
 * True if all who open that input or output share the same bytes: standard input and output, a FIFO, a
 * terminal. One peer at a time can have it. Any thread.
 */
bool output_file_is_shared(const char *path);

/*
 * Looks whether the output could be opened as it is now, without a peer: its directory is there, and
 * nothing is in the way. Returns 0 or -errno. Any thread.
 */
int output_file_check(const struct output_file_options *options, char why[OUTPUT_FILE_WHY_SIZE]);

/* The name that the data gets, without directories; "-" for standard output. Lives as the target. */
const char *output_file_name(const struct output_file *file);

/*
 * Takes the next bytes, all of them. Returns 0 or -errno: -ENOSPC, -EPIPE, -ECANCELED... After a
 * failure the target can only be closed.
 */
int output_file_write(
	struct output_file *file, const void *data, size_t size, char why[OUTPUT_FILE_WHY_SIZE]);

/*
 * The data is verified: makes it durable, under its final name, and closes what holds it. Returns 0
 * or -errno: -EEXIST if the name was taken in the meantime; another if the data may not be on the
 * disk, which leaves nothing, unless only the directory could not be written. It can take long, and
 * cannot be stopped. Once for each target. fsync(2), renameat2(2).
 */
int output_file_commit(struct output_file *file, char why[OUTPUT_FILE_WHY_SIZE]);

/* Frees the target; a file that was not committed leaves nothing behind. NULL is allowed. */
void output_file_close(struct output_file *file);

#endif
