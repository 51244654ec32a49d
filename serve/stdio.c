/* Standard input and output of a server that another program has started: see serve/stdio.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "protocol/ready-line.h"
#include "serve/stdio.h"

/* Reads a line byte by byte, so that the rest stays. Returns false if no line ends. */
static bool read_line(char *line, size_t size)
{
	size_t used = 0;
	ssize_t got;

	while (used + 1 < size) {
		got = read(STDIN_FILENO, line + used, 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		if (line[used] == '\n') {
			line[used] = '\0';
			return true;
		}
		used++;
	}
	return false;
}

int stdio_take_secret(char path[SECRET_PATH_SIZE], struct failure *failure)
{
	char secret[SECRET_MAX + 2];
	int file = read_line(secret, sizeof(secret)) ? secret_keep(secret, path) : -EPROTO;

	secret_forget(secret, sizeof(secret));
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
