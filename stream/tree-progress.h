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
	uint64_t file;                 /* the number of files that have begun */
	uint64_t bytes;                /* the size of these files */
	char name[PROGRESS_NAME_SIZE]; /* the end of the path of the last one: any bytes */
};

struct tree_progress {
	pthread_mutex_t lock;
	struct tree_state state;
};

#define TREE_PROGRESS_INITIAL \
	{ \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}

/* Sets what the stream consists of; 0: unknown. NULL is allowed here and in the next function. */
void tree_progress_plan(struct tree_progress *progress, uint64_t total, uint64_t files);

/* Counts a file or, with size 0, a symbolic link that begins now. */
void tree_progress_count(struct tree_progress *progress, const char *path, uint64_t size);

/* Returns a copy. */
struct tree_state tree_progress_state(struct tree_progress *progress);

#endif
