/*
 * Hidden files, ".NAME.xxxxxx", which hold received data until it is complete and verified. Their
 * owner keeps them locked (flock(2)), so an unlocked one is left over from a process that was
 * killed, or from an exchange that failed: it can be resumed, and is otherwise removed when data of
 * the same name is received again. Any thread.
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

#endif
