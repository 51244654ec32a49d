/*
 * The name of a file as a peer offers it, made harmless. The peer chooses what its file is called,
 * not where it lies, and neither hides it nor plays tricks on whoever lists it.
 */
#ifndef STREAM_FILE_NAME_H
#define STREAM_FILE_NAME_H

#include <stddef.h>

/* The longest name of a file, in bytes, without the terminator: NAME_MAX of limits.h. */
enum { FILE_NAME_MAX = 255 };

/*
 * Writes the name for a file that a peer calls `offered` (size bytes, not terminated, untrusted;
 * NULL if size is 0). Only what follows the last '/' counts; if that is nothing, "." or "..", the
 * fallback does, a name of our own. A control byte becomes '_', as does a leading '.', which would
 * hide the file, or '-', which commands take for an option. All other bytes stay. Returns 0, or
 * -ENAMETOOLONG for more than FILE_NAME_MAX bytes. Any thread.
 */
int file_name_from_peer(
	char name[FILE_NAME_MAX + 1], const void *offered, size_t size, const char *fallback);

#endif
