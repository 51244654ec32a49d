/* See stream/storage.h. It keeps no state. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include "base/units.h"
#include "stream/storage.h"

/* st_blocks counts blocks of this size, whatever the file system's block size is. */
#define BLOCK_SIZE 512

uint64_t storage_of(const struct stat *status)
{
	uint64_t size = (uint64_t)status->st_size, blocks = (uint64_t)status->st_blocks;

	return blocks < size / BLOCK_SIZE ? blocks * BLOCK_SIZE : size;
}

int storage_check(int directory, uint64_t needed, char hint[STORAGE_HINT_SIZE])
{
	char needed_text[UNITS_TEXT], free_text[UNITS_TEXT];
	struct statvfs status;
	uint64_t free;

	if (fstatvfs(directory, &status) || status.f_blocks == 0)
		return 0;
	free = (uint64_t)status.f_bavail * status.f_frsize;
	if (needed <= free)
		return 0;
	snprintf(hint, STORAGE_HINT_SIZE, " (%s needed, %s free)",
		units_format(needed_text, needed), units_format(free_text, free));
	return -ENOSPC;
}

int storage_reserve(int file, uint64_t start, uint64_t end, bool *reserved)
{
	struct statfs status;

	*reserved = false;
	/* A tmpfs would allocate every page now, before the data arrives. */
	if (start >= end || fstatfs(file, &status) || status.f_type == TMPFS_MAGIC)
		return 0;
	if (fallocate(file, FALLOC_FL_KEEP_SIZE, (off_t)start, (off_t)(end - start)) == 0) {
		*reserved = true;
		return 0;
	}
	return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? -errno : 0;
}

void storage_write_back(int file, uint64_t start, uint64_t size)
{
	uint64_t first = start / STORAGE_PART, next = (start + size) / STORAGE_PART;

	if (next > first)
		sync_file_range(file, (off_t)(first * STORAGE_PART),
			(off_t)((next - first) * STORAGE_PART), SYNC_FILE_RANGE_WRITE);
}
