/*
 * Reads rdma.max of each control group from the process's own up to the root. Version 2 has one
 * hierarchy; in version 1, the rdma controller has its own. Nothing is kept between calls.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "host/control-group.h"
#include "host/sysfs.h"

/* Where the hierarchies are mounted, and the controllers in their lines of /proc/self/cgroup. */
static const struct {
	const char *mount, *controllers;
} hierarchies[] = {
	{"/sys/fs/cgroup", ""},
	{"/sys/fs/cgroup/unified", ""},
	{"/sys/fs/cgroup/rdma", "rdma"},
};

/*
 * Finds the path of the process's group in the hierarchy with these controllers, in the text of
 * /proc/self/cgroup: lines "NUMBER:CONTROLLERS:PATH". Returns false if there is none.
 */
static bool find_group(const char *text, const char *controllers, char path[PATH_MAX])
{
	char found[64], line[PATH_MAX];

	for (const char *next = text; *next; next += strcspn(next, "\n"), next += *next == '\n') {
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(next, "\n"), next);
		*found = '\0';
		if ((sscanf(line, "%*u:%63[^:]:%4095s", found, path) == 2 ||
			    sscanf(line, "%*u::%4095s", path) == 1) &&
			strcmp(found, controllers) == 0)
			return true;
	}
	return false;
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
static bool find_limit(const char *root, const char *mount, const char *group, const char *device,
	char *text, size_t size)
{
	char lines[4096], *rest = lines, *line;

	if (sysfs_text(root, lines, sizeof(lines), "%s%s/rdma.max", mount, group))
		return false;
	while ((line = strsep(&rest, "\n")))
		if (is_limited(line, device)) {
			for (size_t end = strlen(line); end && line[end - 1] == ' '; end--)
				line[end - 1] = '\0';
			snprintf(text, size, "control group %s, rdma.max: %s", *group ? group : "/",
				line);
			text_printable(text);
			return true;
		}
	return false;
}

bool control_group_limits(const char *root, const char *device, char *text, size_t size)
{
	char groups[4096], path[PATH_MAX], *end;

	*text = '\0';
	if (sysfs_text(root, groups, sizeof(groups), "/proc/self/cgroup"))
		return false;
	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]); i++) {
		if (!find_group(groups, hierarchies[i].controllers, path))
			continue;
		if (strcmp(path, "/") == 0)
			*path = '\0';
		for (;;) {
			if (find_limit(root, hierarchies[i].mount, path, device, text, size))
				return true;
			end = strrchr(path, '/');
			if (!end)
				break;
			*end = '\0';
		}
	}
	return false;
}
