/* Writes sparse files: blocks of zeros use no disk space. Any thread. */
#ifndef STREAM_HOLES_H
#define STREAM_HOLES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

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
