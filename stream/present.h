/*
 * What a tree output already has of the sender's files: in an earlier attempt that was interrupted
 * (stream/staging.h) or, with --update, where the tree is stored. One thread at a time.
 */
#ifndef STREAM_PRESENT_H
#define STREAM_PRESENT_H

#include <stdint.h>
#include <sys/stat.h>

#include "protocol/digest.h"
#include "stream/staging.h"
#include "stream/writer.h"

struct present {
	const struct staging *staging;
	int target;                   /* the folder where the tree is stored, or -1: not asked */
	const struct digester *keyed; /* the stream's, without data */
	struct writer writer;         /* to which the answers go; its stop_fd ends reads, too */
	uint64_t number;              /* of the next question */
};

/*
 * Answers the question for the file with this path of the stream, and this size in bytes. Returns 0
 * or -errno: -EISDIR or -ENOTDIR if something else is in its place; -ECANCELED...
 */
int present_answer(struct present *present, const char *path, uint64_t size);

#endif
