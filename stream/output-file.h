/*
 * The output file: the target of --output, which receives the peer's data.
 *
 * A regular file appears under its name complete and verified, or not at all. Until then the data
 * is in a hidden file in the same directory (stream/hidden-file.h). Blocks of zeros become holes.
 * For a file that is not sparse, storage is reserved first, if the file system can do that.
 * Without --force, an existing file is kept, even if it was created while the data arrived.
 *
 * A transfer can resume. If the size of the data is known, output_file_existing() returns data that
 * may already be there: the file itself, if it has this size, or the beginning, in a hidden file
 * that an interrupted transfer of at least OUTPUT_FILE_RESUMED bytes left. The peer decides whether
 * its data begins alike, and output_file_start() continues from there.
 *
 * A tree stream can only be stored in a directory: stream/tree-output.h.
 *
 * Standard output, a FIFO or a device receives the data as it arrives, before it is verified, like
 * a shell redirection: see stream/writer.h.
 *
 * One thread at a time uses an output file; it may block on a disk and, until it is stopped, on
 * readers. A function that fails returns -errno and stores a message in `why`. The message is safe
 * to print and to send to the peer, because it contains only the last component of each path.
 */
#ifndef STREAM_OUTPUT_FILE_H
#define STREAM_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/digest.h"
#include "stream/attributes.h"
#include "stream/file-name.h"
#include "stream/tree-progress.h"
#include "stream/writer.h"

/* Sizes from which an interrupted transfer leaves its data to be resumed, in bytes. */
#define OUTPUT_FILE_RESUMED (UINT64_C(64) << 20)

struct output_file;

struct output_file_options {
	/*
	 * "-" or "/dev/stdout": standard output. A directory, or a path that ends in '/': a file in
	 * it, named by the peer, which replaces only a regular file or a symbolic link. Any other
	 * path: that file or, if it is a symbolic link, its target.
	 */
	const char *output;
	bool force;    /* replace an existing file as if it were new; never a directory */
	bool update;   /* merge a tree stream into existing directories */
	bool checksum; /* of a tree stream: struct tree_output_options */
	bool direct;   /* write a regular file past the page cache; not those of a tree stream */
	unsigned int kept; /* attributes of a tree stream that may be kept: enum attributes_kept */
	bool numeric;      /* struct keeping */
};

/* The name that a peer gives its data: untrusted bytes. See stream/file-name.h. */
struct output_file_offer {
	const void *name; /* not terminated; may be NULL if size is 0 */
	size_t size;
	const char *fallback;           /* local name, if the peer gives none */
	uint64_t total;                 /* bytes, if the transfer can resume; otherwise 0 */
	uint64_t length;                /* bytes, if it is known; otherwise 0 */
	uint64_t storage;               /* bytes of storage that the file needs, 0 if unknown */
	bool tree;                      /* a tree stream (protocol/tree.h) instead of a file */
	struct tree_progress *progress; /* of a tree stream, may be NULL; outlives the file */
	const struct digester *keyed;   /* of a tree stream: struct tree_output_options */
	struct writer *answers;         /* the same */
	struct keeping keeping;         /* the same */
};

/*
 * Opens the output. When the caller's stop_fd becomes readable, every wait for a reader ends with
 * -ECANCELED; -1 disables this. The caller must close the output file, even before it exits on a
 * signal; otherwise the hidden file remains. Returns 0 or -errno: -EEXIST, -EISDIR,
 * -ENAMETOOLONG...
 */
int output_file_open(struct output_file **file, const struct output_file_options *options,
	const struct output_file_offer *offer, int stop_fd, char why[OUTPUT_FILE_WHY_SIZE]);

/*
 * True if all users of that input or output share the same bytes: standard input and output, a
 * FIFO, a terminal. Only one peer at a time can use it. Any thread.
 */
bool output_file_is_shared(const char *path);

/*
 * Returns a descriptor of the data that is already there, which belongs to the output file, and
 * stores its size; -1 if there is none. Call it before output_file_start().
 */
int output_file_existing(const struct output_file *file, uint64_t *size);

/*
 * Continues after this many bytes: 0, or the size of the existing data. Returns 0 or -errno:
 * -EEXIST if another file has the name. Call it before output_file_write(), if
 * output_file_existing() returned a descriptor.
 */
int output_file_start(struct output_file *file, uint64_t start, char why[OUTPUT_FILE_WHY_SIZE]);

/* True if the file is the one that was already there: nothing is written or committed. */
bool output_file_is_there(const struct output_file *file);

/* Removes the data when the file is closed, even if it could be resumed, because it is damaged. */
void output_file_spoil(struct output_file *file);

/*
 * Checks, without a peer, that the output can currently be opened: its directory exists, and its
 * name is unused, or may turn out to belong to the same file. Returns 0 or -errno. Any thread.
 */
int output_file_check(const struct output_file_options *options, char why[OUTPUT_FILE_WHY_SIZE]);

/*
 * The path of the file: --output or, if that is a directory, the file in it; "" for standard
 * output. Valid until the file is closed.
 */
const char *output_file_path(const struct output_file *file);

/* The file name without directories; "-" for standard output. Valid until the file is closed. */
const char *output_file_name(const struct output_file *file);

/* The number of files and folders in the directory that a tree stream has brought; 0 for a file. */
unsigned long output_file_entries(const struct output_file *file);

/* True if the output can store a tree stream. Any thread. */
bool output_file_takes_tree(const char *output);

/*
 * Writes all of the bytes, which follow those before them. Returns 0 or -errno: -ENOSPC, -EPIPE,
 * -ECANCELED... After a failure, the output file can only be closed.
 */
int output_file_write(
	struct output_file *file, const void *data, size_t size, char why[OUTPUT_FILE_WHY_SIZE]);

/* The same functions as of stream/tree-output.h. False: the output is not a tree stream's. */
bool output_file_use_workers(struct output_file *file, unsigned int workers);
void output_file_help(struct output_file *file);
int output_file_end(struct output_file *file, bool complete, char why[OUTPUT_FILE_WHY_SIZE]);

/*
 * True if output_file_skip() can be called: the file is a regular one, and not written directly.
 * Before output_file_start(), too.
 */
bool output_file_takes_holes(const struct output_file *file);

/* Leaves a hole of this size. What follows is written behind it. */
void output_file_skip(struct output_file *file, uint64_t size);

/* True if the file is written directly (stream/direct.h). */
bool output_file_is_direct(const struct output_file *file);

/* True if output_file_write_at() can write to this file: it is a regular file. */
bool output_file_takes_blocks(const struct output_file *file);

/*
 * Writes all of the bytes at this position of the file. Returns 0 or -errno, which
 * output_file_refuse() puts into words. Any thread, and several at a time. Only one of them, in
 * the order of the stream, calls output_file_advance() once everything up to there is written.
 */
int output_file_write_at(
	const struct output_file *file, const void *data, size_t size, uint64_t position);
void output_file_advance(struct output_file *file, uint64_t bytes);
int output_file_refuse(struct output_file *file, int error, char why[OUTPUT_FILE_WHY_SIZE]);

/*
 * Starts to write data to the disk now and then, so that the sync at the end is short: called for
 * each piece once everything up to it is written. Any thread, and several at a time.
 */
void output_file_write_back(const struct output_file *file, uint64_t position, size_t size);

/*
 * Makes the verified data durable under its final name. Returns 0 or -errno: -EEXIST if the name
 * exists by now; after other errors, the data may not be on disk, and no file remains unless only
 * syncing the directory failed. May take a long time and cannot be stopped. Call it once. fsync(2),
 * renameat2(2).
 */
int output_file_commit(struct output_file *file, char why[OUTPUT_FILE_WHY_SIZE]);

/*
 * Frees the output file, and removes the data if it was neither committed nor can be resumed. NULL
 * is allowed. Returns true if data stays that the next transfer of the file resumes.
 */
bool output_file_close(struct output_file *file);

#endif
