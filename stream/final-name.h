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

/* What to print instead after EISDIR if the name is that of a directory of a tree. */
#define FINAL_NAME_MERGES " (with --update at the receiver, directories are merged)"

/* Returns the hint for the error of final_name_take(). */
const char *final_name_hint(int error);

/* Size of the text of final_name_collision(), and the bytes of the other name that it shows. */
enum { FINAL_NAME_SHOWN = 60, FINAL_NAME_COLLISION_SIZE = 4 * FINAL_NAME_SHOWN + 100 };

/*
 * If the name is that of an entry which is spelled differently, as on a file system that ignores
 * case, writes this to be printed after the error; otherwise "". Lists the directory.
 */
void final_name_collision(int directory, const char *name, char text[FINAL_NAME_COLLISION_SIZE]);

/*
 * Moves a file or folder to the name in the directory, which must be on the same file system. A
 * file replaces another one only with force; a folder replaces nothing, and may be one that its
 * owner cannot write to. Uses a method that the file
 * system supports. Returns 0 or -errno: -EEXIST... renameat2(2).
 */
int final_name_take(int from, const char *hidden, int directory, const char *name, bool force);

#endif
