/* Disk space: what a file needs, and what a directory's file system has. Any thread. */
#ifndef STREAM_STORAGE_H
#define STREAM_STORAGE_H

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

#endif
