#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "output.h"

/* One line at most; longer ones are cut, which the longest message does not reach. */
#define LINE_MAX_SIZE 8192

/* The same for the progress, and the columns of a terminal that does not tell how many it has. */
#define PROGRESS_MAX_SIZE 512
#define PROGRESS_COLUMNS  79

/* How long a reader may pause with its pipe or terminal full before what is written is lost. */
#define PATIENCE_MS 5000

/* To the beginning of the terminal's line, and erase it: ECMA-48, 8.3.15 and 8.3.41. */
#define ERASE "\r\033[K"

/*
 * Whether a progress line stands on the terminal. There is one standard error and one such line in a
 * process, whichever struct output it is printed through, so this belongs to the stream and not to
 * one of those. Read and written with stderr locked; atomic only for ThreadSanitizer, which does not
 * know flockfile(3).
 */
static atomic_bool progress_stands;

/* Nothing that came from a command line or a peer may break the line or talk to a terminal. */
static void make_printable(char *line)
{
	for (; *line; line++)
		if ((unsigned char)*line < 0x20 || *line == 0x7f)
			*line = '?';
}

/* True if the stream can take a line within that time. One in memory has no descriptor, and room. */
static bool has_room(FILE *stream, int patience_ms)
{
	struct pollfd waiting = {.fd = fileno(stream), .events = POLLOUT};

	return waiting.fd < 0 || poll(&waiting, 1, patience_ms) != 0;
}

/*
 * Waits until the stream can take a line. If nobody reads it, the descriptor is turned into one that
 * refuses every write: the line is lost, output_finish() will say so, and nothing hangs.
 */
static void await_reader(FILE *stream)
{
	int refusing;

	if (has_room(stream, PATIENCE_MS))
		return;
	refusing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	dup2(refusing, fileno(stream));
	close(refusing);
}

/* With stderr locked. */
static void erase_progress(void)
{
	if (atomic_exchange(&progress_stands, false))
		fputs(ERASE, stderr);
}

/* What fits into one line of the terminal; two could not be erased. */
static int columns(void)
{
	struct winsize window;

	if (ioctl(fileno(stderr), TIOCGWINSZ, &window) || window.ws_col < 2)
		return PROGRESS_COLUMNS;
	return window.ws_col - 1;
}

/*
 * Writes a line whole. Standard error's lock guards progress_stands, too, and is taken first: it may
 * be the same terminal as standard output.
 */
static void print_line(FILE *stream, const char *program, const char *line)
{
	bool terminal = isatty(fileno(stream)), both = terminal && stream != stderr;

	if (both)
		flockfile(stderr);
	/* The stream is locked, so that lines of other threads wait. */
	flockfile(stream);
	await_reader(stream);
	if (terminal)
		erase_progress();
	if (both)
		fflush(stderr);
	fprintf(stream, "%s%s%s\n", program, *program ? ": " : "", line);
	fflush(stream);
	funlockfile(stream);
	if (both)
		funlockfile(stderr);
}

static void __attribute__((format(printf, 3, 0)))
print(FILE *stream, const char *program, const char *format, va_list args)
{
	char line[LINE_MAX_SIZE];

	vsnprintf(line, sizeof(line), format, args);
	make_printable(line);
	print_line(stream, program, line);
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
	print(output->lines_on_stderr ? stderr : stdout, "", format, args);
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

void output_progress(const struct output *output, const char *line)
{
	char text[PROGRESS_MAX_SIZE];

	snprintf(text, sizeof(text), "%s", line ? line : "");
	make_printable(text);
	flockfile(stderr);
	/* What cannot be erased now still stands there when the next line comes. */
	if (has_room(stderr, 0)) {
		if (!line) {
			erase_progress();
		} else if (isatty(fileno(stderr))) {
			fprintf(stderr, ERASE "%.*s", columns(), text);
			progress_stands = true;
		} else {
			fprintf(stderr, "%s: %s\n", output->program, text);
		}
		fflush(stderr);
	}
	funlockfile(stderr);
}

void output_document(FILE *stream, const char *line)
{
	print_line(stream, "", line);
}

enum exit_status output_finish(const struct output *output, enum exit_status status)
{
	output_progress(output, NULL);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	output_error(output, "standard output was lost: it is closed or full");
	return status == STATUS_OK ? STATUS_FAILED : status;
}
