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

/* Forgets every second mark, but not the last. */
static void forget_half(struct tree_progress *progress)
{
	for (unsigned int i = 0; i < TREE_MARKS / 2; i++)
		progress->marks[i] = progress->marks[2 * i + 1];
	progress->count = TREE_MARKS / 2;
}

void tree_progress_count(
	struct tree_progress *progress, const char *path, uint64_t size, uint64_t at)
{
	size_t length = strlen(path);
	const struct tree_mark *last;
	struct tree_mark *mark;

	if (!progress)
		return;
	if (length >= PROGRESS_NAME_SIZE)
		path += length - PROGRESS_NAME_SIZE + 1;
	pthread_mutex_lock(&progress->lock);
	if (progress->count == TREE_MARKS)
		forget_half(progress);
	mark = &progress->marks[progress->count++];
	last = progress->count > 1 ? mark - 1 : NULL;
	mark->file = (last ? last->file : progress->state.file) + 1;
	mark->bytes = (last ? last->bytes : progress->state.bytes) + size;
	mark->at = at;
	snprintf(mark->name, sizeof(mark->name), "%s", path);
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
