/*
 * A set of files, known by their device and inode, so by whatever name. For each, it keeps some
 * bytes of the caller. Memory is taken from the memory budget (host/memory-budget.h). One thread at
 * a time.
 */
#ifndef STREAM_FILE_SET_H
#define STREAM_FILE_SET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Initialise with zeros. */
struct file_set {
	void *files;    /* a tree of tsearch(3) */
	uint64_t taken; /* bytes of the budget */
};

/* Returns the bytes of a file, valid until file_set_clear(); NULL if it is not in the set. */
void *file_set_find(const struct file_set *set, dev_t device, ino_t number);

/*
 * Adds a file that is not in the set. Returns its bytes, this many, which are zero and aligned for
 * any type; or NULL without memory.
 */
void *file_set_add(struct file_set *set, dev_t device, ino_t number, size_t size);

/* Removes everything. */
void file_set_clear(struct file_set *set);

#endif
