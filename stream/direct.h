/*
 * Direct input and output (O_DIRECT): a disk reads and writes the caller's memory, past the page
 * cache. It needs whole aligned blocks; what is left at either end of a file, and data whose
 * address does not fit its offset, takes the usual way, through a second descriptor of the file.
 * Any thread.
 */
#ifndef STREAM_DIRECT_H
#define STREAM_DIRECT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Addresses, offsets and sizes are multiples of this: no disk has larger sectors. */
#define DIRECT_BLOCK 4096

/* What is said of a file whose file system refuses. */
#define DIRECT_REFUSED "the file system does not support --direct"

/*
 * Opens the file for direct access, which is already open as `same`: relative to the folder, with
 * these flags. The caller closes the descriptor. Returns it or -errno: -EOPNOTSUPP if the file
 * system refuses, -ESTALE if the name has become that of another file.
 */
int direct_open(int folder, const char *name, int flags, int same);

/* True if memory at this address can be read or written directly at this offset. */
bool direct_fits(const void *address, off_t offset);

/*
 * Like pread(2) and pwrite(2): they may read or write less. `direct` is a descriptor of
 * direct_open(), or 0 for none; `file` is another one of the same file. EOPNOTSUPP: the file system
 * refuses direct access after all.
 */
ssize_t direct_read(int direct, int file, void *bytes, size_t size, off_t offset);
ssize_t direct_write(int direct, int file, const void *bytes, size_t size, off_t offset);

#endif
