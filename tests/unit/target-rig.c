#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file-name.h"
#include "target-rig.h"
#include "unit.h"

char why[TARGET_WHY_SIZE];
char folder[] = "/tmp/test-target.XXXXXX";

int target_rig_set_up(void **state)
{
	(void)state;
	why[0] = '\0';
	umask(022);
	memcpy(strrchr(folder, '.'), ".XXXXXX", sizeof(".XXXXXX"));
	/* Others get in too: one test is somebody else. */
	return mkdtemp(folder) && chmod(folder, 0755) == 0 ? chdir(folder) : -1;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	return remove(path);
}

int target_rig_tear_down(void **state)
{
	(void)state;
	return chdir("/") || nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int open_named(
	struct target **target, const char *output, bool force, const char *name, size_t size)
{
	struct target_options options = {.output = output, .force = force};
	struct target_offer offer = {.name = name, .size = size, .fallback = "10.0.0.1-45678"};

	return target_open(target, &options, &offer, -1, why);
}

int open_output(struct target **target, const char *output, bool force)
{
	return open_named(target, output, force, "offered", 7);
}

int receive(const char *output, bool force, const char *data)
{
	struct target *target;
	int error = open_output(&target, output, force);

	if (error)
		return error;
	error = target_write(target, data, strlen(data), why);
	if (!error)
		error = target_commit(target, why);
	target_close(target);
	return error;
}

void put(const char *path, const char *data)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(file >= 0);
	assert_int_equal(write(file, data, strlen(data)), strlen(data));
	close(file);
}

void assert_contents(const char *path, const char *wanted)
{
	char contents[64] = "";
	int file = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(file >= 0);
	assert_true(read(file, contents, sizeof(contents) - 1) >= 0);
	close(file);
	assert_string_equal(contents, wanted);
}

size_t count_entries(char hidden[FILE_NAME_MAX + 1])
{
	DIR *listing = opendir(".");
	size_t count = 0;

	for (const struct dirent *entry = readdir(listing); entry; entry = readdir(listing)) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		count++;
		if (hidden && entry->d_name[0] == '.')
			snprintf(hidden, FILE_NAME_MAX + 1, "%s", entry->d_name);
	}
	closedir(listing);
	return count;
}
