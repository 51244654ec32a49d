/*
 * A regular file is written to a hidden temporary file in the same directory, set to its size,
 * synced and closed. The rename comes last, when nothing else can fail, so the final name never
 * refers to incomplete data. The directory stays open, so renaming it is harmless. Any other kind
 * of output is handled by a struct writer. One thread at a time uses an output file.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/output.h"
#include "base/text.h"
#include "stream/direct.h"
#include "stream/file-name.h"
#include "stream/final-name.h"
#include "stream/hidden-file.h"
#include "stream/holes.h"
#include "stream/output-file.h"
#include "stream/storage.h"
#include "stream/tree-output.h"
#include "stream/writer.h"

/* Maximum bytes of a name shown in an error. */
#define SHOWN_MAX 200

struct output_file {
	struct writer writer;
	struct tree_output *tree; /* or NULL; it uses `directory` */
	int directory;            /* of a regular file, O_PATH; -1: uses the writer */
	int file;                 /* the hidden file, until it is committed */
	int direct;               /* another descriptor of it, for direct output, or 0 */
	bool reserved;            /* it has storage in advance */
	int there;        /* the file of the final name, if it may be the same; otherwise -1 */
	uint64_t total;   /* bytes of the whole file, if the transfer can resume; otherwise 0 */
	uint64_t length;  /* bytes of the whole file, 0 if unknown */
	uint64_t storage; /* bytes of storage that it needs, 0 if unknown */
	off_t size;       /* bytes in the hidden file */
	bool force, update, checksum, wants_direct;
	bool spoiled;                   /* the data is damaged */
	int error;                      /* first failed write; 0: none */
	char name[FILE_NAME_MAX + 1];   /* the final name; "-": standard output */
	char hidden[FILE_NAME_MAX + 1]; /* "": renamed, or no hidden file */
	char path[PATH_MAX];            /* as the user would name it; truncated if too long */
};

/* Why something else than a regular file is refused with --direct. */
#define DIRECT_NOT_REGULAR " (--direct needs a regular file)"

/* Storage is reserved for files of this size or more, in bytes. */
#define RESERVED_MIN (UINT64_C(1) << 20)

/* The kinds of --output. */
enum kind {
	KIND_STANDARD_OUTPUT,
	KIND_DIRECTORY, /* the peer names the file */
	KIND_STREAM,    /* an existing FIFO, terminal, socket or device: written directly */
	KIND_FILE,      /* a regular file, or nonexistent */
};

static enum kind kind_of(const char *output)
{
	size_t length = strlen(output);
	struct stat status;

	if (output_is_standard(output))
		return KIND_STANDARD_OUTPUT;
	if (length > 0 && output[length - 1] == '/')
		return KIND_DIRECTORY;
	if (stat(output, &status))
		return KIND_FILE;
	return S_ISDIR(status.st_mode)   ? KIND_DIRECTORY
	       : S_ISREG(status.st_mode) ? KIND_FILE
					 : KIND_STREAM;
}

bool output_file_takes_tree(const char *output)
{
	return kind_of(output) == KIND_DIRECTORY;
}

/* Formats the failure message. Returns the error. */
static int refuse(const struct output_file *file, int error, const char *hint, char *why)
{
	char shown[TEXT_ESCAPED_SIZE(FILE_NAME_MAX)];
	const char *what = "the output file", *cut = "";

	if (file->directory < 0 && strcmp(file->name, "-") == 0) {
		what = "to standard output";
	} else if (*file->name) {
		text_escape_utf8(shown, file->name, strlen(file->name));
		what = shown;
		cut = strlen(shown) > SHOWN_MAX ? "..." : "";
	}
	snprintf(why, OUTPUT_FILE_WHY_SIZE, "cannot write %.*s%s: %s%s", SHOWN_MAX, what, cut,
		strerror(-error), hint);
	return error;
}

/* The same if the final name may be taken by an entry that is spelled differently. */
static int refuse_name(const struct output_file *file, int error, const char *hint, char *why)
{
	char collision[FINAL_NAME_COLLISION_SIZE], hints[FINAL_NAME_COLLISION_SIZE + 64];

	final_name_collision(file->directory, file->name, collision);
	snprintf(hints, sizeof(hints), "%s%s", hint, collision);
	return refuse(file, error, hints, why);
}

/* Checks, before the peer sends anything, that the final name is currently available. */
static int check_name(const struct output_file *file, bool tree, char *why)
{
	const char *hint;
	int error = final_name_check(file->directory, file->name, file->force, &hint);

	if (tree && error == -EISDIR)
		hint = FINAL_NAME_MERGES;
	return error ? refuse_name(file, error, hint, why) : 0;
}

/*
 * If the program was killed while several threads wrote, blocks near the end of the data may be
 * missing: they are holes. Cuts off the first one and what follows. Returns the size that
 * remains.
 */
static uint64_t cut_gaps(int hidden, uint64_t size)
{
	uint64_t start = size > STORAGE_GAPS ? size - STORAGE_GAPS : 0;
	off_t hole = lseek(hidden, (off_t)start, SEEK_HOLE);

	if (hole < 0 || (uint64_t)hole >= size)
		return size;
	return ftruncate(hidden, hole) ? size : (uint64_t)hole;
}

/*
 * Reserves storage for what follows this many bytes, unless the file is sparse. The file is then
 * not fragmented, and others cannot use up the storage while data arrives. Returns 0 or -errno.
 */
static int reserve(struct output_file *file, uint64_t size, char *why)
{
	char hint[STORAGE_HINT_SIZE] = "";
	int error;

	if (file->length < RESERVED_MIN || file->storage < file->length)
		return 0;
	error = storage_reserve(file->file, size, file->length, &file->reserved);
	if (!error)
		return 0;
	if (error == -ENOSPC)
		storage_check(file->directory, file->length - size, hint);
	return refuse(file, error, hint, why);
}

/* Opens the hidden file for direct output as well, if that is wanted. Returns 0 or -errno. */
static int open_direct(struct output_file *file, char *why)
{
	int direct;

	if (!file->wants_direct)
		return 0;
	direct = direct_open(file->directory, file->hidden, O_WRONLY | O_NOFOLLOW, file->file);
	if (direct < 0)
		return refuse(
			file, direct, direct == -EOPNOTSUPP ? " (" DIRECT_REFUSED ")" : "", why);
	file->direct = direct;
	return 0;
}

/* Opens the hidden file. From then on, output_file_close() removes it. Returns 0 or -errno. */
static int open_hidden(struct output_file *file, char *why)
{
	uint64_t most = file->total >= OUTPUT_FILE_RESUMED ? file->total : 0, size;
	int opened = hidden_file_open(file->directory, file->name, most, file->hidden, &size);
	char hint[STORAGE_HINT_SIZE] = "";
	int error = 0;

	if (opened < 0) {
		file->hidden[0] = '\0';
		return refuse(file, opened, "", why);
	}
	file->file = opened;
	/* Known first: what another transfer has left stays if this one cannot begin. */
	size = cut_gaps(opened, size);
	file->size = (off_t)size;
	error = open_direct(file, why);
	if (error)
		return error;
	if (file->storage > size)
		error = storage_check(file->directory, file->storage - size, hint);
	if (error)
		return refuse(file, error, hint, why);
	/* Of one that may be resumed, output_file_start() does it. */
	return size > 0 ? 0 : reserve(file, 0, why);
}

/* Opens the file of the final name if it may be the one that the peer sends. */
static bool open_there(struct output_file *file)
{
	struct stat status;

	if (!file->total)
		return false;
	file->there =
		openat(file->directory, file->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file->there < 0)
		return false;
	if (fstat(file->there, &status) == 0 && S_ISREG(status.st_mode) &&
		(uint64_t)status.st_size == file->total)
		return true;
	close(file->there);
	file->there = -1;
	return false;
}

/* Opens the existing or the hidden file in the directory at path. */
static int open_in(struct output_file *file, const char *path, char *why)
{
	int error;

	file->directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (file->directory < 0)
		return refuse(file, -errno, "", why);
	if (open_there(file))
		return 0;
	error = check_name(file, false, why);
	if (error)
		return error;
	return open_hidden(file, why);
}

/* The peer offers the name of its first entry, of which the stream will tell again. */
static int open_tree(struct output_file *file, const char *path,
	const struct output_file_offer *offer, char *why)
{
	const struct tree_output_options options = {
		.force = file->force,
		.update = file->update,
		.checksum = file->checksum,
		.keyed = offer->keyed,
		.answers = offer->answers,
		.keeping = offer->keeping,
	};
	int error = 0;

	file->directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (file->directory < 0)
		return refuse(file, -errno, "", why);
	if (offer->size > 0 && !file->update)
		error = check_name(file, true, why);
	if (!error)
		error = tree_output_open(&file->tree, file->directory, file->name, &options, why);
	if (!error)
		tree_output_count_in(file->tree, offer->progress);
	return error;
}

static int open_in_directory(struct output_file *file, const char *path,
	const struct output_file_offer *offer, char *why)
{
	int error = file_name_from_peer(file->name, offer->name, offer->size, offer->fallback);

	if (error)
		return refuse(file, error, "", why);
	snprintf(file->path, sizeof(file->path), "%s%s%s", path,
		path[strlen(path) - 1] == '/' ? "" : "/", file->name);
	return offer->tree ? open_tree(file, path, offer, why) : open_in(file, path, why);
}

/* Creates the hidden file in the directory of path. */
static int open_file(struct output_file *file, const char *path, char *why)
{
	const char *slash = strrchr(path, '/');
	char *directory;
	int error;

	if (!*path)
		return refuse(file, -ENOENT, "", why);
	if (strlen(slash ? slash + 1 : path) > FILE_NAME_MAX)
		return refuse(file, -ENAMETOOLONG, "", why);
	directory = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
	if (!directory)
		return refuse(file, -ENOMEM, "", why);
	error = open_in(file, directory, why);
	free(directory);
	return error;
}

/* Opens the output at path. If it is a symbolic link, the name of its target is used. */
static int open_path(
	struct output_file *file, const char *path, enum kind kind, int stop_fd, char *why)
{
	char *resolved = realpath(path, NULL);
	const char *final = resolved ? resolved : path;
	const char *slash = strrchr(final, '/');
	int error;

	snprintf(file->name, sizeof(file->name), "%s", slash ? slash + 1 : final);
	snprintf(file->path, sizeof(file->path), "%s", path);
	if (kind == KIND_FILE) {
		error = open_file(file, final, why);
	} else {
		error = file->wants_direct ? -EINVAL : writer_open(&file->writer, path, stop_fd);
		if (error)
			refuse(file, error, file->wants_direct ? DIRECT_NOT_REGULAR : "", why);
	}
	free(resolved);
	return error;
}

static int open_standard_output(struct output_file *file, int stop_fd, char *why)
{
	int error = writer_open_standard_output(&file->writer, stop_fd);

	strcpy(file->name, "-");
	return error ? refuse(file, error, "", why) : 0;
}

static int open_output(struct output_file *file, const char *output,
	const struct output_file_offer *offer, int stop_fd, char *why)
{
	enum kind kind = kind_of(output);

	/* The plans in the hello have announced otherwise. */
	if (offer->tree && kind != KIND_DIRECTORY)
		return refuse(file, -ENOTDIR, "", why);
	switch (kind) {
	case KIND_STANDARD_OUTPUT:
		return open_standard_output(file, stop_fd, why);
	case KIND_DIRECTORY:
		return open_in_directory(file, output, offer, why);
	case KIND_STREAM:
	case KIND_FILE:
		break;
	}
	return open_path(file, output, kind, stop_fd, why);
}

bool output_file_is_shared(const char *path)
{
	struct stat status;

	if (output_is_standard(path))
		return true;
	if (stat(path, &status))
		return false;
	/*
	 * Major number 1: /dev/null, /dev/zero and similar devices, which any number of clients can
	 * use.
	 */
	return S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) ||
	       (S_ISCHR(status.st_mode) && major(status.st_rdev) != 1);
}

int output_file_open(struct output_file **file, const struct output_file_options *options,
	const struct output_file_offer *offer, int stop_fd, char why[OUTPUT_FILE_WHY_SIZE])
{
	struct output_file *made = calloc(1, sizeof(*made));
	int error;

	if (!made) {
		snprintf(why, OUTPUT_FILE_WHY_SIZE, "cannot open the output: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	made->writer.descriptor = made->directory = made->file = made->there = -1;
	made->force = options->force;
	made->update = options->update;
	made->checksum = options->checksum;
	made->wants_direct = options->direct;
	made->total = offer->total;
	made->length = offer->length;
	made->storage = offer->storage;
	error = open_output(made, options->output, offer, stop_fd, why);
	if (error) {
		output_file_close(made);
		return error;
	}
	*file = made;
	return 0;
}

/* Checks that files can be created in the directory; the peers choose their names. */
static int check_directory(const char *path, char *why)
{
	int error = access(path, W_OK | X_OK) ? -errno : 0;

	if (error)
		snprintf(why, OUTPUT_FILE_WHY_SIZE, "cannot write to directory %.*s: %s", SHOWN_MAX,
			path, strerror(-error));
	return error;
}

int output_file_check(const struct output_file_options *options, char why[OUTPUT_FILE_WHY_SIZE])
{
	/* Of any size, so that what an interrupted transfer left stays. */
	const struct output_file_offer offer = {.total = UINT64_MAX};
	struct output_file_options probe = *options;
	struct output_file *file = NULL;
	int error = 0;

	switch (kind_of(options->output)) {
	case KIND_STANDARD_OUTPUT:
	case KIND_STREAM: /* opened on first data, because a reader may start later */
		break;
	case KIND_DIRECTORY:
		error = check_directory(options->output, why);
		break;
	case KIND_FILE:
		/* Whether an existing file is the same is not known yet. */
		probe.force = true;
		error = output_file_open(&file, &probe, &offer, -1, why);
		output_file_close(file);
		break;
	}
	return error;
}

int output_file_existing(const struct output_file *file, uint64_t *size)
{
	*size = file->there >= 0 ? file->total : (uint64_t)file->size;
	return file->there >= 0 ? file->there : file->size > 0 ? file->file : -1;
}

int output_file_start(struct output_file *file, uint64_t start, char why[OUTPUT_FILE_WHY_SIZE])
{
	int error = 0;

	if (file->there >= 0 && start == file->total)
		return 0;
	if (file->there >= 0) {
		close(file->there);
		file->there = -1;
		file->total = 0; /* its leftover data is not the peer's either */
		error = check_name(file, false, why);
		if (error)
			return error;
		return open_hidden(file, why);
	} else if (ftruncate(file->file, (off_t)start)) {
		error = -errno;
	}
	file->size = (off_t)start;
	return error ? refuse(file, error, "", why) : reserve(file, start, why);
}

unsigned long output_file_entries(const struct output_file *file)
{
	return file->tree ? tree_output_count(file->tree) : 0;
}

bool output_file_is_there(const struct output_file *file)
{
	return file->there >= 0;
}

void output_file_spoil(struct output_file *file)
{
	file->spoiled = true;
}

const char *output_file_path(const struct output_file *file)
{
	return file->path;
}

const char *output_file_name(const struct output_file *file)
{
	return file->name;
}

int output_file_write(
	struct output_file *file, const void *data, size_t size, char why[OUTPUT_FILE_WHY_SIZE])
{
	int error;

	if (file->tree) {
		file->error = tree_output_write(file->tree, data, size, why);
		return file->error;
	}
	error = file->error;
	if (!error && file->directory < 0)
		error = writer_write(&file->writer, data, size);
	else if (!error)
		error = output_file_write_at(file, data, size, (uint64_t)file->size);
	if (error)
		return output_file_refuse(file, error, why);
	output_file_advance(file, size);
	return 0;
}

bool output_file_use_workers(struct output_file *file, unsigned int workers)
{
	if (file->tree)
		tree_output_use_workers(file->tree, workers);
	return file->tree;
}

void output_file_help(struct output_file *file)
{
	tree_output_help(file->tree);
}

int output_file_end(struct output_file *file, bool complete, char why[OUTPUT_FILE_WHY_SIZE])
{
	int error = tree_output_end(file->tree, complete, why);

	if (error)
		file->error = error;
	return error;
}

bool output_file_takes_holes(const struct output_file *file)
{
	return file->directory >= 0 && !file->tree && !file->wants_direct;
}

void output_file_skip(struct output_file *file, uint64_t size)
{
	file->size += (off_t)size;
}

bool output_file_is_direct(const struct output_file *file)
{
	return file->direct;
}

bool output_file_takes_blocks(const struct output_file *file)
{
	return file->file >= 0;
}

int output_file_write_at(
	const struct output_file *file, const void *data, size_t size, uint64_t position)
{
	const struct holes_file target = {
		.file = file->file, .direct = file->direct, .reserved = file->reserved};

	return holes_write(&target, data, size, (off_t)position);
}

void output_file_advance(struct output_file *file, uint64_t bytes)
{
	file->size += (off_t)bytes;
}

void output_file_write_back(const struct output_file *file, uint64_t position, size_t size)
{
	storage_write_back(file->file, position, size);
}

int output_file_refuse(struct output_file *file, int error, char why[OUTPUT_FILE_WHY_SIZE])
{
	bool direct = error == -EOPNOTSUPP && file->direct;

	file->error = error;
	return refuse(file, error, direct ? " (" DIRECT_REFUSED ")" : "", why);
}

static int sync_descriptor(int descriptor)
{
	/* EINVAL: the file system does not support fsync(2). */
	return fsync(descriptor) && errno != EINVAL ? -errno : 0;
}

/* Makes the new name durable. */
static int sync_directory(const struct output_file *file)
{
	int descriptor = openat(file->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error;

	/* Creating files in a directory does not require permission to list it. */
	if (descriptor < 0)
		return errno == EACCES ? 0 : -errno;
	error = sync_descriptor(descriptor);
	close(descriptor);
	return error;
}

/* Closes the hidden file once all of its data is on disk. */
static int finish_file(struct output_file *file)
{
	int error = ftruncate(file->file, file->size) ? -errno : sync_descriptor(file->file);

	if (file->direct)
		close(file->direct);
	file->direct = 0;
	if (close(file->file) && !error)
		error = -errno;
	file->file = -1;
	return error;
}

static int commit_file(struct output_file *file)
{
	/* The copy keeps the file locked until it has its final name. */
	int lock = fcntl(file->file, F_DUPFD_CLOEXEC, 0), error = finish_file(file);

	if (!error)
		error = final_name_take(
			file->directory, file->hidden, file->directory, file->name, file->force);
	if (lock >= 0)
		close(lock);
	if (error)
		return error;
	file->hidden[0] = '\0';
	return sync_directory(file);
}

static int commit_writer(struct output_file *file)
{
	int error = sync_descriptor(file->writer.descriptor);
	int closed = writer_close(&file->writer);

	return error ? error : closed;
}

int output_file_commit(struct output_file *file, char why[OUTPUT_FILE_WHY_SIZE])
{
	int error = file->error;

	if (file->tree)
		return file->error = tree_output_commit(file->tree, why);
	if (!error)
		error = file->directory < 0 ? commit_writer(file) : commit_file(file);
	if (!error)
		return 0;
	return refuse_name(file, error, final_name_hint(error), why);
}

/* True if the data may be of use to the next transfer, which will find it. */
static bool can_resume(const struct output_file *file)
{
	return file->file >= 0 && file->size > 0 && file->total >= OUTPUT_FILE_RESUMED &&
	       !file->spoiled && !file->error && hidden_name_is_tried(file->name, file->hidden);
}

/*
 * True if what has arrived of a tree may be of use later: not if it fills the disk, or comes from a
 * peer that violates the protocol.
 */
static bool may_stay(const struct output_file *file)
{
	return !file->spoiled && file->error != -ENOSPC && file->error != -EDQUOT &&
	       file->error != -EPROTO;
}

bool output_file_close(struct output_file *file)
{
	bool stays, tree_stays;

	if (!file)
		return false;
	writer_close(&file->writer);
	tree_stays = tree_output_close(file->tree, may_stay(file));
	stays = file->hidden[0] && can_resume(file);
	/* Several threads may have written more, with gaps in it. */
	if (stays && ftruncate(file->file, file->size))
		stays = false;
	/* It stays locked until it is closed. */
	if (file->hidden[0] && !stays)
		unlinkat(file->directory, file->hidden, 0);
	if (file->direct)
		close(file->direct);
	if (file->file >= 0)
		close(file->file);
	if (file->there >= 0)
		close(file->there);
	if (file->directory >= 0)
		close(file->directory);
	free(file);
	return stays || tree_stays;
}
