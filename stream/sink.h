/*
 * Where the data that we receive goes: it is digested on its way out of a ring, and written into a
 * target (stream/output-file.h) or, without --output, nowhere: then a text is shown, and of anything longer
 * the digest. With a target, or for anything longer, a sink has a thread, which may wait as long as
 * a consumer pauses; a text is taken at once.
 *
 * sink_open() and sink_start() (main thread), sink_begin() when the peer has named its data and
 * sink_finish() when it has told its end (CQ thread); the listener is told of room in the ring and
 * of the verdict. sink_stop() ends it early, from any thread: a target that is not verified by then
 * leaves nothing behind.
 */
#ifndef STREAM_SINK_H
#define STREAM_SINK_H

#include <stdint.h>

#include "base/worker.h"
#include "protocol/digest.h"
#include "stream/output-file.h"
#include "stream/ring.h"

/* Up to so many bytes are a text, which is shown. The tutorial's size. */
#define SINK_TEXT_SIZE 1024

enum sink_state {
	SINK_WORKING,
	SINK_VERIFIED, /* all is here, as it was sent, and kept under its final name */
	SINK_DAMAGED,  /* all is here, and its digest differs */
	SINK_FAILED,   /* it could not be kept: sink_error() */
};

struct sink;

/*
 * Makes a sink for a stream of that size (STREAM_SIZE_UNKNOWN if its end will tell). Returns 0 or
 * -errno. options outlive the sink.
 */
int sink_open(struct sink **sink, const struct output_file_options *options, uint64_t size);

/* Frees the sink when its thread has ended, or before it was started. NULL is allowed. */
void sink_close(struct sink *sink);

/* Starts the thread, if it needs one. Returns 0 or -errno. ring and listener outlive the sink. */
int sink_start(
	struct sink *sink, struct ring *ring, size_t most, const struct worker_listener *listener);

/*
 * The digest has that key, of which the sink keeps a copy. Whoever else is in the ring's memory is not
 * to be trusted then: what goes into a target is a copy, the same that was digested. Before
 * sink_begin().
 */
void sink_set_key(struct sink *sink, const uint8_t key[DIGEST_KEY_SIZE]);

/* What the peer calls its data, and what we call it if it has no name. */
void sink_begin(struct sink *sink, const void *name, size_t name_size, const char *fallback);

/*
 * The stream has this size and digest, and all of it is in the ring: the ring has ended. A sink
 * without a thread is done when this returns.
 */
void sink_finish(struct sink *sink, uint64_t size, const struct digest *digest);

/* How far it is. Any thread. */
enum sink_state sink_state(struct sink *sink);

/* Why it failed. -errno goes to *error. */
const char *sink_error(struct sink *sink, int *error);

/* The base name under which the data is kept, "" if it is not. Once it is verified. */
const char *sink_name(const struct sink *sink);

/* The data, if it is a text (sink_open()); its size goes to *size. Once it is verified. */
const uint8_t *sink_text(const struct sink *sink, size_t *size);

/* True from the start of its thread until it is closed; false if it has none. NULL is allowed.
 * Main thread. */
bool sink_is_running(const struct sink *sink);

/* Ends the thread soon, whatever it waits for. NULL is allowed. */
void sink_stop(struct sink *sink);

#endif
