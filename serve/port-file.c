/* Keeps no state between calls: each call closes the files that it opens. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/replacement.h"
#include "serve/port-file.h"

void port_file_remove(const char *path)
{
	if (!replacement_is_in_place(path))
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
	struct replacement replacement;
	int descriptor = replacement_open(&replacement, path), error;

	if (descriptor < 0)
		return descriptor;
	/* Whatever the umask is, other users may read it. */
	if (replacement.hidden)
		fchmod(descriptor, 0644);
	error = write_port(descriptor, port);
	if (!error)
		return replacement_commit(&replacement);
	replacement_discard(&replacement);
	return error;
}
