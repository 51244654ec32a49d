/* Writes sparse files: blocks of zeros use no disk space. Any thread. */
#ifndef STREAM_HOLES_H
#define STREAM_HOLES_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Writes size bytes at an offset of a regular file that has not been written there before, except
 * for 4 KiB blocks of the file that are all zero, which remain holes. The caller sets the file size
 * at the end, because a trailing hole leaves the file too short; ftruncate(2). Returns 0, or -errno
 * after a partial write.
 */
int holes_write(int file, const void *data, size_t size, off_t offset);

#endif
