/*
 * Gives verified data its final name: a hidden file or folder becomes visible under it. Any thread.
 */
#ifndef STREAM_FINAL_NAME_H
#define STREAM_FINAL_NAME_H

#include <stdbool.h>

/*
 * Checks that the name in the directory is available: unused or, with force, that of a regular file
 * or a symbolic link. Returns 0, or -errno with a hint, which may be "", to be printed after the
 * error.
 */
int final_name_check(int directory, const char *name, bool force, const char **hint);

/* Returns the hint for the error of final_name_take(). */
const char *final_name_hint(int error);

/*
 * Moves a file or folder to the name in the directory, which must be on the same file system. A
 * file replaces another one only with force; a folder replaces nothing. Uses a method that the file
 * system supports. Returns 0 or -errno: -EEXIST... renameat2(2).
 */
int final_name_take(int from, const char *hidden, int directory, const char *name, bool force);

#endif
