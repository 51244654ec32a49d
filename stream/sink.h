/*
 * The sink of the data that we receive: it empties a ring, digests the data, and writes it to an
 * output file (stream/output-file.h) if there is one. Without an output file, a text is shown, and
 * of longer data the digest. A text without an output file is consumed at once; for anything else,
 * the sink has a thread, which may wait while the consumer pauses.
 *
 * The main thread calls sink_open(), sink_start() when the ring exists, and sink_close() at the
 * end. The CQ thread calls sink_begin() when the peer has named its data, and sink_finish() when it
 * has announced the end. The listener's `moved` is called when there is free space in the ring, and
 * when the state has changed. sink_stop() ends the sink early, from any thread: unverified data is
 * removed.
 */
#ifndef STREAM_SINK_H
#define STREAM_SINK_H

#include <stdint.h>

#include "base/worker.h"
#include "protocol/digest.h"
#include "stream/output-file.h"
#include "stream/ring.h"

/* The largest text, in bytes: the tutorial's size. */
#define SINK_TEXT_SIZE 1024

enum sink_state {
	SINK_WORKING,
	SINK_VERIFIED, /* the data is complete, undamaged and in the output file */
	SINK_DAMAGED,  /* the data is complete, and its digest differs */
	SINK_FAILED,   /* the output file failed: sink_error() */
};

struct sink;

/*
 * Makes a sink for a stream of that size, or of STREAM_SIZE_UNKNOWN. Returns 0 or -errno. The
 * options outlive the sink.
 */
int sink_open(struct sink **sink, const struct output_file_options *options, uint64_t size);

/* Joins the thread, which has ended or was stopped, and frees the sink. NULL is allowed. */
void sink_close(struct sink *sink);

/*
 * Starts the thread, if the sink needs one; it writes at most `most` bytes at a time. Returns 0 or
 * -errno. Ring and listener outlive the sink.
 */
int sink_start(
	struct sink *sink, struct ring *ring, size_t most, const struct worker_listener *listener);

/*
 * Makes the digest a keyed one; the key is copied. An attacker may then write into the ring, so the
 * sink digests and writes a copy of the data. Before sink_begin().
 */
void sink_set_key(struct sink *sink, const uint8_t key[DIGEST_KEY_SIZE]);

/* Lets the thread start. The name is the peer's for its data, the fallback ours if it has none. */
void sink_begin(struct sink *sink, const void *name, size_t name_size, const char *fallback);

/*
 * Ends the ring, which has all of the stream: of this size and digest, according to the peer. A
 * sink without a thread has its final state when this returns.
 */
void sink_finish(struct sink *sink, uint64_t size, const struct digest *digest);

/* Any thread. */
enum sink_state sink_state(const struct sink *sink);

/* The sentence about the failure; -errno goes to *error. If the state is SINK_FAILED. */
const char *sink_error(const struct sink *sink, int *error);

/* The base name of the output file, "" if there is none. If the state is SINK_VERIFIED. */
const char *sink_name(const struct sink *sink);

/*
 * The data if it is a text to be shown, else NULL; its size goes to *size. If the state is
 * SINK_VERIFIED.
 */
const uint8_t *sink_text(const struct sink *sink, size_t *size);

/* True if it has a thread, until it is closed. NULL is allowed. Main thread. */
bool sink_is_running(const struct sink *sink);

/* Ends the thread soon, whatever it waits for. NULL is allowed. Any thread. */
void sink_stop(struct sink *sink);

#endif
