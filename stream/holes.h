/* Files in which zeros take no room on the disk. */
#ifndef STREAM_HOLES_H
#define STREAM_HOLES_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Writes size bytes at an offset into a regular file where nothing was written yet, but leaves out
 * blocks of 4 KiB (those of the file, not of the data) that are all zero: they stay holes. The
 * caller gives the file its size at the end, since a hole there leaves it too short; ftruncate(2).
 * Returns 0, or -errno after any part of it. Any thread.
 */
int holes_write(int file, const void *data, size_t size, off_t offset);

#endif
