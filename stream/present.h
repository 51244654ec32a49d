/*
 * What a tree output already has of the sender's files: in an earlier attempt that was interrupted
 * (stream/staging.h) or, with --update, where the tree is stored. One thread at a time.
 */
#ifndef STREAM_PRESENT_H
#define STREAM_PRESENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "protocol/digest.h"
#include "protocol/tree.h"
#include "stream/file-set.h"
#include "stream/staging.h"
#include "stream/writer.h"

/* Answers that are written at once: each write may become a message. */
#define PRESENT_ANSWERS 128

struct present {
	const struct staging *staging;
	int target;   /* the folder where the tree is stored, or -1: not asked */
	uid_t user;   /* effective, of this process */
	bool by_time; /* of its files, size and time suffice, if the sender agrees */
	const struct digester *keyed; /* the stream's, without data */
	struct writer *writer;    /* the caller's: where the answers go; its stop_fd ends reads */
	uint64_t number;          /* of the next question */
	struct file_set answered; /* files, as they were then */
	uint8_t unsent[PRESENT_ANSWERS * TREE_ANSWER_SIZE];
	size_t unsent_size; /* bytes of answers that are not written yet */
	/* The folder of the last question, if it was found in `target`: the next may be there. */
	bool has_folder;
	int folder;
	char folder_path[TREE_LINK_MAX + 1];
};

/* A question of the sender. */
struct question {
	const char *path; /* in the stream */
	uint64_t size;    /* bytes */
	bool linked;      /* the sender's file has several names */
	bool by_time;     /* the answer may be by size and this time: */
	struct timespec modified;
};

/*
 * Answers a question. If the sender's file has one name only, a file with several is not used,
 * because they would change together. Only for a file in its place, size and time may suffice: what
 * an interrupted attempt has may have its time, but after a crash of this host not its data.
 * Returns 0 or -errno: -EISDIR or -ENOTDIR if something else is in its place; -ECANCELED...
 */
int present_answer(struct present *present, const struct question *question);

/*
 * Writes the answers that are not written yet: call it when no question is at hand. Returns 0 or
 * -errno.
 */
int present_flush(struct present *present);

/*
 * True if the file with this status, in the place where the tree is stored, is one that was
 * answered, has not changed since, and was not kept yet; now it is.
 */
bool present_keep(struct present *present, const struct stat *status);

/* True if present_keep() was true for this file. */
bool present_is_kept(const struct present *present, const struct stat *status);

/* Forgets and frees what was noted. */
void present_end(struct present *present);

#endif
