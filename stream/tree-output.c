/*
 * A tree output parses the stream as it arrives: the header of an entry, its name, its contents. It
 * keeps open the directories that lead to the current entry.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "protocol/tree.h"
#include "stream/file-name.h"
#include "stream/final-name.h"
#include "stream/hidden-file.h"
#include "stream/holes.h"
#include "stream/storage.h"
#include "stream/tree-output.h"

/* Maximum bytes of a path shown in an error. */
#define SHOWN_MAX 200

/* A folder that the stream is in; the first one is the hidden folder. */
struct level {
	int folder;
	struct tree_entry entry; /* its permissions and time, set when the stream leaves it */
	size_t path_size;        /* of its path in `path` */
};

/* What the next bytes of the stream are. */
enum part {
	PART_HEADER,
	PART_NAME,
	PART_TARGET, /* of a symbolic link */
	PART_DATA,   /* of a file */
};

struct tree_output {
	int directory;                  /* where everything is moved in the end; the caller's */
	char hidden[FILE_NAME_MAX + 1]; /* the hidden folder */
	bool force;

	struct level levels[TREE_DEPTH_MAX + 1];
	unsigned int depth;  /* of the current level */
	char path[PATH_MAX]; /* of the current entry, for errors; truncated if too long */

	enum part part;
	size_t got; /* bytes of the current header, name or target */
	uint8_t header[TREE_HEADER_SIZE];
	char name[FILE_NAME_MAX + 1];
	char target[TREE_LINK_MAX + 1];
	struct tree_entry entry;
	int file;       /* the file being written, or -1 */
	off_t position; /* bytes of it so far */

	bool started;                   /* the first entry has arrived */
	unsigned long count;            /* entries in the hidden folder */
	struct tree_progress *progress; /* the caller's, or NULL */
};

_Static_assert(FILE_NAME_MAX >= TREE_NAME_MAX, "a name fits");

/* Formats the failure message. Returns the error. */
static int refuse(const struct tree_output *output, int error, const char *hint, char *why)
{
	char shown[TEXT_ESCAPED_SIZE(SHOWN_MAX)];
	size_t size = strlen(output->path);

	text_escape_utf8(shown, output->path, size < SHOWN_MAX ? size : SHOWN_MAX);
	snprintf(why, OUTPUT_FILE_WHY_SIZE, "cannot write %.*s%s: %s%s", SHOWN_MAX,
		*shown ? shown : "the directory", size > SHOWN_MAX ? "..." : "", strerror(-error),
		hint);
	return error;
}

/* The same if the name in this folder may be taken by an entry that is spelled differently. */
static int refuse_name(const struct tree_output *output, int folder, const char *name, int error,
	const char *hint, char *why)
{
	char collision[FINAL_NAME_COLLISION_SIZE], hints[FINAL_NAME_COLLISION_SIZE + 64];

	final_name_collision(folder, name, collision);
	snprintf(hints, sizeof(hints), "%s%s", hint, collision);
	return refuse(output, error, hints, why);
}

static int refuse_stream(const char *reason, char *why)
{
	snprintf(why, OUTPUT_FILE_WHY_SIZE, "the peer's files are not a valid stream: %s", reason);
	return -EPROTO;
}

int tree_output_open(struct tree_output **result, int directory, const char *name, bool force,
	char why[OUTPUT_FILE_WHY_SIZE])
{
	struct tree_output *output = calloc(1, sizeof(*output));

	if (!output) {
		snprintf(why, OUTPUT_FILE_WHY_SIZE, "cannot write: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	output->directory = directory;
	output->force = force;
	output->file = -1;
	snprintf(output->path, sizeof(output->path), "%s", name);
	output->levels[0].folder = hidden_folder_open(directory, name, output->hidden);
	if (output->levels[0].folder < 0) {
		int error = refuse(output, output->levels[0].folder, "", why);

		free(output);
		return error;
	}
	*result = output;
	return 0;
}

void tree_output_count_in(struct tree_output *output, struct tree_progress *progress)
{
	output->progress = progress;
}

/* Sets permissions and time, which some file systems do not support. */
static void set_attributes(int file, const struct tree_entry *entry)
{
	struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = entry->seconds, .tv_nsec = entry->nanoseconds},
	};

	fchmod(file, entry->mode);
	futimens(file, times);
}

/* The folder of the current entry. */
static int folder_of(const struct tree_output *output)
{
	return output->levels[output->depth].folder;
}

/* Fails to create the current entry. */
static int refuse_entry(const struct tree_output *output, int error, char *why)
{
	return refuse_name(output, folder_of(output), output->name, error, "", why);
}

static int enter_folder(struct tree_output *output, char *why)
{
	struct level *level = &output->levels[output->depth + 1];

	if (output->depth == TREE_DEPTH_MAX)
		return refuse_stream("its directories are nested too deeply", why);
	if (mkdirat(folder_of(output), output->name, 0700))
		return refuse_entry(output, -errno, why);
	level->folder = openat(
		folder_of(output), output->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (level->folder < 0)
		return refuse(output, -errno, "", why);
	level->entry = output->entry;
	level->path_size = strlen(output->path);
	output->depth++;
	return 0;
}

static int leave_folder(struct tree_output *output, char *why)
{
	const struct level *level = &output->levels[output->depth];

	if (output->depth == 0)
		return refuse_stream("it leaves more directories than it enters", why);
	set_attributes(level->folder, &level->entry);
	close(level->folder);
	output->depth--;
	return 0;
}

static int start_file(struct tree_output *output, char *why)
{
	output->file = openat(folder_of(output), output->name,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	output->position = 0;
	return output->file < 0 ? refuse_entry(output, -errno, why) : 0;
}

static int finish_file(struct tree_output *output, char *why)
{
	int file = output->file, error = ftruncate(file, output->position) ? -errno : 0;

	output->file = -1;
	set_attributes(file, &output->entry);
	if (close(file) && !error)
		error = -errno;
	return error ? refuse(output, error, "", why) : 0;
}

static int make_link(struct tree_output *output, char *why)
{
	const struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = output->entry.seconds, .tv_nsec = output->entry.nanoseconds},
	};

	output->target[output->entry.size] = '\0';
	if (strlen(output->target) != output->entry.size)
		return refuse_stream("the target of a symbolic link contains a zero byte", why);
	if (symlinkat(output->target, folder_of(output), output->name))
		return refuse_entry(output, -errno, why);
	utimensat(folder_of(output), output->name, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

/* Sets the path of the entry in the current folder. */
static void set_path(struct tree_output *output)
{
	size_t used = output->levels[output->depth].path_size;

	if (used < sizeof(output->path))
		snprintf(output->path + used, sizeof(output->path) - used, "%s%s", used ? "/" : "",
			output->name);
}

/* Checks the name, and that of a top-level entry also where it will be in the end. */
static int take_name(struct tree_output *output, char *why)
{
	size_t size = output->entry.name_size;
	const char *hint;
	char name[TREE_NAME_MAX];
	int error;

	if (tree_check_name(output->name, size))
		return refuse_stream("a name is not a single component", why);
	output->name[size] = '\0';
	if (output->depth == 0) {
		memcpy(name, output->name, size);
		file_name_from_peer(output->name, name, size, "unnamed");
	}
	set_path(output);
	if (output->depth > 0)
		return 0;
	output->count++;
	error = final_name_check(output->directory, output->name, output->force, &hint);
	return error ? refuse_name(output, output->directory, output->name, error, hint, why) : 0;
}

static int start_stream(struct tree_output *output, char *why)
{
	char hint[STORAGE_HINT_SIZE] = "";
	int error = storage_check(output->directory, output->entry.size, hint);

	output->started = true;
	tree_progress_plan(output->progress, tree_start_total(&output->entry),
		tree_start_files(&output->entry));
	return error ? refuse(output, error, hint, why) : 0;
}

/* Handles a header, and the name if there is one; then the contents follow, if there are any. */
static int begin_entry(struct tree_output *output, char *why)
{
	int error = output->entry.name_size ? take_name(output, why) : 0;

	output->part = PART_HEADER;
	if (error)
		return error;
	switch (output->entry.kind) {
	case TREE_START:
		return start_stream(output, why);
	case TREE_FOLDER:
		return enter_folder(output, why);
	case TREE_LEAVE:
		return leave_folder(output, why);
	case TREE_LINK:
		tree_progress_count(output->progress, output->path, 0);
		output->part = PART_TARGET;
		return 0;
	case TREE_FILE:
		tree_progress_count(output->progress, output->path, output->entry.size);
		error = start_file(output, why);
		if (error || output->entry.size > 0) {
			output->part = PART_DATA;
			return error;
		}
		return finish_file(output, why);
	}
	return refuse_stream("an entry is of an unknown kind", why);
}

static int take_header(struct tree_output *output, char *why)
{
	if (tree_decode(&output->entry, output->header))
		return refuse_stream("an entry is invalid", why);
	if (output->started == (output->entry.kind == TREE_START))
		return refuse_stream("its first entry is misplaced", why);
	if (output->entry.name_size == 0)
		return begin_entry(output, why);
	output->part = PART_NAME;
	return 0;
}

/* Where the bytes of the current header, name or target are collected, and their number. */
static void *part_space(struct tree_output *output, size_t *size)
{
	switch (output->part) {
	case PART_HEADER:
		*size = TREE_HEADER_SIZE;
		return output->header;
	case PART_NAME:
		*size = output->entry.name_size;
		return output->name;
	case PART_TARGET:
		*size = (size_t)output->entry.size;
		return output->target;
	case PART_DATA:
		break;
	}
	*size = 0;
	return NULL;
}

/* Takes bytes of a header, name or target. Returns their number or -errno. */
static ssize_t take_part(struct tree_output *output, const uint8_t *bytes, size_t size, char *why)
{
	enum part part = output->part;
	size_t whole, most;
	uint8_t *space = part_space(output, &whole);
	int error = 0;

	most = whole - output->got < size ? whole - output->got : size;
	memcpy(space + output->got, bytes, most);
	output->got += most;
	if (output->got < whole)
		return (ssize_t)most;
	output->got = 0;
	if (part == PART_HEADER) {
		error = take_header(output, why);
	} else if (part == PART_NAME) {
		error = begin_entry(output, why);
	} else {
		output->part = PART_HEADER;
		error = make_link(output, why);
	}
	return error ? error : (ssize_t)most;
}

/* Writes bytes of the file. Returns their number or -errno. */
static ssize_t take_data(struct tree_output *output, const uint8_t *bytes, size_t size, char *why)
{
	uint64_t left = output->entry.size - (uint64_t)output->position;
	size_t most = size < left ? size : (size_t)left;
	int error = holes_write(
		&(struct holes_file){.file = output->file}, bytes, most, output->position);

	if (error)
		return refuse(output, error, "", why);
	output->position += (off_t)most;
	if (most == left) {
		output->part = PART_HEADER;
		error = finish_file(output, why);
	}
	return error ? error : (ssize_t)most;
}

int tree_output_write(
	struct tree_output *output, const void *data, size_t size, char why[OUTPUT_FILE_WHY_SIZE])
{
	const uint8_t *bytes = data;

	while (size > 0) {
		ssize_t taken = output->part == PART_DATA ? take_data(output, bytes, size, why)
							  : take_part(output, bytes, size, why);

		if (taken < 0)
			return (int)taken;
		bytes += taken;
		size -= (size_t)taken;
	}
	return 0;
}

/* Moves one entry of the hidden folder to its final name. Returns 0 or -errno. */
static int take_final_name(struct tree_output *output, const char *name, char *why)
{
	int hidden = output->levels[0].folder, error;
	struct stat status;
	bool closed;

	snprintf(output->path, sizeof(output->path), "%s", name);
	if (fstatat(hidden, name, &status, AT_SYMLINK_NOFOLLOW))
		return refuse(output, -errno, "", why);
	/* Moving a folder writes to it: its entry ".." changes. */
	closed = S_ISDIR(status.st_mode) && !(status.st_mode & S_IWUSR);
	if (closed)
		fchmodat(hidden, name, 0700, 0);
	error = final_name_take(hidden, name, output->directory, name, output->force);
	if (error)
		return refuse_name(
			output, output->directory, name, error, final_name_hint(error), why);
	if (closed)
		fchmodat(output->directory, name, status.st_mode & 0777, 0);
	return 0;
}

static int take_final_names(struct tree_output *output, char *why)
{
	int listed = fcntl(output->levels[0].folder, F_DUPFD_CLOEXEC, 0), error = 0;
	DIR *stream = listed < 0 ? NULL : fdopendir(listed);
	const struct dirent *entry;

	if (!stream) {
		error = refuse(output, -errno, "", why);
		if (listed >= 0)
			close(listed);
		return error;
	}
	while (!error && (entry = readdir(stream)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			error = take_final_name(output, entry->d_name, why);
	closedir(stream);
	return error;
}

int tree_output_commit(struct tree_output *output, char why[OUTPUT_FILE_WHY_SIZE])
{
	int folder = output->levels[0].folder, error;

	if (!output->started || output->depth > 0 || output->part != PART_HEADER || output->got)
		return refuse_stream("it is incomplete", why);
	/* One call for all files, because fsync(2) for each would take much longer. */
	if (syncfs(folder))
		return refuse(output, -errno, "", why);
	error = take_final_names(output, why);
	if (error)
		return error;
	return syncfs(folder) ? refuse(output, -errno, "", why) : 0;
}

unsigned long tree_output_count(const struct tree_output *output)
{
	return output->count;
}

void tree_output_close(struct tree_output *output)
{
	if (!output)
		return;
	if (output->file >= 0)
		close(output->file);
	for (; output->depth > 0; output->depth--)
		close(output->levels[output->depth].folder);
	hidden_folder_remove(output->directory, output->hidden);
	close(output->levels[0].folder); /* it was locked until now */
	free(output);
}
