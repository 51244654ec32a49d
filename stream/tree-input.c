/*
 * A tree input walks its paths one after another, twice: to sum up, and to send. Each entry that
 * the walk finds becomes a task: to find out its size, or to open and read it. The owner of the
 * tasks keeps a few of them ahead of the entry that it sends, so helpers can work on them side by
 * side. A file that is too large to be read ahead is only opened, and read when it is sent.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/memory-budget.h"
#include "protocol/attributes.h"
#include "protocol/little-endian.h"
#include "protocol/tree.h"
#include "stream/file-digest.h"
#include "stream/file-state.h"
#include "stream/hard-links.h"
#include "stream/holes.h"
#include "stream/storage.h"
#include "stream/tasks.h"
#include "stream/tree-input.h"
#include "stream/tree-walk.h"

/* One path to send. */
struct root {
	const char *path;
	char name[TREE_NAME_MAX + 1];
	size_t shown; /* offset of the base name in the path */
	bool is_folder;
};

/* An entry of the walk, and what a task finds out about it. */
struct entry {
	struct task task;
	enum walk_kind kind;
	struct walk_folder *folder; /* that contains it, or NULL */
	bool sums;                  /* finds out the size only */
	bool extended;              /* the peer understands all kinds of entries */
	uint64_t ahead;             /* reads files of up to this many bytes */
	const char *name;           /* in that folder */
	const char *sent;           /* the name in the stream */
	const char *path;           /* to be shown */

	int error; /* and its reason, or NULL; if omitted, only this entry is not sent: */
	const char *reason;
	bool omitted;
	struct tree_entry header;
	uint64_t storage;
	dev_t device; /* of a file, and its number there: */
	ino_t number;
	bool linked;                      /* it has several names */
	uint64_t length;                  /* of a file, with its holes */
	const struct tree_answer *answer; /* what the peer has of it, or NULL */
	const struct digester *keyed;     /* for that */
	struct asked_file asked;          /* how the file was when it was asked for */
	uint64_t there;                   /* bytes that the peer has */
	int stop_fd;                      /* ends long reads */
	int bad;           /* -errno: while it was sent, it could not be read to its end; 0 */
	uint8_t *contents; /* of a file that was read, or of a link; or NULL */
	const struct keeping *keeping; /* what is sent of its attributes, */
	struct attributes *attributes; /* and these, or NULL */
	int lost;                      /* -errno: they could not be read; 0 */
	int file;                      /* open, if its contents are not read yet; otherwise -1 */

	char texts[]; /* name, path */
};

/* What the first walk adds up. */
struct sums {
	uint64_t total, files, storage;
};

/* The beginning of the stream. */
enum beginning {
	SUMS_UP, /* and asks what the peer has, if it answers */
	AWAITS,  /* the answers */
	STARTED, /* the first entry was sent */
};

struct tree_input {
	unsigned int count, next; /* roots; the next one to walk */
	struct tree_walk *walk;
	const char **excluded; /* patterns, or NULL */
	struct tasks tasks;
	bool extended;           /* the peer understands all kinds of entries */
	struct hard_links links; /* of the current walk */
	unsigned int window;     /* tasks that are kept ahead */
	uint64_t ahead;          /* bytes of a file that each of them may read */
	enum beginning beginning;
	struct sums sums;
	struct answers *answers;              /* the caller's, or NULL: the peer does not answer */
	bool by_time;                         /* size and time are compared before data */
	const struct digester *keyed;         /* the caller's, or NULL */
	int stop_fd;                          /* the caller's, of the last read */
	bool flush, early;                    /* it is to end, or ended, before the next entry */
	struct keeping keeping;               /* what is sent of attributes */
	struct tree_progress *progress;       /* the caller's, or NULL */
	struct omitted *skipped, *unreadable; /* the same */

	bool walked; /* no further entry will be found: 0 or -errno */
	int walk_result;
	char walk_why[WORKER_WHY_SIZE];

	/* what is being sent */
	struct attributes *attributes; /* before what is pending, or NULL */
	size_t attributes_used;        /* bytes of them, and of their header before them */
	uint8_t pending[TREE_RUN_SIZE + TREE_HEADER_SIZE + TREE_NAME_MAX];
	size_t pending_size, pending_used;
	struct entry *entry; /* whose contents follow, or NULL */
	uint64_t used;       /* bytes of the contents so far; of a sparse file, with its holes */
	uint64_t run_left;   /* of a sparse file: bytes of the run */
	uint64_t produced;   /* bytes of the stream */

	struct root roots[];
};

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
		return tree_walk_refuse(why, base, strerror(ENAMETOOLONG), -ENAMETOOLONG);
	snprintf(root->name, sizeof(root->name), "%.*s", (int)length, base);
	if (tree_check_name(root->name, length) == 0)
		return 0;
	resolved = realpath(path, NULL);
	if (!resolved)
		return tree_walk_refuse(why, path, strerror(errno), -errno);
	base = strrchr(resolved, '/') + 1;
	snprintf(root->name, sizeof(root->name), "%s", base);
	free(resolved);
	return *root->name ? 0 : tree_walk_refuse(why, path, "it has no name to send", -EINVAL);
}

/* Checks that the root can be sent, and that its name is unused so far. */
static int check_root(const struct tree_input *input, struct root *root, char *why)
{
	struct stat status;

	if (stat(root->path, &status))
		return tree_walk_refuse(why, root->path + root->shown, strerror(errno), -errno);
	root->is_folder = S_ISDIR(status.st_mode);
	if (!S_ISREG(status.st_mode) && !root->is_folder)
		return tree_walk_refuse(why, root->path + root->shown,
			"only files and directories can be sent together", -EINVAL);
	if (access(root->path, R_OK | (root->is_folder ? X_OK : 0)))
		return tree_walk_refuse(why, root->path + root->shown, strerror(errno), -errno);
	for (const struct root *other = input->roots; other < root; other++)
		if (strcmp(other->name, root->name) == 0)
			return tree_walk_refuse(why, root->name,
				"two --input have this name, and would be stored as one", -EEXIST);
	return 0;
}

static void free_entry(struct entry *entry)
{
	if (!entry)
		return;
	if (entry->file >= 0)
		close(entry->file);
	walk_folder_release(entry->folder);
	free(entry->contents);
	free(entry->attributes);
	free(entry);
}

/* Fails the task. */
static void fail(struct entry *entry, int error, const char *reason)
{
	entry->error = error;
	entry->reason = reason;
}

/* Fails the task because of this entry alone: all others are sent. An input cannot be left out. */
static void leave_out(struct entry *entry, int error, const char *reason)
{
	fail(entry, error, reason);
	entry->omitted = entry->folder && tree_walk_may_go_on(error);
}

/* The folder that contains the entry, for system calls. */
static int folder_of(const struct entry *entry)
{
	return entry->folder ? entry->folder->descriptor : AT_FDCWD;
}

/* False if opening the file would fail. What everybody may read is not asked for. */
static bool may_read(const struct entry *entry, const struct stat *status)
{
	return !S_ISREG(status->st_mode) || (status->st_mode & 0444) == 0444 ||
	       faccessat(folder_of(entry), entry->name, R_OK, AT_EACCESS) == 0;
}

static const char changed[] = FILE_STATE_CHANGED;

/* Opens a file. O_NONBLOCK: by now it may be a FIFO. Only an input may be a symbolic link. */
static int open_entry(const struct entry *entry)
{
	return openat(folder_of(entry), entry->name,
		O_RDONLY | O_NONBLOCK | O_CLOEXEC | (entry->folder ? O_NOFOLLOW : 0));
}

/* Returns how many bytes the runs of a sparse file of this size take in the stream. */
static uint64_t size_of_runs(const struct entry *entry, uint64_t size)
{
	int file = open_entry(entry), error = file < 0;
	uint64_t at = 0, sum = 0;
	struct tree_run run;

	while (at < size && !error) {
		error = holes_find(file, at, size, &run);
		if (!error) {
			at += run.hole + run.data;
			sum += TREE_RUN_SIZE + run.data;
		}
	}
	if (file >= 0)
		close(file);
	/* Why it cannot be read is found out when it is sent. */
	return error ? size : sum;
}

/* Notes which file the entry is, if other entries may be the same one. */
static void identify(struct entry *entry, const struct stat *status)
{
	entry->device = status->st_dev;
	entry->number = status->st_ino;
	entry->linked = entry->extended && S_ISREG(status->st_mode) && status->st_nlink > 1;
}

/* Reads the attributes that are sent; file: -1 if the status is enough for them. */
static void read_attributes(struct entry *entry, int file, const struct stat *status)
{
	if (entry->keeping->kept)
		entry->lost = attributes_read(entry->keeping, file, status, &entry->attributes);
}

/* The same for a file that is not open, only to find out their size. */
static void sum_attributes(struct entry *entry, const struct stat *status)
{
	bool opens = S_ISREG(status->st_mode) && entry->keeping->kept & (KEPT_XATTRS | KEPT_ACLS);
	int file = opens ? open_entry(entry) : -1;

	read_attributes(entry, file, status);
	if (file >= 0)
		close(file);
}

/* Finds out the size of an entry in the stream, and the storage that it needs. */
static void sum_entry(struct entry *entry)
{
	struct stat status;

	if (fstatat(folder_of(entry), entry->name, &status,
		    entry->folder ? AT_SYMLINK_NOFOLLOW : 0))
		return leave_out(entry, -errno, NULL);
	if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
		return leave_out(entry, -EIO, changed);
	if (!may_read(entry, &status))
		return leave_out(entry, -EACCES, NULL);
	entry->header.size = (uint64_t)status.st_size;
	if (entry->extended && holes_likely(&status))
		entry->header.size = size_of_runs(entry, entry->header.size);
	entry->length = S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
	entry->asked.modified = status.st_mtim;
	entry->storage = S_ISREG(status.st_mode) ? storage_of(&status) : 0;
	identify(entry, &status);
	sum_attributes(entry, &status);
}

/* Fills in what the entry's status determines. */
static void describe(struct entry *entry, enum tree_kind kind, const struct stat *status)
{
	entry->header = (struct tree_entry){
		.kind = kind,
		.mode = status->st_mode & 0777,
		.seconds = status->st_mtim.tv_sec,
		.nanoseconds = (uint32_t)status->st_mtim.tv_nsec,
		.name_size = (uint8_t)strlen(entry->sent),
	};
}

static const char truncated[] = FILE_STATE_TRUNCATED;

/* The state of the file, as its header describes it. */
static struct file_state state_of(const struct entry *entry)
{
	return (struct file_state){.size = entry->header.size,
		.modified = {
			.tv_sec = entry->header.seconds, .tv_nsec = entry->header.nanoseconds}};
}

/* Waits until a change of the file would be seen. */
static void settle(const struct entry *entry)
{
	const struct file_state state = state_of(entry);

	file_state_settle(&state, entry->stop_fd);
}

/* True if the open file is not what it was when it was opened. */
static bool has_changed(const struct entry *entry)
{
	const struct file_state state = state_of(entry);

	return !file_state_lasts(&state, entry->file);
}

/* Reads all of an open file. Without memory, or if that fails, it is read when it is sent. */
static void read_ahead(struct entry *entry)
{
	uint64_t size = entry->header.size, have = 0;
	ssize_t got = 1;

	entry->contents = malloc(size);
	if (!entry->contents)
		return;
	settle(entry);
	while (have < size && got > 0) {
		got = read(entry->file, entry->contents + have, size - have);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			have += (uint64_t)got;
	}
	if (have == size && !has_changed(entry))
		return;
	free(entry->contents);
	entry->contents = NULL;
}

/* True if the first bytes of the open file, as many as were answered, have this digest. */
static bool has_digest(struct entry *entry, const struct digest *answered)
{
	struct digest digest;
	int error = file_digest(
		entry->keyed, entry->file, entry->answer->size, entry->stop_fd, &digest);

	if (error == -ECANCELED)
		fail(entry, error, NULL);
	return !error && digest_equal(&digest, answered);
}

/*
 * If the peer has the file or its first bytes, it is sent as such. Returns true if it has. Only the
 * part of an interrupted transfer can be continued, not a file that was whole when it was asked
 * for, and has grown.
 */
static bool is_there(struct entry *entry)
{
	const struct tree_answer *answer = entry->answer;
	const struct file_state state = state_of(entry);
	uint64_t size = state.size;
	bool whole = answer && answer->size == entry->asked.size;

	if (!answer || (whole ? answer->size != size : answer->size >= size))
		return false;
	if (answer->by_time ? !file_state_same_time(&state.modified, &entry->asked.modified)
			    : !has_digest(entry, &answer->digest))
		return false;
	entry->there = answer->size;
	entry->header.kind = whole ? TREE_KEPT : TREE_CONTINUED;
	return true;
}

/*
 * If the peer has the file by size and time, it need not be opened: returns true if it is still as
 * it was when it was asked for.
 */
static bool keep_unopened(struct entry *entry)
{
	struct stat status;

	if (!entry->answer || !entry->answer->by_time || !entry->folder ||
		fstatat(entry->folder->descriptor, entry->name, &status, AT_SYMLINK_NOFOLLOW) ||
		!S_ISREG(status.st_mode))
		return false;
	describe(entry, TREE_FILE, &status);
	entry->header.size = (uint64_t)status.st_size;
	identify(entry, &status);
	if (!is_there(entry))
		return false;
	sum_attributes(entry, &status);
	return true;
}

/* Opens the file. Its size is taken from the open file, because it may have changed. */
static void open_file(struct entry *entry)
{
	struct stat status;

	if (keep_unopened(entry))
		return;
	entry->file = open_entry(entry);
	if (entry->file < 0)
		return leave_out(entry, -errno, NULL);
	if (fstat(entry->file, &status) || !S_ISREG(status.st_mode))
		return leave_out(entry, -EIO, changed);
	describe(
		entry, entry->extended && holes_likely(&status) ? TREE_SPARSE : TREE_FILE, &status);
	entry->header.size = (uint64_t)status.st_size;
	identify(entry, &status);
	read_attributes(entry, entry->file, &status);
	if (!is_there(entry) && !entry->error && entry->header.kind == TREE_FILE &&
		entry->header.size > 0 && entry->header.size <= entry->ahead)
		read_ahead(entry);
	if (entry->header.size == 0 || entry->contents || entry->header.kind == TREE_KEPT) {
		close(entry->file);
		entry->file = -1;
	}
}

static void read_link(struct entry *entry)
{
	struct stat status;
	ssize_t length;

	entry->contents = malloc(TREE_LINK_MAX + 1);
	if (!entry->contents)
		return fail(entry, -ENOMEM, NULL);
	if (fstatat(folder_of(entry), entry->name, &status, AT_SYMLINK_NOFOLLOW))
		return leave_out(entry, -errno, NULL);
	length = readlinkat(
		folder_of(entry), entry->name, (char *)entry->contents, TREE_LINK_MAX + 1);
	if (length < 0)
		return leave_out(entry, -errno, NULL);
	if (length == 0 || length > TREE_LINK_MAX)
		return leave_out(entry, -ENAMETOOLONG, NULL);
	describe(entry, TREE_LINK, &status);
	entry->header.size = (uint64_t)length;
	read_attributes(entry, -1, &status);
}

/* The work of a task. */
static void work(struct task *task)
{
	struct entry *entry = (struct entry *)task;

	if (entry->sums)
		sum_entry(entry);
	else if (entry->kind == WALK_LINK)
		read_link(entry);
	else
		open_file(entry);
}

int tree_input_open(struct tree_input **result, const char *const paths[], unsigned int count,
	char why[WORKER_WHY_SIZE])
{
	struct tree_input *input = calloc(1, sizeof(*input) + count * sizeof(input->roots[0]));
	struct tree_walk *walk = tree_walk_new();
	int error = 0;

	if (!input || !walk) {
		free(input);
		tree_walk_free(walk);
		return tree_walk_refuse(why, paths[0], strerror(ENOMEM), -ENOMEM);
	}
	input->walk = walk;
	input->window = 1;
	input->stop_fd = -1;
	input->count = count;
	tasks_init(&input->tasks, work);
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

int tree_input_exclude(struct tree_input *input, const char *const patterns[], unsigned int count)
{
	input->excluded = calloc(count, sizeof(patterns[0]));
	if (!input->excluded)
		return -ENOMEM;
	memcpy(input->excluded, patterns, count * sizeof(patterns[0]));
	tree_walk_exclude(input->walk, input->excluded, count);
	return 0;
}

void tree_input_close(struct tree_input *input)
{
	struct task *task;

	if (!input)
		return;
	while ((task = tasks_drop(&input->tasks)))
		free_entry((struct entry *)task);
	free_entry(input->entry);
	tasks_destroy(&input->tasks);
	tree_walk_free(input->walk);
	hard_links_forget(&input->links);
	tasks_return_memory(input->window);
	free(input->excluded);
	free(input->attributes);
	free(input);
}

void tree_input_use_workers(struct tree_input *input, unsigned int workers)
{
	input->window = tasks_take_memory(workers);
	input->ahead = input->window > 1 ? TASKS_FILE_SIZE : 0;
}

void tree_input_help(struct tree_input *input)
{
	tasks_help(&input->tasks);
}

void tree_input_end(struct tree_input *input)
{
	tasks_end(&input->tasks);
}

void tree_input_ask(struct tree_input *input, struct answers *answers, bool by_time,
	const struct digester *keyed)
{
	input->answers = answers;
	input->by_time = by_time;
	input->keyed = keyed;
}

bool tree_input_awaits(const struct tree_input *input)
{
	return input->early;
}

void tree_input_extend(struct tree_input *input)
{
	input->extended = true;
}

void tree_input_keep(struct tree_input *input, const struct keeping *keeping)
{
	input->keeping = *keeping;
}

void tree_input_count_in(struct tree_input *input, struct tree_progress *progress)
{
	input->progress = progress;
}

void tree_input_list_omitted(
	struct tree_input *input, struct omitted *skipped, struct omitted *unreadable)
{
	input->skipped = skipped;
	input->unreadable = unreadable;
}

const char *tree_input_name(const struct tree_input *input)
{
	const struct root *root = input->roots, *last = root + input->count - 1;

	while (root < last && tree_walk_excludes(input->walk, root->name, root->is_folder))
		root++;
	return root->name;
}

static bool is_stopped(int stop_fd)
{
	struct pollfd stop = {.fd = stop_fd, .events = POLLIN};

	return poll(&stop, 1, 0) > 0;
}

/* Lists an entry that is not sent, once: the first walk only sums up. */
static void omit(const struct tree_input *input, struct omitted *omitted, const char *line)
{
	if (input->beginning == STARTED && omitted)
		omitted_add(omitted, line);
}

/* Lists an entry whose attributes are not sent. */
static void lose_attributes(const struct tree_input *input, const struct entry *entry)
{
	char line[WORKER_WHY_SIZE];

	if (!entry->lost)
		return;
	tree_walk_describe(line, "cannot keep the attributes of", entry->path,
		entry->lost == -E2BIG ? "they are larger than 128 KiB" : strerror(-entry->lost));
	omit(input, input->keeping.lost, line);
}

static void skip(const struct tree_input *input, const char *path)
{
	char line[WORKER_WHY_SIZE];

	tree_walk_describe(line, "skipped", path, "a FIFO, socket or device");
	omit(input, input->skipped, line);
}

/* Finds the next entry. Returns 1, 0 after the last one, or -errno. */
static int walk_on(struct tree_input *input, struct walked *found)
{
	int result;

	while (!(result = tree_walk_next(input->walk, found, input->walk_why))) {
		if (input->next == input->count)
			return 0;
		tree_walk_begin(input->walk, input->roots[input->next].path,
			input->roots[input->next].name);
		input->next++;
	}
	return result;
}

/* Makes a found entry a task. Returns NULL if there is no memory. */
static struct entry *new_entry(const struct tree_input *input, const struct walked *found)
{
	const char *name = found->name ? found->name : "";
	size_t name_size = strlen(name) + 1, path_size = strlen(found->path) + 1;
	struct entry *entry = calloc(1, sizeof(*entry) + name_size + path_size);

	if (!entry)
		return NULL;
	entry->kind = found->kind;
	entry->sums = input->beginning != STARTED;
	entry->extended = input->extended;
	entry->ahead = input->ahead;
	entry->keeping = &input->keeping;
	entry->file = -1;
	entry->stop_fd = input->stop_fd;
	entry->name = memcpy(entry->texts, name, name_size);
	entry->path = memcpy(entry->texts + name_size, found->path, path_size);
	entry->sent = found->is_root ? input->roots[input->next - 1].name : entry->name;
	if (input->answers && input->beginning == STARTED && found->kind == WALK_FILE) {
		entry->answer = answers_find(input->answers, entry->path, &entry->asked);
		entry->keyed = input->keyed;
	}
	if (found->kind == WALK_FOLDER) {
		describe(entry, TREE_FOLDER, &found->folder->status);
		read_attributes(entry, found->folder->descriptor, &found->folder->status);
	} else if (found->kind == WALK_LEAVE) {
		entry->header.kind = TREE_LEAVE;
	} else if (found->kind == WALK_CLOSED) {
		fail(entry, found->error, NULL);
	} else {
		entry->folder = walk_folder_use(found->folder);
	}
	entry->omitted = found->kind == WALK_CLOSED;
	return entry;
}

/* Adds tasks until there are enough of them, or the walk is over. */
static void look_ahead(struct tree_input *input)
{
	struct walked found;
	struct entry *entry;

	/* Many at a time, so that helpers are woken rarely. */
	if (tasks_count(&input->tasks) > input->window / 2)
		return;
	while (!input->walked && tasks_count(&input->tasks) < input->window) {
		input->walk_result = walk_on(input, &found);
		input->walked = input->walk_result <= 0;
		if (input->walked)
			return;
		if (found.kind == WALK_SPECIAL) {
			skip(input, found.path);
			continue;
		}
		entry = new_entry(input, &found);
		if (!entry) {
			input->walk_result = tree_walk_refuse(
				input->walk_why, found.path, strerror(ENOMEM), -ENOMEM);
			input->walked = true;
			return;
		}
		tasks_add(&input->tasks, &entry->task,
			found.kind != WALK_FILE && found.kind != WALK_LINK);
	}
}

/*
 * Takes the next entry that can be sent, once its task is done. Returns 1, 0 after the last one, or
 * -errno: of several failures, the first one in the order of the stream.
 */
static int take_entry(struct tree_input *input, struct entry **taken, char *why)
{
	struct entry *entry;
	bool omitted;
	int error;

	do {
		look_ahead(input);
		entry = (struct entry *)tasks_take(&input->tasks, true);
		if (!entry) {
			memcpy(why, input->walk_why, WORKER_WHY_SIZE);
			return input->walk_result;
		}
		if (!entry->error) {
			lose_attributes(input, entry);
			*taken = entry;
			return 1;
		}
		error = tree_walk_refuse(why, entry->path,
			entry->reason ? entry->reason : strerror(-entry->error), entry->error);
		omitted = entry->omitted;
		free_entry(entry);
		if (omitted)
			omit(input, input->unreadable, why);
	} while (omitted);
	return error;
}

/* Makes a file that was sent under another name a link to it. Longer paths may be truncated. */
static void link_again(struct tree_input *input, struct entry *entry)
{
	const char *first;
	char *target;

	if (!entry->linked || strlen(entry->path) >= TREE_LINK_MAX)
		return;
	first = hard_links_find(&input->links, entry->device, entry->number, entry->path);
	target = first ? strdup(first) : NULL;
	if (!target)
		return;
	free(entry->contents);
	entry->contents = (uint8_t *)target;
	if (entry->file >= 0)
		close(entry->file);
	entry->file = -1;
	entry->storage = 0;
	free(entry->attributes);
	entry->attributes = NULL;
	entry->header.kind = TREE_HARD_LINK;
	entry->header.size = strlen(target);
}

/* Adds up files, bytes and storage for the stream's first entry. */
static void add_entry(struct sums *sums, const struct entry *entry)
{
	sums->total += TREE_HEADER_SIZE + strlen(entry->sent) + entry->header.size;
	if (entry->attributes)
		sums->total += TREE_HEADER_SIZE + entry->attributes->size;
	sums->files += entry->kind == WALK_FILE || entry->kind == WALK_LINK;
	sums->storage += entry->storage;
}

/* Begins the second walk, which sends. */
static void walk_again(struct tree_input *input)
{
	input->next = 0;
	input->walked = false;
	hard_links_forget(&input->links);
}

/* What a link leads to, which the caller frees; NULL of another entry, or without memory. */
static char *target_of(const struct entry *entry)
{
	enum tree_kind kind = entry->header.kind;

	return kind == TREE_LINK || kind == TREE_HARD_LINK
		       ? strndup((const char *)entry->contents, entry->header.size)
		       : NULL;
}

int tree_input_list(struct tree_input *input,
	void (*list)(void *user, const struct tree_listed *listed), void *user,
	char why[WORKER_WHY_SIZE])
{
	struct entry *entry;
	int result;

	input->beginning = STARTED;
	while ((result = take_entry(input, &entry, why)) > 0) {
		char *target;

		link_again(input, entry);
		target = target_of(entry);
		if (entry->kind != WALK_LEAVE)
			list(user, &(struct tree_listed){.kind = entry->header.kind,
					   .path = entry->path,
					   .size = entry->header.size,
					   .target = target});
		free(target);
		free_entry(entry);
	}
	return result;
}

/* Makes a header and a name the next bytes of the stream. */
static void send_header(struct tree_input *input, const struct tree_entry *header, const char *name)
{
	tree_encode(header, input->pending);
	memcpy(input->pending + TREE_HEADER_SIZE, name, header->name_size);
	input->pending_size = TREE_HEADER_SIZE + header->name_size;
	input->pending_used = 0;
}

/* The same with the attributes of the entry before it. */
static void send_described(struct tree_input *input, struct entry *entry, const char *name)
{
	send_header(input, &entry->header, name);
	input->attributes = entry->attributes;
	input->attributes_used = 0;
	entry->attributes = NULL;
}

/* True if the entry's data is sent in runs. */
static bool has_runs(const struct entry *entry)
{
	return entry->header.kind == TREE_SPARSE || entry->header.kind == TREE_CONTINUED;
}

/* True if the entry is sent with its data. */
static bool is_file(const struct entry *entry)
{
	return entry->header.kind == TREE_FILE || has_runs(entry);
}

/* Prepares the first entry, which says what the stream consists of. */
static void send_start(struct tree_input *input)
{
	struct tree_entry start = {.kind = TREE_START, .mode = (uint16_t)input->keeping.kept};
	const struct sums *sums = &input->sums;
	uint64_t total = input->produced + TREE_HEADER_SIZE + sums->total;

	start.size = sums->storage;
	tree_start_count(&start, total, sums->files);
	tree_progress_plan(input->progress, total, sums->files);
	send_header(input, &start, "");
	walk_again(input);
	input->beginning = STARTED;
}

/*
 * Turns an entry into a question. Returns false if it is none: longer paths may be truncated, and
 * without memory for the answer, the file is sent without being asked for.
 */
static bool make_ask(struct tree_input *input, struct entry *entry)
{
	size_t size = strlen(entry->path);
	uint8_t *contents;

	if (entry->length == 0 || entry->header.kind == TREE_HARD_LINK || size >= TREE_LINK_MAX)
		return false;
	contents = malloc(TREE_ASK_SIZE + size);
	entry->asked.size = entry->length;
	entry->asked.storage = entry->storage;
	entry->asked.by_time = input->by_time;
	if (!contents || answers_ask(input->answers, entry->path, &entry->asked)) {
		free(contents);
		return false;
	}
	le_put64(contents, entry->length);
	memcpy(contents + TREE_ASK_SIZE, entry->path, size);
	entry->contents = contents;
	free(entry->attributes);
	entry->attributes = NULL;
	entry->header = (struct tree_entry){.kind = TREE_ASK,
		.mode = (entry->linked ? TREE_ASK_LINKED : 0) |
			(input->by_time ? TREE_ASK_BY_TIME : 0),
		.seconds = entry->asked.modified.tv_sec,
		.nanoseconds = (uint32_t)entry->asked.modified.tv_nsec,
		.size = TREE_ASK_SIZE + size};
	return true;
}

/*
 * Walks on, and sums up, until an entry becomes a question, if the peer answers. Returns 1; 0 at
 * the end of the walk; or -errno.
 */
static int sum_up(struct tree_input *input, int stop_fd, struct entry **question, char *why)
{
	int result;

	while ((result = take_entry(input, question, why)) > 0) {
		link_again(input, *question);
		add_entry(&input->sums, *question);
		if (input->answers && make_ask(input, *question))
			return 1;
		free_entry(*question);
		if (is_stopped(stop_fd))
			return -ECANCELED;
	}
	return result;
}

/* Prepares an entry under this name, whose contents follow. */
static void send_entry(struct tree_input *input, struct entry *entry, const char *name)
{
	send_described(input, entry, name);
	input->entry = entry;
	input->used = input->run_left = 0;
}

/* Waits for the answers; what the peer has is not sent. Returns 1 or -errno. */
static int await_answers(struct tree_input *input)
{
	struct sums *sums = &input->sums;
	uint64_t bytes, storage;
	int error = answers_await(input->answers);

	if (error)
		return error;
	answers_sum(input->answers, &bytes, &storage);
	sums->total -= bytes < sums->total ? bytes : sums->total;
	sums->storage -= storage < sums->storage ? storage : sums->storage;
	send_start(input);
	return 1;
}

/*
 * Prepares what precedes the entries of the second walk: questions and their end, if the peer
 * answers, and the start. Returns 1 or -errno.
 */
static int begin(struct tree_input *input, int stop_fd, char *why)
{
	struct entry *question;
	int result;

	if (input->beginning == AWAITS)
		return await_answers(input);
	result = sum_up(input, stop_fd, &question, why);
	if (result < 0)
		return result;
	if (result > 0) {
		send_entry(input, question, "");
	} else if (input->answers) {
		send_header(input, &(struct tree_entry){.kind = TREE_ASKED}, "");
		input->beginning = AWAITS;
	} else {
		send_start(input);
	}
	return 1;
}

/* Bytes of a file that are sent, with its holes. */
static uint64_t sent_size(const struct entry *entry)
{
	return is_file(entry) ? entry->header.size - entry->there : 0;
}

/* Counts a file or link that is about to be sent. */
static void count_entry(struct tree_input *input, const struct entry *entry)
{
	if (entry->header.kind == TREE_KEPT)
		tree_progress_keep(input->progress, entry->path, input->produced);
	else if (entry->kind == WALK_FILE || entry->kind == WALK_LINK)
		tree_progress_count(
			input->progress, entry->path, sent_size(entry), input->produced);
}

/* Prepares the next entry. Returns 1, 0 after the last one, or -errno. */
static int next_entry(struct tree_input *input, int stop_fd, char *why)
{
	struct entry *entry;
	int result;

	if (input->beginning != STARTED)
		return begin(input, stop_fd, why);
	result = take_entry(input, &entry, why);
	if (result <= 0)
		return result;
	link_again(input, entry);
	count_entry(input, entry);
	if (entry->header.kind != TREE_KEPT) {
		send_entry(input, entry, entry->sent);
		return 1;
	}
	send_described(input, entry, entry->sent);
	/* The next one may take as long to digest. */
	input->flush = entry->there >= TASKS_FILE_SIZE;
	free_entry(entry);
	return is_stopped(stop_fd) ? -ECANCELED : 1;
}

/* Why a file cannot be read to its end. */
static const char *reason_of(int error)
{
	return error == -ENODATA ? truncated : strerror(-error);
}

/* Withdraws the file that was sent, which is no state that it ever had. */
static void withdraw(struct tree_input *input, const struct entry *entry)
{
	const struct tree_entry header = {.kind = TREE_WITHDRAWN};
	char line[WORKER_WHY_SIZE];

	tree_walk_refuse(line, entry->path, entry->bad ? reason_of(entry->bad) : changed, 0);
	omit(input, input->unreadable, line);
	hard_links_withdraw(&input->links, entry->device, entry->number);
	tree_progress_withdraw(input->progress, sent_size(entry));
	if (input->pending_used == input->pending_size)
		input->pending_used = input->pending_size = 0;
	tree_encode(&header, input->pending + input->pending_size);
	input->pending_size += TREE_HEADER_SIZE;
}

/*
 * Frees the entry if all of its contents are sent. A file that was not read as a whole is
 * withdrawn. Returns 0; or, if the peer does not understand that, -EIO.
 */
static int end_contents(struct tree_input *input, char *why)
{
	struct entry *entry = input->entry;
	int error = 0;

	if (input->used < entry->header.size)
		return 0;
	if (is_file(entry) && entry->file >= 0 && (entry->bad || has_changed(entry))) {
		if (entry->extended)
			withdraw(input, entry);
		else
			error = tree_walk_refuse(why, entry->path, changed, -EIO);
	}
	free_entry(entry);
	input->entry = NULL;
	return error;
}

/*
 * If the rest of a file cannot be read, zeros are sent instead, and then it is withdrawn: all
 * others are sent. Returns 0 if that can be done; otherwise -errno, with the reason in `why`.
 */
static int give_up(struct tree_input *input, int error, char *why)
{
	struct entry *entry = input->entry;

	if (entry->extended && (error == -ENODATA || tree_walk_may_go_on(error))) {
		entry->bad = error;
		return 0;
	}
	return tree_walk_refuse(
		why, entry->path, reason_of(error), error == -ENODATA ? -EIO : error);
}

/* How many zeros of a hole where a file continues are sent as data, at most. */
#define CONTINUED_ZEROS 4096

/* Makes the header of the next run of a sparse file the next bytes. Returns 0 or -errno. */
static int start_run(struct tree_input *input, char *why)
{
	const struct entry *entry = input->entry;
	bool continues = input->used == 0 && entry->there > 0;
	uint64_t from = continues ? entry->there : input->used;
	struct tree_run run;
	int error, given_up;

	if (input->used == 0)
		settle(entry);
	error = holes_find(entry->file, from, entry->header.size, &run);
	given_up = error ? give_up(input, error, why) : 0;
	if (given_up)
		return given_up;
	if (error)
		run = (struct tree_run){.hole = entry->header.size - from};
	/* What precedes the first data is exactly what the peer has. */
	if (continues && run.hole > 0)
		run.data = run.hole < CONTINUED_ZEROS ? run.hole : CONTINUED_ZEROS;
	if (continues)
		run.hole = entry->there;
	tree_run_encode(&run, input->pending);
	input->pending_size = TREE_RUN_SIZE;
	input->pending_used = 0;
	input->used += run.hole;
	input->run_left = run.data;
	return end_contents(input, why);
}

/* Reads the next bytes of the entry's file. Returns their number or -errno. */
static ssize_t read_file(struct tree_input *input, void *buffer, size_t size, char *why)
{
	struct entry *entry = input->entry;
	ssize_t got;
	int error;

	if (input->used == 0)
		settle(entry);
	got = pread(entry->file, buffer, size, (off_t)input->used);
	if (got > 0 || (got < 0 && errno == EINTR))
		return got < 0 ? -EINTR : got;
	error = give_up(input, got < 0 ? -errno : -ENODATA, why);
	if (error)
		return error;
	memset(buffer, 0, size);
	return (ssize_t)size;
}

/* Sends the next bytes of an entry's contents, and frees it after the last one. */
static ssize_t send_contents(struct tree_input *input, void *buffer, size_t size, char *why)
{
	struct entry *entry = input->entry;
	bool sparse = has_runs(entry);
	uint64_t left = sparse ? input->run_left : entry->header.size - input->used;
	ssize_t got = size < left ? (ssize_t)size : (ssize_t)left;
	int error;

	if (sparse && left == 0)
		return start_run(input, why);
	if (entry->contents)
		memcpy(buffer, entry->contents + input->used, (size_t)got);
	else if (left > 0)
		got = read_file(input, buffer, (size_t)got, why);
	if (got < 0)
		return got == -EINTR ? 0 : got;
	input->used += (uint64_t)got;
	input->run_left -= sparse ? (uint64_t)got : 0;
	error = end_contents(input, why);
	return error ? error : got;
}

/* Takes the next bytes of the attributes, with their header. */
static size_t take_attributes(struct tree_input *input, uint8_t *buffer, size_t size)
{
	const struct attributes *attributes = input->attributes;
	const struct tree_entry entry = {.kind = TREE_ATTRIBUTES, .size = attributes->size};
	uint8_t header[TREE_HEADER_SIZE];
	size_t at = input->attributes_used, end = TREE_HEADER_SIZE;
	const uint8_t *from = header + at;

	if (at < TREE_HEADER_SIZE) {
		tree_encode(&entry, header);
	} else {
		from = attributes->bytes + (at - TREE_HEADER_SIZE);
		end += attributes->size;
	}
	if (size > end - at)
		size = end - at;
	memcpy(buffer, from, size);
	input->attributes_used += size;
	if (input->attributes_used < TREE_HEADER_SIZE + attributes->size)
		return size;
	free(input->attributes);
	input->attributes = NULL;
	return size;
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

	input->stop_fd = stop_fd;
	input->early = input->flush = false;
	while (used < size && got > 0) {
		size_t before = used;

		if (input->attributes) {
			used += take_attributes(input, bytes + used, size - used);
		} else if (input->pending_used < input->pending_size) {
			used += take_pending(input, bytes + used, size - used);
		} else if (input->entry) {
			got = send_contents(input, bytes + used, size - used, why);
			used += got > 0 ? (size_t)got : 0;
			got = got < 0 ? got : 1;
		} else if (used > 0 && (input->beginning == AWAITS || input->flush)) {
			input->early = true;
			break;
		} else {
			got = next_entry(input, stop_fd, why);
		}
		input->produced += used - before;
	}
	return got < 0 ? got : (ssize_t)used;
}
