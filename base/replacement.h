/*
 * Replaces a file as a whole. The new file is written under a hidden name in the same directory and
 * then renamed, so that no reader ever sees a part of it, and a failure leaves the old one. What is
 * not a regular file, such as a FIFO, a device or a symbolic link, is written in place. Any thread;
 * the owner of the struct serialises the calls.
 */
#ifndef BASE_REPLACEMENT_H
#define BASE_REPLACEMENT_H

#include <stdbool.h>

struct replacement {
	const char *path; /* the caller's, which outlives the replacement */
	char *hidden;     /* the name until it is complete; owned. NULL: written in place */
};

/* True if the path exists and is not a regular file, which a rename must not replace. */
bool replacement_is_in_place(const char *path);

/*
 * Creates the hidden file, with the mode that open(2) gives new files, or opens the path. Returns a
 * descriptor for writing, which the caller closes, or -errno. After a success, call
 * replacement_commit() or replacement_discard().
 */
int replacement_open(struct replacement *replacement, const char *path);

/* The name of the file that is being written. */
const char *replacement_name(const struct replacement *replacement);

/*
 * Gives the hidden file its name. Returns 0, or -errno after the hidden file was removed. Close the
 * descriptor first.
 */
int replacement_commit(struct replacement *replacement);

/* Removes the hidden file. Does nothing after replacement_commit() or before replacement_open(). */
void replacement_discard(struct replacement *replacement);

#endif
