/*
 * The name of a file that a peer offers, made safe. The peer chooses the name of its file, but not
 * its directory, and can neither hide the file nor send control sequences to the terminal that
 * lists it.
 */
#ifndef STREAM_FILE_NAME_H
#define STREAM_FILE_NAME_H

#include <stddef.h>

/* The longest name of a file, in bytes, without the terminator: NAME_MAX of limits.h. */
enum { FILE_NAME_MAX = 255 };

/*
 * Writes the name for a file that a peer calls `offered` (size bytes, not terminated, untrusted;
 * NULL if size is 0). Only the part after the last '/' counts; if that is empty, "." or "..", the
 * name is the fallback. A control byte becomes '_', and so does a leading '.', which would hide the
 * file, or '-', which commands take for an option. Other bytes stay. Returns 0, or -ENAMETOOLONG if
 * it has more than FILE_NAME_MAX bytes. Any thread.
 */
int file_name_from_peer(
	char name[FILE_NAME_MAX + 1], const void *offered, size_t size, const char *fallback);

#endif
