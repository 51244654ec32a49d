/* Reads /proc/meminfo, and the files of each control group from the process's own to the top. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/available-memory.h"
#include "host/sysfs.h"

/* /proc/meminfo and memory.stat are below 4 KiB; what we need is in their first lines. */
#define TEXT_SIZE 8192

/* Longest path in /proc/self/cgroup, and in the list of mounts, that is understood. */
#define PATH_SIZE 256

/* The files of a group: the two versions name them differently. */
struct names {
	const char *limits[2]; /* in bytes; "max" or a missing file: no limit. NULL: none */
	const char *used;
	const char *reclaimable[2]; /* fields of memory.stat: the page cache, which makes room */
};

static const struct names names_v1 = {
	{"memory.limit_in_bytes", NULL},
	"memory.usage_in_bytes",
	{"total_inactive_file ", "total_active_file "},
};

/* Above memory.high, the kernel slows the group down until it cannot go on with pinned memory. */
static const struct names names_v2 = {
	{"memory.max", "memory.high"},
	"memory.current",
	{"inactive_file ", "active_file "},
};

/* True if a list that is separated by commas contains "memory". */
static bool lists_memory(const char *list)
{
	static const char word[] = "memory";
	const char *found = strstr(list, word);

	return found && (found == list || found[-1] == ',') && !isalnum(found[strlen(word)]) &&
	       found[strlen(word)] != '_';
}

/*
 * Finds the path of the group for memory in /proc/self/cgroup. A system that uses version 1 for
 * memory may also have a line of version 2. Returns false if there is neither.
 */
static bool find_path(const char *text, bool *v1, char path[PATH_SIZE])
{
	char controllers[PATH_SIZE], its_path[PATH_SIZE];
	bool found = false;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (sscanf(line, "%*u:%255[^:\n]:%255[^\n]", controllers, its_path) == 2 &&
			lists_memory(controllers)) {
			strcpy(path, its_path);
			return *v1 = true;
		}
		found |= sscanf(line, "0::%255[^\n]", path) == 1;
	}
	return found;
}

/*
 * Finds where the hierarchy is mounted, and which of its groups is the topmost that is visible
 * there: in a container, it may be the container's own.
 */
static bool find_mount(const char *root, bool v1, char visible[PATH_SIZE], char point[PATH_SIZE])
{
	char path[PATH_SIZE], type[16], options[PATH_SIZE], *line = NULL;
	size_t size = 0;
	bool found = false;
	FILE *mounts;

	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
	mounts = fopen(path, "re");
	while (mounts && !found && getline(&line, &size, mounts) > 0) {
		const char *separator = strstr(line, " - ");

		found = separator && sscanf(line, "%*u %*u %*s %255s %255s", visible, point) == 2 &&
			sscanf(separator, " - %15s %*s %255s", type, options) == 2 &&
			(v1 ? strcmp(type, "cgroup") == 0 && lists_memory(options)
			    : strcmp(type, "cgroup2") == 0);
	}
	free(line);
	if (mounts)
		fclose(mounts);
	return found;
}

void memory_group_find(const char *root, struct memory_group *group)
{
	char text[TEXT_SIZE], path[PATH_SIZE], visible[PATH_SIZE], point[PATH_SIZE];
	const char *below = path;
	size_t length;

	*group = (struct memory_group){0};
	if (sysfs_text(root, text, sizeof(text), "/proc/self/cgroup") ||
		!find_path(text, &group->v1, path))
		return;
	group->unknown = !find_mount(root, group->v1, visible, point);
	if (group->unknown)
		return;
	/* Without a cgroup namespace, the path begins with that of the visible group. */
	length = strlen(visible);
	if (length > 1 && strncmp(path, visible, length) == 0)
		below = path + length;
	if (strcmp(below, "/") == 0 || strstr(below, "/.."))
		below = "";
	group->top =
		(unsigned int)snprintf(group->directory, sizeof(group->directory), "%s", point);
	snprintf(group->directory + group->top, sizeof(group->directory) - group->top, "%s", below);
	group->unknown = sysfs_access(root, "%s", group->directory) == SYSFS_MISSING;
}

/* The number that follows this field of a text with a field per line, or 0. */
static uint64_t field(const char *text, const char *name)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, strlen(name)) == 0)
			return strtoull(line + strlen(name), NULL, 10);
	}
	return 0;
}

/* The host's own number. */
static uint64_t available_on_host(const char *root)
{
	char text[TEXT_SIZE];

	if (sysfs_text(root, text, sizeof(text), "/proc/meminfo") || !strstr(text, "MemAvailable:"))
		return UINT64_MAX;
	return field(text, "MemAvailable:") * 1024;
}

/* What one group leaves, UINT64_MAX if it has no limit. Returns false if it cannot be read. */
static bool read_group(
	const char *root, const char *directory, const struct names *names, uint64_t *left)
{
	uint64_t limit = UINT64_MAX, used, number;
	char text[TEXT_SIZE];

	*left = UINT64_MAX;
	for (size_t i = 0; i < 2; i++) {
		int error = names->limits[i] ? sysfs_number(root, &number, "%s/%s", directory,
						       names->limits[i])
					     : -ENOENT;

		if (error == -EACCES || error == -EPERM)
			return false;
		if (error == 0 && number < limit)
			limit = number;
	}
	if (limit == UINT64_MAX)
		return true;
	if (sysfs_number(root, &used, "%s/%s", directory, names->used) ||
		sysfs_text(root, text, sizeof(text), "%s/memory.stat", directory))
		return false;
	for (size_t i = 0; i < 2; i++) {
		number = field(text, names->reclaimable[i]);
		used = used > number ? used - number : 0;
	}
	*left = limit > used ? limit - used : 0;
	return true;
}

void available_memory_read(
	const char *root, const struct memory_group *group, struct available_memory *available)
{
	const struct names *names = group->v1 ? &names_v1 : &names_v2;
	char directory[sizeof(group->directory)];
	uint64_t left;

	*available = (struct available_memory){
		.bytes = available_on_host(root),
		.source = "this host",
		.unread = group->unknown,
	};
	if (group->unknown || !group->directory[0])
		return;
	snprintf(directory, sizeof(directory), "%s", group->directory);
	for (;;) {
		if (!read_group(root, directory, names, &left)) {
			available->unread = true;
		} else if (left < available->bytes) {
			available->bytes = left;
			snprintf(available->source, sizeof(available->source), "control group %s",
				directory[group->top] ? directory + group->top : "/");
		}
		if (!directory[group->top])
			return;
		*strrchr(directory, '/') = '\0';
	}
}
