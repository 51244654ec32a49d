/*
 * A sink for received data empties a ring, digests the data, and writes it to an output file
 * (stream/output-file.h) if there is one. Without an output file, a text is displayed; for longer
 * data, only the digest is. A text without an output file is consumed immediately; for anything
 * else, the sink has a thread, which may block while the consumer pauses.
 *
 * The main thread calls sink_open(), sink_start() once the ring exists, and finally sink_close().
 * The CQ thread calls sink_begin() once the peer has named its data, and sink_finish() once the
 * peer has announced the end of the data. The listener's `moved` is called when space becomes free
 * in the ring and when the state changes. sink_stop() ends the sink early, from any thread;
 * unverified data is removed.
 */
#ifndef STREAM_SINK_H
#define STREAM_SINK_H

#include <stdint.h>

#include "base/failure.h"
#include "base/worker.h"
#include "protocol/digest.h"
#include "stream/answers.h"
#include "stream/output-file.h"
#include "stream/pace.h"
#include "stream/ring.h"
#include "stream/tree-progress.h"

/* Maximum size of a text in bytes, as in the tutorial. */
#define SINK_TEXT_SIZE 1024

enum sink_state {
	SINK_WORKING,
	SINK_VERIFIED, /* complete, intact and in the output file */
	SINK_DAMAGED,  /* complete, but the digest differs */
	SINK_FAILED,   /* the output file failed: sink_error() */
};

struct sink;

/*
 * Creates a sink for a stream of this size, or STREAM_SIZE_UNKNOWN. The options must outlive the
 * sink. Returns 0 or -errno.
 */
int sink_open(struct sink **sink, const struct output_file_options *options, uint64_t size);

/* Joins the thread, which must have ended or been stopped, and frees the sink. NULL is allowed. */
void sink_close(struct sink *sink);

/*
 * Takes the memory that this many workers need from the budget now, while the peer can still be
 * refused: if there is a key, or for --direct. If it does not suffice for all, reduces their
 * number. Returns 0, or -1 with the failure recorded. Main thread.
 */
int sink_reserve(struct sink *sink, unsigned int *workers, bool keyed, struct failure *failure);

/*
 * Starts the thread, if the sink needs one; it writes at most `most` bytes at a time. A regular
 * file, and the small files of a tree, are written by up to `workers` threads. The ring and the
 * listener must outlive the sink. Returns 0 or -errno.
 */
int sink_start(struct sink *sink, struct ring *ring, size_t most, unsigned int workers,
	const struct worker_listener *listener);

/*
 * Sets the digest key, which is copied. Because an attacker may write to the ring, the sink then
 * digests and writes a copy of the data. Call it before sink_begin().
 */
void sink_set_key(struct sink *sink, const uint8_t key[DIGEST_KEY_SIZE]);

/*
 * If the sender of a tree asks what is here (stream/present.h): where the answers go, the writing
 * end of a pipe, which the sink closes. Call it before sink_begin().
 */
void sink_answer(struct sink *sink, int descriptor);

/*
 * The data is the answers of a peer that stores our tree. They belong to the caller and must
 * outlive the sink. Call it before sink_begin().
 */
void sink_collect(struct sink *sink, struct answers *answers);

/*
 * Lets the thread start with what the peer offers, which is copied, except `total`: it is the size
 * given to sink_open(). If the transfer can resume, the data may begin with what is already here:
 * sink_have().
 */
void sink_begin(struct sink *sink, const struct output_file_offer *offer, bool resumes);

/*
 * Returns true once it is known what is already here, and stores its size and digest: 0 bytes if
 * there is nothing; and whether a file can be stored whose holes are left out. Any thread.
 */
bool sink_have(struct sink *sink, uint64_t *size, struct digest *digest, bool *holes);

/*
 * The data in the ring continues after this many bytes: 0, or all that is here. With `holes`, it
 * consists of runs (struct tree_run). Before any data.
 */
void sink_continue(struct sink *sink, uint64_t start, bool holes);

/*
 * How many bytes of the file did not arrive, because they are in holes; less the headers of runs.
 * Any thread.
 */
int64_t sink_left_out(const struct sink *sink);

/* True if the whole file was already here. Valid in state SINK_VERIFIED. */
bool sink_is_there(const struct sink *sink);

/*
 * Ends the ring, which holds the rest of the stream; size and digest are the values that the peer
 * announced. A sink without a thread is in its final state on return.
 */
void sink_finish(struct sink *sink, uint64_t size, const struct digest *digest);

/* Returns the state. Any thread. */
enum sink_state sink_state(const struct sink *sink);

/* The failure message; sets *error to -errno. Valid in state SINK_FAILED. */
const char *sink_error(const struct sink *sink, int *error);

/* The base name of the output file, "" if there is none. Valid in state SINK_VERIFIED. */
const char *sink_name(const struct sink *sink);

/*
 * The number of files and folders stored from a tree stream, otherwise 0. Valid in state
 * SINK_VERIFIED.
 */
unsigned long sink_entries(const struct sink *sink);

/* Of a stored tree stream, what it consists of and which file arrives; otherwise 0. Any thread. */
struct tree_state sink_tree(struct sink *sink);

/*
 * The entries of a stored tree stream of which attributes could not be kept; NULL if none were to
 * be. Valid until sink_close(). Any thread.
 */
struct omitted *sink_lost(struct sink *sink);

/* The path of the stored file, "" if none was stored. Valid in state SINK_VERIFIED. */
const char *sink_path(const struct sink *sink);

/*
 * The path that the file has, or would have if the data were complete and verified; "" if there is
 * none, or the output could not be opened. Valid once the thread has been joined or has ended.
 */
const char *sink_target(const struct sink *sink);

/*
 * True if an incomplete file stays that the next transfer of it resumes. Valid once the thread has
 * been joined.
 */
bool sink_has_left(const struct sink *sink);

/* True if the data goes to an output file, false if it is displayed or discarded. Any thread. */
bool sink_has_output(const struct sink *sink);

/* The data and its size if it is a text to display, else NULL. Valid in state SINK_VERIFIED. */
const uint8_t *sink_text(const struct sink *sink, size_t *size);

/* What the threads spend their time on. Any thread. */
const struct pace *sink_pace(const struct sink *sink);

/* True if the sink has a thread that has not been joined. NULL is allowed. Main thread. */
bool sink_is_running(const struct sink *sink);

/* Stops the thread: every wait ends. NULL is allowed. Any thread. */
void sink_stop(struct sink *sink);

#endif
