/*
 * What a tree stream consists of and which file it has reached, for progress and summaries. A tree
 * input or output writes it; other threads read copies. Any thread.
 */
#ifndef STREAM_TREE_PROGRESS_H
#define STREAM_TREE_PROGRESS_H

#include <pthread.h>
#include <stdint.h>

#include "base/progress.h"

/* Files include symbolic links. */
struct tree_state {
	uint64_t total;                /* bytes of the stream; 0: unknown */
	uint64_t files;                /* in the stream; 0: unknown, or none */
	uint64_t file;                 /* the number of files that the transfer has reached */
	uint64_t bytes;                /* the size of these files, without those that were there */
	uint64_t kept;                 /* files that were there */
	char name[PROGRESS_NAME_SIZE]; /* the end of the path of the last one: any bytes */
};

/*
 * The most that are remembered of the files that are read, but that the transfer has not reached.
 */
#define TREE_MARKS 32

struct tree_progress {
	pthread_mutex_t lock;
	struct tree_state state; /* without the marks */
	struct tree_mark {
		uint64_t at; /* where it begins in the stream */
		uint64_t file, bytes;
		char name[PROGRESS_NAME_SIZE];
	} marks[TREE_MARKS]; /* the oldest first */
	unsigned int count;
	unsigned int shift; /* only each 2^shift-th file, and the last, have a mark */
};

#define TREE_PROGRESS_INITIAL \
	{ \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}

/* Sets what the stream consists of; 0: unknown. NULL is allowed here and in the next function. */
void tree_progress_plan(struct tree_progress *progress, uint64_t total, uint64_t files);

/*
 * Counts a file or, with size 0, a symbolic link that begins at this byte of the stream. Files are
 * counted in the order of the stream.
 */
void tree_progress_count(
	struct tree_progress *progress, const char *path, uint64_t size, uint64_t at);

/* Counts a file that the receiver has as it is. */
void tree_progress_keep(struct tree_progress *progress, const char *path, uint64_t at);

/* The last file that was counted, with this size, is not stored after all. */
void tree_progress_withdraw(struct tree_progress *progress, uint64_t size);

/*
 * Returns the state once this many bytes of the stream have moved; UINT64_MAX: with all begun.
 * If more files than TREE_MARKS are read ahead, not each is remembered, so a slightly earlier one
 * may be the current one. `moved` never decreases.
 */
struct tree_state tree_progress_state(struct tree_progress *progress, uint64_t moved);

#endif
