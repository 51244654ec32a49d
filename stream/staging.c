/* See stream/staging.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/hidden-file.h"
#include "stream/staging.h"
#include "stream/tree-path.h"

/* Size of an attempt's name, with the terminator. */
#define ATTEMPT_NAME 12

static void attempt_name(uint32_t number, char name[ATTEMPT_NAME])
{
	snprintf(name, ATTEMPT_NAME, "%" PRIu32, number);
}

/* Returns the largest number of an attempt in the hidden folder, 0 if there is none. */
static uint32_t latest_attempt(const struct staging *staging)
{
	int listed = openat(staging->lock, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = listed < 0 ? NULL : fdopendir(listed);
	const struct dirent *entry;
	uint32_t latest = 0;

	while (stream && (entry = readdir(stream))) {
		unsigned long number = strtoul(entry->d_name, NULL, 10);

		if (number > latest && number < UINT32_MAX)
			latest = (uint32_t)number;
	}
	if (stream)
		closedir(stream);
	else if (listed >= 0)
		close(listed);
	return latest;
}

/* Opens the earlier attempts up to this one, and removes those that are too many. */
static void open_earlier(struct staging *staging, uint32_t latest)
{
	for (uint32_t number = latest; number > 0; number--) {
		char name[ATTEMPT_NAME];
		int folder;

		attempt_name(number, name);
		folder = openat(
			staging->lock, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (folder < 0)
			return; /* they are removed in order, so there is none before it */
		if (staging->count == STAGING_EARLIER) {
			close(folder);
			hidden_folder_remove(staging->lock, name);
			continue;
		}
		staging->earlier[staging->count++] = folder;
	}
}

int staging_open(struct staging *staging, int directory, const char *name, bool resumes)
{
	char attempt[ATTEMPT_NAME];
	uint32_t latest = 0;
	int folder;

	*staging = (struct staging){.directory = directory, .lock = -1};
	if (resumes)
		staging->lock = hidden_folder_adopt(directory, name, staging->hidden);
	if (staging->lock >= 0) {
		latest = latest_attempt(staging);
		open_earlier(staging, latest);
	} else {
		staging->lock = hidden_folder_open(directory, name, staging->hidden);
		if (staging->lock < 0)
			return staging->lock;
	}
	attempt_name(latest + 1, attempt);
	folder = mkdirat(staging->lock, attempt, 0700)
			 ? -1
			 : openat(staging->lock, attempt,
				   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0) {
		int error = -errno;

		staging_close(staging, false);
		return error;
	}
	return folder;
}

int staging_find(const struct staging *staging, const char *path, char name[FILE_NAME_MAX + 1],
	struct stat *status)
{
	for (unsigned int i = 0; i < staging->count; i++) {
		int folder = tree_path_open(staging->earlier[i], path, true, name);

		if (folder < 0)
			continue;
		if (fstatat(folder, name, status, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(status->st_mode))
			return folder;
		close(folder);
	}
	return -ENOENT;
}

void staging_close(struct staging *staging, bool keep)
{
	if (staging->lock < 0)
		return;
	for (unsigned int i = 0; i < staging->count; i++)
		close(staging->earlier[i]);
	staging->count = 0;
	if (!keep)
		hidden_folder_remove(staging->directory, staging->hidden);
	close(staging->lock); /* it was locked until now */
	staging->lock = -1;
}
