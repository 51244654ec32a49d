/*
 * A tree output parses the stream as it arrives: the header of an entry, its name, its contents. It
 * keeps open the directories that lead to the current entry.
 *
 * With workers, small files and symbolic links become tasks: to create the file, write it and close
 * it; so do the pieces of a larger file: to write one. The owner of the tasks parses the stream and
 * takes the results in its order, so of several failures, the first one in the stream is reported.
 * It creates folders and larger files itself, because their entries and pieces need them. These get
 * their permissions and time from their last user.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "host/memory-budget.h"
#include "protocol/attributes.h"
#include "protocol/little-endian.h"
#include "protocol/tree.h"
#include "stream/file-name.h"
#include "stream/final-name.h"
#include "stream/folder-list.h"
#include "stream/holes.h"
#include "stream/merge.h"
#include "stream/present.h"
#include "stream/staging.h"
#include "stream/storage.h"
#include "stream/tasks.h"
#include "stream/tree-output.h"
#include "stream/tree-path.h"

/* Maximum bytes of a path shown in an error. */
#define SHOWN_MAX 200

/*
 * What an entry gets besides its permissions and time, if attributes are kept. It belongs to the
 * entry's folder, file or item.
 */
struct extra {
	const struct keeping *keeping;
	struct attributes *attributes; /* or NULL: the entry has none */
	char path[];                   /* to be shown */
};

/* Entries with attributes of this size or more are no tasks, so that those need little memory. */
#define LARGE_ATTRIBUTES ((size_t)8 << 10)

/* An open folder of the stream, used by its level and by tasks. */
struct folder {
	int descriptor;
	atomic_uint users;
	bool left; /* the stream has left it, so it gets its permissions and time: */
	struct tree_entry entry;
	struct extra *extra; /* or NULL */
};

/*
 * Bytes of texts and contents in an item: up to SMALL_ROOM, as many as it needs; otherwise as many
 * as any needs.
 */
#define SMALL_ROOM ((size_t)32 << 10)
#define MOST_ROOM  ((size_t)TASKS_FILE_SIZE + PATH_MAX + FILE_NAME_MAX + 3)

/* A folder that the stream is in; the first one is that of this attempt. */
struct level {
	struct folder *folder;
	size_t path_size; /* of its path in `path` */
	int target;       /* the folder with which it is merged, O_PATH; -1: none */
	bool checked;     /* check_place() was called for that */
};

/* Permissions and time of a file that stays where it is, which it gets in the end. */
struct later {
	struct later *next;
	bool moves; /* it is of an earlier attempt, and not where it stays yet */
	struct tree_entry entry;
	struct extra *extra; /* or NULL */
	uint64_t taken;      /* bytes from the memory budget */
	dev_t device;        /* of the file, and its number there: */
	ino_t number;
	char path[]; /* in the directory */
};

/* An open file of the stream, used by the owner and by tasks that write pieces of it. */
struct file {
	int descriptor;
	atomic_uint users;
	struct tree_entry entry;
	struct extra *extra; /* or NULL */
};

/* A small file, a piece of a larger one or a symbolic link, and what became of it. */
struct item {
	struct task task;
	struct file *file; /* a piece of this one, which begins here: */
	off_t position;
	struct folder *folder; /* that contains it */
	struct tree_entry entry;
	struct extra *extra; /* or NULL */
	const char *name, *path;
	uint8_t *contents; /* or the link's target, with a zero byte behind it */
	size_t size, have; /* its bytes, and those so far */
	size_t room;       /* allocated bytes for what follows */
	int error;
	bool exists;  /* the error is that of its name */
	char texts[]; /* name, path, contents */
};

/* What the next bytes of the stream are. */
enum part {
	PART_HEADER,
	PART_NAME,
	PART_TARGET, /* of a link; or what is asked for */
	PART_ATTRIBUTES,
	PART_RUN,  /* of a sparse file: its header */
	PART_DATA, /* of a file */
};

struct tree_output {
	int directory; /* where everything is moved in the end; the caller's */
	struct staging staging;
	struct tree_output_options options;
	struct present present; /* if the sender asks */
	struct later *later;

	struct level levels[TREE_DEPTH_MAX + 1];
	unsigned int depth;  /* of the current level */
	char path[PATH_MAX]; /* of the current entry, for errors; truncated if too long */

	enum part part;
	size_t got; /* bytes of the current header, name, target, attributes or run */
	uint8_t header[TREE_HEADER_SIZE];
	char name[FILE_NAME_MAX + 1];
	char target[TREE_ASK_MAX + 1];
	uint8_t run[TREE_RUN_SIZE];
	struct tree_entry entry;
	struct attributes *attributes; /* of the next entry, or NULL */
	struct extra *extra;           /* of the current one, until something owns it, or NULL */
	struct file *file;             /* whose data arrives; NULL: none, or a small one */
	off_t position;                /* bytes of it so far, with holes */
	uint64_t data_end;             /* where its data ends, or that of the run */
	off_t continued;               /* bytes of it that were there; 0: it is new */
	uint64_t arrived;              /* bytes of it that were not, when it is complete */

	struct tasks tasks;
	unsigned int window; /* most tasks at a time; 1: there are none */
	struct item *item;   /* whose contents arrive, or NULL */
	struct item *spare;  /* a list of large ones that can be used again */
	int error;           /* of the first task that failed; 0: none */

	bool asked;                     /* no further question follows */
	bool started;                   /* the first entry has arrived */
	bool stored;                    /* a file, or a part of one */
	bool withdrawable;              /* the entry before was a file with its data */
	bool committed;                 /* nothing is left to be resumed */
	unsigned long count;            /* entries that are in no folder of the stream */
	struct tree_progress *progress; /* the caller's, or NULL */
};

_Static_assert(FILE_NAME_MAX >= TREE_NAME_MAX, "a name fits");

/* Formats the failure message. Returns the error. */
static int refuse_path(const char *path, int error, const char *hint, char *why)
{
	char shown[TEXT_ESCAPED_SIZE(SHOWN_MAX)];
	size_t size = strlen(path);

	text_escape_utf8(shown, path, size < SHOWN_MAX ? size : SHOWN_MAX);
	snprintf(why, OUTPUT_FILE_WHY_SIZE, "cannot write %.*s%s: %s%s", SHOWN_MAX,
		*shown ? shown : "the directory", size > SHOWN_MAX ? "..." : "", strerror(-error),
		hint);
	return error;
}

static int refuse(const struct tree_output *output, int error, const char *hint, char *why)
{
	return refuse_path(output->path, error, hint, why);
}

/* The same if the name in this folder may be taken by an entry that is spelled differently. */
static int refuse_name(
	const char *path, int folder, const char *name, int error, const char *hint, char *why)
{
	char collision[FINAL_NAME_COLLISION_SIZE], hints[FINAL_NAME_COLLISION_SIZE + 64];

	final_name_collision(folder, name, collision);
	snprintf(hints, sizeof(hints), "%s%s", hint, collision);
	return refuse_path(path, error, hints, why);
}

static int refuse_stream(const char *reason, char *why)
{
	snprintf(why, OUTPUT_FILE_WHY_SIZE, "the peer's files are not a valid stream: %s", reason);
	return -EPROTO;
}

/* Takes an open folder. Returns NULL if there is no memory. */
static struct folder *new_folder(int descriptor)
{
	struct folder *folder = calloc(1, sizeof(*folder));

	if (!folder) {
		close(descriptor);
		return NULL;
	}
	folder->descriptor = descriptor;
	folder->users = 1;
	return folder;
}

static void free_extra(struct extra *extra)
{
	if (extra)
		free(extra->attributes);
	free(extra);
}

/* Sets permissions, time and attributes, which some file systems do not support. */
static void set_attributes(int file, const struct tree_entry *entry, const struct extra *extra)
{
	struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = entry->seconds, .tv_nsec = entry->nanoseconds},
	};

	if (extra)
		attributes_set(extra->keeping, file, entry->mode, extra->attributes, extra->path);
	else
		fchmod(file, entry->mode);
	futimens(file, times);
}

/* Any thread. */
static void release_folder(struct folder *folder)
{
	if (--folder->users > 0)
		return;
	if (folder->left)
		set_attributes(folder->descriptor, &folder->entry, folder->extra);
	close(folder->descriptor);
	free_extra(folder->extra);
	free(folder);
}

static int create_file(int folder, const char *name)
{
	int file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (file < 0)
		return -errno;
	return file;
}

/* Closes a file of this size. */
static int finish_file(
	int file, const struct tree_entry *entry, const struct extra *extra, off_t size)
{
	int error = ftruncate(file, size) ? -errno : 0;

	set_attributes(file, entry, extra);
	if (close(file) && !error)
		error = -errno;
	return error;
}

static int make_link(int folder, const char *name, const char *target,
	const struct tree_entry *entry, const struct extra *extra)
{
	const struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = entry->seconds, .tv_nsec = entry->nanoseconds},
	};

	if (symlinkat(target, folder, name))
		return -errno;
	if (extra)
		attributes_set_link(extra->keeping, folder, name, extra->attributes, extra->path);
	utimensat(folder, name, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

/* The last user finishes the file, if it is complete. Returns 0 or -errno. Any thread. */
static int release_file(struct file *file, bool complete)
{
	int error = 0;

	if (!file || --file->users > 0)
		return 0;
	if (complete)
		error = finish_file(
			file->descriptor, &file->entry, file->extra, (off_t)file->entry.size);
	else
		close(file->descriptor);
	free_extra(file->extra);
	free(file);
	return error;
}

/* Writes a piece of a file. */
static void write_piece(struct item *item)
{
	struct file *file = item->file;
	int error;

	item->error = holes_write(&(struct holes_file){.file = file->descriptor}, item->contents,
		item->have, item->position);
	storage_write_back(file->descriptor, (uint64_t)item->position, item->have);
	item->file = NULL;
	error = release_file(file, true);
	if (!item->error)
		item->error = error;
}

/* The work of a task. */
static void work(struct task *task)
{
	struct item *item = (struct item *)task;
	int folder = item->folder->descriptor, file, error;

	if (item->file) {
		write_piece(item);
		return;
	}
	if (item->entry.kind == TREE_LINK) {
		item->error = make_link(folder, item->name, (const char *)item->contents,
			&item->entry, item->extra);
		item->exists = true;
		return;
	}
	file = create_file(folder, item->name);
	item->exists = file < 0;
	if (file < 0) {
		item->error = file;
		return;
	}
	item->error =
		holes_write(&(struct holes_file){.file = file}, item->contents, item->have, 0);
	error = finish_file(file, &item->entry, item->extra, (off_t)item->have);
	if (!item->error)
		item->error = error;
}

/* The sender asks what is here already. */
static bool answers(const struct tree_output *output)
{
	return output->options.keyed;
}

int tree_output_open(struct tree_output **result, int directory, const char *name,
	const struct tree_output_options *options, char why[OUTPUT_FILE_WHY_SIZE])
{
	struct tree_output *output = calloc(1, sizeof(*output));
	int attempt;

	if (!output) {
		snprintf(why, OUTPUT_FILE_WHY_SIZE, "cannot write: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	output->directory = directory;
	output->options = *options;
	output->window = 1;
	snprintf(output->path, sizeof(output->path), "%s", name);
	output->levels[0].target = options->update ? directory : -1;
	attempt = staging_open(&output->staging, directory, name, answers(output));
	if (attempt >= 0) {
		output->levels[0].folder = new_folder(attempt);
		if (!output->levels[0].folder) {
			staging_close(&output->staging, STAGING_EARLIER_ATTEMPTS);
			attempt = -ENOMEM;
		}
	}
	if (attempt < 0) {
		refuse(output, attempt, "", why);
		free(output);
		return attempt;
	}
	output->present = (struct present){
		.staging = &output->staging,
		.target = options->update ? directory : -1,
		.user = geteuid(),
		.by_time = !options->checksum,
		.keyed = options->keyed,
		.writer = options->answers,
	};
	tasks_init(&output->tasks, work);
	*result = output;
	return 0;
}

void tree_output_use_workers(struct tree_output *output, unsigned int workers)
{
	output->window = tasks_take_memory(workers);
}

void tree_output_help(struct tree_output *output)
{
	tasks_help(&output->tasks);
}

void tree_output_count_in(struct tree_output *output, struct tree_progress *progress)
{
	output->progress = progress;
}

/* The folder of the current entry. */
static int folder_of(const struct tree_output *output)
{
	return output->levels[output->depth].folder->descriptor;
}

/* Fails to create the current entry. */
static int refuse_entry(const struct tree_output *output, int error, char *why)
{
	return refuse_name(output->path, folder_of(output), output->name, error, "", why);
}

/* Keeps a large item's memory, because to fill new memory takes longer than to copy into it. */
static void free_item(struct tree_output *output, struct item *item)
{
	if (!item)
		return;
	release_file(item->file, false);
	release_folder(item->folder);
	free_extra(item->extra);
	if (item->room <= SMALL_ROOM) {
		free(item);
		return;
	}
	item->task.next = (struct task *)output->spare;
	output->spare = item;
}

/*
 * Takes the results of tasks while there are more than this many, and those that are there anyway.
 * Returns 0 or -errno: the first failure in the order of the stream; its message has been in `why`
 * since it was taken.
 */
static int take_results(struct tree_output *output, unsigned int most, char *why)
{
	struct item *item;
	int error;

	while (!output->error && (item = (struct item *)tasks_take(
					  &output->tasks, tasks_count(&output->tasks) > most))) {
		error = output->error = item->error;
		if (error && item->exists)
			refuse_name(
				item->path, item->folder->descriptor, item->name, error, "", why);
		else if (error)
			refuse_path(item->path, error, "", why);
		free_item(output, item);
	}
	return output->error;
}

/* Allocates an item with room for texts and contents, or takes a spare one. */
static struct item *take_memory(struct tree_output *output, size_t room)
{
	struct item *item = output->spare;

	if (room > SMALL_ROOM) {
		room = MOST_ROOM;
		if (item) {
			output->spare = (struct item *)item->task.next;
			return item;
		}
	}
	item = malloc(sizeof(*item) + room);
	if (item)
		item->room = room;
	return item;
}

/* Makes the current entry's extra, if attributes are kept. Returns 0 or -ENOMEM. */
static int make_extra(struct tree_output *output)
{
	size_t size = strlen(output->path) + 1;
	struct extra *extra;

	free_extra(output->extra);
	output->extra = NULL;
	if (!output->options.keeping.kept)
		return 0;
	extra = malloc(sizeof(*extra) + size);
	if (!extra)
		return -ENOMEM;
	*extra = (struct extra){
		.keeping = &output->options.keeping, .attributes = output->attributes};
	memcpy(extra->path, output->path, size);
	output->attributes = NULL;
	output->extra = extra;
	return 0;
}

/* The current entry's extra, which now belongs to the caller. */
static struct extra *take_extra(struct tree_output *output)
{
	struct extra *extra = output->extra;

	output->extra = NULL;
	return extra;
}

static bool has_large_attributes(const struct tree_output *output)
{
	return output->extra && output->extra->attributes &&
	       output->extra->attributes->size >= LARGE_ATTRIBUTES;
}

/*
 * Makes the next bytes of the current entry an item, whose contents arrive next. Returns false if
 * there are no workers for it, or it is too large.
 */
static bool start_item(struct tree_output *output, uint64_t size)
{
	size_t name_size = strlen(output->name) + 1, path_size = strlen(output->path) + 1;
	struct item *item;

	if (output->window == 1 || size > TASKS_FILE_SIZE || has_large_attributes(output))
		return false;
	item = take_memory(output, name_size + path_size + (size_t)size + 1);
	if (!item)
		return false;
	*item = (struct item){.room = item->room, .folder = output->levels[output->depth].folder};
	item->folder->users++;
	item->entry = output->entry;
	item->extra = take_extra(output);
	item->size = (size_t)size;
	item->name = memcpy(item->texts, output->name, name_size);
	item->path = memcpy(item->texts + name_size, output->path, path_size);
	item->contents = (uint8_t *)item->texts + name_size + path_size;
	output->item = item;
	return true;
}

/* Makes the item, whose contents are complete, a task. */
static int finish_item(struct tree_output *output, char *why)
{
	int error = 0;

	/* Many at a time, so that helpers are woken rarely. */
	if (tasks_count(&output->tasks) == output->window)
		error = take_results(output, output->window / 2, why);
	if (error)
		return error;
	tasks_add(&output->tasks, &output->item->task, false);
	output->item = NULL;
	return 0;
}

/*
 * Finds out in advance why nothing could be stored in the folder with which the current one is
 * merged. Returns 0 or -errno.
 */
static int check_place(struct tree_output *output)
{
	struct level *level = &output->levels[output->depth];
	struct stat theirs, ours;

	if (level->target < 0 || level->checked)
		return 0;
	level->checked = true;
	if (fstat(level->target, &theirs) || fstat(output->levels[0].folder->descriptor, &ours))
		return -errno;
	if (theirs.st_dev != ours.st_dev)
		return -EXDEV;
	/* Its owner may change the permissions. */
	if (theirs.st_uid != geteuid() && faccessat(level->target, ".", W_OK | X_OK, AT_EACCESS))
		return -errno;
	return 0;
}

/*
 * Opens the folder with which the entry is merged. Returns it; -ENOENT if there is none; or another
 * -errno: -ENOTDIR if something else is in its place.
 */
static int target_folder(const struct tree_output *output)
{
	int within = output->levels[output->depth].target, target;

	if (within < 0)
		return -ENOENT;
	target = openat(within, output->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (target >= 0)
		return target;
	return errno == ELOOP ? -ENOTDIR : -errno;
}

/* A folder is never replaced by something else. Returns 0 or -EISDIR. */
static int check_target(const struct tree_output *output)
{
	int within = output->levels[output->depth].target;
	struct stat status;

	return within >= 0 && fstatat(within, output->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
			       S_ISDIR(status.st_mode)
		       ? -EISDIR
		       : 0;
}

static int enter_folder(struct tree_output *output, char *why)
{
	struct level *level = &output->levels[output->depth + 1];
	int descriptor, target, error = 0;

	if (output->depth == TREE_DEPTH_MAX)
		return refuse_stream("its directories are nested too deeply", why);
	target = target_folder(output);
	if (target < 0 && target != -ENOENT)
		return refuse(output, target, "", why);
	if (mkdirat(folder_of(output), output->name, 0700)) {
		error = refuse_entry(output, -errno, why);
	} else {
		descriptor = openat(folder_of(output), output->name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		level->folder = descriptor < 0 ? NULL : new_folder(descriptor);
		if (!level->folder)
			error = refuse(output, descriptor < 0 ? -errno : -ENOMEM, "", why);
	}
	if (error) {
		if (target >= 0)
			close(target);
		return error;
	}
	level->folder->entry = output->entry;
	level->folder->extra = take_extra(output);
	level->path_size = strlen(output->path);
	level->target = target;
	level->checked = false;
	output->depth++;
	return 0;
}

/* Releases the current folder: the one that contains it becomes the current one. */
static void close_level(struct tree_output *output)
{
	struct level *level = &output->levels[output->depth--];

	release_folder(level->folder);
	if (level->target >= 0)
		close(level->target);
}

static int leave_folder(struct tree_output *output, char *why)
{
	if (output->depth == 0)
		return refuse_stream("it leaves more directories than it enters", why);
	output->levels[output->depth].folder->left = true;
	close_level(output);
	return 0;
}

/*
 * Moves the file with the path of the entry from an earlier attempt to this one. With `whole`, only
 * if it has the size of the entry and can be read, as when it was answered. Returns 0, or -ENOENT
 * if there is none.
 */
static int take_earlier(struct tree_output *output, bool whole, struct stat *status)
{
	char name[FILE_NAME_MAX + 1];
	int folder = staging_find(&output->staging, output->path, name, status), error = 0;

	if (folder < 0)
		return folder;
	if (whole && ((uint64_t)status->st_size != output->entry.size ||
			     faccessat(folder, name, R_OK, AT_EACCESS)))
		error = -ENOENT;
	else if (whole && status->st_nlink > 1 && !present_keep(&output->present, status))
		error = -ESTALE;
	else if (renameat(folder, name, folder_of(output), output->name))
		error = -errno;
	close(folder);
	return error;
}

/* Opens the file of an earlier attempt, to write its end. Returns the descriptor or -errno. */
static int continue_file(struct tree_output *output)
{
	struct stat status;
	int error = take_earlier(output, false, &status), file;

	if (error)
		return error;
	if (status.st_nlink != 1)
		return -EPROTO;
	fchmodat(folder_of(output), output->name, 0600, 0);
	file = openat(folder_of(output), output->name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0)
		return -errno;
	output->continued = status.st_size;
	return file;
}

static int start_file(struct tree_output *output, char *why)
{
	struct file *file = calloc(1, sizeof(*file));

	if (!file)
		return refuse(output, -ENOMEM, "", why);
	file->descriptor = output->entry.kind == TREE_CONTINUED
				   ? continue_file(output)
				   : create_file(folder_of(output), output->name);
	if (file->descriptor < 0) {
		int error = file->descriptor;

		free(file);
		return refuse_entry(output, error, why);
	}
	file->users = 1;
	file->entry = output->entry;
	file->extra = take_extra(output);
	output->file = file;
	return 0;
}

static int end_file(struct tree_output *output, char *why)
{
	int error = release_file(output->file, true);

	output->file = NULL;
	return error ? refuse(output, error, "", why) : 0;
}

/* Makes the attributes of an open file those of the current entry. Returns 0 or -errno. */
static int read_extra(struct tree_output *output, int file, const struct stat *status)
{
	const struct keeping *keeping = &output->options.keeping;
	struct attributes *attributes;
	int error;

	if (!keeping->kept)
		return 0;
	error = attributes_read(keeping, file, status, &attributes);
	if (error)
		return error;
	free(output->attributes);
	output->attributes = attributes;
	return make_extra(output);
}

/*
 * Copies a file of the stream with this status to the current entry, if the file system refuses
 * another link to it.
 */
static int copy_file(
	struct tree_output *output, int from, const char *name, const struct stat *status)
{
	int source = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), file, error = 0, ended;
	ssize_t moved = 1;

	if (source < 0)
		return -errno;
	file = create_file(folder_of(output), output->name);
	if (file < 0) {
		close(source);
		return file;
	}
	while (moved > 0)
		moved = copy_file_range(source, NULL, file, NULL, 1 << 30, 0);
	if (moved < 0)
		error = -errno;
	if (!error)
		error = read_extra(output, source, status);
	close(source);
	ended = finish_file(file,
		&(struct tree_entry){.mode = status->st_mode & 0777,
			.seconds = status->st_mtim.tv_sec,
			.nanoseconds = (uint32_t)status->st_mtim.tv_nsec},
		output->extra, status->st_size);
	return error ? error : ended;
}

/* True if this file is the one in the place of the entry. */
static bool is_target(const struct tree_output *output, const struct stat *status)
{
	int within = output->levels[output->depth].target;
	struct stat theirs;

	return within >= 0 && fstatat(within, output->name, &theirs, AT_SYMLINK_NOFOLLOW) == 0 &&
	       theirs.st_dev == status->st_dev && theirs.st_ino == status->st_ino;
}

/* Gives an earlier file of the stream another name. */
static int take_hard_link(struct tree_output *output, char *why)
{
	char name[FILE_NAME_MAX + 1];
	struct stat status;
	/* The file may be a task. */
	int error = take_results(output, 0, why), from;
	bool stays = false;

	if (error)
		return error;
	from = tree_path_open_file(
		output->levels[0].folder->descriptor, output->target, false, name, &status);
	if (from < 0 && output->levels[0].target >= 0) {
		from = tree_path_open_file(
			output->levels[0].target, output->target, false, name, &status);
		stays = true;
	}
	if (from == -EMFILE || from == -ENFILE || from == -ENOMEM)
		return refuse(output, from, "", why);
	if (from < 0 || (stays && !present_is_kept(&output->present, &status))) {
		if (from >= 0)
			close(from);
		return refuse_stream("a hard link is to no earlier file", why);
	}
	if (stays && is_target(output, &status)) {
		close(from);
		return 0;
	}
	if (linkat(from, name, folder_of(output), output->name, 0))
		error = -errno;
	if (error == -EPERM || error == -EMLINK || error == -EOPNOTSUPP)
		error = copy_file(output, from, name, &status);
	close(from);
	return error ? refuse_entry(output, error, why) : 0;
}

/* Creates the link whose target is complete. */
static int take_link(struct tree_output *output, char *why)
{
	int error;

	output->target[output->entry.size] = '\0';
	if (strlen(output->target) != output->entry.size)
		return refuse_stream("the target of a link contains a zero byte", why);
	if (output->entry.kind == TREE_HARD_LINK)
		return take_hard_link(output, why);
	if (start_item(output, output->entry.size)) {
		memcpy(output->item->contents, output->target, output->entry.size + 1);
		return finish_item(output, why);
	}
	error = make_link(
		folder_of(output), output->name, output->target, &output->entry, output->extra);
	return error ? refuse_entry(output, error, why) : 0;
}

/* Notes what a file that stays where it is gets in the end. Returns 0 or -ENOMEM. */
static int change_later(struct tree_output *output, const struct stat *status, bool moves)
{
	size_t size = strlen(output->path) + 1;
	const struct attributes *attributes = output->extra ? output->extra->attributes : NULL;
	uint64_t taken = attributes ? attributes->size : 0;
	struct failure failure = {0};
	struct later *later;

	if (memory_budget_take(taken, &failure))
		return -ENOMEM;
	memory_budget_filled(taken);
	later = malloc(sizeof(*later) + size);
	if (!later) {
		memory_budget_return(taken, taken);
		return -ENOMEM;
	}
	*later = (struct later){.next = output->later,
		.moves = moves,
		.entry = output->entry,
		.extra = take_extra(output),
		.taken = taken,
		.device = status->st_dev,
		.number = status->st_ino};
	memcpy(later->path, output->path, size);
	output->later = later;
	return 0;
}

/*
 * Gives the file with this name, if it is still this one, the entry's permissions, time and
 * attributes. Returns 0 or -errno; -ESTALE: it is another one.
 */
static int set_attributes_at(int folder, const char *name, dev_t device, ino_t number,
	const struct tree_entry *entry, const struct extra *extra)
{
	int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), error = 0;
	struct stat status;

	if (file < 0)
		return -errno;
	if (fstat(file, &status))
		error = -errno;
	else if (status.st_dev != device || status.st_ino != number)
		error = -ESTALE;
	else
		set_attributes(file, entry, extra);
	close(file);
	return error;
}

/* True if the file with this name has the entry's permissions, time and attributes. */
static bool has_attributes(const struct tree_output *output, int folder, const struct stat *status)
{
	const struct tree_entry *entry = &output->entry;
	const struct extra *extra = output->extra;
	bool same;
	int file;

	if (status->st_mtim.tv_sec != entry->seconds ||
		status->st_mtim.tv_nsec != entry->nanoseconds)
		return false;
	if (!extra)
		return (status->st_mode & 07777) == entry->mode;
	file = openat(folder, output->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file < 0)
		return false;
	same = attributes_match(extra->keeping, file, status, entry->mode, extra->attributes);
	close(file);
	return same;
}

/* Takes a file that is here as it is: of an earlier attempt, or in its place. */
static int take_kept(struct tree_output *output, char *why)
{
	int within = output->levels[output->depth].target, error;
	struct stat status;

	tree_progress_keep(output->progress, output->path, 0);
	error = take_earlier(output, true, &status);
	if (!error) {
		output->stored = true;
		error = check_target(output);
		if (error)
			return refuse(output, error, "", why);
		/* Its other names may already be in their places. */
		error = status.st_nlink > 1
				? change_later(output, &status, true)
				: set_attributes_at(folder_of(output), output->name, status.st_dev,
					  status.st_ino, &output->entry, output->extra);
		return error ? refuse(output, error, "", why) : 0;
	}
	if (error != -ENOENT)
		return refuse(output, error, "", why);
	if (within < 0)
		return refuse_stream("it keeps a file that is not there", why);
	if (fstatat(within, output->name, &status, AT_SYMLINK_NOFOLLOW))
		return refuse(output, -errno, "", why);
	if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size != output->entry.size ||
		!present_keep(&output->present, &status))
		return refuse(output, -ESTALE, " (it changed during the transfer)", why);
	if (has_attributes(output, within, &status))
		return 0;
	error = change_later(output, &status, false);
	return error ? refuse(output, error, "", why) : 0;
}

/* Bytes of the file that were not there, as far as it can be told. */
static uint64_t new_bytes(const struct tree_output *output)
{
	uint64_t there = (uint64_t)output->continued;

	return there < output->entry.size ? output->entry.size - there : 0;
}

/* Removes the file before, which the sender could not read as a whole. */
static int take_withdrawal(struct tree_output *output, char *why)
{
	/* It may be a task. */
	int error = take_results(output, 0, why);

	if (error)
		return error;
	if (!output->withdrawable)
		return refuse_stream("it withdraws what is no file", why);
	output->withdrawable = false;
	tree_progress_withdraw(output->progress, output->arrived);
	return unlinkat(folder_of(output), output->name, 0) ? refuse_entry(output, -errno, why) : 0;
}

/* Begins a file: its data follows, if there is any. */
static int take_file(struct tree_output *output, char *why)
{
	bool sparse = output->entry.kind != TREE_FILE;
	bool small = !sparse && start_item(output, output->entry.size);
	int error;

	output->stored = true;
	output->position = output->continued = 0;
	output->data_end = sparse ? 0 : output->entry.size;
	if (!small) {
		error = start_file(output, why);
		if (error)
			return error;
	}
	output->withdrawable = true;
	output->arrived = new_bytes(output);
	tree_progress_count(output->progress, output->path, output->arrived, 0);
	if (output->entry.size > 0) {
		output->part = sparse ? PART_RUN : PART_DATA;
		return 0;
	}
	return small ? finish_item(output, why) : end_file(output, why);
}

/* Goes on after the data of a run, or of the file. */
static int end_data(struct tree_output *output, char *why)
{
	bool ended = (uint64_t)output->position == output->entry.size;

	output->part = ended ? PART_HEADER : PART_RUN;
	return ended ? end_file(output, why) : 0;
}

/* Begins a run of a sparse file. */
static int take_run(struct tree_output *output, char *why)
{
	uint64_t left = output->entry.size - (uint64_t)output->position;
	struct tree_run run;

	if (tree_run_decode(&run, output->run, left))
		return refuse_stream("a hole or the data behind it does not fit in its file", why);
	if (output->entry.kind == TREE_CONTINUED && output->position == 0) {
		if (run.hole == 0 || run.hole > (uint64_t)output->continued)
			return refuse_stream("it continues what is not there", why);
		if (ftruncate(output->file->descriptor, (off_t)run.hole))
			return refuse(output, -errno, "", why);
	}
	output->position += (off_t)run.hole;
	output->data_end = (uint64_t)output->position + run.data;
	if (run.data == 0)
		return end_data(output, why);
	output->part = PART_DATA;
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
	if (output->options.update) {
		bool is_new = output->entry.kind != TREE_FOLDER && output->entry.kind != TREE_KEPT;

		error = is_new ? check_target(output) : 0;
		if (is_new && !error)
			error = check_place(output);
		output->count += output->depth == 0;
		return error ? refuse(output, error, "", why) : 0;
	}
	if (output->depth > 0)
		return 0;
	output->count++;
	error = final_name_check(output->directory, output->name, output->options.force, &hint);
	if (error == -EISDIR && output->entry.kind == TREE_FOLDER)
		hint = FINAL_NAME_MERGES;
	return error ? refuse_name(output->path, output->directory, output->name, error, hint, why)
		     : 0;
}

/* Answers a question, which is complete: the file's time, size and path. */
static int take_ask(struct tree_output *output, char *why)
{
	const struct tree_entry *entry = &output->entry;
	const struct question question = {
		.path = output->target + TREE_ASK_SIZE,
		.size = le_get64((const uint8_t *)output->target),
		.linked = entry->mode & TREE_ASK_LINKED,
		.by_time = entry->mode & TREE_ASK_BY_TIME,
		.modified = {.tv_sec = entry->seconds, .tv_nsec = entry->nanoseconds},
	};
	int error;

	output->target[entry->size] = '\0';
	if (strlen(question.path) != entry->size - TREE_ASK_SIZE)
		return refuse_stream("a path contains a zero byte", why);
	error = present_answer(&output->present, &question);
	if (error == -EPROTO)
		return refuse_stream("it asks for a path that no entry can have", why);
	return error ? refuse_path(question.path, error, "", why) : 0;
}

/* All questions are answered: nothing else follows. */
static int end_asks(struct tree_output *output, char *why)
{
	int error = present_flush(&output->present);

	output->asked = true;
	writer_close(output->present.writer);
	return error ? refuse(output, error, "", why) : 0;
}

static int start_stream(struct tree_output *output, char *why)
{
	char hint[STORAGE_HINT_SIZE] = "";
	int error;

	/* An attacker may have changed what the ends told each other, but not this. */
	if (output->options.keeping.kept & ~(unsigned int)output->entry.mode)
		return refuse_stream("it lacks the attributes that were agreed on", why);
	error = storage_check(output->directory, output->entry.size, hint);

	output->started = true;
	tree_progress_plan(output->progress, tree_start_total(&output->entry),
		tree_start_files(&output->entry));
	return error ? refuse(output, error, hint, why) : 0;
}

/* True if attributes may precede an entry of this kind. */
static bool may_have_attributes(enum tree_kind kind)
{
	return kind == TREE_FOLDER || kind == TREE_FILE || kind == TREE_SPARSE ||
	       kind == TREE_LINK || kind == TREE_KEPT || kind == TREE_CONTINUED;
}

/* Begins attributes: they follow. */
static int start_attributes(struct tree_output *output, char *why)
{
	size_t size = (size_t)output->entry.size;

	if (!output->options.keeping.kept)
		return refuse_stream("it has attributes that are not kept", why);
	output->attributes = malloc(sizeof(*output->attributes) + size);
	if (!output->attributes)
		return refuse(output, -ENOMEM, "", why);
	output->attributes->size = size;
	output->part = PART_ATTRIBUTES;
	return 0;
}

static int take_attributes(struct tree_output *output, char *why)
{
	const struct attributes *attributes = output->attributes;

	output->part = PART_HEADER;
	return attributes_check(attributes->bytes, attributes->size, output->options.keeping.kept)
		       ? refuse_stream("an attribute is invalid or not kept", why)
		       : 0;
}

/* Handles a header, and the name if there is one; then the contents follow, if there are any. */
static int begin_entry(struct tree_output *output, char *why)
{
	int error = output->entry.name_size ? take_name(output, why) : 0;

	output->part = PART_HEADER;
	if (error)
		return error;
	if (may_have_attributes(output->entry.kind))
		error = make_extra(output);
	else if (output->attributes)
		return refuse_stream("it has attributes of no entry", why);
	if (error)
		return refuse(output, error, "", why);
	switch (output->entry.kind) {
	case TREE_START:
		return start_stream(output, why);
	case TREE_FOLDER:
		return enter_folder(output, why);
	case TREE_LEAVE:
		return leave_folder(output, why);
	case TREE_ASK:
		output->part = PART_TARGET;
		return 0;
	case TREE_ASKED:
		return end_asks(output, why);
	case TREE_KEPT:
		return take_kept(output, why);
	case TREE_WITHDRAWN:
		return take_withdrawal(output, why);
	case TREE_ATTRIBUTES:
		return start_attributes(output, why);
	case TREE_LINK:
	case TREE_HARD_LINK:
		tree_progress_count(output->progress, output->path, 0, 0);
		output->part = PART_TARGET;
		return 0;
	case TREE_FILE:
	case TREE_SPARSE:
	case TREE_CONTINUED:
		return take_file(output, why);
	}
	return refuse_stream("an entry is of an unknown kind", why);
}

static bool is_question(enum tree_kind kind)
{
	return kind == TREE_ASK || kind == TREE_ASKED;
}

static int take_header(struct tree_output *output, char *why)
{
	if (tree_decode(&output->entry, output->header))
		return refuse_stream("an entry is invalid", why);
	if (output->entry.kind != TREE_WITHDRAWN)
		output->withdrawable = false;
	if (is_question(output->entry.kind)) {
		if (!answers(output) || output->asked)
			return refuse_stream("it asks unexpectedly", why);
	} else if (output->started == (output->entry.kind == TREE_START) ||
		   (answers(output) && !output->asked)) {
		return refuse_stream("its first entry is misplaced", why);
	}
	if (output->entry.name_size == 0)
		return begin_entry(output, why);
	output->part = PART_NAME;
	return 0;
}

/*
 * Where the bytes of the current header, name, target, attributes or run are collected, and their
 * number.
 */
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
	case PART_ATTRIBUTES:
		*size = output->attributes->size;
		return output->attributes->bytes;
	case PART_RUN:
		*size = TREE_RUN_SIZE;
		return output->run;
	case PART_DATA:
		break;
	}
	*size = 0;
	return NULL;
}

/* Takes bytes of a header, name, target, attributes or run. Returns their number or -errno. */
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
	} else if (part == PART_RUN) {
		error = take_run(output, why);
	} else if (part == PART_ATTRIBUTES) {
		error = take_attributes(output, why);
	} else {
		output->part = PART_HEADER;
		error = output->entry.kind == TREE_ASK ? take_ask(output, why)
						       : take_link(output, why);
	}
	return error ? error : (ssize_t)most;
}

/* Begins another piece of a larger file, if there are workers for it. */
static void start_piece(struct tree_output *output)
{
	uint64_t left = output->data_end - (uint64_t)output->position;

	if (!start_item(output, left < TASKS_FILE_SIZE ? left : TASKS_FILE_SIZE))
		return;
	output->item->file = output->file;
	output->item->position = output->position;
	output->file->users++;
}

/* Adds bytes to the item. Returns their number or -errno. */
static ssize_t fill_item(struct tree_output *output, const uint8_t *bytes, size_t size, char *why)
{
	struct item *item = output->item;
	size_t left = item->size - item->have, most = size < left ? size : left;
	int error;

	memcpy(item->contents + item->have, bytes, most);
	item->have += most;
	output->position += (off_t)most;
	error = most == left ? finish_item(output, why) : 0;
	return error ? error : (ssize_t)most;
}

/* Writes bytes of the file. Returns their number or -errno. */
static ssize_t write_bytes(struct tree_output *output, const uint8_t *bytes, size_t size, char *why)
{
	uint64_t left = output->data_end - (uint64_t)output->position;
	size_t most = size < left ? size : (size_t)left;
	const struct holes_file file = {.file = output->file->descriptor};
	int error = holes_write(&file, bytes, most, output->position);

	if (error)
		return refuse(output, error, "", why);
	storage_write_back(file.file, (uint64_t)output->position, most);
	output->position += (off_t)most;
	return (ssize_t)most;
}

/* Takes bytes of the file. Returns their number or -errno. */
static ssize_t take_data(struct tree_output *output, const uint8_t *bytes, size_t size, char *why)
{
	ssize_t taken;
	int error = 0;

	if (!output->item)
		start_piece(output);
	taken = output->item ? fill_item(output, bytes, size, why)
			     : write_bytes(output, bytes, size, why);
	if (taken >= 0 && (uint64_t)output->position == output->data_end)
		error = end_data(output, why);
	return error ? error : taken;
}

/* No further bytes are at hand. Returns 0 or -errno. */
static int end_write(struct tree_output *output, char *why)
{
	int error = take_results(output, output->window, why);

	if (!error && (error = present_flush(&output->present)))
		refuse(output, error, "", why);
	return error;
}

int tree_output_write(
	struct tree_output *output, const void *data, size_t size, char why[OUTPUT_FILE_WHY_SIZE])
{
	const uint8_t *bytes = data;

	while (size > 0) {
		ssize_t taken = output->part == PART_DATA ? take_data(output, bytes, size, why)
							  : take_part(output, bytes, size, why);

		if (taken < 0) {
			/* What comes before it in the stream may have failed as well. */
			int error = take_results(output, 0, why);

			return error ? error : (int)taken;
		}
		bytes += taken;
		size -= (size_t)taken;
	}
	return end_write(output, why);
}

int tree_output_end(struct tree_output *output, bool complete, char why[OUTPUT_FILE_WHY_SIZE])
{
	int error = complete ? take_results(output, 0, why) : 0;

	tasks_end(&output->tasks);
	return error;
}

/* Moves one entry of the hidden folder to its final name. Returns 0 or -errno. */
static int take_final_name(struct tree_output *output, const char *name, char *why)
{
	int hidden = output->levels[0].folder->descriptor;
	int error = final_name_take(hidden, name, output->directory, name, output->options.force);

	return error ? refuse_name(
			       name, output->directory, name, error, final_name_hint(error), why)
		     : 0;
}

static int take_final_names(struct tree_output *output, char *why)
{
	DIR *list = folder_list_open(output->levels[0].folder->descriptor);
	const struct dirent *entry;
	int error = 0;

	if (!list)
		return refuse(output, -errno, "", why);
	while (!error && (entry = folder_list_next(list)))
		error = take_final_name(output, entry->d_name, why);
	closedir(list);
	return error;
}

/* Merges everything with what exists. */
static int merge_all(struct tree_output *output, char *why)
{
	int error = merge_folders(output->levels[0].folder->descriptor, output->directory,
		output->path, &output->options.keeping);

	return error ? refuse(output, error, "", why) : 0;
}

/*
 * Gives files that stay where they are, or those that have moved there, their permissions and time.
 * Returns 0 or -errno.
 */
static int change_now(struct tree_output *output, bool moved, char *why)
{
	for (const struct later *later = output->later; later; later = later->next) {
		char name[FILE_NAME_MAX + 1];
		int folder, error;

		if (later->moves != moved)
			continue;
		folder = tree_path_open(output->directory, later->path, false, name);
		error = folder < 0 ? folder
				   : set_attributes_at(folder, name, later->device, later->number,
					     &later->entry, later->extra);
		if (folder >= 0)
			close(folder);
		/* The permissions of its folder may be new. */
		if (error && !(moved && error == -EACCES))
			return refuse_path(later->path, error, "", why);
	}
	return 0;
}

int tree_output_commit(struct tree_output *output, char why[OUTPUT_FILE_WHY_SIZE])
{
	int folder = output->levels[0].folder->descriptor, error;

	if (!output->started || output->depth > 0 || output->part != PART_HEADER || output->got ||
		output->attributes)
		return refuse_stream("it is incomplete", why);
	/* One call for all files, because fsync(2) for each would take much longer. */
	if (syncfs(folder))
		return refuse(output, -errno, "", why);
	/* Before the folders get their permissions, which may not let us find a file any more. */
	error = change_now(output, false, why);
	if (!error)
		error = output->options.update ? merge_all(output, why)
					       : take_final_names(output, why);
	if (!error)
		error = change_now(output, true, why);
	if (error)
		return error;
	output->committed = true;
	return syncfs(folder) ? refuse(output, -errno, "", why) : 0;
}

unsigned long tree_output_count(const struct tree_output *output)
{
	return output->count;
}

/* Stores what has arrived, as far as possible, so that the next transfer can use it. */
static void store_rest(struct tree_output *output)
{
	char why[OUTPUT_FILE_WHY_SIZE];

	if (output->item && output->item->file && finish_item(output, why))
		return;
	take_results(output, 0, why);
}

bool tree_output_close(struct tree_output *output, bool keep)
{
	struct task *task;
	enum staging_rest rest = STAGING_NOTHING;
	bool stays;

	if (!output)
		return false;
	if (keep && !output->committed && answers(output))
		rest = output->stored ? STAGING_ALL : STAGING_EARLIER_ATTEMPTS;
	if (rest == STAGING_ALL)
		store_rest(output);
	while ((task = tasks_drop(&output->tasks)))
		free_item(output, (struct item *)task);
	free_item(output, output->item);
	while (output->spare) {
		struct item *item = output->spare;

		output->spare = (struct item *)item->task.next;
		free(item);
	}
	release_file(output->file, false);
	while (output->depth > 0)
		close_level(output);
	release_folder(output->levels[0].folder);
	stays = staging_close(&output->staging, rest);
	present_end(&output->present);
	while (output->later) {
		struct later *later = output->later;

		output->later = later->next;
		memory_budget_return(later->taken, later->taken);
		free_extra(later->extra);
		free(later);
	}
	free(output->attributes);
	free_extra(output->extra);
	tasks_destroy(&output->tasks);
	tasks_return_memory(output->window);
	free(output);
	return stays;
}
