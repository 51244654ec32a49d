/* Lists an open folder, whose own descriptor stays where it is. Any thread. */
#ifndef STREAM_FOLDER_LIST_H
#define STREAM_FOLDER_LIST_H

#include <dirent.h>

/* Opens a list of its entries, or returns NULL with errno. The caller closes it. fdopendir(3). */
DIR *folder_list_open(int folder);

/* Returns the next entry other than "." and "..", or NULL. */
const struct dirent *folder_list_next(DIR *list);

#endif
