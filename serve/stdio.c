/* Standard input and output of a server that another program has started: see serve/stdio.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "protocol/ready-line.h"
#include "serve/stdio.h"

int stdio_take_secret(char path[SECRET_PATH_SIZE], struct failure *failure)
{
	int file = secret_keep_line(STDIN_FILENO, path);

	if (file >= 0)
		return file;
	return failure_set(failure, FAILURE_FILE, PHASE_START, -file, "--stdio", "%s",
		file == -EPROTO ? "standard input has no line with a secret"
				: "cannot keep the secret in memory");
}

int stdio_announce(uint16_t port, const char *list)
{
	if (printf(READY_LINE_START " %u", port) < 0)
		return -EIO;
	/* Each address is followed by its device and interface; the last may be truncated. */
	while (strchr(list, ')')) {
		printf(" %.*s", (int)strcspn(list, " "), list);
		list += strcspn(list, ")");
		list += strspn(list, "), ");
	}
	printf("\n");
	return fflush(stdout) ? -EIO : 0;
}

bool stdio_has_ended(void)
{
	char ignored[256];
	ssize_t got = read(STDIN_FILENO, ignored, sizeof(ignored));

	return got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
}
