/*
 * Where the data that we send comes from: a text, a file or standard input. A source fills a ring.
 * For files and standard input it has a thread, which reads and digests and may wait as long as a
 * producer pauses; a text is in the ring from the start.
 *
 * source_open() (main thread), then source_start() when the ring's memory is there (main thread),
 * source_begin() when the peer wants the data (any thread), and after the ring has ended
 * source_result(). source_stop() ends it early, from any thread; `ended` is called once, when the
 * thread is about to end, and source_close() (main thread) frees it.
 */
#ifndef STREAM_SOURCE_H
#define STREAM_SOURCE_H

#include <stdint.h>

#include "base/worker.h"
#include "protocol/digest.h"
#include "stream/ring.h"

/* The size of a stream that only its end will tell, as it goes over the wire too. */
#define STREAM_SIZE_UNKNOWN UINT64_MAX

struct source;

/*
 * Opens the input, a path or "-" for standard input; if it is NULL, the text of that many bytes is
 * sent instead. Texts are the caller's, and so is the path, as a FIFO is opened only when its data is
 * wanted. Returns 0, or -errno with a sentence in why. open(2).
 */
int source_open(struct source **source, const char *input, const void *text, size_t text_size,
	char why[WORKER_WHY_SIZE]);

/* Frees the source when its thread has ended, or before it was started. NULL is allowed. */
void source_close(struct source *source);

/* Bytes that it will send, or STREAM_SIZE_UNKNOWN. A file is sent as long as it is when opened. */
uint64_t source_size(const struct source *source);

/* The file's base name; "" if there is none. */
const char *source_name(const struct source *source);

/* True if it sends a text. */
bool source_is_text(const struct source *source);

/*
 * Puts a text into the ring, which has room for it, or starts the thread that will fill the ring in
 * stretches of at most `most` bytes.
 * Returns 0 or -errno. listener outlives the source.
 */
int source_start(struct source *source, struct ring *ring, size_t most,
	const struct worker_listener *listener);

/* The digest is to have that key, of which the source keeps a copy. Before source_begin(). */
void source_set_key(struct source *source, const uint8_t key[DIGEST_KEY_SIZE]);

/* The ring may be filled from now on. */
void source_begin(struct source *source);

/* What was sent, when the ring has ended: 0, or -errno with the sentence of source_open() or read(2). */
int source_result(struct source *source, struct digest *digest, const char **why);

/* True from the start of its thread until it is closed; false if it has none. NULL is allowed.
 * Main thread. */
bool source_is_running(const struct source *source);

/* Ends the thread soon, whatever it waits for. NULL is allowed. */
void source_stop(struct source *source);

#endif
