/* See stream/staging.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/folder-list.h"
#include "stream/hidden-file.h"
#include "stream/merge.h"
#include "stream/staging.h"
#include "stream/tree-path.h"

/* Size of an attempt's name, with the terminator. */
#define ATTEMPT_NAME 12

/* How many entries may be a folder in one attempt and a file in the next, to be merged. */
#define CONFLICTS_MAX 1000

/* The most attempts that are listed. */
#define ATTEMPTS_MAX (4 * STAGING_EARLIER)

static void attempt_name(uint32_t number, char name[ATTEMPT_NAME])
{
	snprintf(name, ATTEMPT_NAME, "%" PRIu32, number);
}

static int open_attempt(const struct staging *staging, uint32_t number)
{
	char name[ATTEMPT_NAME];

	attempt_name(number, name);
	return openat(staging->lock, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void remove_attempt(const struct staging *staging, uint32_t number)
{
	char name[ATTEMPT_NAME];

	attempt_name(number, name);
	hidden_folder_remove(staging->lock, name);
}

/* Enters a number into a list that is sorted in descending order. Returns the new count. */
static unsigned int enter(uint32_t numbers[], unsigned int count, uint32_t number)
{
	unsigned int at = count;

	if (count == ATTEMPTS_MAX)
		return count;
	for (; at > 0 && numbers[at - 1] < number; at--)
		numbers[at] = numbers[at - 1];
	numbers[at] = number;
	return count + 1;
}

/* Lists the attempts in the hidden folder, the latest first. Returns their number. */
static unsigned int list_attempts(const struct staging *staging, uint32_t numbers[ATTEMPTS_MAX])
{
	DIR *list = folder_list_open(staging->lock);
	const struct dirent *entry;
	unsigned int count = 0;

	while (list && (entry = folder_list_next(list))) {
		unsigned long number = strtoul(entry->d_name, NULL, 10);

		if (number > 0 && number < UINT32_MAX)
			count = enter(numbers, count, (uint32_t)number);
	}
	if (list)
		closedir(list);
	return count;
}

/* Removes what has this path in an attempt: a file, or a folder with everything in it. */
static void remove_path(int attempt, const char *path)
{
	char name[FILE_NAME_MAX + 1];
	int folder = tree_path_open(attempt, path, true, name);

	if (folder < 0)
		return;
	if (unlinkat(folder, name, 0))
		hidden_folder_remove(folder, name);
	close(folder);
}

/* Merges the second of the oldest attempts into the oldest, which it replaces where both exist. */
static void fold(const struct staging *staging, uint32_t newer, uint32_t older)
{
	int from = open_attempt(staging, newer), to = open_attempt(staging, older), error = -1;
	char path[PATH_MAX];

	for (int tries = 0; from >= 0 && to >= 0 && error && tries < CONFLICTS_MAX; tries++) {
		error = merge_folders(from, to, path, NULL);
		if (error == -EISDIR || error == -ENOTDIR)
			remove_path(to, path);
	}
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	if (!error)
		remove_attempt(staging, newer);
}

/* Opens the earlier attempts. Returns the largest number, 0 if there is none. */
static uint32_t open_earlier(struct staging *staging)
{
	uint32_t numbers[ATTEMPTS_MAX];
	unsigned int count = list_attempts(staging, numbers);

	for (; count > STAGING_EARLIER; count--) {
		fold(staging, numbers[count - 2], numbers[count - 1]);
		numbers[count - 2] = numbers[count - 1];
	}
	for (unsigned int i = 0; i < count; i++) {
		int folder = open_attempt(staging, numbers[i]);

		if (folder >= 0)
			staging->earlier[staging->count++] = folder;
	}
	return count > 0 ? numbers[0] : 0;
}

int staging_open(struct staging *staging, int directory, const char *name, bool resumes)
{
	char attempt[ATTEMPT_NAME];
	int folder;

	*staging = (struct staging){.directory = directory, .lock = -1};
	if (resumes)
		staging->lock = hidden_folder_adopt(directory, name, staging->hidden);
	if (staging->lock >= 0) {
		staging->attempt = open_earlier(staging);
	} else {
		staging->lock = hidden_folder_open(directory, name, staging->hidden);
		if (staging->lock < 0)
			return staging->lock;
	}
	attempt_name(++staging->attempt, attempt);
	folder = mkdirat(staging->lock, attempt, 0700) ? -1
						       : open_attempt(staging, staging->attempt);
	if (folder < 0) {
		int error = -errno;

		staging_close(staging, STAGING_EARLIER_ATTEMPTS);
		return error;
	}
	return folder;
}

int staging_find(const struct staging *staging, const char *path, char name[FILE_NAME_MAX + 1],
	struct stat *status)
{
	int folder = -ENOENT;

	for (unsigned int i = 0; i < staging->count && folder < 0; i++)
		folder = tree_path_open_file(staging->earlier[i], path, true, name, status);
	return folder < 0 ? -ENOENT : folder;
}

bool staging_close(struct staging *staging, enum staging_rest rest)
{
	bool keeps =
		rest == STAGING_ALL || (rest == STAGING_EARLIER_ATTEMPTS && staging->count > 0);

	if (staging->lock < 0)
		return false;
	for (unsigned int i = 0; i < staging->count; i++)
		close(staging->earlier[i]);
	staging->count = 0;
	if (!keeps)
		hidden_folder_remove(staging->directory, staging->hidden);
	else if (rest != STAGING_ALL)
		remove_attempt(staging, staging->attempt);
	close(staging->lock); /* it was locked until now */
	staging->lock = -1;
	return keeps;
}
