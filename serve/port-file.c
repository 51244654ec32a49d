/*
 * Writes and removes the port file. Keeps no state between calls: each call closes the files that
 * it opens.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/port-file.h"

/* True if the path exists and is not a regular file: it must not be replaced by a regular file. */
static bool is_special(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

void port_file_remove(const char *path)
{
	if (!is_special(path))
		unlink(path);
}

/* Writes the port and closes the descriptor. */
static int write_port(int descriptor, uint16_t port)
{
	int error = dprintf(descriptor, "%u\n", port) < 0 ? -errno : 0;

	if (close(descriptor) && !error)
		error = -errno;
	return error;
}

int port_file_write(const char *path, uint16_t port)
{
	char temporary[PATH_MAX];
	int descriptor, error;

	if (is_special(path)) {
		descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		return descriptor < 0 ? -errno : write_port(descriptor, port);
	}
	if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >= (int)sizeof(temporary))
		return -ENAMETOOLONG;
	descriptor = mkostemp(temporary, O_CLOEXEC);
	if (descriptor < 0)
		return -errno;
	/* mkostemp(3) creates the file with mode 0600, but other users may read it. */
	fchmod(descriptor, 0644);
	error = write_port(descriptor, port);
	if (!error && rename(temporary, path))
		error = -errno;
	if (error)
		unlink(temporary);
	return error;
}
