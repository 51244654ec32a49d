/*
 * Hidden files and folders, ".NAME.xxxxxx", which hold received data until it is complete and
 * verified. Their owner keeps them locked (flock(2)), so an unlocked one is left over from a
 * process that was killed, or from an exchange that failed: it can be resumed, or is removed when
 * data of the same name is received again.
 *
 * The hidden names of a name are numbered, and a transfer takes the first one that is free.
 * Leftovers are found by trying these names in order, because reading a directory of a million
 * files takes too long: the first HIDDEN_NAMES_TRIED always, others until one does not exist. With
 * more than HIDDEN_NAMES simultaneous transfers of one name, the others get random names.
 *
 * Any thread.
 */
#ifndef STREAM_HIDDEN_FILE_H
#define STREAM_HIDDEN_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/file-name.h"

/* The number of hidden names of a name, and of those that are always tried. */
#define HIDDEN_NAMES       4096
#define HIDDEN_NAMES_TRIED 8

/* Writes the hidden name with this number, from 0, for a name. */
void hidden_name(const char *name, unsigned int number, char hidden[FILE_NAME_MAX + 1]);

/* True if the next transfer of this name will certainly find this hidden file. */
bool hidden_name_is_tried(const char *name, const char *hidden);

/*
 * Opens the hidden file for a name in a directory, which may be O_PATH, and stores its own name.
 * Adopts a leftover file of at most `most` bytes, the largest if there are several, and stores its
 * size; 0 never adopts one. Removes the other leftover files of this name that it finds. The caller
 * closes the descriptor, which unlocks the file. Returns the descriptor or -errno.
 */
int hidden_file_open(int directory, const char *name, uint64_t most, char hidden[FILE_NAME_MAX + 1],
	uint64_t *size);

/*
 * Creates the hidden folder for a name, which only its owner can access, and stores its own name.
 * Removes the leftover folders of this name that it finds. The caller closes the descriptor, which
 * unlocks the folder. Returns the descriptor or -errno.
 */
int hidden_folder_open(int directory, const char *name, char hidden[FILE_NAME_MAX + 1]);

/*
 * Opens and locks a leftover hidden folder of this name, and stores its own name. The caller closes
 * the descriptor, which unlocks the folder. Returns the descriptor, or -ENOENT if there is none.
 */
int hidden_folder_adopt(int directory, const char *name, char hidden[FILE_NAME_MAX + 1]);

/* Removes a hidden folder and what a tree output (stream/tree-output.h) stored in it. */
void hidden_folder_remove(int directory, const char *hidden);

#endif
