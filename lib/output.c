#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "output.h"

/* One line at most; longer ones are cut, which the longest message does not reach. */
#define LINE_MAX_SIZE 8192

/* How long a reader may pause with its pipe or terminal full before what is written is lost. */
#define PATIENCE_MS 5000

/* Nothing that came from a command line or a peer may break the line or talk to a terminal. */
static void make_printable(char *line)
{
	for (; *line; line++)
		if ((unsigned char)*line < 0x20 || *line == 0x7f)
			*line = '?';
}

/*
 * Waits until the stream can take a line. If nobody reads it, the descriptor is turned into one that
 * refuses every write: the line is lost, output_finish() will say so, and nothing hangs.
 */
static void await_reader(FILE *stream)
{
	struct pollfd waiting = {.fd = fileno(stream), .events = POLLOUT};
	int refusing;

	/* A stream in memory has no descriptor, and room. */
	if (waiting.fd < 0 || poll(&waiting, 1, PATIENCE_MS) != 0)
		return;
	refusing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	dup2(refusing, waiting.fd);
	close(refusing);
}

static void __attribute__((format(printf, 3, 0)))
print(FILE *stream, const char *program, const char *format, va_list args)
{
	char line[LINE_MAX_SIZE];

	vsnprintf(line, sizeof(line), format, args);
	make_printable(line);
	/* The stream is locked, so that lines of other threads wait. */
	flockfile(stream);
	await_reader(stream);
	fprintf(stream, "%s%s%s\n", program, *program ? ": " : "", line);
	funlockfile(stream);
}

/* Descriptors 0 to 2 that are closed would be given to the next file, and lines written into it. */
static void open_standard_descriptors(void)
{
	int descriptor;

	/* The lowest free number is given, so this fills the gaps; what is written there is lost. */
	do {
		descriptor = open("/dev/null", O_RDONLY);
	} while (descriptor >= 0 && descriptor <= STDERR_FILENO);
	if (descriptor >= 0)
		close(descriptor);
}

void output_start(void)
{
	open_standard_descriptors();
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	/* Whole lines here too, where each would otherwise be written in pieces. */
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
}

void output_line(const struct output *output, const char *format, ...)
{
	va_list args;

	if (output->quiet)
		return;
	va_start(args, format);
	print(stdout, "", format, args);
	va_end(args);
}

void output_detail(const struct output *output, const char *format, ...)
{
	va_list args;

	if (!output->verbose)
		return;
	va_start(args, format);
	print(stderr, output->program, format, args);
	va_end(args);
}

void output_error(const struct output *output, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(stderr, output->program, format, args);
	va_end(args);
}

enum exit_status output_finish(const struct output *output, enum exit_status status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	output_error(output, "standard output was lost: it is closed or full");
	return status == STATUS_OK ? STATUS_FAILED : status;
}
