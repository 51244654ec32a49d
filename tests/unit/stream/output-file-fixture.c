/*
 * Runs each test in its own temporary folder, which it removes afterwards, and checks the files
 * there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/file-name.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/unit.h"

char why[OUTPUT_FILE_WHY_SIZE];
char folder[] = "/tmp/test-output-file.XXXXXX";

int output_file_fixture_set_up(void **state)
{
	(void)state;
	why[0] = '\0';
	umask(022);
	memcpy(strrchr(folder, '.'), ".XXXXXX", sizeof(".XXXXXX"));
	/* Others may enter the folder: one test drops its privileges. */
	return mkdtemp(folder) && chmod(folder, 0755) == 0 ? chdir(folder) : -1;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	return remove(path);
}

int output_file_fixture_tear_down(void **state)
{
	(void)state;
	return chdir("/") || nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void sh(const char *command)
{
	assert_int_equal(system(command), 0);
}

int open_named(
	struct output_file **file, const char *output, bool force, const char *name, size_t size)
{
	struct output_file_options options = {.output = output, .force = force};
	struct output_file_offer offer = {.name = name, .size = size, .fallback = "10.0.0.1-45678"};

	return output_file_open(file, &options, &offer, -1, why);
}

int open_output(struct output_file **file, const char *output, bool force)
{
	return open_named(file, output, force, "offered", 7);
}

int receive(const char *output, bool force, const char *data)
{
	struct output_file *file;
	int error = open_output(&file, output, force);

	if (error)
		return error;
	error = output_file_write(file, data, strlen(data), why);
	if (!error)
		error = output_file_commit(file, why);
	output_file_close(file);
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
