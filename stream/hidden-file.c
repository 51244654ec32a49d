/* See stream/hidden-file.h. It keeps no state. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/tree.h"
#include "stream/hidden-file.h"

/* Hexadecimal digits of a hidden name. */
#define DIGITS 6

/* Attempts to find an unused name. */
#define TRIES 100

/* Bytes of the name that fit into the hidden name, without splitting a UTF-8 character. */
static int kept_length(const char *name)
{
	const size_t most = FILE_NAME_MAX - (strlen("..") + DIGITS);
	size_t length = strlen(name);

	if (length > most)
		for (length = most; length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80;)
			length--;
	return (int)length;
}

/* True if this is a hidden name for `name`. */
static bool is_hidden_name(const char *entry, const char *name)
{
	size_t length = (size_t)kept_length(name);

	return entry[0] == '.' && strncmp(entry + 1, name, length) == 0 &&
	       entry[length + 1] == '.' && strlen(entry + length + 2) == DIGITS &&
	       strspn(entry + length + 2, "0123456789abcdef") == DIGITS;
}

/* True if the name in the directory still refers to the open file. */
static bool is_linked(int directory, const char *name, const struct stat *status)
{
	struct stat now;

	return fstatat(directory, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       now.st_dev == status->st_dev && now.st_ino == status->st_ino;
}

/*
 * Opens and locks a leftover file and stores its size. Returns the descriptor, or -1 if it is in
 * use, or not ours to touch.
 */
static int open_leftover(int directory, const char *name, uint64_t *size)
{
	/* O_NONBLOCK: a FIFO of this name must not block. */
	int file = openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;

	if (file < 0)
		return -1;
	if (fstat(file, &status) || !S_ISREG(status.st_mode) || status.st_nlink != 1 ||
		status.st_uid != geteuid() || flock(file, LOCK_EX | LOCK_NB) ||
		!is_linked(directory, name, &status)) {
		close(file);
		return -1;
	}
	*size = (uint64_t)status.st_size;
	return file;
}

/* Removes all leftover files of this name except the one to adopt. Returns that one, or -1. */
static int adopt(int directory, const char *name, uint64_t most, char hidden[FILE_NAME_MAX + 1],
	uint64_t *size)
{
	int listed = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), best = -1;
	DIR *stream = listed < 0 ? NULL : fdopendir(listed);
	const struct dirent *entry;

	if (!stream) {
		if (listed >= 0)
			close(listed);
		return -1; /* creating files does not require permission to list them */
	}
	while ((entry = readdir(stream))) {
		uint64_t found = 0;
		int file = is_hidden_name(entry->d_name, name)
				   ? open_leftover(directory, entry->d_name, &found)
				   : -1;

		if (file < 0)
			continue;
		if (found == 0 || found > most || (best >= 0 && found <= *size)) {
			unlinkat(directory, entry->d_name, 0);
			close(file);
			continue;
		}
		if (best >= 0) {
			unlinkat(directory, hidden, 0);
			close(best);
		}
		best = file;
		*size = found;
		snprintf(hidden, FILE_NAME_MAX + 1, "%s", entry->d_name);
	}
	closedir(stream);
	return best;
}

/*
 * Locks a new hidden file or folder. Before that, another thread may have taken it for a leftover
 * one. Some file systems cannot lock; there, nothing is taken for a leftover. Returns false if it
 * was removed or is about to be.
 */
static bool lock_new(int directory, const char *name, int file)
{
	struct stat status;

	if (flock(file, LOCK_EX | LOCK_NB))
		return errno != EWOULDBLOCK;
	return fstat(file, &status) || is_linked(directory, name, &status);
}

static int create_file(int directory, const char *name)
{
	return openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

static int create_folder(int directory, const char *name)
{
	if (mkdirat(directory, name, 0700))
		return -1;
	return openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/*
 * Creates and locks a hidden file or folder under an unused name, which it stores. Returns the
 * descriptor or -errno.
 *
 * mkostemp(3) is not used, so that the umask and the directory's default ACL determine the
 * permissions of a file, as for any file that open(2) creates with mode 0666.
 */
static int create_hidden(int directory, const char *name, char hidden[FILE_NAME_MAX + 1],
	int (*create)(int directory, const char *name))
{
	uint32_t number;
	int file;

	for (int tries = 0; tries < TRIES; tries++) {
		if (getrandom(&number, sizeof(number), 0) < 0)
			return -errno;
		snprintf(hidden, FILE_NAME_MAX + 1, ".%.*s.%06" PRIx32, kept_length(name), name,
			number & 0xffffff);
		file = create(directory, hidden);
		if (file < 0 && errno != EEXIST)
			return -errno;
		if (file >= 0 && lock_new(directory, hidden, file))
			return file;
		if (file >= 0)
			close(file);
	}
	return -EEXIST;
}

int hidden_file_open(int directory, const char *name, uint64_t most, char hidden[FILE_NAME_MAX + 1],
	uint64_t *size)
{
	int file = adopt(directory, name, most, hidden, size);

	if (file >= 0)
		return file;
	*size = 0;
	return create_hidden(directory, name, hidden, create_file);
}

/* Removes everything in an open folder, and in its folders up to this depth. */
static void empty_folder(int folder, unsigned int depth)
{
	DIR *stream = fdopendir(folder);
	const struct dirent *entry;

	if (!stream) {
		close(folder);
		return;
	}
	while ((entry = readdir(stream))) {
		const char *name = entry->d_name;
		int inner;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
			unlinkat(folder, name, 0) == 0 || depth == 0)
			continue;
		/* Without these permissions, its entries could not be removed. */
		fchmodat(folder, name, 0700, 0);
		inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (inner < 0)
			continue;
		empty_folder(inner, depth - 1);
		unlinkat(folder, name, AT_REMOVEDIR);
	}
	closedir(stream);
}

void hidden_folder_remove(int directory, const char *hidden)
{
	int folder = openat(directory, hidden, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (folder >= 0)
		empty_folder(folder, TREE_DEPTH_MAX);
	unlinkat(directory, hidden, AT_REMOVEDIR);
}

/* Removes a hidden folder unless it is in use, or not ours to touch. */
static void remove_leftover_folder(int directory, const char *name)
{
	int folder = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (folder < 0)
		return;
	if (fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
		flock(folder, LOCK_EX | LOCK_NB) == 0 && is_linked(directory, name, &status))
		hidden_folder_remove(directory, name);
	close(folder);
}

int hidden_folder_open(int directory, const char *name, char hidden[FILE_NAME_MAX + 1])
{
	int listed = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = listed < 0 ? NULL : fdopendir(listed);
	const struct dirent *entry;

	if (!stream && listed >= 0)
		close(listed);
	while (stream && (entry = readdir(stream)))
		if (is_hidden_name(entry->d_name, name))
			remove_leftover_folder(directory, entry->d_name);
	if (stream)
		closedir(stream);
	return create_hidden(directory, name, hidden, create_folder);
}
