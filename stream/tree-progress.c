/* The shared state of a tree stream: see stream/tree-progress.h. The lock protects all of it. */
#include <stdio.h>
#include <string.h>

#include "stream/tree-progress.h"

void tree_progress_plan(struct tree_progress *progress, uint64_t total, uint64_t files)
{
	if (!progress)
		return;
	pthread_mutex_lock(&progress->lock);
	progress->state.total = total;
	progress->state.files = files;
	pthread_mutex_unlock(&progress->lock);
}

/* True if the file has a mark even if others follow. */
static bool is_kept(const struct tree_progress *progress, uint64_t file)
{
	return (file >> progress->shift) << progress->shift == file;
}

/* Makes room for a mark: halves how many files have one. */
static void forget_half(struct tree_progress *progress)
{
	unsigned int kept = 0;

	progress->shift++;
	for (unsigned int i = 0; i < progress->count; i++)
		if (is_kept(progress, progress->marks[i].file))
			progress->marks[kept++] = progress->marks[i];
	progress->count = kept;
}

void tree_progress_count(
	struct tree_progress *progress, const char *path, uint64_t size, uint64_t at)
{
	size_t length = strlen(path);
	const struct tree_mark *last;
	struct tree_mark mark = {.at = at};

	if (!progress)
		return;
	if (length >= PROGRESS_NAME_SIZE)
		path += length - PROGRESS_NAME_SIZE + 1;
	snprintf(mark.name, sizeof(mark.name), "%s", path);
	pthread_mutex_lock(&progress->lock);
	if (progress->count == 0)
		progress->shift = 0;
	last = progress->count > 0 ? &progress->marks[progress->count - 1] : NULL;
	mark.file = (last ? last->file : progress->state.file) + 1;
	mark.bytes = (last ? last->bytes : progress->state.bytes) + size;
	if (last && !is_kept(progress, last->file))
		progress->count--;
	else if (progress->count == TREE_MARKS)
		forget_half(progress);
	progress->marks[progress->count++] = mark;
	pthread_mutex_unlock(&progress->lock);
}

void tree_progress_keep(struct tree_progress *progress, const char *path, uint64_t at)
{
	if (!progress)
		return;
	pthread_mutex_lock(&progress->lock);
	progress->state.kept++;
	pthread_mutex_unlock(&progress->lock);
	tree_progress_count(progress, path, 0, at);
}

void tree_progress_withdraw(struct tree_progress *progress, uint64_t size)
{
	struct tree_mark *last;

	if (!progress)
		return;
	pthread_mutex_lock(&progress->lock);
	last = progress->count > 0 ? &progress->marks[progress->count - 1] : NULL;
	if (last) {
		last->file--;
		last->bytes -= size;
	} else {
		progress->state.file--;
		progress->state.bytes -= size;
	}
	pthread_mutex_unlock(&progress->lock);
}

/* Moves on to the last file that begins before this byte. */
static void move_on(struct tree_progress *progress, uint64_t moved)
{
	unsigned int passed = 0;

	while (passed < progress->count && progress->marks[passed].at < moved)
		passed++;
	if (passed == 0)
		return;
	progress->state.file = progress->marks[passed - 1].file;
	progress->state.bytes = progress->marks[passed - 1].bytes;
	memcpy(progress->state.name, progress->marks[passed - 1].name, PROGRESS_NAME_SIZE);
	progress->count -= passed;
	memmove(progress->marks, progress->marks + passed,
		progress->count * sizeof(progress->marks[0]));
}

struct tree_state tree_progress_state(struct tree_progress *progress, uint64_t moved)
{
	struct tree_state state;

	pthread_mutex_lock(&progress->lock);
	move_on(progress, moved);
	state = progress->state;
	pthread_mutex_unlock(&progress->lock);
	return state;
}
