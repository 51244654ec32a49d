/* See stream/tree-walk.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path-pattern.h"
#include "base/text.h"
#include "host/memory-budget.h"
#include "protocol/tree.h"
#include "stream/tree-walk.h"

/* Maximum bytes of a path shown in an error; of a longer one, the end is shown. */
#define SHOWN_MAX 160

/* The memory for the names of a folder doubles from this size. */
#define NAMES_SIZE 4096

/* A folder that the walk is in, and its entries. */
struct level {
	struct walk_folder *folder;
	size_t path_size; /* of its path in the walk's */
	char *names;      /* for each entry, a byte of enum walk_kind, and its name */
	char **sorted;    /* each of them */
	size_t count, next;
	uint64_t taken; /* from the memory budget */
};

struct tree_walk {
	const char *root;    /* the path that comes next, or NULL */
	char path[PATH_MAX]; /* of the current entry, as it is shown; truncated if too long */
	const char *const *excluded; /* patterns of the user */
	unsigned int excluded_count;
	unsigned int depth; /* levels */
	struct level levels[TREE_DEPTH_MAX];
};

void tree_walk_describe(
	char line[WORKER_WHY_SIZE], const char *what, const char *path, const char *reason)
{
	size_t length = strlen(path);
	const char *cut = length > SHOWN_MAX ? "..." : "";
	char shown[TEXT_ESCAPED_SIZE(SHOWN_MAX)];

	text_escape_utf8(shown, path + (*cut ? length - SHOWN_MAX : 0), strnlen(path, SHOWN_MAX));
	snprintf(line, WORKER_WHY_SIZE, "%s %s%.180s: %s", what, cut, shown, reason);
}

int tree_walk_refuse(char why[WORKER_WHY_SIZE], const char *path, const char *reason, int error)
{
	tree_walk_describe(why, "cannot read", path, reason);
	return error;
}

bool tree_walk_may_go_on(int error)
{
	return error != -ENOMEM && error != -EMFILE && error != -ENFILE;
}

struct walk_folder *walk_folder_use(struct walk_folder *folder)
{
	if (folder)
		folder->users++;
	return folder;
}

void walk_folder_release(struct walk_folder *folder)
{
	if (!folder || --folder->users > 0)
		return;
	close(folder->descriptor);
	free(folder);
}

struct tree_walk *tree_walk_new(void)
{
	return calloc(1, sizeof(struct tree_walk));
}

/* Leaves the innermost folder. */
static void leave(struct tree_walk *walk)
{
	struct level *level = &walk->levels[--walk->depth];

	free(level->sorted);
	free(level->names);
	memory_budget_return(level->taken, level->taken);
	walk_folder_release(level->folder);
}

void tree_walk_free(struct tree_walk *walk)
{
	if (!walk)
		return;
	while (walk->depth > 0)
		leave(walk);
	free(walk);
}

void tree_walk_begin(struct tree_walk *walk, const char *path, const char *shown)
{
	walk->root = path;
	snprintf(walk->path, sizeof(walk->path), "%s", shown);
}

void tree_walk_exclude(struct tree_walk *walk, const char *const *patterns, unsigned int count)
{
	walk->excluded = patterns;
	walk->excluded_count = count;
}

bool tree_walk_excludes(const struct tree_walk *walk, const char *path, bool is_folder)
{
	for (unsigned int i = 0; i < walk->excluded_count; i++)
		if (path_pattern_matches(walk->excluded[i], path, is_folder))
			return true;
	return false;
}

/* Allocates memory for the names of a folder. Returns NULL if there is none. */
static void *resize(struct level *level, void *old, size_t old_size, size_t size)
{
	struct failure failure = {0};
	void *new;

	if (memory_budget_take(size - old_size, &failure))
		return NULL;
	new = realloc(old, size);
	if (!new) {
		memory_budget_return(size - old_size, 0);
		return NULL;
	}
	memory_budget_filled(size - old_size);
	level->taken += size - old_size;
	return new;
}

/* Returns the kind of an entry. Most file systems tell it with the name. */
static enum walk_kind kind_of(const struct level *level, const struct dirent *entry)
{
	struct stat status;

	switch (entry->d_type) {
	case DT_DIR:
		return WALK_FOLDER;
	case DT_LNK:
		return WALK_LINK;
	case DT_REG:
		return WALK_FILE;
	case DT_UNKNOWN:
		break;
	default:
		return WALK_SPECIAL;
	}
	if (fstatat(level->folder->descriptor, entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
		return WALK_FILE; /* opening it will fail with the reason */
	switch (status.st_mode & S_IFMT) {
	case S_IFDIR:
		return WALK_FOLDER;
	case S_IFLNK:
		return WALK_LINK;
	case S_IFREG:
		return WALK_FILE;
	default:
		return WALK_SPECIAL;
	}
}

/* Reads the names of all entries. Returns 0 or -errno. */
static int read_names(struct level *level, DIR *stream, size_t *used)
{
	size_t room = 0, size;
	const struct dirent *entry;
	char *names;

	for (errno = 0; (entry = readdir(stream)); errno = 0) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		size = strlen(entry->d_name) + 1;
		if (*used + 1 + size > room) {
			names = resize(level, level->names, room, room ? 2 * room : NAMES_SIZE);
			if (!names)
				return -ENOMEM;
			level->names = names;
			room = room ? 2 * room : NAMES_SIZE;
		}
		level->names[(*used)++] = (char)kind_of(level, entry);
		memcpy(level->names + *used, entry->d_name, size);
		*used += size;
		level->count++;
	}
	return -errno;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a + 1, *(char *const *)b + 1);
}

/* Lists the entries of the folder in their order. Returns 0 or -errno. */
static int list(struct level *level)
{
	int listed = fcntl(level->folder->descriptor, F_DUPFD_CLOEXEC, 0), error;
	DIR *stream = listed < 0 ? NULL : fdopendir(listed);
	size_t used = 0;

	if (!stream) {
		error = -errno;
		if (listed >= 0)
			close(listed);
		return error;
	}
	error = read_names(level, stream, &used);
	closedir(stream);
	if (error || level->count == 0)
		return error;
	level->sorted = resize(level, NULL, 0, level->count * sizeof(level->sorted[0]));
	if (!level->sorted)
		return -ENOMEM;
	for (size_t at = 0, i = 0; i < level->count; at += strlen(level->names + at + 1) + 2)
		level->sorted[i++] = level->names + at;
	qsort(level->sorted, level->count, sizeof(level->sorted[0]), compare);
	return 0;
}

/* True if the walk is already in this folder. */
static bool is_inside(const struct tree_walk *walk, const struct walk_folder *folder)
{
	for (unsigned int i = 0; i < walk->depth; i++)
		if (walk->levels[i].folder->status.st_ino == folder->status.st_ino &&
			walk->levels[i].folder->status.st_dev == folder->status.st_dev)
			return true;
	return false;
}

/* Finds a folder that cannot be read. Returns 1. */
static int pass(struct walked *found, int error)
{
	found->kind = WALK_CLOSED;
	found->error = error;
	return 1;
}

/* Fills the next level with a folder that is open. Returns 1 or -errno. */
static int enter(
	struct tree_walk *walk, struct walk_folder *folder, struct walked *found, char *why)
{
	struct level *level = &walk->levels[walk->depth];
	int error;

	if (is_inside(walk, folder))
		return tree_walk_refuse(why, walk->path, "the directory contains itself", -ELOOP);
	if (walk->depth == TREE_DEPTH_MAX)
		return tree_walk_refuse(
			why, walk->path, "its directories are nested too deeply", -ENAMETOOLONG);
	*level = (struct level){.folder = walk_folder_use(folder), .path_size = strlen(walk->path)};
	walk->depth++;
	error = list(level);
	if (error)
		leave(walk);
	if (error && !found->is_root && tree_walk_may_go_on(error))
		return pass(found, error);
	if (error)
		return tree_walk_refuse(why, walk->path,
			error == -ENOMEM ? "it has too many entries for the memory that may be used"
					 : strerror(-error),
			error);
	found->kind = WALK_FOLDER;
	found->folder = folder;
	return 1;
}

/* Takes a folder that was just opened, if it was. Returns 1 or -errno. */
static int enter_opened(struct tree_walk *walk, int opened, struct walked *found, char *why)
{
	struct walk_folder *folder;
	int error;

	if (opened < 0 && !found->is_root && tree_walk_may_go_on(-errno))
		return pass(found, -errno);
	if (opened < 0)
		return tree_walk_refuse(why, walk->path, strerror(errno), -errno);
	folder = calloc(1, sizeof(*folder));
	if (!folder) {
		close(opened);
		return tree_walk_refuse(why, walk->path, strerror(ENOMEM), -ENOMEM);
	}
	folder->descriptor = opened;
	folder->users = 1;
	error = fstat(opened, &folder->status)
			? tree_walk_refuse(why, walk->path, strerror(errno), -errno)
			: enter(walk, folder, found, why);
	walk_folder_release(folder); /* the level uses it */
	return error;
}

/* Begins the walk with its path. Returns 1, 0 if that is excluded, or -errno. */
static int enter_root(struct tree_walk *walk, struct walked *found, char *why)
{
	const char *path = walk->root;
	struct stat status;

	walk->root = NULL;
	if (stat(path, &status))
		return tree_walk_refuse(why, walk->path, strerror(errno), -errno);
	if (tree_walk_excludes(walk, walk->path, S_ISDIR(status.st_mode)))
		return 0;
	*found = (struct walked){
		.kind = WALK_FILE, .is_root = true, .name = path, .path = walk->path};
	return S_ISDIR(status.st_mode)
		       ? enter_opened(
				 walk, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), found, why)
		       : 1;
}

/* Sets the path of an entry in the innermost folder. */
static void set_path(struct tree_walk *walk, const struct level *level, const char *name)
{
	size_t used = level->path_size;

	if (used < sizeof(walk->path))
		snprintf(walk->path + used, sizeof(walk->path) - used, "%s%s",
			used && walk->path[used - 1] == '/' ? "" : "/", name);
}

/*
 * Finds the next entry of the innermost folder that is not excluded, and sets its path. Returns its
 * kind and name, or NULL at the end of the folder.
 */
static const char *next_name(struct tree_walk *walk, struct level *level)
{
	const char *entry;

	while (level->next < level->count) {
		entry = level->sorted[level->next++];
		set_path(walk, level, entry + 1);
		if (!tree_walk_excludes(walk, walk->path, *entry == WALK_FOLDER))
			return entry;
	}
	walk->path[level->path_size] = '\0';
	return NULL;
}

int tree_walk_next(struct tree_walk *walk, struct walked *found, char why[WORKER_WHY_SIZE])
{
	struct level *level;
	const char *entry;

	if (walk->root)
		return enter_root(walk, found, why);
	if (walk->depth == 0)
		return 0;
	level = &walk->levels[walk->depth - 1];
	entry = next_name(walk, level);
	if (!entry) {
		leave(walk);
		*found = (struct walked){.kind = WALK_LEAVE, .path = walk->path};
		return 1;
	}
	*found = (struct walked){.kind = (enum walk_kind) * entry,
		.folder = level->folder,
		.name = entry + 1,
		.path = walk->path};
	if (found->kind != WALK_FOLDER)
		return 1;
	return enter_opened(walk,
		openat(level->folder->descriptor, entry + 1,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
		found, why);
}
