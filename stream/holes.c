/*
 * Finds holes of files; and splits data into runs of zero blocks, which are skipped, and runs of
 * other blocks, which are written. The caller owns the data and the file descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "stream/direct.h"
#include "stream/holes.h"
#include "stream/storage.h"

_Static_assert(sizeof(off_t) == 8, "large files need -D_FILE_OFFSET_BITS=64");

/* Granularity of holes: the block size of most file systems. */
#define BLOCK_SIZE 4096

/* Smaller files are sent whole. */
#define LEAST 65536

bool holes_likely(const struct stat *status)
{
	return S_ISREG(status->st_mode) && status->st_size >= LEAST &&
	       storage_of(status) < (uint64_t)status->st_size;
}

/* Returns 0 if the file still has this size, -ENODATA if it is shorter, or -errno. */
static int check_size(int file, uint64_t size)
{
	struct stat status;

	if (fstat(file, &status))
		return -errno;
	return (uint64_t)status.st_size < size ? -ENODATA : 0;
}

int holes_find(int file, uint64_t offset, uint64_t size, struct tree_run *run)
{
	off_t data = lseek(file, (off_t)offset, SEEK_DATA), hole;

	if (data < 0 && errno != ENXIO && errno != EINVAL)
		return -errno;
	if (data < 0 && errno == EINVAL) {
		/* The kernel knows no holes of this file. */
		*run = (struct tree_run){.data = size - offset};
		return check_size(file, size);
	}
	if (data < 0 || (uint64_t)data >= size) {
		*run = (struct tree_run){.hole = size - offset};
		return check_size(file, size);
	}
	hole = lseek(file, data, SEEK_HOLE);
	if (hole < 0)
		return errno == ENXIO ? -ENODATA : -errno;
	if ((uint64_t)hole > size)
		hole = (off_t)size;
	*run = (struct tree_run){
		.hole = (uint64_t)data - offset, .data = (uint64_t)hole - (uint64_t)data};
	return 0;
}

/* Compares each byte with the next. For most data, this stops within the first bytes. */
static bool is_zero(const uint8_t *bytes, size_t size)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

/*
 * Returns the length of the run of zero blocks, or of other blocks, at an offset. A partial block
 * at either end counts as a block: if it is skipped, it reads as zeros, because nothing was written
 * there.
 */
static size_t run_length(const uint8_t *bytes, size_t size, off_t offset, bool *zero)
{
	size_t length = 0;

	while (length < size) {
		size_t part = BLOCK_SIZE - ((uint64_t)offset + length) % BLOCK_SIZE;
		bool part_zero;

		if (part > size - length)
			part = size - length;
		part_zero = is_zero(bytes + length, part);
		if (length == 0)
			*zero = part_zero;
		else if (part_zero != *zero)
			break;
		length += part;
	}
	return length;
}

static int write_at(const struct holes_file *file, const uint8_t *bytes, size_t size, off_t offset)
{
	while (size > 0) {
		ssize_t taken = direct_write(file->direct, file->file, bytes, size, offset);

		if (taken < 0 && errno != EINTR)
			return -errno;
		if (taken > 0) {
			bytes += taken;
			size -= (size_t)taken;
			offset += taken;
		}
	}
	return 0;
}

/* Returns the storage of zeros. It may be needed for them if the file system cannot do that. */
static void make_hole(const struct holes_file *file, size_t size, off_t offset)
{
	if (file->reserved)
		fallocate(file->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
			(off_t)size);
}

int holes_write(const struct holes_file *file, const void *data, size_t size, off_t offset)
{
	const uint8_t *bytes = data;

	while (size > 0) {
		bool zero = false;
		size_t length = run_length(bytes, size, offset, &zero);
		int error = zero ? 0 : write_at(file, bytes, length, offset);

		if (zero)
			make_hole(file, length, offset);
		if (error)
			return error;
		bytes += length;
		size -= length;
		offset += (off_t)length;
	}
	return 0;
}
