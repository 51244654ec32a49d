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

void tree_progress_count(struct tree_progress *progress, const char *path, uint64_t size)
{
	size_t length = strlen(path);

	if (!progress)
		return;
	if (length >= PROGRESS_NAME_SIZE)
		path += length - PROGRESS_NAME_SIZE + 1;
	pthread_mutex_lock(&progress->lock);
	progress->state.file++;
	progress->state.bytes += size;
	snprintf(progress->state.name, sizeof(progress->state.name), "%s", path);
	pthread_mutex_unlock(&progress->lock);
}

struct tree_state tree_progress_state(struct tree_progress *progress)
{
	struct tree_state state;

	pthread_mutex_lock(&progress->lock);
	state = progress->state;
	pthread_mutex_unlock(&progress->lock);
	return state;
}
