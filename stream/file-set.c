/* See stream/file-set.h. A search tree of device and inode numbers. */
#include <search.h>
#include <stddef.h>
#include <stdlib.h>

#include "host/memory-budget.h"
#include "stream/file-set.h"

struct member {
	dev_t device;
	ino_t number;
	max_align_t bytes[]; /* the caller's */
};

/* What tsearch(3) allocates for a file, roughly. */
#define NODE_SIZE 48

static int compare(const void *one, const void *other)
{
	const struct member *a = one, *b = other;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->device < b->device ? -1 : a->device > b->device;
}

void *file_set_find(const struct file_set *set, dev_t device, ino_t number)
{
	const struct member key = {.device = device, .number = number};
	struct member *const *found = (struct member *const *)tfind(&key, &set->files, compare);

	return found ? (*found)->bytes : NULL;
}

void *file_set_add(struct file_set *set, dev_t device, ino_t number, size_t size)
{
	uint64_t memory = sizeof(struct member) + size + NODE_SIZE;
	struct failure failure = {0};
	struct member *member;

	if (memory_budget_take(memory, &failure))
		return NULL;
	member = calloc(1, sizeof(*member) + size);
	if (member) {
		member->device = device;
		member->number = number;
	}
	if (!member || !tsearch(member, &set->files, compare)) {
		free(member);
		memory_budget_return(memory, 0);
		return NULL;
	}
	memory_budget_filled(memory);
	set->taken += memory;
	return member->bytes;
}

void file_set_clear(struct file_set *set)
{
	tdestroy(set->files, free);
	memory_budget_return(set->taken, set->taken);
	*set = (struct file_set){0};
}
