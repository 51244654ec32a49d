/* Derives a safe file name from the peer's bytes and stores it in the caller's buffer. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "stream/file-name.h"

/* True for "", "." and "..". */
static bool is_nameless(const char *bytes, size_t size)
{
	return size == 0 || (size <= 2 && bytes[0] == '.' && bytes[size - 1] == '.');
}

static bool is_control(char byte)
{
	return (unsigned char)byte < 0x20 || byte == 0x7f;
}

int file_name_from_peer(
	char name[FILE_NAME_MAX + 1], const void *offered, size_t size, const char *fallback)
{
	const char *bytes = offered;
	const char *slash = size ? memrchr(bytes, '/', size) : NULL;

	if (slash) {
		size -= (size_t)(slash + 1 - bytes);
		bytes = slash + 1;
	}
	if (is_nameless(bytes, size)) {
		bytes = fallback;
		size = strlen(fallback);
	}
	if (size > FILE_NAME_MAX)
		return -ENAMETOOLONG;
	for (size_t i = 0; i < size; i++)
		name[i] = is_control(bytes[i]) ? '_' : bytes[i];
	if (name[0] == '.' || name[0] == '-')
		name[0] = '_';
	name[size] = '\0';
	return 0;
}
