/* A sanitised file name from a peer stays in the folder, is not hidden, and is safe to list. */
#include <errno.h>

#include "stream/file-name.h"
#include "tests/fuzz/fuzz.h"

#define FALLBACK "192.0.2.9-7471"

static size_t last_part(const uint8_t *data, size_t size)
{
	size_t length = 0;

	while (length < size && data[size - length - 1] != '/')
		length++;
	return length;
}

static void check_name(const char *name)
{
	fuzz_check(memchr(name, '\0', FILE_NAME_MAX + 1));
	fuzz_check(*name && *name != '.' && *name != '-');
	for (; *name; name++)
		fuzz_check((unsigned char)*name >= 0x20 && *name != 0x7f && *name != '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[FILE_NAME_MAX + 1], again[FILE_NAME_MAX + 1];
	size_t length = last_part(data, size);
	const uint8_t *part = data + size - length;
	int error = file_name_from_peer(name, size ? data : NULL, size, FALLBACK);

	fuzz_check(error == (length > FILE_NAME_MAX ? -ENAMETOOLONG : 0));
	if (error)
		return 0;
	check_name(name);
	if (strcmp(name, FALLBACK) != 0)
		fuzz_check(strlen(name) == length);
	/* Each byte is unchanged or '_'. */
	for (size_t i = 0; strcmp(name, FALLBACK) != 0 && i < length; i++)
		fuzz_check((uint8_t)name[i] == part[i] || name[i] == '_');
	fuzz_check(file_name_from_peer(again, name, strlen(name), FALLBACK) == 0);
	fuzz_check(strcmp(again, name) == 0);
	return 0;
}
