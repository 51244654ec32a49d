/* Writes sparse files: blocks of zeros use no disk space. Any thread. */
#ifndef STREAM_HOLES_H
#define STREAM_HOLES_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Writes size bytes at an offset where the regular file has not been written before. 4 KiB blocks
 * that are all zero are skipped and remain holes. The caller sets the file size at the end, because
 * a trailing hole leaves the file too short; ftruncate(2). Returns 0, or -errno after a partial
 * write.
 */
int holes_write(int file, const void *data, size_t size, off_t offset);

#endif
