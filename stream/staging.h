/*
 * Where a tree stream is stored until it is verified: a hidden folder (stream/hidden-file.h) with a
 * folder for each attempt, "1", "2" and so on. A transfer that resumes adopts the hidden folder
 * that interrupted ones have left. It adds an attempt, and takes from the earlier ones what the
 * sender still has as it is; what remains in them is removed in the end. One thread at a time.
 */
#ifndef STREAM_STAGING_H
#define STREAM_STAGING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "stream/file-name.h"

/* The most earlier attempts; older ones are merged into one. */
#define STAGING_EARLIER 8

struct staging {
	int directory;                  /* that contains the hidden folder; the caller's, O_PATH */
	char hidden[FILE_NAME_MAX + 1]; /* its name */
	int lock;                       /* an open descriptor of it */
	uint32_t attempt;               /* the number of this one */
	int earlier[STAGING_EARLIER];   /* folders of earlier attempts, the latest first */
	unsigned int count;             /* of them */
};

/*
 * Creates the hidden folder for a name, or with `resumes` adopts one, and creates the folder of
 * this attempt. Returns its descriptor, which the caller closes, or -errno.
 */
int staging_open(struct staging *staging, int directory, const char *name, bool resumes);

/*
 * Finds a regular file with this path of the stream in an earlier attempt. Returns an open (O_PATH)
 * descriptor of its folder, which the caller closes, and stores its name and status; or -ENOENT.
 */
int staging_find(const struct staging *staging, const char *path, char name[FILE_NAME_MAX + 1],
	struct stat *status);

/* What staging_close() keeps for the next transfer. */
enum staging_rest {
	STAGING_NOTHING,
	STAGING_EARLIER_ATTEMPTS, /* this one has stored nothing */
	STAGING_ALL,
};

/* Closes everything, and removes all but this. Returns true if anything is kept. */
bool staging_close(struct staging *staging, enum staging_rest rest);

#endif
