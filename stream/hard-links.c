/* See stream/hard-links.h. A search tree of device and inode numbers. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "host/memory-budget.h"
#include "stream/hard-links.h"

struct linked_file {
	dev_t device;
	ino_t number;
	char path[]; /* of its first name */
};

/* What tsearch(3) allocates for a file, roughly. */
#define NODE_SIZE 48

static int compare(const void *one, const void *other)
{
	const struct linked_file *a = one, *b = other;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->device < b->device ? -1 : a->device > b->device;
}

/* Enters a file, unless there is no memory for it. */
static void enter(struct hard_links *links, const struct linked_file *key, const char *path)
{
	size_t size = strlen(path) + 1;
	uint64_t memory = sizeof(*key) + size + NODE_SIZE;
	struct linked_file *file;
	struct failure failure;

	if (memory_budget_take(memory, &failure))
		return;
	file = malloc(sizeof(*file) + size);
	if (file) {
		*file = *key;
		memcpy(file->path, path, size);
	}
	if (!file || !tsearch(file, &links->files, compare)) {
		free(file);
		memory_budget_return(memory, 0);
		return;
	}
	memory_budget_filled(memory);
	links->taken += memory;
}

const char *hard_links_find(struct hard_links *links, dev_t device, ino_t number, const char *path)
{
	const struct linked_file key = {.device = device, .number = number};
	struct linked_file *const *found =
		(struct linked_file *const *)tfind(&key, &links->files, compare);

	if (found)
		return (*found)->path;
	enter(links, &key, path);
	return NULL;
}

void hard_links_forget(struct hard_links *links)
{
	tdestroy(links->files, free);
	memory_budget_return(links->taken, links->taken);
	*links = (struct hard_links){0};
}
