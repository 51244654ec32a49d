/*
 * A regular file is made in steps, of which the last makes it visible: a hidden file beside it takes
 * the data, is given its size, is synced and closed, and only then, when no error can come any more,
 * gets its name. The directory is held open all the time, so that what happens to its path
 * meanwhile does not matter.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file-name.h"
#include "outlet.h"
#include "sparse.h"
#include "target.h"
#include "text.h"

/* The bytes of a name that a sentence shows. */
#define SHOWN_MAX 200

static const char force_hint[] = " (--force replaces it)";

struct target {
	struct outlet outlet;
	int directory; /* that of a regular file, O_PATH; -1: the outlet takes the data */
	int file;      /* the hidden file, until it is committed */
	off_t size;    /* of the data so far */
	bool force;
	int error;                      /* the first failure of a write, 0 if none */
	char name[FILE_NAME_MAX + 1];   /* the final one; "-" for standard output */
	char hidden[FILE_NAME_MAX + 1]; /* "" once it is renamed, or if there is none */
};

/* Makes the sentence about a failure. Returns the error. */
static int refuse(const struct target *target, int error, const char *hint, char *why)
{
	char shown[TEXT_ESCAPED_SIZE(FILE_NAME_MAX)];
	const char *what = "a file of that name", *cut = "";

	if (target->directory < 0 && strcmp(target->name, "-") == 0) {
		what = "to standard output";
	} else if (*target->name) {
		text_escape_utf8(shown, target->name, strlen(target->name));
		what = shown;
		cut = strlen(shown) > SHOWN_MAX ? "..." : "";
	}
	snprintf(why, TARGET_WHY_SIZE, "cannot write %.*s%s: %s%s", SHOWN_MAX, what, cut,
		strerror(-error), hint);
	return error;
}

/* Makes sure, before anything is sent, that the file would get its name as things are now. */
static int check_name(const struct target *target, char *why)
{
	struct stat status;

	if (fstatat(target->directory, target->name, &status, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : refuse(target, -errno, "", why);
	if (S_ISDIR(status.st_mode))
		return refuse(target, -EISDIR, "", why);
	if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
		return refuse(target, -EEXIST, " (and is no regular file)", why);
	return target->force ? 0 : refuse(target, -EEXIST, force_hint, why);
}

/* The bytes of the name that fit into the hidden one; no character of UTF-8 is cut in two. */
static int kept_length(const char *name)
{
	const size_t most = FILE_NAME_MAX - (sizeof("..xxxxxx") - 1);
	size_t length = strlen(name);

	if (length > most)
		for (length = most; length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80;)
			length--;
	return (int)length;
}

/*
 * Makes the hidden file. This is no mkostemp(3), because a file that open(2) makes with mode 0666
 * has just the permissions that the umask and the directory's default ACL leave.
 */
static int open_hidden(struct target *target)
{
	char name[sizeof(target->hidden)];
	uint32_t number = 0;
	int error = -EEXIST;

	for (int tries = 0; error == -EEXIST && tries < 100; tries++) {
		if (getrandom(&number, sizeof(number), 0) < 0)
			return -errno;
		snprintf(name, sizeof(name), ".%.*s.%06" PRIx32, kept_length(target->name),
			target->name, number & 0xffffff);
		target->file = openat(
			target->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		error = target->file < 0 ? -errno : 0;
	}
	/* From now on it is ours to remove. */
	if (!error)
		memcpy(target->hidden, name, sizeof(name));
	return error;
}

/* Begins the file, whose directory is open. */
static int begin_file(struct target *target, char *why)
{
	int error = check_name(target, why);

	if (error)
		return error;
	error = open_hidden(target);
	return error ? refuse(target, error, "", why) : 0;
}

static int open_in_directory(
	struct target *target, const char *path, const struct target_offer *offer, char *why)
{
	int error = file_name_from_peer(target->name, offer->name, offer->size, offer->fallback);

	if (error)
		return refuse(target, error, "", why);
	target->directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (target->directory < 0)
		return refuse(target, -errno, "", why);
	return begin_file(target, why);
}

/* Opens the directory of path, where nothing is or a regular file. */
static int open_beside(struct target *target, const char *path, char *why)
{
	const char *slash = strrchr(path, '/');
	char *directory;

	if (!*path)
		return refuse(target, -ENOENT, "", why);
	if (strlen(slash ? slash + 1 : path) > FILE_NAME_MAX)
		return refuse(target, -ENAMETOOLONG, "", why);
	directory = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
	if (!directory)
		return refuse(target, -ENOMEM, "", why);
	target->directory = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(directory);
	if (target->directory < 0)
		return refuse(target, -errno, "", why);
	return begin_file(target, why);
}

/* Opens what is at path, or what can be. Its name is that of the file behind a symbolic link. */
static int open_path(struct target *target, const char *path, int stop_fd, char *why)
{
	char *resolved = realpath(path, NULL);
	const char *final = resolved ? resolved : path;
	const char *slash = strrchr(final, '/');
	struct stat status;
	int error;

	snprintf(target->name, sizeof(target->name), "%s", slash ? slash + 1 : final);
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
		error = outlet_open(&target->outlet, path, stop_fd);
		if (error)
			refuse(target, error, "", why);
	} else {
		error = open_beside(target, final, why);
	}
	free(resolved);
	return error;
}

static int open_standard_output(struct target *target, int stop_fd, char *why)
{
	int error = outlet_open_standard_output(&target->outlet, stop_fd);

	strcpy(target->name, "-");
	return error ? refuse(target, error, "", why) : 0;
}

bool target_is_standard_output(const char *output)
{
	/* A link to a regular file, if it is redirected, that nobody means to be replaced. */
	return strcmp(output, "-") == 0 || strcmp(output, "/dev/stdout") == 0;
}

/* Finds out what kind of thing the output is. */
static int open_output(struct target *target, const char *output, const struct target_offer *offer,
	int stop_fd, char *why)
{
	size_t length = strlen(output);
	struct stat status;

	if (target_is_standard_output(output))
		return open_standard_output(target, stop_fd, why);
	if ((length > 0 && output[length - 1] == '/') ||
		(stat(output, &status) == 0 && S_ISDIR(status.st_mode)))
		return open_in_directory(target, output, offer, why);
	return open_path(target, output, stop_fd, why);
}

int target_open(struct target **target, const struct target_options *options,
	const struct target_offer *offer, int stop_fd, char why[TARGET_WHY_SIZE])
{
	struct target *made = calloc(1, sizeof(*made));
	int error;

	if (!made) {
		snprintf(why, TARGET_WHY_SIZE, "cannot write anything: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	made->outlet.descriptor = made->directory = made->file = -1;
	made->force = options->force;
	error = open_output(made, options->output, offer, stop_fd, why);
	if (error) {
		target_close(made);
		return error;
	}
	*target = made;
	return 0;
}

/* Whether there is a directory in which files can be made. Their names are the peers' choice. */
static int check_directory(const char *path, char *why)
{
	int error = access(path, W_OK | X_OK) ? -errno : 0;

	if (error)
		snprintf(why, TARGET_WHY_SIZE, "cannot write into %.*s: %s", SHOWN_MAX, path,
			strerror(-error));
	return error;
}

int target_check(const struct target_options *options, char why[TARGET_WHY_SIZE])
{
	const struct target_offer offer = {0};
	const char *output = options->output;
	size_t length = strlen(output);
	struct target *target = NULL;
	struct stat status;
	bool there = stat(output, &status) == 0;
	int error;

	if (target_is_standard_output(output))
		return 0;
	if ((length > 0 && output[length - 1] == '/') || (there && S_ISDIR(status.st_mode)))
		return check_directory(output, why);
	/* What takes data as it comes may not be ready before there is some. */
	if (there && !S_ISREG(status.st_mode))
		return 0;
	error = target_open(&target, options, &offer, -1, why);
	target_close(target);
	return error;
}

const char *target_name(const struct target *target)
{
	return target->name;
}

static int write_file(struct target *target, const void *data, size_t size)
{
	int error = sparse_write(target->file, data, size, target->size);

	if (!error)
		target->size += (off_t)size;
	return error;
}

int target_write(struct target *target, const void *data, size_t size, char why[TARGET_WHY_SIZE])
{
	if (!target->error)
		target->error = target->directory < 0 ? outlet_write(&target->outlet, data, size)
						      : write_file(target, data, size);
	return target->error ? refuse(target, target->error, "", why) : 0;
}

static int sync_descriptor(int descriptor)
{
	/* EINVAL: it is something that keeps nothing. */
	return fsync(descriptor) && errno != EINVAL ? -errno : 0;
}

/* Makes the new name durable. */
static int sync_directory(const struct target *target)
{
	int descriptor = openat(target->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error;

	/* Files can be put into a directory that may not be read. */
	if (descriptor < 0)
		return errno == EACCES ? 0 : -errno;
	error = sync_descriptor(descriptor);
	close(descriptor);
	return error;
}

/* What file systems say to a kind of rename or link that they do not have. */
static bool is_unsupported(int error)
{
	return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM;
}

static int replace(const struct target *target)
{
	return renameat(target->directory, target->hidden, target->directory, target->name) ? -errno
											    : 0;
}

/* Gives the hidden file its name, unless it is taken, in the best way that the file system knows. */
static int take_name(const struct target *target)
{
	int directory = target->directory, placeholder, error;

	if (renameat2(directory, target->hidden, directory, target->name, RENAME_NOREPLACE) == 0)
		return 0;
	if (!is_unsupported(errno))
		return -errno;
	if (linkat(directory, target->hidden, directory, target->name, 0) == 0) {
		unlinkat(directory, target->hidden, 0);
		return 0;
	}
	if (!is_unsupported(errno))
		return -errno;
	/* An empty file takes the name for us, and only for a moment. */
	placeholder =
		openat(directory, target->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (placeholder < 0)
		return -errno;
	close(placeholder);
	error = replace(target);
	if (error)
		unlinkat(directory, target->name, 0);
	return error;
}

/* Closes the hidden file, with all its data on the disk. */
static int finish_file(struct target *target)
{
	int error = ftruncate(target->file, target->size) ? -errno : sync_descriptor(target->file);

	if (close(target->file) && !error)
		error = -errno;
	target->file = -1;
	return error;
}

static int commit_file(struct target *target)
{
	int error = finish_file(target);

	if (!error)
		error = target->force ? replace(target) : take_name(target);
	if (error)
		return error;
	target->hidden[0] = '\0';
	return sync_directory(target);
}

static int commit_outlet(struct target *target)
{
	int error = sync_descriptor(target->outlet.descriptor);
	int closed = outlet_close(&target->outlet);

	return error ? error : closed;
}

int target_commit(struct target *target, char why[TARGET_WHY_SIZE])
{
	int error = target->error;

	if (!error)
		error = target->directory < 0 ? commit_outlet(target) : commit_file(target);
	if (!error)
		return 0;
	return refuse(target, error, error == -EEXIST ? force_hint : "", why);
}

void target_close(struct target *target)
{
	if (!target)
		return;
	outlet_close(&target->outlet);
	if (target->file >= 0)
		close(target->file);
	if (target->hidden[0])
		unlinkat(target->directory, target->hidden, 0);
	if (target->directory >= 0)
		close(target->directory);
	free(target);
}
