/* Reads /proc/meminfo, and the files of each control group from the process's own to the top. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/available-memory.h"
#include "host/sysfs.h"

/* /proc/meminfo and memory.stat are below 4 KiB; what we need is in their first lines. */
#define TEXT_SIZE 8192

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

/*
 * Reads a limit: UINT64_MAX for "max", or if the group has no such file. Returns false if it cannot
 * be read.
 */
static bool read_limit(const char *root, const char *directory, const char *name, uint64_t *limit)
{
	char text[32], *end;
	int error = sysfs_text(root, text, sizeof(text), "%s/%s", directory, name);

	*limit = UINT64_MAX;
	if (error == -ENOENT || (error == 0 && strcmp(text, "max\n") == 0))
		return true;
	if (error || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*limit = strtoull(text, &end, 10);
	return errno == 0 && strcmp(end, "\n") == 0;
}

/* What one group leaves, UINT64_MAX if it has no limit. Returns false if it cannot be read. */
static bool read_group(
	const char *root, const char *directory, const struct names *names, uint64_t *left)
{
	uint64_t limit = UINT64_MAX, used, number;
	char text[TEXT_SIZE];

	*left = UINT64_MAX;
	for (size_t i = 0; i < 2; i++) {
		if (!names->limits[i])
			continue;
		if (!read_limit(root, directory, names->limits[i], &number))
			return false;
		if (number < limit)
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
	const char *root, const struct control_group *group, struct available_memory *available)
{
	const struct names *names = group->v1 ? &names_v1 : &names_v2;
	struct control_group each = *group;
	uint64_t left;

	*available = (struct available_memory){
		.bytes = available_on_host(root),
		.source = "this host",
		.unread = group->unknown,
	};
	if (group->unknown || !group->directory[0])
		return;
	do {
		if (!read_group(root, each.directory, names, &left)) {
			available->unread = true;
		} else if (left < available->bytes) {
			available->bytes = left;
			snprintf(available->source, sizeof(available->source), "control group %s",
				control_group_name(&each));
		}
	} while (control_group_up(&each));
}
