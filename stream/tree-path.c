/* See stream/tree-path.h. It keeps no state. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/tree.h"
#include "stream/tree-path.h"

/* Lets the owner write in a folder of ours. */
static void permit(int folder, const char *name)
{
	struct stat status;

	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode) &&
		(status.st_mode & 0700) != 0700)
		fchmodat(folder, name, 0700, 0);
}

int tree_path_open(int folder, const char *path, bool ours, char name[FILE_NAME_MAX + 1])
{
	const char *rest = path;
	int at = fcntl(folder, F_DUPFD_CLOEXEC, 0), next;

	for (;;) {
		size_t size = strcspn(rest, "/");

		if (at < 0)
			return -errno;
		if (size > TREE_NAME_MAX || tree_check_name(rest, size)) {
			close(at);
			return -EPROTO;
		}
		snprintf(name, FILE_NAME_MAX + 1, "%.*s", (int)size, rest);
		/* As a tree output stores it. */
		if (rest == path)
			file_name_from_peer(name, path, size, "unnamed");
		rest += size;
		if (*rest++ == '\0')
			return at;
		if (ours)
			permit(at, name);
		next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0) {
			int error = -errno;

			close(at);
			return error;
		}
		close(at);
		at = next;
	}
}

int tree_path_open_file(
	int folder, const char *path, bool ours, char name[FILE_NAME_MAX + 1], struct stat *status)
{
	int within = tree_path_open(folder, path, ours, name);

	if (within < 0)
		return within;
	if (fstatat(within, name, status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status->st_mode))
		return within;
	close(within);
	return -ENOENT;
}
