/*
 * Paths of a tree stream (protocol/tree.h), which the peer chose: components that are names of
 * entries. They are followed one component at a time, and never through a symbolic link, so they
 * lead to no place outside the folder where they begin. Any thread.
 */
#ifndef STREAM_TREE_PATH_H
#define STREAM_TREE_PATH_H

#include <stdbool.h>
#include <sys/stat.h>

#include "stream/file-name.h"

/*
 * Opens (O_PATH) the folder in which the last component of the path is, and stores the name of
 * that. `ours`: only this program changes what is in the folder, and it needs to write in there, so
 * permissions on the way are changed if they forbid that. Returns the descriptor, which the caller
 * closes; -EPROTO if the path is none of a stream; or another -errno: -ENOENT, -ENOTDIR, -ELOOP...
 */
int tree_path_open(int folder, const char *path, bool ours, char name[FILE_NAME_MAX + 1]);

/*
 * The same for a path that leads to a regular file, whose status it stores; -ENOENT if it leads to
 * something else.
 */
int tree_path_open_file(
	int folder, const char *path, bool ours, char name[FILE_NAME_MAX + 1], struct stat *status);

#endif
