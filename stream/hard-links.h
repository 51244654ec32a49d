/*
 * The files with several names that a tree input has found: only the first name is sent with the
 * data (TREE_FILE), each other one as a link to it (TREE_HARD_LINK). Takes memory from the memory
 * budget (host/memory-budget.h) for each of these files; what does not fit is sent again. One
 * thread at a time.
 */
#ifndef STREAM_HARD_LINKS_H
#define STREAM_HARD_LINKS_H

#include <sys/stat.h>

#include "stream/file-set.h"

/* Initialise with zeros. */
struct hard_links {
	struct file_set files; /* with their paths */
};

/*
 * Returns the path of this file that was entered earlier, valid until hard_links_forget(); or
 * enters this one, and returns NULL.
 */
const char *hard_links_find(struct hard_links *links, dev_t device, ino_t number, const char *path);

/* The file's first name is not sent: another name is not a link to it. */
void hard_links_withdraw(struct hard_links *links, dev_t device, ino_t number);

/* Frees everything; the next walk starts anew. */
void hard_links_forget(struct hard_links *links);

#endif
