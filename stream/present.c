/* See stream/present.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "protocol/tree.h"
#include "stream/file-digest.h"
#include "stream/file-state.h"
#include "stream/present.h"
#include "stream/storage.h"
#include "stream/tree-path.h"

/* Bytes that take long to digest. */
#define LONG_DIGEST (UINT64_C(1) << 20)

/* Opens a file for reading. O_NONBLOCK: by now it may be a FIFO. Returns it, or -ENOENT. */
static int open_file(int folder, const char *name)
{
	int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (file < 0)
		return -ENOENT;
	return file;
}

/* A file that was answered, as it was then. */
struct answered {
	off_t size;
	struct timespec modified, changed;
	bool kept;
};

static struct answered *find(const struct present *present, const struct stat *status)
{
	return file_set_find(&present->answered, status->st_dev, status->st_ino);
}

/* Notes a file that is about to be answered. Returns false if it was before, or without memory. */
static bool enter(struct present *present, const struct stat *status)
{
	struct answered *file = NULL;

	if (!find(present, status))
		file = file_set_add(
			&present->answered, status->st_dev, status->st_ino, sizeof(*file));
	if (!file)
		return false;
	*file = (struct answered){
		.size = status->st_size, .modified = status->st_mtim, .changed = status->st_ctim};
	return true;
}

bool present_keep(struct present *present, const struct stat *status)
{
	struct answered *file = find(present, status);

	if (!file || file->kept || file->size != status->st_size ||
		!file_state_same_time(&file->modified, &status->st_mtim) ||
		!file_state_same_time(&file->changed, &status->st_ctim))
		return false;
	file->kept = true;
	return true;
}

bool present_is_kept(const struct present *present, const struct stat *status)
{
	const struct answered *file = find(present, status);

	return file && file->kept;
}

static void forget_folder(struct present *present)
{
	if (present->has_folder)
		close(present->folder);
	present->has_folder = false;
}

void present_end(struct present *present)
{
	file_set_clear(&present->answered);
	forget_folder(present);
}

/*
 * True if a file of an earlier attempt with this status may be answered to a question for a file
 * with as many names.
 */
static bool may_answer(struct present *present, const struct stat *status, bool linked)
{
	return status->st_nlink == 1 || (linked && enter(present, status));
}

/*
 * Opens what an interrupted attempt has of the file, and stores how much that is. The beginning of
 * a file with several names could not be continued: the others would change as well. Returns the
 * descriptor; -EBUSY if a file of this size cannot be answered; or -ENOENT.
 */
static int open_staged(struct present *present, const struct question *question, uint64_t *have)
{
	uint64_t size = question->size;
	char name[FILE_NAME_MAX + 1];
	struct stat status;
	int folder = staging_find(present->staging, question->path, name, &status), file = -ENOENT;
	off_t gap;

	if (folder < 0)
		return folder;
	*have = (uint64_t)status.st_size;
	if (*have > 0 && (*have == size ? may_answer(present, &status, question->linked)
					: *have < size && status.st_nlink == 1))
		file = open_file(folder, name);
	close(folder);
	/* It would be taken for what is answered instead. */
	if (file < 0 && *have == size)
		return -EBUSY;
	if (file < 0 || *have == size)
		return file;
	/* Several threads may have written it, with gaps at its end. */
	gap = lseek(file, *have > STORAGE_GAPS ? (off_t)(*have - STORAGE_GAPS) : 0, SEEK_HOLE);
	if (gap >= 0 && (uint64_t)gap < *have)
		*have = (uint64_t)gap;
	if (*have > 0)
		return file;
	close(file);
	return -ENOENT;
}

/* True if this process may change the permissions and times of the file. */
static bool is_ours(const struct present *present, const struct stat *status)
{
	return present->user == 0 || status->st_uid == present->user;
}

/*
 * Finds the folder of this path where the tree is stored, and the name in it. Returns a descriptor
 * that belongs to *present, or -errno.
 */
static int find_folder(struct present *present, const char *path, char name[FILE_NAME_MAX + 1])
{
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;

	if (length > 0 && present->has_folder && strncmp(present->folder_path, path, length) == 0 &&
		present->folder_path[length] == '\0') {
		size_t size = strlen(slash + 1);

		if (size > TREE_NAME_MAX || tree_check_name(slash + 1, size))
			return -EPROTO;
		memcpy(name, slash + 1, size + 1);
		return present->folder;
	}
	forget_folder(present);
	present->folder = tree_path_open(present->target, path, false, name);
	if (present->folder < 0)
		return present->folder;
	present->has_folder = true;
	memcpy(present->folder_path, path, length);
	present->folder_path[length] = '\0';
	return present->folder;
}

/* True if size and time tell that the file in its place is the sender's. Its owner may read it. */
static bool is_same_by_time(
	const struct present *present, const struct question *question, const struct stat *status)
{
	return present->by_time && question->by_time && (status->st_mode & S_IRUSR) &&
	       file_state_same_time(&status->st_mtim, &question->modified);
}

/*
 * Finds the file of this size that is in the place of the stream's. A file of another user could
 * not get the permissions and time of the stream's, and is replaced. Returns its descriptor;
 * -EALREADY if size and time suffice, so that it is not opened; or another -errno.
 */
static int find_stored(struct present *present, const struct question *question)
{
	off_t size = (off_t)question->size;
	char name[FILE_NAME_MAX + 1];
	struct stat status;
	int folder = find_folder(present, question->path, name), file = -ENOENT;

	if (folder < 0)
		return folder == -ELOOP ? -ENOTDIR : folder;
	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISDIR(status.st_mode))
			file = -EISDIR;
		else if (S_ISREG(status.st_mode) && status.st_size == size &&
			 (status.st_nlink == 1 || question->linked) && is_ours(present, &status))
			file = is_same_by_time(present, question, &status)
				       ? -EALREADY
				       : open_file(folder, name);
	}
	/* From here on, a change would be noticed. */
	if (file == -EALREADY)
		return enter(present, &status) ? file : -ENOENT;
	if (file < 0)
		return file;
	if (fstat(file, &status) || status.st_size != size || !enter(present, &status)) {
		close(file);
		return -ENOENT;
	}
	return file;
}

int present_flush(struct present *present)
{
	size_t size = present->unsent_size;

	present->unsent_size = 0;
	return size > 0 ? writer_write(present->writer, present->unsent, size) : 0;
}

static int send_answer(struct present *present, const struct tree_answer *answer)
{
	tree_answer_encode(answer, present->unsent + present->unsent_size);
	present->unsent_size += TREE_ANSWER_SIZE;
	return present->unsent_size == sizeof(present->unsent) ? present_flush(present) : 0;
}

/* Digests the first bytes of the file for the answer. Returns 0 or -errno. */
static int add_digest(struct present *present, int file, struct tree_answer *answer)
{
	/* The sender may wait for the others. */
	int error = answer->size >= LONG_DIGEST ? present_flush(present) : 0;

	return error ? error
		     : file_digest(present->keyed, file, answer->size, present->writer->stop_fd,
			       &answer->digest);
}

int present_answer(struct present *present, const struct question *question)
{
	struct tree_answer answer = {.number = present->number++, .size = question->size};
	int file = open_staged(present, question, &answer.size), error;

	if (file == -EBUSY)
		return 0;
	if (file < 0) {
		answer.size = question->size;
		file = present->target < 0 ? -ENOENT : find_stored(present, question);
	}
	answer.by_time = file == -EALREADY;
	if (answer.by_time)
		return send_answer(present, &answer);
	if (file == -ENOENT || file == -EACCES)
		return 0;
	if (file < 0)
		return file;
	error = add_digest(present, file, &answer);
	close(file);
	if (error)
		return error == -ECANCELED ? error : 0;
	return send_answer(present, &answer);
}
