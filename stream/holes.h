/* Writes files with holes: blocks of zeros take no space on the disk. Any thread. */
#ifndef STREAM_HOLES_H
#define STREAM_HOLES_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Writes size bytes at an offset of a regular file that was not written there before, except for
 * blocks of 4 KiB of the file that are all zero: these remain holes. The caller sets the file's
 * size at the end, because a hole there leaves it too short; ftruncate(2). Returns 0, or -errno
 * after a part was written.
 */
int holes_write(int file, const void *data, size_t size, off_t offset);

#endif
