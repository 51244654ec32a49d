/*
 * Finds control groups in /proc/self/cgroup and in the list of mounts, and reads rdma.max and
 * pids.max of each group from the process's own to the top.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "host/control-group.h"
#include "host/sysfs.h"

/* /proc/self/cgroup has a short line for each controller. */
#define TEXT_SIZE 8192

/* Longest path in /proc/self/cgroup, and in the list of mounts, that is understood. */
#define PATH_SIZE 256

/* True if a list that is separated by commas contains this word. */
static bool lists(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *found = list; (found = strstr(found, word)); found += length)
		if ((found == list || found[-1] == ',') && strchr(",\n", found[length]))
			return true;
	return false;
}

/*
 * Finds the path of the group in /proc/self/cgroup. A system that uses version 1 for this
 * controller may also have a line of version 2. Returns false if there is neither.
 */
static bool find_path(const char *text, const char *controller, bool *v1, char path[PATH_SIZE])
{
	char controllers[PATH_SIZE], its_path[PATH_SIZE];
	bool found = false;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (sscanf(line, "%*u:%255[^:\n]:%255[^\n]", controllers, its_path) == 2 &&
			lists(controllers, controller)) {
			snprintf(path, PATH_SIZE, "%s", its_path);
			return *v1 = true;
		}
		found |= sscanf(line, "0::%255[^\n]", path) == 1;
	}
	return found;
}

/* Returns the part of the path below this group, or NULL if it is not the path of one in it. */
static const char *below(const char *path, const char *group)
{
	size_t length = strcmp(group, "/") == 0 ? 0 : strlen(group);

	if (strncmp(path, group, length) != 0 || (path[length] && path[length] != '/'))
		return NULL;
	return path + length;
}

/*
 * Finds where the hierarchy is mounted, and which of its groups is the topmost that is visible
 * there: in a container, it may be the container's own. Of several mounts, it is the first that
 * shows the group with this path, or else the first one.
 */
static bool find_mount(const char *root, const char *controller, bool v1, const char *group,
	char visible[PATH_SIZE], char point[PATH_SIZE])
{
	char each[PATH_SIZE], its_point[PATH_SIZE];
	char path[PATH_SIZE], type[16], options[PATH_SIZE], *line = NULL;
	size_t size = 0;
	bool found = false, shows = false;
	FILE *mounts;

	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
	mounts = fopen(path, "re");
	while (mounts && !shows && getline(&line, &size, mounts) > 0) {
		const char *separator = strstr(line, " - ");

		if (!separator || sscanf(line, "%*u %*u %*s %255s %255s", each, its_point) != 2 ||
			sscanf(separator, " - %15s %*s %255s", type, options) != 2 ||
			(v1 ? strcmp(type, "cgroup") != 0 || !lists(options, controller)
			    : strcmp(type, "cgroup2") != 0))
			continue;
		shows = below(group, each);
		if (found && !shows)
			continue;
		found = true;
		snprintf(visible, PATH_SIZE, "%s", each);
		snprintf(point, PATH_SIZE, "%s", its_point);
	}
	free(line);
	if (mounts)
		fclose(mounts);
	return found;
}

void control_group_find(const char *root, const char *controller, struct control_group *group)
{
	char text[TEXT_SIZE], path[PATH_SIZE], visible[PATH_SIZE], point[PATH_SIZE];
	const char *rest;
	int error;

	*group = (struct control_group){0};
	error = sysfs_text(root, text, sizeof(text), "/proc/self/cgroup");
	group->unknown = error && error != -ENOENT;
	if (error || !find_path(text, controller, &group->v1, path))
		return;
	/*
	 * A cgroup namespace that was entered after the mount hides where its groups are in it. A
	 * path that was cut is not that of the group.
	 */
	group->unknown = !find_mount(root, controller, group->v1, path, visible, point) ||
			 strncmp(visible, "/..", 3) == 0 || strlen(path) == PATH_SIZE - 1 ||
			 strlen(visible) == PATH_SIZE - 1 || strlen(point) == PATH_SIZE - 1;
	if (group->unknown)
		return;
	/* Without a cgroup namespace, the path begins with that of the visible group. */
	rest = below(path, visible);
	if (!rest)
		rest = path;
	if (strcmp(rest, "/") == 0 || strstr(rest, "/../") || strcmp(rest, "/..") == 0)
		rest = "";
	group->top =
		(unsigned int)snprintf(group->directory, sizeof(group->directory), "%s", point);
	snprintf(group->directory + group->top, sizeof(group->directory) - group->top, "%s", rest);
	group->unknown = sysfs_access(root, "%s", group->directory) == SYSFS_MISSING;
}

bool control_group_up(struct control_group *group)
{
	if (!group->directory[group->top])
		return false;
	*strrchr(group->directory, '/') = '\0';
	return true;
}

const char *control_group_name(const struct control_group *group)
{
	return group->directory[group->top] ? group->directory + group->top : "/";
}

/* True if a value of the line "DEVICE hca_handle=N hca_object=max" is a number. */
static bool is_limited(const char *line, const char *device)
{
	size_t length = strcspn(line, " ");
	const char *value = line;

	if (device && (strlen(device) != length || strncmp(line, device, length) != 0))
		return false;
	while ((value = strchr(value, '=')))
		if (*++value >= '0' && *value <= '9')
			return true;
	return false;
}

/* Writes the group's limit of the device. Returns false if it has none. */
static bool find_limit(const char *root, const struct control_group *group, const char *device,
	char *text, size_t size)
{
	char lines[TEXT_SIZE], *rest = lines, *line;

	if (sysfs_text(root, lines, sizeof(lines), "%s/rdma.max", group->directory))
		return false;
	while ((line = strsep(&rest, "\n")))
		if (is_limited(line, device)) {
			for (size_t end = strlen(line); end && line[end - 1] == ' '; end--)
				line[end - 1] = '\0';
			snprintf(text, size, "control group %s, rdma.max: %s",
				control_group_name(group), line);
			text_printable(text);
			return true;
		}
	return false;
}

bool control_group_limits(const char *root, const char *device, char *text, size_t size)
{
	struct control_group group;

	*text = '\0';
	control_group_find(root, "rdma", &group);
	if (group.unknown || !group.directory[0])
		return false;
	do {
		if (find_limit(root, &group, device, text, size))
			return true;
	} while (control_group_up(&group));
	return false;
}

bool control_group_is_unseen(const char *root)
{
	struct control_group group;

	control_group_find(root, "rdma", &group);
	if (group.unknown)
		return true;
	/* The topmost group of the system has no type; that which a container sees has one. */
	group.directory[group.top] = '\0';
	return sysfs_access(root, "%s/cgroup.type", group.directory) != SYSFS_MISSING;
}

bool control_group_is_full(const char *root, char *text, size_t size)
{
	struct control_group group;
	uint64_t most, now;

	*text = '\0';
	control_group_find(root, "pids", &group);
	if (group.unknown || !group.directory[0])
		return false;
	do {
		/* "max", which is no number, means no limit; the topmost group has none. */
		if (sysfs_number(root, &most, "%s/pids.max", group.directory) == 0 &&
			sysfs_number(root, &now, "%s/pids.current", group.directory) == 0 &&
			now >= most) {
			snprintf(text, size, "control group %s, pids.max: %" PRIu64,
				control_group_name(&group), most);
			text_printable(text);
			return true;
		}
	} while (control_group_up(&group));
	return false;
}
