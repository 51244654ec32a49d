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

/* Hexadecimal digits of a hidden name: half from a hash of the name, half from a number. */
#define DIGITS 6
#define HALF   0xfff

_Static_assert(HIDDEN_NAMES == HALF + 1, "each number is half of the digits");

/* Attempts to find an unused random name. */
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

/* Writes the hidden name with these digits. */
static void write_name(const char *name, uint32_t digits, char hidden[FILE_NAME_MAX + 1])
{
	snprintf(hidden, FILE_NAME_MAX + 1, ".%.*s.%06" PRIx32, kept_length(name), name,
		digits & 0xffffff);
}

/* FNV-1a of the whole name, which distinguishes long names that differ only at the end. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = UINT32_C(2166136261);

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT32_C(16777619);
	return hash;
}

void hidden_name(const char *name, unsigned int number, char hidden[FILE_NAME_MAX + 1])
{
	write_name(name, (hash_of(name) & HALF) << 12 | number, hidden);
}

bool hidden_name_is_tried(const char *name, const char *hidden)
{
	char tried[FILE_NAME_MAX + 1];

	for (unsigned int number = 0; number < HIDDEN_NAMES_TRIED; number++) {
		hidden_name(name, number, tried);
		if (strcmp(tried, hidden) == 0)
			return true;
	}
	return false;
}

/*
 * True if the search for leftovers goes on after this number, whose file was opened or could not be
 * opened because of this error.
 */
static bool goes_on(unsigned int number, int error)
{
	return number + 1 < HIDDEN_NAMES && (number + 1 < HIDDEN_NAMES_TRIED || error != -ENOENT);
}

/* True if the name in the directory still refers to the open file. */
static bool is_linked(int directory, const char *name, const struct stat *status)
{
	struct stat now;

	return fstatat(directory, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       now.st_dev == status->st_dev && now.st_ino == status->st_ino;
}

/*
 * Opens and locks a leftover file and stores its size. Returns the descriptor; -ENOENT if it does
 * not exist; or another -errno if it is in use, or not ours to touch.
 */
static int open_leftover(int directory, const char *name, uint64_t *size)
{
	/* O_NONBLOCK: a FIFO of this name must not block. */
	int file = openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;

	if (file < 0)
		return -errno;
	if (fstat(file, &status) || !S_ISREG(status.st_mode) || status.st_nlink != 1 ||
		status.st_uid != geteuid() || flock(file, LOCK_EX | LOCK_NB) ||
		!is_linked(directory, name, &status)) {
		close(file);
		return -EBUSY;
	}
	*size = (uint64_t)status.st_size;
	return file;
}

/* Removes leftover files of this name except the one to adopt. Returns that one, or -1. */
static int adopt(int directory, const char *name, uint64_t most, char hidden[FILE_NAME_MAX + 1],
	uint64_t *size)
{
	char leftover[FILE_NAME_MAX + 1];
	uint64_t found = 0;
	int best = -1, file;
	bool more = true;

	for (unsigned int number = 0; more; number++) {
		hidden_name(name, number, leftover);
		file = open_leftover(directory, leftover, &found);
		more = goes_on(number, file);
		if (file < 0)
			continue;
		if (found == 0 || found > most || (best >= 0 && found <= *size)) {
			unlinkat(directory, leftover, 0);
			close(file);
			continue;
		}
		if (best >= 0) {
			unlinkat(directory, hidden, 0);
			close(best);
		}
		best = file;
		*size = found;
		strcpy(hidden, leftover);
	}
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
 * Creates and locks a hidden file or folder under this name. Returns the descriptor; -EEXIST if the
 * name is used, or removed by a thread that took it for a leftover; or another -errno.
 *
 * mkostemp(3) is not used, so that the umask and the directory's default ACL determine the
 * permissions of a file, as for any file that open(2) creates with mode 0666.
 */
static int create_locked(
	int directory, const char *hidden, int (*create)(int directory, const char *name))
{
	int file = create(directory, hidden);

	if (file < 0)
		return -errno;
	if (lock_new(directory, hidden, file))
		return file;
	close(file);
	return -EEXIST;
}

/*
 * Creates and locks a hidden file or folder under the first unused name, which it stores. Returns
 * the descriptor or -errno.
 */
static int create_hidden(int directory, const char *name, char hidden[FILE_NAME_MAX + 1],
	int (*create)(int directory, const char *name))
{
	int file = -EEXIST;
	uint32_t digits;

	for (unsigned int number = 0; file == -EEXIST && number < HIDDEN_NAMES; number++) {
		hidden_name(name, number, hidden);
		file = create_locked(directory, hidden, create);
	}
	for (unsigned int tries = 0; file == -EEXIST && tries < TRIES; tries++) {
		if (getrandom(&digits, sizeof(digits), 0) < 0)
			return -errno;
		write_name(name, digits, hidden);
		file = create_locked(directory, hidden, create);
	}
	return file;
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
		empty_folder(
			folder, TREE_DEPTH_MAX + 2); /* in the hidden folder, and in an attempt */
	unlinkat(directory, hidden, AT_REMOVEDIR);
}

/*
 * Opens and locks a hidden folder. Returns the descriptor; -ENOENT if it does not exist; or -EBUSY
 * if it is in use, or not ours to touch.
 */
static int open_leftover_folder(int directory, const char *name)
{
	int folder = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (folder < 0)
		return errno == ENOENT ? -ENOENT : -EBUSY;
	if (fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
		flock(folder, LOCK_EX | LOCK_NB) == 0 && is_linked(directory, name, &status))
		return folder;
	close(folder);
	return -EBUSY;
}

/* Removes a hidden folder unless it is in use, or not ours to touch. Returns -ENOENT or 0. */
static int remove_leftover_folder(int directory, const char *name)
{
	int folder = open_leftover_folder(directory, name);

	if (folder < 0)
		return folder == -ENOENT ? -ENOENT : 0;
	hidden_folder_remove(directory, name);
	close(folder);
	return 0;
}

int hidden_folder_adopt(int directory, const char *name, char hidden[FILE_NAME_MAX + 1])
{
	bool more = true;

	for (unsigned int number = 0; more; number++) {
		int folder;

		hidden_name(name, number, hidden);
		folder = open_leftover_folder(directory, hidden);
		if (folder >= 0)
			return folder;
		more = goes_on(number, folder);
	}
	return -ENOENT;
}

int hidden_folder_open(int directory, const char *name, char hidden[FILE_NAME_MAX + 1])
{
	bool more = true;

	for (unsigned int number = 0; more; number++) {
		hidden_name(name, number, hidden);
		more = goes_on(number, remove_leftover_folder(directory, hidden));
	}
	return create_hidden(directory, name, hidden, create_folder);
}
