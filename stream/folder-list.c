/* See stream/folder-list.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "stream/folder-list.h"

DIR *folder_list_open(int folder)
{
	int listed = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = listed < 0 ? NULL : fdopendir(listed);
	int error = errno;

	if (!list && listed >= 0)
		close(listed);
	errno = error;
	return list;
}

const struct dirent *folder_list_next(DIR *list)
{
	const struct dirent *entry;

	do
		entry = readdir(list);
	while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	return entry;
}
