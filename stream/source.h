/*
 * Source of the data to send: a text, a file or standard input. It fills a ring. For a file or
 * standard input, a thread reads and digests the data, and may block while the producer pauses; a
 * text is in the ring from the start.
 *
 * The main thread calls source_open(), source_start() once the ring exists, and finally
 * source_close(). Any thread may call source_begin() once the peer is ready, source_result() once
 * the ring has ended, and source_stop() to end the source early. The listener's `ended` is called
 * once, just before the thread ends.
 */
#ifndef STREAM_SOURCE_H
#define STREAM_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/worker.h"
#include "protocol/digest.h"
#include "stream/answers.h"
#include "stream/omitted.h"
#include "stream/pace.h"
#include "stream/ring.h"
#include "stream/tree-progress.h"

/* The size of a stream whose end is not known yet; this value is also used on the wire. */
#define STREAM_SIZE_UNKNOWN UINT64_MAX

struct source;

/*
 * Opens the input: a path, "-" for standard input, or NULL for the text. Path and text belong to
 * the caller and must outlive the source, because a FIFO is opened only after source_begin().
 * Returns 0, or -errno with a message in why. open(2).
 */
int source_open(struct source **source, const char *input, const void *text, size_t text_size,
	char why[WORKER_WHY_SIZE]);

/*
 * Opens several files and folders, which are sent as a tree stream (protocol/tree.h). The paths
 * belong to the caller and must outlive the source. Returns 0, or -errno with a message in why.
 */
int source_open_tree(struct source **source, const char *const paths[], unsigned int count,
	char why[WORKER_WHY_SIZE]);

/*
 * Leaves out of a tree what these patterns (base/path-pattern.h) match. The texts belong to the
 * caller and must outlive the source. Returns 0, or -errno with a message in why. Call it before
 * source_start().
 */
int source_exclude(struct source *source, const char *const patterns[], unsigned int count,
	char why[WORKER_WHY_SIZE]);

/*
 * Prepares to send these attributes (enum attributes_kept) of a tree, if the peer keeps them:
 * source_keep(). Returns 0 or -ENOMEM with a message in why. Call it before source_start().
 */
int source_offer_attributes(
	struct source *source, unsigned int kept, bool numeric, char why[WORKER_WHY_SIZE]);

/*
 * A source of what a sink answers (sink_answer()): the reading end of a pipe, which it closes. On
 * failure, -ENOMEM, it is still the caller's.
 */
int source_open_answers(struct source **source, int descriptor);

/*
 * Asks the peer what it has of a tree's files; by_time: tree_input_ask(). The answers, which a sink
 * collects, belong to the caller and must outlive the source. Call it before source_start().
 */
void source_ask(struct source *source, struct answers *answers, bool by_time);

/*
 * Reads the file at this path, which source_open() has just opened, past the page cache
 * (stream/direct.h), as far as its blocks are aligned in the ring. Returns 0, or -errno with a
 * message in why. Call it before source_start().
 */
int source_use_direct(struct source *source, const char *input, char why[WORKER_WHY_SIZE]);

/* The next source of a list that the owner keeps. It is NULL at first. */
struct source *source_next(const struct source *source);
void source_set_next(struct source *source, struct source *next);

/*
 * Joins the thread, which must have ended or been stopped, and frees the source. NULL is allowed.
 */
void source_close(struct source *source);

/* Bytes to send, or STREAM_SIZE_UNKNOWN. For a file, its size at source_open(). */
uint64_t source_size(const struct source *source);

/* Bytes of storage that the file needs at the peer, 0 if unknown. */
uint64_t source_storage(const struct source *source);

/* The base name of the file, or of the first file or folder of a tree; "" if there is none. */
const char *source_name(const struct source *source);

/*
 * Of a tree, what it consists of and which file the transfer reaches with this byte of the stream
 * (tree_progress_state()); otherwise 0. Any thread.
 */
struct tree_state source_tree(struct source *source, uint64_t moved);

/*
 * Of a tree, as far as it was read, the FIFOs, sockets and devices, and what could not be read;
 * NULL if the source is no tree. Valid until source_close(). Any thread.
 */
struct omitted *source_skipped(struct source *source);
struct omitted *source_unreadable(struct source *source);

/* The same for entries of which attributes could not be read; NULL if none are sent. */
struct omitted *source_lost(struct source *source);

/* What the threads spend their time on. Any thread. */
const struct pace *source_pace(const struct source *source);

/* True if the source is a text. */
bool source_is_text(const struct source *source);

/*
 * Puts text into the ring, which is large enough for it, or starts the thread, which reads at
 * most `most` bytes at a time. A file of known size, and the small files of a tree, are read by up
 * to `workers` threads. The ring and the listener must outlive the source. Returns 0 or -errno.
 */
int source_start(struct source *source, struct ring *ring, size_t most, unsigned int workers,
	const struct worker_listener *listener);

/* Sets the digest key, which is copied. Call it between source_start() and source_begin(). */
void source_set_key(struct source *source, const uint8_t key[DIGEST_KEY_SIZE]);

/* Sends a tree with all kinds of entries: tree_input_extend(). Before it begins. */
void source_extend_tree(struct source *source);

/* Sends those attributes of a tree that were offered and are among these. Before it begins. */
void source_keep(struct source *source, unsigned int kept);

/* Lets the thread fill the ring. */
void source_begin(struct source *source);

/*
 * Does the same, but the peer already has this many bytes with this digest. If the file begins with
 * them, the thread fills the ring with the rest; otherwise, or for other inputs, with everything.
 * With `holes`, the peer can store a file whose holes are left out (struct tree_run).
 */
void source_begin_after(
	struct source *source, uint64_t size, const struct digest *digest, bool holes);

/*
 * Returns true once it is known where the data in the ring starts, and stores that, and whether
 * holes are left out. Any thread.
 */
bool source_start_of(const struct source *source, uint64_t *start, bool *holes);

/*
 * How many bytes of the file are not in the ring, because they are in holes; less the headers of
 * runs. Any thread.
 */
int64_t source_left_out(const struct source *source);

/*
 * Stores the digest of the data once the ring has ended. Returns 0, or -errno with a message in
 * *why.
 */
int source_result(struct source *source, struct digest *digest, const char **why);

/* True if the source has a thread that has not been joined. NULL is allowed. Main thread. */
bool source_is_running(const struct source *source);

/* Stops the thread: every wait ends. NULL is allowed. Any thread. */
void source_stop(struct source *source);

#endif
