/*
 * Hidden files and folders, ".NAME.xxxxxx", which hold received data until it is complete and
 * verified. Their owner keeps them locked (flock(2)), so an unlocked one is left over from a
 * process that was killed, or from an exchange that failed: a file can be resumed; anything else is
 * removed when data of the same name is received again. Any thread.
 */
#ifndef STREAM_HIDDEN_FILE_H
#define STREAM_HIDDEN_FILE_H

#include <stdint.h>

#include "stream/file-name.h"

/*
 * Opens the hidden file for a name in a directory, which may be O_PATH, and stores its own name.
 * Adopts a leftover file of at most `most` bytes, the largest if there are several, and stores its
 * size; 0 never adopts one. Removes all other leftover files of this name. The caller closes the
 * descriptor, which unlocks the file. Returns the descriptor or -errno.
 */
int hidden_file_open(int directory, const char *name, uint64_t most, char hidden[FILE_NAME_MAX + 1],
	uint64_t *size);

/*
 * Creates the hidden folder for a name, which only its owner can access, and stores its own name.
 * Removes all leftover folders of this name. The caller closes the descriptor, which unlocks the
 * folder. Returns the descriptor or -errno.
 */
int hidden_folder_open(int directory, const char *name, char hidden[FILE_NAME_MAX + 1]);

/* Removes a hidden folder and what a tree output (stream/tree-output.h) stored in it. */
void hidden_folder_remove(int directory, const char *hidden);

#endif
