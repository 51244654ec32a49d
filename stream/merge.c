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

/* Where the merge is, and what it keeps. */
struct place {
	char *path; /* PATH_MAX bytes */
	size_t used;
	const struct keeping *keeping;
};

static int merge(int from, int to, const struct place *place);

/* Gives a folder the permissions, attributes and time of the one that was merged into it. */
static void take_over(int inner, int existing, const struct stat *status, const struct place *place)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, status->st_mtim};

	if (place->keeping && place->keeping->kept)
		attributes_copy(place->keeping, inner, status, existing, place->path);
	else
		fchmod(existing, status->st_mode & 0777);
	futimens(existing, times);
}

/* Merges a folder into one that exists. */
static int merge_into(int from, int to, const char *name, const struct stat *status,
	const struct stat *theirs, const struct place *place)
{
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
		error = merge(inner, existing, place);
	}
	if (!error)
		take_over(inner, existing, status, place);
	if (inner >= 0)
		close(inner);
	if (existing >= 0)
		close(existing);
	return error;
}

static int move_entry(int from, int to, const char *name, const struct place *place)
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
		return merge_into(from, to, name, &ours, &theirs, place);
	return renameat(from, name, to, name) ? -errno : 0;
}

static int merge(int from, int to, const struct place *place)
{
	DIR *list = folder_list_open(from);
	const struct dirent *entry;
	int error = 0;

	if (!list)
		return -errno;
	while (!error && (entry = folder_list_next(list))) {
		const char *name = entry->d_name;
		size_t used = place->used, longer = used + strlen(name) + (used > 0);
		struct place inner = *place;

		if (longer < PATH_MAX) {
			snprintf(place->path + used, PATH_MAX - used, "%s%s", used > 0 ? "/" : "",
				name);
			inner.used = longer;
		}
		error = move_entry(from, to, name, &inner);
		if (!error)
			place->path[used] = '\0';
	}
	closedir(list);
	return error;
}

int merge_folders(int from, int to, char path[PATH_MAX], const struct keeping *keeping)
{
	path[0] = '\0';
	return merge(from, to, &(struct place){.path = path, .keeping = keeping});
}
