/* See base/replacement.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/replacement.h"

bool replacement_is_in_place(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

static void forget(struct replacement *replacement)
{
	free(replacement->hidden);
	replacement->hidden = NULL;
}

/* Creates a file whose name nobody can guess. Returns a descriptor, or -errno. */
static int create_hidden(struct replacement *replacement)
{
	uint32_t number;
	int descriptor;

	do {
		forget(replacement);
		if (getrandom(&number, sizeof(number), 0) < 0)
			return -errno;
		if (asprintf(&replacement->hidden, "%s.%08" PRIx32, replacement->path, number) <
			0) {
			replacement->hidden = NULL;
			return -ENOMEM;
		}
		/* Unlike mkostemp(3), with the mode of other new files. */
		descriptor =
			open(replacement->hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	} while (descriptor < 0 && errno == EEXIST);
	if (descriptor >= 0)
		return descriptor;
	descriptor = -errno;
	forget(replacement);
	return descriptor;
}

int replacement_open(struct replacement *replacement, const char *path)
{
	int descriptor;

	*replacement = (struct replacement){.path = path};
	if (!replacement_is_in_place(path))
		return create_hidden(replacement);
	descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	/* cppcheck-suppress resourceLeak ; it is returned */
	return descriptor < 0 ? -errno : descriptor;
}

const char *replacement_name(const struct replacement *replacement)
{
	return replacement->hidden ? replacement->hidden : replacement->path;
}

int replacement_commit(struct replacement *replacement)
{
	int error = 0;

	if (!replacement->hidden)
		return 0;
	if (rename(replacement->hidden, replacement->path)) {
		error = -errno;
		unlink(replacement->hidden);
	}
	forget(replacement);
	return error;
}

void replacement_discard(struct replacement *replacement)
{
	if (replacement->hidden)
		unlink(replacement->hidden);
	forget(replacement);
}
