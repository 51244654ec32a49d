/* See stream/direct.h. It keeps no state. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/direct.h"

int direct_open(int folder, const char *name, int flags, int same)
{
	int file = openat(folder, name, flags | O_DIRECT | O_CLOEXEC);
	struct stat ours, theirs;
	int error = 0;

	if (file < 0)
		return errno == EINVAL ? -EOPNOTSUPP : -errno;
	if (fstat(file, &ours) || fstat(same, &theirs))
		error = -errno;
	else if (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
		error = -ESTALE;
	if (error)
		close(file);
	return error ? error : file;
}

bool direct_fits(const void *address, off_t offset)
{
	return ((uintptr_t)address - (uint64_t)offset) % DIRECT_BLOCK == 0;
}

/* Returns how many of the bytes come next, and whether directly. */
static size_t next_part(const void *bytes, size_t size, off_t offset, bool *directly)
{
	size_t into = (size_t)(offset % DIRECT_BLOCK), before = into ? DIRECT_BLOCK - into : 0;

	*directly = false;
	if (!direct_fits(bytes, offset) || size <= before)
		return size;
	if (before > 0)
		return before;
	*directly = size >= DIRECT_BLOCK;
	return *directly ? size - size % DIRECT_BLOCK : size;
}

/* A file system may let a file be opened directly, and refuse its first block. */
static ssize_t explain(ssize_t moved, bool directly)
{
	if (moved < 0 && directly && errno == EINVAL)
		errno = EOPNOTSUPP;
	return moved;
}

ssize_t direct_read(int direct, int file, void *bytes, size_t size, off_t offset)
{
	bool directly = false;

	if (direct)
		size = next_part(bytes, size, offset, &directly);
	return explain(pread(directly ? direct : file, bytes, size, offset), directly);
}

ssize_t direct_write(int direct, int file, const void *bytes, size_t size, off_t offset)
{
	bool directly = false;

	if (direct)
		size = next_part(bytes, size, offset, &directly);
	return explain(pwrite(directly ? direct : file, bytes, size, offset), directly);
}
