/*
 * Sanitises the file name that a peer offers. The peer chooses the name of its file, but not the
 * directory, and can neither hide the file nor send control sequences to a terminal that lists it.
 */
#ifndef STREAM_FILE_NAME_H
#define STREAM_FILE_NAME_H

#include <stddef.h>

/* Maximum length of a file name in bytes, without terminator: NAME_MAX of limits.h. */
enum { FILE_NAME_MAX = 255 };

/* Size in bytes of an output's failure message; long names are truncated. */
enum { OUTPUT_FILE_WHY_SIZE = 320 };

/*
 * Writes the name for a file that a peer calls `offered` (size bytes, not terminated, untrusted;
 * NULL if size is 0). Only the part after the last '/' is used; if it is empty, "." or "..", the
 * fallback replaces it. Control bytes become '_', and so does a leading '.', which would hide the
 * file, or '-', which commands would parse as an option. Other bytes are kept. Returns 0, or
 * -ENAMETOOLONG if the name exceeds FILE_NAME_MAX bytes. Any thread.
 */
int file_name_from_peer(
	char name[FILE_NAME_MAX + 1], const void *offered, size_t size, const char *fallback);

#endif
