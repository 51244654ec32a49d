/* See stream/merge.h. It keeps no state. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/final-name.h"
#include "stream/folder-list.h"
#include "stream/merge.h"

static int merge(int from, int to, char path[PATH_MAX], size_t used);

/* Merges a folder into one that exists, which gets its permissions and time. */
static int merge_into(int from, int to, const char *name, const struct stat *status,
	const struct stat *theirs, char path[PATH_MAX], size_t used)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, status->st_mtim};
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int inner, existing, error;

	fchmodat(from, name, 0700, 0);
	inner = openat(from, name, flags);
	existing = openat(to, name, flags);
	if (existing < 0 && errno == EACCES && theirs->st_uid == geteuid() &&
		fchmodat(to, name, (status->st_mode & 0777) | 0700, 0) == 0)
		existing = openat(to, name, flags);
	error = inner < 0 || existing < 0 ? -errno : 0;
	if (!error) {
		/* The owner may lack a permission there that the merge needs. */
		fchmod(existing, (status->st_mode & 0777) | 0700);
		error = merge(inner, existing, path, used);
	}
	if (!error) {
		fchmod(existing, status->st_mode & 0777);
		futimens(existing, times);
	}
	if (inner >= 0)
		close(inner);
	if (existing >= 0)
		close(existing);
	return error;
}

static int move_entry(int from, int to, const char *name, char path[PATH_MAX], size_t used)
{
	struct stat ours, theirs;
	bool exists;

	if (fstatat(from, name, &ours, AT_SYMLINK_NOFOLLOW))
		return -errno;
	exists = fstatat(to, name, &theirs, AT_SYMLINK_NOFOLLOW) == 0;
	if (!exists && S_ISDIR(ours.st_mode))
		return final_name_take(from, name, to, name, false);
	if (exists && S_ISDIR(ours.st_mode) && !S_ISDIR(theirs.st_mode))
		return -ENOTDIR;
	if (exists && S_ISDIR(theirs.st_mode) && !S_ISDIR(ours.st_mode))
		return -EISDIR;
	if (S_ISDIR(ours.st_mode))
		return merge_into(from, to, name, &ours, &theirs, path, used);
	return renameat(from, name, to, name) ? -errno : 0;
}

static int merge(int from, int to, char path[PATH_MAX], size_t used)
{
	DIR *list = folder_list_open(from);
	const struct dirent *entry;
	int error = 0;

	if (!list)
		return -errno;
	while (!error && (entry = folder_list_next(list))) {
		const char *name = entry->d_name;
		size_t longer;

		longer = used + strlen(name) + (used > 0);
		if (longer < PATH_MAX)
			snprintf(path + used, PATH_MAX - used, "%s%s", used > 0 ? "/" : "", name);
		error = move_entry(from, to, name, path, longer < PATH_MAX ? longer : used);
		if (!error)
			path[used] = '\0';
	}
	closedir(list);
	return error;
}

int merge_folders(int from, int to, char path[PATH_MAX])
{
	path[0] = '\0';
	return merge(from, to, path, 0);
}
