/*
 * What the receiver of a tree stream already has. The tree input asks for its files, one after
 * another; the answers arrive in the peer's stream, in the same order, and are used once that
 * stream is verified (docs/protocol.md, "Files that the receiver has").
 *
 * The thread of the source asks, waits and then finds; the thread of the sink takes the peer's
 * bytes. Memory is taken from the memory budget (host/memory-budget.h).
 */
#ifndef STREAM_ANSWERS_H
#define STREAM_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "protocol/tree.h"

struct answers;

/* Returns NULL if out of memory. answers_free() accepts NULL. */
struct answers *answers_new(void);
void answers_free(struct answers *answers);

/* A file that is asked for. */
struct asked_file {
	uint64_t size, storage; /* bytes */
	bool by_time;           /* the answer may be by size and this time: */
	struct timespec modified;
};

/* Notes that the next question is for the file with this path. Returns 0 or -ENOMEM. */
int answers_ask(struct answers *answers, const char *path, const struct asked_file *file);

/*
 * Takes the next bytes of the peer's stream. Returns 0; -ENOMEM; or -EPROTO if they are no answers
 * to what was asked so far.
 */
int answers_take(struct answers *answers, const void *bytes, size_t size);

/* All answers are here and verified; or there will be none, because the exchange ends. */
void answers_end(struct answers *answers);
void answers_stop(struct answers *answers);

/* Waits for answers_end(). Returns 0, or -ECANCELED after answers_stop(). */
int answers_await(struct answers *answers);

/*
 * After that: the answer for the file with this path, or NULL if the peer has nothing of it; stores
 * what was asked for. Valid until answers_free(). Any thread.
 */
const struct tree_answer *answers_find(
	const struct answers *answers, const char *path, struct asked_file *asked);

/*
 * How many bytes of the files, and of their storage, the peer has if all of them have the digests
 * or times of the answers.
 */
void answers_sum(const struct answers *answers, uint64_t *bytes, uint64_t *storage);

#endif
