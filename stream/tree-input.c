/*
 * A tree input walks its paths one after another with fts(3). It owns the walk, the open file and
 * the part of an entry that did not fit into the reader's buffer.
 *
 * fts(3) keeps a list of all entries of each directory that it is in, to sort them. The lists are
 * taken from the memory budget (host/memory-budget.h) before it makes them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "host/memory-budget.h"
#include "protocol/tree.h"
#include "stream/storage.h"
#include "stream/tree-input.h"

/* Maximum bytes of a path shown in an error; of a longer one, the end is shown. */
#define SHOWN_MAX 160

/* What fts(3) allocates for an entry besides its name: two structures, and a pointer to sort it. */
#define LISTED_SIZE (sizeof(FTSENT) + sizeof(struct stat) + 4 * sizeof(void *))

/* One path to send. */
struct root {
	const char *path;
	char name[TREE_NAME_MAX + 1];
	size_t shown; /* offset of the base name in the path */
};

struct tree_input {
	unsigned int count, next; /* roots; the next one to walk */
	FTS *walk;                /* of the current root, or NULL */
	unsigned int depth;       /* open folders */
	uint64_t listed;          /* bytes of the lists of entries, taken from the memory budget */
	bool started;             /* the first entry was sent */
	struct tree_progress *progress; /* the caller's, or NULL */

	uint8_t pending[TREE_HEADER_SIZE + TREE_NAME_MAX + TREE_LINK_MAX + 1];
	size_t pending_size, pending_used;

	int file;      /* the open file, or -1 */
	uint64_t left; /* its bytes still to be sent */
	char file_name[PATH_MAX];

	struct root roots[];
};

/* Formats the failure message. Returns the error. */
static int cannot_read(char why[WORKER_WHY_SIZE], const char *path, const char *reason, int error)
{
	size_t length = strlen(path);
	const char *cut = length > SHOWN_MAX ? "..." : "";
	char shown[TEXT_ESCAPED_SIZE(SHOWN_MAX)];

	text_escape_utf8(shown, path + (*cut ? length - SHOWN_MAX : 0), strnlen(path, SHOWN_MAX));
	snprintf(why, WORKER_WHY_SIZE, "cannot read %s%.180s: %s", cut, shown, reason);
	return error;
}

/* Finds the name of a path. "." and the like are resolved first. Returns 0 or -errno. */
static int name_root(struct root *root, const char *path, char *why)
{
	size_t length = strlen(path);
	const char *base;
	char *resolved;

	while (length > 1 && path[length - 1] == '/')
		length--;
	base = memrchr(path, '/', length);
	base = base ? base + 1 : path;
	root->path = path;
	root->shown = (size_t)(base - path);
	length -= root->shown;
	if (length > TREE_NAME_MAX)
		return cannot_read(why, base, strerror(ENAMETOOLONG), -ENAMETOOLONG);
	snprintf(root->name, sizeof(root->name), "%.*s", (int)length, base);
	if (tree_check_name(root->name, length) == 0)
		return 0;
	resolved = realpath(path, NULL);
	if (!resolved)
		return cannot_read(why, path, strerror(errno), -errno);
	base = strrchr(resolved, '/') + 1;
	snprintf(root->name, sizeof(root->name), "%s", base);
	free(resolved);
	return *root->name ? 0 : cannot_read(why, path, "it has no name to send", -EINVAL);
}

/* Checks that the root can be sent, and that its name is unused so far. */
static int check_root(const struct tree_input *input, const struct root *root, char *why)
{
	struct stat status;

	if (stat(root->path, &status))
		return cannot_read(why, root->path + root->shown, strerror(errno), -errno);
	if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
		return cannot_read(why, root->path + root->shown,
			"only files and directories can be sent together", -EINVAL);
	if (access(root->path, R_OK | (S_ISDIR(status.st_mode) ? X_OK : 0)))
		return cannot_read(why, root->path + root->shown, strerror(errno), -errno);
	for (const struct root *other = input->roots; other < root; other++)
		if (strcmp(other->name, root->name) == 0)
			return cannot_read(why, root->name,
				"two --input have this name, and would be stored as one", -EEXIST);
	return 0;
}

int tree_input_open(struct tree_input **result, const char *const paths[], unsigned int count,
	char why[WORKER_WHY_SIZE])
{
	struct tree_input *input = calloc(1, sizeof(*input) + count * sizeof(input->roots[0]));
	int error = 0;

	if (!input)
		return cannot_read(why, paths[0], strerror(ENOMEM), -ENOMEM);
	input->file = -1;
	input->count = count;
	for (unsigned int i = 0; i < count && !error; i++) {
		error = name_root(&input->roots[i], paths[i], why);
		if (!error)
			error = check_root(input, &input->roots[i], why);
	}
	if (error) {
		tree_input_close(input);
		return error;
	}
	*result = input;
	return 0;
}

void tree_input_close(struct tree_input *input)
{
	if (!input)
		return;
	if (input->walk)
		fts_close(input->walk);
	if (input->file >= 0)
		close(input->file);
	memory_budget_return(input->listed, input->listed);
	free(input);
}

void tree_input_count_in(struct tree_input *input, struct tree_progress *progress)
{
	input->progress = progress;
}

const char *tree_input_name(const struct tree_input *input)
{
	return input->roots[0].name;
}

/* Sorts the entries of a folder by name. */
static int compare(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static FTS *open_walk(const struct root *root)
{
	char *paths[] = {strdup(root->path), NULL};
	FTS *walk = paths[0] ? fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, compare)
			     : NULL;
	int error = errno;

	free(paths[0]);
	errno = error;
	return walk;
}

static bool is_stopped(int stop_fd)
{
	struct pollfd stop = {.fd = stop_fd, .events = POLLIN};

	return poll(&stop, 1, 0) > 0;
}

/* The path of an entry, from the name of its root. */
static const char *shown_path(const FTSENT *found, const struct root *root)
{
	return found->fts_path + root->shown;
}

/*
 * Takes the memory for the list of a folder's entries, which fts_read(3) makes next. Returns 1 or
 * -errno.
 */
static int take_list(struct tree_input *input, FTSENT *folder, const char *path, char *why)
{
	DIR *stream = opendir(folder->fts_accpath);
	struct failure failure = {0};
	const struct dirent *entry;
	uint64_t size = 0;

	if (!stream)
		return 1; /* fts_read(3) reports the reason */
	while ((entry = readdir(stream)))
		size += LISTED_SIZE + strlen(entry->d_name);
	closedir(stream);
	if (memory_budget_take(size, &failure))
		return cannot_read(why, path,
			"it has too many entries for the memory that may be used", -ENOMEM);
	memory_budget_filled(size);
	folder->fts_number = (long)size;
	input->listed += size;
	return 1;
}

/* Returns the memory of that list, which fts_read(3) has freed. Returns 1. */
static int return_list(struct tree_input *input, FTSENT *folder)
{
	uint64_t size = (uint64_t)folder->fts_number;

	memory_budget_return(size, size);
	input->listed -= size;
	folder->fts_number = 0;
	return 1;
}

/*
 * Checks an entry of the walk. Returns 1 if it is a file, a folder, its end or a symbolic link, or
 * -errno.
 */
static int check_found(struct tree_input *input, FTSENT *found, const struct root *root, char *why)
{
	const char *path = shown_path(found, root);

	switch (found->fts_info) {
	case FTS_D:
		return take_list(input, found, path, why);
	case FTS_DP:
		return return_list(input, found);
	case FTS_F:
	case FTS_SL:
	case FTS_SLNONE:
		return 1;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return cannot_read(why, path, strerror(found->fts_errno), -found->fts_errno);
	case FTS_DC:
		return cannot_read(why, path, "the directory contains itself", -ELOOP);
	default:
		return cannot_read(why, path,
			"it is neither a file, a directory nor a symbolic link", -EINVAL);
	}
}

/* Finds the next entry. Returns 1, 0 after the last one, or -errno. */
static int walk_on(struct tree_input *input, FTSENT **found, char *why)
{
	const struct root *root;

	for (;;) {
		if (!input->walk) {
			if (input->next == input->count)
				return 0;
			root = &input->roots[input->next++];
			input->walk = open_walk(root);
			if (!input->walk)
				return cannot_read(
					why, root->path + root->shown, strerror(errno), -errno);
		}
		root = &input->roots[input->next - 1];
		errno = 0;
		*found = fts_read(input->walk);
		if (*found)
			return check_found(input, *found, root, why);
		if (errno)
			return cannot_read(why, root->name, strerror(errno), -errno);
		fts_close(input->walk);
		input->walk = NULL;
	}
}

/* The bytes of an entry in the stream; of a folder, without those of its entries. */
static uint64_t size_of(const FTSENT *found, const struct root *root)
{
	const char *name = found->fts_level == FTS_ROOTLEVEL ? root->name : found->fts_name;
	uint64_t size = TREE_HEADER_SIZE;

	if (found->fts_info == FTS_DP)
		return size;
	size += strlen(name);
	return found->fts_info == FTS_D ? size : size + (uint64_t)found->fts_statp->st_size;
}

/* Adds up files, bytes and storage for the stream's first entry. Returns 0 or -errno. */
static int sum_up(struct tree_input *input, int stop_fd, struct tree_entry *start, char *why)
{
	uint64_t total = TREE_HEADER_SIZE, files = 0;
	FTSENT *found;
	int result;

	while ((result = walk_on(input, &found, why)) > 0) {
		if (is_stopped(stop_fd))
			return -ECANCELED;
		if (found->fts_info == FTS_F)
			start->size += storage_of(found->fts_statp);
		total += size_of(found, &input->roots[input->next - 1]);
		files += found->fts_info != FTS_D && found->fts_info != FTS_DP;
	}
	input->next = 0;
	tree_start_count(start, total, files);
	tree_progress_plan(input->progress, total, files);
	return result;
}

/* Makes an entry the next bytes of the stream. */
static void send_entry(struct tree_input *input, const struct tree_entry *entry, const char *name,
	const void *contents)
{
	uint8_t *at = input->pending;

	tree_encode(entry, at);
	at += TREE_HEADER_SIZE;
	memcpy(at, name, entry->name_size);
	at += entry->name_size;
	if (contents) {
		memcpy(at, contents, (size_t)entry->size);
		at += entry->size;
	}
	input->pending_size = (size_t)(at - input->pending);
	input->pending_used = 0;
}

/* Fills in what the entry's status determines. */
static struct tree_entry entry_of(enum tree_kind kind, const char *name, const struct stat *status)
{
	return (struct tree_entry){
		.kind = kind,
		.mode = status->st_mode & 0777,
		.seconds = status->st_mtim.tv_sec,
		.nanoseconds = (uint32_t)status->st_mtim.tv_nsec,
		.name_size = (uint8_t)strlen(name),
	};
}

/* Opens the file. Its size is taken from the open file, because it may have changed. */
static int send_file(struct tree_input *input, const FTSENT *found, const char *name,
	const char *path, char *why)
{
	/* O_NONBLOCK: by now it may be a FIFO. Only an input itself may be a symbolic link. */
	int follow = found->fts_level == FTS_ROOTLEVEL ? 0 : O_NOFOLLOW;
	int file = open(found->fts_accpath, O_RDONLY | O_NONBLOCK | O_CLOEXEC | follow);
	struct tree_entry entry;
	struct stat status;

	if (file < 0)
		return cannot_read(why, path, strerror(errno), -errno);
	input->file = file;
	if (fstat(file, &status) || !S_ISREG(status.st_mode))
		return cannot_read(why, path, "it changed while being read", -EIO);
	entry = entry_of(TREE_FILE, name, &status);
	entry.size = input->left = (uint64_t)status.st_size;
	snprintf(input->file_name, sizeof(input->file_name), "%s", path);
	tree_progress_count(input->progress, path, entry.size);
	send_entry(input, &entry, name, NULL);
	return 0;
}

static int send_link(struct tree_input *input, const FTSENT *found, const char *name,
	const char *path, char *why)
{
	struct tree_entry entry = entry_of(TREE_LINK, name, found->fts_statp);
	char target[TREE_LINK_MAX + 1];
	ssize_t length = readlink(found->fts_accpath, target, sizeof(target));

	if (length < 0)
		return cannot_read(why, path, strerror(errno), -errno);
	if (length == 0 || length > TREE_LINK_MAX)
		return cannot_read(why, path, strerror(ENAMETOOLONG), -ENAMETOOLONG);
	entry.size = (uint64_t)length;
	tree_progress_count(input->progress, path, 0);
	send_entry(input, &entry, name, target);
	return 0;
}

static int send_folder(struct tree_input *input, const FTSENT *found, const char *name,
	const char *path, char *why)
{
	struct tree_entry entry = entry_of(TREE_FOLDER, name, found->fts_statp);

	if (++input->depth > TREE_DEPTH_MAX)
		return cannot_read(
			why, path, "its directories are nested too deeply", -ENAMETOOLONG);
	send_entry(input, &entry, name, NULL);
	return 0;
}

/* Prepares the next entry. Returns 1, 0 after the last one, or -errno. */
static int next_entry(struct tree_input *input, int stop_fd, char *why)
{
	const struct root *root;
	const char *name, *path;
	FTSENT *found;
	int result;

	if (!input->started) {
		struct tree_entry start = {.kind = TREE_START};

		result = sum_up(input, stop_fd, &start, why);
		if (result < 0)
			return result;
		input->started = true;
		send_entry(input, &start, "", NULL);
		return 1;
	}
	result = walk_on(input, &found, why);
	if (result <= 0)
		return result;
	root = &input->roots[input->next - 1];
	path = shown_path(found, root);
	name = found->fts_level == FTS_ROOTLEVEL ? root->name : found->fts_name;
	if (found->fts_info == FTS_F)
		result = send_file(input, found, name, path, why);
	else if (found->fts_info == FTS_D)
		result = send_folder(input, found, name, path, why);
	else if (found->fts_info == FTS_DP) {
		input->depth--;
		send_entry(input, &(struct tree_entry){.kind = TREE_LEAVE}, "", NULL);
		result = 0;
	} else
		result = send_link(input, found, name, path, why);
	return result ? result : 1;
}

/* Reads the next bytes of the open file, which is closed after the last one. */
static ssize_t read_file(struct tree_input *input, void *buffer, size_t size, char *why)
{
	size_t most = size < input->left ? size : (size_t)input->left;
	ssize_t got = 0;

	if (most > 0) {
		got = read(input->file, buffer, most);
		if (got < 0)
			return cannot_read(why, input->file_name, strerror(errno), -errno);
		if (got == 0)
			return cannot_read(
				why, input->file_name, "file was truncated while being read", -EIO);
		input->left -= (uint64_t)got;
	}
	if (input->left == 0) {
		close(input->file);
		input->file = -1;
	}
	return got;
}

static size_t take_pending(struct tree_input *input, void *buffer, size_t size)
{
	size_t left = input->pending_size - input->pending_used;
	size_t most = size < left ? size : left;

	memcpy(buffer, input->pending + input->pending_used, most);
	input->pending_used += most;
	return most;
}

ssize_t tree_input_read(
	struct tree_input *input, void *buffer, size_t size, int stop_fd, char why[WORKER_WHY_SIZE])
{
	uint8_t *bytes = buffer;
	size_t used = 0;
	ssize_t got = 1;

	while (used < size && got > 0) {
		if (input->pending_used < input->pending_size) {
			used += take_pending(input, bytes + used, size - used);
		} else if (input->file >= 0) {
			got = read_file(input, bytes + used, size - used, why);
			used += got > 0 ? (size_t)got : 0;
			got = got < 0 ? got : 1;
		} else {
			got = next_entry(input, stop_fd, why);
		}
	}
	return got < 0 ? got : (ssize_t)used;
}
