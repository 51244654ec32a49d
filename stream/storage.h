/* Disk space: what a file needs, and what a directory's file system has. Any thread. */
#ifndef STREAM_STORAGE_H
#define STREAM_STORAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Size of the hint of storage_check() in bytes. */
#define STORAGE_HINT_SIZE 96

/* Bytes of storage that a copy of the file needs: less than its size if the file is sparse. */
uint64_t storage_of(const struct stat *status);

/*
 * Returns 0 if the file system of the directory has this much free space, or if that is unknown;
 * otherwise -ENOSPC with the two sizes in the hint, to be printed after the error. statvfs(3).
 */
int storage_check(int directory, uint64_t needed, char hint[STORAGE_HINT_SIZE]);

/*
 * Reserves storage for these bytes of a regular file, which keeps its size, if the file system can
 * do that quickly. Sets `reserved` if it did. Returns 0, or -errno if there is not enough: -ENOSPC,
 * -EDQUOT, -EFBIG. fallocate(2).
 */
int storage_reserve(int file, uint64_t start, uint64_t end, bool *reserved);

/*
 * Starts to write the file's data to the disk when another STORAGE_PART of it is complete: called
 * for each piece that follows those before it. Hardly waits; errors are those of fsync(2) at the
 * end. sync_file_range(2).
 */
#define STORAGE_PART (UINT64_C(8) << 20)
void storage_write_back(int file, uint64_t start, uint64_t size);

/*
 * How much of a file, at the end of what an interrupted transfer left, may have gaps, in bytes:
 * more than several threads write at a time.
 */
#define STORAGE_GAPS (UINT64_C(64) << 20)

#endif
