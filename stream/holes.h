/* Sparse files: where their holes are, and how blocks of zeros become holes. Any thread. */
#ifndef STREAM_HOLES_H
#define STREAM_HOLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "protocol/tree.h"

/* True if the file has holes that are worth looking for. */
bool holes_likely(const struct stat *status);

/*
 * Finds the run of a regular file that begins at this offset, which is smaller than the size. Moves
 * the offset of the descriptor. Returns 0; -ENODATA if the file has become shorter; or -errno.
 * lseek(2).
 */
int holes_find(int file, uint64_t offset, uint64_t size, struct tree_run *run);

/* A regular file. */
struct holes_file {
	int file;      /* its descriptor, the caller's */
	int direct;    /* another one for direct output (stream/direct.h), or 0 */
	bool reserved; /* it has storage in advance: storage_reserve() */
};

/*
 * Writes size bytes at an offset where the file has not been written before. 4 KiB blocks that are
 * all zero are skipped and remain holes, or become holes if the file has storage in advance. The
 * caller sets the file size at the end, because a trailing hole leaves the file too short;
 * ftruncate(2). Returns 0, or -errno after a partial write.
 */
int holes_write(const struct holes_file *file, const void *data, size_t size, off_t offset);

#endif
