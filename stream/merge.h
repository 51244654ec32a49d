/*
 * Moves a folder's contents into another folder of the same file system, some of whose entries may
 * exist: folders are merged, everything else is replaced, each by one rename(2), and nothing is
 * removed. Symbolic links are not followed. Any thread.
 */
#ifndef STREAM_MERGE_H
#define STREAM_MERGE_H

#include <limits.h>

#include "stream/attributes.h"

/*
 * Merges everything from one open folder into another. Returns 0, or -errno with the path of the
 * entry below the folder: -ENOTDIR or -EISDIR if one is a folder and the other is not. What was
 * moved until then stays. Attributes of folders are kept like this; NULL: none are.
 */
int merge_folders(int from, int to, char path[PATH_MAX], const struct keeping *keeping);

#endif
