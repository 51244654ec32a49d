/* See stream/final-name.h. It keeps no state. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "stream/final-name.h"
#include "stream/folder-list.h"

static const char force_hint[] = " (--force at the receiver replaces it)";

const char *final_name_hint(int error)
{
	return error == -EEXIST ? force_hint : "";
}

int final_name_check(int directory, const char *name, bool force, const char **hint)
{
	struct stat status;

	*hint = "";
	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(status.st_mode)) {
		*hint = " (a directory is never replaced)";
		return -EISDIR;
	}
	if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
		*hint = " (not a regular file)";
		return -EEXIST;
	}
	*hint = force_hint;
	return force ? 0 : -EEXIST;
}

static bool is_same(const struct stat *a, int directory, const char *name)
{
	struct stat b;

	return fstatat(directory, name, &b, AT_SYMLINK_NOFOLLOW) == 0 && a->st_dev == b.st_dev &&
	       a->st_ino == b.st_ino;
}

static void describe_collision(const char *other, char text[FINAL_NAME_COLLISION_SIZE])
{
	char shown[TEXT_ESCAPED_SIZE(FINAL_NAME_SHOWN)];

	text_escape_utf8(shown, other, strnlen(other, FINAL_NAME_SHOWN));
	snprintf(text, FINAL_NAME_COLLISION_SIZE,
		"; it collides with %s: this file system does not distinguish the two names",
		shown);
}

/* Describes the entry in the open directory that is the same file but is spelled differently. */
static void find_collision(
	DIR *list, const char *name, const struct stat *file, char text[FINAL_NAME_COLLISION_SIZE])
{
	const struct dirent *entry;

	while ((entry = folder_list_next(list))) {
		if (strcmp(entry->d_name, name) == 0) {
			*text = '\0'; /* a hard link to the same file came first */
			return;
		}
		if (!*text && is_same(file, dirfd(list), entry->d_name))
			describe_collision(entry->d_name, text);
	}
}

void final_name_collision(int directory, const char *name, char text[FINAL_NAME_COLLISION_SIZE])
{
	DIR *list = folder_list_open(directory);
	struct stat file;

	*text = '\0';
	if (!list)
		return;
	if (fstatat(directory, name, &file, AT_SYMLINK_NOFOLLOW) == 0)
		find_collision(list, name, &file, text);
	closedir(list);
}

/* True for errors that mean that the file system does not support this kind of rename or link. */
static bool is_unsupported(int error)
{
	return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM;
}

/* Reserves the name briefly with an empty file or folder. Returns 0 or -errno. */
static int reserve(int directory, const char *name, bool folder)
{
	int file;

	if (folder)
		return mkdirat(directory, name, 0700) ? -errno : 0;
	file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (file < 0)
		return -errno;
	close(file);
	return 0;
}

static int replace(int from, const char *hidden, int directory, const char *name)
{
	return renameat(from, hidden, directory, name) ? -errno : 0;
}

/* Moves a file, or a folder that may be moved: see final_name_take(). */
static int take(
	int from, const char *hidden, int directory, const char *name, bool force, bool folder)
{
	int error;

	if (force && !folder)
		return replace(from, hidden, directory, name);
	if (renameat2(from, hidden, directory, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (!is_unsupported(errno))
		return -errno;
	if (!folder && linkat(from, hidden, directory, name, 0) == 0) {
		unlinkat(from, hidden, 0);
		return 0;
	}
	if (!folder && !is_unsupported(errno))
		return -errno;
	error = reserve(directory, name, folder);
	if (error)
		return error;
	error = replace(from, hidden, directory, name);
	if (error)
		unlinkat(directory, name, folder ? AT_REMOVEDIR : 0);
	return error;
}

int final_name_take(int from, const char *hidden, int directory, const char *name, bool force)
{
	struct stat status;
	bool folder, closed;
	int error;

	if (fstatat(from, hidden, &status, AT_SYMLINK_NOFOLLOW))
		return -errno;
	folder = S_ISDIR(status.st_mode);
	/* Moving a folder writes to it: its entry ".." changes. */
	closed = folder && !(status.st_mode & S_IWUSR);
	if (closed)
		fchmodat(from, hidden, 0700, 0);
	error = take(from, hidden, directory, name, force, folder);
	if (closed && !error)
		fchmodat(directory, name, status.st_mode & 0777, 0);
	return error;
}
